//! What a model holds, and who may use it when: who learns gives way to who predicts, batch by batch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use cognate::fit::Kind;
use cognate::run::{Observer, RoundReport, Turns, learn_in_turns};
use cognate::{RunConfig, RunOptions, Stream, TaskId};
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, RwLockExt};

use crate::arrays::task_name;
use crate::errors::{Raised, data_error};
use crate::labels::Words;
use crate::watch::{Curves, Looked, Table, Watch};

/// What a model holds.
pub(crate) struct Held {
    pub(crate) model: cognate::Model,
    pub(crate) config: RunConfig,
    pub(crate) curves: Curves,
    pub(crate) words: Words,
}

impl Held {
    pub(crate) fn new(model: cognate::Model, config: RunConfig) -> Self {
        let words = Words::of(&model);
        Self { model, config, curves: Curves::default(), words }
    }

    /// Whether labels are real numbers.
    pub(crate) fn is_regression(&self) -> bool {
        self.model.kind() == Some(Kind::Regression)
    }

    /// The task of a name that the model knows; without one, the only task that there is.
    pub(crate) fn find_task(&self, task: &Bound<'_, PyAny>) -> PyResult<TaskId> {
        let task = task_name(task)?;
        self.model.task(self.asked(task.as_deref())?.unwrap_or("default")).map_err(Raised::raised)
    }

    /// The task to be predicted: one that is named, or the only one.
    pub(crate) fn asked<'t>(&'t self, task: Option<&'t str>) -> PyResult<Option<&'t str>> {
        match (task, self.model.tasks().len()) {
            (Some(task), _) => Ok(Some(task)),
            (None, 0) => Ok(None),
            (None, 1) => Ok(self.model.tasks().names().next()),
            (None, _) => Err(self.forgotten()),
        }
    }

    /// Checks that examples without a task do not come after those of others.
    pub(crate) fn taught(&self, task: Option<&str>) -> PyResult<()> {
        let tasks = self.model.tasks();
        let alone = || tasks.len() == 1 && tasks.names().next() == Some("default");
        if task.is_some() || tasks.is_empty() || alone() { Ok(()) } else { Err(self.forgotten()) }
    }

    #[cold]
    fn forgotten(&self) -> PyErr {
        const SHOWN: usize = 5;
        let tasks = self.model.tasks();
        let names: Vec<_> = tasks.names().take(SHOWN).map(|name| format!("{name:?}")).collect();
        let more = if tasks.len() > SHOWN { ", …" } else { "" };
        let plural = if tasks.len() == 1 { "" } else { "s" };
        data_error(format!(
            "no task is given, and the model knows {} task{plural} ({}{more}); say which",
            tasks.len(),
            names.join(", ")
        ))
    }

    /// Checks that what only whole tables and files have is not asked of single examples.
    pub(crate) fn refuse_order(&self) -> PyResult<()> {
        self.refuse_classes()?;
        let stream = &self.config.stream;
        if stream.passes != 1 || !matches!(stream.order, cognate::stream::Order::File) {
            return Err(data_error(
                "stream: `passes` and `order` are for whole tables and files; examples that come one by one are learnt \
                 once, as they come",
            ));
        }
        Ok(())
    }

    /// Checks that labels are not classes, which only files have here.
    pub(crate) fn refuse_classes(&self) -> PyResult<()> {
        if self.model.config().one_vs_all {
            return Err(data_error(
                "stream.one-vs-all: only files are learnt so, by `progressive`; `CognateClassifier` takes tables of more than \
                 two classes",
            ));
        }
        Ok(())
    }

    /// Checks that columns of an array can be features of this model.
    pub(crate) fn refuse_names(&self) -> PyResult<()> {
        if !self.model.has_names() {
            return Ok(());
        }
        Err(data_error("features of this model have names; give dictionaries, or a frame with column names"))
    }
}

/// A model that threads share: whoever changes it is alone in doing so, and leaves it to others between two batches.
pub(crate) struct Guarded {
    held: Arc<RwLock<Held>>,
    /// Held by whoever changes the model, from the beginning to the end.
    changes: Mutex<()>,
    /// How many wait to look at it.
    waiting: AtomicUsize,
}

/// Longest that a learner waits for those who look.
const COURTESY: Duration = Duration::from_millis(5);

impl Guarded {
    pub(crate) fn new(held: Held) -> Self {
        Self { held: Arc::new(RwLock::new(held)), changes: Mutex::new(()), waiting: AtomicUsize::new(0) }
    }

    /// To look at it; waits without holding Python's lock.
    pub(crate) fn look(&self, py: Python<'_>) -> PyResult<RwLockReadGuard<'_, Held>> {
        if let Ok(held) = self.held.try_read() {
            return Ok(held);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let held = self.held.read_py_attached(py);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        held.map_err(|_| broken())
    }

    /// For another thread that looks at it.
    pub(crate) fn share(&self) -> Arc<RwLock<Held>> {
        Arc::clone(&self.held)
    }

    /// The right to change it, which one has at a time.
    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, ()>> {
        self.changes.lock_py_attached(py).map_err(|_| broken())
    }

    /// To change it, by whoever has the right.
    pub(crate) fn change(
        &self,
        py: Python<'_>,
        _: &MutexGuard<'_, ()>,
    ) -> PyResult<RwLockWriteGuard<'_, Held>> {
        match self.held.try_write() {
            Ok(held) => Ok(held),
            Err(_) => self.held.write_py_attached(py).map_err(|_| broken()),
        }
    }

    /// Learns a stream turn by turn; the error is that of the run, or of the signal that stopped it.
    pub(crate) fn learn(
        &self,
        py: Python<'_>,
        _: &MutexGuard<'_, ()>,
        stream: &mut dyn Stream,
        options: &RunOptions,
        table: Option<&mut Table>,
    ) -> PyResult<()> {
        py.detach(move || {
            let mut lent = Lent { guarded: self, looked: Looked::new(table) };
            let learnt = learn_in_turns(&mut lent, stream, options);
            lent.looked.finish()?;
            learnt.map(drop).map_err(Raised::raised)
        })
    }

    /// Lets those who wait look at it, for a while.
    pub(crate) fn give_way(&self) {
        let since = Instant::now();
        while self.waiting.load(Ordering::SeqCst) > 0 && since.elapsed() < COURTESY {
            std::thread::yield_now();
        }
    }
}

fn broken() -> PyErr {
    data_error("the model broke in an earlier call and cannot be used any more")
}

/// A model lent for a run, for a batch at a time.
struct Lent<'a> {
    guarded: &'a Guarded,
    looked: Looked<'a>,
}

impl Turns for Lent<'_> {
    fn turn(&mut self, work: &mut dyn FnMut(&mut cognate::Model, &mut dyn Observer)) {
        {
            // What broke in a turn before is told there.
            let mut held = self.guarded.held.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            let Held { model, curves, .. } = &mut *held;
            work(model, &mut Watch { curves, looked: &mut self.looked });
        }
        self.guarded.give_way();
        // Handlers of signals may use the model.
        self.looked.look();
    }
}

/// Counts what is learnt one by one.
pub(crate) struct Counting<'a>(pub(crate) &'a mut Curves);

impl Observer for Counting<'_> {
    fn observe(&mut self, report: &RoundReport, _: &cognate::Tasks, metrics: &cognate::Metrics) {
        self.0.count(report, metrics.total().kind() == Some(Kind::Classification));
    }

    fn batch_done(&mut self, _: cognate::Progress, _: &cognate::Model) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}
