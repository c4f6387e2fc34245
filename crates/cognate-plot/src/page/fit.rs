//! The report of a fit: `fit --report FILE`.

use super::report::{fluid, plural};
use super::table::{Cell, Kind, Table};
use super::{Page, Tile};
use crate::heatmap::Heatmap;
use crate::lines::{LineChart, Series};
use crate::numbers::duration;
use crate::numbers::{count, percent};
use crate::scale::{Steps, Unit};

/// What a page says about a fit.
pub struct FitPage {
    /// Id of the learner.
    pub learner: String,
    /// How the search ended.
    pub status: String,
    /// The name of the measure.
    pub measure: &'static str,
    /// The name, number of examples and measure of each task.
    pub tasks: Vec<(String, u64, f64)>,
    /// The measure over all.
    pub total: f64,
    /// Examples fitted.
    pub examples: u64,
    /// The objective after every iteration.
    pub objectives: Vec<f64>,
    /// Errors of cross-validation.
    pub paths: Vec<Path>,
    /// What cross-validation chose.
    pub chosen: Option<String>,
    /// Whether labels are classes.
    pub is_classification: bool,
    /// A, where it can be drawn.
    pub relation: Option<Heatmap>,
    /// The resolved config.
    pub config: serde_json::Value,
    /// Wall time.
    pub seconds: f64,
}

/// Errors of one choice of parameters along lambda.
pub struct Path {
    /// The choice.
    pub name: String,
    /// (lambda, error), lambda increasing.
    pub points: Vec<(f64, f64)>,
}

/// The page, made by `command`.
pub fn fit_page(fit: &FitPage, command: &str) -> String {
    let lead = format!(
        "{} was fitted to {} of {}: {}.",
        fit.learner,
        plural(fit.examples, "example"),
        plural(fit.tasks.len() as u64, "task"),
        fit.status
    );
    let mut page = Page::new("Fit", &lead);
    page.tiles(&[
        Tile { name: fit.measure, value: percent(fit.total, 2) },
        Tile { name: "examples", value: count(fit.examples) },
        Tile { name: "tasks", value: count(fit.tasks.len() as u64) },
        Tile { name: "iterations", value: count(fit.objectives.len() as u64) },
        Tile { name: "time", value: duration(fit.seconds) },
    ]);
    if let Some(chosen) = &fit.chosen {
        page.section("Cross-validation");
        fluid(
            &mut page,
            &selection_chart(fit),
            &format!("Error on examples left out; lower is better. Chosen: {chosen}."),
        );
    }
    page.section("The search");
    fluid(
        &mut page,
        &objective_chart(&fit.objectives),
        "The objective after every iteration; it never increases.",
    );
    if let Some(heatmap) = &fit.relation {
        page.section("How the tasks are related");
        let caption = "A: the larger an entry, the more two tasks have learnt from each other.";
        page.figure("A, as learned", &heatmap.draw(), caption);
    }
    page.section("Tasks");
    page.table(&tasks_table(fit));
    page.section("Configuration");
    page.json("Every setting of this fit, with defaults filled in", &fit.config);
    page.finish(command)
}

fn selection_chart(fit: &FitPage) -> LineChart {
    let y_title = if fit.is_classification { "share of mistakes" } else { "share of variance not explained" };
    LineChart {
        title: "Error of cross-validation against lambda".to_owned(),
        x_title: "lambda (doubling steps)".to_owned(),
        y_title: y_title.to_owned(),
        x_steps: Steps::Log2,
        y_unit: Unit::Percent,
        series: fit
            .paths
            .iter()
            .map(|path| Series { name: path.name.clone(), points: path.points.clone() })
            .collect(),
        ..LineChart::default()
    }
}

fn objective_chart(objectives: &[f64]) -> LineChart {
    LineChart {
        title: "Objective".to_owned(),
        x_title: "iterations (doubling steps)".to_owned(),
        y_title: "objective".to_owned(),
        x_steps: Steps::Log2,
        y_unit: Unit::default(),
        series: vec![Series {
            name: "objective".to_owned(),
            points: objectives.iter().enumerate().map(|(at, value)| (at as f64 + 1.0, *value)).collect(),
        }],
        ..LineChart::default()
    }
}

fn tasks_table(fit: &FitPage) -> Table {
    let row = |(name, examples, value): &(String, u64, f64)| {
        vec![
            Cell::Text(name.clone()),
            Cell::Number(*examples as f64, count(*examples)),
            Cell::Number(*value, percent(*value, 2)),
        ]
    };
    Table {
        columns: vec![("task", Kind::Text), ("examples", Kind::Number), (fit.measure, Kind::Number)],
        rows: fit.tasks.iter().map(row).collect(),
        strong: None,
    }
}
