//! How is an entry learnt, the first time or again?
//!
//! Readers wait while a slice of examples is learnt, not while a whole request is. What is learnt depends on the entries alone.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use cognate::model::Prepared;
use cognate::run::{Observer, Progress, RoundReport, RunError, UnlabelledReport};
use cognate::{Metrics, Model, Rows, Tasks};

use super::activity::Activity;
use super::asking::{Unlabelled, apply_queue, ask_learnt, ask_predicted};
use super::engine::EngineOptions;
use super::memory::{Answer, Memory};
use super::{Shared, State};
use crate::entry::{Change, Entry, Told};
use crate::examples::{ExampleReader, Examples, NotWhole, Row};
use crate::failure::{Code, Failure};

/// Examples that are learnt while readers wait: some tenths of a millisecond.
const SLICE: NonZeroUsize = NonZeroUsize::new(32).expect("above 0");

/// Hands examples to a model; they are in place when this returns, and forgotten if it fails.
fn push_all<'m, 'a>(
    model: &'m mut Model,
    examples: impl Iterator<Item = Result<Row<'a>, NotWhole>>,
    first: usize,
) -> Result<Rows<'m>, Failure> {
    let rounds = model.rounds();
    let mut rows = model.rows();
    for (at, row) in examples.enumerate() {
        let row = row.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        let pushed = rows.push_with(row.task, row.features.as_features(), row.label, row.beside);
        pushed.map_err(|error| placed(Failure::of_run(&error, rounds), at, first + at))?;
    }
    rows.check().map_err(|error| Failure::of_run(&error, rounds))?;
    Ok(rows)
}

/// A failure of an example in a slice, by its place in the request.
fn placed(mut failure: Failure, within: usize, at: usize) -> Failure {
    if let Some(path) = &mut failure.path {
        *path = path.replace(&format!("examples[{within}]"), &format!("examples[{at}]"));
    }
    failure
}

/// Whether examples can be learnt, all of them; readers go on meanwhile. What this returns is good until a task is forgotten.
pub(super) fn check(state: &Shared, examples: &Examples) -> Result<Prepared, Failure> {
    let prepared = prepare(&state.read().model, examples)?;
    if !prepared.is_sure() {
        push_all(&mut state.write().model, examples.reader(), 0)?;
    }
    Ok(prepared)
}

fn prepare(model: &Model, examples: &Examples) -> Result<Prepared, Failure> {
    let rounds = model.rounds();
    let refused = |error: RunError| Failure::of_run(&error, rounds);
    let mut preparing = model.prepare(SLICE);
    for row in examples.reader() {
        let row = row.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        preparing.push(row.task, row.features.as_features(), row.label, row.beside).map_err(refused)?;
    }
    preparing.finish().map_err(refused)
}

/// What came of examples.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    /// Their margins before learning.
    pub(super) margins: Vec<f64>,
    /// Those without a label.
    pub(super) unlabelled: Vec<Unlabelled>,
}

/// Learns examples, all or none. After an error that stops learning, some may have been learnt.
pub(super) fn learn(
    state: &Shared,
    examples: &Examples,
    prepared: Option<Prepared>,
    time: u64,
) -> Result<Learnt, Failure> {
    let prepared = match prepared {
        Some(prepared) => prepared,
        None => check(state, examples)?,
    };
    let mut watch = Watch { learnt: Learnt::default(), time, activity: Activity::default() };
    watch.learnt.margins.reserve(examples.count);
    if prepared.is_settled() {
        for piece in 0..prepared.pieces() {
            learn_piece(&mut state.write(), &prepared, piece, &mut watch)?;
            state.give_way();
        }
        return Ok(watch.learnt);
    }
    let mut reader = examples.reader();
    let mut first = 0;
    while first < examples.count {
        let slice = SLICE.get().min(examples.count - first);
        learn_slice(&mut state.write(), &mut reader, (first, slice), &mut watch)?;
        first += slice;
        state.give_way();
    }
    Ok(watch.learnt)
}

fn learn_piece(
    State { model, activity, .. }: &mut State,
    prepared: &Prepared,
    piece: usize,
    watch: &mut Watch,
) -> Result<(), Failure> {
    let rounds = model.rounds();
    std::mem::swap(&mut watch.activity, activity);
    let learnt = model.learn_prepared(prepared, piece, watch);
    std::mem::swap(&mut watch.activity, activity);
    learnt.map_err(|error| Failure::of_run(&error, rounds))
}

/// The same where tasks or names are new.
fn learn_slice(
    state: &mut State,
    reader: &mut ExampleReader<'_>,
    (first, slice): (usize, usize),
    watch: &mut Watch,
) -> Result<(), Failure> {
    let State { model, activity, .. } = state;
    let rounds = model.rounds();
    let rows = push_all(model, reader.by_ref().take(slice), first)?;
    std::mem::swap(&mut watch.activity, activity);
    let learnt = rows.learn(watch);
    std::mem::swap(&mut watch.activity, activity);
    learnt.map_err(|error| Failure::of_run(&error, rounds))
}

/// Keeps margins, and how tasks do.
struct Watch {
    learnt: Learnt,
    time: u64,
    activity: Activity,
}

impl Observer for Watch {
    fn observe(&mut self, report: &RoundReport, tasks: &Tasks, _: &Metrics) {
        self.learnt.margins.push(report.margin);
        let task = (report.task.index(), tasks.name(report.task));
        self.activity.count(task, (report.mistake, report.margin), self.time);
    }

    fn observe_unlabelled(&mut self, report: &UnlabelledReport<'_>, _: &Tasks, _: &Metrics) {
        let at = self.learnt.margins.len();
        self.learnt.margins.push(report.margin);
        self.learnt.unlabelled.push(Unlabelled { at, margin: report.margin, queried: report.queried });
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The model without a task.
pub(super) fn forget(mut model: Model, task: &str) -> Result<Model, Failure> {
    use cognate::model::ForgetError;
    match model.forget_task(task) {
        Ok(()) => Ok(model),
        Err(ForgetError::Unknown(_)) => Err(Failure::not_found()),
        Err(error) => Err(Failure::new(Code::Conflict, error.to_string())),
    }
}

/// Applies an entry, the first time, when its examples may be prepared, or again; its number, and what came of it.
pub(super) fn apply(
    state: &Shared,
    memory: &mut Memory,
    options: &EngineOptions,
    seq: u64,
    (Entry { time, key, change }, prepared): (Entry, Option<Prepared>),
) -> (u64, Result<Answer, Failure>) {
    let mut unlabelled = 0;
    let source = (seq, time, options.max_queue);
    let learnt = match &change {
        Change::Learn(examples) => learn(state, examples, prepared, time).map(|learnt| {
            unlabelled = learnt.unlabelled.len();
            if unlabelled > 0 {
                ask_learnt(&mut state.write(), examples, &learnt.unlabelled, source);
            }
            learnt.margins
        }),
        Change::Label(whose, examples, _) => {
            let ids = examples.reader().filter_map(Result::ok).filter_map(|row| row.id);
            ids.for_each(|id| {
                memory.labelled(whose, id, options.max_pending);
                state.write().queue.labelled(whose, id);
            });
            learn(state, examples, prepared, time).map(|learnt| learnt.margins)
        }
        Change::Remember(whose, examples) => {
            memory.remember(whose, examples, options.max_pending);
            ask_predicted(&mut state.write(), whose, examples, source);
            Ok(Vec::new())
        }
        Change::Forget(task) => forget_everywhere(state, memory, task).map(|()| Vec::new()),
        Change::Queue(change) => apply_queue(state, memory, options.max_pending, (seq, time), change.clone()),
    };
    {
        let mut state = state.write();
        (state.seq, state.pending) = (seq, memory.waiting());
    }
    let Told { unknown, again } = match change {
        Change::Label(_, _, told) => told,
        _ => Told::default(),
    };
    let learnt = learnt.map(|margins| Answer { seq, margins, unlabelled, unknown, again });
    if let (Some(key), Ok(answer)) = (&key, &learnt) {
        memory.remember_answer(key, answer);
    }
    (seq, learnt)
}

fn forget_everywhere(state: &Shared, memory: &mut Memory, task: &str) -> Result<(), Failure> {
    // Readers go on while a copy forgets.
    let (model, at) = {
        let state = state.read();
        (state.model.clone(), state.model.tasks().find(task))
    };
    let model = forget(model, task)?;
    let of_task = |example: &[u8]| {
        ExampleReader::new(example)
            .next()
            .is_some_and(|row| row.is_ok_and(|row| row.task.unwrap_or("default") == task))
    };
    memory.forget(of_task);
    let mut state = state.write();
    state.model = model;
    state.queue.forget(task);
    at.into_iter().for_each(|at| state.activity.remove(at.index(), task));
    Ok(())
}
