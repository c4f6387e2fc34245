//! How do people's answers become entries of the log, and the log what people said?
//!
//! ```text
//! answer -> log, synced -> held back -> (ten more answers, or 30 s) -> release, logged -> learnt
//!                              undo: as if it had not been said          undo: retract, logged; the log is replayed without it
//! ```

use std::collections::BTreeSet;

use cognate::fit::Kind;
use cognate::{Model, QueryConfig};
use cognate_store::Disk;

use super::apply::{check, learn};
use super::engine::{Coming, Engine, To, answer};
use super::memory::{Found, Memory};
use super::queue::{Item, Queue, Said, chance, is_sampled};
use super::{Done, Durability, Outcome, Reply, Shared, State, Wish};
use crate::entry::{Change, Entry};
use crate::examples::{Examples, Row};
use crate::failure::{Code, Failure};
use crate::queue_entry::{Answered, ItemId, QueueChange};

/// An example that was predicted while others were learnt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unlabelled {
    /// Its place in the request.
    pub(super) at: usize,
    pub(super) margin: f64,
    /// Whether the query of the model asks for its label.
    pub(super) queried: bool,
}

/// How uncertain a prediction is, from 0 to 1; what a person's label is worth.
pub fn worth(model: &Model, row: &Row<'_>) -> Option<f64> {
    let predicted = model.predict_row(row.task, row.features.as_features()).ok()?;
    let found = match (predicted.probability, predicted.uncertainty) {
        (Some(probability), _) => 1.0 - (2.0 * probability - 1.0).abs(),
        (None, Some(deviation)) if model.kind() == Some(Kind::Regression) => deviation / (1.0 + deviation),
        _ => 1.0 / (1.0 + predicted.margin.abs()),
    };
    Some(if found.is_finite() { found.clamp(0.0, 1.0) } else { 1.0 })
}

/// Puts examples without labels that came with others into the queue, where they are asked for or drawn at random.
pub(super) fn ask_learnt(
    state: &mut State,
    examples: &Examples,
    unlabelled: &[Unlabelled],
    (seq, time, most): (u64, u64, usize),
) {
    let mut next = unlabelled.iter().peekable();
    for (at, row) in examples.reader().enumerate() {
        let Some(told) = next.next_if(|told| told.at == at) else { continue };
        let Ok(row) = row else { continue };
        let id = ItemId { seq, at: at as u32 };
        let random = is_sampled(id);
        if told.queried || random {
            // Nothing is remembered by the ids of what was not predicted by its own request.
            let row = Row { id: None, ..row };
            admit(state, (id, random), "", &row, (told.margin, time, most));
        }
    }
}

/// Puts predicted examples into the queue, as the query of the model says; with `all`, their labels come by other ways.
pub(super) fn ask_predicted(
    state: &mut State,
    whose: &str,
    examples: &Examples,
    (seq, time, most): (u64, u64, usize),
) {
    let query = state.model.config().query;
    if query.is_all() {
        return;
    }
    for (at, row) in examples.reader().enumerate() {
        let Ok(row) = row else { continue };
        let Ok(predicted) = state.model.predict_row(row.task, row.features.as_features()) else { continue };
        let id = ItemId { seq, at: at as u32 };
        let random = is_sampled(id);
        let task = state.model.tasks().find(row.task.unwrap_or("default"));
        // Of a task that is not known, everything is worth asking.
        let asked = task.is_none_or(|task| {
            let deviation = || predicted.uncertainty;
            let inspect = state.model.learner().as_inspect();
            chance(id) < query.probability(inspect, task, predicted.margin, &deviation)
        });
        if random || asked {
            admit(state, (id, random), whose, &row, (predicted.margin, time, most));
        }
    }
}

fn admit(
    state: &mut State,
    (id, random): (ItemId, bool),
    whose: &str,
    row: &Row<'_>,
    (margin, time, most): (f64, u64, usize),
) {
    let worth = worth(&state.model, row).unwrap_or(1.0);
    let mut plain = Examples::default();
    plain.push(row);
    let (whose, task) = (whose.to_owned(), row.task.unwrap_or("default").to_owned());
    let item = Item { whose, task, example: plain.bytes, margin, worth, random, time, skips: 0 };
    state.queue.admit(id, item, most);
}

/// Applies what people did.
pub(super) fn apply_queue(
    state: &Shared,
    memory: &mut Memory,
    max_pending: usize,
    (seq, time): (u64, u64),
    change: QueueChange,
) -> Result<Vec<f64>, Failure> {
    match change {
        QueueChange::Answer(said) => state.write().queue.hold(seq, said, time),
        QueueChange::Release(answers) => return release(state, memory, max_pending, (seq, time), &answers),
        QueueChange::Skip(id) => state.write().queue.skip(id),
        QueueChange::ComeBack(id) => state.write().queue.come_back(id),
        QueueChange::Undo(answer) => state.write().queue.take_back(answer),
        QueueChange::Retract(answer) => {
            let mut state = state.write();
            // Who does not know of it yet has learnt it, and begins again.
            if state.queue.retracted.contains(&answer) {
                state.queue.take_back(answer);
            }
        }
    }
    Ok(Vec::new())
}

/// Learns answers that were held back, in their order.
fn release(
    state: &Shared,
    memory: &mut Memory,
    max_pending: usize,
    (seq, time): (u64, u64),
    answers: &[u64],
) -> Result<Vec<f64>, Failure> {
    let mut margins = Vec::new();
    for answer in answers {
        let (said, retracted) = {
            let mut state = state.write();
            let said = state.queue.release(*answer, seq).cloned();
            (said, state.queue.retracted.contains(answer))
        };
        let Some(said) = said.filter(|_| !retracted) else { continue };
        let examples = labelled(&said.item, said.label);
        if let Some(id) = examples.reader().next().and_then(Result::ok).and_then(|row| row.id) {
            // Its label may have come in another way meanwhile.
            if memory.find(&said.item.whose, id) == Found::Again {
                continue;
            }
            memory.labelled(&said.item.whose, id, max_pending);
        }
        margins.extend(learn_whatever_is_asked(state, &examples, time)?);
        let mut state = state.write();
        let mistake = state.model.kind() != Some(Kind::Regression) && contradicts(&said);
        state.queue.count(said.item.random, mistake);
    }
    Ok(margins)
}

/// Whether an answer is another one than the prediction of when the item came.
fn contradicts(said: &Said) -> bool {
    // As everywhere: a margin of 0 contradicts both labels.
    let label = if said.label > 0.0 { 1.0 } else { -1.0 };
    said.item.margin * label <= 0.0
}

fn labelled(item: &Item, label: f64) -> Examples {
    let mut examples = Examples::default();
    examples.push_labelled(&item.example, label);
    examples
}

/// Learns answers: they have been asked for, and no draw decides about them again.
fn learn_whatever_is_asked(state: &Shared, examples: &Examples, time: u64) -> Result<Vec<f64>, Failure> {
    let (query, seed) = {
        let state = state.read();
        let config = state.model.config();
        (config.query, config.seed.unwrap_or_default())
    };
    let set = |query: QueryConfig| {
        let set = state.write().model.set_query(query, seed);
        set.map_err(|error| Failure::new(Code::Internal, error.to_string()))
    };
    if !query.is_all() {
        set(QueryConfig::default())?;
    }
    let learnt = learn(state, examples, None, time).map(|learnt| learnt.margins);
    if !query.is_all() {
        set(query)?;
    }
    learnt
}

/// What a wish comes to: an entry, or nothing since it was so already.
enum Admitted {
    Log(QueueChange, Outcome),
    Again,
}

impl<D: Disk + Clone> Engine<D> {
    /// Does what a person wishes.
    pub(super) fn on_queue(
        &mut self,
        wish: Wish,
        by: String,
        time: u64,
        reply: Reply<Done>,
        group: &mut Coming,
    ) {
        self.commit(group);
        let done = match self.admit_wish(wish, by, group) {
            Ok(Admitted::Again) => Ok(Done { seq: self.seq, outcome: Outcome::Again }),
            Ok(Admitted::Log(change, outcome)) => self.log_wish(change, outcome, time, group),
            Err(failure) => Err(failure),
        };
        answer(reply, done);
    }

    fn log_wish(
        &mut self,
        change: QueueChange,
        outcome: Outcome,
        time: u64,
        group: &mut Coming,
    ) -> Result<Done, Failure> {
        let before = self.seq;
        self.log(Entry { time, key: None, change: Change::Queue(change) }, None, To::Nobody, group);
        self.commit(group);
        if self.seq == before {
            return Err(Failure::stopped(self.stopped().unwrap_or("the log takes nothing more")));
        }
        if outcome == Outcome::Retracted {
            self.replay_again()?;
        }
        Ok(Done { seq: self.seq, outcome })
    }

    fn admit_wish(&self, wish: Wish, by: String, group: &mut Coming) -> Result<Admitted, Failure> {
        if let Some(cause) = self.stopped() {
            return Err(Failure::stopped(cause));
        }
        let state = self.state();
        let told = |queue: &Queue, wish: &Wish| {
            let mut said = queue.held().iter().chain(queue.said());
            let said = said.rfind(|said| said.id == wish.id()).cloned();
            (queue.items().get(&wish.id()).cloned(), said)
        };
        let (item, said) = {
            let state = state.read();
            told(&state.queue, &wish)
        };
        match (wish, item, said) {
            (Wish::Answer { id, label }, Some(item), _) => {
                let example = labelled(&item, label);
                check(&state, &example).map_err(in_answer)?;
                self.admit_tasks(&example, group).map_err(in_answer)?;
                let Item { whose, margin, random, .. } = item;
                let said = Answered { id, whose, by, margin, random, example };
                Ok(Admitted::Log(QueueChange::Answer(said), Outcome::Answered))
            }
            (Wish::Answer { label, .. }, None, Some(said)) => {
                // 0 is another way to say -1.
                let same = said.label.to_bits() == label.to_bits() || (said.label <= 0.0 && label <= 0.0);
                let real = state.write().model.kind() == Some(Kind::Regression);
                if said.label.to_bits() == label.to_bits() || (same && !real) {
                    return Ok(Admitted::Again);
                }
                let message = "the item was answered in another way before";
                Err(Failure::new(Code::Conflict, message).hint("undo that answer first"))
            }
            (Wish::Skip(id), Some(_), _) => Ok(Admitted::Log(QueueChange::Skip(id), Outcome::Skipped)),
            (Wish::Undo(id), Some(item), _) if item.skips > 0 => {
                Ok(Admitted::Log(QueueChange::ComeBack(id), Outcome::Undone))
            }
            (Wish::Undo(_), Some(_), _) => Ok(Admitted::Again),
            (Wish::Undo(_), None, Some(said)) if said.learnt == 0 => {
                Ok(Admitted::Log(QueueChange::Undo(said.answer), Outcome::Undone))
            }
            (Wish::Undo(_), None, Some(said)) => self.admit_retract(&said),
            (_, None, _) => Err(Failure::not_found()),
        }
    }

    /// An answer can be taken back while the log still knows when it was learnt.
    fn admit_retract(&self, said: &Said) -> Result<Admitted, Failure> {
        if self.options.durability == Durability::None || said.learnt <= self.saving.max(self.snapshot_seq())
        {
            let message =
                "the answer was learnt, and is part of a snapshot: it cannot be taken back any more";
            return Err(Failure::new(Code::Conflict, message)
                .hint("learn the example with the label that is right; that weighs against it"));
        }
        Ok(Admitted::Log(QueueChange::Retract(said.answer), Outcome::Retracted))
    }

    /// Replays the log from the snapshot on, without the answers that were taken back.
    fn replay_again(&mut self) -> Result<(), Failure> {
        self.flush();
        let (disk, folder) = self.place();
        match Self::open(disk, &folder, self.options) {
            Ok((replayed, _)) => {
                self.adopt(replayed);
                Ok(())
            }
            Err(error) => {
                let message = format!("an answer was taken back, and the log could not be replayed: {error}");
                self.stop_learning(&message);
                Err(Failure::stopped(&message))
            }
        }
    }

    /// Milliseconds until an answer need not be held back any longer.
    pub fn until_release(&self, now: u64) -> Option<u64> {
        let state = self.state();
        let state = state.read();
        state.queue.until_due(now).filter(|_| self.stopped().is_none())
    }

    /// Learns the answers that need not be held back any longer.
    pub fn release_due(&mut self, now: u64) {
        let due = {
            let state = self.state();
            let state = state.read();
            state.queue.due(now)
        };
        if due.is_empty() || self.stopped().is_some() {
            return;
        }
        let mut group = Coming::default();
        let change = Change::Queue(QueueChange::Release(due));
        self.log(Entry { time: now, key: None, change }, None, To::Nobody, &mut group);
        self.commit(&mut group);
    }
}

/// Failures of examples, as failures of the one label that was sent.
fn in_answer(mut failure: Failure) -> Failure {
    failure.path = failure.path.map(|path| path.rsplit('.').next().unwrap_or("label").to_owned());
    failure
}

/// The answers that entries of the log take back.
pub(super) fn retracts(entry: &Entry, found: &mut BTreeSet<u64>) {
    if let Change::Queue(QueueChange::Retract(answer)) = &entry.change {
        found.insert(*answer);
    }
}
