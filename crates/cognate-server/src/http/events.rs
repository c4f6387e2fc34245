//! What happens, as it happens: server-sent events, at most four a second, each for all that came since the last.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Frame;
use serde_json::json;
use tokio::time::{Interval, interval};

use super::call::{Call, with_type};
use super::models::check_whole;
use crate::app::App;
use crate::failure::Failure;
use crate::live::Live;

/// Between two events.
const PERIOD: Duration = Duration::from_millis(250);
/// Periods after which it is told that nothing has happened.
const QUIET: u32 = 20;

/// `GET /v1/models/{model}/events`
pub(super) async fn follow(call: Call) -> Result<Response, Failure> {
    check_whole(&call)?;
    let live = call.model()?;
    let alerts = live.read().activity.alerts().raised;
    let events =
        Events { app: Arc::clone(&call.app), live, timer: interval(PERIOD), told: None, alerts, quiet: 0 };
    Ok(with_type(StatusCode::OK, "text/event-stream", Body::new(events)))
}

/// Events without an end, but that of the model or the server.
struct Events {
    app: Arc<App>,
    live: Arc<Live>,
    timer: Interval,
    /// The entry and the examples that were told last.
    told: Option<(u64, u64)>,
    /// Alerts that were told, and those of before.
    alerts: u64,
    quiet: u32,
}

impl Events {
    /// What is to be told, if anything.
    fn next(&mut self) -> Option<String> {
        let state = self.live.read();
        let (total, seq) = (state.model.metrics().total(), state.seq);
        let learned = total.examples.saturating_sub(self.told.map_or(total.examples, |told| told.1));
        if self.told.is_none_or(|told| told.0 != seq) {
            let (examples, mistakes, tasks) = (total.examples, total.mistakes, state.model.tasks().len());
            (self.told, self.quiet) = (Some((seq, examples)), 0);
            let data = json!({
                "seq": seq, "learned": learned, "examples": examples, "mistakes": mistakes, "tasks": tasks,
                "pending": state.pending, "queue": state.queue.items().len(),
            });
            let mut events = format!("event: progress\nid: {seq}\ndata: {data}\n\n");
            let new = state.activity.alerts().kept().filter(|alert| alert.number > self.alerts);
            for alert in new {
                let data = json!({ "number": alert.number, "kind": alert.kind, "task": alert.task });
                events += &format!("event: alert\ndata: {data}\n\n");
            }
            self.alerts = state.activity.alerts().raised;
            return Some(events);
        }
        self.quiet += 1;
        self.quiet.is_multiple_of(QUIET).then(|| format!("event: tick\ndata: {}\n\n", json!({ "seq": seq })))
    }
}

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        loop {
            ready!(self.timer.poll_tick(context));
            if self.app.is_stopping() || self.live.is_closed() {
                return Poll::Ready(None);
            }
            if let Some(event) = self.next() {
                return Poll::Ready(Some(Ok(Frame::data(event.into()))));
            }
        }
    }
}
