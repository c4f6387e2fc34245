//! Model files from strangers: right checksums, and anything inside. Is each refused, or good for everything?
//!
//! `cargo xtask fuzz --forge` tries many more of the same.

use std::fs;
use std::panic;
use std::path::Path;

use crate::support::forge::{Forger, Verdict, examine};
use crate::support::harness;
use crate::support::model_files::{FORMAT_VERSION, assembled, sections};
use cognate::algorithms::Protocol;
use cognate::{Features, Model, REGISTRY, TaskId};
use serde_json::{Value, json};

/// Cases here; they follow from their numbers.
const CASES: u64 = 4000;

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

#[test]
fn a_forged_model_is_refused_or_good_for_everything() {
    let forger = Forger::new(&folder("fixtures"));
    let (mut refused, mut accepted) = (0, 0);
    for case in 0..CASES {
        let verdict = panic::catch_unwind(|| examine(&forger.forge(case)));
        match verdict.unwrap_or_else(|_| panic!("case {case}: see above")) {
            Verdict::Refused => refused += 1,
            Verdict::Accepted | Verdict::Overflowing => accepted += 1,
        }
    }
    // Many changes must be seen, and many must do no harm: else nothing is tried.
    assert!(refused > CASES / 4 && accepted > CASES / 10, "{refused} refused, {accepted} accepted");
}

#[test]
fn every_learner_is_forged() {
    let forger = Forger::new(&folder("fixtures"));
    let learners = forger.learners();
    assert_eq!(learners.len(), forger.models(), "every model names its learner");
    for about in REGISTRY {
        assert!(learners.contains(&about.id.to_owned()), "no forged model of `{}`", about.id);
    }
}

/// A model of a learner that has seen two tasks.
fn model(config: &Value) -> Model {
    let mut model = harness::model(config);
    for (task, label) in [("a", 1.0), ("b", -1.0), ("a", -1.0)] {
        model.learn_one(task, Features::Numbered(&[(0, 1.0), (4, -2.0)]), label).unwrap();
    }
    model
}

/// A model whose header was changed.
fn with_header(model: &Model, change: impl FnOnce(&mut Value)) -> Result<Model, String> {
    let mut parts = sections(&model.to_bytes());
    let mut header: Value = serde_json::from_slice(&parts[0]).unwrap();
    change(&mut header);
    parts[0] = serde_json::to_vec(&header).unwrap();
    Model::from_bytes(&assembled(FORMAT_VERSION, &parts)).map_err(|error| error.to_string())
}

/// A negative clip would turn every prediction round.
#[test]
fn a_config_that_no_user_may_write_is_refused_in_a_file_too() {
    let model = model(&json!({"learner": "perceptron"}));
    for (path, value, message) in [
        ("/config/preprocess/clip", json!(-1.0), "stream.clip: must be positive and finite, got -1"),
        ("/config/preprocess/clip", json!(0.0), "stream.clip: must be positive and finite, got 0"),
        ("/config/preprocess/bias", json!(1e300), "stream.bias: must be finite and at most 1e150, got 1e300"),
        ("/config/features", json!(0), "features: must be at least 1, got 0"),
        (
            "/config/learner/perceptron/interaction/coupled/b",
            json!(-1.0),
            "learner.perceptron.interaction.coupled.b: must be a finite number of at least 0, got -1",
        ),
    ] {
        let changed = with_header(&model, |header| *header.pointer_mut(path).unwrap() = value.clone());
        let error = changed.map(|_| ()).unwrap_err();
        let error = error.replace(&format!("got 1{}", "0".repeat(300)), "got 1e300");
        assert_eq!(error, format!("the model contradicts itself: config: {message}"));
    }
}

#[test]
fn counts_that_could_overflow_are_refused() {
    let model = model(&json!({"learner": "rom-rda"}));
    for count in [(1_u64 << 53) + 1, u64::MAX] {
        let error = with_header(&model, |header| header["rounds"] = count.into()).map(|_| ()).unwrap_err();
        assert!(error.contains(&format!("a count of {count}; at most 9007199254740992")), "{error}");
        // The first count of the first task, in the one block of the first entry of a map.
        let mut parts = sections(&model.to_bytes());
        let first = 1 + b"-counts".len() + 1 + 2;
        parts[2][first..first + 8].copy_from_slice(&count.to_le_bytes());
        let error = Model::from_bytes(&assembled(FORMAT_VERSION, &parts)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(&format!("a count of {count}")), "{error}");
    }
    // As many as can be read, and one more example.
    let mut most = with_header(&model, |header| header["rounds"] = (1_u64 << 53).into()).unwrap();
    most.learn_one("a", Features::Numbered(&[(0, 1.0)]), 1.0).unwrap();
    assert_eq!(most.rounds(), (1 << 53) + 1);
}

/// The model says that it has three tasks, its learner says 4,294,967,294: 2.5 kB that took half a minute.
#[test]
fn a_number_of_tasks_that_the_model_does_not_have_is_refused_at_once() {
    let error = Model::load(folder("breakers").join("timeout-174.cog")).map(|_| ()).unwrap_err();
    let expected = "the model contradicts itself: the learner has 4294967294 tasks, the model 3";
    assert_eq!(error.to_string(), expected);
}

/// Declared tasks that never come cost nothing: neither in the file nor when they are asked about.
#[test]
fn a_hundred_thousand_declared_tasks_of_which_two_came_are_saved_and_loaded() {
    let any_number = REGISTRY.iter().filter(|about| about.most_tasks.is_none());
    for about in any_number.filter(|about| about.protocol != Protocol::Batch) {
        let declared = 100_000;
        let mut learner = json!({about.id: {}});
        if about.id.starts_with("budget-") {
            learner[about.id]["budget"] = 8.into();
        }
        let model = model(&json!({"tasks": declared, "learner": learner}));
        let bytes = model.to_bytes();
        assert!(bytes.len() < 10_000, "{}: {} bytes", about.id, bytes.len());
        let loaded = Model::from_bytes(&bytes).unwrap();
        assert!(loaded.to_bytes() == bytes, "{}", about.id);
        let inspect = loaded.learner().as_inspect();
        assert_eq!(inspect.tasks(), declared);
        for task in [0, 1, 2, declared as u32 - 1].map(TaskId) {
            let relations = (0..declared as u32).map(|from| inspect.relation(task, TaskId(from)).abs());
            let (sum, influence) = (relations.sum::<f64>(), inspect.influence(task));
            assert!((sum - influence).abs() <= 1e-6 * (1.0 + sum), "{}: {influence}, not {sum}", about.id);
            assert!(inspect.parts(&[task]).is_none_or(|parts| parts.len() == 1), "{}", about.id);
        }
    }
}

#[test]
fn more_declared_tasks_than_a_small_file_may_ask_for_are_refused() {
    let model = model(&json!({"tasks": 5, "learner": "rom-rda"}));
    for declared in [(1_u64 << 20) + 1, u64::from(u32::MAX)] {
        let error = with_header(&model, |header| header["declared_tasks"] = declared.into());
        let expected = format!(
            "the model contradicts itself: config: tasks: at most 1048576 can be declared without names, got {declared}"
        );
        assert_eq!(error.map(|_| ()).unwrap_err(), expected);
    }
    // Room for every pair of tasks is made only where the file has their numbers.
    for id in ["schatten-perceptron", "shared-loss-perceptron", "relation-perceptron"] {
        let model = self::model(&json!({"tasks": 5, "learner": id}));
        let error = with_header(&model, |header| header["declared_tasks"] = 4000.into());
        let error = error.map(|_| ()).unwrap_err();
        assert!(error.ends_with(" bytes do not hold the pairs of 4000 tasks"), "{id}: {error}");
    }
}

/// Slot 0 is where features without a weight are looked up; see `snapshots.rs` for what is said. Inner products that no vectors
/// have gave relations that are no numbers.
#[test]
fn all_breakers_are_refused() {
    let mut files = 0;
    for entry in fs::read_dir(folder("breakers")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "cog") {
            assert_eq!(examine(&fs::read(&path).unwrap()), Verdict::Refused, "{}", path.display());
            files += 1;
        }
    }
    assert!(files >= 6, "{files} files");
}
