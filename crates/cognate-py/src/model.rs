//! The class that Python wraps: a model, the settings of its stream, and its curves.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use cognate::BIAS_FEATURE;
use cognate::fit::{Examples, FitOptions, Kind};
use cognate::internal::nearest_first;
use cognate::metrics::{Auc, Tally};
use cognate::model::{Beside, Threshold};
use cognate::stream::{Input, Labels, ReadOptions};
use cognate::{RunConfig, RunOptions, Stream, TaskId};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList};
use serde_json::{Value, json};

use crate::arrays::{HeldTable, HeldValues, label, row_tasks, task_name, with_features};
use crate::errors::{Raised, config_error, data_error};
use crate::watch::{Curves, Table, Watch, judged, signals};

/// What a model holds.
struct Held {
    model: cognate::Model,
    config: RunConfig,
    curves: Curves,
}

/// A model; `cognate.Learner` is what people use.
#[pyclass(module = "cognate._native", frozen)]
pub(crate) struct Model {
    held: Mutex<Held>,
}

impl Model {
    fn of(model: cognate::Model, config: RunConfig) -> Self {
        Self { held: Mutex::new(Held { model, config, curves: Curves::default() }) }
    }

    /// A model that was read from a file or bytes.
    fn restored(model: cognate::Model) -> Self {
        let config = model.run_config();
        Self::of(model, config)
    }

    /// Exclusive access to the model; other threads wait without holding Python's lock.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Held>> {
        self.held
            .lock_py_attached(py)
            .map_err(|_| data_error("the model broke in an earlier call and cannot be used any more"))
    }
}

impl Held {
    /// Learns a stream; the error is that of the run, or of the signal that stopped it.
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
            let learnt = model.learn(stream, options, &mut watch);
            watch.finish()?;
            learnt.map(drop).map_err(Raised::raised)
        })
    }

    /// Whether labels are real numbers.
    fn is_regression(&self) -> bool {
        self.model.kind() == Some(Kind::Regression)
    }

    fn find_task(&self, task: &Bound<'_, PyAny>) -> PyResult<TaskId> {
        let name = task_name(task)?.unwrap_or_else(|| "default".to_owned());
        self.model.task(&name).map_err(Raised::raised)
    }
}

/// Counts of a model at some time.
#[pyclass(module = "cognate._native", frozen)]
pub(crate) struct Counts(Tally);

#[pymethods]
impl Counts {
    /// The error, or the root mean squared error of real labels, from then until later.
    fn until(&self, later: &Self) -> Option<f64> {
        judged(&later.0.since(&self.0))
    }
}

/// A tally and what follows from it, as JSON; what has no meaning for the kind of labels is null.
fn tally(tally: &Tally, auc: Option<Auc>, real: bool) -> Value {
    let mut counts = json!({
        "examples": tally.examples, "mistakes": tally.mistakes,
        "updates": tally.updates, "queries": tally.queries,
    });
    for (name, value) in tally.measures(auc.map(|auc| auc.value)).all_entries() {
        // A task without examples does not know what its labels are.
        counts[name] = json!(value.filter(|_| !real || tally.kind().is_some()));
    }
    counts
}

/// Features and their weights.
type Weights<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

#[expect(clippy::needless_pass_by_value, reason = "Python hands arguments over")]
#[pymethods]
impl Model {
    /// A new model from a config in JSON.
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        let read = |error: serde_json::Error| {
            let message = error.to_string();
            config_error(nearest_first(message.split(" at line ").next().unwrap_or_default()))
        };
        let mut config: RunConfig = serde_json::from_str(config).map_err(read)?;
        config.read_files().map_err(Raised::raised)?;
        if config.learner.wants_rounds() {
            return Err(config_error(
                "learner: a fraction of the stream needs the number of rounds; give a number, or \"auto\"",
            ));
        }
        let model = cognate::Model::new(&config).map_err(Raised::raised)?;
        Ok(Self::of(model, config))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| cognate::Model::load(&path)).map_err(Raised::raised)?;
        Ok(Self::restored(model))
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self::restored(cognate::Model::from_bytes(bytes).map_err(Raised::raised)?))
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let held = self.lock(py)?;
        let model = &held.model;
        py.detach(|| model.save(&path)).map_err(Raised::raised)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lock(py)?.model.to_loadable_bytes().map_err(Raised::raised)?))
    }

    /// Learns one example.
    #[pyo3(signature = (x, y, task, weight=1.0, offset=0.0, time=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument in Python too")]
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        task: &Bound<'_, PyAny>,
        weight: f64,
        offset: f64,
        time: Option<f64>,
    ) -> PyResult<()> {
        let task = task_name(task)?;
        let beside = Beside { weight, offset, time };
        let mut held = self.lock(py)?;
        let label = label(y, held.is_regression())?;
        let Held { model, curves, .. } = &mut *held;
        let mut rows = model.rows();
        with_features(x, |features| {
            rows.push_with(task.as_deref(), features, label, beside).map_err(Raised::raised)
        })?;
        let mut watch = Watch::new(curves, None);
        rows.learn(&mut watch).map_err(Raised::raised)?;
        watch.finish()
    }

    /// Learns examples, one after the other or as rounds: lists of features, labels and tasks, and weights if there are some.
    #[pyo3(signature = (x, y, tasks, weights=None))]
    fn learn_rows(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyList>,
        y: &Bound<'_, PyList>,
        tasks: &Bound<'_, PyList>,
        weights: Option<Vec<f64>>,
    ) -> PyResult<()> {
        if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != x.len()) {
            let (found, expected) = (weights.len(), x.len());
            return Err(data_error(format!("there are {found} weights; expected {expected}")));
        }
        if y.len() != x.len() || tasks.len() != x.len() {
            let (x, y, tasks) = (x.len(), y.len(), tasks.len());
            return Err(data_error(format!(
                "{x} examples, {y} labels and {tasks} tasks; expected as many of each"
            )));
        }
        let mut held = self.lock(py)?;
        let real = held.is_regression();
        let Held { model, curves, .. } = &mut *held;
        let mut rows = model.rows();
        for (at, ((x, y), task)) in x.iter().zip(y).zip(tasks).enumerate() {
            let (task, label) = (task_name(&task)?, label(&y, real)?);
            let beside = weights.as_ref().map_or_else(Beside::default, |weights| Beside::weight(weights[at]));
            with_features(&x, |features| {
                rows.push_with(task.as_deref(), features, label, beside).map_err(Raised::raised)
            })?;
        }
        py.detach(move || {
            let mut watch = Watch::new(curves, None);
            let learnt = rows.learn(&mut watch);
            watch.finish()?;
            learnt.map_err(Raised::raised)
        })
    }

    /// The margin of one example.
    fn margin_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>, task: &Bound<'_, PyAny>) -> PyResult<f64> {
        let task = task_name(task)?;
        let held = self.lock(py)?;
        with_features(x, |features| {
            let prediction = held.model.predict_row(task.as_deref(), features);
            prediction.map(|prediction| prediction.margin).map_err(Raised::raised)
        })
    }

    /// The label of one example, and the standard deviation of its margin if the learner knows it.
    fn predict_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        task: &Bound<'_, PyAny>,
    ) -> PyResult<(f64, Option<f64>)> {
        let task = task_name(task)?;
        let held = self.lock(py)?;
        with_features(x, |features| {
            let prediction = held.model.predict_row(task.as_deref(), features).map_err(Raised::raised)?;
            Ok((prediction.label, prediction.uncertainty))
        })
    }

    /// Learns the rows of a table, in this order if one is given, with these weights if there are some.
    #[pyo3(signature = (table, y, tasks, order=None, weights=None))]
    fn learn(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        tasks: &Bound<'_, PyAny>,
        order: Option<PyReadonlyArray1<'_, i64>>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let weights = weights.map(|weights| HeldValues::new("sample_weight", weights)).transpose()?;
        let weights = weights.as_ref().map(HeldValues::view).transpose()?;
        let (table, labels) = (HeldTable::new(table)?, HeldValues::new("y", y)?);
        let (table, labels) = (table.view()?, labels.view()?);
        let mut held = self.lock(py)?;
        held.refuse_names()?;
        let tasks = row_tasks(tasks, held.model.tasks(), table.rows())?;
        let model = &held.model;
        let mut stream = py
            .detach(|| {
                table.check(model.config().features)?;
                let rows = model.table(&table, &tasks)?.labelled(labels, Labels::Required)?;
                model.check_labels(labels)?;
                match weights {
                    None => Ok(rows),
                    Some(weights) => rows.weighted(weights),
                }
            })
            .map_err(Raised::raised)?;
        let order = order.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        if let Some(order) = order {
            stream = stream.ordered(order).map_err(Raised::raised)?;
        }
        held.learn(py, &mut stream, &RunOptions::default(), None)
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
        held.refuse_names()?;
        let tasks = row_tasks(tasks, held.model.tasks(), table.rows())?;
        let model = &held.model;
        let found = py.detach(|| {
            table.check(model.config().features)?;
            let mut stream = model.table(&table, &tasks)?;
            let mut found = Vec::with_capacity(table.rows());
            model.predict(&mut stream, NonZeroUsize::MIN, &mut |predictions| {
                found.extend_from_slice(predictions.margins());
                ControlFlow::Continue(())
            })?;
            Ok::<_, cognate::StreamError>(found)
        });
        Ok(PyArray1::from_vec(py, found.map_err(Raised::raised)?))
    }

    /// Standard deviations of the margins of the rows of a table; none if the learner does not know them.
    fn uncertainties<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        tasks: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let table = HeldTable::new(table)?;
        let table = table.view()?;
        let held = self.lock(py)?;
        held.refuse_names()?;
        let tasks = row_tasks(tasks, held.model.tasks(), table.rows())?;
        let model = &held.model;
        let found = py.detach(|| {
            table.check(model.config().features)?;
            let mut stream = model.table(&table, &tasks)?;
            let mut found = Some(Vec::with_capacity(table.rows()));
            model.predict(&mut stream, NonZeroUsize::MIN, &mut |predictions| {
                for (example, _) in predictions.iter() {
                    match (&mut found, predictions.uncertainty(example)) {
                        (Some(found), Some(uncertainty)) => found.push(uncertainty),
                        _ => found = None,
                    }
                }
                ControlFlow::Continue(())
            })?;
            Ok::<_, cognate::StreamError>(found)
        });
        Ok(found.map_err(Raised::raised)?.map(|found| PyArray1::from_vec(py, found)))
    }

    /// Learns files as `cognate learn` does; returns the lines of its progressive table, as JSON.
    fn learn_files(&self, py: Python<'_>, paths: Vec<PathBuf>, skip_bad: u64) -> PyResult<String> {
        let mut held = self.lock(py)?;
        let Held { model, config, .. } = &*held;
        let inputs = paths.into_iter().map(Input::File).collect();
        let read = ReadOptions::default().labels(Labels::Optional).skip_bad(skip_bad);
        let mut stream = py.detach(|| model.open(inputs, &config.stream, read)).map_err(Raised::raised)?;
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let options = RunOptions { threads, ..RunOptions::of(&config.stream) };
        let mut table = Table::new(held.model.metrics());
        held.learn(py, &mut *stream, &options, Some(&mut table))?;
        table.finish(held.model.metrics(), held.curves.ranking());
        let real = held.is_regression();
        let lines = table.lines.iter().map(|(counts, auc, tasks, since)| {
            let mut line = tally(counts, *auc, real);
            line["tasks"] = json!(tasks);
            line["since_last"] = json!(since);
            line
        });
        Ok(Value::Array(lines.collect()).to_string())
    }

    /// Fits a batch learner to the rows of a table; `kind` is the kind of labels, or found from them. Returns how it ended, as JSON.
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
        let declared = held.config.declared_tasks().map_err(Raised::raised)?;
        let tasks = row_tasks(tasks, &declared, table.rows())?;
        let config = &held.config;
        let (model, fitted) = py.detach(|| {
            table.check(config.features).map_err(Raised::raised)?;
            let stream = config.table(&table, &tasks);
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
        Ok(self.lock(py)?.is_regression())
    }

    /// The margin from which on the label +1 is predicted.
    #[getter]
    fn threshold(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.lock(py)?.model.threshold())
    }

    /// Predicts the label +1 from this margin on.
    fn set_threshold(&self, py: Python<'_>, margin: f64) -> PyResult<()> {
        self.lock(py)?.model.set_threshold(Threshold::Margin(margin)).map_err(Raised::raised)
    }

    /// Rounds learnt.
    #[getter]
    fn rounds(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.model.rounds())
    }

    /// The config that the model keeps, as JSON.
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
        let (areas, real) = (held.curves.ranking().areas(), held.is_regression());
        let tasks = (0..model.tasks().len() as u32).map(|task| {
            let mut row = tally(&metrics.task(TaskId(task)), areas.task(TaskId(task)), real);
            row["task"] = json!(model.tasks().name(TaskId(task)));
            row
        });
        let mut all = tally(metrics.total(), areas.total(), real);
        all["tasks"] = Value::Array(tasks.collect());
        Ok(all.to_string())
    }

    /// Counts of everything learnt, to be compared with later ones.
    #[getter]
    fn counts(&self, py: Python<'_>) -> PyResult<Counts> {
        Ok(Counts(*self.lock(py)?.model.metrics().total()))
    }

    /// Notes for the user about how the learning went.
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

    /// Probabilities of the label +1 for margins; none if margins give no probability.
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

    /// The numbers that margins predict where labels are real numbers.
    fn responses<'py>(
        &self,
        py: Python<'py>,
        margins: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let held = self.lock(py)?;
        let learner = held.model.learner().as_inspect();
        let found = margins.as_array().iter().map(|margin| learner.response(*margin)).collect();
        Ok(PyArray1::from_vec(py, found))
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
    /// Checks that columns of an array can be features of this model.
    fn refuse_names(&self) -> PyResult<()> {
        if !self.model.has_names() {
            return Ok(());
        }
        Err(data_error("features of this model have names; give dictionaries, or a frame with column names"))
    }
}
