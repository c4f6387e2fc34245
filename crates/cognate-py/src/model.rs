//! The class that Python wraps: a model, what was said of its stream, and its curves.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use cognate::example::BIAS_FEATURE;
use cognate::fit::{Examples, FitOptions, Kind};
use cognate::metrics::Tally;
use cognate::run::{RunOptions, learn, margins};
use cognate::stream::{
    Batch, Features, Format, Input, Labels, Memory, Reader, ReaderOptions, Rows, StreamConfig, TableStream,
};
use cognate::{RunConfig, Stream, TaskId, nearest_first, nearest_names};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList};
use serde_json::{Value, json};

use crate::arrays::{HeldTable, HeldValues, label, row_tasks, task_name, with_features};
use crate::errors::{Raised, config_error, data_error};
use crate::watch::{Curves, Table, Watch, signals};

/// What a model holds.
struct Held {
    model: cognate::Model,
    config: RunConfig,
    /// Whether features may still turn out to have names: nobody said, and none has come.
    undecided: bool,
    curves: Curves,
    rows: Rows,
}

/// A model; `cognate.Learner` is what people use.
#[pyclass(module = "cognate._native", frozen)]
pub(crate) struct Model {
    held: Mutex<Held>,
}

impl Model {
    fn of(model: cognate::Model, config: RunConfig, undecided: bool) -> Self {
        let held = Held { model, config, undecided, curves: Curves::default(), rows: Rows::default() };
        Self { held: Mutex::new(held) }
    }

    /// A model that was read from somewhere.
    fn restored(model: cognate::Model) -> PyResult<Self> {
        let known = model.config();
        let mut stream = json!(known.reading);
        stream["normalize"] = json!(known.preprocess.normalize);
        stream["clip"] = json!(known.preprocess.clip);
        stream["bias"] = json!(known.preprocess.bias);
        stream["simultaneous"] = json!(known.simultaneous);
        let tasks = model.tasks();
        let names = || json!(tasks.names().collect::<Vec<_>>());
        let tasks = tasks.limit().map(|limit| if limit == tasks.len() { names() } else { json!(limit) });
        let tree = json!({
            "tasks": tasks, "features": known.features, "stream": stream, "learner": known.learner, "query": known.query,
        });
        let config = serde_json::from_value(tree).map_err(|error| config_error(error.to_string()))?;
        let undecided = known.reading.is_default() && model.rounds() == 0;
        Ok(Self::of(model, config, undecided))
    }

    /// The model to itself; other threads wait without keeping Python from the rest.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Held>> {
        self.held
            .lock_py_attached(py)
            .map_err(|_| data_error("the model broke in an earlier call and cannot be used any more"))
    }
}

impl Held {
    /// Decides what features are by the first that comes.
    fn meet_kind(&mut self, features: &Features<'_>) -> PyResult<()> {
        match features {
            Features::Named(_) if self.undecided && self.model.rounds() == 0 => {
                self.config.stream.format = Format::Jsonl;
                self.model = cognate::Model::new(&self.config).map_err(Raised::raised)?;
                self.undecided = false;
            }
            Features::Numbered(_) => self.undecided = false,
            _ => {}
        }
        Ok(())
    }

    /// Takes back what the first example with features decided, which was refused after all.
    fn forget_kind(&mut self) -> PyResult<()> {
        if self.model.rounds() > 0 {
            return Ok(());
        }
        self.config.stream.format = Format::default();
        self.model = cognate::Model::new(&self.config).map_err(Raised::raised)?;
        self.undecided = true;
        Ok(())
    }

    /// Learns a stream; the error is that of the run, or of whoever wanted to stop.
    fn learn(
        &mut self,
        py: Python<'_>,
        stream: &mut dyn Stream,
        options: &RunOptions,
        table: Option<&mut Table>,
    ) -> PyResult<()> {
        let Self { model, curves, .. } = self;
        py.detach(move || {
            let mut watch = Watch::new(curves, table);
            let learnt = learn(model, stream, options, &mut watch);
            watch.finish()?;
            learnt.map(drop).map_err(Raised::raised)
        })
    }

    fn options() -> RunOptions {
        RunOptions { inputs: vec!["rows".to_owned()], ..RunOptions::default() }
    }

    fn find_task(&self, task: &Bound<'_, PyAny>) -> PyResult<TaskId> {
        let name = task_name(task)?.unwrap_or_else(|| "default".to_owned());
        self.model.tasks().find(&name).ok_or_else(|| {
            let near = nearest_names(&name, self.model.tasks().names());
            data_error(format!(
                "no task is called {name:?}; nearest: {}",
                near[..near.len().min(5)].join(", ")
            ))
        })
    }
}

/// A tally and what follows from it, as JSON.
fn tally(tally: &Tally) -> Value {
    json!({
        "examples": tally.examples, "mistakes": tally.mistakes, "error": tally.error(),
        "precision": tally.precision(), "recall": tally.recall(), "f1": tally.f1(),
        "updates": tally.updates, "queries": tally.queries,
    })
}

/// Features and their weights.
type Weights<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

#[expect(clippy::needless_pass_by_value, reason = "Python hands arguments over")]
#[pymethods]
impl Model {
    /// A fresh model of a config, which is JSON.
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        let read = |error: serde_json::Error| {
            let message = error.to_string();
            config_error(nearest_first(message.split(" at line ").next().unwrap_or_default()))
        };
        let tree: Value = serde_json::from_str(config).map_err(read)?;
        let undecided = tree["stream"]["format"].is_null() && tree["stream"]["bits"].is_null();
        let mut config: RunConfig = serde_json::from_str(config).map_err(read)?;
        config.read_files().map_err(Raised::raised)?;
        if config.learner.wants_rounds() {
            return Err(config_error(
                "learner: a fraction of the stream needs the number of rounds; give a number, or \"auto\"",
            ));
        }
        let model = cognate::Model::new(&config).map_err(Raised::raised)?;
        Ok(Self::of(model, config, undecided))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| cognate::Model::load(&path)).map_err(Raised::raised)?;
        Self::restored(model)
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::restored(cognate::Model::from_bytes(bytes).map_err(Raised::raised)?)
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let held = self.lock(py)?;
        let model = &held.model;
        py.detach(|| model.save(&path)).map_err(Raised::raised)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lock(py)?.model.to_bytes()))
    }

    /// Learns one example.
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        task: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (task, label) = (task_name(task)?, label(y)?);
        let mut held = self.lock(py)?;
        let decided = !held.undecided;
        held.rows.clear();
        let pushed = with_features(x, |features| {
            held.meet_kind(features)?;
            let Held { model, rows, .. } = &mut *held;
            rows.push(model, task.as_deref(), features, label).map_err(Raised::raised)
        });
        if pushed.is_err() && !decided {
            held.forget_kind()?;
        }
        pushed?;
        let Held { model, curves, rows, .. } = &mut *held;
        let mut watch = Watch::new(curves, None);
        learn(model, rows, &RunOptions::default(), &mut watch).map_err(Raised::raised)?;
        watch.finish()
    }

    /// Learns examples, one after the other or as rounds: lists of features, labels and tasks.
    fn learn_rows(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyList>,
        y: &Bound<'_, PyList>,
        tasks: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        if y.len() != x.len() || tasks.len() != x.len() {
            let (x, y, tasks) = (x.len(), y.len(), tasks.len());
            return Err(data_error(format!(
                "{x} examples, {y} labels and {tasks} tasks; expected as many of each"
            )));
        }
        let mut held = self.lock(py)?;
        let decided = !held.undecided;
        let options = Held::options();
        let mut rows = Rows::default();
        for ((x, y), task) in x.iter().zip(y).zip(tasks) {
            let pushed = task_name(&task).and_then(|task| {
                let label = label(&y)?;
                with_features(&x, |features| {
                    held.meet_kind(features)?;
                    rows.push(&mut held.model, task.as_deref(), features, label).map_err(Raised::raised)
                })
            });
            if let Err(error) = pushed {
                rows.undo(&mut held.model);
                if !decided {
                    held.forget_kind()?;
                }
                return Err(error);
            }
        }
        held.learn(py, &mut rows, &options, None)
    }

    /// The margin of one example.
    fn margin_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>, task: &Bound<'_, PyAny>) -> PyResult<f64> {
        let task = task_name(task)?;
        let mut held = self.lock(py)?;
        let Held { model, rows, undecided, .. } = &mut *held;
        rows.clear();
        with_features(x, |features| {
            // Before the first name is learnt every example has the margin of none.
            if matches!(features, Features::Named(_)) && *undecided {
                *features = Features::Nothing;
            }
            rows.push_unlearnt(model, task.as_deref(), features).map_err(Raised::raised)
        })?;
        Ok(margins(model, rows.batch()).pop().unwrap_or_default())
    }

    /// Learns the rows of a table, in this order where one is given.
    #[pyo3(signature = (table, y, tasks, order=None))]
    fn learn(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        tasks: &Bound<'_, PyAny>,
        order: Option<PyReadonlyArray1<'_, i64>>,
    ) -> PyResult<()> {
        let (table, labels) = (HeldTable::new(table)?, HeldValues::new("y", y)?);
        let (table, labels) = (table.view()?, labels.view()?);
        let mut held = self.lock(py)?;
        held.meet_kind(&Features::Numbered(&mut Vec::new()))?;
        held.refuse_names()?;
        let tasks = row_tasks(tasks, held.model.tasks(), table.rows())?;
        let known = held.model.config();
        let (preprocess, features) = (known.preprocess, known.features);
        let mut stream = py
            .detach(|| {
                table.check(features)?;
                TableStream::new(&table, &tasks, preprocess, features)?.labelled(labels, Labels::Required)
            })
            .map_err(Raised::raised)?;
        let order = order.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        if let Some(order) = order {
            stream = stream.ordered(order).map_err(Raised::raised)?;
        }
        let options = Held::options();
        held.learn(py, &mut stream, &options, None)
    }

    /// Margins of the rows of a table.
    fn margins<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        tasks: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let table = HeldTable::new(table)?;
        let table = table.view()?;
        let held = self.lock(py)?;
        if !held.undecided {
            held.refuse_names()?;
        }
        let tasks = row_tasks(tasks, held.model.tasks(), table.rows())?;
        let model = &held.model;
        let found = py.detach(|| {
            let known = model.config();
            table.check(known.features)?;
            let mut stream = TableStream::new(&table, &tasks, known.preprocess, known.features)?;
            let (mut batch, mut found) = (Batch::default(), Vec::with_capacity(table.rows()));
            loop {
                stream.fill(&mut batch)?;
                if batch.is_empty() {
                    return Ok::<_, cognate::StreamError>(found);
                }
                found.extend(margins(model, &batch));
            }
        });
        Ok(PyArray1::from_vec(py, found.map_err(Raised::raised)?))
    }

    /// Learns files as `cognate learn` does; the lines of its progressive table, as JSON.
    fn learn_files(&self, py: Python<'_>, paths: Vec<PathBuf>, skip_bad: u64) -> PyResult<String> {
        let mut held = self.lock(py)?;
        held.undecided = false;
        let StreamConfig { passes, order, seed, simultaneous, .. } = held.config.stream;
        let known = held.model.config();
        let options = ReaderOptions {
            reading: known.reading.clone(),
            names: held.model.names().clone(),
            preprocess: known.preprocess,
            labels: Labels::Optional,
            features: known.features,
            skip_bad,
            ..ReaderOptions::default()
        };
        let inputs: Vec<Input> = paths.into_iter().map(Input::File).collect();
        let names = inputs.iter().map(Input::name).collect();
        let tasks = held.model.tasks().clone();
        let mut reader = Reader::new(inputs, tasks.clone(), options);
        let mut stream: Box<dyn Stream> = if order.is_as_read() {
            Box::new(reader)
        } else {
            let memory = py.detach(|| Memory::load(&mut reader, &tasks)).map_err(Raised::raised)?;
            Box::new(memory.ordered(order, seed, simultaneous))
        };
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let options =
            RunOptions { passes, threads, inputs: names, serve: order.into(), ..RunOptions::default() };
        let mut table = Table::new(held.model.metrics());
        held.learn(py, &mut stream, &options, Some(&mut table))?;
        table.finish(held.model.metrics());
        let lines = table.lines.iter().map(|(counts, tasks, since)| {
            let mut line = tally(counts);
            line["tasks"] = json!(tasks);
            line["since_last"] = json!(since);
            line
        });
        Ok(Value::Array(lines.collect()).to_string())
    }

    /// Fits a batch learner to the rows of a table; `kind` is what labels are, or else they say. How it ended, as JSON.
    #[pyo3(signature = (table, y, tasks, kind=None))]
    fn fit(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        tasks: &Bound<'_, PyAny>,
        kind: Option<&str>,
    ) -> PyResult<String> {
        let kind = kind.map(|kind| serde_json::from_value::<Kind>(json!(kind))).transpose();
        let kind = kind.map_err(|error| config_error(error.to_string()))?;
        let (table, labels) = (HeldTable::new(table)?, HeldValues::new("y", y)?);
        let (table, labels) = (table.view()?, labels.view()?);
        let mut held = self.lock(py)?;
        held.undecided = false;
        let declared = held.config.declared_tasks().map_err(Raised::raised)?;
        let tasks = row_tasks(tasks, &declared, table.rows())?;
        let config = &held.config;
        let (model, fitted) = py.detach(|| {
            table.check(config.features).map_err(Raised::raised)?;
            let stream = TableStream::new(&table, &tasks, config.stream.preprocess(), config.features);
            let mut stream =
                stream.and_then(|rows| rows.labelled(labels, Labels::Real)).map_err(Raised::raised)?;
            let examples = Examples::read_as(&mut stream, &declared, kind).map_err(Raised::raised)?;
            let interrupted = RefCell::new(None);
            let watch = |_: usize, _: f64| match signals() {
                Ok(()) => true,
                Err(error) => {
                    *interrupted.borrow_mut() = Some(error);
                    false
                }
            };
            let fitted = cognate::Model::fit(config, &examples, &FitOptions::default(), &watch);
            match interrupted.take() {
                Some(error) => Err(error),
                None => fitted.map_err(Raised::raised),
            }
        })?;
        held.model = model;
        Ok(json!(fitted.status).to_string())
    }

    /// The learner's id.
    #[getter]
    fn learner(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.lock(py)?.model.learner().about().id)
    }

    /// Whether labels are real numbers.
    #[getter]
    fn is_regression(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.model.kind() == Some(Kind::Regression))
    }

    /// Rounds learnt.
    #[getter]
    fn rounds(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.model.rounds())
    }

    /// The config that the model remembers, as JSON.
    #[getter]
    fn config(&self, py: Python<'_>) -> PyResult<String> {
        Ok(json!(self.lock(py)?.model.config()).to_string())
    }

    /// Names of the tasks, in order of their numbers.
    #[getter]
    fn tasks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.lock(py)?.model.tasks().names().map(str::to_owned).collect())
    }

    /// Counts of everything learnt, in total and of every task, as JSON.
    #[getter]
    fn metrics(&self, py: Python<'_>) -> PyResult<String> {
        let held = self.lock(py)?;
        let (model, metrics) = (&held.model, held.model.metrics());
        let tasks = (0..model.tasks().len() as u32).map(|task| {
            let mut row = tally(&metrics.task(TaskId(task)));
            row["task"] = json!(model.tasks().name(TaskId(task)));
            row
        });
        let mut all = tally(metrics.total());
        all["tasks"] = Value::Array(tasks.collect());
        Ok(all.to_string())
    }

    /// What a person should know about how the learning went.
    #[getter]
    fn remarks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.lock(py)?.model.learner().as_inspect().remarks())
    }

    /// R: how much an update of the task of the column moves the task of the row.
    fn relations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let held = self.lock(py)?;
        let (learner, tasks) = (held.model.learner().as_inspect(), held.model.tasks().len());
        let mut entries = Vec::new();
        let size = tasks.checked_mul(tasks).filter(|size| entries.try_reserve_exact(*size).is_ok());
        if size.is_none() {
            return Err(PyMemoryError::new_err(format!("a relation of {tasks} tasks is too large")));
        }
        for to in 0..tasks as u32 {
            entries.extend((0..tasks as u32).map(|from| learner.relation(TaskId(to), TaskId(from))));
        }
        PyArray1::from_vec(py, entries).reshape([tasks, tasks])
    }

    /// Non-zero weights of a task: features and values. The constant feature is -1.
    fn weights<'py>(&self, py: Python<'py>, task: &Bound<'py, PyAny>) -> PyResult<Weights<'py>> {
        let held = self.lock(py)?;
        let weights = held.model.learner().as_inspect().weights(held.find_task(task)?);
        let number = |index: u32| if index == BIAS_FEATURE { -1 } else { i64::from(index) };
        let features: Vec<i64> = weights.iter().map(|(index, _)| number(*index)).collect();
        let values: Vec<f64> = weights.iter().map(|(_, value)| *value).collect();
        Ok((PyArray1::from_vec(py, features), PyArray1::from_vec(py, values)))
    }

    /// Names of features with their numbers, where they have names.
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<(String, u32)>> {
        let held = self.lock(py)?;
        Ok(held.model.names().iter().map(|(name, feature)| (name.to_owned(), feature)).collect())
    }

    /// Probabilities of the label +1 for margins; none where margins say nothing about it.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        margins: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let held = self.lock(py)?;
        let learner = held.model.learner().as_inspect();
        let found: Option<Vec<f64>> =
            margins.as_array().iter().map(|margin| learner.probability(*margin)).collect();
        Ok(found.map(|found| PyArray1::from_vec(py, found)))
    }

    /// Examples and mistakes so far, at points since the model came into this process; of a task, or of all.
    #[pyo3(signature = (task=None))]
    fn curve(&self, py: Python<'_>, task: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(u64, u64)>> {
        let held = self.lock(py)?;
        let task = task.map(|task| held.find_task(task)).transpose()?;
        Ok(held.curves.points(task))
    }

    /// Bytes that the learner holds.
    #[getter]
    fn heap_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.model.learner().as_inspect().heap_bytes())
    }
}

impl Held {
    /// That columns of an array can be features of this model.
    fn refuse_names(&self) -> PyResult<()> {
        if self.model.names().naming() == cognate::feature_names::Naming::Numbered {
            return Ok(());
        }
        Err(data_error(
            "features of this model have names; give dictionaries, or a frame with names of columns",
        ))
    }
}
