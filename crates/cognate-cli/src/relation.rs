//! The relation of a model's tasks as a table of numbers, for pages, pictures and JSON.

use cognate::linalg::Symmetric;
use cognate::{Model, TaskId};

use crate::plot::heatmap::Heatmap;

/// Tasks, in the order shown, and R among them.
pub(crate) struct RelationTable {
    pub(crate) names: Vec<String>,
    pub(crate) matrix: Symmetric,
}

impl RelationTable {
    /// R among the given tasks.
    pub(crate) fn of(model: &Model, tasks: &[TaskId]) -> Self {
        let learner = model.learner().as_inspect();
        Self {
            names: tasks.iter().map(|task| model.tasks().name(*task).to_owned()).collect(),
            matrix: Symmetric::from_fn(tasks.len(), |row, column| {
                learner.relation(tasks[row], tasks[column])
            }),
        }
    }

    /// The same with the correlation form.
    pub(crate) fn correlation(&self) -> Self {
        Self { names: self.names.clone(), matrix: self.matrix.correlation() }
    }

    /// The rows, one after the other.
    pub(crate) fn rows(&self) -> Vec<Vec<f64>> {
        (0..self.matrix.size()).map(|row| self.matrix.row(row).to_vec()).collect()
    }

    /// The picture.
    pub(crate) fn heatmap(&self, title: &str) -> Heatmap {
        Heatmap {
            title: title.to_owned(),
            names: self.names.clone(),
            values: self.rows().concat(),
            ..Heatmap::default()
        }
    }
}
