//! Which routes are there? One list, from which the router and the description follow.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use cognate::RunConfig;
use schemars::JsonSchema;
use tracing::{debug, error};

use super::alerts::AlertsAnswer;
use super::answers::{
    CreatedAnswer, DeletedAnswer, ForgottenAnswer, LabelledAnswer, LearnedAnswer, MapAnswer, ModelsAnswer,
    PredictionsAnswer, ReadyAnswer, RelationsAnswer, SnapshotAnswer, SummaryAnswer, TaskAnswer, TasksAnswer,
};
use super::bodies::{LabelsBody, LearnBody, PredictBody};
use super::call::{Call, refusal};
use super::openapi::{Sent, schema_of};
use super::queue::{ActBody, AnswerBody, DoneAnswer, LeaseAnswer, LeaseBody, QueueAnswer};
use super::{alerts, events, learning, map, models, openapi, page, queue, tasks};
use crate::app::App;
use crate::failure::{Code, Failure};
use crate::tokens::{Scope, Token};

type Answered = Pin<Box<dyn Future<Output = Result<Response, Failure>> + Send>>;

/// A route.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// None for everybody.
    pub(super) scope: Option<Scope>,
    /// What it does, in a few words.
    pub(super) about: &'static str,
    /// Parameters of the query, and headers.
    pub(super) parameters: &'static [&'static str],
    /// What is sent to it.
    pub(super) body: Option<Sent>,
    /// Whether that may also be one example a line.
    pub(super) lines: bool,
    /// What it sends.
    pub(super) answer: Sent,
    handler: fn(Call) -> Answered,
}

/// What a route needs to be described, beside its address.
struct Described {
    parameters: &'static [&'static str],
    body: Option<Sent>,
    lines: bool,
    answer: Sent,
}

/// A route that sends this as JSON.
const fn sends<T: JsonSchema>() -> Described {
    Described { parameters: &[], body: None, lines: false, answer: Sent::Json(schema_of::<T>) }
}

/// A route that sends something else.
const fn sends_type(kind: &'static str) -> Described {
    Described { parameters: &[], body: None, lines: false, answer: Sent::Type(kind) }
}

impl Described {
    const fn takes<T: JsonSchema>(self) -> Self {
        Self { body: Some(Sent::Json(schema_of::<T>)), ..self }
    }

    const fn or_lines(self) -> Self {
        Self { lines: true, ..self }
    }

    const fn with(self, parameters: &'static [&'static str]) -> Self {
        Self { parameters, ..self }
    }
}

macro_rules! routes {
    ($($method:literal $path:literal, $scope:expr, $handler:path, $described:expr, $about:literal;)*) => {
        /// All routes.
        pub(super) static ROUTES: &[Route] = &[$({
            let Described { parameters, body, lines, answer } = $described;
            Route {
                method: $method,
                path: $path,
                scope: $scope,
                about: $about,
                parameters,
                body,
                lines,
                answer,
                handler: |call| Box::pin($handler(call)),
            }
        },)*];
    };
}

const ONCE: &[&str] = &["Idempotency-Key"];

routes! {
    "GET" "/v1/models", Some(Scope::Read), models::list, sends::<ModelsAnswer>(),
        "names and summaries of all models";
    "PUT" "/v1/models/{model}", Some(Scope::Admin), models::create, sends::<CreatedAnswer>().takes::<RunConfig>(),
        "makes a model; without a body one of the default learner";
    "GET" "/v1/models/{model}", Some(Scope::Read), models::summary, sends::<SummaryAnswer>(), "summary of a model";
    "DELETE" "/v1/models/{model}", Some(Scope::Admin), models::remove, sends::<DeletedAnswer>(), "removes a model";
    "POST" "/v1/models/{model}/learn", Some(Scope::Learn), learning::learn,
        sends::<LearnedAnswer>().takes::<LearnBody>().or_lines().with(ONCE),
        "learns examples, all or none; answers when they are durable";
    "POST" "/v1/models/{model}/predict", Some(Scope::Predict), learning::predict,
        sends::<PredictionsAnswer>().takes::<PredictBody>().or_lines(),
        "predicts examples; those with an id are remembered for their labels";
    "POST" "/v1/models/{model}/labels", Some(Scope::Label), learning::label,
        sends::<LabelledAnswer>().takes::<LabelsBody>().with(ONCE), "learns remembered examples by their ids";
    "GET" "/v1/models/{model}/tasks", Some(Scope::Read), tasks::list,
        sends::<TasksAnswer>().with(&["sort", "q", "cursor", "limit"]), "a page of tasks";
    "GET" "/v1/models/{model}/tasks/{task}", Some(Scope::Read), tasks::one, sends::<TaskAnswer>(), "one task";
    "DELETE" "/v1/models/{model}/tasks/{task}", Some(Scope::Admin), tasks::forget, sends::<ForgottenAnswer>(),
        "forgets a task: its own weights, its counts, its remembered examples";
    "GET" "/v1/models/{model}/relations", Some(Scope::Read), tasks::relations,
        sends::<RelationsAnswer>().with(&["near", "limit"]), "the strongest relations, of one task or of all";
    "GET" "/v1/models/{model}/map", Some(Scope::Read), map::map, sends::<MapAnswer>(),
        "all tasks in the plane, close together where they teach each other much";
    "GET" "/v1/models/{model}/alerts", Some(Scope::Read), alerts::list,
        sends::<AlertsAnswer>().with(&["limit"]), "tasks that err more than they used to, and whether learning has stopped";
    "GET" "/v1/models/{model}/queue", Some(Scope::Label), queue::look, sends::<QueueAnswer>(),
        "examples that wait for people, and what their answers say of the error";
    "POST" "/v1/models/{model}/queue/lease", Some(Scope::Label), queue::lease,
        sends::<LeaseAnswer>().takes::<LeaseBody>(), "items to be shown to one person, and to nobody else meanwhile";
    "POST" "/v1/models/{model}/queue/{id}/answer", Some(Scope::Label), queue::answer,
        sends::<DoneAnswer>().takes::<AnswerBody>(), "answers an item; learnt after ten more answers, or 30 s";
    "POST" "/v1/models/{model}/queue/{id}/skip", Some(Scope::Label), queue::skip,
        sends::<DoneAnswer>().takes::<ActBody>(), "puts an item at the end";
    "POST" "/v1/models/{model}/queue/{id}/undo", Some(Scope::Label), queue::undo,
        sends::<DoneAnswer>().takes::<ActBody>(), "takes an answer back, or a skip";
    "GET" "/v1/models/{model}/events", Some(Scope::Read), events::follow, sends_type("text/event-stream"),
        "what is learnt, as server-sent events, at most four a second; a tick when nothing happens";
    "GET" "/v1/models/{model}/snapshot", Some(Scope::Admin), models::download, sends_type("application/octet-stream"),
        "the model as a .cog file";
    "POST" "/v1/models/{model}/snapshot", Some(Scope::Admin), models::snapshot, sends::<SnapshotAnswer>(),
        "makes a snapshot now";
    "GET" "/metrics", Some(Scope::Read), models::metrics, sends_type("application/openmetrics-text"),
        "metrics in the text format of Prometheus";
    "GET" "/healthz", None, models::alive, sends_type("text/plain"), "whether the server is alive";
    "GET" "/readyz", None, models::ready, sends::<ReadyAnswer>(), "whether everything can be asked, and why not";
    "GET" "/", None, page::file, sends_type("text/html"), "the dashboard";
    "GET" "/page/{file}", None, page::file, sends_type("text/javascript"), "what the dashboard is made of";
    "GET" "/openapi.json", None, openapi::describe, sends::<OpenApi>(), "this description";
}

/// The description of all routes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema is made of it")]
struct OpenApi {
    /// The version of OpenAPI
    openapi: String,
}

fn filter(method: &str) -> MethodFilter {
    match method {
        "GET" => MethodFilter::GET,
        "PUT" => MethodFilter::PUT,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::POST,
    }
}

/// The router of all routes.
pub(super) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    let mut paths: Vec<&'static str> = ROUTES.iter().map(|route| route.path).collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let mut methods = MethodRouter::new();
        for route in ROUTES.iter().filter(|route| route.path == path) {
            app.metrics.request(route.path, route.method, 200, None);
            let app = Arc::clone(app);
            methods = methods
                .merge(on(filter(route.method), move |params: RawPathParams, request: Request| {
                    answer(app, route, params, request)
                }));
        }
        router = router.route(path, methods);
    }
    let not_here = || async {
        refusal(&Failure::new(Code::NotFound, "there is no such route").hint("GET /openapi.json lists all"))
    };
    let otherwise = || async {
        refusal(&Failure::new(Code::MethodNotAllowed, "this route is asked with another method"))
    };
    router.fallback(not_here).method_not_allowed_fallback(otherwise)
}

/// Answers a request, counts it, and tells the log of what went wrong here.
async fn answer(app: Arc<App>, route: &'static Route, params: RawPathParams, request: Request) -> Response {
    let began = Instant::now();
    let names: Vec<(String, String)> =
        params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let model = names.iter().find(|(name, _)| name == "model").map(|(_, value)| value.clone());
    let answered = match may(&app, route, request.headers()) {
        Ok(who) => (route.handler)(Call::new(Arc::clone(&app), who, names, request)).await,
        Err(failure) => Err(failure),
    };
    let response = answered.unwrap_or_else(|failure| {
        if let Some(live) = model.as_deref().and_then(|model| app.model(model).ok()) {
            live.metrics().rejected(failure.code.name());
        }
        if failure.code == Code::Internal {
            error!(route = route.path, message = failure.message, "internal error");
        }
        refusal(&failure)
    });
    let (status, seconds) = (response.status().as_u16(), began.elapsed().as_secs_f64());
    app.metrics.request(route.path, route.method, status, Some(seconds));
    debug!(method = route.method, route = route.path, status, seconds, "request");
    response
}

/// Who asks, if they may.
fn may(app: &App, route: &Route, headers: &HeaderMap) -> Result<Arc<Token>, Failure> {
    let Some(scope) = route.scope else { return Ok(Arc::new(Token::anyone())) };
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let secret = given.and_then(|given| {
        let (kind, secret) = given.split_once(' ')?;
        kind.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    let who = app.token(secret).ok_or_else(|| {
        let message = if given.is_some() { "nobody knows this token" } else { "a token is needed" };
        Failure::new(Code::Unauthorized, message).hint("send it as `Authorization: Bearer …`")
    })?;
    if let Some(rate) = app.options.max_rate
        && !who.take(rate)
    {
        return Err(Failure::new(Code::TooMany, format!("more than {rate} requests a second")));
    }
    if who.may(scope) {
        return Ok(who);
    }
    let message = format!("the token {:?} is not for this; it needs the scope {}", who.name, scope.name());
    Err(Failure::new(Code::Forbidden, message))
}
