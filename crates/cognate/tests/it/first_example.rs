//! Names or numbers: what decides how a model's features are given, and what decides nothing?

use crate::door::{learn, naming, perceptron, refuses};
use crate::support::readers::{config, input, reader_for};
use cognate::run::RunOptions;
use cognate::stream::FeatureValue;
use cognate::{Features, Model, ReadOptions};
use serde_json::json;

#[test]
fn the_first_example_decides_what_features_are() {
    let mut model = perceptron(&json!({}));
    model.learn_one("ann", Features::Nothing, 1.0).unwrap();
    model.learn_one("ann", &[] as &[(u32, f64)], 1.0).unwrap();
    assert_eq!(naming(&model), json!({"auto": {}}), "no features, no decision");
    let (mut by_name, mut by_number) = (model.clone(), model);
    by_name.learn_one("ann", &[("x", 1.0)], 1.0).unwrap();
    by_number.learn_one("ann", &[(0, 1.0)], 1.0).unwrap();
    assert_eq!((naming(&by_name), naming(&by_number)), (json!({"named": {}}), json!({"numbered": {}})));
    for (model, features, message) in [
        (&mut by_name, Features::Numbered(&[(0, 1.0)]), "given by number; those of this model have names"),
        (&mut by_number, Features::Named(&[("x", 1.0)]), "given by name; those of this model have numbers"),
    ] {
        let before = model.to_bytes();
        let message = format!("row 0: features are {message}");
        assert_eq!(model.learn_one("ann", features, 1.0).unwrap_err().to_string(), message);
        assert_eq!(model.predict_one("ann", features).unwrap_err().to_string(), message);
        assert!(model.to_bytes() == before);
        let restored = Model::from_bytes(&before).unwrap();
        assert_eq!(naming(&restored), naming(model), "it is remembered");
        model.learn_one("ann", Features::Nothing, 1.0).unwrap();
    }
    // A model with names reads text with names.
    assert_eq!((by_name.config().format.id(), by_number.config().format.id()), ("jsonl", "svm"));
    learn(&mut by_name, "{\"task\":\"ann\",\"label\":1,\"features\":{\"x\":1,\"new\":2}}\n");
    assert_eq!(by_name.names().iter().collect::<Vec<_>>(), [("x", 0), ("new", 1)]);
    learn(&mut by_number, "+1 task:ann 1:1\n");
}

#[test]
fn a_refused_first_example_decides_nothing() {
    let mut model = perceptron(&json!({}));
    let before = model.to_bytes();
    let valid: [(&str, f64); 1] = [("x", 1.0)];
    for (task, features, label, message) in [
        (
            "a",
            Features::Named(&[("x", f64::NAN)]),
            1.0,
            "feature \"x\" is NaN; expected a finite number of at most 1e150, a text, true or false",
        ),
        (
            "a",
            Features::Named(&[("x", 1.0), ("y", 1.0), ("x", 1.0)]),
            1.0,
            "found \"x\" a second time; a line holds it once",
        ),
        (
            "a",
            Features::Mixed(&[("x=y", FeatureValue::Text("z"))]),
            1.0,
            "\"x=y\" holds a text, whose feature would be called <name>=<text>; expected a name without `=`",
        ),
        ("a", Features::Named(&valid), 7.0, "found label 7; expected -1 or +1, or 0 or 1"),
        ("a", Features::Named(&valid), f64::NAN, "found label NaN; expected -1 or +1, or 0 or 1"),
        ("", Features::Named(&valid), 1.0, "found \"\"; expected the name of a task"),
        ("a\nb", Features::Named(&valid), 1.0, "found \"a\\nb\"; expected the name of a task"),
        (
            "a",
            Features::Numbered(&[(0, 1.0), (0, 1.0)]),
            1.0,
            "feature index 0 after 0; indices must increase",
        ),
        (
            "a",
            Features::Numbered(&[(u32::MAX, 1.0)]),
            1.0,
            "feature index 4294967295; expected 0 to 4294967293",
        ),
    ] {
        let refused = model.learn_one(task, features, label).unwrap_err().to_string();
        assert_eq!(refused, format!("row 0: {message}"));
        assert!(model.to_bytes() == before, "{message}");
    }
    model.clone().learn_one("a", &[(0, 1.0)], 1.0).unwrap();
    model.learn_one("a", &[("x", 1.0)], 1.0).unwrap();
    assert_eq!(model.names().len(), 1, "nothing of what was refused is left");
}

#[test]
fn a_config_may_decide_before_the_first_example() {
    for (naming, takes_names) in
        [(json!("numbered"), false), (json!("named"), true), (json!({"hashed": {"bits": 4}}), true)]
    {
        let mut model = perceptron(&json!({"naming": naming}));
        let before = model.to_bytes();
        let (names, numbers) =
            (model.clone().learn_one("a", &[("x", 1.0)], 1.0), model.learn_one("a", &[(0, 1.0)], 1.0));
        assert_eq!((names.is_ok(), numbers.is_ok()), (takes_names, !takes_names), "{naming}");
        assert!(!takes_names || model.to_bytes() == before);
    }
}

/// A stream decides by its examples, not by being opened.
#[test]
fn a_stream_that_gives_nothing_decides_nothing() {
    let mut model = perceptron(&json!({}));
    let before = model.to_bytes();
    learn(&mut model, "# nothing\n");
    assert!(model.to_bytes() == before);
    let mut bad = reader_for(&model, vec![input("+1 1:x\n")]);
    refuses(&mut model, &mut bad, "in:1:6: found value \"x\"; expected a finite number of at most 1e150");
    let mut csv = perceptron(&json!({"format": "csv"}));
    let mut bad = reader_for(&csv, vec![input("label,x\n7,1\n")]);
    refuses(&mut csv, &mut bad, "in:2:1: found label \"7\"; expected -1 or +1, or 0 or 1");
    learn(&mut csv, "label,x\n1,1\n");
    assert_eq!((naming(&csv), csv.config().format.id()), (json!({"named": {}}), "csv"));
    // After a stream with names, the model reads text with names too.
    let mut names =
        config(&json!({"format": "csv"})).reader(vec![input("label,x\n1,1\n")], ReadOptions::default());
    model.learn(names.as_mut().unwrap(), &RunOptions::default(), &mut ()).unwrap();
    assert_eq!((naming(&model), model.config().format.id()), (json!({"named": {}}), "jsonl"));
    learn(&mut model, "{\"label\":1,\"features\":{\"x\":1}}\n");
    assert_eq!(model.names().len(), 1);
}
