//! Fitting a model to all examples at once.

use super::{Model, ModelConfig};
use crate::algorithms::{Convex, Learner, LearnerConfig};
use crate::config::RunConfig;
use crate::error::{ConfigError, ConfigProblem};
use crate::fingerprint::fingerprint;
use crate::fit::{Examples, FitError, FitOptions, Fitted, Fitter, Kind, Watch};
use crate::metrics::Scored;
use crate::stream::StreamError;

impl Model {
    /// Fits a batch learner to examples, whose tasks and names become those of the model.
    ///
    /// In classification the counts are those of the fitted margins on the same examples; real labels are not counted.
    ///
    /// # Errors
    /// With every problem of the config; when its learner learns from streams; when it does not suit the examples; when
    /// it weighs classes and [`Examples::weigh_classes`] was not told; when something is not finite.
    pub fn fit(
        config: &RunConfig,
        examples: &Examples,
        options: &FitOptions,
        watch: &Watch<'_>,
    ) -> Result<(Self, Fitted), FitError> {
        config.validate()?;
        let LearnerConfig::Convex(parameters) = &config.learner else {
            let message =
                format!("`{}` learns from streams and cannot be fitted; `convex` can", config.learner.id());
            return Err(ConfigError::from(ConfigProblem::new("learner", message)).into());
        };
        examples.check_class_weight(&config.stream.class_weight)?;
        let within = |error: FitError| match error {
            FitError::Config(error) => FitError::Config(error.within("learner.convex")),
            other => other,
        };
        let fitter = Fitter::new(parameters, examples, options.memory).map_err(within)?;
        let fitted = fitter.fit(parameters, None, options, watch).map_err(within)?;
        let convex = Convex::from_fit(parameters, examples, &fitted);
        if let Some(what) = convex.overflow() {
            return Err(FitError::NotFinite { what });
        }
        let kept = ModelConfig { simultaneous: false, seed: None, ..ModelConfig::of(config) };
        let mut model = Self::made(kept, examples.tasks().clone(), Learner::Convex(convex));
        model.agree_on_naming(examples.naming())?;
        for (name, feature) in examples.names() {
            if !model.names.adopt(name, feature) {
                return Err(StreamError::foreign_feature(name).into());
            }
        }
        model.columns.adopt(examples.columns())?;
        model.settle_format();
        if examples.kind() == Kind::Classification {
            model.labels.adopt(examples.label_names());
            for example in examples.examples() {
                let margin = model.learner.as_predict().margin(example.task, example.features);
                let probability = model.learner.as_inspect().probability(margin);
                let scored = Scored::class(example.label, example.weight, margin, probability);
                model.metrics.count(example.task, &scored, false, true);
                model.metrics.learn(fingerprint(example));
            }
        }
        model.rounds = examples.len() as u64;
        Ok((model, fitted))
    }
}
