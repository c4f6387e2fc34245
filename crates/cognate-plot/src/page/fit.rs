//! The report of a fit: `fit --report FILE`.

use super::report::{Relation, fluid, plural, relation_figure};
use super::table::{Cell, Kind, Table};
use super::tasks::{ORDER, REAL_ORDER, ROWS, by_bound};
use super::{Page, Tile};
use crate::heatmap::Heatmap;
use crate::lines::{LineChart, Mark, Series};
use crate::numbers::{count, duration, parameter, percent};
use crate::scale::{Steps, Unit};

/// What a page says about a fit.
pub struct FitPage {
    /// Id of the learner.
    pub learner: String,
    /// How the search ended.
    pub status: String,
    /// The name of the measure.
    pub measure: &'static str,
    /// The tasks.
    pub tasks: Vec<FittedTask>,
    /// The measure over all.
    pub total: f64,
    /// The error of the constant guess over all, where labels are classes.
    pub constant: Option<f64>,
    /// Examples fitted.
    pub examples: u64,
    /// The objective after every iteration.
    pub objectives: Vec<f64>,
    /// Errors of cross-validation.
    pub paths: Vec<Path>,
    /// What cross-validation chose.
    pub chosen: Option<Chosen>,
    /// Whether labels are classes.
    pub is_classification: bool,
    /// A, where it can be drawn.
    pub relation: Option<Heatmap>,
    /// The resolved config.
    pub config: serde_json::Value,
    /// Wall time.
    pub seconds: f64,
}

/// One task of a fit.
pub struct FittedTask {
    /// Its name.
    pub name: String,
    /// Its examples.
    pub examples: u64,
    /// The measure.
    pub value: f64,
    /// The error of the constant guess, where labels are classes.
    pub constant: Option<f64>,
    /// The root of the mean squared error, where labels are real numbers.
    pub rmse: Option<f64>,
    /// The lower end of the 95 % confidence interval of the error, or of the RMSE.
    pub least: f64,
}

/// Errors of one choice of parameters along lambda.
pub struct Path {
    /// The choice.
    pub name: String,
    /// (lambda, error), lambda increasing.
    pub points: Vec<(f64, f64)>,
}

/// The choice of cross-validation.
pub struct Chosen {
    /// The choice without lambda, as the path that it is on is called.
    pub name: String,
    /// Its lambda.
    pub lambda: f64,
    /// Its error on examples left out.
    pub error: f64,
}

/// What an error is beside.
const CONSTANT: &str =
    "The constant guess is the label that most examples have; of a task, that most of its own have.";
/// The same of real labels.
const MEAN: &str =
    "Variance is explained beside the mean of the labels, the constant guess, which explains none.";

/// The page, made by `command`.
pub fn fit_page(fit: &FitPage, command: &str) -> String {
    let lead = format!("{}, fitted to all examples at once: {}.", fit.learner, fit.status);
    let mut page = Page::new("Fit", &lead);
    let mut tiles = vec![Tile { name: fit.measure, value: percent(fit.total, 2) }];
    tiles.extend(fit.constant.map(|error| Tile { name: "constant guess", value: percent(error, 2) }));
    tiles.extend([
        Tile { name: "examples", value: count(fit.examples) },
        Tile { name: "tasks", value: count(fit.tasks.len() as u64) },
        Tile { name: "iterations", value: count(fit.objectives.len() as u64) },
        Tile { name: "time", value: duration(fit.seconds) },
    ]);
    page.tiles(&tiles);
    page.paragraph(if fit.is_classification { CONSTANT } else { MEAN });
    if let Some(chosen) = &fit.chosen {
        page.section("Cross-validation");
        let beside = fit
            .constant
            .map_or(String::new(), |error| format!(" The constant guess errs on {}.", percent(error, 2)));
        let caption =
            format!("Error on examples left out; lower is better. The ring is what was chosen.{beside}");
        fluid(&mut page, &selection_chart(fit, chosen), &caption);
    }
    page.section("The search");
    fluid(
        &mut page,
        &objective_chart(&fit.objectives),
        "The objective after every iteration; it never increases.",
    );
    if let Some(heatmap) = &fit.relation {
        page.section("How the tasks are related");
        let relation = Relation {
            title: "A, as learned".to_owned(),
            caption: "A: the larger an entry, the more two tasks have learnt from each other.".to_owned(),
            matrix: heatmap.clone(),
        };
        relation_figure(&mut page, &relation);
    }
    page.section("Tasks");
    page.paragraph(if fit.is_classification { ORDER } else { REAL_ORDER });
    if fit.tasks.len() > ROWS {
        page.paragraph(&format!(
            "The last {} are left out.",
            plural((fit.tasks.len() - ROWS) as u64, "task")
        ));
    }
    page.table(&tasks_table(fit));
    page.section("Configuration");
    page.json("Every setting of this fit, with defaults filled in", &fit.config);
    page.finish(command)
}

fn selection_chart(fit: &FitPage, chosen: &Chosen) -> LineChart {
    let lambda = parameter(chosen.lambda);
    let of = if fit.paths.len() > 1 { format!("{}, ", chosen.name) } else { String::new() };
    let text = format!("chosen: {of}lambda {lambda}, {}", percent(chosen.error, 2));
    let mut tried: Vec<f64> = fit.paths.iter().flat_map(|path| &path.points).map(|point| point.0).collect();
    tried.sort_by(f64::total_cmp);
    tried.dedup();
    let y_title = if fit.is_classification { "share of mistakes" } else { "share of variance not explained" };
    LineChart {
        title: "Error of cross-validation against lambda".to_owned(),
        x_title: "lambda, at the values tried (logarithmic)".to_owned(),
        y_title: y_title.to_owned(),
        x_steps: Steps::Log2,
        x_values: tried,
        y_unit: Unit::Percent,
        series: fit
            .paths
            .iter()
            .map(|path| Series { name: path.name.clone(), points: path.points.clone() })
            .collect(),
        mark: Some(Mark { at: (chosen.lambda, chosen.error), text }),
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

/// The tasks, those that are surest to be badly fitted first.
fn tasks_table(fit: &FitPage) -> Table {
    let mut columns = vec![("task", Kind::Text), ("examples", Kind::Number), (fit.measure, Kind::Number)];
    columns.extend(if fit.is_classification {
        [("at least", Kind::Number), ("constant guess", Kind::Number)]
    } else {
        [("RMSE", Kind::Number), ("at least", Kind::Number)]
    });
    let share = |value: f64| Cell::Number(value, percent(value, 2));
    let size = |value: f64| Cell::Number(value, Unit::Measured.value(value));
    let row = |task: &FittedTask| {
        let FittedTask { name, examples, value, constant, rmse, least } = task;
        let mut row =
            vec![Cell::Text(name.clone()), Cell::Number(*examples as f64, count(*examples)), share(*value)];
        row.extend(if fit.is_classification {
            [share(*least), share(constant.unwrap_or(f64::NAN))]
        } else {
            [size(rmse.unwrap_or(f64::NAN)), size(*least)]
        });
        row
    };
    let bounds: Vec<(f64, u64)> = fit.tasks.iter().map(|task| (task.least, task.examples)).collect();
    let rows = by_bound(&bounds).into_iter().take(ROWS).map(|at| row(&fit.tasks[at])).collect();
    Table { columns, rows, strong: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit() -> FitPage {
        FitPage {
            learner: "convex".to_owned(),
            status: "converged".to_owned(),
            measure: "training error",
            tasks: [("rare", 1, 1.0, 0.0, 0.21), ("known", 1000, 0.3, 0.45, 0.27)]
                .map(|(name, examples, value, constant, least)| FittedTask {
                    name: name.to_owned(),
                    examples,
                    value,
                    constant: Some(constant),
                    rmse: Some(2.0),
                    least,
                })
                .into(),
            total: 0.3,
            constant: Some(0.475),
            examples: 1001,
            objectives: vec![3.0, 2.0],
            paths: vec![Path { name: "p".to_owned(), points: vec![(0.01, 0.4), (0.1, 0.3), (1.0, 0.35)] }],
            chosen: Some(Chosen { name: "p".to_owned(), lambda: 0.1, error: 0.3 }),
            is_classification: true,
            relation: None,
            config: serde_json::json!({}),
            seconds: 0.1,
        }
    }

    #[test]
    fn the_chosen_lambda_is_marked() {
        let html = fit_page(&fit(), "c");
        assert!(html.contains("chosen: lambda 0.1, 30.00"));
        assert_eq!(html.matches("class=\"halo\"").count(), 2, "wide and narrow");
        assert!(!fit_page(&FitPage { chosen: None, ..fit() }, "c").contains("class=\"halo\""));
    }

    #[test]
    fn tasks_are_sorted_by_the_bound_of_their_error() {
        let html = fit_page(&fit(), "c");
        let place = |html: &str, name: &str| html.find(&format!("<td>{name}</td>")).expect("a row");
        assert!(place(&html, "known") < place(&html, "rare") && html.contains("Wilson"));
        let real = fit_page(&FitPage { is_classification: false, ..fit() }, "c");
        assert!(place(&real, "known") < place(&real, "rare") && !real.contains("Wilson"));
        assert!(real.contains("the RMSE that a task has with 95") && real.contains(">RMSE</th>"));
    }

    #[test]
    fn ticks_are_the_lambdas_that_were_tried() {
        let html = fit_page(&fit(), "c");
        let chart =
            html.split("Error of cross-validation").nth(1).and_then(|rest| rest.split("</svg>").next());
        let chart = chart.expect("a chart");
        for lambda in ["0.01", "0.1", "1"] {
            assert_eq!(chart.matches(&format!(">{lambda}</text>")).count(), 1, "{lambda} in {chart}");
        }
        assert!(!chart.contains("0.0312") && !chart.contains("doubling"));
    }

    #[test]
    fn the_constant_guess_stands_beside_the_error() {
        let html = fit_page(&fit(), "c");
        assert!(html.contains("<dt>constant guess</dt><dd>47.50\u{202f}%</dd>"));
        assert!(html.contains(">constant guess</th>") && html.contains(">45.00\u{202f}%</td>"));
        assert!(html.contains("The constant guess errs on 47.50"));
        let real = FitPage { is_classification: false, constant: None, ..fit() };
        let html = fit_page(&real, "c");
        assert!(!html.contains("<dt>constant guess</dt>") && html.contains("which explains none"));
    }
}
