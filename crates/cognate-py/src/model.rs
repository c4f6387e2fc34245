//! The class that Python wraps: a model, the settings of its stream, and its curves.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use cognate::BIAS_FEATURE;
use cognate::algorithms::Learner;
use cognate::internal::nearest_first;
use cognate::metrics::{Auc, Tally};
use cognate::model::{Beside, Scratch, Threshold};
use cognate::stream::{Input, Labels, ReadOptions};
use cognate::{RunConfig, RunOptions, TaskId};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::{Value, json};

use crate::arrays::{real_label, task_name, with_features};
use crate::background::in_background;
use crate::errors::{Raised, config_error, data_error};
use crate::held::{Counting, Guarded, Held};
use crate::labels::Words;
use crate::tables::{self, Rows, Wanted};
use crate::watch::{Table, judged};

/// A model; `cognate.Learner` is what people use.
#[pyclass(module = "cognate._native", frozen)]
pub(crate) struct Model {
    guarded: Guarded,
}

impl Model {
    fn of(model: cognate::Model, config: RunConfig) -> Self {
        Self { guarded: Guarded::new(Held::new(model, config)) }
    }

    /// A model that was read from a file or bytes.
    fn restored(model: cognate::Model) -> Self {
        let config = model.run_config();
        Self::of(model, config)
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

thread_local! {
    /// What predictions one by one use again.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Features and their weights.
type Weights<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// A margin, and features with value, shared and own part.
type Parts = (f64, Vec<(String, f64, f64, f64)>);

/// Bytes beyond which a relation of all tasks is refused.
const LARGEST_RELATION: usize = 1 << 30;

/// Examples that are learnt in one turn, of a list of them.
const TURN: usize = 512;

#[expect(clippy::needless_pass_by_value, reason = "Python hands arguments over")]
#[pymethods]
impl Model {
    /// A new model from a config in JSON; `classes` are the two labels, if they are declared.
    #[new]
    #[pyo3(signature = (config, classes=None))]
    fn new(config: &str, classes: Option<Vec<Bound<'_, PyAny>>>) -> PyResult<Self> {
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
        let words = classes.map(|classes| Words::declared(&classes)).transpose()?;
        if let Some(Words::Names { positive, .. }) = &words {
            config.stream.positive.clone_from(positive);
        }
        let mut model = cognate::Model::new(&config).map_err(Raised::raised)?;
        if let Some(words) = &words {
            words.tell(&mut model)?;
        }
        let mut held = Held::new(model, config);
        held.words = words.unwrap_or(held.words);
        Ok(Self { guarded: Guarded::new(held) })
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let model = in_background(py, &stop, move || cognate::Model::load(&path))?.map_err(Raised::raised)?;
        Ok(Self::restored(model))
    }

    /// Reads the bytes of a model file; `labels` is what `labels` was.
    #[staticmethod]
    #[pyo3(signature = (bytes, labels=None))]
    fn from_bytes(bytes: &[u8], labels: Option<&str>) -> PyResult<Self> {
        let model = cognate::Model::from_bytes(bytes).map_err(Raised::raised)?;
        let config = model.run_config();
        let mut held = Held::new(model, config);
        held.words = labels.and_then(Words::from_json).unwrap_or(held.words);
        Ok(Self { guarded: Guarded::new(held) })
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let (held, stop) = (self.guarded.share(), Arc::new(AtomicBool::new(false)));
        let saved = in_background(py, &stop, move || {
            held.read().unwrap_or_else(PoisonError::into_inner).model.save(&path)
        });
        saved?.map_err(Raised::raised)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let held = self.guarded.look(py)?;
        Ok(PyBytes::new(py, &held.model.to_loadable_bytes().map_err(Raised::raised)?))
    }

    /// What labels are called, for [`Self::from_bytes`].
    #[getter]
    fn labels(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.guarded.look(py)?.words.to_json())
    }

    /// Both labels, the negative one first; None for one that has not come, and where labels are real numbers.
    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<Option<[Py<PyAny>; 2]>> {
        let held = self.guarded.look(py)?;
        if held.is_regression() { Ok(None) } else { held.words.both(py).map(Some) }
    }

    /// Learns one example.
    #[pyo3(signature = (x, y, task=None, weight=1.0, offset=0.0, time=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument in Python too")]
    fn learn_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
        weight: f64,
        offset: f64,
        time: Option<f64>,
    ) -> PyResult<()> {
        let task = task.map(task_name).transpose()?.flatten();
        let beside = Beside { weight, offset, time };
        let right = self.guarded.begin(py)?;
        let mut held = self.guarded.change(py, &right)?;
        held.refuse_order()?;
        held.taught(task.as_deref())?;
        let (label, news) = match (y.is_none(), held.is_regression()) {
            (true, _) => (None, None),
            (false, true) => (Some(real_label(y)?), None),
            (false, false) => {
                let (label, news) = held.words.read(y)?;
                (Some(label), news)
            }
        };
        let Held { model, curves, .. } = &mut *held;
        let mut rows = model.rows();
        with_features(x, |features| {
            rows.push_with(task.as_deref(), features, label, beside).map_err(Raised::raised)
        })?;
        rows.learn(&mut Counting(curves)).map_err(Raised::raised)?;
        if let Some(news) = news {
            news.tell(model)?;
            held.words = news;
        }
        Ok(())
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
        let right = self.guarded.begin(py)?;
        let mut held = self.guarded.change(py, &right)?;
        held.refuse_order()?;
        let lists = Lists { x, y, tasks, weights: weights.as_deref() };
        // What has limits is checked, and learnt, as a whole.
        let config = held.model.config();
        let whole = config.simultaneous || config.features.is_some() || held.model.tasks().limit().is_some();
        if whole || x.len() <= TURN {
            return lists.learn(py, &mut held, 0..x.len());
        }
        let (mut words, real) = (held.words.clone(), held.is_regression());
        for first in (0..x.len()).step_by(TURN) {
            py.check_signals()?;
            let range = first..(first + TURN).min(x.len());
            let mut rows = held.model.rows();
            words = lists.push(&mut rows, &words, range, real)?.unwrap_or(words);
            rows.check().map_err(Raised::raised)?;
        }
        for first in (0..x.len()).step_by(TURN) {
            drop(held);
            self.guarded.give_way();
            py.check_signals()?;
            held = self.guarded.change(py, &right)?;
            lists.learn(py, &mut held, first..(first + TURN).min(x.len()))?;
        }
        Ok(())
    }

    /// The margin of one example.
    #[pyo3(signature = (x, task=None))]
    fn margin_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<f64> {
        let held = self.guarded.look(py)?;
        Ok(quickly(&held, x, task)?.margin)
    }

    /// The label of one example.
    #[pyo3(signature = (x, task=None))]
    fn predict_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let held = self.guarded.look(py)?;
        let label = quickly(&held, x, task)?.label;
        spoken(py, &held, label)
    }

    /// The label of one example, and the standard deviation of its margin if the learner knows it.
    #[pyo3(signature = (x, task=None))]
    fn predict_unsurely(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyAny>, Option<f64>)> {
        let held = self.guarded.look(py)?;
        let task = task.map(task_name).transpose()?.flatten();
        let task = held.asked(task.as_deref())?;
        let prediction =
            with_features(x, |features| held.model.predict_row(task, features).map_err(Raised::raised))?;
        Ok((spoken(py, &held, prediction.label)?, prediction.uncertainty))
    }

    /// Whether the query would ask for the label of an example, were it the next one.
    #[pyo3(signature = (x, task=None))]
    fn would_ask(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let held = self.guarded.look(py)?;
        let task = task.map(task_name).transpose()?.flatten();
        let task = held.asked(task.as_deref())?;
        with_features(x, |features| held.model.would_ask(task, features).map_err(Raised::raised))
    }

    /// The margin of an example, and what every feature contributes: its name, its value, the shared and the own part.
    #[pyo3(signature = (x, task=None))]
    fn contributions(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Parts> {
        let held = self.guarded.look(py)?;
        let task = task.map(task_name).transpose()?.flatten();
        let task = held.asked(task.as_deref())?;
        let found =
            with_features(x, |features| held.model.contributions(task, features).map_err(Raised::raised))?;
        let (labels, numbered) = (held.model.feature_labels(), !held.model.has_names());
        let name = |feature: u32| {
            if numbered && feature != BIAS_FEATURE { feature.to_string() } else { labels.label(feature) }
        };
        let parts = found.features.iter().map(|part| (name(part.feature), part.value, part.shared, part.own));
        Ok((found.margin, parts.collect()))
    }

    /// Learns the rows of a table, in this order if one is given, with these weights if there are some. With `names`, labels are
    /// positions among them; `truth` says that they were false and true.
    #[pyo3(signature = (table, y, tasks, order=None, weights=None, names=None, truth=false))]
    #[expect(clippy::too_many_arguments, reason = "each is a part of a table")]
    fn learn(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        tasks: &Bound<'_, PyAny>,
        order: Option<PyReadonlyArray1<'_, i64>>,
        weights: Option<&Bound<'_, PyAny>>,
        names: Option<Vec<String>>,
        truth: bool,
    ) -> PyResult<()> {
        let rows = Rows { table, y, tasks, names, truth };
        tables::learn(py, &self.guarded, &rows, order.as_ref(), weights)
    }

    /// Margins of the rows of a table.
    fn margins<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        tasks: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        tables::margins(py, &self.guarded, table, tasks).map(|found| PyArray1::from_vec(py, found))
    }

    /// Standard deviations of the margins of the rows of a table; none if the learner does not know them.
    fn uncertainties<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        tasks: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let found = tables::uncertainties(py, &self.guarded, table, tasks)?;
        Ok(found.map(|found| PyArray1::from_vec(py, found)))
    }

    /// Learns files as `cognate learn` does; returns the lines of its progressive table, as JSON.
    fn learn_files(&self, py: Python<'_>, paths: Vec<PathBuf>, skip_bad: u64) -> PyResult<String> {
        let right = self.guarded.begin(py)?;
        let (shared, stop) = (self.guarded.share(), Arc::new(AtomicBool::new(false)));
        let opened = in_background(py, &stop, move || {
            let held = shared.read().unwrap_or_else(PoisonError::into_inner);
            let inputs = paths.into_iter().map(Input::File).collect();
            let read = ReadOptions::default().labels(Labels::Optional).skip_bad(skip_bad);
            held.model.open(inputs, &held.config.stream, read)
        });
        let mut stream = opened?.map_err(Raised::raised)?;
        let held = self.guarded.look(py)?;
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let options = RunOptions { threads, ..RunOptions::of(&held.config.stream) };
        let mut table = Table::new(held.model.metrics());
        drop(held);
        let learnt = self.guarded.learn(py, &right, &mut *stream, &options, Some(&mut table));
        let mut held = self.guarded.change(py, &right)?;
        if matches!(held.words, Words::Open | Words::Names { .. }) {
            held.words = Words::of(&held.model);
        }
        learnt?;
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

    /// Fits a batch learner to the rows of a table; `kind` is the kind of labels, or found from them; with `folds`, lambda is
    /// chosen by cross-validation. Returns how it ended, as JSON.
    #[pyo3(signature = (table, y, tasks, kind=None, names=None, truth=false, folds=None, weights=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a part of a table")]
    fn fit(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        tasks: &Bound<'_, PyAny>,
        kind: Option<&str>,
        names: Option<Vec<String>>,
        truth: bool,
        folds: Option<usize>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let rows = Rows { table, y, tasks, names, truth };
        tables::fit(py, &self.guarded, &rows, weights, &Wanted { kind, folds })
    }

    /// How the fit of a batch learner ended, as JSON; null before there was one.
    #[getter]
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        let held = self.guarded.look(py)?;
        let status = match held.model.learner() {
            Learner::Convex(convex) => convex.status(),
            _ => None,
        };
        Ok(json!(status).to_string())
    }

    /// The learner's id.
    #[getter]
    fn learner(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.guarded.look(py)?.model.learner().about().id)
    }

    /// Whether labels are real numbers.
    #[getter]
    fn is_regression(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.guarded.look(py)?.is_regression())
    }

    /// The margin from which on the label +1 is predicted.
    #[getter]
    fn threshold(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.guarded.look(py)?.model.threshold())
    }

    /// Predicts the label +1 from this margin on.
    fn set_threshold(&self, py: Python<'_>, margin: f64) -> PyResult<()> {
        let right = self.guarded.begin(py)?;
        let mut held = self.guarded.change(py, &right)?;
        held.model.set_threshold(Threshold::Margin(margin)).map_err(Raised::raised)
    }

    /// Rounds learnt.
    #[getter]
    fn rounds(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.guarded.look(py)?.model.rounds())
    }

    /// The config that the model keeps, as JSON.
    #[getter]
    fn config(&self, py: Python<'_>) -> PyResult<String> {
        Ok(json!(self.guarded.look(py)?.model.config()).to_string())
    }

    /// Number of tasks.
    #[getter]
    fn task_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.guarded.look(py)?.model.tasks().len())
    }

    /// Names of the tasks, in order of their numbers.
    #[getter]
    fn tasks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.guarded.look(py)?.model.tasks().names().map(str::to_owned).collect())
    }

    /// Counts of everything learnt, in total and of every task, as JSON.
    #[getter]
    fn metrics(&self, py: Python<'_>) -> PyResult<String> {
        let held = self.guarded.look(py)?;
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

    /// Counts of everything learnt in total, without what takes a look at every task, as JSON.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<String> {
        let held = self.guarded.look(py)?;
        Ok(tally(held.model.metrics().total(), None, held.is_regression()).to_string())
    }

    /// Counts of everything learnt, to be compared with later ones.
    #[getter]
    fn counts(&self, py: Python<'_>) -> PyResult<Counts> {
        Ok(Counts(*self.guarded.look(py)?.model.metrics().total()))
    }

    /// Notes for the user about how the learning went.
    #[getter]
    fn remarks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.guarded.look(py)?.model.learner().as_inspect().remarks())
    }

    /// R: how much an update of the task of the column moves the task of the row; of all tasks, or of these.
    #[pyo3(signature = (tasks=None))]
    fn relations<'py>(
        &self,
        py: Python<'py>,
        tasks: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let held = self.guarded.look(py)?;
        let learner = held.model.learner().as_inspect();
        let chosen: Vec<TaskId> = match tasks {
            None => (0..held.model.tasks().len() as u32).map(TaskId).collect(),
            Some(tasks) => tasks.iter().map(|task| held.find_task(task)).collect::<PyResult<_>>()?,
        };
        let tasks = chosen.len();
        let mut entries: Vec<f64> = Vec::new();
        let bytes = tasks.saturating_mul(tasks).saturating_mul(size_of::<f64>());
        if bytes > LARGEST_RELATION || entries.try_reserve_exact(tasks * tasks).is_err() {
            let gigabytes = bytes as f64 / 1e9;
            return Err(PyMemoryError::new_err(format!(
                "the relation of {tasks} tasks takes {gigabytes:.1} GB; `relations([task, …])` gives that of some of them"
            )));
        }
        for to in &chosen {
            py.check_signals()?;
            entries.extend(chosen.iter().map(|from| learner.relation(*to, *from)));
        }
        PyArray1::from_vec(py, entries).reshape([tasks, tasks])
    }

    /// Non-zero weights of a task: features and values. The constant feature is -1.
    #[pyo3(signature = (task=None))]
    fn weights<'py>(&self, py: Python<'py>, task: Option<&Bound<'py, PyAny>>) -> PyResult<Weights<'py>> {
        let held = self.guarded.look(py)?;
        let task = match task {
            Some(task) => held.find_task(task)?,
            None => held.find_task(py.None().bind(py))?,
        };
        let weights = held.model.learner().as_inspect().weights(task);
        let number = |index: u32| if index == BIAS_FEATURE { -1 } else { i64::from(index) };
        let features: Vec<i64> = weights.iter().map(|(index, _)| number(*index)).collect();
        let values: Vec<f64> = weights.iter().map(|(_, value)| *value).collect();
        Ok((PyArray1::from_vec(py, features), PyArray1::from_vec(py, values)))
    }

    /// Names of features with their numbers, where they have names.
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Vec<(String, u32)>> {
        let held = self.guarded.look(py)?;
        Ok(held.model.names().iter().map(|(name, feature)| (name.to_owned(), feature)).collect())
    }

    /// Probabilities of the label +1 for margins; none if margins give no probability.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        margins: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let held = self.guarded.look(py)?;
        let learner = held.model.learner().as_inspect();
        let found: Option<Vec<f64>> =
            margins.as_array().iter().map(|margin| learner.probability(*margin)).collect();
        Ok(found.map(|found| PyArray1::from_vec(py, found)))
    }

    /// Both labels of one example with their probabilities; none if the learner's margins give none.
    #[pyo3(signature = (x, task=None))]
    fn probability_one<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'_, PyAny>,
        task: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let held = self.guarded.look(py)?;
        let Some(positive) = quickly(&held, x, task)?.probability else { return Ok(None) };
        let [one, other] = held.words.both(py)?;
        let found = PyDict::new(py);
        for (label, probability) in [(one, 1.0 - positive), (other, positive)] {
            if !label.is_none(py) || !matches!(held.words, Words::Names { .. }) {
                found.set_item(label, probability)?;
            }
        }
        Ok(Some(found))
    }

    /// The numbers that margins predict where labels are real numbers.
    fn responses<'py>(
        &self,
        py: Python<'py>,
        margins: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let held = self.guarded.look(py)?;
        let learner = held.model.learner().as_inspect();
        let found = margins.as_array().iter().map(|margin| learner.response(*margin)).collect();
        Ok(PyArray1::from_vec(py, found))
    }

    /// Examples and mistakes so far, at points since the model came into this process; of a task, or of all.
    #[pyo3(signature = (task=None))]
    fn curve(&self, py: Python<'_>, task: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(u64, u64)>> {
        let held = self.guarded.look(py)?;
        let task = task.map(|task| held.find_task(task)).transpose()?;
        Ok(held.curves.points(task))
    }

    /// Bytes that the learner holds.
    #[getter]
    fn heap_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.guarded.look(py)?.model.learner().as_inspect().heap_bytes())
    }
}

/// The prediction for one example, without how sure it is.
fn quickly(
    held: &Held,
    x: &Bound<'_, PyAny>,
    task: Option<&Bound<'_, PyAny>>,
) -> PyResult<cognate::Prediction> {
    let task = task.map(task_name).transpose()?.flatten();
    let task = held.asked(task.as_deref())?;
    with_features(x, |features| {
        SCRATCH
            .with_borrow_mut(|scratch| held.model.predict_quickly(scratch, task, features))
            .map_err(Raised::raised)
    })
}

/// A predicted label as users call it.
fn spoken(py: Python<'_>, held: &Held, label: f64) -> PyResult<Py<PyAny>> {
    if held.is_regression() {
        return Ok(label.into_pyobject(py)?.into_any().unbind());
    }
    held.words.spoken(py, label > 0.0)
}

/// Examples in lists.
struct Lists<'a, 'py> {
    x: &'a Bound<'py, PyList>,
    y: &'a Bound<'py, PyList>,
    tasks: &'a Bound<'py, PyList>,
    weights: Option<&'a [f64]>,
}

impl Lists<'_, '_> {
    /// Hands some of the examples over; gives the words for labels if they are news.
    fn push(
        &self,
        rows: &mut cognate::Rows<'_>,
        words: &Words,
        range: std::ops::Range<usize>,
        real: bool,
    ) -> PyResult<Option<Words>> {
        let mut news = None;
        for at in range {
            let (x, y, task) = (self.x.get_item(at)?, self.y.get_item(at)?, self.tasks.get_item(at)?);
            let task = task_name(&task)?;
            let label = if y.is_none() {
                None
            } else if real {
                Some(real_label(&y)?)
            } else {
                let (label, met) = news.as_ref().unwrap_or(words).read(&y)?;
                news = met.or(news);
                Some(label)
            };
            let beside = self.weights.map_or_else(Beside::default, |weights| Beside::weight(weights[at]));
            with_features(&x, |features| {
                rows.push_with(task.as_deref(), features, label, beside).map_err(Raised::raised)
            })?;
        }
        Ok(news)
    }

    /// Learns some of the examples, all of them or none.
    fn learn(&self, py: Python<'_>, held: &mut Held, range: std::ops::Range<usize>) -> PyResult<()> {
        for at in range.clone() {
            if self.tasks.get_item(at)?.is_none() {
                held.taught(None)?;
            }
        }
        let real = held.is_regression();
        let Held { model, curves, words, .. } = held;
        let mut rows = model.rows();
        let news = self.push(&mut rows, words, range, real)?;
        py.detach(|| rows.learn(&mut Counting(curves))).map_err(Raised::raised)?;
        if let Some(news) = news {
            news.tell(model)?;
            *words = news;
        }
        Ok(())
    }
}
