//! What is unusual about a model: is it told, and is nothing told of usual ones?

use std::fs;
use std::path::Path;

use crate::support::harness;
use crate::support::model_files::{FORMAT_VERSION, assembled, sections};
use cognate::model::Unusual;
use cognate::{Features, Model, Naming};
use serde_json::{Value, json};

/// A model that has seen two tasks, three times.
fn model(config: &Value) -> Model {
    let mut model = harness::model(config);
    for (task, label) in [("a", 1.0), ("b", -1.0), ("a", -1.0)] {
        model.learn_one(task, Features::Numbered(&[(0, 1.0), (4, -2.0)]), label).unwrap();
    }
    model
}

/// What is unusual after a change of the header and of the counts: seven of each task.
fn unusual(model: &Model, change: impl FnOnce(&mut Value, &mut [[u64; 7]; 2])) -> Vec<String> {
    let mut parts = sections(&model.to_bytes());
    let mut header: Value = serde_json::from_slice(&parts[0]).unwrap();
    // A map whose first entry is the counts, in a sequence of one block of 112 bytes.
    let start = 1 + b"-counts".len() + 1 + 2;
    let number = |at: usize| u64::from_le_bytes(parts[2][start + 8 * at..][..8].try_into().unwrap());
    let mut counts: [[u64; 7]; 2] =
        std::array::from_fn(|task| std::array::from_fn(|at| number(7 * task + at)));
    change(&mut header, &mut counts);
    parts[0] = serde_json::to_vec(&header).unwrap();
    // Sums and samples, which would contradict other counts, are left out: a map of one entry.
    parts[2].truncate(start);
    parts[2][0] = 0x81;
    parts[2].extend(counts.as_flattened().iter().flat_map(|count| count.to_le_bytes()));
    let model = Model::from_bytes(&assembled(FORMAT_VERSION, &parts)).unwrap();
    model.unusual().iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_is_unusual_about_released_models() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut models = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let model = Model::load(&path).unwrap();
        assert_eq!(model.unusual(), [], "{}", path.display());
        models += 1;
    }
    assert!(models > 50, "{models} models");
}

#[test]
fn counts_that_contradict_each_other_are_told() {
    let model = model(&json!({"learner": "perceptron"}));
    assert_eq!(unusual(&model, |_, _| {}), [""; 0]);
    assert_eq!(
        unusual(&model, |header, _| header["rounds"] = 2.into()),
        ["3 examples, though 2 rounds cannot have held so many"]
    );
    // Updates are the third count, labels asked for the fourth.
    let asked_less = unusual(&model, |_, counts| counts[0][3] = 0);
    assert_eq!(asked_less, ["3 updates, though only 1 labels were asked for"]);
}

#[test]
fn weights_that_nothing_can_have_taught_are_told() {
    let alone = model(&json!({"learner": {"perceptron": {"interaction": "independent"}}}));
    assert_eq!(
        unusual(&alone, |_, counts| counts[1] = [0; 7]),
        ["task \"b\": 2 weights, though it has had no example and no other task teaches it"]
    );
    let coupled = model(&json!({"learner": "perceptron"}));
    assert_eq!(
        unusual(&coupled, |_, counts| counts[1] = [0; 7]),
        [""; 0],
        "the other task may have taught it"
    );
    assert_eq!(
        unusual(&coupled, |_, counts| *counts = [[0; 7]; 2])[0],
        "task \"a\": 2 weights, though the model has had no example"
    );
    assert_eq!(
        unusual(&coupled, |header, _| header["config"]["features"] = 4.into()),
        [
            "task \"a\": a weight of feature 4, which no example can have",
            "task \"b\": a weight of feature 4, which no example can have"
        ]
    );
    let kernel = model(&json!({"learner": "kernel-perceptron"}));
    let unseen = unusual(&kernel, |_, counts| counts[1] = [0; 7]);
    assert_eq!(unseen, ["task \"b\": an example of it is kept, though it has had none"]);
}

#[test]
fn extreme_numbers_and_commanding_names_are_told() {
    let config = json!({"learner": {"perceptron": {"interaction": {"coupled": {"b": 1e30}}}}});
    let path = "learner.perceptron.interaction.coupled.b".to_owned();
    assert_eq!(model(&config).unusual(), [Unusual::Parameter { path, value: 1e30 }]);
    let mut large = model(&json!({"learner": {"perceptron": {"interaction": "independent"}}}));
    large.learn_one("c", Features::Numbered(&[(7, -1e20)]), 1.0).unwrap();
    let weight = Unusual::Weight { task: "c".to_owned(), feature: 7, weight: -1e20 };
    assert_eq!(large.unusual(), [weight]);
    // Streams have no such tasks; a config may declare them.
    let mut named = harness::model(&json!({"tasks": ["a", "a\u{1b}[2J"], "learner": "perceptron"}));
    named.learn_one("a", Features::Named(&[("x\n", 1.0)]), 1.0).unwrap();
    assert_eq!(named.names().naming(), Naming::Kept);
    let told: Vec<String> = named.unusual().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [r#"the name "a\u{1b}[2J" has control characters"#, r#"the name "x\n" has control characters"#]
    );
}

/// The same thing a thousand times says no more than some times.
#[test]
fn findings_of_a_kind_are_cut() {
    let mut large = harness::model(&json!({"learner": {"perceptron": {"interaction": "independent"}}}));
    for task in 0..30 {
        large.learn_one(&task.to_string(), Features::Numbered(&[(7, 1e20)]), 1.0).unwrap();
    }
    assert_eq!(large.unusual().len(), 20);
}
