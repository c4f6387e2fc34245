//! The description of all routes, OpenAPI 3.1, made of the one list of routes.

use axum::http::StatusCode;
use axum::response::Response;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::call::{Call, json};
use super::routes::{ROUTES, Route};
use crate::failure::{Code, ErrorAnswer, Failure};

/// What is sent.
pub(super) enum Sent {
    Json(fn(&mut SchemaGenerator) -> Schema),
    Type(&'static str),
}

/// The schema of a type.
pub(super) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What a parameter of the query is.
const PARAMETERS: [(&str, &str); 6] = [
    ("sort", "name, examples, error, recent_error, trend or last_seen"),
    ("q", "part of the name of a task"),
    ("cursor", "the `next_cursor` of the page before"),
    ("limit", "how many, at most 1000"),
    ("near", "a task"),
    (
        "Idempotency-Key",
        "a request that comes again with its key and body is answered as the first time, and taught nothing",
    ),
];

fn content(sent: &Sent, generator: &mut SchemaGenerator) -> Value {
    match sent {
        Sent::Json(schema) => json!({ "application/json": { "schema": schema(generator) } }),
        Sent::Type(kind) => json!({ *kind: { "schema": { "type": "string" } } }),
    }
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let beside = route.parameters.iter().map(|name| {
        let about = PARAMETERS.iter().find(|(known, _)| known == name).map_or("", |(_, about)| about);
        let place = if name.starts_with('I') { "header" } else { "query" };
        json!({ "name": name, "in": place, "required": false, "description": about, "schema": { "type": "string" } })
    });
    let parameters: Vec<Value> = in_path.chain(beside).collect();
    let error = generator.subschema_for::<ErrorAnswer>();
    let mut operation = json!({
        "summary": route.about,
        "operationId": format!("{}_{}", route.method.to_lowercase(), route.path.trim_matches('/').replace(['/', '.'], "_").replace(['{', '}'], "")),
        "parameters": parameters,
        "responses": {
            "200": { "description": "done", "content": content(&route.answer, generator) },
            "default": { "description": "refused", "content": { "application/json": { "schema": error } } },
        },
    });
    if route.method == "PUT" {
        operation["responses"]["201"] = operation["responses"]["200"].clone();
    }
    if let Some(body) = &route.body {
        let mut kinds = content(body, generator);
        if route.lines {
            kinds["application/x-ndjson"] = json!({ "schema": { "type": "string" } });
        }
        operation["requestBody"] =
            json!({ "required": route.method != "PUT" && !route.path.contains("/queue/"), "content": kinds });
    }
    match route.scope {
        Some(scope) => operation["security"] = json!([{ "token": [scope.name()] }]),
        None => operation["security"] = json!([]),
    }
    operation
}

/// The whole description.
pub(super) fn description() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in ROUTES {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.to_lowercase()] = operation(route, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "cognate", "version": env!("CARGO_PKG_VERSION"), "summary": "models that learn live" },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// `GET /openapi.json`
pub(super) async fn describe(_: Call) -> Result<Response, Failure> {
    // The list is the same for ever; making it takes a few milliseconds.
    static DESCRIPTION: std::sync::LazyLock<Value> = std::sync::LazyLock::new(description);
    let description = tokio::task::spawn_blocking(|| json(StatusCode::OK, &*DESCRIPTION)).await;
    description.map_err(|error| Failure::new(Code::Internal, error.to_string()))
}
