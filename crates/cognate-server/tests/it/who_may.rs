//! Who may do what? Every route with every role, and nothing of others' tasks for who sees some alone.

use std::fmt::Write;

use cognate_server::drill::Answer;
use cognate_server::tokens::{SCOPES, Scope, line};
use cognate_server::{ServeError, ServeOptions};
use serde_json::json;

use super::support::{Server, example, options};

/// All routes that need a token: method, path, body, and the scope that is enough.
const ROUTES: [(&str, &str, &str, &str); 22] = [
    ("GET", "/v1/models", "", "read"),
    ("PUT", "/v1/models/second", "", "admin"),
    ("GET", "/v1/models/default", "", "read"),
    (
        "POST",
        "/v1/models/default/learn",
        r#"{"examples":[{"task":"ours/a","features":{"x":1},"label":1}]}"#,
        "learn",
    ),
    (
        "POST",
        "/v1/models/default/predict",
        r#"{"examples":[{"task":"ours/a","features":{"x":1}}]}"#,
        "predict",
    ),
    ("POST", "/v1/models/default/labels", r#"{"labels":[]}"#, "label"),
    ("GET", "/v1/models/default/tasks", "", "read"),
    ("GET", "/v1/models/default/tasks/ours%2Fa", "", "read"),
    ("GET", "/v1/models/default/relations", "", "read"),
    ("GET", "/v1/models/default/map", "", "read"),
    ("GET", "/v1/models/default/alerts", "", "read"),
    ("GET", "/v1/models/default/queue", "", "label"),
    ("POST", "/v1/models/default/queue/5-0/answer", r#"{"label":1}"#, "label"),
    ("POST", "/v1/models/default/queue/5-1/skip", "", "label"),
    ("POST", "/v1/models/default/queue/5-0/undo", "", "label"),
    ("POST", "/v1/models/default/queue/lease", "", "label"),
    ("GET", "/v1/models/default/events", "", "read"),
    ("GET", "/v1/models/default/snapshot", "", "admin"),
    ("POST", "/v1/models/default/snapshot", "", "admin"),
    ("GET", "/metrics", "", "read"),
    ("DELETE", "/v1/models/default/tasks/ours%2Fb", "", "admin"),
    ("DELETE", "/v1/models/second", "", "admin"),
];

fn tokens() -> String {
    let mut text = String::new();
    for (name, scope) in SCOPES {
        writeln!(text, "{}", line(name, &format!("secret-{name}"), &[scope], "")).unwrap();
    }
    let all: Vec<Scope> = SCOPES.iter().map(|(_, scope)| *scope).collect();
    writeln!(text, "{}", line("all", "secret-all", &all, "")).unwrap();
    writeln!(text, "{}", line("ours", "secret-ours", &all, "ours/")).unwrap();
    writeln!(text, "{}", line("theirs", "secret-theirs", &all, "theirs/")).unwrap();
    text
}

fn ask(server: &Server, who: &str, method: &str, path: &str, body: &str) -> Answer {
    let header = format!("authorization: Bearer secret-{who}");
    server.client().ask(method, path, &[&header], body.as_bytes()).unwrap()
}

fn start(options: ServeOptions) -> Server {
    let server = Server::start(options, &tokens()).unwrap();
    for task in ["ours/a", "ours/b", "theirs/a", "secretive"] {
        let learnt = ask(
            &server,
            "all",
            "POST",
            "/v1/models/default/learn",
            &example(task, &format!("word-of-{}", &task[..4]), 1),
        );
        assert_eq!(learnt.status, 200);
    }
    let unlabelled = |task: &str| format!("{{\"task\":\"{task}\",\"features\":{{\"y\":1}},\"label\":\"?\"}}");
    let body = ["ours/a", "ours/b", "theirs/a"].map(unlabelled).join(",");
    let learnt =
        ask(&server, "all", "POST", "/v1/models/default/learn", &format!("{{\"examples\":[{body}]}}"));
    assert_eq!(learnt.status, 200);
    server
}

#[test]
fn every_route_with_every_role() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(options(folder.path()));
    let description = server.get("/openapi.json").json();
    let guarded = description["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values());
    let guarded = guarded.filter(|route| route["security"] != json!([])).count();
    assert_eq!(guarded, ROUTES.len(), "the list of routes here is whole");
    for (method, path, body, scope) in ROUTES {
        let nobody = server.ask(method, path, body);
        assert_eq!(
            (nobody.status, &nobody.json()["error"]["code"]),
            (401, &json!("unauthorized")),
            "{method} {path}"
        );
        assert_eq!(ask(&server, "unknown", method, path, body).status, 401, "{method} {path}");
        for (role, _) in SCOPES.iter().filter(|(role, _)| *role != scope) {
            assert_eq!(ask(&server, role, method, path, body).status, 403, "{role}: {method} {path}");
        }
        let allowed = ask(&server, scope, method, path, body);
        assert!(allowed.status < 300, "{scope}: {method} {path}: {}", allowed.text());
    }
    for path in ["/healthz", "/readyz", "/openapi.json", "/", "/page/app.js"] {
        assert_eq!(server.get(path).status, 200);
    }
}

#[test]
fn who_sees_some_tasks_learns_nothing_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(options(folder.path()));
    let model = "/v1/models/default";
    let not_there = ask(&server, "ours", "GET", &format!("{model}/tasks/ours%2Fnobody"), "");
    assert_eq!(not_there.status, 404);
    let predict = |task: &str| format!("{{\"examples\":[{{\"task\":\"{task}\",\"features\":{{\"x\":1}}}}]}}");
    for (method, path, body) in [
        ("GET", format!("{model}/tasks/theirs%2Fa"), String::new()),
        ("GET", format!("{model}/tasks/secretive"), String::new()),
        ("GET", format!("{model}/relations?near=theirs%2Fa"), String::new()),
        ("DELETE", format!("{model}/tasks/theirs%2Fa"), String::new()),
        ("POST", format!("{model}/queue/5-2/answer"), "{\"label\":1}".to_owned()),
        ("POST", format!("{model}/queue/5-2/skip"), String::new()),
        ("POST", format!("{model}/queue/5-2/undo"), String::new()),
        ("POST", format!("{model}/learn"), example("theirs/a", "x", 1)),
        ("POST", format!("{model}/learn"), example("theirs/new", "x", 1)),
        (
            "POST",
            format!("{model}/learn"),
            "{\"examples\":[{\"features\":{\"x\":1},\"label\":1}]}".to_owned(),
        ),
        ("POST", format!("{model}/predict"), predict("theirs/a")),
        ("POST", format!("{model}/predict"), predict("theirs/new")),
        ("GET", format!("{model}/events"), String::new()),
        ("GET", format!("{model}/events"), String::new()),
        ("GET", format!("{model}/snapshot"), String::new()),
        ("POST", format!("{model}/snapshot"), String::new()),
        ("PUT", "/v1/models/second".to_owned(), String::new()),
        ("DELETE", "/v1/models/default".to_owned(), String::new()),
        ("GET", "/metrics".to_owned(), String::new()),
        ("GET", "/v1/models/nobody".to_owned(), String::new()),
    ] {
        let refused = ask(&server, "ours", method, &path, &body);
        assert_eq!((refused.status, &refused.body), (404, &not_there.body), "{method} {path}");
    }
    let summary = ask(&server, "ours", "GET", model, "").json();
    assert_eq!((&summary["tasks"], &summary["examples"]), (&json!(2), &json!(2)));
    let mut seen = String::new();
    for path in [
        "/v1/models",
        model,
        &format!("{model}/tasks?limit=1000"),
        &format!("{model}/tasks/ours%2Fa"),
        &format!("{model}/relations"),
        &format!("{model}/map"),
    ] {
        seen += &ask(&server, "ours", "GET", path, "").text();
    }
    for of_others in ["theirs", "secretive", "word-of-thei", "word-of-secr"] {
        assert!(!seen.contains(of_others), "{of_others}: {seen}");
    }
    assert!(seen.contains("ours/a") && seen.contains("ours/b"));
    let leased = ask(&server, "ours", "POST", &format!("{model}/queue/lease"), "{\"count\":50}").text();
    assert!(leased.contains("ours/a") && leased.contains("ours/b") && !leased.contains("theirs"), "{leased}");
    let queue = ask(&server, "ours", "GET", &format!("{model}/queue"), "").json();
    assert_eq!((&queue["waiting"], &queue["leased"]), (&json!(2), &json!(0)), "{queue}");
    // Ids are everyone's own.
    let id = |task: &str| {
        format!("{{\"examples\":[{{\"task\":\"{task}\",\"features\":{{\"x\":1}},\"id\":\"m-1\"}}]}}")
    };
    assert_eq!(ask(&server, "ours", "POST", &format!("{model}/predict"), &id("ours/a")).status, 200);
    let label = r#"{"labels":[{"id":"m-1","label":1}]}"#;
    let told = |who: &str| ask(&server, who, "POST", &format!("{model}/labels"), label).json();
    assert_eq!(told("theirs")["unknown"], json!(["m-1"]));
    assert_eq!(told("ours")["learned"], json!(1));
    // So are the keys of requests.
    let keyed = |who: &str, task: &str| {
        let headers = [format!("authorization: Bearer secret-{who}"), "idempotency-key: 1".to_owned()];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let body = example(task, "x", 1);
        server.client().ask("POST", &format!("{model}/learn"), &headers, body.as_bytes()).unwrap().status
    };
    assert_eq!((keyed("ours", "ours/a"), keyed("theirs", "theirs/a")), (200, 200));
}

#[test]
fn nobody_listens_to_others_without_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = options(folder.path());
    open.listen = "0.0.0.0:0".parse().unwrap();
    let refused = Server::start(open.clone(), "");
    assert!(matches!(refused, Err(ServeError::Open { .. })));
    drop(Server::start(open, &tokens()).unwrap());
}
