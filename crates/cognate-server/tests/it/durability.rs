//! What is learnt stays learnt: the same as `cognate learn` makes, after a restart, and once.

use cognate::{Input, Model, ReadOptions, RunConfig, RunOptions};
use serde_json::{Value, json};

use super::support::{Server, example, options};

/// Lines as `cognate learn` reads them.
fn lines(count: u32) -> String {
    let line = |at: u32| {
        let (task, label) = (at % 7, if at.is_multiple_of(3) { 1 } else { -1 });
        let features =
            format!("{{\"f{}\":0.{},\"g{}\":1,\"tier\":\"gold{}\"}}", at % 31, at % 10, at % 5, at % 4);
        format!(
            "{{\"task\":\"t{task}\",\"label\":{label},\"weight\":{},\"features\":{features}}}\n",
            1 + at % 2
        )
    };
    (0..count).map(line).collect()
}

/// The model that `cognate learn` makes of them.
fn learnt(lines: &str) -> Vec<u8> {
    let config: RunConfig = serde_json::from_value(json!({ "stream": { "format": "jsonl" } })).unwrap();
    let mut model = Model::new(&config).unwrap();
    let input = Input::Bytes { name: "lines".to_owned(), bytes: lines.as_bytes().to_vec().into() };
    let mut reader = model.reader(vec![input], ReadOptions::default()).unwrap();
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
    model.to_bytes()
}

#[test]
fn a_served_model_is_the_one_that_cognate_learn_makes() {
    let (folder, text) = (tempfile::tempdir().unwrap(), lines(1000));
    let server = Server::plain(folder.path());
    let mut client = server.client();
    let all: Vec<&str> = text.lines().collect();
    for (at, chunk) in [&all[..1], &all[1..8], &all[8..600], &all[600..]].into_iter().enumerate() {
        let answer = if at % 2 == 0 {
            let kind = ["content-type: application/x-ndjson"];
            client.ask("POST", "/v1/models/default/learn", &kind, chunk.join("\n").as_bytes())
        } else {
            let body = format!("{{\"examples\":[{}]}}", chunk.join(","));
            client.ask("POST", "/v1/models/default/learn", &[], body.as_bytes())
        };
        let answer = answer.unwrap();
        assert_eq!(
            (answer.status, &answer.json()["learned"]),
            (200, &json!(chunk.len())),
            "{}",
            answer.text()
        );
    }
    let snapshot = server.get("/v1/models/default/snapshot").body;
    assert!(snapshot == learnt(&text), "the bytes differ");
    // After a graceful stop, a start from the snapshot; and from a copy of the folder, which is a crash.
    let copy = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), copy.path());
    server.stop();
    for place in [folder.path(), copy.path()] {
        let server = Server::plain(place);
        assert!(server.get("/v1/models/default/snapshot").body == snapshot);
        let summary = server.get("/v1/models/default").json();
        assert_eq!(
            (&summary["seq"], &summary["examples"], &summary["tasks"]),
            (&json!(4), &json!(1000), &json!(7))
        );
    }
}

pub(crate) fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_request_that_comes_again_teaches_once_even_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = "/v1/models/default/learn";
    let body = example("alice", "offer", 1);
    let again = |server: &Server, key: &str, body: &str| {
        server.client().ask("POST", path, &[&format!("Idempotency-Key: {key}")], body.as_bytes()).unwrap()
    };
    let server = Server::plain(folder.path());
    let first = again(&server, "k-1", &body);
    assert_eq!(first.status, 200);
    assert_eq!(again(&server, "k-1", &body).body, first.body);
    let other = again(&server, "k-1", &example("alice", "offer", -1));
    assert_eq!((other.status, &other.json()["error"]["code"]), (409, &json!("conflict")));
    let copy = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), copy.path());
    server.stop();
    for place in [folder.path(), copy.path()] {
        let server = Server::plain(place);
        assert_eq!(again(&server, "k-1", &body).body, first.body);
        assert_eq!(server.get("/v1/models/default").json()["examples"], json!(1));
        assert_eq!(again(&server, "k-2", &body).json()["seq"], json!(2));
    }
    let server = Server::plain(folder.path());
    assert_eq!(again(&server, &"k".repeat(300), &body).status, 400);
    // A request that was refused may be put right under its key.
    assert_eq!(again(&server, "k-3", &example("alice", "offer", 7)).status, 422);
    assert_eq!(again(&server, "k-3", &example("alice", "offer", 1)).status, 200);
}

#[test]
fn labels_come_later_once_each_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let predicted = server.post(
        "predict",
        r#"{"examples":[{"task":"a","features":{"x":1},"id":"m-1"},{"task":"a","features":{"x":2},"id":"m-2","weight":3},{"features":{}}]}"#,
    );
    assert_eq!(predicted.json()["predictions"].as_array().unwrap().len(), 3);
    assert_eq!(
        server.post("labels", r#"{"labels":[{"id":"m-1","label":5}]}"#).json()["error"]["path"],
        json!("labels[0].label")
    );
    let told = server.post(
        "labels",
        r#"{"labels":[{"id":"m-9","label":1},{"id":"m-1","label":1},{"id":"m-1","label":-1}]}"#,
    );
    let lists = |told: &Value| (told["learned"].clone(), told["unknown"].clone(), told["again"].clone());
    assert_eq!(lists(&told.json()), (json!(1), json!(["m-9"]), json!(["m-1"])));
    assert_eq!(server.get("/v1/models/default").json()["pending"], json!(1));
    server.stop();
    let server = Server::plain(folder.path());
    let told = server.post("labels", r#"{"labels":[{"id":"m-2","label":-1},{"id":"m-1","label":1}]}"#);
    assert_eq!(lists(&told.json()), (json!(1), json!([]), json!(["m-1"])));
    assert_eq!(server.get("/v1/models/default").json()["examples"], json!(2));
}

#[test]
fn a_task_that_is_forgotten_stays_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    for task in ["alice", "bob/x", "carol"] {
        assert_eq!(server.post("learn", &example(task, "offer", 1)).status, 200);
    }
    server.post("predict", r#"{"examples":[{"task":"bob/x","features":{"x":1},"id":"m-1"}]}"#);
    let task = "/v1/models/default/tasks/bob%2Fx";
    assert_eq!(server.get(task).json()["row"]["task"], json!("bob/x"));
    let forgotten = server.ask("DELETE", task, "");
    assert_eq!(forgotten.json()["forgotten"], json!("bob/x"));
    assert!(forgotten.json()["note"].as_str().unwrap().contains("the shared part stays"));
    assert_eq!(server.get(task).status, 404);
    assert_eq!(server.ask("DELETE", task, "").status, 404);
    server.stop();
    let server = Server::plain(folder.path());
    assert_eq!(server.get(task).status, 404);
    let summary = server.get("/v1/models/default").json();
    assert_eq!((&summary["tasks"], &summary["examples"]), (&json!(2), &json!(2)));
    let told = server.post("labels", r#"{"labels":[{"id":"m-1","label":1}]}"#).json();
    assert_eq!(told["unknown"], json!(["m-1"]), "its remembered examples are gone as well");
}

#[test]
fn answers_at_once_are_on_disk_a_second_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = options(folder.path());
    settings.engine.durability = cognate_server::live::Durability::Interval;
    let server = Server::start(settings, "").unwrap();
    assert_eq!(server.post("learn", &example("alice", "offer", 1)).status, 200);
    let copy = tempfile::tempdir().unwrap();
    let mut tries = 0;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        std::thread::sleep(std::time::Duration::from_millis(300));
        tries += 1;
        let place = copy.path().join(tries.to_string());
        copy_folder(folder.path(), &place);
        if Server::plain(&place).get("/v1/models/default").json()["examples"] == json!(1) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "it was never written");
    }
}
