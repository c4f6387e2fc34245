//! Weights to be used elsewhere: what tasks share, and what is their own.

use super::Model;
use crate::example::{BIAS_FEATURE, SparseView, TaskId};
use crate::fit::Kind;
use crate::hint::Hint;
use crate::learner::{OwnWeights, SharedVector};

/// Why the weights of a model cannot be handed out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The learner keeps examples, and its kernel has no weights.
    #[error("`{learner}` keeps examples and a kernel, and has no weights to export")]
    Dual {
        /// The learner's id.
        learner: &'static str,
    },
    /// Its margins are not linear in the features.
    #[error(
        "margins of `{learner}` also depend on how far an example is from those before it: no weights give them"
    )]
    NotLinear {
        /// The learner's id.
        learner: &'static str,
    },
}

impl ExportError {
    /// A way out, if one is known.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Dual { .. } => Some(Hint::Supports),
            Self::NotLinear { .. } => None,
        }
    }
}

/// The weights of a model, task by task.
///
/// The margin of an example x of task i is w_i'x with w_i = own_i + sum_j factor_ij shared_j, where the feature
/// [`BIAS_FEATURE`] is 1 in every example, and x is scaled as the model's config says.
#[derive(Debug)]
pub struct Export<'a> {
    model: &'a Model,
    /// Whether labels are real numbers, each task's in units of its own: vectors that tasks share say nothing then.
    real: bool,
    shared: Vec<SharedVector>,
}

impl Export<'_> {
    /// The vectors that tasks share.
    pub fn shared(&self) -> &[SharedVector] {
        &self.shared
    }

    /// What is a task's own, and its factor of each shared vector.
    pub fn task(&self, task: TaskId) -> OwnWeights {
        let learner = self.model.learner.as_inspect();
        let mut weights = if self.real {
            OwnWeights { factors: Vec::new(), own: learner.weights(task) }
        } else {
            learner.own_weights(task)
        };
        let constant = self.model.config.preprocess.bias.unwrap_or(1.0);
        if constant != 1.0 {
            self.rescale_bias(task, constant, &mut weights);
        }
        weights
    }

    /// The constant feature of the stream is another number than 1, which that of the learner's own is.
    fn rescale_bias(&self, task: TaskId, constant: f64, weights: &mut OwnWeights) {
        let bias = |weights: &[(u32, f64)]| match weights.last() {
            Some((BIAS_FEATURE, weight)) => *weight,
            _ => 0.0,
        };
        let shared = weights.factors.iter().zip(&self.shared);
        let both =
            bias(&weights.own) + shared.map(|(factor, vector)| factor * bias(&vector.weights)).sum::<f64>();
        let intercept = self.model.learner.as_predict().margin(task, SparseView::trusted(&[], &[]));
        let more = (both - intercept) * (constant - 1.0);
        match weights.own.last_mut() {
            Some((BIAS_FEATURE, weight)) => *weight += more,
            _ => weights.own.push((BIAS_FEATURE, more)),
        }
    }
}

impl Model {
    /// The weights of every task, to be used elsewhere.
    ///
    /// # Errors
    /// When no weights give the margins of the learner.
    pub fn export(&self) -> Result<Export<'_>, ExportError> {
        let (learner, about) = (self.learner.as_inspect(), self.learner.about());
        let of_task = |task: usize| learner.weights(TaskId(task as u32));
        if !learner.is_linear() {
            return Err(ExportError::NotLinear { learner: about.id });
        }
        let keeps_examples = learner.supports().is_some_and(|supports| !supports.is_empty());
        if keeps_examples && (0..learner.tasks()).all(|task| of_task(task).is_empty()) {
            return Err(ExportError::Dual { learner: about.id });
        }
        let real = self.config.learner.kind() == Kind::Regression;
        let shared = if real { Vec::new() } else { learner.shared_vectors() };
        Ok(Export { model: self, real, shared })
    }
}

#[cfg(test)]
mod tests {
    use crate::{BIAS_FEATURE, Model, RunConfig};

    #[test]
    fn weights_give_the_margins_whatever_labels_are() {
        for json in ["{}", r#"{"learner": {"adaptive": {"loss": "squares"}}}"#] {
            let config: RunConfig = serde_json::from_str(json).unwrap();
            let mut model = Model::new(&config).unwrap();
            for turn in 0..60_u32 {
                let (x, task) = (f64::from(turn % 7) - 3.0, ["a", "b"][turn as usize % 2]);
                let label = if json == "{}" { (x + 0.1).signum() } else { 20.0 + 3.0 * x };
                model.learn_one(task, &[(0, x), (1, 1.0)], label).unwrap();
            }
            let (export, task) = (model.export().unwrap(), model.task("a").unwrap());
            let weights = export.task(task);
            let mut sum = 0.0;
            for (feature, value) in [(0, 0.5), (1, 1.0), (BIAS_FEATURE, 1.0)] {
                let of = |weights: &[(u32, f64)]| {
                    weights.iter().find(|(at, _)| *at == feature).map_or(0.0, |(_, weight)| *weight)
                };
                let shared = weights.factors.iter().zip(export.shared());
                sum += value * (of(&weights.own) + shared.map(|(f, v)| f * of(&v.weights)).sum::<f64>());
            }
            let margin = model.predict_one("a", &[(0, 0.5), (1, 1.0)]).unwrap().margin;
            assert!((sum - margin).abs() < 1e-9 * margin.abs().max(1.0), "{json}: {sum} {margin}");
        }
    }
}
