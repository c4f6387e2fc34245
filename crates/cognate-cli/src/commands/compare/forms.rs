//! The forms of a learner that differ in what tasks share, and in nothing else: so is what sharing gains told like for
//! like.

use cognate::LearnerConfig;
use serde_json::{Value, json};

/// What the tasks of a learner share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As much as the learner lets them.
    Shared,
    /// Nothing.
    Independent,
    /// Everything: one model for all.
    Pooled,
}

impl Form {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Independent => "independent",
            Self::Pooled => "pooled",
        }
    }
}

/// A form of a learner: which learner has it, and by which parameters.
pub(super) struct Shape {
    pub(super) learner: &'static str,
    pub(super) parameters: Value,
}

/// Whether a learner has a form in which some things are shared and others are not.
pub(super) fn shares_in_part(id: &str) -> bool {
    id != "passive-aggressive"
}

/// The form of a learner, if it has it.
pub(super) fn shape(id: &'static str, form: Form) -> Option<Shape> {
    let of = |learner: &'static str, parameters: Value| Some(Shape { learner, parameters });
    // Penalties so large that a part is never used.
    const NEVER: f64 = 1e9;
    match (id, form) {
        (_, Form::Shared) => shares_in_part(id).then(|| Shape { learner: id, parameters: json!({}) }),
        // With R fixed to the identity, or to ones, it is the Perceptron of that interaction.
        ("relation-perceptron", form) => of("perceptron", json!({ "interaction": form.name() })),
        ("passive-aggressive", Form::Independent) => of(id, json!({ "scope": "individual" })),
        ("passive-aggressive", Form::Pooled) => of(id, json!({ "scope": "global" })),
        ("collaborative", Form::Independent) => of(id, json!({ "own": 1.0, "global": 0.0 })),
        ("collaborative", Form::Pooled) => of(id, json!({ "own": 0.0, "global": 1.0 })),
        ("rom-pgd" | "rom-rda", Form::Independent) => of(id, json!({ "alpha": NEVER })),
        ("rom-pgd" | "rom-rda", Form::Pooled) => of(id, json!({ "beta": NEVER, "gamma": NEVER })),
        ("schatten-perceptron" | "shared-loss-perceptron", Form::Independent) => of(id, json!({ "p": 1.0 })),
        _ => {
            let defaults = json!(LearnerConfig::from_id(id)?);
            if defaults[id].get("interaction").is_some() {
                let mut parameters = json!({ "interaction": form.name() });
                // Groups are of tasks that share; whatever number was set, none are looked for.
                if defaults[id].get("groups").is_some() {
                    parameters["groups"] = json!("auto");
                }
                return of(id, parameters);
            }
            let graph = defaults[id].get("graph").is_some() && form == Form::Independent;
            graph.then(|| Shape { learner: id, parameters: json!({ "graph": "disconnected" }) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate::REGISTRY;
    use cognate::algorithms::Protocol;

    /// Every learner of the registry has its forms here, or is known to have none.
    #[test]
    fn every_form_of_every_learner_is_a_config() {
        for about in REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch) {
            for form in [Form::Shared, Form::Independent, Form::Pooled] {
                let Some(Shape { learner, parameters }) = shape(about.id, form) else {
                    let known = match form {
                        Form::Shared => about.id == "passive-aggressive",
                        Form::Independent => false,
                        Form::Pooled => {
                            about.id.starts_with("budget-")
                                || ["schatten-perceptron", "shared-loss-perceptron"].contains(&about.id)
                        }
                    };
                    assert!(known, "{} has no form {form:?}", about.id);
                    continue;
                };
                let config: LearnerConfig = serde_json::from_value(json!({ learner: parameters })).unwrap();
                config.build(&cognate::Tasks::open()).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}
