//! All tasks in the plane. A picture takes a while to draw where there are many tasks: it is kept, and drawn anew beside the answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::Response;
use cognate::TaskId;

use super::answers::{MapAnswer, PointAnswer};
use super::call::{Call, off_thread, with_type};
use crate::failure::{Code, Failure};
use crate::layout::{Point, layout};
use crate::live::{Live, State};
use crate::tokens::Token;

/// A picture is at least so old before it is drawn anew.
const FRESH: Duration = Duration::from_secs(2);
/// Drawing takes at most one part in so many of a core.
const SHARE: u32 = 20;

/// A picture as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    bytes: Bytes,
    seq: u64,
    at: Instant,
    took: Duration,
}

impl Drawn {
    /// Whether it still shows the model, nearly.
    fn is_fresh(&self, seq: u64) -> bool {
        self.seq == seq || self.at.elapsed() < FRESH.max(self.took * SHARE)
    }
}

/// `GET /v1/models/{model}/map`
pub(super) async fn map(call: Call) -> Result<Response, Failure> {
    let (live, who) = (call.model()?, Arc::clone(&call.who));
    let answer = |bytes: Bytes| Ok(with_type(StatusCode::OK, "application/json", bytes));
    // Who sees some tasks alone has pictures of their own, which are not kept.
    if !who.sees_all() {
        return answer(off_thread(move || draw(&live, &who)).await??.bytes);
    }
    let known = live.drawn();
    if let Some(known) = &known
        && (known.is_fresh(live.read().seq) || !live.begins_to_draw())
    {
        return answer(known.bytes.clone());
    }
    let drawing = off_thread(move || {
        let drawn = draw(&live, &who);
        live.has_drawn(drawn.as_ref().ok().cloned());
        drawn
    });
    match known {
        // The next answer will have it.
        Some(known) => {
            tokio::spawn(drawing);
            answer(known.bytes)
        }
        None => answer(drawing.await??.bytes),
    }
}

fn draw(live: &Live, who: &Token) -> Result<Drawn, Failure> {
    let at = Instant::now();
    let (points, seq) = {
        let state = live.read();
        (points(&state, who), state.seq)
    };
    let mut placed: Vec<(String, Point)> =
        points.iter().map(|point| (point.task.clone(), [point.x, point.y])).collect();
    if who.sees_all() {
        live.align(&mut placed);
    }
    let points = points.into_iter().zip(placed).map(|(point, (_, [x, y]))| PointAnswer { x, y, ..point });
    let bytes = serde_json::to_vec(&MapAnswer { seq, points: points.collect() })
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    Ok(Drawn { bytes: bytes.into(), seq, at: Instant::now(), took: at.elapsed() })
}

/// A point for every task that is seen, those with the most examples first.
fn points(state: &State, who: &Token) -> Vec<PointAnswer> {
    let (inspect, tasks, metrics) =
        (state.model.learner().as_inspect(), state.model.tasks(), state.model.metrics());
    let known = (0..inspect.tasks().min(tasks.len()) as u32).map(TaskId);
    let mut known: Vec<TaskId> = known.filter(|task| who.sees(tasks.name(*task))).collect();
    known.sort_by_key(|task| (std::cmp::Reverse(metrics.task(*task).examples), *task));
    let own: Vec<f64> = known.iter().map(|task| inspect.relation(*task, *task)).collect();
    let alike = |one: usize, other: usize| {
        let both = inspect.relation(known[one], known[other]) + inspect.relation(known[other], known[one]);
        0.5 * both / (own[one] * own[other]).sqrt()
    };
    let places = layout(known.len(), alike);
    let outliers = inspect.parts(&known);
    let point = |(at, (task, place)): (usize, (&TaskId, Point))| PointAnswer {
        task: tasks.name(*task).to_owned(),
        x: place[0],
        y: place[1],
        examples: metrics.task(*task).examples,
        group: inspect.place(*task).map(|place| place.group),
        outlier: outliers.as_ref().is_some_and(|parts| parts[at].outlier_active),
    };
    known.iter().zip(places).enumerate().map(point).collect()
}
