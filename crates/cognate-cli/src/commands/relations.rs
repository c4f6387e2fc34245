//! `cognate relations`: how the tasks of a model influence each other.

use anyhow::{Context, bail};
use cognate::{Model, TaskId};
use serde_json::json;

use super::{find_task, load_model};
use crate::args::RelationsArgs;
use crate::output::{self, say, shown_name, table};
use crate::parts;
use crate::relation::RelationTable;
use crate::reporting::LARGEST_RELATION;

/// Most tasks that the table for people shows.
const LISTED: usize = 16;

/// Runs the command.
pub(crate) fn run(args: &RelationsArgs, quiet: bool) -> anyhow::Result<()> {
    let model = load_model(&args.model)?;
    let tasks = chosen(&model, &args.only)?;
    let relation = RelationTable::of(&model, &tasks);
    let correlation = relation.correlation();
    let shown = if args.correlation { &correlation } else { &relation };
    let title = if args.correlation { "correlation form of R" } else { "R" };
    if let Some(path) = &args.svg {
        let picture = shown.heatmap(title).draw().standalone();
        std::fs::write(path, picture).with_context(|| format!("--svg {}", path.display()))?;
        if !quiet {
            say(&format!("picture: {}", path.display()));
        }
    }
    if args.json {
        return output::print_json(&json!({
            "tasks": relation.names,
            "R": relation.rows(),
            "correlation": correlation.rows(),
            "parts": parts::as_json(&model, &tasks),
        }));
    }
    output::print(&(as_text(shown, title) + &parts::as_text(&model, &tasks)))
}

fn chosen(model: &Model, only: &[String]) -> anyhow::Result<Vec<TaskId>> {
    let tasks = match only {
        [] => model.tasks().sorted(),
        names => names.iter().map(|name| find_task(model, name)).collect::<anyhow::Result<_>>()?,
    };
    if tasks.len() > LARGEST_RELATION {
        bail!(
            "{} tasks; the relation of at most {LARGEST_RELATION} is shown at once: choose some with --only",
            tasks.len()
        );
    }
    Ok(tasks)
}

fn as_text(relation: &RelationTable, title: &str) -> String {
    let listed = relation.names.len().min(LISTED);
    let names: Vec<String> = relation.names[..listed].iter().map(|name| shown_name(name)).collect();
    let mut header = vec![title];
    header.extend(names.iter().map(String::as_str));
    let rows = (0..listed).map(|row| {
        let entries = relation.matrix.row(row)[..listed].iter().map(|entry| format!("{entry:.4}"));
        std::iter::once(names[row].clone()).chain(entries).collect()
    });
    let more = relation.names.len() - listed;
    let rest = if more > 0 {
        format!("\n\n… and {more} tasks more: --json, --svg, or --only")
    } else {
        String::new()
    };
    format!("{}{rest}", table(&header, rows).trim_fmt())
}
