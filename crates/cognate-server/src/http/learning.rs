//! Learning, predicting, labels that come later.

use axum::http::{StatusCode, header};
use axum::response::Response;
use tokio::sync::oneshot;

use super::answers::{LabelledAnswer, LearnedAnswer, Plain, PredictionAnswer, PredictionsAnswer};
use super::call::{Call, SMALL, json, parsed};
use crate::body::{Purpose, Reading, labels};
use crate::examples::Examples;
use crate::failure::{Code, Failure};
use crate::live::{Answer, Job, Live, Reply, now};
use crate::tokens::Token;

/// Examples that are predicted while the learner waits.
const SLICE: usize = 64;
const NDJSON: &str = "application/x-ndjson";

/// Refuses to change anything where nothing may be.
pub(super) fn check_writes(call: &Call) -> Result<(), Failure> {
    if call.app.options.read_only {
        return Err(Failure::new(Code::Forbidden, "the server is read-only"));
    }
    Ok(())
}

/// The examples of a body.
async fn examples(call: &mut Call, purpose: Purpose) -> Result<(Examples, axum::body::Bytes), Failure> {
    let reading = Reading {
        purpose,
        max_features: call.app.options.max_features,
        takes_unknown: purpose == Purpose::Learn,
    };
    let kind = call.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let lines = match kind.as_str() {
        // curl's own for --data.
        "application/json" | "" | "application/x-www-form-urlencoded" => false,
        NDJSON | "application/jsonl" | "application/x-jsonlines" => true,
        other => {
            let message = format!("found content type {other:?}; expected application/json or {NDJSON}");
            return Err(Failure::new(Code::UnsupportedMedia, message));
        }
    };
    let body = call.body().await?;
    let parse = move |body: &[u8]| if lines { reading.lines(body) } else { reading.json(body) };
    let examples = parsed(&call.app, body.clone(), parse).await?;
    check_tasks(&examples, &call.who)?;
    Ok((examples, body))
}

/// Refuses tasks of others as if they were not there.
fn check_tasks(examples: &Examples, who: &Token) -> Result<(), Failure> {
    if who.sees_all() {
        return Ok(());
    }
    let seen = |row: Result<crate::examples::Row<'_>, _>| {
        row.is_ok_and(|row| who.sees(row.task.unwrap_or("default")))
    };
    if examples.reader().all(seen) { Ok(()) } else { Err(Failure::not_found()) }
}

/// Asks a model's thread, and waits for its answer.
pub(super) async fn ask<T>(live: &Live, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, Failure> {
    let (reply, answer) = oneshot::channel();
    live.ask(job(reply))?;
    answer.await.unwrap_or_else(|_| Err(Failure::new(Code::Unavailable, "the model was closed meanwhile")))
}

/// `POST /v1/models/{model}/learn`
pub(super) async fn learn(mut call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    let live = call.model()?;
    let (examples, body) = examples(&mut call, Purpose::Learn).await?;
    let key = call.key(&body)?;
    if examples.count == 0 {
        let seq = live.read().seq;
        return Ok(json(StatusCode::OK, &LearnedAnswer::from(Answer { seq, ..Answer::default() })));
    }
    let time = now();
    let learned = ask(&live, |reply| Job::Learn { examples, key, time, reply }).await;
    let learned = learned.map_err(|failure| hide(failure, &call.who))?;
    Ok(json(StatusCode::OK, &LearnedAnswer::from(learned)))
}

/// Names of tasks of others are not told to who does not see them.
fn hide(failure: Failure, who: &Token) -> Failure {
    let of_task = failure.path.as_deref().is_some_and(|path| path.rsplit('.').next() == Some("task"));
    if of_task && !who.sees_all() { Failure::not_found() } else { failure }
}

/// `POST /v1/models/{model}/labels`
pub(super) async fn label(mut call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    let live = call.model()?;
    let body = call.body().await?;
    let labels = parsed(&call.app, body.clone(), labels).await?;
    let key = call.key(&body)?;
    let (whose, time) = (call.who.prefix.clone(), now());
    let learned = ask(&live, |reply| Job::Label { whose, labels, key, time, reply }).await?;
    Ok(json(StatusCode::OK, &LabelledAnswer::from(learned)))
}

/// `POST /v1/models/{model}/predict`
pub(super) async fn predict(mut call: Call) -> Result<Response, Failure> {
    let live = call.model()?;
    let (examples, body) = examples(&mut call, Purpose::Predict).await?;
    let refuse_unknown = call.app.options.engine.refuse_unknown_tasks;
    let predicted = if body.len() > SMALL {
        let (live, examples) = (std::sync::Arc::clone(&live), examples.clone());
        call.app.background.run(move || predictions(&live, &examples, refuse_unknown)).await?
    } else {
        predictions(&live, &examples, refuse_unknown)
    };
    let predictions = predicted.map_err(|failure| hide(failure, &call.who))?;
    live.metrics().predicted(predictions.len() as u64);
    remember(&call, &live, &examples)?;
    Ok(json(StatusCode::OK, &PredictionsAnswer { predictions }))
}

/// Remembers the examples that have ids.
fn remember(call: &Call, live: &Live, examples: &Examples) -> Result<(), Failure> {
    let mut named = Examples::default();
    let mut reader = examples.reader();
    while let Ok(Some((row, bytes))) = reader.next_with_bytes() {
        if row.id.is_some() {
            named.bytes.extend_from_slice(bytes);
            named.count += 1;
        }
    }
    if named.count == 0 {
        return Ok(());
    }
    check_writes(call)?;
    live.ask(Job::Remember { whose: call.who.prefix.clone(), examples: named, time: now() })
}

fn predictions(
    live: &Live,
    examples: &Examples,
    refuse_unknown: bool,
) -> Result<Vec<PredictionAnswer>, Failure> {
    let mut predictions = Vec::with_capacity(examples.count);
    let mut reader = examples.reader();
    while predictions.len() < examples.count {
        let state = live.read();
        let first = predictions.len();
        for (at, row) in reader.by_ref().take(SLICE).enumerate() {
            let row = row.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
            let placed = |mut failure: Failure| {
                failure.path = failure
                    .path
                    .map(|path| path.replace("examples[0]", &format!("examples[{}]", first + at)));
                failure
            };
            if refuse_unknown && state.model.tasks().find(row.task.unwrap_or("default")).is_none() {
                return Err(Failure::not_found().at(format!("examples[{}].task", first + at)));
            }
            let predicted = state.model.predict_row(row.task, row.features.as_features());
            let predicted = predicted.map_err(|error| placed(Failure::of_stream(&error)))?;
            predictions.push(PredictionAnswer {
                label: Plain(predicted.label),
                margin: predicted.margin,
                probability: predicted.probability,
                uncertainty: predicted.uncertainty,
            });
        }
    }
    Ok(predictions)
}
