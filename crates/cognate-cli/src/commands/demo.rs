//! `cognate demo`: related tasks with one outlier, learnt by a Perceptron in three ways, and by the default learner.

mod readers;
mod serve;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use cognate::internal::{Symmetric, replace_file};
use cognate::metrics::{Metrics, Tally};
use cognate::run::{Observer, Progress, RoundReport, RunOptions};
use cognate::stream::synthetic::{Related, Synthetic};
use cognate::stream::write_example;
use cognate::{Model, RunConfig, Tasks};
use serde_json::json;

use crate::args::DemoArgs;
use crate::curves::Curves;
use crate::judging::shown;
use crate::output::{self, say, table, write_file};
use crate::relation::RelationTable;
use crate::reporting::{command_line, page_run};
use cognate_plot::lines::Detail;
use cognate_plot::numbers::{count, percent};
use cognate_plot::page::demo::{Demo, demo_page};
use cognate_plot::page::report::{Relation, Run, stream_curves};

/// The stream of the tour: small enough to finish at once, large enough to show the effect.
const STREAM: Related = Related {
    tasks: 10,
    features: 60,
    examples: 4000,
    spread: 0.35,
    outliers: 1,
    margin: 0.0,
    flips: 0.02,
    seed: 1,
};

/// Coupling of the tour: strong enough to teach nine relatives, weak enough to leave the outlier alone.
const B: f64 = 6.0;

/// The run to look at first.
const HIGHLIGHT: usize = 3;

fn perceptron(interaction: &serde_json::Value) -> serde_json::Value {
    json!({ "perceptron": { "interaction": interaction } })
}

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, quiet: bool) -> anyhow::Result<()> {
    if args.serve {
        return serve::run(args, quiet);
    }
    let made = Related { seed: args.seed, ..STREAM }.generate();
    if let Some(path) = &args.stream {
        write_stream(path, &made).with_context(|| format!("--stream {}", path.display()))?;
    }
    let ways = [
        ("independent", perceptron(&json!("independent"))),
        ("pooled", perceptron(&json!("pooled"))),
        ("coupled", perceptron(&json!({ "coupled": { "b": B } }))),
        ("adaptive", json!("adaptive")),
    ];
    let mut learnt = Vec::new();
    for (name, learner) in ways {
        if !quiet {
            say(&format!(
                "learning {} examples of {} tasks, {name}",
                count(made.stream.len() as u64),
                STREAM.tasks
            ));
        }
        learnt.push(learn_one_way(name, &learner, &made)?);
    }
    let text = comparison(&learnt);
    let constant = learnt.first().and_then(|(model, _)| model.metrics().total().constant_error());
    let constant = shown(constant, |error| percent(error, 2));
    let runs = learnt.into_iter().map(|(_, run)| run).collect::<Vec<_>>();
    if let Some(path) = &args.picture {
        let picture = stream_curves(&runs, Some(HIGHLIGHT)).0.draw(860.0, 340.0, Detail::Full).standalone();
        write_file("--picture", path, picture)?;
    }
    let page = demo_page(&Demo {
        title: "Related tasks learn from each other".to_owned(),
        lead: format!(
            "{} tasks, {} examples, one stream. Tasks 1 to {} are relatives; task {} is not. The same Perceptron \
             learns them three ways: each task alone, all as one, and coupled; then adaptive, which finds out by itself.",
            STREAM.tasks,
            count(STREAM.examples as u64),
            STREAM.tasks - STREAM.outliers,
            STREAM.tasks,
        ),
        notes: vec![format!(
            "The stream is made up, so the truth is known: labels are the sign of an inner product with each task's \
             own vector in {} dimensions; {} of the labels are flipped. Always answering the label that has come most \
             often so far errs on {}.",
            STREAM.features,
            percent(made.flipped as f64 / made.stream.len() as f64, 1),
            constant,
        )],
        runs,
        highlight: HIGHLIGHT,
        outliers: (STREAM.tasks - STREAM.outliers..STREAM.tasks).collect(),
        truth: Some(truth(&made)),
        comparison: None,
        judged_by: None,
        orders: 1,
        command: command_line(),
    });
    write_file("--out", &args.out, page)?;
    output::print(&format!("{text}\n\nOpen {} in a browser: curves, tasks, relations.", args.out.display()))
}

fn write_stream(path: &Path, made: &Synthetic) -> std::io::Result<()> {
    replace_file(path, |mut out| {
        made.stream.examples().try_for_each(|(task, example)| write_example(&mut out, task, example))
    })
}

fn learn_one_way(name: &str, learner: &serde_json::Value, made: &Synthetic) -> anyhow::Result<(Model, Run)> {
    let config: RunConfig = serde_json::from_value(json!({
        "tasks": STREAM.tasks,
        "learner": learner,
    }))?;
    let mut model = Model::new(&config)?;
    let mut curves = Watch(Curves::new());
    let started = Instant::now();
    model.learn(&mut made.stream.clone(), &RunOptions::default(), &mut curves)?;
    let run = page_run(name, &model, &curves.0, started.elapsed().as_secs_f64());
    Ok((model, run))
}

/// Keeps curves.
struct Watch(Curves);

impl Observer for Watch {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, metrics: &Metrics) {
        self.0.follow(report.task, metrics);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Cosines of the vectors that made the labels.
fn truth(made: &Synthetic) -> Relation {
    let cosine = |a: usize, b: usize| made.truth[a].iter().zip(&made.truth[b]).map(|(a, b)| a * b).sum();
    let names = (1..=STREAM.tasks).map(|task| task.to_string()).collect();
    let table = RelationTable { names, matrix: Symmetric::from_fn(STREAM.tasks, cosine) };
    Relation {
        title: "How related the tasks really are".to_owned(),
        caption: "Cosine of the vectors that made the labels.".to_owned(),
        matrix: table.heatmap("cosine"),
    }
}

/// Errors of who always answers the label that has come most often so far.
fn constant_row(model: &Model) -> Vec<String> {
    let (related, outlier) = split(model);
    let error = |tally: &Tally| shown(tally.constant_error(), |error| percent(error, 2));
    let errors = [error(model.metrics().total()), error(&related), error(&outlier)];
    ["constant guess".to_owned()].into_iter().chain(errors).collect()
}

fn comparison(learnt: &[(Model, Run)]) -> String {
    let constant = learnt.first().map(|(model, _)| constant_row(model));
    let rows = learnt.iter().map(|(model, run)| {
        let (related, outlier) = split(model);
        let total = model.metrics().total();
        vec![
            run.name.clone(),
            percent(total.error(), 2),
            percent(related.error(), 2),
            percent(outlier.error(), 2),
            count(total.mistakes),
        ]
    });
    table(&["learner", "error", "relatives", "outlier", "mistakes"], constant.into_iter().chain(rows))
        .trim_fmt()
}

/// Counts of the related tasks, and of the outliers.
fn split(model: &Model) -> (Tally, Tally) {
    let (mut related, mut outlier) = (Tally::default(), Tally::default());
    for task in model.tasks().sorted() {
        let number: usize = model.tasks().name(task).parse().unwrap_or(0);
        let side = if number + STREAM.outliers <= STREAM.tasks { &mut related } else { &mut outlier };
        side.merge(&model.metrics().task(task));
    }
    (related, outlier)
}
