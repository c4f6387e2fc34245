//! The page of a comparison: the numbers of the table for people, with curves, tasks and relations.

use std::path::Path;

use cognate_plot::numbers::{count, duration};
use cognate_plot::page::demo::{Demo, demo_page};
use cognate_plot::page::report::Run;
use cognate_plot::page::table::{Cell, Kind, Table};

use super::metric::Metric;
use super::ranking::{Ranking, chance_text};
use super::show::{Row, further, heading, rows, sharing, tried};
use crate::output::{bytes, say, write_file};
use crate::reporting::command_line;

/// Writes the page; `runs` are one run of each, in the order of the results without the constant guess.
pub(super) fn write_report(
    path: &Path,
    runs: Vec<Run>,
    ranking: &Ranking<'_>,
    is_chosen: bool,
) -> anyhow::Result<()> {
    let seconds: f64 = ranking.results.iter().flat_map(|results| &results.runs).map(|run| run.seconds).sum();
    let mut notes = vec![format!("{}.", heading(ranking, is_chosen).join(". "))];
    let orders = ranking.results[0].runs.len();
    notes.push(format!(
        "{}All runs together took {}.{}",
        if orders > 1 { "Numbers are means over the shuffles, ± their deviation. " } else { "" },
        duration(seconds),
        match tried(ranking) {
            none if none.is_empty() => none,
            tried => format!(" {}.", tried.trim_start()),
        },
    ));
    let (runs, highlight) = drawn(runs, ranking);
    let page = demo_page(&Demo {
        title: "Which learner suits these tasks?".to_owned(),
        lead: ranking.verdict().join(" "),
        notes,
        runs,
        highlight,
        outliers: Vec::new(),
        truth: None,
        comparison: Some(comparison(ranking)),
        judged_by: Some(ranking.contest.metric.name()),
        orders: orders as u64,
        command: command_line(),
    });
    write_file("--report", path, page)?;
    say(&format!("report: {}", path.display()));
    Ok(())
}

/// Those that are drawn: every learner, and the forms of the best one; and where the best is among them.
fn drawn(runs: Vec<Run>, ranking: &Ranking<'_>) -> (Vec<Run>, usize) {
    let rows = rows(ranking);
    let of_best = |row: &&Row<'_>| [row.shared, row.independent, row.pooled].contains(&Some(ranking.best));
    let mut wanted: Vec<usize> = rows.iter().map(|row| row.main).collect();
    let forms = rows.iter().filter(of_best).flat_map(|row| [row.shared, row.independent, row.pooled]);
    wanted.extend(forms.flatten());
    let (mut drawn, mut highlight) = (Vec::new(), 0);
    for (who, run) in (1..).zip(runs) {
        if wanted.contains(&who) {
            highlight = if who == ranking.best { drawn.len() } else { highlight };
            drawn.push(run);
        }
    }
    (drawn, highlight)
}

/// The same numbers as in the table for people.
fn comparison(ranking: &Ranking<'_>) -> Table {
    let (metric, results) = (ranking.contest.metric, ranking.results);
    let mut columns = vec![
        ("learner", Kind::Text),
        (metric.name(), Kind::Number),
        ("independent", Kind::Number),
        ("pooled", Kind::Number),
        ("sharing", Kind::Number),
        ("by chance", Kind::Number),
    ];
    columns.extend(further(metric).into_iter().map(|other| (other.name(), Kind::Number)));
    columns.extend([("memory", Kind::Number), ("examples/s", Kind::Number)]);
    let none = || Cell::Number(f64::NAN, String::new());
    let number = |metric: Metric, who: Option<usize>| {
        who.map_or_else(none, |who| {
            let value = results[who].value(metric);
            Cell::Number(value, metric.show(value))
        })
    };
    // The mark stands where the `*` of the table for people does, in whichever column.
    let judged = |who: usize, shown: String| {
        if who == ranking.best { Cell::Best(shown) } else { Cell::Number(results[who].value(metric), shown) }
    };
    let form = |who: Option<usize>| {
        who.map_or_else(none, |who| judged(who, metric.show(results[who].value(metric))))
    };
    let row = |row: Row<'_>| {
        let main = &results[row.main];
        let mut cells = vec![Cell::Text(row.name.to_owned())];
        // A learner that has no form of its own that shares: said, as in the table for people.
        let no_form = || Cell::Number(f64::NAN, "none".to_owned());
        cells.push(row.shared.map_or_else(no_form, |who| judged(who, results[who].shown(metric))));
        cells.extend([form(row.independent), form(row.pooled)]);
        cells.extend(match sharing(ranking, &row) {
            Some((change, chance)) => {
                [Cell::Number(f64::NAN, change), Cell::Number(chance, chance_text(chance))]
            }
            None => [none(), none()],
        });
        cells.extend(further(metric).into_iter().map(|other| number(other, Some(row.main))));
        if row.main == 0 {
            cells.extend([none(), none()]);
        } else {
            let memory = main.mean_of(|run| run.bytes as f64);
            cells.push(Cell::Number(memory, bytes(memory as u64)));
            cells.push(Cell::Number(main.rate(), count(main.rate() as u64)));
        }
        cells
    };
    let rows = rows(ranking);
    let strong =
        rows.iter().position(|row| [row.shared, row.independent, row.pooled].contains(&Some(ranking.best)));
    Table { columns, rows: rows.into_iter().map(row).collect(), strong }
}
