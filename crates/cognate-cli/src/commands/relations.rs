//! `cognate relations`: how the tasks of a model influence each other.

use std::path::Path;

use anyhow::bail;
use cognate::{Model, TaskId};
use serde_json::json;

use super::load_model;
use crate::args::{RelationsArgs, TaskOrder};
use crate::output::{self, say, shown_name, table};
use crate::pairs::{self, Pair};
use crate::parts;
use crate::relation::RelationTable;
use crate::reporting::LARGEST_RELATION;
use cognate_plot::numbers::count;
use cognate_plot::svg::{Drawing, shorten};

/// Most tasks whose matrix fits on a screen; of more, the strongest pairs are listed.
const LISTED: usize = 16;
/// Most pairs of either sign that are listed.
const PAIRS: usize = 12;
/// Longest name over a column.
const COLUMN_NAME: usize = 10;

/// Runs the command.
pub(crate) fn run(args: &RelationsArgs, quiet: bool) -> anyhow::Result<()> {
    let model = load_model(&args.model)?;
    let tasks = chosen(&model, &args.only)?;
    let relation = RelationTable::of(&model, &tasks);
    let correlation = relation.correlation();
    let (shown, title, heading) = if args.correlation {
        (&correlation, "correlation form of R", "How alike tasks are: the correlation form of R")
    } else {
        (&relation, "R", "How much tasks teach each other: R")
    };
    let clustering = relation.clustering();
    let is_clustered = args.order == TaskOrder::Clustered;
    if let Some(path) = &args.svg {
        let heatmap = shown.heatmap(heading);
        let heatmap = if is_clustered { heatmap.clustered(&clustering) } else { heatmap };
        write("--svg", path, &heatmap.draw_alone())?;
        if !quiet {
            say(&format!("picture: {}", path.display()));
        }
    }
    if let Some(path) = &args.graph {
        let pairs = pairs::by_strength(&correlation.matrix);
        let threshold = args.threshold.unwrap_or_else(|| pairs::readable_threshold(&pairs));
        let order = if is_clustered { clustering.order.clone() } else { (0..tasks.len()).collect() };
        let drawing = correlation.graph(&pairs, threshold, order).draw();
        write("--graph", path, &drawing)?;
        if !quiet {
            say(&format!("graph: {}: {}", path.display(), drawing.notes.join(" ")));
        }
    }
    if args.json {
        return output::print_json(&json!({
            "tasks": relation.names,
            "R": relation.rows(),
            "correlation": correlation.rows(),
            "order": clustering.order,
            "parts": parts::as_json(&model, &tasks),
        }));
    }
    let table = if tasks.len() <= LISTED {
        matrix(shown, title)
    } else {
        strongest(&relation, &pairs::by_strength(&correlation.matrix))
    };
    output::print(&(table + &parts::as_text(&model, &tasks)))
}

fn chosen(model: &Model, only: &[String]) -> anyhow::Result<Vec<TaskId>> {
    let tasks = match only {
        [] => model.tasks().sorted(),
        names => names.iter().map(|name| model.task(name)).collect::<Result<_, _>>()?,
    };
    if tasks.len() > LARGEST_RELATION {
        bail!(
            "{} tasks; the relation of at most {LARGEST_RELATION} is shown at once: choose some with --only",
            tasks.len()
        );
    }
    Ok(tasks)
}

fn write(flag: &str, path: &Path, drawing: &Drawing) -> anyhow::Result<()> {
    output::write_file(flag, path, drawing.standalone())
}

fn matrix(relation: &RelationTable, title: &str) -> String {
    let columns: Vec<String> =
        relation.names.iter().map(|name| shorten(&shown_name(name), COLUMN_NAME)).collect();
    let mut header = vec![title];
    header.extend(columns.iter().map(String::as_str));
    let rows = relation.names.iter().enumerate().map(|(row, name)| {
        let entries = relation.matrix.row(row).iter().map(|entry| format!("{entry:.4}"));
        std::iter::once(shown_name(name)).chain(entries).collect()
    });
    table(&header, rows).trim_fmt()
}

/// The pairs (strongest first) with the highest and the lowest correlation.
fn strongest(relation: &RelationTable, pairs: &[Pair]) -> String {
    let (mut positive, mut negative) = (Vec::new(), Vec::new());
    for pair in pairs {
        match pair.correlation {
            c if c > 0.0 => positive.push(pair),
            c if c < 0.0 => negative.push(pair),
            _ => {}
        }
    }
    let mut text = format!(
        "{} tasks, {} pairs: the correlation is positive for {}, negative for {}",
        count(relation.names.len() as u64),
        count(pairs.len() as u64),
        count(positive.len() as u64),
        count(negative.len() as u64)
    );
    for (pairs, what) in [(positive, "most alike"), (negative, "most opposed")] {
        if pairs.is_empty() {
            continue;
        }
        let rows = pairs.iter().take(PAIRS).map(|pair| {
            let (a, b) = pair.tasks();
            let numbers = [pair.correlation, relation.matrix.entry(a, b)].map(|value| format!("{value:.4}"));
            let [correlation, r] = numbers;
            vec![shown_name(&relation.names[a]), shown_name(&relation.names[b]), correlation, r]
        });
        let table = table(&[what, "", "correlation", "R"], rows).left(1);
        text += &format!("\n\n{}", table.trim_fmt());
        if pairs.len() > PAIRS {
            text += &format!("\n… and {} more", count((pairs.len() - PAIRS) as u64));
        }
    }
    text + "\n\nall of them: --json; as pictures: --svg, --graph; among some tasks: --only"
}
