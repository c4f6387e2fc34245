//! Models of format version 1: what their headers say about reading is understood, or refused with a reason.

use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use crate::support::harness;
use crate::support::model_files::{FORMAT_VERSION, assembled, sections};
use crate::support::readers::{input, reader_for};
use crate::support::samples::{samples, text};
use crate::support::texts::{LINES, texts};
use cognate::Model;
use cognate::run::RunOptions;
use cognate::stream::ReadOptions;
use serde_json::{Value, json};

/// A model's file as version 1 would have written it, with `reading` in its header, or none for the default.
fn as_version_1(model: &Model, reading: &Value) -> Vec<u8> {
    let mut parts = sections(&model.to_bytes());
    let mut header: Value = serde_json::from_slice(&parts[0]).unwrap();
    let mut config = header["config"].clone();
    let kept = config.as_object_mut().unwrap();
    for key in ["format", "naming", "one_vs_all"] {
        assert!(kept.remove(key).is_some(), "{key} is not there to be removed");
    }
    if !reading.is_null() {
        kept.insert("reading".to_owned(), reading.clone());
    }
    (header["config"], header["min_reader"]) = (config, json!(1));
    header.as_object_mut().unwrap().remove("columns");
    parts[0] = serde_json::to_vec(&header).unwrap();
    assembled(1, &parts)
}

/// Header and sections of a model without what columns hold, which version 1 did not know.
fn without_columns(bytes: &[u8]) -> (Value, Vec<Vec<u8>>) {
    let mut parts = sections(bytes);
    let mut header: Value = serde_json::from_slice(&parts.remove(0)).unwrap();
    header.as_object_mut().unwrap().remove("columns");
    (header, parts)
}

fn learn(model: &mut Model, text: &str) {
    let mut reader = reader_for(model, vec![input(text)]);
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
}

fn margins(model: &Model, text: &str) -> Vec<u64> {
    let mut reader = model.prediction_reader(vec![input(text)], ReadOptions::default()).unwrap();
    let mut margins = Vec::new();
    let visit = &mut |predictions: &cognate::model::Predictions<'_>| {
        margins.extend(predictions.iter().map(|(_, margin)| margin.to_bits()));
        ControlFlow::Continue(())
    };
    model.predict(&mut reader, NonZeroUsize::MIN, visit).unwrap();
    margins
}

#[test]
fn what_was_said_about_reading_is_understood() {
    for case in texts() {
        let about = &case.reading;
        let mut whole = case.model();
        learn(&mut whole, &case.text(0..LINES));
        let mut half = case.model();
        learn(&mut half, &case.text(0..LINES / 2));
        let old = as_version_1(&half, about);
        let mut loaded = Model::from_bytes(&old).unwrap_or_else(|error| panic!("{about}: {error}"));
        // Saved again it is today's model, which predicts the same and keeps learning the same.
        let saved = loaded.to_bytes();
        assert!(without_columns(&saved) == without_columns(&half.to_bytes()), "{about}");
        let mut again = Model::from_bytes(&saved).unwrap();
        let rest = case.text(LINES / 2..LINES);
        let found = margins(&loaded, &rest);
        assert!(found == margins(&half, &rest) && found == margins(&again, &rest), "{about}");
        assert!(found.iter().any(|margin| *margin != 0), "{about}");
        learn(&mut loaded, &rest);
        learn(&mut again, &rest);
        assert!(loaded.to_bytes() == whole.to_bytes() && again.to_bytes() == whole.to_bytes(), "{about}");
    }
}

/// A version 1 model with numbers can only have learnt numbers.
#[test]
fn numbers_are_decided_once_something_was_learnt() {
    let fresh = harness::model(&json!({"learner": "perceptron"}));
    let mut loaded = Model::from_bytes(&as_version_1(&fresh, &json!(null))).unwrap();
    assert_eq!(json!(loaded.config())["naming"], json!({"auto": {}}));
    assert!(loaded.to_bytes() == fresh.to_bytes());
    loaded.learn_one("a", &[("x", 1.0)], 1.0).unwrap();

    let mut learnt = harness::model(&json!({"learner": "perceptron"}));
    learnt.learn_one("a", &[(0, 1.0)], 1.0).unwrap();
    let mut loaded = Model::from_bytes(&as_version_1(&learnt, &json!(null))).unwrap();
    assert_eq!(json!(loaded.config())["naming"], json!({"numbered": {}}));
    assert_eq!(
        loaded.learn_one("a", &[("x", 1.0)], 1.0).unwrap_err().to_string(),
        "row 0: features are given by name; those of this model have numbers"
    );
    // Formats with names never had numbers.
    let csv = harness::model(&json!({"stream": {"format": "csv"}, "learner": "perceptron"}));
    let loaded = Model::from_bytes(&as_version_1(&csv, &json!({"format": "csv"}))).unwrap();
    assert_eq!(json!(loaded.config())["naming"], json!({"named": {}}));
}

#[test]
fn what_contradicts_itself_is_refused_with_the_reason() {
    let mut model = harness::model(&json!({"learner": "perceptron"}));
    model.learn_one("a", &[(0, 1.0)], 1.0).unwrap();
    let another = "header: reading: a parameter of another format";
    for (reading, message) in [
        (json!({"format": "svm", "bits": 5}), "header: bits: features of `svm` have numbers"),
        (json!({"format": "vw", "task-column": "who"}), another),
        (json!({"format": "vw", "categorical": ["zip"]}), another),
        (json!({"format": "jsonl", "label-column": "y"}), another),
        (json!({"format": "csv", "task-namespace": "user"}), another),
        (json!({"task-column": "who"}), another),
        (
            json!({"format": "jsonl", "names": false}),
            "header: names: can be forgotten only where they are hashed",
        ),
        (
            json!({"format": "vw", "bits": 40}),
            "config: stream.naming.hashed.bits: must be from 1 to 31, got 40",
        ),
        (
            json!({"format": "csv", "task-column": "who", "one-vs-all": true}),
            "config: stream.one-vs-all: classes are the tasks; a line has no other",
        ),
    ] {
        let refused = Model::from_bytes(&as_version_1(&model, &reading)).unwrap_err().to_string();
        assert_eq!(refused, format!("the model contradicts itself: {message}"), "{reading}");
    }
    for (reading, part) in [
        (json!({"format": "xml"}), "unknown variant `xml`"),
        (json!({"colour": 1}), "unknown field `colour`"),
    ] {
        let refused = Model::from_bytes(&as_version_1(&model, &reading)).unwrap_err().to_string();
        assert!(refused.starts_with("the model contradicts itself: header: "), "{refused}");
        assert!(refused.contains(part), "{refused}");
    }
    // Names of features where there are none, and none where there are.
    let mut named = harness::model(&json!({"learner": "perceptron"}));
    named.learn_one("a", &[("x", 1.0)], 1.0).unwrap();
    let refused = Model::from_bytes(&as_version_1(&named, &json!(null))).unwrap_err().to_string();
    assert_eq!(refused, "the model contradicts itself: features have names, though none are kept");
    let hashed = json!({"format": "jsonl", "bits": 5});
    let refused = Model::from_bytes(&as_version_1(&named, &hashed)).unwrap_err().to_string();
    assert_eq!(refused, "the model contradicts itself: 0 slots of features, expected 1");
}

#[test]
fn released_models_go_on_as_they_would_have() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let more = text(&samples(9, 3, 6, 60), |task| ["ann", "bob", "7"][task].to_owned());
    let mut resumed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("v1-") || name.contains("convex") {
            continue;
        }
        let mut old = Model::load(&path).unwrap();
        assert_eq!(json!(old.config())["naming"], json!({"numbered": {}}), "{name}");
        let mut new = Model::from_bytes(&old.to_bytes()).unwrap();
        let more = if name.contains("matrix") {
            more.replace("task:ann", "task:1").replace("task:bob", "task:2").replace("task:7", "task:3")
        } else {
            more.clone()
        };
        let (then, now) = (harness::learn(&mut old, &more), harness::learn(&mut new, &more));
        assert!(then == now, "{name}: {then:?}, {now:?}");
        assert!(old.to_bytes() == new.to_bytes(), "{name}");
        assert!(old.rounds() >= 120 && old.to_bytes()[8..12] == FORMAT_VERSION.to_le_bytes());
        resumed += 1;
    }
    assert_eq!(resumed, 35);
}
