//! Extreme values and parameters: what is saved loads, what is refused leaves the old file, and nothing panics.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use crate::conformance::SUBJECTS;
use crate::support::readers::labels;
use cognate::algorithms::Protocol;
use cognate::fit::{Examples, FitError, FitOptions};
use cognate::internal::generator;
use cognate::run::RunOptions;
use cognate::stream::{Input, Labels, ReadOptions};
use cognate::{LearnerConfig, Model, REGISTRY, RunConfig, RunError, SnapshotError, StreamError};
use rand::{Rng, RngExt as _};
use serde_json::{Value, json};

/// What a parameter is set to, where it may be.
const PARAMETERS: [f64; 6] = [1e-300, 1e-150, 1e6, 1e150, 1e155, 1e300];
/// What a value may be; the largest is the largest that a stream may have.
const VALUES: [f64; 12] = [1.0, -1.0, 0.5, 3.0, 1e-300, 1e-150, 1e75, -1e75, 1e100, 1e150, -1e150, 1e150];
const STREAMS_PER_CONFIG: u64 = 16;
const ROUNDS: usize = 9;
const TASKS: [&str; 3] = ["a", "b", "c"];

/// How runs ended.
#[derive(Default, Debug)]
struct Endings {
    /// Learnt to the end and saved.
    well: usize,
    /// The run ended in an error.
    in_error: usize,
    /// The run did not, and the model was not saved.
    unsaved: usize,
    /// Models that were saved, loaded, asked and taught further, at every round.
    cuts: usize,
}

/// A config of a learner with one number after the other replaced by an extreme one, where that is allowed.
fn with_extremes(learner: &Value) -> Vec<Value> {
    let mut places = Vec::new();
    find_numbers(learner, &mut String::new(), &mut places);
    let replaced = |place: &String, number: f64| {
        let mut changed = learner.clone();
        *changed.pointer_mut(place).unwrap() = json!(number);
        changed
    };
    let all = places.iter().flat_map(|place| PARAMETERS.map(|number| replaced(place, number)));
    all.filter(builds).collect()
}

/// Paths of the numbers, and of what stands for one.
fn find_numbers(value: &Value, path: &mut String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let length = path.len();
                *path += &format!("/{name}");
                find_numbers(field, path, found);
                path.truncate(length);
            }
        }
        Value::Number(_) => found.push(path.clone()),
        Value::String(text) if text == "auto" => found.push(path.clone()),
        _ => {}
    }
}

fn builds(learner: &Value) -> bool {
    config_of(learner, false).is_some_and(|config| Model::new(&config).is_ok())
}

fn config_of(learner: &Value, simultaneous: bool) -> Option<RunConfig> {
    serde_json::from_value(json!({"learner": learner, "stream": {"simultaneous": simultaneous}})).ok()
}

/// Every learner with its defaults and extreme parameters, with a polynomial kernel where it takes one, and on the smallest
/// budget; then every machine of the conformance tests.
fn configs(batch: bool) -> Vec<Value> {
    let mut all = Vec::new();
    for about in REGISTRY.iter().filter(|about| (about.protocol == Protocol::Batch) == batch) {
        let defaults = serde_json::to_value(LearnerConfig::from_id(about.id).unwrap()).unwrap();
        let with = |name: &str, value: Value| {
            let mut changed = defaults.clone();
            changed[about.id][name] = value;
            Some(changed).filter(builds)
        };
        let polynomial = with("kernel", json!({"polynomial": {"degree": 2}}));
        let smallest = polynomial.clone().and_then(|mut changed| {
            changed[about.id]["budget"] = json!(1);
            Some(changed).filter(builds)
        });
        all.extend(with_extremes(&defaults));
        all.extend(polynomial.iter().flat_map(with_extremes));
        all.extend([Some(defaults), polynomial, smallest].into_iter().flatten());
    }
    let machines = SUBJECTS.iter().map(|(_, learner)| serde_json::from_str(learner).unwrap());
    if !batch {
        all.extend(machines);
    }
    all
}

/// A text of so many rounds of one example per task; mostly usual values, some extreme ones.
fn rounds(tasks: [&str; 3], rng: &mut impl Rng) -> Vec<String> {
    let extreme = rng.random_range(0.05..0.6);
    let line = |task: &str, rng: &mut dyn Rng| {
        let mut text = format!("{} task:{task}", if rng.random_bool(0.5) { "+1" } else { "-1" });
        for feature in 1..=3 {
            if rng.random_bool(0.7) {
                let wild = rng.random_bool(extreme);
                let value = if wild {
                    VALUES[rng.random_range(0..VALUES.len())]
                } else {
                    rng.random_range(-1.0..1.0)
                };
                text += &format!(" {feature}:{value:e}");
            }
        }
        text + "\n"
    };
    (0..ROUNDS).map(|_| tasks.map(|task| line(task, rng)).concat()).collect()
}

fn input(text: &str) -> Vec<Input> {
    vec![Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() }]
}

fn learn(model: &mut Model, text: &str) -> Result<(), RunError> {
    let mut reader = model.reader(input(text), ReadOptions::default()).unwrap();
    model.learn(&mut reader, &RunOptions::default(), &mut ()).map(|_| ())
}

/// Every margin is finite, or the stream ends in an error that says where one is not.
fn predict(model: &Model, text: &str, context: &str) {
    let mut reader = model.prediction_reader(input(text), ReadOptions::default()).unwrap();
    let predicted = model.predict(&mut reader, NonZeroUsize::MIN, &mut |predictions| {
        assert!(predictions.margins().iter().all(|margin| margin.is_finite()), "{context}");
        ControlFlow::Continue(())
    });
    match predicted {
        Ok(()) => {}
        Err(StreamError::Margin { place, margin, .. }) => {
            assert!(place.starts_with("text:") && !margin.is_finite(), "{context}: {place}, {margin}");
        }
        Err(other) => panic!("{context}: {other}"),
    }
}

/// Learns round by round; after each, the model is loaded from what would be saved, asked, and taught the next round.
fn follow(config: &RunConfig, rounds: &[String], path: &Path, context: &str, endings: &mut Endings) {
    let mut model = Model::new(config).unwrap();
    let mut saved = model.to_loadable_bytes().unwrap_or_else(|error| panic!("{context}: {error}"));
    for (at, round) in rounds.iter().enumerate() {
        let mut resumed = Model::from_bytes(&saved).unwrap_or_else(|error| panic!("{context}: {error}"));
        let learnt = learn(&mut model, round);
        assert_eq!(learnt.is_ok(), learn(&mut resumed, round).is_ok(), "{context}, round {at}");
        if let Err(error) = learnt {
            let expected = matches!(error, RunError::Diverged { .. } | RunError::Overflow { .. });
            assert!(expected, "{context}, round {at}: {error}");
            endings.in_error += 1;
            return unchanged(path, &model, None, context);
        }
        match model.to_loadable_bytes() {
            Ok(bytes) => saved = bytes,
            Err(error) => {
                assert!(matches!(error, SnapshotError::Unloadable { .. }), "{context}: {error}");
                endings.unsaved += 1;
                return unchanged(path, &model, Some(&error), context);
            }
        }
        assert!(resumed.to_bytes() == saved, "{context}: resumed before round {at}, the model differs");
        predict(&model, &rounds.concat(), context);
        endings.cuts += 1;
    }
    endings.well += 1;
    // Syncing takes long, so not every file is really written.
    if endings.well % 16 == 1 {
        model.save(path).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(Model::load(path).unwrap().to_bytes() == saved, "{context}");
    }
}

/// A model that cannot be saved leaves the file as it was, and that loads.
fn unchanged(path: &Path, model: &Model, expected: Option<&SnapshotError>, context: &str) {
    let before = fs::read(path).unwrap();
    if let Some(expected) = expected {
        let refused = model.save(path).unwrap_err();
        assert_eq!(refused.to_string(), expected.to_string(), "{context}");
        assert!(refused.hint().is_some(), "{context}");
        let reason = refused.to_string();
        assert!(reason.contains(" not finite") || reason.contains(" no numbers"), "{context}: {reason}");
    }
    assert!(fs::read(path).unwrap() == before, "{context}");
    Model::load(path).unwrap_or_else(|error| panic!("{context}: {error}"));
}

#[test]
fn what_is_saved_loads_whatever_the_stream_and_the_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.cog");
    Model::new(&RunConfig::default()).unwrap().save(&path).unwrap();
    let (mut endings, mut learners) = (Endings::default(), BTreeSet::new());
    for (number, learner) in configs(false).iter().enumerate() {
        for stream in 0..STREAMS_PER_CONFIG {
            // A matrix is of as many tasks as it has rows, whose names are numbers, and a round of as many.
            let matrix = learner.to_string().contains("matrix");
            let config = config_of(learner, stream % 2 == 1 && !matrix).unwrap();
            let mut rng = generator(number as u64, stream);
            let text = rounds(if matrix { ["1", "2", "3"] } else { TASKS }, &mut rng);
            follow(&config, &text, &path, &format!("{learner}, stream {stream}"), &mut endings);
            learners.insert(config.learner.id());
        }
    }
    let streams = REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch).count();
    assert_eq!(learners.len(), streams, "every learner of streams was there");
    assert!(endings.well > 3000 && endings.in_error > 800 && endings.unsaved > 0, "{endings:?}");
    assert!(endings.cuts > 30_000, "{endings:?}");
}

#[test]
fn what_is_fitted_and_saved_loads() {
    let (mut well, mut in_error) = (0, 0);
    for (number, learner) in configs(true).iter().enumerate() {
        for stream in 0..2 {
            let context = format!("{learner}, stream {stream}");
            let config = config_of(learner, false).unwrap();
            let text = rounds(TASKS, &mut generator(number as u64, stream)).concat();
            let mut reader = config.reader(input(&text), labels(Labels::Real)).unwrap();
            let examples = Examples::read(&mut reader, &config.declared_tasks().unwrap()).unwrap();
            match Model::fit(&config, &examples, &FitOptions::default(), &|round, _| round < 50) {
                Ok((model, _)) => {
                    let bytes =
                        model.to_loadable_bytes().unwrap_or_else(|error| panic!("{context}: {error}"));
                    predict(&Model::from_bytes(&bytes).unwrap(), &text, &context);
                    well += 1;
                }
                Err(FitError::NotFinite { .. }) => in_error += 1,
                Err(other) => panic!("{context}: {other}"),
            }
        }
    }
    assert!(well > 50 && in_error > 20, "{well} fits ended well, {in_error} in an error");
}

/// Two lines of 1e150 after a good stream; a line on which every score of a projectron was NaN.
#[test]
fn overflowing_supports_end_the_run_and_do_not_panic() {
    let good = "+1 task:1 1:1 2:1\n-1 task:2 1:1 2:-1\n";
    let twice = format!("{good}-1 task:2 1:1e150\n+1 task:2 1:1e150\n");
    let unordered = "-1 task:a 1:1e75 2:1e75\n+1 task:a 2:-1e150\n-1 task:a 1:1e150\n-1 task:a 1:1\n";
    for learner in ["budget-projectron", "budget-shared-projectron"] {
        for (budget, text) in [(1, unordered), (20, &twice), (1, &twice)] {
            let parameters = json!({"kernel": "polynomial", "budget": budget});
            let mut model = crate::support::harness::model(&json!({"learner": {learner: parameters}}));
            let error = learn(&mut model, text).unwrap_err();
            assert!(matches!(error, RunError::Overflow { .. } | RunError::Diverged { .. }), "{error}");
            assert!(error.hint().is_some(), "{error}");
        }
    }
    for learner in ["second-order-perceptron", "schatten-perceptron"] {
        let config = json!({"learner": {learner: {"kernel": "polynomial"}}});
        let mut model = crate::support::harness::model(&config);
        let error = learn(&mut model, "+1 task:a 1:1e150\n").unwrap_err().to_string();
        assert!(error.starts_with("by round 1, the "), "{error}");
    }
}
