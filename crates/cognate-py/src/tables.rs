//! Whole tables: checked as a whole, then learnt, predicted or fitted.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cognate::algorithms::ConvexConfig;
use cognate::fit::{Examples, FitError, FitOptions, Fitter, Kind, folds, select};
use cognate::stream::{Labels, RowTasks, Table, Values};
use cognate::{LearnerConfig, RunConfig, RunOptions, StreamError};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::arrays::{HeldTable, HeldValues, row_tasks};
use crate::background::{Patience, in_background};
use crate::errors::{Raised, config_error, data_error};
use crate::held::{Guarded, Held};
use crate::labels::Words;

/// What a table is learnt from, beside X.
pub(crate) struct Rows<'a, 'py> {
    pub(crate) table: &'a Bound<'py, PyAny>,
    pub(crate) y: &'a Bound<'py, PyAny>,
    pub(crate) tasks: &'a Bound<'py, PyAny>,
    /// The names that labels are the positions of, or nothing if labels are numbers.
    pub(crate) names: Option<Vec<String>>,
    /// Whether labels were false and true.
    pub(crate) truth: bool,
}

/// Labels as the library takes them.
enum Coded<'a> {
    Given(Values<'a>),
    Named(Vec<f64>),
}

impl Coded<'_> {
    fn values(&self) -> Values<'_> {
        match self {
            Self::Given(values) => *values,
            Self::Named(values) => Values::F64(values),
        }
    }
}

impl Rows<'_, '_> {
    /// Labels as numbers, and the words for them if they are news.
    fn coded<'v>(
        &self,
        words: &Words,
        labels: Values<'v>,
        real: bool,
    ) -> PyResult<(Coded<'v>, Option<Words>)> {
        if let Some(name) = self.names.as_ref().filter(|_| real).and_then(|names| names.first()) {
            return Err(data_error(format!("y: found {name:?}; labels of this learner are numbers")));
        }
        let Some(names) = &self.names else {
            let news = if real { None } else { words.numbers(labels, self.truth)? };
            return Ok((Coded::Given(labels), news));
        };
        let (mut words, mut signs) = (words.clone(), Vec::new());
        for name in names {
            let (sign, news) = words.name(name)?;
            signs.push(sign);
            words = news.unwrap_or(words);
        }
        let of = |code: f64| signs.get(code as usize).copied().unwrap_or(f64::NAN);
        let coded = match labels {
            Values::F32(codes) => codes.iter().map(|code| of(f64::from(*code))).collect(),
            Values::F64(codes) => codes.iter().map(|code| of(*code)).collect(),
        };
        Ok((Coded::Named(coded), Some(words)))
    }
}

/// Checks a table; Ctrl-C is heard meanwhile.
fn check(py: Python<'_>, table: &Table<'_>, features: Option<u32>) -> PyResult<()> {
    py.detach(|| {
        let mut patience = Patience::new();
        let checked = table.check_while(features, &mut || patience.go_on());
        patience.finish()?;
        checked.map_err(Raised::raised)
    })
}

/// Learns the rows, in this order if one is given, with these weights if there are some.
pub(crate) fn learn(
    py: Python<'_>,
    guarded: &Guarded,
    rows: &Rows<'_, '_>,
    order: Option<&PyReadonlyArray1<'_, i64>>,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let weights = weights.map(|weights| HeldValues::new("sample_weight", weights)).transpose()?;
    let weights = weights.as_ref().map(HeldValues::view).transpose()?;
    let (table, labels) = (HeldTable::new(rows.table)?, HeldValues::new("y", rows.y)?);
    let (named, labels) = (table.has_names(), labels.view()?);
    let right = guarded.begin(py)?;
    let held = guarded.look(py)?;
    if !named {
        held.refuse_names()?;
    }
    held.refuse_classes()?;
    let table = table.view(|frame| held.model.frame(frame))?;
    let (labels, news) = rows.coded(&held.words, labels, held.is_regression())?;
    let tasks = rows_to_learn(&held, rows.tasks, table.rows())?;
    let (features, options, config) =
        (held.model.config().features, RunOptions::of(&held.config.stream), held.config.stream.clone());
    drop(held);
    check(py, &table, features)?;
    let held = guarded.look(py)?;
    let model = &held.model;
    let mut stream = py
        .detach(|| {
            let rows = model.table(&table, &tasks)?.labelled(labels.values(), Labels::Required)?;
            model.check_labels(labels.values())?;
            match weights {
                None => Ok(rows),
                Some(weights) => rows.weighted(weights),
            }
        })
        .map_err(Raised::raised)?;
    let order = order.map(PyReadonlyArray1::as_slice).transpose()?;
    if let Some(order) = order {
        stream = stream.ordered(order).map_err(Raised::raised)?;
    }
    let mut stream = model.in_order(stream, &config).map_err(Raised::raised)?;
    let before = held.model.rounds();
    drop(held);
    let learnt = guarded.learn(py, &right, &mut *stream, &options, None);
    let mut held = guarded.change(py, &right)?;
    if let Some(news) = news.filter(|_| held.model.rounds() > before) {
        news.tell(&mut held.model)?;
        held.words = news;
    }
    learnt
}

fn rows_to_learn(held: &Held, tasks: &Bound<'_, PyAny>, rows: usize) -> PyResult<RowTasks> {
    if tasks.is_none() {
        held.taught(None)?;
    }
    row_tasks(tasks, held.model.tasks(), rows, None)
}

fn rows_to_predict(held: &Held, tasks: &Bound<'_, PyAny>, rows: usize) -> PyResult<RowTasks> {
    let only = if tasks.is_none() { held.asked(None)? } else { None };
    row_tasks(tasks, held.model.tasks(), rows, only)
}

/// Asks whether to go on.
type Flow<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// Asks a model about the rows of a table; Ctrl-C is heard meanwhile.
fn ask<T: Send>(
    py: Python<'_>,
    guarded: &Guarded,
    table: &Bound<'_, PyAny>,
    tasks: &Bound<'_, PyAny>,
    answer: impl FnOnce(&cognate::Model, &Table<'_>, &RowTasks, Flow<'_>) -> Result<T, StreamError> + Send,
) -> PyResult<T> {
    let table = HeldTable::new(table)?;
    let held = guarded.look(py)?;
    if !table.has_names() {
        held.refuse_names()?;
    }
    let table = table.view(|frame| held.model.frame(frame))?;
    let tasks = rows_to_predict(&held, tasks, table.rows())?;
    let model = &held.model;
    py.detach(|| {
        let mut patience = Patience::new();
        let mut flow = || if patience.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let found = answer(model, &table, &tasks, &mut flow);
        patience.finish()?;
        found.map_err(Raised::raised)
    })
}

/// Margins of the rows of a table.
pub(crate) fn margins(
    py: Python<'_>,
    guarded: &Guarded,
    table: &Bound<'_, PyAny>,
    tasks: &Bound<'_, PyAny>,
) -> PyResult<Vec<f64>> {
    ask(py, guarded, table, tasks, |model, table, tasks, flow| {
        model.dense_margins(table, tasks, flow).map_or_else(|| one_by_one(model, table, tasks, flow), Ok)
    })
}

fn one_by_one(
    model: &cognate::Model,
    table: &Table<'_>,
    tasks: &RowTasks,
    flow: Flow<'_>,
) -> Result<Vec<f64>, StreamError> {
    table.check_while(model.config().features, &mut || flow().is_continue())?;
    let mut stream = model.table(table, tasks)?;
    let mut found = Vec::with_capacity(table.rows());
    model.predict(&mut stream, NonZeroUsize::MIN, &mut |predictions| {
        found.extend_from_slice(predictions.margins());
        flow()
    })?;
    Ok(found)
}

/// Standard deviations of the margins of the rows of a table; none if the learner does not know them.
pub(crate) fn uncertainties(
    py: Python<'_>,
    guarded: &Guarded,
    table: &Bound<'_, PyAny>,
    tasks: &Bound<'_, PyAny>,
) -> PyResult<Option<Vec<f64>>> {
    ask(py, guarded, table, tasks, |model, table, tasks, flow| {
        table.check_while(model.config().features, &mut || flow().is_continue())?;
        let mut found = Some(Vec::with_capacity(table.rows()));
        let mut stream = model.table(table, tasks)?;
        model.predict(&mut stream, NonZeroUsize::MIN, &mut |predictions| {
            for (example, _) in predictions.iter() {
                match (&mut found, predictions.uncertainty(example)) {
                    (Some(found), Some(uncertainty)) => found.push(uncertainty),
                    _ => found = None,
                }
            }
            flow()
        })?;
        Ok(found)
    })
}

/// What a fit is to find, beside weights.
pub(crate) struct Wanted<'a> {
    /// The kind of labels, if it does not follow from them.
    pub(crate) kind: Option<&'a str>,
    /// The folds by which lambda is chosen, if it is.
    pub(crate) folds: Option<usize>,
}

/// Fits a batch learner to the rows, with these weights if there are some. Returns how it ended, as JSON.
pub(crate) fn fit(
    py: Python<'_>,
    guarded: &Guarded,
    rows: &Rows<'_, '_>,
    weights: Option<&Bound<'_, PyAny>>,
    wanted: &Wanted<'_>,
) -> PyResult<String> {
    let weights = weights.map(|weights| HeldValues::new("sample_weight", weights)).transpose()?;
    let weights = weights.as_ref().map(HeldValues::view).transpose()?;
    let named = if rows.names.is_some() { Some("classification") } else { wanted.kind };
    let kind = named.map(|kind| serde_json::from_value::<Kind>(json!(kind))).transpose();
    let kind = kind.map_err(|error| config_error(error.to_string()))?;
    let (table, labels) = (HeldTable::new(rows.table)?, HeldValues::new("y", rows.y)?);
    let labels = labels.view()?;
    let right = guarded.begin(py)?;
    let held = guarded.look(py)?;
    held.refuse_classes()?;
    let config = held.config.clone();
    let table = table.view(|frame| config.frame(frame))?;
    let declared = config.declared_tasks().map_err(Raised::raised)?;
    let (words, real) = (Words::Open, kind == Some(Kind::Regression));
    let (labels, news) = if kind.is_none() && !rows.truth {
        (Coded::Given(labels), None)
    } else {
        rows.coded(
            if matches!(held.words, Words::Names { .. }) { &held.words } else { &words },
            labels,
            real,
        )?
    };
    drop(held);
    if rows.tasks.is_none() && !declared.is_empty() {
        return Err(data_error("no task is given, and tasks are declared; say which"));
    }
    let tasks = row_tasks(rows.tasks, &declared, table.rows(), None)?;
    check(py, &table, config.features)?;
    let labelled = labels.values();
    let examples = py
        .detach(|| read_examples((&config, &declared), &table, &tasks, labelled, weights, kind))
        .map_err(Raised::raised)?;
    let (stop, folds) = (Arc::new(AtomicBool::new(false)), wanted.folds);
    let told = Arc::clone(&stop);
    let (model, mut status) =
        in_background(py, &stop, move || fitted(config, &examples, folds, &told))?.map_err(Raised::raised)?;
    let mut held = guarded.change(py, &right)?;
    held.model = model;
    held.words = news.unwrap_or_else(|| match labels.values() {
        values if !held.is_regression() => words.numbers(values, false).ok().flatten().unwrap_or(words),
        _ => words,
    });
    let told = held.words.clone();
    if !held.is_regression() {
        told.tell(&mut held.model)?;
    }
    let names = status["shared_intercepts"].take();
    let name = |task: &Value| {
        let number = task.as_u64().unwrap_or_default() as u32;
        json!(held.model.tasks().name(cognate::TaskId(number)))
    };
    status["shared_intercepts"] =
        names.as_array().map_or(json!([]), |tasks| tasks.iter().map(name).collect());
    Ok(status.to_string())
}

/// The rows as examples of a fit, with the declared tasks of its config.
fn read_examples(
    (config, declared): (&RunConfig, &cognate::Tasks),
    table: &Table<'_>,
    tasks: &RowTasks,
    labels: Values<'_>,
    weights: Option<Values<'_>>,
    kind: Option<Kind>,
) -> Result<Examples, FitError> {
    let rows = config.table(table, tasks).map_err(StreamError::from)?;
    let rows = rows.labelled(labels, Labels::Real).map_err(StreamError::from)?;
    let mut rows = match weights {
        None => rows,
        Some(weights) => rows.weighted(weights).map_err(StreamError::from)?,
    };
    let mut examples = Examples::read_as(&mut rows, declared, kind)?;
    examples.weigh_classes(&config.stream.class_weight)?;
    Ok(examples)
}

/// Lambdas that are tried.
const LAMBDAS: usize = 13;

/// A fitted model, and how the fit went.
fn fitted(
    mut config: RunConfig,
    examples: &Examples,
    folded: Option<usize>,
    stop: &AtomicBool,
) -> Result<(cognate::Model, Value), FitError> {
    let go_on = || !stop.load(Ordering::SeqCst);
    let options = FitOptions::default();
    let mut path = Value::Null;
    if let (Some(count), LearnerConfig::Convex(parameters)) = (folded, &mut config.learner) {
        let splits = folds(examples, count, config.stream.seed)?;
        let lambdas = Fitter::new(parameters, examples, options.memory)?.path(parameters, LAMBDAS)?;
        let tried: Vec<ConvexConfig> =
            lambdas.iter().map(|lambda| ConvexConfig { lambda: *lambda, ..parameters.clone() }).collect();
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let found = select(&tried, examples, &splits, &options, threads, &go_on)?;
        parameters.lambda = tried[found.best].lambda;
        path = found
            .candidates
            .iter()
            .map(|one| json!({ "lambda": one.config.lambda, "error": one.error, "deviation": one.deviation }))
            .collect();
    }
    let (model, fitted) = cognate::Model::fit(&config, examples, &options, &|_, _| go_on())?;
    let mut status = json!(fitted.status);
    status["shared_intercepts"] = fitted.shared_intercepts.iter().map(|task| task.0).collect();
    if let LearnerConfig::Convex(parameters) = &config.learner {
        status["lambda"] = json!(parameters.lambda);
    }
    status["path"] = path;
    Ok((model, status))
}
