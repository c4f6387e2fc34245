//! What was predicted and is strange to the model: tasks, features, columns. Its answers look like all others.

use std::collections::BTreeSet;

use cognate::stream::ColumnsApart;
use cognate::{BIAS_FEATURE, Example, Model, Naming};
use cognate_plot::numbers::count;

/// Counts lines whose tasks or features the model has not met.
#[derive(Default)]
pub(crate) struct Strangers {
    lines: u64,
    of_new_tasks: u64,
    /// Some of the new tasks.
    tasks: BTreeSet<String>,
    /// Lines that have features, none of which the model knows.
    without_features: u64,
}

/// Names that are listed; the rest are counted.
const LISTED: usize = 5;

impl Strangers {
    /// Counts a line.
    pub(crate) fn count(&mut self, model: &Model, example: Example<'_>, task: &str) {
        self.lines += 1;
        if example.task.index() >= model.tasks().len() {
            self.of_new_tasks += 1;
            if self.tasks.len() <= LISTED {
                self.tasks.insert(task.to_owned());
            }
        }
        // Names that share slots cannot be told apart, and numbers without a weight may have been met.
        if model.names().naming() == Naming::Kept {
            let known = model.names().len() as u32;
            let mut features =
                example.features.indices().iter().filter(|index| **index != BIAS_FEATURE).peekable();
            let any = features.peek().is_some();
            self.without_features += u64::from(any && features.all(|index| *index >= known));
        }
    }

    /// What there is to say about it.
    pub(crate) fn lines(&self, columns: &ColumnsApart) -> Vec<String> {
        let mut lines = Vec::new();
        if self.without_features > 0 {
            lines.push(format!(
                "warning: {} of {} lines have no feature that the model knows",
                count(self.without_features),
                count(self.lines)
            ));
        }
        lines.extend(column_warnings(columns, "columns are new to the model, and ignored"));
        if self.of_new_tasks > 0 {
            lines.push(format!(
                "note: {} of {} lines are of tasks that the model has not met: {}",
                count(self.of_new_tasks),
                count(self.lines),
                listed(&self.tasks, self.tasks.len())
            ));
        }
        lines
    }
}

/// Says which columns differ from those that a model knew; `new` is what becomes of those that it did not.
pub(crate) fn column_warnings(
    ColumnsApart { missing, unknown, .. }: &ColumnsApart,
    new: &str,
) -> impl Iterator<Item = String> {
    let apart = [(missing, "columns of the model are missing"), (unknown, new)];
    apart
        .into_iter()
        .filter(|(columns, _)| !columns.is_empty())
        .map(|(columns, what)| format!("warning: {what}: {}", listed(columns, columns.len())))
}

/// The first of some names.
fn listed(names: &BTreeSet<String>, all: usize) -> String {
    let first: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    format!("{}{}", first.join(", "), if all > LISTED { ", …" } else { "" })
}
