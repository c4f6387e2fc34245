//! Models come and go, and are copied; how is the server?

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use cognate::RunConfig;

use super::answers::{
    CreatedAnswer, DeletedAnswer, ModelsAnswer, ReadyAnswer, SnapshotAnswer, SummaryAnswer,
};
use super::call::{Call, json, off_thread, parsed, with_type};
use super::learning::{ask, check_writes};
use crate::failure::{Code, Failure};
use crate::live::Job;

/// Refuses what is about a whole model to who sees a part of it.
pub(super) fn check_whole(call: &Call) -> Result<(), Failure> {
    if call.who.sees_all() { Ok(()) } else { Err(Failure::not_found()) }
}

/// `GET /v1/models`
pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let models = call.app.models();
    let models = models.into_iter().map(|(name, live)| (name, SummaryAnswer::of(&live, &call.who))).collect();
    Ok(json(StatusCode::OK, &ModelsAnswer { models }))
}

/// `GET /v1/models/{model}`
pub(super) async fn summary(call: Call) -> Result<Response, Failure> {
    Ok(json(StatusCode::OK, &SummaryAnswer::of(&*call.model()?, &call.who)))
}

/// `PUT /v1/models/{model}`
pub(super) async fn create(mut call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    check_whole(&call)?;
    let body = call.body().await?;
    let config = parsed(&call.app, body, config).await?;
    let (app, name) = (std::sync::Arc::clone(&call.app), call.name("model").to_owned());
    let model = name.clone();
    let created = off_thread(move || app.create(&name, &config)).await??;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(json(status, &CreatedAnswer { model, created }))
}

/// A config, or the default one where nothing is sent.
fn config(body: &[u8]) -> Result<RunConfig, Failure> {
    if body.trim_ascii().is_empty() {
        return Ok(RunConfig::default());
    }
    serde_json::from_slice(body).map_err(|error| {
        let code = if error.is_data() { Code::OutOfRange } else { Code::Malformed };
        Failure::new(code, error.to_string())
            .hint("the config is the one of `cognate learn --config`, as JSON")
    })
}

/// `DELETE /v1/models/{model}`
pub(super) async fn remove(call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    check_whole(&call)?;
    let (app, name) = (std::sync::Arc::clone(&call.app), call.name("model").to_owned());
    let deleted = name.clone();
    off_thread(move || app.remove(&name)).await??;
    Ok(json(StatusCode::OK, &DeletedAnswer { deleted }))
}

/// `GET /v1/models/{model}/snapshot`
pub(super) async fn download(call: Call) -> Result<Response, Failure> {
    check_whole(&call)?;
    let live = call.model()?;
    let (bytes, seq) = off_thread(move || {
        let state = live.read();
        (state.model.to_bytes(), state.seq)
    })
    .await?;
    let mut response = with_type(StatusCode::OK, "application/octet-stream", bytes);
    let file = format!("attachment; filename=\"{}-{seq}.cog\"", call.name("model"));
    let headers = response.headers_mut();
    if let Ok(file) = HeaderValue::from_str(&file) {
        headers.insert(header::CONTENT_DISPOSITION, file);
    }
    headers.insert("cognate-seq", HeaderValue::from(seq));
    Ok(response)
}

/// `POST /v1/models/{model}/snapshot`
pub(super) async fn snapshot(call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    check_whole(&call)?;
    let live = call.model()?;
    let snapshot_seq = ask(&live, |reply| Job::Snapshot { reply }).await?;
    Ok(json(StatusCode::OK, &SnapshotAnswer { snapshot_seq }))
}

/// `GET /metrics`
pub(super) async fn metrics(call: Call) -> Result<Response, Failure> {
    check_whole(&call)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(with_type(StatusCode::OK, kind, call.app.metrics.text()))
}

/// `GET /healthz`
pub(super) async fn alive(_: Call) -> Result<Response, Failure> {
    Ok(with_type(StatusCode::OK, "text/plain; charset=utf-8", "alive\n"))
}

/// `GET /readyz`
pub(super) async fn ready(call: Call) -> Result<Response, Failure> {
    let app = std::sync::Arc::clone(&call.app);
    let troubles = off_thread(move || app.troubles()).await?;
    let ready = troubles.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(json(status, &ReadyAnswer { ready, troubles }))
}
