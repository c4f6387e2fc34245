//! Tasks and how they are related, as people look at them.

use std::cmp::Ordering;

use axum::http::StatusCode;
use axum::response::Response;
use cognate::TaskId;

use super::answers::{
    FeatureAnswer, ForgottenAnswer, NearAnswer, PairAnswer, RelationsAnswer, TaskAnswer, TaskRow, TasksAnswer,
};
use super::call::{Call, json, off_thread};
use super::learning::{ask, check_writes};
use crate::failure::{Code, Failure};
use crate::live::{Job, State, TaskActivity, now};
use crate::tokens::Token;

/// Tasks on a page, unless another number is asked for, and at most.
const PAGE: usize = 50;
const LARGEST_PAGE: usize = 1000;
/// Features and tasks that are shown of a task.
const STRONGEST: usize = 20;
/// Tasks among which pairs are looked for: those with the most examples.
const PAIRED: usize = 500;

/// The columns by which tasks are sorted: names upwards, all others downwards.
const SORTS: [&str; 6] = ["name", "examples", "error", "recent_error", "trend", "last_seen"];

/// A number in the query.
pub(super) fn number(call: &Call, name: &str, default: usize, most: usize) -> Result<usize, Failure> {
    let Some(text) = call.parameter(name)? else { return Ok(default) };
    text.parse().ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
        Failure::new(Code::OutOfRange, format!("?{name}={text}: expected a number from 1 to {most}")).at(name)
    })
}

/// What is known of a task in a table.
fn row(state: &State, at: usize) -> TaskRow {
    let tally = state.model.metrics().task(TaskId(at as u32));
    let activity = state.activity.task(at);
    let real = state.model.kind() == Some(cognate::fit::Kind::Regression);
    let error = if real { tally.rmse() } else { Some(tally.error()) }.filter(|_| tally.examples > 0);
    let recent_error = activity.and_then(TaskActivity::recent_error).filter(|_| !real);
    TaskRow {
        task: state.model.tasks().name(TaskId(at as u32)).to_owned(),
        examples: tally.examples,
        mistakes: tally.mistakes,
        error,
        recent_error,
        trend: recent_error.zip(error).map(|(recent, error)| recent - error),
        last_seen: activity.filter(|seen| seen.last_seen > 0).map(|seen| seen.last_seen as f64 / 1000.0),
    }
}

/// What a task is sorted by; larger ones come first.
fn key(row: &TaskRow, sort: &str) -> f64 {
    let key = match sort {
        "examples" => Some(row.examples as f64),
        "error" => row.error,
        "recent_error" => row.recent_error,
        "trend" => row.trend,
        "last_seen" => row.last_seen,
        _ => Some(0.0),
    };
    key.unwrap_or(f64::NEG_INFINITY)
}

fn order(one: (f64, &str), other: (f64, &str)) -> Ordering {
    other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1))
}

/// Where a page ended: what it was sorted by, and the name, so that tasks that come or go meanwhile move nothing.
fn cursor(key: f64, name: &str) -> String {
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{:016x}{digits}", key.to_bits())
}

fn read_cursor(text: &str) -> Option<(f64, String)> {
    let (bits, digits) = text.split_at_checked(16)?;
    let key = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
    let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len() / 2).map(byte).collect();
    String::from_utf8(bytes?).ok().filter(|name| name.len() * 2 == digits.len()).map(|name| (key, name))
}

/// `GET /v1/models/{model}/tasks`
pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let live = call.model()?;
    let sort = call.parameter("sort")?.unwrap_or_else(|| "examples".to_owned());
    if !SORTS.contains(&sort.as_str()) {
        let message = format!("?sort={sort}: expected one of {}", SORTS.join(", "));
        return Err(Failure::new(Code::OutOfRange, message).at("sort"));
    }
    let limit = number(&call, "limit", PAGE, LARGEST_PAGE)?;
    let wanted = call.parameter("q")?.unwrap_or_default().to_lowercase();
    let after = call.parameter("cursor")?.filter(|cursor| !cursor.is_empty());
    let bad =
        || Failure::new(Code::Malformed, "?cursor=: expected the cursor of the page before").at("cursor");
    let after = after.map(|cursor| read_cursor(&cursor).ok_or_else(bad)).transpose()?;
    let who = std::sync::Arc::clone(&call.who);
    let page = off_thread(move || {
        let state = live.read();
        page(&state, &who, &Asked { sort: &sort, wanted: &wanted, after, limit })
    });
    Ok(json(StatusCode::OK, &page.await?))
}

struct Asked<'a> {
    sort: &'a str,
    wanted: &'a str,
    after: Option<(f64, String)>,
    limit: usize,
}

fn page(state: &State, who: &Token, asked: &Asked<'_>) -> TasksAnswer {
    let Asked { sort, wanted, after, limit } = asked;
    let names = state.model.tasks().names().enumerate();
    let matches = |name: &str| who.sees(name) && (wanted.is_empty() || name.to_lowercase().contains(wanted));
    let found: Vec<usize> = names.filter(|(_, name)| matches(name)).map(|(at, _)| at).collect();
    let total = found.len();
    let rows = found.into_iter().map(|at| row(state, at)).map(|row| (key(&row, sort), row));
    let is_after = |(key, row): &(f64, TaskRow)| {
        let after = after.as_ref();
        after.is_none_or(|(before, name)| order((*before, name), (*key, &row.task)).is_lt())
    };
    let mut rows: Vec<(f64, TaskRow)> = rows.filter(is_after).collect();
    let compare =
        |one: &(f64, TaskRow), other: &(f64, TaskRow)| order((one.0, &one.1.task), (other.0, &other.1.task));
    let more = rows.len() > *limit;
    if more {
        rows.select_nth_unstable_by(*limit, compare);
        rows.truncate(*limit);
    }
    rows.sort_by(compare);
    let next_cursor = rows.last().filter(|_| more).map(|(key, row)| cursor(*key, &row.task));
    TasksAnswer { total, tasks: rows.into_iter().map(|(_, row)| row).collect(), next_cursor }
}

/// The number of the task that is asked for, if it is there and not someone else's.
fn find(state: &State, name: &str, who: &Token) -> Result<TaskId, Failure> {
    let found = state.model.tasks().find(name).filter(|_| who.sees(name));
    found.ok_or_else(Failure::not_found)
}

/// `GET /v1/models/{model}/tasks/{task}`
pub(super) async fn one(call: Call) -> Result<Response, Failure> {
    let (live, name, who) = (call.model()?, call.name("task").to_owned(), std::sync::Arc::clone(&call.who));
    let told = off_thread(move || {
        let state = live.read();
        find(&state, &name, &who).map(|task| describe(&state, task, &who))
    });
    Ok(json(StatusCode::OK, &told.await??))
}

fn describe(state: &State, task: TaskId, who: &Token) -> TaskAnswer {
    let activity = state.activity.task(task.index());
    let curve = activity.map(TaskActivity::curve).unwrap_or_default();
    let place = state.model.learner().as_inspect().place(task);
    TaskAnswer {
        row: row(state, task.index()),
        curve: curve.into_iter().map(|(examples, mistakes)| [examples, mistakes]).collect(),
        group: place.map(|place| place.group),
        nearest: nearest(state, task, STRONGEST, who),
        features: features(state, task, who),
    }
}

/// The strongest features. Who sees some tasks alone is shown none: weights are shared, and names may be others'.
fn features(state: &State, task: TaskId, who: &Token) -> Vec<FeatureAnswer> {
    if !who.sees_all() {
        return Vec::new();
    }
    let name = state.model.tasks().name(task);
    let Ok(explained) = state.model.explain(name) else { return Vec::new() };
    let strongest = explained.weights.into_iter().take(STRONGEST);
    strongest.map(|weight| FeatureAnswer { feature: weight.name, weight: weight.weight }).collect()
}

/// The tasks that teach a task most.
fn nearest(state: &State, task: TaskId, most: usize, who: &Token) -> Vec<NearAnswer> {
    let (inspect, tasks) = (state.model.learner().as_inspect(), state.model.tasks());
    let others = (0..inspect.tasks().min(tasks.len()) as u32).map(TaskId).filter(|other| *other != task);
    let seen = others.filter(|other| who.sees(tasks.name(*other)));
    let mut strengths: Vec<(f64, TaskId)> =
        seen.map(|other| (inspect.relation(task, other), other)).collect();
    let compare = |one: &(f64, TaskId), other: &(f64, TaskId)| {
        other.0.abs().total_cmp(&one.0.abs()).then(one.1.cmp(&other.1))
    };
    if strengths.len() > most {
        strengths.select_nth_unstable_by(most, compare);
        strengths.truncate(most);
    }
    strengths.sort_by(compare);
    let answer =
        |(strength, other): (f64, TaskId)| NearAnswer { task: tasks.name(other).to_owned(), strength };
    strengths.into_iter().filter(|(strength, _)| *strength != 0.0).map(answer).collect()
}

/// `DELETE /v1/models/{model}/tasks/{task}`
pub(super) async fn forget(call: Call) -> Result<Response, Failure> {
    check_writes(&call)?;
    let (live, task, time) = (call.model()?, call.name("task").to_owned(), now());
    find(&live.read(), &task, &call.who)?;
    let forgotten = task.clone();
    let seq = ask(&live, |reply| Job::Forget { task, time, reply }).await?;
    let note = "its own weights, counts and remembered examples are gone; what its examples taught the shared part stays";
    Ok(json(StatusCode::OK, &ForgottenAnswer { forgotten, seq, note: note.to_owned() }))
}

/// `GET /v1/models/{model}/relations`
pub(super) async fn relations(call: Call) -> Result<Response, Failure> {
    let (live, who) = (call.model()?, std::sync::Arc::clone(&call.who));
    let limit = number(&call, "limit", PAGE, LARGEST_PAGE)?;
    let near = call.parameter("near")?;
    let told = off_thread(move || {
        let state = live.read();
        let Some(name) = near else { return Ok(strongest(&state, limit, &who)) };
        let task = find(&state, &name, &who)?;
        let pairs = nearest(&state, task, limit, &who).into_iter();
        let pairs =
            pairs.map(|near| PairAnswer { to: name.clone(), from: near.task, strength: near.strength });
        Ok(RelationsAnswer { among: state.model.tasks().len(), pairs: pairs.collect() })
    });
    Ok(json(StatusCode::OK, &told.await??))
}

/// The strongest pairs among the tasks with the most examples.
fn strongest(state: &State, most: usize, who: &Token) -> RelationsAnswer {
    let (inspect, tasks, metrics) =
        (state.model.learner().as_inspect(), state.model.tasks(), state.model.metrics());
    let known = (0..inspect.tasks().min(tasks.len()) as u32).map(TaskId);
    let mut known: Vec<TaskId> = known.filter(|task| who.sees(tasks.name(*task))).collect();
    known.sort_by_key(|task| (std::cmp::Reverse(metrics.task(*task).examples), *task));
    known.truncate(PAIRED);
    let pairs = known
        .iter()
        .flat_map(|to| known.iter().map(move |from| (*to, *from)))
        .filter(|(to, from)| to != from);
    let mut pairs: Vec<(f64, TaskId, TaskId)> =
        pairs.map(|(to, from)| (inspect.relation(to, from), to, from)).filter(|pair| pair.0 != 0.0).collect();
    let compare = |one: &(f64, TaskId, TaskId), other: &(f64, TaskId, TaskId)| {
        other.0.abs().total_cmp(&one.0.abs()).then((one.1, one.2).cmp(&(other.1, other.2)))
    };
    if pairs.len() > most {
        pairs.select_nth_unstable_by(most, compare);
        pairs.truncate(most);
    }
    pairs.sort_by(compare);
    let name = |task: TaskId| tasks.name(task).to_owned();
    let pair =
        |(strength, to, from): (f64, TaskId, TaskId)| PairAnswer { to: name(to), from: name(from), strength };
    RelationsAnswer { among: known.len(), pairs: pairs.into_iter().map(pair).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_others_are_refused() {
        for (key, name) in [(0.25, "alice"), (f64::NEG_INFINITY, "grüße/x"), (3.0, "")] {
            assert_eq!(read_cursor(&cursor(key, name)), Some((key, name.to_owned())));
        }
        for bad in
            ["", "12", "zz00000000000000", "00000000000000000", "0000000000000000ff", "ü000000000000000"]
        {
            assert_eq!(read_cursor(bad), None, "{bad}");
        }
    }
}
