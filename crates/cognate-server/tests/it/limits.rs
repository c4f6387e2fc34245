//! Every limit has its status, and slow clients do not stay.

use std::time::{Duration, Instant};

use cognate_server::drill::Client;
use serde_json::json;

use super::support::{Server, example, options};

/// Clients that send half of something.
const SLOW: usize = 300;

#[test]
fn slow_clients_are_closed_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = options(folder.path());
    (settings.header_seconds, settings.body_seconds) = (1, 1);
    let server = Server::start(settings, "").unwrap();
    let half = |text: &str| -> Vec<Client> {
        let connect = || {
            let mut client = server.client();
            client.send(text.as_bytes()).unwrap();
            client
        };
        (0..SLOW).map(|_| connect()).collect()
    };
    let headers = half("POST /v1/models/default/learn HTTP/1.1\r\nhost: x\r\n");
    let bodies =
        half("POST /v1/models/default/learn HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"exa");
    let began = Instant::now();
    // Others are answered meanwhile.
    assert_eq!(server.post("learn", &example("alice", "offer", 1)).status, 200);
    for mut client in bodies {
        let answer = client.answer().unwrap();
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (408, &json!("timeout")));
        assert!(client.answer().is_err(), "the connection is closed");
    }
    for mut client in headers {
        // Closed with a word or without one.
        while client.answer().is_ok() {}
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_connection_may_be_idle_for_longer_than_a_head_may_take_and_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = options(folder.path());
    (settings.header_seconds, settings.idle_seconds) = (1, 3);
    let server = Server::start(settings, "").unwrap();
    let healthy = |client: &mut Client| client.ask("GET", "/healthz", &[], b"").map(|answer| answer.status);
    let (mut idle, mut slow, mut silent) = (server.client(), server.client(), server.client());
    assert_eq!(healthy(&mut idle).unwrap(), 200);
    assert_eq!(healthy(&mut slow).unwrap(), 200);
    std::thread::sleep(Duration::from_millis(1800));
    assert_eq!(healthy(&mut idle).unwrap(), 200, "idle for longer than a head may take");
    // Half of a second request has the time of a head, not what is left of the idle time.
    let began = Instant::now();
    slow.send(b"GET /healthz HTTP/1.1\r\n").unwrap();
    assert!(slow.answer().is_err());
    assert!(began.elapsed() < Duration::from_millis(2500), "{:?}", began.elapsed());
    // Who never says anything is closed as well, and so is who says nothing more.
    assert!(silent.answer().is_err());
    let began = Instant::now();
    assert!(idle.answer().is_err());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn events_outlive_the_idle_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = options(folder.path());
    (settings.header_seconds, settings.idle_seconds) = (1, 1);
    let server = Server::start(settings, "").unwrap();
    let mut client = server.client();
    client.send(b"GET /v1/models/default/events HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(server.post("learn", &example("alice", "offer", 1)).status, 200);
    let seen = client.read_until("\"seq\":1").unwrap();
    assert!(seen.contains("\"examples\":1"), "{seen}");
}

#[test]
fn every_limit_has_its_status() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = options(folder.path());
    (settings.max_body, settings.max_features, settings.engine.max_tasks) = (2000, 3, 2);
    settings.engine.max_pending = 2;
    let server = Server::start(settings, "").unwrap();
    let large = format!("{{\"examples\":[{}", " ".repeat(3000));
    let answer = server.post("learn", &large);
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (413, &json!("too_large")));
    // Where the length is not told before.
    let mut client = server.client();
    client
        .send(b"POST /v1/models/default/learn HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    client.send(format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len()).as_bytes()).unwrap();
    assert_eq!(client.answer().unwrap().status, 413);
    for features in [
        r#"{"a":1,"b":1,"c":1,"d":1}"#,
        r#"["a","b","c","d"]"#,
        r#"{"indices":[1,2,3,4],"values":[1,2,3,4]}"#,
    ] {
        let answer =
            server.post("learn", &format!("{{\"examples\":[{{\"features\":{features},\"label\":1}}]}}"));
        assert_eq!(answer.status, 422, "{}", answer.text());
    }
    for (task, status) in [("a", 200), ("b", 200), ("c", 409), ("a", 200)] {
        assert_eq!(server.post("learn", &example(task, "x", 1)).status, status, "{task}");
    }
    for id in 0..4 {
        server.post("predict", &format!("{{\"examples\":[{{\"features\":{{\"x\":1}},\"id\":\"{id}\"}}]}}"));
    }
    // Nobody waits until what was predicted is remembered.
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut metrics = String::new();
    while !metrics.contains("cognate_pending_dropped_total{model=\"default\"} 2") {
        assert!(Instant::now() < deadline, "{metrics}");
        metrics = server.get("/metrics").text();
    }
    assert_eq!(server.get("/v1/models/default").json()["pending"], json!(2));
    assert!(
        metrics.contains("cognate_rejected_total{model=\"default\",reason=\"too_large\"} 2"),
        "{metrics}"
    );
}

#[test]
fn one_connection_too_many_is_turned_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = options(folder.path());
    settings.max_connections = 3;
    let server = Server::start(settings, "").unwrap();
    let mut open: Vec<Client> = (0..3).map(|_| server.client()).collect();
    for client in &mut open {
        assert_eq!(client.ask("GET", "/healthz", &[], b"").unwrap().status, 200);
    }
    let turned = server.client().answer().unwrap();
    assert_eq!((turned.status, &turned.json()["error"]["code"]), (503, &json!("unavailable")));
    drop(open);
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.client().ask("GET", "/healthz", &[], b"").map_or(503, |answer| answer.status) != 200 {
        assert!(Instant::now() < deadline, "nobody is let in any more");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_is_not_allowed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Server::plain(folder.path()).post("learn", &example("a", "x", 1)).status, 200);
    let mut settings = options(folder.path());
    settings.read_only = true;
    let server = Server::start(settings, "").unwrap();
    assert_eq!(server.post("learn", &example("a", "x", 1)).status, 403);
    assert_eq!(server.ask("PUT", "/v1/models/x", "").status, 403);
    assert_eq!(server.post("predict", r#"{"examples":[{"features":{"x":1}}]}"#).status, 200);
    server.stop();
    let mut settings = options(folder.path());
    settings.engine.refuse_unknown_tasks = true;
    let server = Server::start(settings, "").unwrap();
    for (task, status) in [("a", 200), ("b", 404)] {
        assert_eq!(server.post("learn", &example(task, "x", 1)).status, status);
        let predict = format!("{{\"examples\":[{{\"task\":\"{task}\",\"features\":{{\"x\":1}}}}]}}");
        assert_eq!(server.post("predict", &predict).status, status);
    }
    assert_eq!(server.get("/v1/nothing").json()["error"]["code"], json!("not_found"));
    assert_eq!(server.ask("PATCH", "/v1/models", "").status, 405);
    server.stop();
    let mut settings = options(folder.path());
    settings.max_rate = Some(5.0);
    let server = Server::start(settings, "").unwrap();
    let statuses: Vec<u16> = (0..20).map(|_| server.get("/v1/models").status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
}
