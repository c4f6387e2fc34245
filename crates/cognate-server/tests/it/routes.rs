//! What is answered is what the description says, and what the routes promise.

use cognate_server::ServeOptions;
use serde_json::{Value, json};

use super::support::{Server, example, options};

/// Where a value is not what a schema says; nothing if it is.
fn problem(value: &Value, schema: &Value, all: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = all.pointer(reference.strip_prefix('#')?)?;
        return problem(value, target, all);
    }
    for list in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[list].as_array() {
            let fits = choices.iter().any(|choice| problem(value, choice, all).is_none());
            return (!fits).then(|| format!("{value} is none of {choices:?}"));
        }
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &&str| match *kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        _ => value.is_null(),
    };
    if !kinds.is_empty() && !kinds.iter().any(is) {
        return Some(format!("{value} is not of type {kinds:?}"));
    }
    if let Some(object) = value.as_object() {
        let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = missing.into_iter().find(|name| !object.contains_key(*name)) {
            return Some(format!("{missing} is missing in {value}"));
        }
        for (name, inner) in object {
            let below = match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Null) if !schema["properties"].is_null() => {
                    return Some(format!("{name} is not described"));
                }
                (Value::Null, Value::Bool(false)) => return Some(format!("{name} is not allowed")),
                (Value::Null, more) => more,
                (known, _) => known,
            };
            if let Some(problem) = problem(inner, below, all) {
                return Some(format!("{name}: {problem}"));
            }
        }
    }
    let items = value.as_array().into_iter().flatten();
    items.filter(|_| !schema["items"].is_null()).find_map(|item| problem(item, &schema["items"], all))
}

#[test]
fn live_answers_are_as_described() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let all = server.get("/openapi.json").json();
    assert_eq!(all["openapi"], json!("3.1.0"));
    let model = "/v1/models/{model}";
    let calls = [
        ("get", "/v1/models".to_owned(), String::new(), "/v1/models"),
        ("put", "/v1/models/second".to_owned(), "{\"learner\":\"perceptron\"}".to_owned(), model),
        ("post", "/v1/models/default/learn".to_owned(), example("alice", "offer", 1), "/v1/models/{model}/learn"),
        ("post", "/v1/models/default/learn".to_owned(), example("bob", "offer", 1), "/v1/models/{model}/learn"),
        (
            "post",
            "/v1/models/default/predict".to_owned(),
            r#"{"examples":[{"features":{"offer":1,"t":"x","n":null,"b":true},"id":7},{"features":["offer"]}]}"#.to_owned(),
            "/v1/models/{model}/predict",
        ),
        ("post", "/v1/models/default/labels".to_owned(), r#"{"labels":[{"id":7,"label":1},{"id":"x","label":1}]}"#.to_owned(), "/v1/models/{model}/labels"),
        ("get", "/v1/models/default".to_owned(), String::new(), model),
        ("get", "/v1/models/default/tasks".to_owned(), String::new(), "/v1/models/{model}/tasks"),
        ("get", "/v1/models/default/tasks/alice".to_owned(), String::new(), "/v1/models/{model}/tasks/{task}"),
        ("get", "/v1/models/default/relations".to_owned(), String::new(), "/v1/models/{model}/relations"),
        ("get", "/v1/models/default/map".to_owned(), String::new(), "/v1/models/{model}/map"),
        ("get", "/v1/models/default/relations?near=bob".to_owned(), String::new(), "/v1/models/{model}/relations"),
        ("post", "/v1/models/default/learn".to_owned(), r#"{"examples":[{"features":{"a":1,"t":"x"},"label":"?"},{"features":{"b":1},"label":"?"}]}"#.to_owned(), "/v1/models/{model}/learn"),
        ("get", "/v1/models/default/alerts?limit=3".to_owned(), String::new(), "/v1/models/{model}/alerts"),
        ("get", "/v1/models/default/queue".to_owned(), String::new(), "/v1/models/{model}/queue"),
        ("post", "/v1/models/default/queue/5-0/answer".to_owned(), "{\"label\":1}".to_owned(), "/v1/models/{model}/queue/{id}/answer"),
        ("post", "/v1/models/default/queue/5-1/skip".to_owned(), "{}".to_owned(), "/v1/models/{model}/queue/{id}/skip"),
        ("post", "/v1/models/default/queue/5-0/undo".to_owned(), "{}".to_owned(), "/v1/models/{model}/queue/{id}/undo"),
        ("post", "/v1/models/default/queue/lease".to_owned(), "{\"count\":2}".to_owned(), "/v1/models/{model}/queue/lease"),
        ("delete", "/v1/models/default/tasks/alice".to_owned(), String::new(), "/v1/models/{model}/tasks/{task}"),
        ("post", "/v1/models/default/snapshot".to_owned(), String::new(), "/v1/models/{model}/snapshot"),
        ("delete", "/v1/models/second".to_owned(), String::new(), model),
        ("get", "/readyz".to_owned(), String::new(), "/readyz"),
    ];
    for (method, path, body, route) in &calls {
        let described = &all["paths"][route][method];
        if let (Ok(sent), Some(content)) = (
            serde_json::from_str::<Value>(body),
            described.pointer("/requestBody/content/application~1json/schema"),
        ) {
            assert_eq!(problem(&sent, content, &all), None, "{method} {path}: what is sent");
        }
        let answer = server.ask(&method.to_uppercase(), path, body);
        assert!(answer.status < 300, "{method} {path}: {}", answer.text());
        let schema =
            described.pointer(&format!("/responses/{}/content/application~1json/schema", answer.status));
        let schema = schema.unwrap_or_else(|| panic!("{method} {path}: {} is not described", answer.status));
        assert_eq!(problem(&answer.json(), schema, &all), None, "{method} {path}");
        // Refusals, too.
        let refused = server.ask(
            &method.to_uppercase(),
            &path.replace("default", "nobody").replace("second", "no%20name"),
            body,
        );
        if refused.status >= 400 {
            let schema = described.pointer("/responses/default/content/application~1json/schema").unwrap();
            assert_eq!(problem(&refused.json(), schema, &all), None, "{method} {path}");
        }
    }
    let json_routes = all["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, route)| {
                !route.pointer("/responses/200/content/application~1json").is_none_or(Value::is_null)
            })
            .map(move |(method, _)| (method.clone(), path.clone()))
    });
    for (method, path) in json_routes.filter(|(_, path)| path != "/openapi.json") {
        assert!(
            calls.iter().any(|call| call.0 == method && call.3 == path),
            "{method} {path} is not tried here"
        );
    }
}

#[test]
fn tasks_come_by_pages_sorted_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let examples = (0..25).flat_map(|task| {
        (0..=task % 5).map(move |at| {
            let label = if (task + at) % 2 == 0 { 1 } else { -1 };
            format!("{{\"task\":\"t{task:02}\",\"features\":{{\"x\":1}},\"label\":{label}}}")
        })
    });
    let body = format!("{{\"examples\":[{}]}}", examples.collect::<Vec<_>>().join(","));
    assert_eq!(server.post("learn", &body).status, 200);
    for sort in ["name", "examples", "error", "recent_error", "trend", "last_seen"] {
        let (mut names, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page =
                server.get(&format!("/v1/models/default/tasks?sort={sort}&limit=7&cursor={cursor}")).json();
            assert_eq!(page["total"], json!(25));
            let rows = page["tasks"].as_array().unwrap();
            names.extend(rows.iter().map(|row| row["task"].as_str().unwrap().to_owned()));
            pages += 1;
            let Some(next) = page["next_cursor"].as_str() else { break };
            next.clone_into(&mut cursor);
        }
        let mut known = names.clone();
        known.sort();
        known.dedup();
        assert_eq!((known.len(), names.len(), pages), (25, 25, 4), "{sort}");
        if sort == "name" {
            assert_eq!(names, known);
        }
    }
    let largest = server.get("/v1/models/default/tasks?limit=1").json();
    assert_eq!((&largest["tasks"][0]["task"], &largest["tasks"][0]["examples"]), (&json!("t04"), &json!(5)));
    let found = server.get("/v1/models/default/tasks?q=T1").json();
    assert_eq!(found["total"], json!(10));
    for (query, status) in
        [("sort=colour", 422), ("limit=0", 422), ("limit=x", 422), ("cursor=x", 400), ("q=%ff", 400)]
    {
        assert_eq!(server.get(&format!("/v1/models/default/tasks?{query}")).status, status, "{query}");
    }
    let one = server.get("/v1/models/default/tasks/t04").json();
    assert_eq!(one["curve"].as_array().unwrap().last().unwrap()[0], json!(5));
    assert_eq!(one["features"][0]["feature"], json!("x"));
}

#[test]
fn metrics_are_there_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let metrics = server.get("/metrics").text();
    for series in [
        "cognate_examples_learned_total{model=\"default\"} 0",
        "cognate_predictions_total{model=\"default\"} 0",
        "cognate_mistakes_total{model=\"default\"} 0",
        "cognate_rejected_total{model=\"default\",reason=\"malformed\"} 0",
        "cognate_progressive_error_ratio{model=\"default\"} 0.0",
        "cognate_tasks{model=\"default\"} 0",
        "cognate_queue_items{model=\"default\"} 0",
        "cognate_lease_expired_total{model=\"default\"} 0",
        "cognate_drift_alerts_total{model=\"default\",kind=\"loss\"} 0",
        "cognate_log_sync_duration_seconds_count{model=\"default\"} 0",
        "cognate_log_group_examples_count{model=\"default\"} 0",
        "cognate_log_poisoned{model=\"default\"} 0",
        "cognate_snapshot_last_success_timestamp_seconds{model=\"default\"} 0.0",
        "cognate_build_info{version=",
        "http_request_duration_seconds_count{route=\"/v1/models/{model}/learn\",method=\"POST\",status=\"200\"} 0",
    ] {
        assert!(metrics.contains(series), "{series}\n{metrics}");
    }
    server.post("learn", &example("alice", "offer", 1));
    server.post("predict", r#"{"examples":[{"features":{"x":1}},{"features":{}}]}"#);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    loop {
        let metrics = server.get("/metrics").text();
        let wanted = [
            "cognate_examples_learned_total{model=\"default\"} 1",
            "cognate_predictions_total{model=\"default\"} 2",
            "cognate_log_sync_duration_seconds_count{model=\"default\"} 1",
        ];
        if wanted.iter().all(|series| metrics.contains(series)) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{metrics}");
    }
}

#[test]
fn events_tell_what_is_learnt_and_end_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    // The connection is closed soon after what it told has ended.
    let server = Server::start(ServeOptions { idle_seconds: 1, ..options(folder.path()) }, "").unwrap();
    let mut client = server.client();
    client.send(b"GET /v1/models/default/events HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let seen = |client: &mut cognate_server::drill::Client, wanted: &str| {
        let text = client.read_until(wanted).unwrap();
        assert!(text.contains(wanted), "{text}");
    };
    seen(&mut client, "\"examples\":0");
    server.post("learn", &example("alice", "offer", 1));
    server.post("learn", &example("bob", "offer", 1));
    seen(&mut client, "\"seq\":2");
    // A model that is removed, or a server that stops, ends them.
    assert_eq!(server.ask("DELETE", "/v1/models/default", "").status, 200);
    assert!(client.read_until("never sent").is_err());
}

#[test]
fn the_map_has_a_point_for_every_task_and_does_not_jump() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    for round in 0..30 {
        let lines = (0..6).map(|task| {
            let label = if (task < 3) == (round % 2 == 0) { 1 } else { -1 };
            format!(
                "{{\"task\":\"t{task}\",\"features\":{{\"x\":{},\"y{}\":1}},\"label\":{label}}}",
                1 - 2 * (round % 2),
                round % 3
            )
        });
        let body = format!("{{\"examples\":[{}]}}", lines.collect::<Vec<_>>().join(","));
        assert_eq!(server.post("learn", &body).status, 200);
    }
    let map = server.get("/v1/models/default/map").json();
    assert_eq!(map["points"].as_array().unwrap().len(), 6);
    // Nothing has changed, but for the last digits of a turn by nothing.
    let again = server.get("/v1/models/default/map").json();
    for (one, other) in map["points"].as_array().unwrap().iter().zip(again["points"].as_array().unwrap()) {
        assert_eq!(one["task"], other["task"]);
        for axis in ["x", "y"] {
            let moved = one[axis].as_f64().unwrap() - other[axis].as_f64().unwrap();
            assert!(moved.abs() < 1e-9, "{one} {other}");
        }
    }
}
