//! `cognate relations`: how the tasks of a model influence each other.

use std::path::Path;

use anyhow::bail;
use cognate::{Likeness, Model, TaskId};
use serde_json::json;

use super::model_of;
use crate::args::{RelationsArgs, TaskOrder};
use crate::kin::{self, Group};
use crate::output::{self, say, shown_name, table};
use crate::pairs::{self, Pair};
use crate::parts;
use crate::relation::RelationTable;
use crate::reporting::LARGEST_RELATION;
use cognate_plot::clustering::Clustering;
use cognate_plot::numbers::count;
use cognate_plot::svg::{Drawing, shorten};

/// Most tasks whose matrix fits on a screen; of more, the strongest pairs are listed.
const LISTED: usize = 16;
/// Most pairs of either sign that are listed.
const PAIRS: usize = 12;
/// Where there is more to see.
const ALL: &str = "\n\nall of them: --json; as pictures: --svg, --graph; among some tasks: --only";
/// Longest name over a column.
const COLUMN_NAME: usize = 10;

/// Why R is shown, where nothing else is known.
const UNSUPPORTED: &str = "how alike tasks are is not supported by the evidence for any pair: that takes more examples per task, or more \
     features. R is shown instead, which says what tasks teach each other";

/// What is shown of the tasks.
struct View {
    /// What pictures and the table show, and which pairs a graph joins.
    shown: RelationTable,
    related: RelationTable,
    /// Over the table, and over the heatmap.
    title: &'static str,
    heading: &'static str,
}

/// Runs the command.
pub(crate) fn run(args: &RelationsArgs, quiet: bool) -> anyhow::Result<()> {
    let model = model_of(args.model.source())?;
    let tasks = chosen(&model, &args.only)?;
    let groups = kin::groups(&model, &tasks);
    if tasks.len() > LARGEST_RELATION {
        return many(args, &model, tasks.len(), groups.as_deref());
    }
    let relation = RelationTable::of(&model, &tasks);
    let correlation = relation.correlation();
    let likeness = model.learner().as_inspect().likeness(&tasks);
    // Where it says nothing of any pair, what tasks teach each other is still worth a look.
    let shown = likeness.as_ref().filter(|likeness| !args.correlation && kin::says_anything(likeness));
    let alike = shown.map(|likeness| RelationTable::alike(&model, &tasks, likeness));
    let view = view(alike, &relation, &correlation, args.correlation);
    let clustering = view.related.clustering();
    draw(args, &view, &clustering, quiet)?;
    if args.json {
        return output::print_json(&json!({
            "tasks": relation.names,
            "R": relation.rows(),
            "correlation": correlation.rows(),
            "likeness": kin::likeness_as_json(likeness.as_ref()),
            "groups": kin::groups_as_json(&model, groups.as_deref()),
            "order": clustering.order,
            "parts": parts::as_json(&model, &tasks),
        }));
    }
    let by_groups = groups.map_or(String::new(), |groups| kin::groups_as_text(&model, &groups) + "\n\n");
    let mut table = as_text(&view, shown, &relation, &correlation);
    if likeness.is_some() && shown.is_none() && !args.correlation && tasks.len() > 1 {
        table += "\n\n";
        table += UNSUPPORTED;
    }
    output::print(&(by_groups + &table + &parts::as_text(&model, &tasks)))
}

/// How alike tasks are, where that is known and wanted; R or its correlation form elsewhere.
fn view(
    alike: Option<RelationTable>,
    relation: &RelationTable,
    correlation: &RelationTable,
    is_correlation: bool,
) -> View {
    let (shown, related, title, heading) = match alike {
        Some(alike) => {
            (alike.clone(), alike, "alike", "How alike tasks are; empty where the evidence does not say")
        }
        None if is_correlation => (
            correlation.clone(),
            correlation.clone(),
            "correlation form of R",
            "How alike tasks are: the correlation form of R",
        ),
        None => (relation.clone(), correlation.clone(), "R", "How much tasks teach each other: R"),
    };
    View { shown, related, title, heading }
}

fn draw(args: &RelationsArgs, view: &View, clustering: &Clustering, quiet: bool) -> anyhow::Result<()> {
    let is_clustered = args.order == TaskOrder::Clustered;
    if let Some(path) = &args.svg {
        let heatmap = view.shown.heatmap(view.heading);
        let heatmap = if is_clustered { heatmap.clustered(clustering) } else { heatmap };
        write("--svg", path, &heatmap.draw_alone())?;
        if !quiet {
            say(&format!("picture: {}", path.display()));
        }
    }
    if let Some(path) = &args.graph {
        let pairs = pairs::by_strength(&view.related.matrix);
        let threshold = args.threshold.unwrap_or_else(|| pairs::readable_threshold(&pairs));
        let order =
            if is_clustered { clustering.order.clone() } else { (0..view.related.names.len()).collect() };
        let drawing = view.related.graph(&pairs, threshold, order).draw();
        write("--graph", path, &drawing)?;
        if !quiet {
            say(&format!("graph: {}: {}", path.display(), drawing.notes.join(" ")));
        }
    }
    Ok(())
}

/// The table: a matrix of few tasks, of more the strongest pairs.
fn as_text(
    view: &View,
    likeness: Option<&Likeness>,
    relation: &RelationTable,
    correlation: &RelationTable,
) -> String {
    match (likeness, relation.names.len() <= LISTED) {
        (Some(likeness), true) => {
            let entry = |row, column| match likeness.pair(row, column) {
                _ if row == column => String::new(),
                Some((strength, _)) => format!("{strength:.2}"),
                None => "?".to_owned(),
            };
            matrix(&view.shown, view.title, entry) + "\n\n?: the evidence does not say"
        }
        (Some(likeness), false) => kin::strongest(&view.shown, likeness) + ALL,
        (None, true) => {
            let entry = |row, column| format!("{:.4}", view.shown.matrix.entry(row, column));
            matrix(&view.shown, view.title, entry)
        }
        (None, false) => strongest(relation, &pairs::by_strength(&correlation.matrix)),
    }
}

/// Of more tasks than a matrix holds, their groups.
fn many(args: &RelationsArgs, model: &Model, tasks: usize, groups: Option<&[Group]>) -> anyhow::Result<()> {
    let Some(groups) = groups.filter(|_| args.svg.is_none() && args.graph.is_none()) else {
        bail!(
            "{tasks} tasks; the relation of at most {LARGEST_RELATION} is shown at once: choose some with --only"
        );
    };
    if args.json {
        return output::print_json(&json!({ "groups": kin::groups_as_json(model, Some(groups)) }));
    }
    let text = kin::groups_as_text(model, groups);
    output::print(&format!(
        "{text}\n\nhow alike tasks are is shown of at most {LARGEST_RELATION}: choose some with --only; all groups: --json"
    ))
}

fn chosen(model: &Model, only: &[String]) -> anyhow::Result<Vec<TaskId>> {
    Ok(match only {
        [] => model.tasks().sorted(),
        names => names.iter().map(|name| model.task(name)).collect::<Result<_, _>>()?,
    })
}

fn write(flag: &str, path: &Path, drawing: &Drawing) -> anyhow::Result<()> {
    output::write_file(flag, path, drawing.standalone())
}

fn matrix(relation: &RelationTable, title: &str, entry: impl Fn(usize, usize) -> String) -> String {
    let columns: Vec<String> =
        relation.names.iter().map(|name| shorten(&shown_name(name), COLUMN_NAME)).collect();
    let mut header = vec![title];
    header.extend(columns.iter().map(String::as_str));
    let rows = relation.names.iter().enumerate().map(|(row, name)| {
        let entries = (0..relation.names.len()).map(|column| entry(row, column));
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
    text + ALL
}
