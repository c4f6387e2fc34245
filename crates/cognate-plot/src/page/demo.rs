//! The report of the demo: several learners over one stream, side by side.

use super::Page;
use super::report::{
    Measure, Relation, Run, error_rate, fluid, from, plural, relation_figure, settled, start_note,
    stream_curves,
};
use super::table::{Cell, Kind, Table};
use crate::bars::{BarChart, BarSeries};
use crate::heatmap::DAGGER;
use crate::lines::{Detail, LineChart, Series, legend_items};
use crate::numbers::{count, percent};
use crate::scale::Steps;
use crate::svg::{Drawing, shorten};

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
    /// The table that compares the runs; errors and updates of the runs if left out.
    pub comparison: Option<Table>,
    /// What the table judges by, where curves and bars may show something else.
    pub judged_by: Option<&'static str>,
    /// In how many orders the stream was learnt; the runs are those of all, merged.
    pub orders: u64,
    /// The command that made the page.
    pub command: String,
}

/// Most tasks with a small chart of their own.
const CHARTS: usize = 12;
/// Most bars.
const BARS: usize = 72;

/// The page of a demo.
pub fn demo_page(demo: &Demo) -> String {
    let mut page = Page::new(&demo.title, &demo.lead);
    for text in demo.notes.iter().chain(&story(demo)) {
        page.paragraph(text);
    }
    page.table(demo.comparison.as_ref().unwrap_or(&comparison(demo)));
    let name = measure(demo).name();
    page.section(&format!("Learning curves: {name} so far"));
    if let Some(judge) = demo.judged_by.filter(|judge| *judge != name) {
        page.paragraph(&format!(
            "The table judges by {judge}. Curves and bars show the {name}, which is known after every example."
        ));
    }
    let (chart, caption) = stream_curves(&demo.runs, Some(demo.highlight));
    fluid(&mut page, &chart, &caption);
    page.section(&format!("Task by task: {name}"));
    small_charts(&mut page, demo);
    let (bars, caption) = bars(demo);
    page.fluid_figure(&bars.draw(760.0), &bars.draw(370.0), &caption);
    let learnt = demo.runs.get(demo.highlight).and_then(|r| r.relation.as_ref());
    match on_one_scale(learnt.into_iter().chain(&demo.truth), &demo.outliers).as_slice() {
        [] => {}
        [one] => {
            page.section("How the tasks are related");
            relation_figure(&mut page, one);
        }
        several => {
            page.section("How the tasks are related");
            page.matrices(several);
        }
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

/// What was done, in words; how much there is to learn is said above, and what came out is in the table below.
fn story(demo: &Demo) -> Vec<String> {
    if demo.runs.is_empty() {
        return Vec::new();
    }
    let orders = if demo.orders > 1 { "orders" } else { "order" };
    vec![format!(
        "All learners saw the same examples in the same {orders}, and predicted each one before its label was shown."
    )]
}

/// Relations with the same colours for the same values, the tasks in the order of the first, and outliers marked.
fn on_one_scale<'a>(relations: impl Iterator<Item = &'a Relation>, outliers: &[usize]) -> Vec<Relation> {
    let mut relations: Vec<Relation> = relations.cloned().collect();
    for Relation { matrix, .. } in &mut relations {
        (matrix.marked, matrix.mark) = (outliers.to_vec(), "outlier".to_owned());
    }
    let Some(first) = relations.first().map(|first| first.matrix.clone()) else { return relations };
    if relations.len() < 2 {
        return relations;
    }
    let limit = relations.iter().map(|relation| relation.matrix.full_colour()).fold(0.0, f64::max);
    let is_signed = relations.iter().any(|relation| relation.matrix.values.iter().any(|value| *value < 0.0));
    for Relation { matrix, .. } in &mut relations {
        (matrix.limit, matrix.is_signed) = (Some(limit), is_signed);
        if matrix.order.is_none() && matrix.names == first.names {
            matrix.order.clone_from(&first.order);
        }
    }
    relations
}

fn comparison(demo: &Demo) -> Table {
    let mut columns = vec![("learner", Kind::Text), ("error, all tasks", Kind::LowestBest)];
    if !demo.outliers.is_empty() {
        columns.extend([("error, related tasks", Kind::LowestBest), ("error, outlier", Kind::LowestBest)]);
    }
    columns.push(("updates", Kind::Number));
    let rate = |e: f64| Cell::Number(e, percent(e, 2));
    let row = |run: &Run| {
        let mut row = vec![Cell::Text(run.name.clone()), rate(run.totals.value)];
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

/// Which tasks get pictures of their own: the outliers, then those with the most examples.
fn shown_tasks(demo: &Demo, most: usize) -> Vec<usize> {
    let tasks = demo.runs.iter().map(|r| r.tasks.len()).min().unwrap_or(0);
    let examples = |task: usize| demo.runs.first().map_or(0, |r| r.tasks[task].examples);
    let mut shown: Vec<usize> = (0..tasks).collect();
    shown.sort_by_key(|i| (!demo.outliers.contains(i), std::cmp::Reverse(examples(*i)), *i));
    shown.truncate(most);
    shown.sort_unstable();
    shown
}

/// Says which tasks a picture leaves out.
fn left_out(demo: &Demo, shown: usize) -> String {
    let all = demo.runs.first().map_or(0, |r| r.tasks.len());
    if all <= shown {
        return String::new();
    }
    let further = plural((all - shown) as u64, "further task");
    format!(" Drawn are the {shown} tasks with the most examples; {further} not drawn.")
}

fn small_charts(page: &mut Page, demo: &Demo) {
    let shown = shown_tasks(demo, CHARTS);
    let curves: Vec<&[(f64, f64)]> =
        demo.runs.iter().flat_map(|r| shown.iter().map(|i| r.tasks[*i].curve.as_slice())).collect();
    let (start, measure) = (settled(&curves), measure(demo));
    let points = curves.iter().flat_map(|c| from(c, start)).filter(|p| p.0.is_finite() && p.1.is_finite());
    let reach = points.fold((start, 0.0f64), |m, p| (m.0.max(p.0), m.1.max(p.1)));
    let draw = |task: usize| -> (String, Drawing) {
        let line = |r: &Run| Series { name: r.name.clone(), points: from(&r.tasks[task].curve, start) };
        let chart = LineChart {
            title: format!("{} so far, {}", measure.title(), heading(demo, task)),
            x_steps: Steps::Log2,
            y_unit: measure.unit(),
            series: demo.runs.iter().map(line).collect(),
            highlight: Some(demo.highlight),
            reach: Some(reach),
            ..LineChart::default()
        };
        (heading(demo, task), chart.draw(320.0, 190.0, Detail::Small))
    };
    let charts: Vec<(String, Drawing)> = shown.iter().map(|i| draw(*i)).collect();
    let names: Vec<&str> = demo.runs.iter().map(|r| r.name.as_str()).collect();
    let mut caption =
        format!("{} so far against examples of the task. {}", measure.title(), start_note(&curves, start));
    if !demo.outliers.is_empty() {
        caption += " †\u{a0}outlier.";
    }
    caption += &left_out(demo, shown.len());
    page.multiples(&legend_items(&names, Some(demo.highlight)), &charts, &caption);
}

/// What the runs are judged by.
fn measure(demo: &Demo) -> Measure {
    demo.runs.first().map_or(Measure::default(), |run| run.measure)
}

fn bars(demo: &Demo) -> (BarChart, String) {
    let shown = shown_tasks(demo, (BARS / demo.runs.len().max(1)).max(1));
    let (errors, measure) = (|r: &Run| shown.iter().map(|i| r.tasks[*i].value).collect(), measure(demo));
    let chart = BarChart {
        title: format!("{} of each task", measure.title()),
        unit: measure.unit(),
        groups: shown.iter().map(|i| heading(demo, *i)).collect(),
        series: demo.runs.iter().map(|r| BarSeries { name: r.name.clone(), values: errors(r) }).collect(),
        highlight: Some(demo.highlight),
    };
    let left_out = left_out(demo, shown.len());
    (chart, format!("{} of each task over the whole stream; shorter is better.{left_out}", measure.title()))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::run;
    use super::*;
    use crate::heatmap::Heatmap;

    fn demo(tasks: usize) -> Demo {
        Demo {
            title: "demo".to_owned(),
            lead: "lead".to_owned(),
            notes: vec!["note".to_owned()],
            runs: vec![run("independent", tasks), run("coupled", tasks)],
            highlight: 1,
            outliers: vec![tasks - 1],
            truth: None,
            comparison: None,
            judged_by: None,
            orders: 1,
            command: "cognate demo".to_owned(),
        }
    }

    #[test]
    fn numbers_stand_in_the_table_and_not_in_the_words() {
        let mut demo = demo(3);
        (demo.runs[1].totals.mistakes, demo.runs[1].totals.value) = (64, 0.0625);
        let html = demo_page(&demo);
        assert!(html.contains("All learners saw the same examples in the same order, and"));
        assert!(!html.contains("examples of 3 tasks"), "the lead says how much there is");
        let error = "6.25\u{202f}%";
        let paragraphs = html.split("<p>").skip(1).map(|rest| rest.split("</p>").next().unwrap_or_default());
        assert!(paragraphs.into_iter().all(|text| !text.contains('%')));
        assert_eq!(html.matches(&format!("<b>{error}</b>")).count(), 1);
        assert!((error_over(&demo, &demo.runs[0], true) - 102.0 / 1022.0).abs() < 1e-12);
    }

    #[test]
    fn a_table_from_outside_takes_the_place_of_the_own() {
        let mut demo = demo(2);
        let rows = vec![vec![Cell::Text("coupled".to_owned()), Cell::Number(0.75, "0.7512".to_owned())]];
        let columns = vec![("learner", Kind::Text), ("AUC", Kind::Number)];
        demo.comparison = Some(Table { columns, rows, strong: None });
        (demo.orders, demo.runs[0].totals.examples) = (4, 4096);
        let html = demo_page(&demo);
        assert!(html.contains("0.7512") && !html.contains("error, all tasks"));
        assert!(html.contains("the same examples in the same orders, and"));
    }

    #[test]
    fn curves_and_bars_are_titled_as_what_they_are() {
        let mut demo = demo(2);
        for judged_by in [None, Some("error")] {
            demo.judged_by = judged_by;
            let html = demo_page(&demo);
            assert!(html.contains("<h2>Learning curves: error so far</h2>"), "{html}");
            assert!(html.contains("<h2>Task by task: error</h2>") && !html.contains("judges by"));
        }
        demo.judged_by = Some("AUC");
        let html = demo_page(&demo);
        assert!(html.contains("The table judges by AUC. Curves and bars show the error, "));
        demo.runs.iter_mut().for_each(|run| run.measure = Measure::Rmse);
        demo.judged_by = Some("MAE");
        let html = demo_page(&demo);
        assert!(html.contains("<h2>Learning curves: RMSE so far</h2>") && html.contains("show the RMSE, "));
    }

    #[test]
    fn the_legend_of_small_charts_takes_as_many_rows_as_it_needs() {
        let html = demo_page(&demo(3));
        let legend = html.split("class=\"legend\">").nth(1).and_then(|rest| rest.split("</div>").next());
        let legend = legend.expect("a legend");
        assert_eq!(legend.matches("<svg").count(), 2, "one entry per run");
        assert!(legend.contains(">independent</text>") && legend.contains(">coupled</text>"));
        // Each as wide as itself.
        let widths = legend.split(" width=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        assert!(widths.into_iter().all(|width| width.parse::<f64>().unwrap() < 150.0), "{legend}");
    }

    #[test]
    fn learnt_and_true_relations_share_one_colour_scale() {
        let relation = |value: f64, order: Option<Vec<usize>>| Relation {
            title: "R".to_owned(),
            caption: String::new(),
            matrix: Heatmap {
                names: vec!["a".to_owned(), "b".to_owned()],
                values: vec![0.5, value, value, 0.5],
                limit: Some(2.0 * value.abs()),
                order,
                ..Heatmap::default()
            },
        };
        let mut demo = demo(2);
        demo.runs[1].relation = Some(relation(0.1, Some(vec![1, 0])));
        demo.truth = Some(relation(-0.4, None));
        let learnt = demo.runs[1].relation.as_ref();
        let both = on_one_scale(learnt.into_iter().chain(&demo.truth), &demo.outliers);
        assert!(both.iter().all(|one| one.matrix.limit == Some(0.8) && one.matrix.is_signed));
        assert_eq!(both[1].matrix.order, Some(vec![1, 0]), "and one order");
        // The colour bars of both, wide and narrow, end at the same values.
        let html = demo_page(&demo);
        assert_eq!((html.matches(">−0.8</text>").count(), html.matches(">0.8</text>").count()), (4, 4));
        // The outlier is marked at rows and columns of all four, and explained below each.
        assert_eq!(html.matches(">b\u{a0}†</text>").count(), 8);
        assert_eq!(html.matches(">a\u{a0}†</text>").count(), 0);
        let matrices = html.split("class=\"pair\"").nth(1).expect("a pair");
        assert_eq!(matrices.matches("†\u{a0}outlier.").count(), 4);
        // Two of the wide ones fit beside each other.
        let wide = matrices.split("<figure class=\"wide\">").skip(1);
        let widths = wide.map(|rest| rest.split(" width=\"").nth(1).unwrap().split('"').next().unwrap());
        let sum: f64 = widths.map(|width| width.parse::<f64>().unwrap()).sum();
        assert!(sum > 0.0 && sum + 32.0 <= super::super::COLUMN, "{sum}");
    }

    #[test]
    fn many_tasks_and_no_runs_make_a_page() {
        let html = demo_page(&demo(40));
        assert!(
            html.contains("Drawn are the 12 tasks with the most examples; 28 further tasks not drawn.")
                && html.contains("task &lt;39&gt;\u{a0}†")
        );
        let mut none = demo(1);
        none.runs.clear();
        assert!(demo_page(&none).contains("cognate demo"));
    }
}
