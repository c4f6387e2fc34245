//! What a model holds, in the words of its users.

use super::Model;
use crate::error::UnknownTask;
use crate::example::{BIAS_FEATURE, TaskId};
use crate::feature_names::{NamesByFeature, Naming};

/// The weights of a task, strongest first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The task.
    pub task: TaskId,
    /// Its non-zero weights, largest first; none if the kernel has no weights.
    pub weights: Vec<FeatureWeight>,
}

/// One feature and its weight.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FeatureWeight {
    /// The feature.
    pub feature: u32,
    /// Its name for users; see [`FeatureLabels::label`].
    pub name: String,
    /// Its weight.
    pub weight: f64,
}

/// Names of a model's features, as users know them.
#[derive(Debug)]
pub struct FeatureLabels<'a> {
    naming: Naming,
    names: NamesByFeature<'a>,
}

impl FeatureLabels<'_> {
    /// Name of a feature, or all names that share it, or its number from 1; `bias` for the constant feature.
    pub fn label(&self, feature: u32) -> String {
        if feature == BIAS_FEATURE {
            return "bias".to_owned();
        }
        let names: Vec<&str> = self.names.names(feature).collect();
        match self.naming {
            Naming::Numbered => (u64::from(feature) + 1).to_string(),
            Naming::Hashed { .. } if names.is_empty() => format!("slot {feature}"),
            Naming::Kept | Naming::Hashed { .. } => names.join(" | "),
        }
    }
}

impl Model {
    /// The weights of a task, strongest first.
    ///
    /// # Errors
    /// When there is no such task.
    pub fn explain(&self, task: &str) -> Result<Explanation, UnknownTask> {
        let task = self.task(task)?;
        let mut weights = self.learner.as_inspect().weights(task);
        weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        let labels = self.feature_labels();
        let named = |(feature, weight)| FeatureWeight { feature, name: labels.label(feature), weight };
        Ok(Explanation { task, weights: weights.into_iter().map(named).collect() })
    }

    /// Names of the features.
    pub fn feature_labels(&self) -> FeatureLabels<'_> {
        FeatureLabels { naming: self.names.naming(), names: self.names.by_feature() }
    }

    /// The feature of a name that users know; the reverse of [`FeatureLabels::label`], where that is one feature.
    pub fn feature(&self, name: &str) -> Option<u32> {
        if name == "bias" {
            return Some(BIAS_FEATURE);
        }
        if self.names.naming() != Naming::Numbered {
            return self.names.known(name);
        }
        name.parse::<u32>().ok()?.checked_sub(1).filter(|feature| *feature < BIAS_FEATURE)
    }
}
