//! How sure is a learner, where it knows that?

use super::{Learner, LearnerConfig, Sample, fresh, learn, stream};
use crate::example::Example;

/// Before and after learning, and of an example that it learns again and again.
pub(super) fn variance_is_sound_and_shrinks(config: &LearnerConfig) -> Result<(), String> {
    let (samples, mut learner) = (stream(config, 41, 300)?, fresh(config)?);
    let variance = |learner: &Learner, sample: &Sample| {
        let Example { task, features, .. } = sample.example();
        learner.as_predict().variance(task, features)
    };
    let (before, repeated) = (learner.to_bytes(), &samples[0]);
    let Some(prior) = variance(&learner, repeated) else { return Ok(()) };
    if !(prior.is_finite() && prior > 0.0) || learner.to_bytes() != before {
        return Err(format!("a fresh learner's variance is {prior}, or asking for it changed the state"));
    }
    for part in samples.chunks(100) {
        learn(&mut learner, part);
        for probe in &samples {
            let found = variance(&learner, probe).ok_or("a variance is gone")?;
            if !(found.is_finite() && found >= 0.0) || variance(&learner, probe) != Some(found) {
                return Err(format!("a variance is {found}, or another one when asked again"));
            }
        }
    }
    // Who forgets, and leaves out what is well learnt, becomes unsure of it again.
    let forgets = |parameters: &serde_json::Value| !parameters["forget"].is_null();
    let parameters = serde_json::to_value(config).map_err(|error| error.to_string())?;
    if parameters.as_object().is_some_and(|learner| learner.values().any(forgets)) {
        return Ok(());
    }
    let mut learner = fresh(config)?;
    for _ in 0..200 {
        learn(&mut learner, std::slice::from_ref(repeated));
    }
    match variance(&learner, repeated) {
        Some(last) if last < 0.5 * prior => Ok(()),
        last => Err(format!("the variance of an example learnt 200 times is {last:?}, it was {prior}")),
    }
}
