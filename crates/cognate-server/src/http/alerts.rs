//! What should people look at?

use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use super::call::{Call, json};
use super::tasks::number;
use crate::failure::Failure;
use crate::live::Alert;

/// Alerts that are told, unless another number is asked for, and at most.
const ALERTS: usize = 50;
const MOST_ALERTS: usize = 1000;

/// Alerts of a model.
#[derive(Serialize, JsonSchema)]
pub(super) struct AlertsAnswer {
    /// The newest first
    alerts: Vec<AlertAnswer>,
    /// Why nothing is learnt any more, if so
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
}

/// An alert.
#[derive(Serialize, JsonSchema)]
pub(super) struct AlertAnswer {
    /// Alerts of a model are counted from 1
    number: u64,
    /// What has happened: loss, the task errs more than it used to
    kind: String,
    /// The task
    task: String,
    /// When, in seconds since 1970
    time: f64,
    /// Examples of the task until then
    examples: u64,
    /// Its error before
    before: f64,
    /// Its error over the last examples, at most 128
    lately: f64,
}

impl From<&Alert> for AlertAnswer {
    fn from(alert: &Alert) -> Self {
        let Alert { number, kind, task, time, examples, before, lately } = alert.clone();
        Self { number, kind, task, time: time as f64 / 1000.0, examples, before, lately }
    }
}

/// `GET /v1/models/{model}/alerts`
pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let live = call.model()?;
    let limit = number(&call, "limit", ALERTS, MOST_ALERTS)?;
    let state = live.read();
    let seen = state.activity.alerts().kept().rev().filter(|alert| call.who.sees(&alert.task));
    let alerts = seen.take(limit).map(AlertAnswer::from).collect();
    Ok(json(StatusCode::OK, &AlertsAnswer { alerts, stopped: live.summary().stopped }))
}
