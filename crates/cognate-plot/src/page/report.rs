//! The report of one run: `learn --report FILE`.

use super::table::{Cell, Kind, Table};
use super::tasks::tasks_section;
use super::{Page, Tile};
use crate::heatmap::Heatmap;
use crate::lines::{Detail, LineChart, Series};
use crate::numbers::{count, percent, plain, short_count};
use crate::scale::{Steps, Unit};
use crate::svg::shorten;

/// What a run is judged by, in curves, bars and tables of tasks.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Measure {
    /// Mistakes per example, of labels that are classes.
    #[default]
    Error,
    /// The root of the mean squared error, of labels that are real numbers.
    Rmse,
}

impl Measure {
    /// Its name within a sentence and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Rmse => "RMSE",
        }
    }

    /// Its name at the beginning of a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Rmse => "RMSE",
        }
    }

    /// How axes and labels write it.
    pub fn unit(self) -> Unit {
        match self {
            Self::Error => Unit::Percent,
            Self::Rmse => Unit::Measured,
        }
    }

    /// A value as tables write it.
    pub fn show(self, value: f64) -> String {
        self.unit().value(value)
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Error => "Mistakes per example so far",
            Self::Rmse => "Root mean squared error so far, in the units of the labels",
        }
    }
}

/// One run of one learner over a stream.
pub struct Run {
    /// What the reader calls it, e.g. `coupled` or the name of the data.
    pub name: String,
    /// Id of the learner.
    pub learner: String,
    /// The resolved config.
    pub config: serde_json::Value,
    /// What it is judged by.
    pub measure: Measure,
    /// What was counted over the whole stream.
    pub totals: Totals,
    /// (examples so far, value of the measure so far) over the whole stream.
    pub curve: Vec<(f64, f64)>,
    /// The labels asked for, where not all are.
    pub labels: Option<Labels>,
    /// The tasks, in the learner's order.
    pub tasks: Vec<Task>,
    /// How the tasks are related, if the learner knows.
    pub relation: Option<Relation>,
    /// Norms of the parts of each task's weights, if the learner has parts.
    pub parts: Option<Table>,
    /// Further measures over all tasks, shown after the error.
    pub tiles: Vec<Tile>,
    /// Further columns of the table of tasks; every task has a cell for each.
    pub columns: Vec<(&'static str, Kind)>,
}

/// Counts over a whole stream.
pub struct Totals {
    /// Examples seen.
    pub examples: u64,
    /// Predictions with the wrong sign.
    pub mistakes: u64,
    /// The measure, by weight; not a number without examples.
    pub value: f64,
    /// Rounds that changed the state.
    pub updates: u64,
    /// What else the run is judged by: names, and values as they are written.
    pub measures: Vec<(&'static str, String)>,
    /// What a reader of the numbers should know, a line each.
    pub notes: Vec<String>,
    /// Wall time.
    pub seconds: f64,
    /// Peak memory of the process, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
    /// Lines without a label, which are not counted as examples.
    pub unlabelled: u64,
}

/// The labels of a run that does not ask for all.
pub struct Labels {
    /// How many were asked for.
    pub asked: u64,
    /// (labels asked for, value of the measure so far) over the whole stream.
    pub curve: Vec<(f64, f64)>,
}

/// One task of a run.
pub struct Task {
    /// Its name, as in the data.
    pub name: String,
    /// Examples seen.
    pub examples: u64,
    /// Predictions with the wrong sign.
    pub mistakes: u64,
    /// The measure, by weight; not a number without examples.
    pub value: f64,
    /// The lower end of the 95 % confidence interval of the measure.
    pub least: f64,
    /// Labels asked for.
    pub queries: u64,
    /// (examples of this task so far, value of the measure so far).
    pub curve: Vec<(f64, f64)>,
    /// Its cells in the further columns of the table.
    pub cells: Vec<Cell>,
}

/// A K x K matrix over tasks and what it means.
#[derive(Clone)]
pub struct Relation {
    /// Heading, e.g. "R, as learned".
    pub title: String,
    /// What the reader should see in it; plain sentences.
    pub caption: String,
    /// The matrix with its names, order, limit and marks.
    pub matrix: Heatmap,
}

/// Most tasks of equal relation whose matrix is drawn; of more, their one value is told.
const DRAWN_EQUAL: usize = 16;

/// Groups are listed of more tasks than these.
const LISTED_GROUPS_FROM: usize = 24;

/// What the table of parts shows.
const PARTS: &str = "Norms of the three parts of each task's weights: what all tasks share, what sets the task apart, \
                     and what makes it an outlier. Tasks with an outlier part come first.";

/// Sizes of a chart for wide and narrow windows.
const WIDE: (f64, f64) = (super::COLUMN, 380.0);
const NARROW: (f64, f64) = (370.0, 320.0);

/// Mistakes per example; not a number without examples.
pub fn error_rate(mistakes: u64, examples: u64) -> f64 {
    if examples == 0 { f64::NAN } else { mistakes as f64 / examples as f64 }
}

/// The page of one run, made by `command`.
pub fn learn_page(run: &Run, command: &str) -> String {
    let asked = run.labels.as_ref().map_or(String::new(), |labels| {
        format!(" It asked for {} of all labels.", share(labels, &run.totals))
    });
    let what = match run.measure {
        Measure::Error => "mistakes",
        Measure::Rmse => "errors",
    };
    let lead = format!(
        "{} predicted each example before it saw the label; {what} are those of these predictions.{asked}",
        run.learner
    );
    let mut page = Page::new(&shorten(&run.name, 120), &lead);
    page.tiles(&tiles(run));
    if !run.totals.measures.is_empty() {
        let row = |(name, value): &(&str, String)| {
            vec![Cell::Words((*name).to_owned()), Cell::Number(f64::NAN, value.clone())]
        };
        let rows = run.totals.measures.iter().map(row).collect();
        let columns = vec![("judged by", Kind::Text), ("all tasks", Kind::Number)];
        page.table(&Table { columns, rows, strong: None });
    }
    run.totals.notes.iter().for_each(|note| page.paragraph(&format!("Note: {note}.")));
    page.section("Learning curve");
    let (chart, caption) = stream_curves(std::slice::from_ref(run), None);
    fluid(&mut page, &chart, &caption);
    if let Some(labels) = &run.labels {
        page.section("Labels asked for");
        let (chart, caption) = label_curve(labels, run.measure);
        fluid(&mut page, &chart, &caption);
    }
    tasks_section(&mut page, run);
    if let Some(relation) = &run.relation {
        page.section("How the tasks are related");
        relation_figure(&mut page, relation);
    }
    if let Some(parts) = &run.parts {
        page.section("What the tasks are made of");
        page.paragraph(PARTS);
        page.table(parts);
    }
    page.section("Configuration");
    page.json("Every setting of this run, with defaults filled in", &run.config);
    page.finish(command)
}

/// The curves of whole streams in one chart, with the caption that explains it.
pub fn stream_curves(runs: &[Run], highlight: Option<usize>) -> (LineChart, String) {
    let all: Vec<&[(f64, f64)]> = runs.iter().map(|r| r.curve.as_slice()).collect();
    let start = settled(&all);
    let series = runs.iter().map(|r| Series { name: r.name.clone(), points: from(&r.curve, start) });
    let measure = runs.first().map_or(Measure::default(), |run| run.measure);
    let chart = LineChart {
        title: format!("{} so far, over all tasks", measure.title()),
        x_title: "examples seen, all tasks (doubling steps)".to_owned(),
        y_title: format!("{} so far", measure.name()),
        x_steps: Steps::Log2,
        y_unit: measure.unit(),
        series: series.collect(),
        highlight,
        ..LineChart::default()
    };
    (chart, format!("{}; lower is better. {}", measure.meaning(), start_note(&all, start)))
}

/// The share of labels that was asked for.
fn share(labels: &Labels, totals: &Totals) -> String {
    percent(error_rate(labels.asked, totals.examples), 1)
}

/// The error of the stream against the labels it took, with the caption that explains it.
fn label_curve(labels: &Labels, measure: Measure) -> (LineChart, String) {
    let start = settled(&[&labels.curve]);
    let chart = LineChart {
        title: format!("{} so far against labels asked for", measure.title()),
        x_title: "labels asked for, all tasks (doubling steps)".to_owned(),
        y_title: format!("{} so far", measure.name()),
        x_steps: Steps::Log2,
        y_unit: measure.unit(),
        series: vec![Series { name: measure.name().to_owned(), points: from(&labels.curve, start) }],
        ..LineChart::default()
    };
    let name = measure.name();
    let caption = format!("The same {name}, of all examples, against the labels that it took.");
    let first = first_drawn(&[&labels.curve], start);
    let note =
        if first > 1.0 { format!(" Drawn from label {} on.", count(first as u64)) } else { String::new() };
    (chart, caption + &note)
}

/// Draws a chart for wide and narrow windows.
pub fn fluid(page: &mut Page, chart: &LineChart, caption: &str) {
    let wide = chart.draw(WIDE.0, WIDE.1, Detail::Full);
    let narrow = chart.draw(NARROW.0, NARROW.1, Detail::Full);
    page.fluid_figure(&wide, &narrow, caption);
}

/// A relation: the matrix and the groups in it, or the one value that it has.
pub fn relation_figure(page: &mut Page, relation: &Relation) {
    let matrix = &relation.matrix;
    if let Some(value) = matrix.only_value().filter(|_| matrix.names.len() > DRAWN_EQUAL) {
        page.paragraph(&format!(
            "{} All pairs of different tasks have the same value, {}: no task is closer to one than to another, and \
             there is no matrix to draw.",
            relation.caption,
            plain(value, value.abs())
        ));
        return;
    }
    page.matrix(&relation.title, matrix, &relation.caption);
    let members = matrix.members();
    if matrix.names.len() <= LISTED_GROUPS_FROM || members.is_empty() {
        return;
    }
    let row = |(at, tasks): (usize, &Vec<usize>)| {
        let names: Vec<String> = tasks.iter().map(|task| shorten(&matrix.names[*task], 32)).collect();
        let size = tasks.len() as u64;
        let number = at + 1;
        vec![
            Cell::Number(number as f64, number.to_string()),
            Cell::Number(size as f64, count(size)),
            Cell::Words(names.join(", ")),
        ]
    };
    let table = Table {
        columns: vec![("group", Kind::Number), ("tasks", Kind::Number), ("names", Kind::Text)],
        rows: members.iter().enumerate().map(row).collect(),
        strong: None,
    };
    page.folded_table(&format!("The tasks of the {} groups, from the top", members.len()), &table);
}

/// Where curves begin to be meaningful: in the first few examples the error swings between 0 and 1, which would
/// take the whole height of the chart.
pub fn settled(curves: &[&[(f64, f64)]]) -> f64 {
    let longest = curves.iter().filter_map(|c| c.last()).map(|p| p.0).fold(1.0, f64::max);
    2f64.powf((longest.log2() / 3.0).floor())
}

/// The points of a curve from `start` on; the last one in any case.
pub fn from(curve: &[(f64, f64)], start: f64) -> Vec<(f64, f64)> {
    let first = curve.iter().position(|p| p.0 >= start).unwrap_or(curve.len().saturating_sub(1));
    curve[first..].to_vec()
}

/// The first place that is drawn of curves that begin at `start`: a long curve has its first point later.
fn first_drawn(curves: &[&[(f64, f64)]], start: f64) -> f64 {
    let reaching = curves.iter().filter(|curve| curve.last().is_some_and(|last| last.0 >= start));
    let firsts = reaching.filter_map(|curve| curve.iter().find(|point| point.0 >= start));
    let first = firsts.map(|point| point.0).fold(f64::INFINITY, f64::min);
    if first.is_finite() { first } else { start }
}

/// Says that curves begin late.
pub fn start_note(curves: &[&[(f64, f64)]], start: f64) -> String {
    let first = first_drawn(curves, start);
    if first <= 1.0 {
        return String::new();
    }
    format!("Drawn from example {} on: before that, an error rests on too few examples.", count(first as u64))
}

/// "1 task", "2 tasks".
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

fn tiles(run: &Run) -> Vec<Tile> {
    let t = &run.totals;
    let mut tiles = vec![Tile { name: run.measure.name(), value: run.measure.show(t.value) }];
    tiles.extend(run.tiles.iter().cloned());
    tiles.push(Tile { name: "examples", value: count(t.examples) });
    tiles.push(Tile { name: "tasks", value: count(run.tasks.len() as u64) });
    if run.measure == Measure::Error {
        tiles.push(Tile { name: "mistakes", value: count(t.mistakes) });
    }
    tiles.push(Tile { name: "updates", value: count(t.updates) });
    tiles.extend(run.labels.as_ref().map(|l| Tile { name: "labels asked for", value: count(l.asked) }));
    if t.unlabelled > 0 {
        tiles.push(Tile { name: "without a label", value: count(t.unlabelled) });
    }
    tiles.push(Tile { name: "time", value: duration(t.seconds) });
    if t.seconds > 0.0 {
        let rate = (t.examples as f64 / t.seconds).round();
        tiles.push(Tile { name: "examples per second", value: short_count(rate) });
    }
    tiles.extend(t.peak_memory_bytes.map(|b| Tile { name: "peak memory", value: bytes(b) }));
    tiles
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.9995 => format!("{:.0} ms", s * 1000.0),
        s if s < 99.95 => format!("{s:.1} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

fn bytes(n: u64) -> String {
    match n as f64 {
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tasks::least_error;
    use super::*;

    /// A run with falling curves, whose task `i` ends at an error that depends on `i`.
    pub(in crate::page) fn run(name: &str, tasks: usize) -> Run {
        let curve = |level: f64| (0..11).map(|e| (2f64.powi(e), level + 0.3 / (e + 1) as f64)).collect();
        let task = |i: usize| Task {
            name: format!("task <{i}>"),
            examples: 1024 - i as u64,
            mistakes: 100 + i as u64,
            value: error_rate(100 + i as u64, 1024 - i as u64),
            least: least_error(100 + i as u64, 1024 - i as u64),
            queries: 50 + i as u64,
            curve: curve(0.1 + 0.001 * i as f64),
            cells: vec![Cell::Number(0.8, percent(0.8, 2))],
        };
        Run {
            name: name.to_owned(),
            learner: "perceptron".to_owned(),
            config: serde_json::json!({ "learner": { "perceptron": {} } }),
            measure: Measure::Error,
            totals: Totals {
                examples: 1024,
                mistakes: 128,
                value: 0.125,
                updates: 128,
                measures: vec![("error of the constant guess", "40.00 %".to_owned())],
                notes: vec!["labels come in <runs>".to_owned()],
                seconds: 0.25,
                peak_memory_bytes: None,
                unlabelled: 0,
            },
            curve: curve(0.1),
            labels: None,
            tasks: (0..tasks).map(task).collect(),
            relation: None,
            parts: None,
            tiles: vec![Tile { name: "F-measure", value: percent(0.81, 2) }],
            columns: vec![("F-measure", Kind::Number)],
        }
    }

    #[test]
    fn labels_are_shown_where_not_all_are_asked_for() {
        let words = ["Labels asked for", "labels asked for", "without a label"];
        let mut run = run("r", 3);
        let html = learn_page(&run, "c");
        assert!(words.iter().all(|word| !html.contains(word)));
        assert!(html.contains("<p>Note: labels come in &lt;runs&gt;.</p>"));
        run.labels =
            Some(Labels { asked: 256, curve: vec![(1.0, 0.5), (4.0, 0.25), (64.0, 0.2), (256.0, 0.125)] });
        run.totals.unlabelled = 77;
        let html = learn_page(&run, "c");
        assert!(words.iter().all(|word| html.contains(word)));
        assert!(html.contains("It asked for 25.0") && html.contains("Drawn from label 4 on."));
        run.labels = Some(Labels { asked: 0, curve: Vec::new() });
        assert!(learn_page(&run, "c").contains("nothing to draw yet"));
    }

    #[test]
    fn an_empty_run_makes_a_page() {
        let mut empty = run("r", 0);
        empty.curve.clear();
        (empty.totals.examples, empty.totals.mistakes, empty.totals.seconds) = (0, 0, 0.0);
        empty.totals.value = f64::NAN;
        let html = learn_page(&empty, "c");
        assert!(html.contains("nothing to draw yet") && !html.contains("NaN"));
    }

    #[test]
    fn hostile_names_stay_short_and_escaped() {
        let mut run = run("<script>", 3);
        run.tasks[1].name = "<script>\u{1}".repeat(1000);
        let html = learn_page(&run, "c");
        assert!(!html.contains("<script") && html.len() < 60_000);
    }

    #[test]
    fn real_labels_have_no_mistakes_and_no_percentages() {
        let mut run = run("r", 3);
        run.measure = Measure::Rmse;
        run.totals.value = 2.5;
        run.curve = vec![(1.0, 9.0), (64.0, 4.0), (1024.0, 2.5)];
        (run.tiles, run.columns, run.totals.measures) = (Vec::new(), Vec::new(), Vec::new());
        for (at, task) in run.tasks.iter_mut().enumerate() {
            (task.value, task.least) = (2.0 + at as f64, 1.5 + at as f64);
            task.curve = vec![(1.0, 9.0), (1024.0, task.value)];
            task.cells.clear();
        }
        run.tasks[0].least = 3.0;
        let html = learn_page(&run, "c");
        let body = html.split("<main>").nth(1).unwrap();
        assert!(!body.contains("istake") && !body.contains(">error<") && !body.contains("0.00\u{202f}%"));
        assert!(body.contains("<dt>RMSE</dt><dd>2.500</dd>") && body.contains(">2.500</text>"), "one number");
        let place = |name: &str| body.find(&format!("<td>task &lt;{name}&gt;</td>")).expect("a row");
        assert!(place("0") < place("1") && place("2") < place("1"), "sorted by the bound");
        assert!(body.contains("the RMSE that a task has with 95") && !body.contains("Wilson"));
    }

    #[test]
    fn a_caption_names_the_first_point_that_is_drawn() {
        let curve: Vec<(f64, f64)> = (1..=1024).map(|at| (64.0 * f64::from(at), 0.25)).collect();
        let start = settled(&[&curve]);
        assert!((start - 32.0).abs() < 1e-9);
        assert!(start_note(&[&curve], start).starts_with("Drawn from example 64 on"));
        let short = [(1.0, 1.0), (3.0, 0.5)];
        assert!(start_note(&[&short, &curve], start).starts_with("Drawn from example 64 on"));
        assert!(start_note(&[&[(1.0, 1.0)]], 1.0).is_empty());
    }

    #[test]
    fn curves_begin_where_they_settle() {
        let curve = [(1.0, 1.0), (2.0, 0.5), (8.0, 0.3), (1024.0, 0.1)];
        let start = settled(&[&curve]);
        assert!((start - 8.0).abs() < 1e-9);
        assert_eq!(from(&curve, start).len(), 2);
        assert_eq!(from(&curve[..2], start), [(2.0, 0.5)], "a short curve keeps its last point");
        assert_eq!(from(&[], start), []);
    }

    #[test]
    fn quantities_read_well() {
        assert_eq!([duration(0.0421), duration(3.12), duration(125.0)], ["42 ms", "3.1 s", "2 min 5 s"]);
        assert_eq!([bytes(12_300_000), bytes(2_500_000_000)], ["12.3 MB", "2.50 GB"]);
        assert_eq!([plural(1, "task"), plural(2000, "task")], ["1 task", "2,000 tasks"]);
    }
}
