//! The report of the demo: several learners over one stream, side by side.

use super::Page;
use super::report::{
    Relation, Run, error_rate, figure_of, fluid, from, plural, settled, start_note, stream_curves,
};
use super::table::{Cell, Kind, Table};
use crate::bars::{BarChart, BarSeries};
use crate::heatmap::DAGGER;
use crate::lines::{Detail, LineChart, Series, legend_only};
use crate::numbers::{count, percent};
use crate::scale::{Steps, Unit};
use crate::svg::{Drawing, add, shorten};

/// Several runs over the same stream, and what is known about it.
pub struct Demo {
    /// Title of the page.
    pub title: String,
    /// One sentence: what came out.
    pub lead: String,
    /// Further paragraphs, e.g. how the stream is made.
    pub notes: Vec<String>,
    /// The runs; all have the same tasks in the same order.
    pub runs: Vec<Run>,
    /// Index of the run to look at first.
    pub highlight: usize,
    /// Indices of the tasks that are unlike the others.
    pub outliers: Vec<usize>,
    /// How the tasks are truly related; known for synthetic streams.
    pub truth: Option<Relation>,
    /// The command that made the page.
    pub command: String,
}

/// Most tasks with a small chart or bars of their own.
const TASKS: usize = 24;

/// The page of a demo.
pub fn demo_page(demo: &Demo) -> String {
    let mut page = Page::new(&demo.title, &demo.lead);
    for text in demo.notes.iter().chain(&story(demo)) {
        page.paragraph(text);
    }
    page.table(&comparison(demo));
    page.section("Learning curves");
    let (chart, caption) = stream_curves(&demo.runs, Some(demo.highlight));
    fluid(&mut page, &chart, &caption);
    page.section("Task by task");
    small_charts(&mut page, demo);
    let bars = bars(demo);
    page.fluid_figure(
        &bars.draw(760.0),
        &bars.draw(370.0),
        "Error of each task over the whole stream; shorter is better.",
    );
    let relations = demo.runs.get(demo.highlight).and_then(|r| r.relation.as_ref());
    let relations: Vec<_> = relations.into_iter().chain(&demo.truth).map(figure_of).collect();
    if !relations.is_empty() {
        page.section("How the tasks are related");
        page.figures(&relations);
    }
    page.section("Configuration");
    for run in &demo.runs {
        page.json(&format!("{}: every setting, with defaults filled in", run.name), &run.config);
    }
    page.finish(&demo.command)
}

/// Mistakes per example of a run over the tasks that are outliers, or over the others.
fn error_over(demo: &Demo, run: &Run, outliers: bool) -> f64 {
    let chosen = run.tasks.iter().enumerate().filter(|(i, _)| demo.outliers.contains(i) == outliers);
    let (mistakes, examples) = chosen.fold((0, 0), |(m, n), (_, t)| (m + t.mistakes, n + t.examples));
    error_rate(mistakes, examples)
}

/// What the reader sees, in words; every number comes from the runs.
fn story(demo: &Demo) -> Vec<String> {
    let Some(first) = demo.runs.first() else {
        return Vec::new();
    };
    let ranking = |error: &dyn Fn(&Run) -> f64| {
        let mut ranked: Vec<(f64, &str)> = demo.runs.iter().map(|r| (error(r), r.name.as_str())).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let parts: Vec<String> =
            ranked.iter().map(|(e, name)| format!("{name} {}", percent(*e, 1))).collect();
        parts.join(", ")
    };
    let mut text = format!(
        "All {} saw the same {} of {} in the same order, and predicted each one before its label was shown. \
         Mistakes over the whole stream: {}.",
        plural(demo.runs.len() as u64, "learner"),
        plural(first.totals.examples, "example"),
        plural(first.tasks.len() as u64, "task"),
        ranking(&|r| r.totals.error())
    );
    if !demo.outliers.is_empty() {
        let names = demo.outliers.iter().filter_map(|i| first.tasks.get(*i)).map(|t| shorten(&t.name, 24));
        let names = names.collect::<Vec<_>>().join(", ");
        let related = ranking(&|r| error_over(demo, r, false));
        let outlier = ranking(&|r| error_over(demo, r, true));
        add(
            &mut text,
            format_args!(" On the related tasks: {related}. On {names}, unlike the others: {outlier}."),
        );
    }
    vec![text]
}

fn comparison(demo: &Demo) -> Table {
    let mut columns = vec![("learner", Kind::Text), ("error, all tasks", Kind::LowestBest)];
    if !demo.outliers.is_empty() {
        columns.extend([("error, related tasks", Kind::LowestBest), ("error, outlier", Kind::LowestBest)]);
    }
    columns.push(("updates", Kind::Number));
    let rate = |e: f64| Cell::Number(e, percent(e, 2));
    let row = |run: &Run| {
        let mut row = vec![Cell::Text(run.name.clone()), rate(run.totals.error())];
        if !demo.outliers.is_empty() {
            row.extend([rate(error_over(demo, run, false)), rate(error_over(demo, run, true))]);
        }
        row.push(Cell::Number(run.totals.updates as f64, count(run.totals.updates)));
        row
    };
    Table { columns, rows: demo.runs.iter().map(row).collect(), strong: Some(demo.highlight) }
}

/// The name of a task as a heading, with its role.
fn heading(demo: &Demo, task: usize) -> String {
    let name = demo.runs.first().and_then(|r| r.tasks.get(task)).map_or("", |t| t.name.as_str());
    let mark = if demo.outliers.contains(&task) { DAGGER } else { "" };
    shorten(name, 28) + mark
}

/// Which tasks get pictures of their own: the outliers, then the first ones.
fn shown_tasks(demo: &Demo) -> Vec<usize> {
    let tasks = demo.runs.iter().map(|r| r.tasks.len()).min().unwrap_or(0);
    let mut shown: Vec<usize> = (0..tasks).collect();
    shown.sort_by_key(|i| (!demo.outliers.contains(i), *i));
    shown.truncate(TASKS);
    shown.sort_unstable();
    shown
}

fn small_charts(page: &mut Page, demo: &Demo) {
    let shown = shown_tasks(demo);
    let curves: Vec<&[(f64, f64)]> =
        demo.runs.iter().flat_map(|r| shown.iter().map(|i| r.tasks[*i].curve.as_slice())).collect();
    let start = settled(&curves);
    let points = curves.iter().flat_map(|c| from(c, start)).filter(|p| p.0.is_finite() && p.1.is_finite());
    let reach = points.fold((start, 0.0f64), |m, p| (m.0.max(p.0), m.1.max(p.1)));
    let draw = |task: usize| -> (String, Drawing) {
        let line = |r: &Run| Series { name: r.name.clone(), points: from(&r.tasks[task].curve, start) };
        let chart = LineChart {
            title: format!("Error so far, {}", heading(demo, task)),
            x_steps: Steps::Log2,
            y_unit: Unit::Percent,
            series: demo.runs.iter().map(line).collect(),
            highlight: Some(demo.highlight),
            reach: Some(reach),
            ..LineChart::default()
        };
        (heading(demo, task), chart.draw(320.0, 190.0, Detail::Small))
    };
    let charts: Vec<(String, Drawing)> = shown.iter().map(|i| draw(*i)).collect();
    let names: Vec<&str> = demo.runs.iter().map(|r| r.name.as_str()).collect();
    let mut caption = format!("Error so far against examples of the task. {}", start_note(start));
    if !demo.outliers.is_empty() {
        caption += " †\u{a0}outlier.";
    }
    let all = demo.runs.first().map_or(0, |r| r.tasks.len());
    if all > shown.len() {
        let further = plural((all - shown.len()) as u64, "further task");
        add(&mut caption, format_args!(" {further} not drawn."));
    }
    page.multiples(&legend_only(&names, Some(demo.highlight), 370.0), &charts, &caption);
}

fn bars(demo: &Demo) -> BarChart {
    let shown = shown_tasks(demo);
    let errors = |r: &Run| shown.iter().map(|i| r.tasks[*i].error()).collect();
    BarChart {
        title: "Error of each task".to_owned(),
        unit: Unit::Percent,
        groups: shown.iter().map(|i| heading(demo, *i)).collect(),
        series: demo.runs.iter().map(|r| BarSeries { name: r.name.clone(), values: errors(r) }).collect(),
        highlight: Some(demo.highlight),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::run;
    use super::*;

    fn demo(tasks: usize) -> Demo {
        Demo {
            title: "demo".to_owned(),
            lead: "lead".to_owned(),
            notes: vec!["note".to_owned()],
            runs: vec![run("independent", tasks), run("coupled", tasks)],
            highlight: 1,
            outliers: vec![tasks - 1],
            truth: None,
            command: "cognate demo".to_owned(),
        }
    }

    #[test]
    fn numbers_in_the_words_come_from_the_runs() {
        let mut demo = demo(3);
        demo.runs[1].totals.mistakes = 64;
        let text = story(&demo).concat();
        assert!(text.contains("coupled 6.2\u{202f}%, independent 12.5\u{202f}%."), "{text}");
        assert!(text.contains("On task <2>, unlike the others"));
        assert!((error_over(&demo, &demo.runs[0], true) - 102.0 / 1022.0).abs() < 1e-12);
    }

    #[test]
    fn many_tasks_and_no_runs_make_a_page() {
        let html = demo_page(&demo(40));
        assert!(html.contains("16 further tasks not drawn") && html.contains("task &lt;39&gt;\u{a0}†"));
        let mut none = demo(1);
        none.runs.clear();
        assert!(demo_page(&none).contains("cognate demo"));
    }
}
