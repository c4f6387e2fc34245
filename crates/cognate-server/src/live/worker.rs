//! Who runs an engine? One thread per model. What comes while a group is written makes up the next one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cognate::Model;
use cognate_store::{Disk, Recovered, StoreError};
use tracing::{error, info, warn};

use super::engine::{Durability, Engine, EngineOptions, write_snapshot};
use super::{Alert, Desk, Job, Shared, State, Wish};
use crate::background::step_back;
use crate::failure::{Code, Failure};
use crate::http::Drawn;
use crate::layout::{Point, align};
use crate::metrics::ModelMetrics;

/// Requests that may wait for a model's thread.
const QUEUE: usize = 4096;
/// Bytes that they may hold.
const QUEUED_BYTES: usize = 256 << 20;
/// Bytes of requests that make up a group, after which the first of them are answered: some thousand examples, some 20 ms.
const GROUP_BYTES: usize = 1 << 20;
/// How long something may be learnt and not on disk, where durability is by interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of log after which a snapshot is made, however few examples they are.
const SNAPSHOT_BYTES: u64 = 512 << 20;

/// Why a model does not live.
pub type LiveError = StoreError;

/// A model that learns live.
#[derive(Debug)]
pub struct Live {
    /// None once it has been stopped.
    jobs: Mutex<Option<SyncSender<Job>>>,
    state: Arc<Shared>,
    status: Arc<Status>,
    metrics: ModelMetrics,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Where tasks were in the last picture of them.
    last_map: Mutex<BTreeMap<String, Point>>,
    drawn: Mutex<Option<Drawn>>,
    drawing: AtomicBool,
    desk: Mutex<Desk>,
}

/// What the thread tells about itself.
#[derive(Debug, Default)]
struct Status {
    memory_bytes: AtomicUsize,
    queued_bytes: AtomicUsize,
    /// Whether the last snapshot is made without being asked for.
    leave: AtomicBool,
}

/// What can be told of a model at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Bytes held beside the model.
    pub memory_bytes: usize,
    /// Why nothing is learnt any more, if so.
    pub stopped: Option<String>,
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Live {
    /// Opens a model's folder, and starts its thread.
    ///
    /// # Errors
    /// When snapshot or log cannot be read, or are damaged.
    pub fn open<D>(
        disk: D,
        folder: &Path,
        options: EngineOptions,
        snapshot_every: u64,
        metrics: ModelMetrics,
    ) -> Result<(Self, Recovered), LiveError>
    where
        D: Disk + Clone + Send + 'static,
        D::File: Send,
    {
        let (engine, recovered) = Engine::open(disk, folder, options)?;
        Ok((Self::start(engine, options.durability, snapshot_every, metrics)?, recovered))
    }

    /// Makes a model's folder, which is there and empty, and starts its thread.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn create<D: Disk + Clone>(
        disk: D,
        folder: &Path,
        model: Model,
        options: EngineOptions,
    ) -> Result<(), LiveError> {
        Engine::create(disk, folder, model, options).map(drop)
    }

    fn start<D>(
        engine: Engine<D>,
        durability: Durability,
        snapshot_every: u64,
        metrics: ModelMetrics,
    ) -> Result<Self, LiveError>
    where
        D: Disk + Clone + Send + 'static,
        D::File: Send,
    {
        let (sender, receiver) = sync_channel(QUEUE);
        let (state, status) = (engine.state(), Arc::new(Status::default()));
        let mut worker = Worker {
            engine,
            receiver,
            status: Arc::clone(&status),
            metrics: metrics.clone(),
            durability,
            snapshot_every,
            learnt_since: 0,
            logged_since: 0,
            oldest: None,
            writing: None,
            alerts: None,
            has_told_stop: false,
        };
        worker.tell();
        let work = move || {
            step_back();
            worker.work();
        };
        let thread = std::thread::Builder::new().name("learner".to_owned()).spawn(work);
        let thread = thread.map_err(|source| StoreError::Io {
            doing: "cannot start a thread for the model",
            path: "learner".into(),
            source,
        })?;
        let (jobs, thread) = (Mutex::new(Some(sender)), Mutex::new(Some(thread)));
        Ok(Self {
            jobs,
            state,
            status,
            metrics,
            thread,
            last_map: Mutex::default(),
            drawn: Mutex::default(),
            drawing: AtomicBool::new(false),
            desk: Mutex::default(),
        })
    }

    /// What readers see; not to be held for long, and never while waiting for something else.
    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read()
    }

    /// Its metrics.
    pub fn metrics(&self) -> &ModelMetrics {
        &self.metrics
    }

    /// What its thread told last.
    pub fn summary(&self) -> Summary {
        Summary {
            memory_bytes: self.status.memory_bytes.load(Ordering::Relaxed),
            stopped: self.read().stopped.clone(),
        }
    }

    /// Whether it has been stopped.
    pub fn is_closed(&self) -> bool {
        lock(&self.jobs).is_none()
    }

    /// Puts points of tasks onto those that the same tasks had last, and remembers them.
    pub(crate) fn align(&self, points: &mut [(String, Point)]) {
        let mut last = lock(&self.last_map);
        align(points, &last);
        *last = points.iter().cloned().collect();
    }

    /// The last picture of the tasks.
    pub(crate) fn drawn(&self) -> Option<Drawn> {
        lock(&self.drawn).clone()
    }

    /// Whether nobody else is drawing; the caller is, from here on.
    pub(crate) fn begins_to_draw(&self) -> bool {
        !self.drawing.swap(true, Ordering::Relaxed)
    }

    /// A picture was drawn, or could not be.
    pub(crate) fn has_drawn(&self, drawn: Option<Drawn>) {
        if drawn.is_some() {
            *lock(&self.drawn) = drawn;
        }
        self.drawing.store(false, Ordering::Relaxed);
    }

    /// Who is shown what.
    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        lock(&self.desk)
    }

    /// Asks its thread for something, which is answered later.
    ///
    /// # Errors
    /// When too much waits already, or the model has been stopped.
    pub fn ask(&self, job: Job) -> Result<(), Failure> {
        let bytes = job.bytes();
        let queued = self.status.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let refused = |failure| {
            self.status.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            Err(failure)
        };
        let full = || Failure::new(Code::TooMany, "too many requests wait for this model");
        if queued > 0 && queued + bytes > QUEUED_BYTES {
            return refused(full());
        }
        let gone = || Failure::new(Code::Unavailable, "the model is being closed");
        let Some(jobs) = lock(&self.jobs).clone() else { return refused(gone()) };
        match jobs.try_send(job) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => refused(full()),
            Err(TrySendError::Disconnected(_)) => refused(gone()),
        }
    }

    /// Ends its thread when all that was asked is done, with a snapshot unless it is to be removed.
    pub fn stop(&self, snapshot: bool) {
        self.status.leave.store(!snapshot, Ordering::Relaxed);
        drop(lock(&self.jobs).take());
        if let Some(thread) = lock(&self.thread).take()
            && thread.join().is_err()
        {
            error!("the thread of a model has panicked");
        }
    }
}

struct Worker<D: Disk> {
    engine: Engine<D>,
    receiver: Receiver<Job>,
    status: Arc<Status>,
    metrics: ModelMetrics,
    durability: Durability,
    snapshot_every: u64,
    learnt_since: u64,
    logged_since: u64,
    /// When the first of what is not on disk was learnt.
    oldest: Option<Instant>,
    /// A snapshot that is being written, since when.
    writing: Option<(JoinHandle<Result<u64, StoreError>>, Instant)>,
    /// Alerts that were told.
    alerts: Option<u64>,
    has_told_stop: bool,
}

impl<D: Disk + Clone + Send + 'static> Worker<D> {
    fn work(&mut self) {
        loop {
            let patience = match self.oldest {
                Some(oldest) if self.durability == Durability::Interval => {
                    Some(INTERVAL.saturating_sub(oldest.elapsed()))
                }
                _ => self.writing.is_some().then_some(INTERVAL),
            };
            // Answers of people are held back for a while.
            let held = self.engine.until_release(now()).map(|wait| Duration::from_millis(wait.max(10)));
            let patience = patience.into_iter().chain(held).min();
            let first = match patience {
                None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(patience) => self.receiver.recv_timeout(patience),
            };
            match first {
                Ok(first) => self.group(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.engine.release_due(now());
            if self.oldest.is_some_and(|oldest| oldest.elapsed() >= INTERVAL) {
                self.engine.flush();
            }
            self.oldest =
                if self.engine.has_unsynced() { self.oldest.or(Some(Instant::now())) } else { None };
            self.tell();
            if self.writing.as_ref().is_some_and(|(thread, _)| thread.is_finished()) {
                self.finish();
            }
            let due = self.learnt_since >= self.snapshot_every || self.logged_since >= SNAPSHOT_BYTES;
            if due && self.writing.is_none() {
                self.begin();
            }
        }
        self.engine.flush();
        self.finish();
        if !self.status.leave.load(Ordering::Relaxed) && self.engine.seq() != self.engine.snapshot_seq() {
            self.save();
        }
    }

    /// Does what is asked, with all that has come since the last group.
    fn group(&mut self, first: Job) {
        let mut bytes = first.bytes();
        let mut jobs = vec![first];
        while bytes < GROUP_BYTES
            && let Ok(job) = self.receiver.try_recv()
        {
            bytes += job.bytes();
            jobs.push(job);
        }
        // One snapshot at a time; none while the log is replayed.
        let is_alone =
            |job: &Job| matches!(job, Job::Snapshot { .. } | Job::Queue { wish: Wish::Undo(_), .. });
        if jobs.iter().any(is_alone) {
            self.finish();
        }
        let before = self.engine.snapshot_seq();
        self.engine.run(jobs);
        self.status.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        if self.engine.snapshot_seq() != before {
            self.saved();
        }
    }

    /// Begins a snapshot, which is written while learning goes on.
    fn begin(&mut self) {
        let began = Instant::now();
        match self.engine.begin_snapshot() {
            Ok(Some(unwritten)) => {
                (self.learnt_since, self.logged_since) = (0, 0);
                let write = move || {
                    step_back();
                    write_snapshot(&unwritten)
                };
                match std::thread::Builder::new().name("snapshot".to_owned()).spawn(write) {
                    Ok(thread) => self.writing = Some((thread, began)),
                    Err(error) => warn!(model = self.metrics.model(), %error, "no snapshot"),
                }
            }
            Ok(None) => self.save(),
            Err(error) => self.failed(&error),
        }
    }

    /// Waits for the snapshot that is being written, if there is one.
    fn finish(&mut self) {
        let Some((thread, began)) = self.writing.take() else { return };
        let written = thread.join().unwrap_or_else(|_| {
            let message = "the thread that writes it has panicked".to_owned();
            Err(StoreError::Entry { folder: "the model".into(), seq: 0, message })
        });
        match written.and_then(|seq| self.engine.finish_snapshot(seq)) {
            Ok(()) => {
                self.metrics.snapshot_at(now() as f64 / 1000.0);
                self.told(began);
            }
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &StoreError) {
        // The next one is due when as much has been learnt again.
        (self.learnt_since, self.logged_since) = (0, 0);
        warn!(model = self.metrics.model(), %error, "no snapshot");
    }

    fn told(&self, began: Instant) {
        let (seq, seconds) = (self.engine.snapshot_seq(), began.elapsed().as_secs_f64());
        info!(model = self.metrics.model(), seq, seconds, "snapshot");
    }

    fn save(&mut self) {
        let began = Instant::now();
        match self.engine.save_snapshot() {
            Ok(()) => {
                self.saved();
                self.told(began);
            }
            Err(error) => self.failed(&error),
        }
    }

    fn saved(&mut self) {
        (self.learnt_since, self.logged_since) = (0, 0);
        self.metrics.snapshot_at(now() as f64 / 1000.0);
    }

    /// Tells how things are.
    fn tell(&mut self) {
        let flushed = self.engine.take_flushed();
        for (examples, seconds) in &flushed.groups {
            self.metrics.group(*examples, *seconds);
        }
        self.logged_since += flushed.bytes;
        {
            let state = self.engine.state();
            let state = state.read();
            let total = state.model.metrics().total();
            self.learnt_since += self.metrics.learnt(total.examples, total.mistakes, total.error());
            self.metrics.tasks(state.model.tasks().len());
            self.metrics.queue(state.queue.items().len());
            let alerts = state.activity.alerts();
            // Those of before the start have been told.
            let told = self.alerts.replace(alerts.raised).unwrap_or(alerts.raised);
            for alert in alerts.kept().filter(|alert| alert.number > told) {
                let Alert { kind, task, before, lately, .. } = alert;
                self.metrics.drift(kind);
                warn!(model = self.metrics.model(), task, before, lately, "a task errs more than it used to");
            }
        }
        let (waiting, dropped) = self.engine.pending();
        self.metrics.pending(waiting, dropped);
        self.status.memory_bytes.store(self.engine.memory_bytes(), Ordering::Relaxed);
        if let Some(cause) = self.engine.stopped().filter(|_| !self.has_told_stop) {
            error!(model = self.metrics.model(), cause, "learning has stopped");
            self.metrics.poisoned();
            self.has_told_stop = true;
        }
    }
}
