//! People are asked over HTTP: nobody is shown what another is shown, and what they say is learnt once.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};

use super::support::{Server, example};

fn unlabelled(count: usize) -> String {
    let mut body = String::from("{\"examples\":[");
    for at in 0..count {
        let comma = if at == 0 { "" } else { "," };
        write!(
            body,
            "{comma}{{\"task\":\"t{}\",\"features\":{{\"w{at}\":1,\"all\":1}},\"label\":\"?\"}}",
            at % 4
        )
        .unwrap();
    }
    body + "]}"
}

fn ids(lease: &Value) -> Vec<String> {
    let items = lease["items"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_waits_is_shown_to_one_person_and_learnt_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    server.post("learn", &example("t0", "w0", 1));
    let told = server.post("learn", &unlabelled(30)).json();
    assert_eq!((&told["learned"], &told["unlabelled"]), (&json!(0), &json!(30)));
    assert_eq!(told["margins"].as_array().unwrap().len(), 30);
    assert_eq!(server.get("/v1/models/default").json()["queue"], json!(30));
    let [anna, ben] = [(); 2].map(|()| server.post("queue/lease", "{\"count\": 12}").json());
    let (hers, his) = (ids(&anna), ids(&ben));
    let all: BTreeSet<&String> = hers.iter().chain(&his).collect();
    assert_eq!((hers.len(), his.len(), all.len()), (12, 12, 24));
    assert_eq!(ids(&server.post("queue/lease", "{\"count\": 12}").json()).len(), 6, "those that are left");
    let lease = anna["lease"].as_str().unwrap();
    let again = server.post("queue/lease", &format!("{{\"count\":12,\"lease\":\"{lease}\"}}")).json();
    assert_eq!(ids(&again).into_iter().collect::<BTreeSet<_>>(), hers.iter().cloned().collect());
    // Others may not answer what she is shown.
    let other = server.post(&format!("queue/{}/answer", hers[0]), "{\"label\":1}");
    assert_eq!((other.status, &other.json()["error"]["code"]), (409, &json!("conflict")));
    let yes = format!("{{\"label\":1,\"lease\":\"{lease}\"}}");
    for id in &hers {
        let said = server.post(&format!("queue/{id}/answer"), &yes).json();
        assert_eq!(said["outcome"], json!("answered"));
        assert_eq!(server.post(&format!("queue/{id}/answer"), &yes).json()["outcome"], json!("again"));
    }
    let no = format!("{{\"label\":-1,\"lease\":\"{lease}\"}}");
    assert_eq!(server.post(&format!("queue/{}/answer", hers[0]), &no).status, 409);
    // Ten are held back, two are learnt.
    assert_eq!(server.get("/v1/models/default").json()["examples"], json!(3));
    let undo =
        |id: &str| server.post(&format!("queue/{id}/undo"), &format!("{{\"lease\":\"{lease}\"}}")).json();
    let undone = undo(&hers[11]);
    assert_eq!((&undone["outcome"], &undone["item"]["id"]), (&json!("undone"), &json!(hers[11])));
    assert_eq!(undo(&hers[0])["outcome"], json!("retracted"));
    assert_eq!(server.get("/v1/models/default").json()["examples"], json!(2));
    let queue = server.get("/v1/models/default/queue").json();
    assert_eq!([&queue["waiting"], &queue["held"], &queue["learned"]], [&json!(20), &json!(9), &json!(1)]);
    server.stop();
    let server = Server::plain(folder.path());
    let again = server.get("/v1/models/default/queue").json();
    assert_eq!((&again["waiting"], &again["held"], &again["leased"]), (&json!(20), &json!(9), &json!(0)));
    assert_eq!(server.get("/v1/models/default").json()["examples"], json!(2));
}

#[test]
fn a_lease_runs_out_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    server.post("learn", &unlabelled(3));
    // Ten seconds are the least there is; the items are others' then.
    let first = server.post("queue/lease", "{\"count\":3,\"seconds\":10}").json();
    assert!(ids(&server.post("queue/lease", "{\"count\":3}").json()).is_empty());
    std::thread::sleep(std::time::Duration::from_millis(10_100));
    let second = server.post("queue/lease", "{\"count\":3}").json();
    assert_eq!(ids(&second).len(), 3);
    let late = format!("{{\"label\":1,\"lease\":\"{}\"}}", first["lease"].as_str().unwrap());
    assert_eq!(server.post(&format!("queue/{}/answer", ids(&first)[0]), &late).status, 409);
    assert!(server.get("/metrics").text().contains("cognate_lease_expired_total{model=\"default\"} 3"));
}

#[test]
fn the_most_uncertain_comes_first_and_skipped_ones_last() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    for round in 0..20 {
        server
            .post("learn", &example("t", if round % 2 == 0 { "sure" } else { "surer" }, 1 - 2 * (round % 2)));
    }
    let rows = ["\"sure\":1", "\"surer\":1", "\"sure\":1,\"surer\":1"]
        .map(|features| format!("{{\"task\":\"t\",\"features\":{{{features}}},\"label\":\"?\"}}"));
    server.post("learn", &format!("{{\"examples\":[{}]}}", rows.join(",")));
    let lease = server.post("queue/lease", "{\"count\":3}").json();
    let items = lease["items"].as_array().unwrap();
    assert_eq!(items[0]["features"].as_array().unwrap().len(), 2, "the one in between: {items:?}");
    let id = items[0]["id"].as_str().unwrap();
    let lease = lease["lease"].as_str().unwrap();
    let body = format!("{{\"lease\":\"{lease}\"}}");
    assert_eq!(server.post(&format!("queue/{id}/skip"), &body).json()["outcome"], json!("skipped"));
    let all = ids(&server.post("queue/lease", &format!("{{\"lease\":\"{lease}\",\"count\":3}}")).json());
    assert_eq!((all.len(), all.contains(&id.to_owned())), (3, true), "it comes again");
}

#[test]
fn predictions_are_asked_for_by_the_query_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let made = server.ask("PUT", "/v1/models/asks", r#"{"query":{"margin":{"b":1e9}}}"#);
    assert_eq!(made.status, 201, "{}", made.text());
    let predict = r#"{"examples":[{"task":"a","features":{"x":1},"id":"m-1"}]}"#;
    for model in ["asks", "default"] {
        assert_eq!(server.ask("POST", &format!("/v1/models/{model}/predict"), predict).status, 200);
    }
    let waiting = |model: &str| server.get(&format!("/v1/models/{model}/queue")).json()["waiting"].clone();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while waiting("asks") != json!(1) {
        assert!(std::time::Instant::now() < deadline);
    }
    assert_eq!(waiting("default"), json!(0), "without a query labels come in other ways");
    // The label comes in another way, and nobody is asked any more.
    let label = r#"{"labels":[{"id":"m-1","label":1}]}"#;
    assert_eq!(server.ask("POST", "/v1/models/asks/labels", label).json()["learned"], json!(1));
    assert_eq!(waiting("asks"), json!(0));
}

#[test]
fn what_is_no_answer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    server.post("learn", &unlabelled(1));
    let id = ids(&server.post("queue/lease", "").json())[0].clone();
    let lease = server.post("queue/lease", "").json();
    assert!(ids(&lease).is_empty());
    for (path, body, status) in [
        ("queue/lease".to_owned(), "{\"count\":0}", 422),
        ("queue/lease".to_owned(), "{\"seconds\":1}", 422),
        ("queue/lease".to_owned(), "{\"lease\":\"/\"}", 422),
        ("queue/lease".to_owned(), "{\"colour\":1}", 422),
        ("queue/lease".to_owned(), "{", 400),
        (format!("queue/{id}/answer"), "", 400),
        (format!("queue/{id}/answer"), "{\"label\":\"yes\"}", 422),
        (format!("queue/{id}/answer"), "{\"label\":null}", 422),
        ("queue/0-0/answer".to_owned(), "{\"label\":1}", 404),
        ("queue/x/skip".to_owned(), "", 404),
        (format!("queue/+{id}/skip"), "", 404),
    ] {
        let refused = server.post(&path, body);
        assert_eq!(refused.status, status, "{path} {body}: {}", refused.text());
    }
    // The lease of before still holds it: 409 is told before the label is looked at.
    assert_eq!(server.post(&format!("queue/{id}/answer"), "{\"label\":7}").status, 409);
    let null = r#"{"examples":[{"features":{"x":1},"label":null}]}"#;
    assert_eq!(server.post("learn", null).status, 422, "a label that is missing by mistake is told");
    assert_eq!(server.post("labels", r#"{"labels":[{"id":"x","label":"?"}]}"#).status, 422);
}
