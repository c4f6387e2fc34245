//! `cognate fit`: all examples at once, to the optimum.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use cognate::algorithms::ConvexConfig;
use cognate::fit::{
    Candidate, Examples, FitOptions, FitStatus, Fitted, Fitter, Kind, Score, Selection, Stopped, folds,
    score, select,
};
use cognate::metrics::{Scored, Tally};
use cognate::stream::{Labels, ReadOptions};
use cognate::{LearnerConfig, Model, RunConfig, TaskId};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{check_inputs, check_outputs, inputs};
use crate::args::FitArgs;
use crate::bad_lines::BadLineFile;
use crate::interrupt::Interrupt;
use crate::model_file::claim;
use crate::output::{self, Ended, Interrupted, say, shown_name, spinner, table};
use crate::peak_memory::{free_memory_bytes, peak_memory_bytes};
use crate::relation::RelationTable;
use crate::reporting::{LARGEST_RELATION, command_line};
use crate::settings::{candidates, fit_config};
use cognate_plot::numbers::{count, duration, parameter, percent};
use cognate_plot::page::fit::{Chosen, FitPage, FittedTask, Path as SelectedPath, fit_page};

/// Number of lambdas tried by default.
const LAMBDAS: usize = 13;

/// Runs the command.
pub(crate) fn run(args: &FitArgs, quiet: bool) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut config = fit_config(args)?;
    config.validate()?;
    let advice = "--overwrite replaces it; or name another file";
    // Held until the end of the run.
    let _lock = args.model.as_ref().map(|model| claim(model, args.overwrite, advice)).transpose()?;
    check_outputs(&[("report", &args.report)])?;
    let interrupt = Interrupt::listen()?;
    let mut bad_lines = BadLineFile::new(args.bad_lines.as_deref())?;
    let sources = inputs(&args.data)?;
    check_inputs(&sources)?;
    let read = ReadOptions::default()
        .labels(Labels::Real)
        .skip_bad(args.skip_bad)
        .stop(interrupt.flag())
        .bad_lines(bad_lines.for_reader()?);
    let mut reader = config.reader(sources, read)?;
    let read = if config.stream.one_vs_all { Examples::read_classes } else { Examples::read };
    let mut examples = bad_lines.finish_with(read(&mut reader, &config.declared_tasks()?))?;
    examples.weigh_classes(&config.stream.class_weight)?;
    if interrupt.asked() {
        return Err(Interrupted.into());
    }
    // A quarter stays for everything else.
    let memory = free_memory_bytes().map_or(FitOptions::default().memory, |free| free / 4 * 3);
    let options = FitOptions { memory, ..FitOptions::default() };
    let selection = match args.cross_validate {
        None if !args.grid.is_empty() => {
            bail!("--grid: needs --cross-validate to compare the values, e.g. --cross-validate 5")
        }
        None => None,
        Some(count) => {
            let found = cross_validate(args, &config, &examples, count, &options, &interrupt, quiet)?;
            let best = found.candidates[found.best].config.clone();
            let LearnerConfig::Convex(parameters) = &mut config.learner else {
                unreachable!("checked above")
            };
            *parameters = ConvexConfig {
                tolerance: parameters.tolerance,
                max_iterations: parameters.max_iterations,
                ..best
            };
            Some(found)
        }
    };
    let bar = spinner(quiet);
    let watch = |iteration: usize, objective: f64| {
        bar.set_message(format!("iteration {iteration}, objective {objective:.6}"));
        bar.tick();
        !interrupt.asked()
    };
    let (model, fitted) = Model::fit(&config, &examples, &options, &watch)?;
    bar.finish_and_clear();
    let stopped = interrupt.asked();
    if let Some(path) = &args.model {
        model.save(path)?;
    }
    let done = Done {
        model: &model,
        examples: &examples,
        fitted: &fitted,
        selection: selection.as_ref(),
        seconds: started.elapsed(),
    };
    if let Some(path) = &args.report {
        done.write_report(path).map_err(|error| {
            let model = args.model.as_ref().map(|path| format!("the model is saved in {}", path.display()));
            Ended { problems: vec![error], model }
        })?;
    }
    done.warn(stopped);
    bad_lines.warn(examples.skipped());
    if args.json {
        output::print_json(&done.as_json())?;
    } else {
        output::print(&done.as_text())?;
    }
    if stopped { Err(Interrupted.into()) } else { Ok(()) }
}

/// The parameters that a config names.
fn parameters(config: &RunConfig) -> anyhow::Result<&ConvexConfig> {
    match &config.learner {
        LearnerConfig::Convex(parameters) => Ok(parameters),
        other => bail!("`{}` learns from streams (`cognate learn`); `convex` is fitted", other.id()),
    }
}

/// Tries the grid, or a path of lambdas, on folds.
fn cross_validate(
    args: &FitArgs,
    config: &RunConfig,
    examples: &Examples,
    count: usize,
    options: &FitOptions,
    interrupt: &Interrupt,
    quiet: bool,
) -> anyhow::Result<Selection> {
    let splits = folds(examples, count, config.stream.seed)?;
    let mut tried: Vec<ConvexConfig> = candidates(config, &args.grid)?
        .iter()
        .map(|config| parameters(config).cloned())
        .collect::<Result<_, _>>()?;
    if !args.grid.iter().any(|grid| grid.starts_with("lambda=")) {
        let mut with_path = Vec::new();
        for parameters in &tried {
            let path = Fitter::new(parameters, examples, options.memory)?.path(parameters, LAMBDAS)?;
            with_path.extend(path.into_iter().map(|lambda| ConvexConfig { lambda, ..parameters.clone() }));
        }
        tried = with_path;
    }
    let bar =
        if quiet { ProgressBar::hidden() } else { ProgressBar::new((tried.len() * splits.len()) as u64) };
    let template = "cross-validation [{bar:30}] {pos}/{len} fits, {eta} left";
    let bar = bar.with_style(
        ProgressStyle::with_template(template).expect("a template of ours").progress_chars("=> "),
    );
    let done = || {
        bar.inc(1);
        !interrupt.asked()
    };
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let found = select(&tried, examples, &splits, options, args.threads.unwrap_or(threads), &done)?;
    bar.finish_and_clear();
    if interrupt.asked() {
        return Err(Interrupted.into());
    }
    Ok(found)
}

/// Result of the fit.
struct Done<'a> {
    model: &'a Model,
    examples: &'a Examples,
    fitted: &'a Fitted,
    selection: Option<&'a Selection>,
    seconds: Duration,
}

/// Result for a task, or for all, on the examples that were fitted.
struct Row {
    examples: usize,
    score: Score,
    /// The error of the constant guess.
    constant: f64,
    /// Squared errors and mistakes, counted as `learn` counts them.
    tally: Tally,
}

/// Most tasks that the summary for people lists.
const LISTED: usize = 20;

impl Done<'_> {
    fn is_classification(&self) -> bool {
        self.examples.kind() == Kind::Classification
    }

    fn score(&self, positions: &[usize]) -> Score {
        let learner = self.model.learner().as_predict();
        score(self.examples, positions, |at| {
            let example = self.examples.example(at);
            learner.margin(example.task, example.features)
        })
    }

    fn rows(&self) -> Vec<(TaskId, Row)> {
        let mut of_task: Vec<Vec<usize>> = vec![Vec::new(); self.model.tasks().len()];
        self.examples.examples().enumerate().for_each(|(at, example)| of_task[example.task.index()].push(at));
        let row = |task: TaskId| (task, self.row(&of_task[task.index()]));
        self.model.tasks().sorted().into_iter().map(row).collect()
    }

    fn row(&self, positions: &[usize]) -> Row {
        Row {
            examples: positions.len(),
            score: self.score(positions),
            constant: self.constant(positions),
            tally: self.tally(positions),
        }
    }

    fn tally(&self, positions: &[usize]) -> Tally {
        let learner = self.model.learner().as_predict();
        let mut tally = Tally::default();
        for at in positions {
            let example = self.examples.example(*at);
            let margin = learner.margin(example.task, example.features);
            let scored = match self.examples.kind() {
                Kind::Classification => Scored::class(example.label, 1.0, margin, None),
                Kind::Regression => Scored::real(example.label, 1.0, margin, None),
            };
            tally.count(&scored, false, false);
        }
        tally
    }

    /// The error of who always answers the label that most of these examples have, or the mean of their labels.
    fn constant(&self, positions: &[usize]) -> f64 {
        let sum: f64 = positions.iter().map(|at| self.examples.example(*at).label).sum();
        let guess = match self.examples.kind() {
            Kind::Classification if sum < 0.0 => -1.0,
            Kind::Classification => 1.0,
            Kind::Regression => sum / positions.len().max(1) as f64,
        };
        score(self.examples, positions, |_| guess).error
    }

    fn all(&self) -> Row {
        self.row(&(0..self.examples.len()).collect::<Vec<_>>())
    }

    fn warn(&self, stopped: bool) {
        if stopped {
            say("interrupted: what was reached so far is kept");
        }
        if self.examples.unlabelled() > 0 {
            say(&format!(
                "warning: {} lines without a label were left out",
                count(self.examples.unlabelled())
            ));
        }
        let shared = &self.fitted.shared_intercepts;
        if let Some(first) = shared.first() {
            let (name, count) = (shown_name(self.model.tasks().name(*first)), count(shared.len() as u64));
            say(&format!(
                "warning: {count} tasks have labels of one class only, {name} the first: their intercept is that of all examples"
            ));
        }
        if self.fitted.status.stopped != Stopped::Converged {
            say(&format!("warning: {}; a larger max-iterations or tolerance may help", self.fitted.status));
        }
    }

    fn as_json(&self) -> Value {
        let FitStatus { stopped, iterations, objective, gap } = self.fitted.status;
        let tasks = self.rows().into_iter().map(|(task, row)| {
            json!({
                "task": self.model.tasks().name(task), "examples": row.examples,
                "error": row.score.error, "constant_error": row.constant, "explained": row.score.explained,
            })
        });
        let all = self.all();
        json!({
            "examples": self.examples.len(),
            "inputs": self.examples.inputs(),
            "kind": self.examples.kind(),
            "status": stopped,
            "iterations": iterations,
            "objective": objective,
            "gap": gap,
            "error": all.score.error,
            "constant_error": all.constant,
            "explained": all.score.explained,
            "unlabelled": self.examples.unlabelled(),
            "skipped": self.examples.skipped(),
            "tasks": tasks.collect::<Vec<_>>(),
            "cross_validation": self.selection.map(selection_json),
            "learner": self.model.config().learner,
            "config": self.model.config(),
            "seconds": self.seconds.as_secs_f64(),
            "peak_memory_bytes": peak_memory_bytes(),
        })
    }

    fn as_text(&self) -> String {
        let classes = self.is_classification();
        let shown = |name: String, row: &Row| {
            let value = if classes { row.score.error } else { row.score.explained };
            let mut cells = vec![name, count(row.examples as u64), percent(value, 2)];
            // The mean of the labels explains nothing of their variance, by definition.
            cells.extend(classes.then(|| percent(row.constant, 2)));
            cells
        };
        let (rows, all) = (self.rows(), self.all());
        let mut lines: Vec<Vec<String>> = rows
            .iter()
            .take(LISTED)
            .map(|(task, row)| shown(shown_name(self.model.tasks().name(*task)), row))
            .collect();
        if rows.len() > LISTED {
            lines.push(vec![format!("… {} more", count((rows.len() - LISTED) as u64))]);
        }
        lines.push(shown("all".to_owned(), &all));
        let measure = if classes { "training error" } else { "variance explained in training" };
        let mut header = vec!["task", "examples", measure];
        header.extend(classes.then_some("constant"));
        let mut text = String::new();
        if let Some(selection) = self.selection {
            text += &format!("{}\n\n", selection_text(selection, classes.then_some(all.constant)));
        }
        text += &table(&header, lines).trim_fmt();
        let memory = peak_memory_bytes()
            .map_or(String::new(), |peak| format!(", peak memory {}", output::bytes(peak)));
        text += &format!(
            "\n\n{}\n{} examples of {} inputs in {}{memory}",
            self.fitted.status,
            count(self.examples.len() as u64),
            count(self.examples.inputs() as u64),
            duration(self.seconds.as_secs_f64()),
        );
        text
    }

    fn write_report(&self, path: &Path) -> anyhow::Result<()> {
        let sorted = self.model.tasks().sorted();
        let relation = (2..=LARGEST_RELATION).contains(&sorted.len()).then(|| {
            let table = RelationTable::of(self.model, &sorted);
            table.heatmap("A").clustered(&table.clustering())
        });
        let (classes, all) = (self.is_classification(), self.all());
        let page = fit_page(
            &FitPage {
                learner: self.model.config().learner.id().to_owned(),
                status: self.fitted.status.to_string(),
                measure: if classes { "training error" } else { "variance explained" },
                tasks: self
                    .rows()
                    .into_iter()
                    .map(|(task, row)| FittedTask {
                        name: self.model.tasks().name(task).to_owned(),
                        examples: row.examples as u64,
                        value: if classes { row.score.error } else { row.score.explained },
                        constant: classes.then_some(row.constant),
                        rmse: row.tally.rmse(),
                        least: row.tally.surely_above(),
                    })
                    .collect(),
                total: if classes { all.score.error } else { all.score.explained },
                constant: classes.then_some(all.constant),
                examples: self.examples.len() as u64,
                objectives: self.fitted.objectives.clone(),
                paths: self.selection.map(paths).unwrap_or_default(),
                chosen: self.selection.map(|selection| {
                    let best = &selection.candidates[selection.best];
                    Chosen { name: choice(&best.config), lambda: best.config.lambda, error: best.error }
                }),
                is_classification: classes,
                relation,
                config: json!(self.model.config()),
                seconds: self.seconds.as_secs_f64(),
            },
            &command_line(),
        );
        output::write_file("--report", path, page)?;
        say(&format!("report: {}", path.display()));
        Ok(())
    }
}

/// A candidate's penalty, kernel and ridge in few words; lambda has a column of its own.
fn choice(config: &ConvexConfig) -> String {
    let short = |value: Value| match value {
        Value::String(name) => name,
        Value::Object(choice) => choice
            .iter()
            .map(|(name, fields)| {
                let fields: Vec<String> = fields
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(field, value)| format!("{field} {value}"))
                    .collect();
                if fields.is_empty() { name.clone() } else { format!("{name} ({})", fields.join(", ")) }
            })
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    };
    let mut text = short(json!(config.penalty));
    let plain = ConvexConfig::default();
    if config.kernel != plain.kernel {
        text += &format!(", {}", short(json!(config.kernel)));
    }
    if config.ridge > 0.0 {
        text += &format!(", ridge {}", config.ridge);
    }
    text
}

fn selection_json(selection: &Selection) -> Value {
    let row = |candidate: &Candidate| {
        json!({
            "learner": { "convex": candidate.config },
            "error": candidate.error, "deviation": candidate.deviation, "explained": candidate.explained,
            "converged": candidate.converged,
        })
    };
    json!({ "best": selection.best, "candidates": selection.candidates.iter().map(row).collect::<Vec<_>>() })
}

/// What was tried; where labels are classes, beside the error of the constant guess.
fn selection_text(selection: &Selection, constant: Option<f64>) -> String {
    let row = |(at, candidate): (usize, &Candidate)| {
        let mark = if at == selection.best { " <- chosen" } else { "" };
        vec![
            format!("{}{mark}", choice(&candidate.config)),
            parameter(candidate.config.lambda),
            percent(candidate.error, 2),
            percent(candidate.deviation, 2),
        ]
    };
    let measure = if constant.is_some() { "error" } else { "unexplained" };
    let tried = selection.candidates.iter().enumerate().map(row);
    let guess = constant.map(|error| vec!["constant guess".to_owned(), String::new(), percent(error, 2)]);
    table(&["cross-validation", "lambda", measure, "+-"], tried.chain(guess)).trim_fmt()
}

/// Error against lambda, one line per choice of the rest.
fn paths(selection: &Selection) -> Vec<SelectedPath> {
    let mut all: Vec<SelectedPath> = Vec::new();
    for candidate in &selection.candidates {
        let name = choice(&candidate.config);
        let point = (candidate.config.lambda, candidate.error);
        match all.iter_mut().find(|path| path.name == name) {
            Some(path) => path.points.push(point),
            None => all.push(SelectedPath { name, points: vec![point] }),
        }
    }
    all.iter_mut().for_each(|path| path.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    all
}
