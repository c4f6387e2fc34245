//! The report of one run: `learn --report FILE`.

use super::table::{Cell, Kind, Table};
use super::{Page, Tile};
use crate::heatmap::Heatmap;
use crate::lines::{Detail, LineChart, Series};
use crate::numbers::{count, percent, short_count};
use crate::scale::{Steps, Unit};
use crate::svg::{Drawing, shorten};

/// One run of one learner over a stream.
pub struct Run {
    /// What the reader calls it, e.g. `coupled` or the name of the data.
    pub name: String,
    /// Id of the learner.
    pub learner: String,
    /// The resolved config.
    pub config: serde_json::Value,
    /// What was counted over the whole stream.
    pub totals: Totals,
    /// (examples so far, error so far) over the whole stream.
    pub curve: Vec<(f64, f64)>,
    /// The labels asked for, where not all are.
    pub labels: Option<Labels>,
    /// The tasks, in the learner's order.
    pub tasks: Vec<Task>,
    /// How the tasks are related, if the learner knows.
    pub relation: Option<Relation>,
    /// Norms of the parts of each task's weights, if the learner has parts.
    pub parts: Option<Table>,
}

/// Counts over a whole stream.
pub struct Totals {
    /// Examples seen.
    pub examples: u64,
    /// Predictions with the wrong sign.
    pub mistakes: u64,
    /// Rounds that changed the state.
    pub updates: u64,
    /// F-measure over all tasks, if the labels are classes.
    pub f1: Option<f64>,
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
    /// (labels asked for, error so far) over the whole stream.
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
    /// Labels asked for.
    pub queries: u64,
    /// Its F-measure, if the labels are classes.
    pub f1: Option<f64>,
    /// (examples of this task so far, error so far).
    pub curve: Vec<(f64, f64)>,
}

/// A K x K matrix over tasks and what it means.
pub struct Relation {
    /// Heading, e.g. "R, as learned".
    pub title: String,
    /// What the reader should see in it; plain sentences.
    pub caption: String,
    /// The matrix with its names, order, limit and marks.
    pub matrix: Heatmap,
}

/// Most tasks with a curve of their own.
const CURVES: usize = 60;
/// Most tasks in the table.
const ROWS: usize = 200;
/// Most tasks whose curves are told apart by colour.
const COLOURED: usize = 6;

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

impl Totals {
    /// Mistakes per example.
    pub fn error(&self) -> f64 {
        error_rate(self.mistakes, self.examples)
    }
}

impl Task {
    /// Mistakes per example.
    pub fn error(&self) -> f64 {
        error_rate(self.mistakes, self.examples)
    }
}

/// The page of one run, made by `command`.
pub fn learn_page(run: &Run, command: &str) -> String {
    let asked = run.labels.as_ref().map_or(String::new(), |labels| {
        format!(" It asked for {}, {} of all.", plural(labels.asked, "label"), share(labels, &run.totals))
    });
    let lead = format!(
        "{} learned {} from {}: {} of its predictions were mistakes, each made before the label was seen.{asked}",
        run.learner,
        plural(run.tasks.len() as u64, "task"),
        plural(run.totals.examples, "example"),
        percent(run.totals.error(), 2)
    );
    let mut page = Page::new(&shorten(&run.name, 120), &lead);
    page.tiles(&tiles(run));
    page.section("Learning curve");
    let (chart, caption) = stream_curves(std::slice::from_ref(run), None);
    fluid(&mut page, &chart, &caption);
    if let Some(labels) = &run.labels {
        page.section("Labels asked for");
        let (chart, caption) = label_curve(labels);
        fluid(&mut page, &chart, &caption);
    }
    tasks_section(&mut page, run);
    if let Some(relation) = &run.relation {
        page.section("How the tasks are related");
        page.figure(&relation.title, &relation.matrix.draw(), &relation.caption);
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
    let chart = LineChart {
        title: "Error so far, over all tasks".to_owned(),
        x_title: "examples seen, all tasks (doubling steps)".to_owned(),
        y_title: "error so far".to_owned(),
        x_steps: Steps::Log2,
        y_unit: Unit::Percent,
        series: series.collect(),
        highlight,
        ..LineChart::default()
    };
    (chart, format!("Mistakes per example so far; lower is better. {}", start_note(start)))
}

/// The share of labels that was asked for.
fn share(labels: &Labels, totals: &Totals) -> String {
    percent(error_rate(labels.asked, totals.examples), 1)
}

/// The error of the stream against the labels it took, with the caption that explains it.
fn label_curve(labels: &Labels) -> (LineChart, String) {
    let start = settled(&[&labels.curve]);
    let chart = LineChart {
        title: "Error so far against labels asked for".to_owned(),
        x_title: "labels asked for, all tasks (doubling steps)".to_owned(),
        y_title: "error so far".to_owned(),
        x_steps: Steps::Log2,
        y_unit: Unit::Percent,
        series: vec![Series { name: "error".to_owned(), points: from(&labels.curve, start) }],
        ..LineChart::default()
    };
    let caption = "The same error, of all examples, against the labels that it took.";
    let note =
        if start > 1.0 { format!(" Drawn from label {} on.", count(start as u64)) } else { String::new() };
    (chart, format!("{caption}{note}"))
}

/// Draws a chart for wide and narrow windows.
pub fn fluid(page: &mut Page, chart: &LineChart, caption: &str) {
    let wide = chart.draw(WIDE.0, WIDE.1, Detail::Full);
    let narrow = chart.draw(NARROW.0, NARROW.1, Detail::Full);
    page.fluid_figure(&wide, &narrow, caption);
}

/// Heading, picture and caption of a relation.
pub fn figure_of(relation: &Relation) -> (String, Drawing, String) {
    (relation.title.clone(), relation.matrix.draw(), relation.caption.clone())
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

/// Says that curves begin late.
pub fn start_note(start: f64) -> String {
    if start <= 1.0 {
        return String::new();
    }
    format!("Drawn from example {} on: before that, an error rests on too few examples.", count(start as u64))
}

/// "1 task", "2 tasks".
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

fn tiles(run: &Run) -> Vec<Tile> {
    let t = &run.totals;
    let mut tiles = vec![Tile { name: "error", value: percent(t.error(), 2) }];
    tiles.extend(t.f1.map(|f| Tile { name: "F-measure", value: percent(f, 2) }));
    tiles.push(Tile { name: "examples", value: count(t.examples) });
    tiles.push(Tile { name: "tasks", value: count(run.tasks.len() as u64) });
    tiles.push(Tile { name: "mistakes", value: count(t.mistakes) });
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

/// The tasks by number of examples, most first; of equal ones the earlier first.
fn by_examples(tasks: &[Task]) -> Vec<&Task> {
    let mut sorted: Vec<&Task> = tasks.iter().collect();
    sorted.sort_by_key(|t| std::cmp::Reverse(t.examples));
    sorted
}

/// Sorts by error, highest first; tasks without examples last.
fn by_error(tasks: &mut [&Task]) {
    let key = |t: &Task| if t.examples == 0 { -1.0 } else { t.error() };
    tasks.sort_by(|a, b| key(b).total_cmp(&key(a)));
}

fn tasks_section(page: &mut Page, run: &Run) {
    page.section("Each task");
    let tasks = by_examples(&run.tasks);
    let (chart, caption) = task_curves(&tasks);
    fluid(page, &chart, &caption);
    let (shown, hidden) = tasks.split_at(tasks.len().min(ROWS));
    let mut shown = shown.to_vec();
    by_error(&mut shown);
    let has_f1 = shown.iter().any(|t| t.f1.is_some());
    let mut columns = vec![("task", Kind::Text), ("error", Kind::Number), ("mistakes", Kind::Number)];
    columns.push(("examples", Kind::Number));
    columns.extend(run.labels.as_ref().map(|_| ("labels asked for", Kind::Number)));
    columns.extend(has_f1.then_some(("F-measure", Kind::Number)));
    let rows = shown.iter().map(|t| {
        let mut row = vec![Cell::Text(t.name.clone()), Cell::Number(t.error(), percent(t.error(), 2))];
        row.push(Cell::Number(t.mistakes as f64, count(t.mistakes)));
        row.push(Cell::Number(t.examples as f64, count(t.examples)));
        row.extend(run.labels.as_ref().map(|_| Cell::Number(t.queries as f64, count(t.queries))));
        if has_f1 {
            let f1 = t.f1.unwrap_or(f64::NAN);
            row.push(Cell::Number(f1, percent(f1, 2)));
        }
        row
    });
    let table = Table { columns, rows: rows.collect(), strong: None };
    page.paragraph(&match hidden.first() {
        Some(next) => format!(
            "The {ROWS} tasks with the most examples, highest error first; {} with {} or fewer each are left out.",
            plural(hidden.len() as u64, "task"),
            plural(next.examples, "example")
        ),
        None => format!("{}, highest error first.", plural(table.rows.len() as u64, "task")),
    });
    page.table(&table);
}

/// The curves of the tasks (most examples first): in colour if few, else grey with the extremes named.
fn task_curves(tasks: &[&Task]) -> (LineChart, String) {
    let (drawn, left_out) = tasks.split_at(tasks.len().min(CURVES));
    let curves: Vec<&[(f64, f64)]> = drawn.iter().map(|t| t.curve.as_slice()).collect();
    let start = settled(&curves);
    let mut drawn = drawn.to_vec();
    by_error(&mut drawn);
    let few = drawn.len() <= COLOURED;
    // The two worst and the best are named, to give the grey lines a scale.
    let named = |i: usize| few || i < 2 || i + 1 == drawn.len();
    let line = |t: &Task| Series { name: t.name.clone(), points: from(&t.curve, start) };
    let pick = |wanted: bool| {
        let chosen = drawn.iter().enumerate().filter(move |(i, _)| named(*i) == wanted);
        chosen.map(|(_, t)| line(t)).collect::<Vec<_>>()
    };
    let chart = LineChart {
        title: "Error so far, task by task".to_owned(),
        x_title: "examples of the task (doubling steps)".to_owned(),
        y_title: "error so far".to_owned(),
        x_steps: Steps::Log2,
        y_unit: Unit::Percent,
        series: pick(true),
        background: pick(false),
        ..LineChart::default()
    };
    let mut caption = start_note(start);
    if !few {
        caption =
            format!("One line per task; the two highest and the lowest at the end are named. {caption}");
    }
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().take(6).map(|t| shorten(&t.name, 24)).collect();
        let more = left_out.len() - names.len();
        let more = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
        caption = format!(
            "{caption} Drawn are the {CURVES} tasks with the most examples; {} left out: {}{more}.",
            plural(left_out.len() as u64, "task"),
            names.join(", ")
        );
    }
    (chart, caption)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run with falling curves, whose task `i` ends at an error that depends on `i`.
    pub(in crate::page) fn run(name: &str, tasks: usize) -> Run {
        let curve = |level: f64| (0..11).map(|e| (2f64.powi(e), level + 0.3 / (e + 1) as f64)).collect();
        let task = |i: usize| Task {
            name: format!("task <{i}>"),
            examples: 1024 - i as u64,
            mistakes: 100 + i as u64,
            queries: 50 + i as u64,
            f1: Some(0.8),
            curve: curve(0.1 + 0.001 * i as f64),
        };
        Run {
            name: name.to_owned(),
            learner: "perceptron".to_owned(),
            config: serde_json::json!({ "learner": { "perceptron": {} } }),
            totals: Totals {
                examples: 1024,
                mistakes: 128,
                updates: 128,
                f1: Some(0.81),
                seconds: 0.25,
                peak_memory_bytes: None,
                unlabelled: 0,
            },
            curve: curve(0.1),
            labels: None,
            tasks: (0..tasks).map(task).collect(),
            relation: None,
            parts: None,
        }
    }

    #[test]
    fn a_page_says_what_it_leaves_out() {
        let html = learn_page(&run("r", 250), "cognate learn x.svm --report r.html");
        assert!(html.contains("50 tasks with 824 examples or fewer each are left out"));
        assert!(html.contains("190 tasks left out: task &lt;60&gt;, task &lt;61&gt;"));
        assert!(html.contains("and 184 more."));
        assert_eq!(html, learn_page(&run("r", 250), "cognate learn x.svm --report r.html"));
    }

    #[test]
    fn labels_are_shown_where_not_all_are_asked_for() {
        let words = ["Labels asked for", "labels asked for", "without a label"];
        let mut run = run("r", 3);
        let html = learn_page(&run, "c");
        assert!(words.iter().all(|word| !html.contains(word)));
        run.labels =
            Some(Labels { asked: 256, curve: vec![(1.0, 0.5), (4.0, 0.25), (64.0, 0.2), (256.0, 0.125)] });
        run.totals.unlabelled = 77;
        let html = learn_page(&run, "c");
        assert!(words.iter().all(|word| html.contains(word)));
        assert!(html.contains("It asked for 256 labels, 25.0") && html.contains("Drawn from label 4 on."));
        run.labels = Some(Labels { asked: 0, curve: Vec::new() });
        assert!(learn_page(&run, "c").contains("nothing to draw yet"));
    }

    #[test]
    fn an_empty_run_makes_a_page() {
        let mut empty = run("r", 0);
        empty.curve.clear();
        (empty.totals.examples, empty.totals.mistakes, empty.totals.seconds) = (0, 0, 0.0);
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
