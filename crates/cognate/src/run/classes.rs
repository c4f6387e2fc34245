//! Lines that are one example of every class: which class was predicted before any of them was learnt?

use super::Observer;
use crate::example::{Example, TaskId};
use crate::model::Model;

/// What was predicted for a line that is one example of every class.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ClassReport {
    /// Its class.
    pub class: TaskId,
    /// The class of the largest margin, before any example of the line was learnt; the one met first, if equal. Only classes
    /// that were met before the line can be predicted, so there may be none.
    pub predicted: Option<TaskId>,
    /// Its weight, usually 1.
    pub weight: f64,
}

impl ClassReport {
    /// Whether another class was predicted, or none.
    pub fn is_mistake(&self) -> bool {
        self.predicted != Some(self.class)
    }
}

/// Puts the examples of a line together as they come: the classes in turn, each from the first on.
#[derive(Debug)]
pub(super) struct ClassLines {
    /// Classes met before the line under way.
    known: usize,
    /// Margins of all classes before the line was learnt.
    margins: Vec<f64>,
    /// Examples of the line so far.
    rows: usize,
    class: Option<TaskId>,
    weight: f64,
}

impl ClassLines {
    /// Before the first line.
    pub(super) fn new(model: &Model) -> Self {
        Self { known: model.tasks.len(), margins: Vec::new(), rows: 0, class: None, weight: 1.0 }
    }

    /// Before an example is learnt.
    pub(super) fn follow(&mut self, model: &Model, example: Example<'_>, observer: &mut dyn Observer) {
        if example.task == TaskId(0) {
            self.end(observer);
            let learner = model.learner.as_predict();
            let classes = (0..model.tasks.len() as u32).map(TaskId);
            self.margins.extend(classes.map(|class| learner.margin(class, example.features)));
            self.weight = example.weight;
        }
        self.rows += 1;
        if example.label > 0.0 {
            self.class = Some(example.task);
        }
    }

    /// The line under way has come to its end.
    pub(super) fn end(&mut self, observer: &mut dyn Observer) {
        // The batch may know classes of later lines.
        let known = self.known.min(self.rows).min(self.margins.len());
        if let Some(class) = self.class.take() {
            let mut best: Option<(TaskId, f64)> = None;
            for (class, margin) in (0..).map(TaskId).zip(&self.margins[..known]) {
                if best.is_none_or(|(_, largest)| *margin > largest) {
                    best = Some((class, *margin));
                }
            }
            let predicted = best.map(|(class, _)| class);
            observer.observe_class(&ClassReport { class, predicted, weight: self.weight });
        }
        self.known = self.known.max(self.rows);
        self.rows = 0;
        self.margins.clear();
    }
}
