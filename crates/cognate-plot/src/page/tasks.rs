//! The tasks of a run: their curves, and a table that begins with what is surest to be bad.

use super::Page;
use super::report::{Measure, Run, Task, fluid, from, plural, settled, start_note};
use super::table::{Cell, Kind, Table};
use crate::lines::{LineChart, Series};
use crate::numbers::count;
use crate::scale::Steps;
use crate::svg::shorten;

/// Most tasks with a curve of their own.
const CURVES: usize = 60;
/// Most tasks in the table.
pub(super) const ROWS: usize = 500;
/// Most tasks whose curves are told apart by colour.
const COLOURED: usize = 6;
/// Standard deviations of a 95 % confidence interval.
const Z: f64 = 1.959_963_984_540_054;

/// What the order of a table of tasks is.
pub(super) const ORDER: &str = "Sorted by \u{201c}at least\u{201d}: the error that a task has with 95\u{202f}% confidence \
     (Wilson's lower bound). One mistake in one example says little, and does not come first.";

/// The same where labels are real numbers.
pub(super) const REAL_ORDER: &str = "Sorted by \u{201c}at least\u{201d}: the RMSE that a task has with 95\u{202f}% confidence. One large \
     error in one example says little, and does not come first.";

/// The least error rate that is in keeping with the mistakes among the examples: Wilson's lower bound of a 95 %
/// confidence interval; not a number without examples.
pub fn least_error(mistakes: u64, examples: u64) -> f64 {
    let (n, share) = (examples as f64, mistakes as f64 / examples as f64);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let bound = (share + Z * Z / (2.0 * n) - spread) / (1.0 + Z * Z / n);
    // Without mistakes, rounding may leave a little less than 0.
    if bound < 0.0 { 0.0 } else { bound }
}

/// The order of rows with these bounds and examples: highest bound first; of equal ones that with more examples, then the
/// earlier. Rows without examples come last.
pub(super) fn by_bound(bounds: &[(f64, u64)]) -> Vec<usize> {
    let key = |at: usize| if bounds[at].1 == 0 || bounds[at].0.is_nan() { -1.0 } else { bounds[at].0 };
    let mut order: Vec<usize> = (0..bounds.len()).collect();
    order.sort_by(|a, b| key(*b).total_cmp(&key(*a)).then(bounds[*b].1.cmp(&bounds[*a].1)));
    order
}

/// The tasks by number of examples, most first; of equal ones the earlier first.
fn by_examples(tasks: &[Task]) -> Vec<&Task> {
    let mut sorted: Vec<&Task> = tasks.iter().collect();
    sorted.sort_by_key(|t| std::cmp::Reverse(t.examples));
    sorted
}

/// Sorts by error, highest first; tasks without examples last.
fn by_error(tasks: &mut [&Task]) {
    let key = |t: &Task| if t.examples == 0 || t.value.is_nan() { -1.0 } else { t.value };
    tasks.sort_by(|a, b| key(b).total_cmp(&key(a)));
}

/// Curves and table of the tasks.
pub(super) fn tasks_section(page: &mut Page, run: &Run) {
    page.section("Each task");
    let (chart, caption) = task_curves(&by_examples(&run.tasks), run.measure);
    fluid(page, &chart, &caption);
    let (table, left_out) = tasks_table(run);
    let order = match run.measure {
        Measure::Error => ORDER,
        Measure::Rmse => REAL_ORDER,
    };
    page.paragraph(&match left_out {
        0 => order.to_owned(),
        some => format!("{order} The last {} are left out.", plural(some as u64, "task")),
    });
    page.table(&table);
}

/// The table of the tasks, and how many are left out of it.
fn tasks_table(run: &Run) -> (Table, usize) {
    let has_mistakes = run.measure == Measure::Error;
    let mut columns =
        vec![("task", Kind::Text), (run.measure.name(), Kind::Number), ("at least", Kind::Number)];
    columns.extend(has_mistakes.then_some(("mistakes", Kind::Number)));
    columns.push(("examples", Kind::Number));
    columns.extend(run.labels.as_ref().map(|_| ("labels asked for", Kind::Number)));
    columns.extend(run.columns.iter().copied());
    let rate = |value: f64| Cell::Number(value, run.measure.show(value));
    let number = |value: u64| Cell::Number(value as f64, count(value));
    let row = |t: &Task| {
        let mut row = vec![Cell::Text(t.name.clone()), rate(t.value), rate(t.least)];
        row.extend(has_mistakes.then(|| number(t.mistakes)));
        row.push(number(t.examples));
        row.extend(run.labels.as_ref().map(|_| number(t.queries)));
        row.extend(t.cells.iter().cloned());
        row
    };
    let bounds: Vec<(f64, u64)> = run.tasks.iter().map(|t| (t.least, t.examples)).collect();
    let order = by_bound(&bounds);
    let rows = order.iter().take(ROWS).map(|at| row(&run.tasks[*at])).collect();
    (Table { columns, rows, strong: None }, order.len().saturating_sub(ROWS))
}

/// The curves of the tasks (most examples first): in colour if few, else grey with the extremes named.
fn task_curves(tasks: &[&Task], measure: Measure) -> (LineChart, String) {
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
        title: format!("{} so far, task by task", measure.title()),
        x_title: "examples of the task (doubling steps)".to_owned(),
        y_title: format!("{} so far", measure.name()),
        x_steps: Steps::Log2,
        y_unit: measure.unit(),
        series: pick(true),
        background: pick(false),
        ..LineChart::default()
    };
    let mut caption = start_note(&curves, start);
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
mod tests {
    use super::super::report::tests::run;
    use super::super::report::{error_rate, learn_page};
    use super::*;

    #[test]
    fn wilson_bounds_are_those_of_the_book() {
        // Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (mistakes, examples, expected) in
            [(81, 263, 0.2553), (15, 148, 0.0624), (0, 20, 0.0), (1, 29, 0.0061)]
        {
            let bound = least_error(mistakes, examples);
            assert!((bound - expected).abs() < 5e-5, "{mistakes} of {examples}: {bound}");
        }
        assert!(least_error(0, 0).is_nan());
    }

    #[test]
    fn what_is_surest_to_be_bad_comes_first() {
        // 1 of 1 is at least 20.7 %, 30 of 100 at least 21.9 %, 2 of 2 at least 34.2 %.
        let counts = [(1, 1), (30, 100), (0, 0), (2, 2), (0, 5), (0, 50), (300, 1000)];
        let bounds = counts.map(|(mistakes, examples)| (least_error(mistakes, examples), examples));
        assert_eq!(by_bound(&bounds), [3, 6, 1, 0, 5, 4, 2]);
        let mut run = run("r", 2);
        for (task, (mistakes, examples)) in run.tasks.iter_mut().zip([(1, 1), (300, 1000)]) {
            (task.mistakes, task.examples) = (mistakes, examples);
            (task.value, task.least) = (error_rate(mistakes, examples), least_error(mistakes, examples));
        }
        let html = learn_page(&run, "c");
        let place = |name: &str| html.find(&format!("<td>task &lt;{name}&gt;</td>")).expect("a row");
        assert!(place("1") < place("0"));
        assert!(html.contains("Wilson") && html.contains("20.65\u{202f}%"), "the bound is shown");
    }

    #[test]
    fn a_page_says_what_it_leaves_out() {
        let html = learn_page(&run("r", 550), "cognate learn x.svm --report r.html");
        assert!(html.contains("The last 50 tasks are left out."));
        assert!(html.contains("490 tasks left out: task &lt;60&gt;, task &lt;61&gt;"));
        assert!(html.contains("and 484 more."));
        assert_eq!(html, learn_page(&run("r", 550), "cognate learn x.svm --report r.html"));
    }

    #[test]
    fn further_columns_need_no_change_here() {
        let mut run = run("r", 2);
        run.columns.push(("AUC", Kind::Number));
        for task in &mut run.tasks {
            task.cells.push(Cell::Number(0.75, "0.7500".to_owned()));
        }
        let html = learn_page(&run, "c");
        assert!(html.contains(">AUC</th>") && html.matches(">0.7500</td>").count() == 2);
    }
}
