//! Examples given one by one: features by number or by name, tasks by name, as a program that embeds the library has them.
//!
//! Names get their numbers as those of a line of JSON do.

use super::Labels;
use super::batch::{Batch, NO_LABEL};
use super::config::Preprocess;
use super::error::{Problem, shown};
use super::labels::{LabelRule, UNNAMED_TASK, is_task_name};
use super::named::{NamedLine, Repeats};
use crate::example::{BIAS_FEATURE, SparseView, TaskId, is_valid};
use crate::feature_names::{FeatureNames, Naming};
use crate::fit::Kind;

/// The features of an example.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Features<'a> {
    /// No features, which fits every model.
    Nothing,
    /// By number, from 0, in any order.
    Numbered(&'a [(u32, f64)]),
    /// By number, from 0, in order.
    Sparse(SparseView<'a>),
    /// By name.
    Named(&'a [(&'a str, f64)]),
    /// By name, where a value may also be a text.
    Mixed(&'a [(&'a str, FeatureValue<'a>)]),
}

/// The value of a named feature.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FeatureValue<'a> {
    /// A number.
    Number(f64),
    /// A text: the feature `<name>=<text>` has the value 1.
    Text(&'a str),
}

macro_rules! features_from {
    ($($variant:ident of $pair:ty,)*) => {$(
        impl<'a> From<&'a [$pair]> for Features<'a> {
            fn from(pairs: &'a [$pair]) -> Self {
                Self::$variant(pairs)
            }
        }

        impl<'a, const N: usize> From<&'a [$pair; N]> for Features<'a> {
            fn from(pairs: &'a [$pair; N]) -> Self {
                Self::$variant(pairs)
            }
        }

        impl<'a> From<&'a Vec<$pair>> for Features<'a> {
            fn from(pairs: &'a Vec<$pair>) -> Self {
                Self::$variant(pairs)
            }
        }
    )*};
}

features_from! {
    Numbered of (u32, f64),
    Named of (&'a str, f64),
    Mixed of (&'a str, FeatureValue<'a>),
}

impl<'a> From<SparseView<'a>> for Features<'a> {
    fn from(features: SparseView<'a>) -> Self {
        Self::Sparse(features)
    }
}

impl Features<'_> {
    /// Whether they have names; unknown if there are none.
    pub(crate) fn are_named(&self) -> Option<bool> {
        match self {
            Self::Nothing => None,
            Self::Numbered(pairs) => (!pairs.is_empty()).then_some(false),
            Self::Sparse(features) => (!features.is_empty()).then_some(false),
            Self::Named(pairs) => (!pairs.is_empty()).then_some(true),
            Self::Mixed(pairs) => (!pairs.is_empty()).then_some(true),
        }
    }
}

/// Where names of features are looked up.
#[derive(Debug)]
pub(crate) enum NameSource<'a> {
    /// New ones are met.
    Learning(&'a mut FeatureNames),
    /// New ones get numbers for this example only.
    Looking(&'a FeatureNames),
}

impl NameSource<'_> {
    pub(crate) fn naming(&self) -> Naming {
        match self {
            Self::Learning(names) => names.naming(),
            Self::Looking(names) => names.naming(),
        }
    }
}

/// Examples on their way into a model, and the buffers that they need.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    batch: Batch,
    line: NamedLine,
    rule: LabelRule,
    /// The rule as the examples before the one that is open have left it.
    closed_rule: LabelRule,
    pairs: Vec<(u32, f64)>,
}

impl Given {
    /// No example yet; labels are of this kind.
    pub(crate) fn new(kind: Kind) -> Self {
        let rule = LabelRule::new(Labels::Optional, kind);
        Self {
            batch: Batch::default(),
            line: NamedLine::new(Repeats::Refused),
            closed_rule: rule.clone(),
            rule,
            pairs: Vec::new(),
        }
    }

    /// Forgets all examples, and keeps the room that they took; labels of the next are of this kind.
    pub(crate) fn clear(&mut self, kind: Kind) {
        self.batch.clear();
        self.rule = LabelRule::new(Labels::Optional, kind);
        self.closed_rule.clone_from(&self.rule);
    }

    /// The examples.
    pub(crate) fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The examples, one of which may be under way.
    pub(crate) fn batch_mut(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// Takes the examples out.
    pub(crate) fn take(&mut self) -> Batch {
        std::mem::take(&mut self.batch)
    }

    /// Puts the buffers of examples that were taken out back.
    pub(crate) fn put_back(&mut self, batch: Batch) {
        self.batch = batch;
    }

    /// Opens an example: its features go to the end of the batch. Gives the label, read. Whatever is refused is to be
    /// [abandoned](Self::abandon).
    pub(crate) fn open(
        &mut self,
        features: Features<'_>,
        label: Option<f64>,
        limit: Option<u32>,
        names: &mut NameSource<'_>,
    ) -> Result<f64, Problem> {
        let label = match label {
            None => NO_LABEL,
            Some(label) => self.rule.take(label)?,
        };
        let added = match features {
            Features::Nothing => Ok(()),
            Features::Numbered(pairs) => {
                self.pairs.clear();
                self.pairs.extend_from_slice(pairs);
                self.pairs.sort_unstable_by_key(|(index, _)| *index);
                self.add_numbered(limit, names.naming())
            }
            Features::Sparse(features) => {
                self.pairs.clear();
                self.pairs.extend(features.iter());
                self.add_numbered(limit, names.naming())
            }
            Features::Named(pairs) => {
                let cells = pairs.iter().map(|(name, value)| (*name, FeatureValue::Number(*value)));
                self.add_named(cells, names)
            }
            Features::Mixed(pairs) => self.add_named(pairs.iter().copied(), names),
        };
        added.map(|()| label)
    }

    /// Ends the example that was opened.
    pub(crate) fn close(&mut self, task: TaskId, label: f64, preprocess: &Preprocess) {
        self.batch.preprocess(preprocess);
        self.batch.close(task, label, self.batch.len() as u64 + 1);
        self.closed_rule.clone_from(&self.rule);
    }

    /// Leaves nothing of the example that was opened.
    pub(crate) fn abandon(&mut self) {
        self.batch.abandon();
        self.rule.clone_from(&self.closed_rule);
    }

    fn add_numbered(&mut self, limit: Option<u32>, naming: Naming) -> Result<(), Problem> {
        if naming != Naming::Numbered && !self.pairs.is_empty() {
            return Err(Problem::Numbered);
        }
        let end = limit.unwrap_or(BIAS_FEATURE).min(BIAS_FEATURE);
        let mut previous = None;
        for (index, value) in &self.pairs {
            if *index >= end {
                return Err(Problem::Beyond { index: *index, largest: end.saturating_sub(1) });
            }
            if let Some(previous) = previous.filter(|previous| previous == index) {
                return Err(Problem::Order { previous, index: *index });
            }
            if !is_valid(*value) {
                return Err(Problem::Value { found: value.to_string() });
            }
            previous = Some(*index);
        }
        self.batch.indices.extend(self.pairs.iter().map(|(index, _)| *index));
        self.batch.values.extend(self.pairs.iter().map(|(_, value)| *value));
        Ok(())
    }

    fn add_named<'a>(
        &mut self,
        cells: impl ExactSizeIterator<Item = (&'a str, FeatureValue<'a>)>,
        names: &mut NameSource<'_>,
    ) -> Result<(), Problem> {
        if names.naming() == Naming::Numbered && cells.len() > 0 {
            return Err(Problem::Named);
        }
        self.line.clear();
        for (name, value) in cells {
            match value {
                FeatureValue::Number(value) if is_valid(value) => self.line.push(&[], &[name], 0, 0, value),
                FeatureValue::Number(value) => {
                    let (found, feature) = (value.to_string(), shown(name.as_bytes()));
                    return Err(Problem::FeatureValue { found, feature });
                }
                // Two features may not share a name.
                FeatureValue::Text(_) if name.contains('=') => {
                    return Err(Problem::ColumnOfTexts { column: shown(name.as_bytes()) });
                }
                FeatureValue::Text(text) => self.line.push(&[], &[name, "=", text], 0, 0, 1.0),
            }
        }
        self.line.place(&mut self.batch, names).map_err(|(_, problem)| problem)
    }
}

/// The name of a task, if it can be one; an example may be without.
pub(crate) fn task_name(task: Option<&str>) -> Result<&str, Problem> {
    let name = task.unwrap_or(UNNAMED_TASK);
    if is_task_name(name) { Ok(name) } else { Err(Problem::TaskName { found: shown(name.as_bytes()) }) }
}
