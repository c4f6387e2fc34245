//! People are asked for labels: who is shown which example, and what have they said?

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::Response;
use cognate::FeatureValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answers::Plain;
use super::call::{Call, json};
use super::learning::{ask, check_writes};
use crate::examples::{ExampleReader, RowFeatures};
use crate::failure::{Code, Failure};
use crate::live::{Desk, Item, Job, Lessee, Live, Outcome, Queue, State, Wish, now};
use crate::queue_entry::ItemId;
use crate::tokens::Token;

/// Items of a lease, and seconds that it lasts, unless something else is asked for; and at most.
const ITEMS: usize = 5;
const MOST_ITEMS: usize = 50;
const SECONDS: u64 = 300;
const MOST_SECONDS: u64 = 3600;

/// The queue of a model, as one sees it.
#[derive(Serialize, JsonSchema)]
pub(super) struct QueueAnswer {
    /// Items that wait
    waiting: usize,
    /// Those of them that someone is being shown
    leased: usize,
    /// Answers that are held back, so that an undo is exact at once
    held: usize,
    /// Answers that were learnt
    learned: u64,
    /// Items dropped since others were worth more, or people put them aside again and again
    dropped: u64,
    /// Tasks of which most items wait
    tasks: Vec<TaskWaiting>,
    /// What answers to items drawn at random say of the error
    sample: SampleAnswer,
}

/// Items of a task.
#[derive(Serialize, JsonSchema)]
pub(super) struct TaskWaiting {
    /// The task
    task: String,
    /// Items that wait
    waiting: usize,
}

/// An estimate of the error without bias.
#[derive(Serialize, JsonSchema)]
pub(super) struct SampleAnswer {
    /// Answers to items that were drawn at random
    answers: u64,
    /// Those that contradict the prediction of when the item came
    mistakes: u64,
    /// The error; missing before the first answer, and where labels are numbers
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
    /// An interval that holds the error in 19 of 20 cases (Wilson)
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<[f64; 2]>,
}

/// Items for a person.
#[derive(Serialize, JsonSchema)]
pub(super) struct LeaseAnswer {
    /// By this the lease is known; answers bring it along, and so does the next lease
    lease: String,
    /// Seconds until others may be shown the items
    seconds: u64,
    /// Items that wait, these among them
    waiting: usize,
    /// The items, in the order in which they are to be shown
    items: Vec<ItemAnswer>,
}

/// An item.
#[derive(Serialize, JsonSchema)]
pub(super) struct ItemAnswer {
    /// What it is called
    id: String,
    /// Its task
    task: String,
    /// Its features
    features: Vec<FeatureShown>,
    /// When it came, in seconds since 1970
    asked: f64,
    /// How uncertain the prediction was when it came, from 0 to 1
    worth: f64,
}

/// A feature of an item.
#[derive(Serialize, JsonSchema)]
pub(super) struct FeatureShown {
    /// Its name, or its number
    name: String,
    /// Its value: a number or a text
    value: ValueShown,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ValueShown {
    Number(Plain),
    Text(String),
}

/// What was done with an item.
#[derive(Serialize, JsonSchema)]
pub(super) struct DoneAnswer {
    /// The item
    id: String,
    /// answered, again (it was so already), skipped, undone, or retracted: it had been learnt, and the model was made again without it
    outcome: String,
    /// Entry of the log
    seq: u64,
    /// Seconds until the answer is learnt, unless ten more come before; until then an undo is exact at once
    #[serde(skip_serializing_if = "Option::is_none")]
    held_seconds: Option<f64>,
    /// The item, which is leased again
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<ItemAnswer>,
}

/// How items are asked for.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LeaseBody {
    /// The lease of before, whose items are held for longer
    lease: Option<String>,
    /// Most items, from 1 to 50; 5 by default
    count: Option<usize>,
    /// Seconds until others may be shown them, from 10 to 3600; 300 by default
    seconds: Option<u64>,
}

/// An answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    /// -1 or 1, or 0 or 1; or a number
    label: f64,
    /// The lease that the item is of
    lease: Option<String>,
}

/// Who acts.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ActBody {
    /// The lease that the item is of
    lease: Option<String>,
}

impl ItemAnswer {
    fn of(id: ItemId, item: &Item) -> Self {
        Self {
            id: id.to_string(),
            task: item.task.clone(),
            features: features(&item.example),
            asked: item.time as f64 / 1000.0,
            worth: item.worth,
        }
    }
}

fn features(example: &[u8]) -> Vec<FeatureShown> {
    let number = |value: f64| ValueShown::Number(Plain(value));
    let Some(Ok(row)) = ExampleReader::new(example).next() else { return Vec::new() };
    match row.features {
        RowFeatures::Numbered(pairs) => {
            let of = |(at, value): (u32, f64)| FeatureShown { name: at.to_string(), value: number(value) };
            pairs.into_iter().map(of).collect()
        }
        RowFeatures::Named(pairs) => {
            let of =
                |(name, value): (&str, f64)| FeatureShown { name: name.to_owned(), value: number(value) };
            pairs.into_iter().map(of).collect()
        }
        RowFeatures::Mixed(pairs) => {
            let of = |(name, value): (&str, FeatureValue<'_>)| {
                let value = match value {
                    FeatureValue::Number(value) => number(value),
                    FeatureValue::Text(text) => ValueShown::Text(text.to_owned()),
                    _ => ValueShown::Text(String::new()),
                };
                FeatureShown { name: name.to_owned(), value }
            };
            pairs.into_iter().map(of).collect()
        }
    }
}

/// The interval of Wilson for a rate.
fn wilson(hits: f64, of: f64) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    let (rate, z2) = (hits / of, Z * Z);
    let middle = (rate + z2 / (2.0 * of)) / (1.0 + z2 / of);
    let half = Z / (1.0 + z2 / of) * (rate * (1.0 - rate) / of + z2 / (4.0 * of * of)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

fn sample(queue: &Queue, classifies: bool) -> SampleAnswer {
    let (answers, mistakes) = (queue.sample.answers, queue.sample.mistakes);
    let known = classifies && answers > 0;
    SampleAnswer {
        answers,
        mistakes,
        error: known.then(|| mistakes as f64 / answers as f64),
        interval: known.then(|| wilson(mistakes as f64, answers as f64)),
    }
}

/// Tasks of which most items wait.
fn tasks(state: &State, who: &Token) -> Vec<TaskWaiting> {
    const MOST: usize = 20;
    let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for item in state.queue.items().values().filter(|item| who.sees(&item.task)) {
        *counts.entry(&item.task).or_default() += 1;
    }
    let of = |(task, waiting): (&str, usize)| TaskWaiting { task: task.to_owned(), waiting };
    let mut counts: Vec<TaskWaiting> = counts.into_iter().map(of).collect();
    counts.sort_by_key(|of| (std::cmp::Reverse(of.waiting), of.task.clone()));
    counts.truncate(MOST);
    counts
}

/// Ends leases that have run out, and counts them.
fn sweep(live: &Live, state: &State) {
    let expired = live.desk().sweep(state, Instant::now());
    live.metrics().leases_expired(expired);
}

/// `GET /v1/models/{model}/queue`
pub(super) async fn look(call: Call) -> Result<Response, Failure> {
    let live = call.model()?;
    let state = live.read();
    sweep(&live, &state);
    let who = &call.who;
    let waiting = state.queue.items().values().filter(|item| who.sees(&item.task)).count();
    let held = state.queue.held().iter().filter(|said| who.sees(&said.item.task)).count();
    // Counts over all tasks are not told to who sees some alone.
    let all = who.sees_all();
    let nothing = Queue::default();
    let counted = if all { &state.queue } else { &nothing };
    let classifies = state.model.kind() != Some(cognate::fit::Kind::Regression);
    Ok(json(
        StatusCode::OK,
        &QueueAnswer {
            waiting,
            leased: if all { live.desk().leased() } else { 0 },
            held,
            learned: counted.learnt,
            dropped: counted.dropped,
            tasks: tasks(&state, who),
            sample: sample(counted, classifies),
        },
    ))
}

/// A body of JSON, or the default where nothing is sent.
async fn body<T: serde::de::DeserializeOwned + Send>(
    call: &mut Call,
    nothing: Option<T>,
) -> Result<T, Failure> {
    let body = call.body().await?;
    if body.trim_ascii().is_empty()
        && let Some(nothing) = nothing
    {
        return Ok(nothing);
    }
    serde_json::from_slice(&body).map_err(|error| {
        let code = if error.is_data() { Code::OutOfRange } else { Code::Malformed };
        Failure::new(code, format!("the body is not what was expected: {error}"))
    })
}

/// The name of a lease, which this server has made or could have.
fn lessee(given: Option<String>) -> Result<Option<Lessee>, Failure> {
    let is_name = |name: &String| {
        (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    match given {
        None => Ok(None),
        Some(name) if is_name(&name) => Ok(Some(Lessee(name))),
        Some(_) => {
            let message = "the lease is not one that this server has given";
            Err(Failure::new(Code::OutOfRange, message).at("lease").hint("leave it out to get a new one"))
        }
    }
}

/// `POST /v1/models/{model}/queue/lease`
pub(super) async fn lease(mut call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    let live = call.model()?;
    let LeaseBody { lease, count, seconds } = body(&mut call, Some(LeaseBody::default())).await?;
    let (count, seconds) = (count.unwrap_or(ITEMS), seconds.unwrap_or(SECONDS));
    if !(1..=MOST_ITEMS).contains(&count) {
        let message = format!("found {count}; expected from 1 to {MOST_ITEMS} items");
        return Err(Failure::new(Code::OutOfRange, message).at("count"));
    }
    if !(10..=MOST_SECONDS).contains(&seconds) {
        let message = format!("found {seconds}; expected from 10 to {MOST_SECONDS} seconds");
        return Err(Failure::new(Code::OutOfRange, message).at("seconds"));
    }
    let holder = lessee(lease)?.unwrap_or_else(Desk::newcomer);
    let state = live.read();
    sweep(&live, &state);
    let who = &call.who;
    let times = (Instant::now(), Duration::from_secs(seconds));
    let leased = live.desk().lease(&state, |task| who.sees(task), &holder, count, times);
    let waiting = state.queue.items().values().filter(|item| who.sees(&item.task)).count();
    let items = leased.iter().map(|leased| ItemAnswer::of(leased.id, &leased.item)).collect();
    Ok(json(StatusCode::OK, &LeaseAnswer { lease: holder.0, seconds, waiting, items }))
}

/// The item of a path, if it is there, or was, and is not someone else's.
fn item_of(call: &Call, live: &Live) -> Result<ItemId, Failure> {
    let id = ItemId::parse(call.name("id")).ok_or_else(Failure::not_found)?;
    let state = live.read();
    let queue = &state.queue;
    let said = queue.held().iter().chain(queue.said()).filter(|said| said.id == id).map(|said| &said.item);
    let mut known = queue.items().get(&id).into_iter().chain(said);
    if known.any(|item| call.who.sees(&item.task)) { Ok(id) } else { Err(Failure::not_found()) }
}

/// Has a wish done for who holds the item, or for anyone if nobody does.
async fn act(
    (live, who): (Arc<Live>, Arc<Token>),
    wish: Wish,
    holder: Option<Lessee>,
) -> Result<Response, Failure> {
    let id = wish.id();
    live.desk().check(id, holder.as_ref(), Instant::now()).map_err(|_| {
        Failure::new(Code::Conflict, "someone else is being shown this item")
            .hint("take a new lease; it has other items")
    })?;
    let by = holder.as_ref().map_or_else(|| who.name.clone(), |holder| holder.0.clone());
    let time = now();
    let done = ask(&live, |reply| Job::Queue { wish, by, time, reply }).await?;
    let (outcome, held_seconds) = match done.outcome {
        Outcome::Answered => ("answered", Some(30.0)),
        Outcome::Again => ("again", None),
        Outcome::Skipped => ("skipped", None),
        Outcome::Undone => ("undone", None),
        Outcome::Retracted => ("retracted", None),
    };
    let mut item = None;
    if matches!(wish, Wish::Undo(_)) {
        let state = live.read();
        let again = state.queue.items().get(&id);
        item = again.map(|item| ItemAnswer::of(id, item));
        if let Some(holder) = holder.filter(|_| item.is_some()) {
            live.desk().hold(id, holder, Instant::now() + Duration::from_secs(SECONDS));
        }
    } else {
        live.desk().give_back(id);
    }
    let (id, outcome) = (id.to_string(), outcome.to_owned());
    Ok(json(StatusCode::OK, &DoneAnswer { id, outcome, seq: done.seq, held_seconds, item }))
}

/// `POST /v1/models/{model}/queue/{id}/answer`
pub(super) async fn answer(mut call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    let id = item_of(&call, &*call.model()?)?;
    let AnswerBody { label, lease } = body(&mut call, None).await?;
    act((call.model()?, call.who), Wish::Answer { id, label }, lessee(lease)?).await
}

/// `POST /v1/models/{model}/queue/{id}/skip`
pub(super) async fn skip(mut call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    let id = item_of(&call, &*call.model()?)?;
    let ActBody { lease } = body(&mut call, Some(ActBody::default())).await?;
    act((call.model()?, call.who), Wish::Skip(id), lessee(lease)?).await
}

/// `POST /v1/models/{model}/queue/{id}/undo`
pub(super) async fn undo(mut call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    let id = item_of(&call, &*call.model()?)?;
    let ActBody { lease } = body(&mut call, Some(ActBody::default())).await?;
    act((call.model()?, call.who), Wish::Undo(id), lessee(lease)?).await
}
