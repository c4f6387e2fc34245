//! Ways out of errors, as fields of requests.

use cognate::Hint;

/// What to do about an error.
pub(crate) fn advice(hint: Hint) -> Option<&'static str> {
    Some(match hint {
        Hint::DeclareTasks => "leave `tasks` out of the model's config to add tasks as they occur",
        Hint::NamePositive | Hint::SpellPositive => {
            "send 1 for the label that is +1, and -1 or 0 for the other"
        }
        Hint::RealLabels | Hint::WholeLabels | Hint::TwoLabels => {
            "labels that are numbers need a loss for them: {\"learner\": {\"adaptive\": {\"loss\": \"squares\"}}}, absolute, \
             quantile or poisson"
        }
        Hint::NameTimes => "send a `time`, or forget by the number of examples",
        Hint::OpenFeatures => "leave `features` out of the model's config to add them as they occur",
        Hint::AddUp => "add the values up, or give each feature its own name",
        Hint::Scale => {
            "scale the examples: {\"stream\": {\"normalize\": \"l2\"}}, or choose smaller parameters"
        }
        Hint::LearnScaled => {
            "make a model with {\"stream\": {\"normalize\": \"l2\"}}: it scales what it predicts as well"
        }
        Hint::Weights => "choose a learner that takes weights, or leave the weights out",
        Hint::Offsets => "choose a learner that takes offsets, or leave the offsets out",
        Hint::Fit => "a live model learns one example after the other; `cognate fit` fits a file",
        _ => return None,
    })
}
