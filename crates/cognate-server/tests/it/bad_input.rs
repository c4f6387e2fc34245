//! Whatever comes in is answered: what was found, where, and what was expected; and nothing is changed.

use serde_json::{Value, json};

use super::support::{Server, example};

/// Status, code and path of an answer.
fn told(answer: &cognate_server::drill::Answer) -> (u16, String, Value) {
    let error = answer.json()["error"].clone();
    (answer.status, error["message"].as_str().unwrap_or_default().to_owned(), error["path"].clone())
}

#[test]
fn bad_examples_are_refused_with_their_place_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    assert_eq!(server.post("learn", &example("alice", "offer", 1)).status, 200);
    let before = server.get("/v1/models/default/snapshot").body;
    let good = r#"{"task":"a","features":{"x":1},"label":1}"#;
    let long = "x".repeat(10_000);
    for (bad, status, path, message) in [
        (r#"{"features":{"x":1e999},"label":1}"#.to_owned(), 422, ".features", "number out of range"),
        (r#"{"features":{"x":1e200},"label":1}"#.to_owned(), 422, ".features", "feature \"x\" is 1"),
        (r#"{"features":{"x":NaN},"label":1}"#.to_owned(), 400, ".features", "expected value"),
        (r#"{"features":{"x":[1]},"label":1}"#.to_owned(), 422, ".features", "feature \"x\" is a list"),
        (r#"{"features":{"x":{}},"label":1}"#.to_owned(), 422, ".features", "feature \"x\" is an object"),
        (r#"{"features":{"x":1,"x":2},"label":1}"#.to_owned(), 422, ".features", "found \"x\" a second time"),
        (
            r#"{"features":{"indices":[1],"values":[1,2]},"label":1}"#.to_owned(),
            422,
            ".features",
            "1 indices and 2 values",
        ),
        (
            r#"{"features":{"indices":[-1],"values":[1]},"label":1}"#.to_owned(),
            400,
            ".features",
            "invalid value",
        ),
        (
            r#"{"features":{"indices":[1],"values":[1]},"label":1}"#.to_owned(),
            422,
            ".features",
            "features are given by number",
        ),
        (
            r#"{"features":{"x":1,"values":[1]},"label":1}"#.to_owned(),
            400,
            ".features",
            "found a list among named",
        ),
        (r#"{"features":5,"label":1}"#.to_owned(), 400, ".features", "invalid type"),
        (r#"{"label":1}"#.to_owned(), 400, "", "found no \"features\""),
        (r#"{"features":{"x":1}}"#.to_owned(), 422, ".label", "found none; expected a label"),
        (r#"{"features":{"x":1},"label":null}"#.to_owned(), 422, ".label", "found null; expected a label"),
        (r#"{"features":{"x":1},"label":2}"#.to_owned(), 422, ".label", "found label 2; expected -1 or +1"),
        (r#"{"features":{"x":1},"label":"spam"}"#.to_owned(), 422, ".label", "found label \"spam\""),
        (r#"{"features":{"x":1},"label":true}"#.to_owned(), 422, ".label", "found label true"),
        (r#"{"features":{"x":1},"label":1,"weight":-1}"#.to_owned(), 422, ".weight", "found weight -1"),
        (r#"{"features":{"x":1},"label":1,"offset":1e200}"#.to_owned(), 422, ".offset", "found offset 1"),
        (r#"{"features":{"x":1},"label":1,"time":"noon"}"#.to_owned(), 422, ".time", "found time \"noon\""),
        (
            r#"{"features":{"x":1},"label":1,"colour":1}"#.to_owned(),
            400,
            "",
            "found key \"colour\"; expected one of",
        ),
        (
            r#"{"features":{"x":1},"label":1,"label":1}"#.to_owned(),
            400,
            ".label",
            "found key \"label\" a second time",
        ),
        (
            r#"{"task":"","features":{"x":1},"label":1}"#.to_owned(),
            422,
            ".task",
            "found \"\"; expected the name of a task",
        ),
        (r#"{"task":"a\nb","features":{"x":1},"label":1}"#.to_owned(), 422, ".task", "found \"a\\nb\""),
        (
            format!(r#"{{"task":"{long}","features":{{"x":1}},"label":1}}"#),
            422,
            ".task",
            "a name of 10000 bytes",
        ),
        (format!(r#"{{"id":"{long}","features":{{"x":1}},"label":1}}"#), 422, ".id", "a name of 10000 bytes"),
        ("7".to_owned(), 400, "", "invalid type"),
    ] {
        let answer = server.post("learn", &format!("{{\"examples\":[{good},{bad}]}}"));
        let (found, text, place) = told(&answer);
        assert_eq!((found, place), (status, json!(format!("examples[1]{path}"))), "{bad}: {text}");
        assert!(text.contains(message), "{bad}: {text}");
        let lines = server.client().ask(
            "POST",
            "/v1/models/default/learn",
            &["content-type: application/x-ndjson"],
            format!("{good}\n\n{bad}\n").as_bytes(),
        );
        let lines = lines.unwrap();
        assert_eq!(lines.status, status, "{bad}: {}", lines.text());
    }
    assert!(server.get("/v1/models/default/snapshot").body == before, "nothing has changed");
    assert_eq!(server.get("/v1/models/default").json()["seq"], json!(1));
}

#[test]
fn bad_bodies_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let nested = "[".repeat(100_000);
    for (body, place) in [
        ("", json!(null)),
        ("[]", json!(null)),
        ("{\"examples\"", json!(null)),
        ("{\"examples\":[]} x", json!(null)),
        ("{\"examples\":3}", json!("examples")),
        ("{\"examples\":[", json!("examples")),
        ("{\"examples\":[{\"features\":{}} {", json!("examples")),
        ("{\"examples\":[3", json!("examples[0]")),
        ("{\"examples\":[{\"features\":{}},{", json!("examples[1]")),
    ] {
        let (status, text, path) = told(&server.post("predict", body));
        assert_eq!((status, path), (400, place.clone()), "{body}: {text}");
        let labels = body.replace("examples", "labels").replace("\"features\":{}", "\"id\":1,\"label\":1");
        let (status, _, of_labels) = told(&server.post("labels", &labels));
        assert_eq!(
            (status, of_labels.to_string()),
            (400, place.to_string().replace("examples", "labels")),
            "{labels}"
        );
    }
    for (body, status, message) in [
        (Vec::new(), 400, "EOF while parsing"),
        (b"{".to_vec(), 400, "EOF while parsing"),
        (b"[]".to_vec(), 400, "expected {\"examples\""),
        (b"{}".to_vec(), 400, "found no \"examples\""),
        (b"{\"examples\":[]} x".to_vec(), 400, "trailing characters"),
        (b"{\"examples\":[],\"examples\":[]}".to_vec(), 400, "a second time"),
        (b"{\"example\":[]}".to_vec(), 400, "found key \"example\""),
        (b"{\"examples\":[{\"task\":\"\xff\"}]}".to_vec(), 400, "byte 23 of the body is not UTF-8"),
        (nested.clone().into_bytes(), 400, "invalid type"),
        (format!("{{\"examples\":{nested}").into_bytes(), 400, "invalid type"),
        (
            format!("{{\"examples\":[{{\"features\":{{\"x\":{nested}").into_bytes(),
            422,
            "feature \"x\" is a list",
        ),
        (format!("{{\"examples\":[{{\"x\":{nested}").into_bytes(), 400, "found key \"x\""),
    ] {
        for path in ["learn", "predict"] {
            let answer =
                server.client().ask("POST", &format!("/v1/models/default/{path}"), &[], &body).unwrap();
            let (found, text, _) = told(&answer);
            assert_eq!(
                found,
                status,
                "{path} {:?}: {text}",
                String::from_utf8_lossy(&body[..body.len().min(60)])
            );
            assert!(text.contains(message), "{text}");
        }
    }
    for (body, message) in [
        ("{\"labels\":[{\"id\":\"a\"}]}", "found no \"label\""),
        ("{\"labels\":[{\"label\":1}]}", "found no \"id\""),
        ("{\"labels\":[{\"id\":\"a\",\"label\":1,\"x\":1}]}", "found key \"x\""),
    ] {
        let (status, text, path) = told(&server.post("labels", body));
        assert_eq!((status, path), (400, json!("labels[0]")), "{text}");
        assert!(text.contains(message), "{text}");
    }
    let kind = ["content-type: text/csv"];
    let answer = server.client().ask("POST", "/v1/models/default/learn", &kind, b"a,b").unwrap();
    assert_eq!(told(&answer).0, 415);
    let empty = server.post("learn", "{\"examples\":[]}");
    assert_eq!((empty.status, &empty.json()["learned"]), (200, &json!(0)));
}

#[test]
fn a_body_that_is_cut_off_teaches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let body = example("alice", "offer", 1);
    for cut in [0, 1, body.len() / 2, body.len() - 1] {
        let mut client = server.client();
        let head = format!(
            "POST /v1/models/default/learn HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        client.send(head.as_bytes()).unwrap();
        client.send(&body.as_bytes()[..cut]).unwrap();
        client.end().unwrap();
        if let Ok(answer) = client.answer() {
            assert_eq!(told(&answer).0, 400, "{}", answer.text());
        }
    }
    assert_eq!(server.get("/v1/models/default").json()["examples"], json!(0));
}

#[test]
fn names_and_configs_of_models_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let long = "x".repeat(10_000);
    for name in ["..%2F..%2Fetc", "a%2Fb", "%2e%2e", ".hidden", "a%20b", "%C3%BC", "a%00", &long] {
        let answer = server.ask("PUT", &format!("/v1/models/{name}"), "");
        assert_eq!(answer.status, 422, "{name}: {}", answer.text());
        assert_eq!(server.get(&format!("/v1/models/{name}")).status, 404);
    }
    for (config, status, path) in [
        ("{", 400, Value::Null),
        (r#"{"learner":"nobody"}"#, 422, Value::Null),
        (r#"{"learner":"convex"}"#, 422, json!("learner")),
        (r#"{"stream":{"simultaneous":true}}"#, 422, json!("stream.simultaneous")),
        (r#"{"stream":{"passes":2}}"#, 422, json!("stream.passes")),
        (r#"{"stream":{"order":"shuffle"}}"#, 422, json!("stream.order")),
        (r#"{"stream":{"one-vs-all":true}}"#, 422, json!("stream.one-vs-all")),
        (r#"{"features":0}"#, 422, json!("features")),
        (
            r#"{"tasks":2,"learner":{"perceptron":{"interaction":{"matrix":{"file":"/etc/passwd"}}}}}"#,
            422,
            json!("learner.perceptron.interaction.matrix"),
        ),
    ] {
        let answer = server.ask("PUT", "/v1/models/other", config);
        let (found, text, place) = told(&answer);
        assert_eq!((found, place), (status, path), "{config}: {text}");
        assert!(!text.contains("root:"), "files of the server are not read");
    }
    let perceptron = r#"{"learner":{"perceptron":{}},"features":3}"#;
    assert_eq!(server.ask("PUT", "/v1/models/other", perceptron).status, 201);
    assert_eq!(server.ask("PUT", "/v1/models/other", perceptron).status, 200);
    assert_eq!(server.ask("PUT", "/v1/models/other", "").status, 409);
    let beyond = r#"{"examples":[{"features":{"indices":[3],"values":[1]},"label":1}]}"#;
    let answer = server.ask("POST", "/v1/models/other/learn", beyond);
    assert_eq!(
        told(&answer),
        (422, "feature index 3; expected 0 to 2".to_owned(), json!("examples[0].features"))
    );
    assert_eq!(server.ask("DELETE", "/v1/models/other", "").json()["deleted"], json!("other"));
    assert_eq!(server.ask("DELETE", "/v1/models/other", "").status, 404);
    assert_eq!(server.ask("PUT", "/v1/models/other", "").status, 201);
}

#[test]
fn names_of_tasks_may_be_anything_that_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    for (name, path) in [
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        ("grüße 🦀", "gr%C3%BC%C3%9Fe%20%F0%9F%A6%80"),
        ("a%b", "a%25b"),
        ("?", "%3F"),
        ("7", "7"),
    ] {
        assert_eq!(server.post("learn", &example(name, "x", 1)).status, 200, "{name}");
        let told = server.get(&format!("/v1/models/default/tasks/{path}"));
        assert_eq!(told.json()["row"]["task"], json!(name), "{}", told.text());
    }
    assert_eq!(server.get("/v1/models/default/tasks/%ff").status, 400);
    assert_eq!(server.get(&format!("/v1/models/default/tasks/{}", "x".repeat(10_000))).status, 404);
}
