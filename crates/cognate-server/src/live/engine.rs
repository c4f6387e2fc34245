//! What does one group of requests change, and what is left of it after a crash?
//!
//! No threads here, no time that anything depends on, and any disk: tests stop the world between any two steps.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cognate::Model;
use cognate::model::Prepared;
use cognate_store::{Disk, Group, Opening, Recovered, Store, StoreError, StoreOptions, Unwritten};
use serde::{Deserialize, Serialize};

use super::apply::{apply, check, forget};
use super::asking::retracts;
use super::memory::{Answer, Found, Memory};
use super::queue::Queue;
use super::{Activity, Job, Reply, Shared, State};
use crate::entry::{Change, Entry, Key, Told};
use crate::examples::Examples;
use crate::failure::{Code, Failure};

/// When an answer may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// When it is on disk
    #[default]
    Always,
    /// At once; at most a second may be lost
    Interval,
    /// At once; what was learnt since the last snapshot may be lost
    None,
}

/// What can be chosen about an engine.
#[derive(Debug, Clone, Copy)]
pub struct EngineOptions {
    /// When an answer may be given.
    pub durability: Durability,
    /// Most examples that wait for their labels.
    pub max_pending: usize,
    /// Most examples that wait for people.
    pub max_queue: usize,
    /// Most tasks of a model.
    pub max_tasks: usize,
    /// Whether a task that comes for the first time is refused.
    pub refuse_unknown_tasks: bool,
    /// Of the log.
    pub store: StoreOptions,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Always,
            max_pending: 100_000,
            max_queue: 10_000,
            max_tasks: 1_000_000,
            refuse_unknown_tasks: false,
            store: StoreOptions::default(),
        }
    }
}

/// An engine that was opened, and what was found.
pub type Opened<D> = (Engine<D>, Recovered);

/// One model, its log, and what is remembered beside it.
#[derive(Debug)]
pub struct Engine<D: Disk> {
    store: Store<D>,
    state: Arc<Shared>,
    memory: Memory,
    pub(super) options: EngineOptions,
    /// Entries that are to be written.
    group: Group,
    /// The last entry that was applied.
    pub(super) seq: u64,
    /// The last entry that is in a snapshot, also in one that is being written.
    pub(super) saving: u64,
    /// Why nothing is learnt any more, if so.
    stopped: Option<String>,
    flushed: Flushed,
    disk: D,
    folder: PathBuf,
}

/// What was written to the log since this was asked last.
#[derive(Debug, Clone, Default)]
pub struct Flushed {
    /// Examples of the group, and seconds that it took to be on disk.
    pub groups: Vec<(u64, f64)>,
    /// Bytes.
    pub bytes: u64,
    /// Examples that the group under way will teach.
    waiting: u64,
}

/// An entry that waits for the log.
struct Admitted {
    entry: Entry,
    /// Its examples, checked.
    prepared: Option<Prepared>,
    answer: To,
}

/// Who waits for what.
pub(super) enum To {
    Learner(Reply<Answer>),
    Forgetter(Reply<u64>),
    Nobody,
}

/// What is saved beside a model.
#[derive(Serialize, Deserialize)]
struct Beside<'a> {
    /// The format of this.
    version: u32,
    seq: u64,
    memory: std::borrow::Cow<'a, Memory>,
    activity: std::borrow::Cow<'a, Activity>,
    /// Missing in version 1.
    #[serde(default)]
    queue: std::borrow::Cow<'a, Queue>,
}

const BESIDE_VERSION: u32 = 2;

fn broken(path: &Path, message: impl std::fmt::Display) -> StoreError {
    StoreError::Entry { folder: path.to_owned(), seq: 0, message: message.to_string() }
}

/// A model that is not saved.
fn refused(seq: u64, error: &dyn std::error::Error) -> StoreError {
    StoreError::Entry { folder: "the model".into(), seq, message: error.to_string() }
}

/// What is saved must load, or the next start has nothing.
fn check_loads(model: &[u8], seq: u64) -> Result<(), StoreError> {
    Model::from_bytes(model).map(drop).map_err(|error| refused(seq, &error))
}

/// Writes a snapshot while learning goes on; the entry after which it was made.
///
/// # Errors
/// When the model has diverged, or cannot be written.
pub fn write_snapshot<D: Disk>(unwritten: &Unwritten<D>) -> Result<u64, StoreError> {
    let seq = unwritten.snapshot().seq;
    check_loads(&unwritten.snapshot().state, seq)?;
    unwritten.write().map(|()| seq)
}

impl<D: Disk + Clone> Engine<D> {
    /// Makes a model that lives in an empty folder.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn create(disk: D, folder: &Path, model: Model, options: EngineOptions) -> Result<Self, StoreError> {
        let opening = Opening::new(disk.clone(), folder, options.store)?;
        let (store, _) = opening.replay(|_, _| Err("the folder is not empty".to_owned()))?;
        let mut engine = Self::new(store, model, options, (disk, folder));
        engine.save_snapshot()?;
        Ok(engine)
    }

    /// Opens a folder: the model is what all acknowledged requests have made it.
    ///
    /// # Errors
    /// When the snapshot or the log cannot be read, or is damaged.
    pub fn open(disk: D, folder: &Path, options: EngineOptions) -> Result<Opened<D>, StoreError> {
        let ((mut engine, recovered), mut retracted) =
            Self::open_without(disk, folder, options, BTreeSet::new())?;
        // What is taken back is told after it was said: the log is read once more, and this is left out.
        if !retracted.is_empty() {
            let (disk, folder) = engine.place();
            drop(engine);
            ((engine, _), retracted) = Self::open_without(disk, &folder, options, retracted)?;
            engine.state.write().queue.retracted = retracted;
        }
        if options.durability == Durability::None && engine.store.segments() > 0 {
            engine.save_snapshot()?;
        }
        Ok((engine, recovered))
    }

    /// Opens a folder and leaves answers out; those that the log takes back.
    fn open_without(
        disk: D,
        folder: &Path,
        options: EngineOptions,
        without: BTreeSet<u64>,
    ) -> Result<(Opened<D>, BTreeSet<u64>), StoreError> {
        let opening = Opening::new(disk.clone(), folder, options.store)?;
        let snapshot = opening.snapshot().ok_or_else(|| broken(folder, "there is no snapshot of a model"))?;
        let model = Model::from_bytes(&snapshot.state).map_err(|error| broken(folder, error))?;
        let (mut seq, mut memory, mut activity) = (snapshot.seq, Memory::default(), Activity::default());
        let mut queue = Queue::default();
        // A restored backup has nothing beside it.
        if !snapshot.beside.is_empty() {
            let beside: Beside<'_> =
                rmp_serde::from_slice(&snapshot.beside).map_err(|error| broken(folder, error))?;
            if beside.version > BESIDE_VERSION {
                return Err(broken(folder, "what is beside the snapshot is of a later version"));
            }
            (seq, memory, activity) =
                (seq.max(beside.seq), beside.memory.into_owned(), beside.activity.into_owned());
            queue = beside.queue.into_owned();
        }
        queue.restore();
        queue.retracted = without;
        let (snapshot_seq, pending) = (snapshot.seq, memory.waiting());
        let state = Arc::new(Shared::new(State {
            model,
            activity,
            seq,
            snapshot_seq,
            pending,
            queue,
            stopped: None,
        }));
        let (mut stopped, mut retracted) = (None, BTreeSet::new());
        let (store, recovered) = opening.replay(|number, bytes| {
            let entry = Entry::from_bytes(bytes).map_err(|error| error.to_string())?;
            retracts(&entry, &mut retracted);
            let applied = apply(&state, &mut memory, &options, number, (entry, None));
            if let Some(cause) = applied.1.as_ref().err().and_then(stops) {
                stopped.get_or_insert(cause.to_owned());
            }
            seq = number;
            Ok(())
        })?;
        state.write().stopped.clone_from(&stopped);
        let (group, flushed) = (Group::default(), Flushed::default());
        let (saving, folder) = (snapshot_seq, folder.to_owned());
        let engine =
            Self { store, state, memory, options, group, seq, saving, stopped, flushed, disk, folder };
        Ok(((engine, recovered), retracted))
    }

    fn new(store: Store<D>, model: Model, options: EngineOptions, (disk, folder): (D, &Path)) -> Self {
        let state = Arc::new(Shared::new(State {
            model,
            activity: Activity::default(),
            seq: 0,
            snapshot_seq: 0,
            pending: 0,
            queue: Queue::default(),
            stopped: None,
        }));
        let (memory, group) = (Memory::default(), Group::default());
        let (flushed, folder) = (Flushed::default(), folder.to_owned());
        Self { store, state, memory, options, group, seq: 0, saving: 0, stopped: None, flushed, disk, folder }
    }

    /// Where it lives.
    pub(super) fn place(&self) -> (D, PathBuf) {
        (self.disk.clone(), self.folder.clone())
    }

    /// Goes on as another engine of the same folder; readers see its state from here on.
    pub(super) fn adopt(&mut self, other: Self) {
        let state = {
            let mut theirs = other.state.write();
            let empty = State {
                model: theirs.model.clone(),
                activity: Activity::default(),
                seq: 0,
                snapshot_seq: 0,
                pending: 0,
                queue: Queue::default(),
                stopped: None,
            };
            std::mem::replace(&mut *theirs, empty)
        };
        *self.state.write() = state;
        let Self { store, memory, seq, saving, stopped, .. } = other;
        (self.store, self.memory, self.seq) = (store, memory, seq);
        (self.saving, self.stopped) = (saving, stopped);
    }

    /// From here on nothing is learnt; readers know it before anybody is refused.
    pub(super) fn stop_learning(&mut self, cause: &str) {
        if self.stopped.is_none() {
            self.stopped = Some(cause.to_owned());
            self.state.write().stopped = Some(cause.to_owned());
        }
    }

    /// What readers see.
    pub fn state(&self) -> Arc<Shared> {
        Arc::clone(&self.state)
    }

    /// The last entry that was applied.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The entry after which the latest snapshot was made.
    pub fn snapshot_seq(&self) -> u64 {
        self.store.snapshot_seq()
    }

    /// Why nothing is learnt any more, if so.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Whether entries wait to be written.
    pub fn has_unsynced(&self) -> bool {
        !self.group.is_empty()
    }

    /// Examples that wait for their labels, and those that went before.
    pub fn pending(&self) -> (usize, u64) {
        (self.memory.waiting(), self.memory.dropped())
    }

    /// Bytes held beside the model, about.
    pub fn memory_bytes(&self) -> usize {
        self.memory.heap_bytes()
    }

    /// Does what is asked, in order: one group, written and synced once. Every answer is given before this returns.
    pub fn run(&mut self, jobs: impl IntoIterator<Item = Job>) {
        let mut group = Coming::default();
        for job in jobs {
            match job {
                Job::Learn { examples, key, time, reply } => {
                    self.on_learn(examples, key, time, reply, &mut group);
                }
                Job::Label { whose, labels, key, time, reply } => {
                    self.on_labels(whose, &labels, (key, time), reply, &mut group);
                }
                Job::Remember { whose, examples, time } => {
                    if self.stopped.is_none() {
                        let entry = Entry { time, key: None, change: Change::Remember(whose, examples) };
                        self.log(entry, None, To::Nobody, &mut group);
                        group.remembers = true;
                    }
                }
                Job::Forget { task, time, reply } => {
                    self.commit(&mut group);
                    match self.can_forget(&task) {
                        Ok(()) => {
                            let entry = Entry { time, key: None, change: Change::Forget(task) };
                            self.log(entry, None, To::Forgetter(reply), &mut group);
                            self.commit(&mut group);
                        }
                        Err(failure) => answer(reply, Err(failure)),
                    }
                }
                Job::Queue { wish, by, time, reply } => self.on_queue(wish, by, time, reply, &mut group),
                Job::Snapshot { reply } => {
                    self.commit(&mut group);
                    let saved = self.save_snapshot().map(|()| self.snapshot_seq());
                    let refused = |error: StoreError| Failure::new(Code::Unavailable, error.to_string());
                    answer(reply, saved.map_err(refused));
                }
            }
        }
        self.commit(&mut group);
    }

    fn on_learn(
        &mut self,
        examples: Examples,
        key: Option<Key>,
        time: u64,
        reply: Reply<Answer>,
        group: &mut Coming,
    ) {
        let Some(reply) = self.answered_before(key.as_ref(), group, reply) else { return };
        match self.admit(&examples, group) {
            Ok(prepared) => {
                let entry = Entry { time, key, change: Change::Learn(examples) };
                self.log(entry, Some(prepared), To::Learner(reply), group);
            }
            Err(failure) => {
                group.forget_key(key.as_ref());
                answer(reply, Err(failure));
            }
        }
    }

    fn on_labels(
        &mut self,
        whose: String,
        labels: &[(String, f64)],
        (key, time): (Option<Key>, u64),
        reply: Reply<Answer>,
        group: &mut Coming,
    ) {
        let Some(reply) = self.answered_before(key.as_ref(), group, reply) else { return };
        if group.remembers {
            self.commit(group);
            group.keys.extend(key.map(|key| key.key));
        }
        match self.labelled(&whose, labels, group) {
            Ok((examples, prepared, told)) if examples.count > 0 => {
                let change = Change::Label(whose, examples, told);
                self.log(Entry { time, key, change }, Some(prepared), To::Learner(reply), group);
            }
            Ok((_, _, Told { unknown, again })) => {
                group.forget_key(key.as_ref());
                answer(reply, Ok(Answer { seq: self.seq, unknown, again, ..Answer::default() }));
            }
            Err(failure) => {
                group.forget_key(key.as_ref());
                answer(reply, Err(failure));
            }
        }
    }

    /// Writes what waits, which was learnt already.
    pub fn flush(&mut self) {
        if self.options.durability != Durability::None && !self.group.is_empty() {
            let (began, bytes) = (Instant::now(), self.group.bytes() as u64);
            let written = self.store.append(&mut self.group);
            self.group.clear();
            let examples = std::mem::take(&mut self.flushed.waiting);
            self.flushed.groups.push((examples, began.elapsed().as_secs_f64()));
            self.flushed.bytes += bytes;
            if let Err(error) = written {
                self.stop_learning(&error.to_string());
            }
        }
    }

    /// What was written since this was asked last.
    pub fn take_flushed(&mut self) -> Flushed {
        let waiting = self.flushed.waiting;
        std::mem::replace(&mut self.flushed, Flushed { waiting, ..Flushed::default() })
    }

    /// Saves the model as it is.
    ///
    /// # Errors
    /// When it has diverged, or cannot be written.
    pub fn save_snapshot(&mut self) -> Result<(), StoreError> {
        let (model, beside) = self.saved()?;
        self.saving = self.seq;
        check_loads(&model, self.seq)?;
        match self.options.durability {
            Durability::None => self.store.save_without_log(self.seq, &model, &beside)?,
            Durability::Always | Durability::Interval => self.store.save_snapshot(&model, &beside)?,
        }
        self.state.write().snapshot_seq = self.store.snapshot_seq();
        Ok(())
    }

    /// The model as it is, to be saved by [`write_snapshot`] while learning goes on; then comes [`Self::finish_snapshot`]. None where
    /// nothing is logged, and a snapshot is all there is.
    ///
    /// # Errors
    /// When what was learnt cannot be written to the log.
    pub fn begin_snapshot(&mut self) -> Result<Option<Unwritten<D>>, StoreError>
    where
        D: Clone,
    {
        if self.options.durability == Durability::None {
            return Ok(None);
        }
        let (model, beside) = self.saved()?;
        self.saving = self.seq;
        Ok(Some(self.store.begin_snapshot(model, beside)))
    }

    /// The snapshot after an entry was written: what came before is removed.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn finish_snapshot(&mut self, seq: u64) -> Result<(), StoreError> {
        self.state.write().snapshot_seq = seq;
        self.store.finish_snapshot(seq)
    }

    /// The model, and what is remembered beside it.
    fn saved(&mut self) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
        self.flush();
        if self.store.poisoned().is_some() {
            let cause = self.stopped.clone().unwrap_or_default();
            return Err(StoreError::Poisoned { cause });
        }
        let state = self.state.read();
        let beside = Beside {
            version: BESIDE_VERSION,
            seq: self.seq,
            memory: std::borrow::Cow::Borrowed(&self.memory),
            activity: std::borrow::Cow::Borrowed(&state.activity),
            queue: std::borrow::Cow::Borrowed(&state.queue),
        };
        let beside = rmp_serde::to_vec_named(&beside).map_err(|error| refused(self.seq, &error))?;
        Ok((state.model.to_bytes(), beside))
    }

    /// Gives the answer of the first time to a request that comes again; else gives the reply back.
    fn answered_before(
        &self,
        key: Option<&Key>,
        coming: &mut Coming,
        reply: Reply<Answer>,
    ) -> Option<Reply<Answer>> {
        let Some(key) = key else { return Some(reply) };
        let other = || {
            let message = "this Idempotency-Key came before, with another body";
            Failure::new(Code::Conflict, message).hint("a new request needs a new key")
        };
        match self.memory.answer(key) {
            Some(Ok(known)) => answer(reply, Ok(known.clone())),
            Some(Err(())) => answer(reply, Err(other())),
            None if coming.keys.contains(&key.key) => coming.again.push((*key, reply)),
            None => {
                coming.keys.insert(key.key);
                return Some(reply);
            }
        }
        None
    }

    /// Whether examples may be learnt.
    fn admit(&self, examples: &Examples, coming: &mut Coming) -> Result<Prepared, Failure> {
        if let Some(cause) = &self.stopped {
            return Err(Failure::stopped(cause));
        }
        let prepared = check(&self.state, examples)?;
        if !prepared.is_settled() {
            self.admit_tasks(examples, coming)?;
        }
        Ok(prepared)
    }

    /// Whether the tasks of examples are known, or may be new.
    pub(super) fn admit_tasks(&self, examples: &Examples, coming: &mut Coming) -> Result<(), Failure> {
        let state = self.state.read();
        let tasks = state.model.tasks();
        let room = self.options.max_tasks.saturating_sub(tasks.len());
        let mut new = BTreeSet::new();
        for (at, row) in examples.reader().enumerate() {
            let name = row.ok().and_then(|row| row.task).unwrap_or("default");
            if tasks.find(name).is_some() || coming.tasks.contains(name) || !new.insert(name.to_owned()) {
                continue;
            }
            let path = format!("examples[{at}].task");
            if self.options.refuse_unknown_tasks {
                return Err(Failure::not_found().at(path));
            }
            if coming.tasks.len() + new.len() > room {
                let most = self.options.max_tasks;
                let message =
                    format!("the task is new, and the model has {most} tasks, the most there may be");
                return Err(Failure::new(Code::Conflict, message).at(path).hint("--max-tasks allows more"));
            }
        }
        coming.tasks.append(&mut new);
        Ok(())
    }

    /// The remembered examples of ids, with their labels, and what is told of the others.
    fn labelled(
        &self,
        whose: &str,
        labels: &[(String, f64)],
        coming: &mut Coming,
    ) -> Result<(Examples, Prepared, Told), Failure> {
        let (mut examples, mut told) = (Examples::default(), Told::default());
        let (mut new, mut places) = (BTreeSet::new(), Vec::new());
        for (at, (id, label)) in labels.iter().enumerate() {
            let name = (whose.to_owned(), id.clone());
            match self.memory.find(whose, id) {
                Found::Example(example) if !coming.ids.contains(&name) && new.insert(name) => {
                    examples.push_labelled(&example, *label);
                    places.push(at);
                }
                Found::Example(_) | Found::Again => told.again.push(id.clone()),
                Found::Unknown => told.unknown.push(id.clone()),
            }
        }
        let prepared = self.admit(&examples, coming).map_err(|failure| in_labels(failure, &places))?;
        coming.ids.append(&mut new);
        Ok((examples, prepared, told))
    }

    fn can_forget(&self, task: &str) -> Result<(), Failure> {
        if let Some(cause) = &self.stopped {
            return Err(Failure::stopped(cause));
        }
        let model = self.state.read().model.clone();
        forget(model, task).map(drop)
    }

    /// Puts an entry into the group.
    pub(super) fn log(&mut self, entry: Entry, prepared: Option<Prepared>, answer: To, group: &mut Coming) {
        if self.options.durability != Durability::None {
            self.group.push(&entry.to_bytes());
            self.flushed.waiting += entry.change.learnt() as u64;
        }
        group.admitted.push(Admitted { entry, prepared, answer });
    }

    /// Writes the group, learns it, and answers.
    pub(super) fn commit(&mut self, group: &mut Coming) {
        let Coming { admitted, again, .. } = std::mem::take(group);
        if self.options.durability == Durability::Always {
            self.flush();
        }
        let lost = self.options.durability == Durability::Always && self.store.poisoned().is_some();
        for Admitted { entry, prepared, answer: to } in admitted {
            if lost {
                let cause = self.stopped.clone().unwrap_or_default();
                to.refuse(Failure::stopped(&cause));
                continue;
            }
            let (options, seq) = (self.options, self.seq + 1);
            let (seq, learnt) = apply(&self.state, &mut self.memory, &options, seq, (entry, prepared));
            self.seq = seq;
            if let Some(cause) = learnt.as_ref().err().and_then(stops) {
                self.stop_learning(cause);
            }
            to.tell(seq, learnt);
        }
        for (key, reply) in again {
            let known = self.memory.answer(&key).and_then(Result::ok).cloned();
            answer(
                reply,
                known.ok_or_else(|| Failure::stopped(self.stopped.as_deref().unwrap_or("refused"))),
            );
        }
    }
}

/// What a group brings that the model does not know yet.
#[derive(Default)]
pub(super) struct Coming {
    /// Entries of the group.
    admitted: Vec<Admitted>,
    keys: BTreeSet<[u8; 16]>,
    /// Requests that come again within the group.
    again: Vec<(Key, Reply<Answer>)>,
    tasks: BTreeSet<String>,
    /// Remembered examples that are learnt with the group.
    ids: BTreeSet<(String, String)>,
    /// Whether it brings examples to be remembered.
    remembers: bool,
}

impl Coming {
    /// A request was refused: the next one of its key is a new one.
    fn forget_key(&mut self, key: Option<&Key>) {
        if let Some(key) = key {
            self.keys.remove(&key.key);
        }
    }
}

/// Answers; who does not wait any more is not told.
pub(super) fn answer<T>(reply: Reply<T>, answer: Result<T, Failure>) {
    drop(reply.send(answer));
}

impl To {
    fn refuse(self, failure: Failure) {
        match self {
            Self::Learner(reply) => answer(reply, Err(failure)),
            Self::Forgetter(reply) => answer(reply, Err(failure)),
            Self::Nobody => {}
        }
    }

    fn tell(self, seq: u64, learnt: Result<Answer, Failure>) {
        match (self, learnt) {
            (Self::Learner(reply), Ok(learnt)) => answer(reply, Ok(learnt)),
            (Self::Forgetter(reply), Ok(_)) => answer(reply, Ok(seq)),
            (to, Err(failure)) => to.refuse(failure),
            (Self::Nobody, Ok(_)) => {}
        }
    }
}

/// Why a failure stops learning, if it does: a learner that has diverged learns nothing more that would be of use.
fn stops(failure: &Failure) -> Option<&str> {
    matches!(failure.code, Code::Unavailable | Code::Internal).then_some(&failure.message)
}

/// The place of a failure in a request of labels.
fn in_labels(mut failure: Failure, places: &[usize]) -> Failure {
    failure.path = failure.path.map(|path| {
        let at =
            path.strip_prefix("examples[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
        at.and_then(|at| places.get(at)).map_or(path, |at| format!("labels[{at}].label"))
    });
    failure
}
