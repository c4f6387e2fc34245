//! The one door: does a model learn, predict and explain examples as given, and stay unchanged when it refuses them?

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::support::harness::{self, Collect};
use crate::support::readers::{config, input, labels, reader_for};
use crate::support::samples::{Sample, samples};
use cognate::algorithms::Protocol;
use cognate::fit::{Examples, FitOptions};
use cognate::model::Predictions;
use cognate::run::RunOptions;
use cognate::stream::{FeatureValue, Labels};
use cognate::{Features, LearnerConfig, Model, REGISTRY, ReadOptions, RunConfig, SparseView, TaskId};
use serde_json::{Value, json};

pub(crate) fn perceptron(stream: &Value) -> Model {
    harness::model(&json!({"stream": stream, "learner": {"perceptron": {"interaction": "coupled"}}}))
}

/// A model that has learnt two examples with names.
pub(crate) fn named() -> Model {
    let mut model = perceptron(&json!({}));
    model.learn_one("ann", &[("x", 1.0), ("y", -0.5)], 1.0).unwrap();
    model.learn_one("bob", &[("y", 2.0), ("z", 1.0)], -1.0).unwrap();
    model
}

/// A model that has learnt two examples with numbers.
pub(crate) fn numbered() -> Model {
    let mut model = perceptron(&json!({}));
    model.learn_one("ann", &[(0, 1.0), (3, -0.5)], 1.0).unwrap();
    model.learn_one("bob", &[(3, 2.0), (9, 1.0)], -1.0).unwrap();
    model
}

/// A model that hashes names, and has learnt two examples.
pub(crate) fn hashed(names: bool) -> Model {
    let mut model = perceptron(&json!({"naming": {"hashed": {"bits": 3, "names": names}}}));
    model.learn_one("ann", &[("x", 1.0), ("y", -0.5)], 1.0).unwrap();
    model.learn_one("bob", &[("y", 2.0), ("z", 1.0)], -1.0).unwrap();
    model
}

pub(crate) fn naming(model: &Model) -> Value {
    json!(model.config())["naming"].clone()
}

pub(crate) fn learn(model: &mut Model, text: &str) {
    let mut reader = reader_for(model, vec![input(text)]);
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
}

/// Checks that learning a stream is refused with a message, and leaves the model as it was.
pub(crate) fn refuses(model: &mut Model, stream: &mut dyn cognate::Stream, message: &str) {
    let before = model.to_bytes();
    let refused = model.learn(stream, &RunOptions::default(), &mut ()).unwrap_err();
    assert_eq!(refused.to_string(), message);
    assert!(model.to_bytes() == before, "{message}");
}

#[test]
fn an_example_is_learnt_however_its_features_are_given() {
    let (mut pairs, mut views) = (perceptron(&json!({})), perceptron(&json!({})));
    let first = pairs.learn_one("ann", &[(9, 0.5), (2, 1.0)], 1.0).unwrap();
    assert_eq!((first.round, first.task, first.label, first.margin), (1, TaskId(0), 1.0, 0.0));
    assert!(first.mistake && first.updated && first.queried);
    let second = pairs.learn_one("bob", &vec![(2, 1.0)], 0.0).unwrap();
    assert_eq!((second.round, second.task, second.label), (2, TaskId(1), -1.0));
    assert!(second.mistake && second.margin > 0.0);
    let view = SparseView::try_new(&[2, 9], &[1.0, 0.5]).unwrap();
    assert_eq!(views.learn_one("ann", view, 1.0).unwrap(), first);
    assert_eq!(views.learn_one("bob", &[(2, 1.0)][..], -1.0).unwrap(), second);
    assert!(views.to_bytes() == pairs.to_bytes());

    // A text value is a feature of its own.
    let (mut mixed, mut plain) = (perceptron(&json!({})), perceptron(&json!({})));
    let cells = [("colour", FeatureValue::Text("red")), ("size", FeatureValue::Number(0.5))];
    assert_eq!(mixed.learn_one("ann", &cells, 1.0).unwrap(), first);
    plain.learn_one("ann", &[("colour=red", 1.0), ("size", 0.5)], 1.0).unwrap();
    assert!(mixed.to_bytes() == plain.to_bytes());
    assert_eq!(mixed.names().iter().collect::<Vec<_>>(), [("colour=red", 0), ("size", 1)]);

    // An example without a label is predicted, and counted separately.
    let unlabelled = mixed.learn_one("ann", &[("size", 2.0)], None).unwrap();
    assert!(unlabelled.label.is_nan() && unlabelled.margin > 0.0);
    assert_eq!((unlabelled.round, unlabelled.mistake, unlabelled.updated), (2, false, false));
    assert_eq!((mixed.metrics().unlabelled(), mixed.metrics().total().examples), (1, 1));
}

#[test]
fn predicting_changes_nothing_and_strangers_are_harmless() {
    let cases: [(Model, Features<'_>, Features<'_>); 4] = [
        (
            named(),
            Features::Named(&[("x", 1.0)]),
            Features::Named(&[("new", 3.0), ("x", 1.0), ("other", 1.0)]),
        ),
        (numbered(), Features::Numbered(&[(0, 1.0)]), Features::Numbered(&[(77, 3.0), (0, 1.0)])),
        (perceptron(&json!({})), Features::Nothing, Features::Named(&[("new", 3.0)])),
        (perceptron(&json!({})), Features::Nothing, Features::Numbered(&[(77, 3.0)])),
    ];
    for (model, known, with_strangers) in cases {
        let before = model.to_bytes();
        for task in ["ann", "bob", "nobody", "7"] {
            let plain = model.predict_one(task, known).unwrap();
            // The model has no weights for features that it has not met.
            assert_eq!(model.predict_one(task, with_strangers).unwrap(), plain, "{task}");
            assert_eq!(model.predict_row(Some(task), known).unwrap(), plain);
            assert_eq!(plain.label, if plain.margin >= 0.0 { 1.0 } else { -1.0 });
        }
        assert_eq!(
            model.predict_row(None, known).unwrap(),
            model.predict_one("default", known).unwrap(),
            "without a task it is the default one"
        );
        assert!(model.to_bytes() == before);
    }
    // A new task begins with what the others share.
    let model = named();
    assert!(model.predict_one("ann", &[("x", 1.0)]).unwrap().margin > 0.0);
    assert!(model.predict_one("nobody", &[("x", 1.0)]).unwrap().margin > 0.0);
    for model in [named(), hashed(true), hashed(false), perceptron(&json!({}))] {
        let before = model.to_bytes();
        for pairs in [[("new", 1.0), ("new", 2.0)], [("x", 1.0), ("x", 1.0)]] {
            let refused = model.predict_one("ann", &pairs).unwrap_err().to_string();
            assert_eq!(
                refused,
                format!("row 0: found \"{}\" a second time; a line holds it once", pairs[0].0)
            );
        }
        assert!(model.predict_one("ann", &[("new", f64::INFINITY)]).is_err());
        let refused = model.predict_one("", &[("new", 1.0)]).unwrap_err().to_string();
        assert_eq!(refused, "row 0: found \"\"; expected the name of a task");
        assert!(model.to_bytes() == before);
    }
}

#[test]
fn what_was_declared_holds_for_predictions() {
    let model = harness::model(&json!({"tasks": ["ann"], "features": 2, "stream": {"naming": "named"}}));
    let refused = |task, features: Features<'_>| model.predict_one(task, features).unwrap_err().to_string();
    assert_eq!(
        refused("bob", Features::Nothing),
        "row 0: task \"bob\" is not one of the 1 declared tasks (ann)"
    );
    assert_eq!(
        refused("ann", Features::Named(&[("a", 1.0), ("b", 1.0), ("c", 1.0)])),
        "row 0: feature \"c\" is new; 2 features were declared, and as many are known"
    );
    let model = harness::model(&json!({"features": 2}));
    let beyond = model.predict_one("ann", &[(2, 1.0)]).unwrap_err().to_string();
    assert_eq!(beyond, "row 0: feature index 2; expected 0 to 1");
}

/// A prediction is the margin before learning, for every learner, also through a stream.
#[test]
fn a_prediction_is_the_margin_of_the_example_when_it_is_learnt() {
    for learner in stream_learners() {
        let config = json!({"learner": learner, "stream": {"normalize": "l2", "bias": 0.5}});
        let (mut model, id) = (harness::model(&config), learner.id());
        let samples = samples(21, 3, 6, 60);
        for sample in &samples {
            let (task, pairs) = (["a", "b", "c"][sample.task], pairs(sample));
            let predicted = model.predict_one(task, &pairs).unwrap();
            let mut reader = model
                .prediction_reader(vec![input(svm_line(task, None, &pairs))], ReadOptions::default())
                .unwrap();
            let mut streamed = Vec::new();
            let visit = &mut |predictions: &Predictions<'_>| {
                let found = predictions.iter().map(|(example, margin)| {
                    assert_eq!(predictions.task_name(example.task), task);
                    predictions.of(margin)
                });
                streamed.extend(found);
                ControlFlow::Continue(())
            };
            model.predict(&mut reader, NonZeroUsize::MIN, visit).unwrap();
            let report = model.learn_one(task, &pairs, sample.label).unwrap();
            // A margin alone does not say how sure it is.
            let mut of_margin = predicted;
            of_margin.uncertainty = None;
            assert_eq!(streamed, [of_margin], "{id}");
            // Batches may be summed in a different order from single examples.
            let gap = (predicted.margin - report.margin).abs();
            assert!(gap <= 1e-9 * (1.0 + report.margin.abs()), "{id}: {predicted:?}, {report:?}");
            assert!(predicted.probability.is_none_or(|p| (0.0..=1.0).contains(&p)), "{id}: {predicted:?}");
        }
    }
}

#[test]
fn a_model_of_hashed_names() {
    for names in [true, false] {
        let mut model = hashed(names);
        assert_eq!(naming(&model), json!({"hashed": {"bits": 3, "names": names}}));
        assert_eq!((model.names().len(), model.config().format.id()), (if names { 3 } else { 0 }, "jsonl"));
        // The same examples as text.
        let naming = json!({"hashed": {"bits": 3, "names": names}});
        let mut text = perceptron(&json!({"format": "jsonl", "naming": naming}));
        learn(
            &mut text,
            "{\"task\":\"ann\",\"label\":1,\"features\":{\"x\":1,\"y\":-0.5}}\n\
             {\"task\":\"bob\",\"label\":-1,\"features\":{\"y\":2,\"z\":1}}\n",
        );
        assert!(model.to_bytes() == text.to_bytes());
        let restored = Model::from_bytes(&model.to_bytes()).unwrap();
        let many: Vec<String> = (0..100).map(|at| format!("name {at}")).collect();
        let pairs: Vec<(&str, f64)> = many.iter().map(|name| (name.as_str(), 1.0)).collect();
        let before = model.to_bytes();
        assert_eq!(model.predict_one("ann", &pairs).unwrap(), restored.predict_one("ann", &pairs).unwrap());
        assert!(model.to_bytes() == before, "a hundred names in eight slots were only looked at");
        model.learn_one("ann", &pairs, -1.0).unwrap();
        assert_eq!(model.names().len(), if names { 103 } else { 0 });
        let found = model.explain("ann").unwrap().weights;
        assert!(!found.is_empty() && found.iter().all(|weight| weight.feature < 8));
        for weight in found {
            if names {
                assert!(weight.name.split(" | ").any(|name| model.feature(name) == Some(weight.feature)));
            } else {
                assert_eq!(weight.name, format!("slot {}", weight.feature));
            }
        }
        let refused = model.learn_one("ann", &[(0, 1.0)], 1.0).unwrap_err().to_string();
        assert_eq!(refused, "row 0: features are given by number; those of this model have names");
    }
}

#[test]
fn rows_that_are_dropped_leave_no_trace() {
    let counted = harness::model(&json!({"tasks": 3, "learner": "perceptron"}));
    for mut model in [perceptron(&json!({})), named(), hashed(true), hashed(false), counted] {
        let before = model.to_bytes();
        let mut rows = model.rows();
        assert!(rows.is_empty());
        rows.push(Some("eve"), Features::Named(&[("x", 1.0), ("new", 1.0)]), Some(1.0)).unwrap();
        rows.push(None, Features::Named(&[("newer", 1.0)]), None).unwrap();
        assert!(rows.push(Some("eve"), Features::Named(&[("bad", f64::NAN)]), Some(1.0)).is_err());
        assert_eq!(rows.len(), 2);
        drop(rows);
        assert!(model.to_bytes() == before);
        model.rows().learn(&mut ()).unwrap();
        assert!(model.to_bytes() == before, "no rows, nothing to learn");
    }
    let mut model = numbered();
    let before = model.to_bytes();
    model.rows().push(Some("eve"), Features::Numbered(&[(5, 1.0)]), Some(1.0)).unwrap();
    assert!(model.to_bytes() == before);
}

#[test]
fn a_bad_row_leaves_those_around_it() {
    let (first, last) = (Features::Named(&[("x", 1.0)]), Features::Named(&[("y", 1.0), ("x", 2.0)]));
    let mut expected = perceptron(&json!({}));
    expected.learn_one("ann", first, 1.0).unwrap();
    expected.learn_one("bob", last, -1.0).unwrap();
    let mut model = perceptron(&json!({}));
    let mut rows = model.rows();
    // Nothing of a bad row is left, not even its label: a 0 would not go with the -1 below.
    for (task, features, label) in [
        (Some("eve"), Features::Named(&[("z", f64::NAN)]), Some(0.0)),
        (Some("eve"), Features::Named(&[("z", 1.0), ("z", 1.0)]), Some(0.0)),
        (Some(""), Features::Named(&[("z", 1.0)]), Some(0.0)),
    ] {
        assert!(rows.push(task, features, label).is_err());
    }
    rows.push(Some("ann"), first, Some(1.0)).unwrap();
    for (task, features, label, message) in [
        (Some("eve"), Features::Named(&[("y", 1.0), ("z", 2e150)]), 1.0, "feature \"z\" is 2000"),
        (Some("eve"), Features::Numbered(&[(0, 1.0)]), 0.0, "features are given by number"),
        (Some("e\0"), Features::Named(&[("z", 1.0)]), 0.0, "found \"e\\u{0}\"; expected the name of a task"),
        (None, Features::Named(&[("z", 1.0)]), 0.5, "found label 0.5; expected -1 or +1, or 0 or 1"),
    ] {
        let refused = rows.push(task, features, Some(label)).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("row 1: {message}")), "{refused}");
    }
    rows.push(Some("bob"), last, Some(-1.0)).unwrap();
    assert_eq!(
        rows.push(Some("bob"), last, Some(0.0)).unwrap_err().to_string(),
        "row 2: found label 0 after label -1; a stream has labels -1/+1 or 0/1, not both"
    );
    let mut seen = Collect::default();
    rows.learn(&mut seen).unwrap();
    assert_eq!((seen.reports.len(), model.rounds()), (2, 2));
    assert!(model.to_bytes() == expected.to_bytes());
    // The next rows may have other labels.
    model.learn_one("bob", last, 0.0).unwrap();
}

#[test]
fn a_simultaneous_model_learns_rounds_of_rows() {
    let lines = "+1 task:a 1:1 2:0.5\n-1 task:b 1:2\n-1 task:a 2:1\n+1 task:b 1:1 3:1\n";
    let simultaneous = |tasks: Value| {
        harness::model(&json!({
            "tasks": tasks, "stream": {"simultaneous": true}, "learner": {"perceptron": {"interaction": "coupled"}},
        }))
    };
    let rows = [
        ("a", Features::Numbered(&[(0, 1.0), (1, 0.5)]), 1.0),
        ("b", Features::Numbered(&[(0, 2.0)]), -1.0),
        ("a", Features::Numbered(&[(1, 1.0)]), -1.0),
        ("b", Features::Numbered(&[(0, 1.0), (2, 1.0)]), 1.0),
    ];
    for tasks in [json!(null), json!(2), json!(["a", "b"])] {
        let mut text = simultaneous(tasks.clone());
        learn(&mut text, lines);
        assert_eq!(text.rounds(), 2);
        // One round at a time, or both at once.
        for size in [2, 4] {
            let mut model = simultaneous(tasks.clone());
            for round in rows.chunks(size) {
                let mut given = model.rows();
                for (task, features, label) in round {
                    given.push(Some(task), *features, Some(*label)).unwrap();
                }
                given.learn(&mut ()).unwrap();
            }
            assert!(model.to_bytes() == text.to_bytes(), "{tasks}, {size} rows at once");
        }
        // Less than a round is refused, and leaves no trace.
        let before = text.to_bytes();
        assert_eq!(
            text.learn_one("b", &[(7, 1.0)], 1.0).unwrap_err().to_string(),
            "rows: round 1 ends after 1 of 2 tasks and lacks a; \
             a simultaneous stream has one example of every task per round"
        );
        assert!(text.to_bytes() == before);
        let mut rows = text.rows();
        rows.push(Some("a"), Features::Numbered(&[(0, 1.0)]), Some(1.0)).unwrap();
        rows.push(Some("b"), Features::Numbered(&[(0, 1.0)]), None).unwrap();
        assert_eq!(
            rows.learn(&mut ()).unwrap_err().to_string(),
            "rows:2: round 1 has no label for task b; \
             a simultaneous stream needs the labels of all its examples"
        );
        assert!(text.to_bytes() == before);
    }
    // The names of features and tasks in an incomplete round are forgotten too.
    let mut fresh = simultaneous(json!(2));
    let before = fresh.to_bytes();
    assert!(fresh.learn_one("a", &[("x", 1.0)], 1.0).is_err());
    assert!(fresh.to_bytes() == before);
    // If no tasks were declared, what is given is the first round.
    let mut open = simultaneous(json!(null));
    assert_eq!(open.learn_one("a", &[("x", 1.0)], 1.0).unwrap().round, 1);
    assert_eq!(open.learn_one("a", &[("x", 1.0)], 1.0).unwrap().round, 2);
}

/// Every learner that learns from streams, with its defaults.
fn stream_learners() -> Vec<LearnerConfig> {
    let streams = REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch);
    streams.map(|about| LearnerConfig::from_id(about.id).unwrap()).collect()
}

/// The features of a sample that are not 0.
fn pairs(sample: &Sample) -> Vec<(u32, f64)> {
    (0..).zip(&sample.x).filter(|(_, x)| **x != 0.0).map(|(at, x)| (at, *x)).collect()
}

fn svm_line(task: &str, label: Option<f64>, pairs: &[(u32, f64)]) -> String {
    let features: String = pairs.iter().map(|(at, x)| format!(" {}:{x}", at + 1)).collect();
    format!("{} task:{task}{features}\n", label.map_or("?".to_owned(), |label| label.to_string()))
}

#[test]
fn one_by_one_is_the_stream_byte_for_byte() {
    let samples = samples(22, 4, 8, 150);
    let names = ["size", "colour", "weight", "a b", "ü", "", "x^y", "7"];
    let task = |sample: &Sample| format!("t{}", sample.task);
    // Some examples have no label.
    let label = |at: usize| (at % 11 != 7).then(|| samples[at].label);
    let by_name = |sample: &Sample| -> Vec<(&str, f64)> {
        pairs(sample).into_iter().map(|(at, x)| (names[at as usize], x)).collect()
    };
    let svm: String =
        (0..).zip(&samples).map(|(at, sample)| svm_line(&task(sample), label(at), &pairs(sample))).collect();
    let jsonl: String = (0..)
        .zip(&samples)
        .map(|(at, sample)| {
            let features: Vec<String> =
                by_name(sample).iter().map(|(name, x)| format!("{}:{x}", json!(name))).collect();
            let (task, label) = (json!(task(sample)), json!(label(at)));
            format!("{{\"task\":{task},\"label\":{label},\"features\":{{{}}}}}\n", features.join(","))
        })
        .collect();
    for learner in stream_learners() {
        for stream in [
            json!({}),
            json!({"format": "jsonl"}),
            json!({"format": "jsonl", "naming": {"hashed": {"bits": 2}}}),
            json!({"normalize": "l2", "bias": 0.5}),
        ] {
            let named = stream["format"] == "jsonl";
            let fresh = || harness::model(&json!({"stream": stream, "learner": learner}));
            let (mut text, mut single, mut rows, mut lines) = (fresh(), fresh(), fresh(), fresh());
            let whole = if named { &jsonl } else { &svm };
            let options = || labels(Labels::Optional);
            let mut reader = text.reader(vec![input(whole)], options()).unwrap();
            text.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
            for line in whole.split_inclusive('\n') {
                let mut reader = lines.reader(vec![input(line)], options()).unwrap();
                lines.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
            }
            let mut given = rows.rows();
            for (at, sample) in samples.iter().enumerate() {
                let (task, pairs, cells) = (task(sample), pairs(sample), by_name(sample));
                let features = if named { Features::Named(&cells) } else { Features::Numbered(&pairs) };
                single.learn_one(&task, features, label(at)).unwrap();
                given.push(Some(&task), features, label(at)).unwrap();
            }
            given.learn(&mut ()).unwrap();
            let (id, expected) = (learner.id(), text.to_bytes());
            assert!(single.to_bytes() == expected, "{id}, {stream}: one by one");
            assert!(rows.to_bytes() == expected, "{id}, {stream}: as rows");
            assert!(lines.to_bytes() == expected, "{id}, {stream}: line by line");
            // Saving in between makes no difference either.
            let mut resumed = Model::from_bytes(&single.to_bytes()).unwrap();
            let (task, cells, pairs) = (task(&samples[0]), by_name(&samples[0]), pairs(&samples[0]));
            let features = if named { Features::Named(&cells) } else { Features::Numbered(&pairs) };
            single.learn_one(&task, features, -1.0).unwrap();
            resumed.learn_one(&task, features, -1.0).unwrap();
            assert!(single.to_bytes() == resumed.to_bytes(), "{id}, {stream}: resumed");
        }
    }
}

#[test]
fn a_batch_learner_refuses_examples_and_stays_as_it_is() {
    let jsonl = config(&json!({"format": "jsonl"}));
    let text: String = (0..12)
        .map(|at| {
            let (task, label) = (["a", "b"][at % 2], if at % 3 == 0 { 1 } else { -1 });
            format!(
                "{{\"task\":\"{task}\",\"label\":{label},\"features\":{{\"x\":{at},\"y\":{}}}}}\n",
                at * at % 5
            )
        })
        .collect();
    let mut reader = jsonl.reader(vec![input(&text)], labels(Labels::Real)).unwrap();
    let examples = Examples::read(&mut reader, &jsonl.declared_tasks().unwrap()).unwrap();
    for stream in [json!({"format": "jsonl"}), json!({})] {
        let convex: RunConfig =
            serde_json::from_value(json!({"stream": stream, "learner": "convex"})).unwrap();
        let fitted =
            |examples| Model::fit(&convex, examples, &FitOptions::default(), &|_, _| true).unwrap().0;
        // A subset of the examples has the names of all.
        for mut model in [fitted(&examples), fitted(&examples.subset(&[0, 1, 2, 3, 4, 5, 6, 7]))] {
            assert_eq!(model.names().iter().collect::<Vec<_>>(), [("x", 0), ("y", 1)]);
            assert_eq!((naming(&model), model.config().format.id()), (json!({"named": {}}), "jsonl"));
            let before = model.to_bytes();
            let refused = model.learn_one("c", &[("new", 1.0)], 1.0).unwrap_err().to_string();
            assert!(refused.starts_with("`convex` does not learn from streams"), "{refused}");
            let mut stream = reader_for(&model, vec![input(&text)]);
            let refused = model.learn(&mut stream, &RunOptions::default(), &mut ()).unwrap_err().to_string();
            assert!(refused.starts_with("`convex` does not learn from streams"), "{refused}");
            assert!(model.to_bytes() == before);
            assert!(model.predict_one("a", &[("x", 3.0), ("new", 1.0)]).unwrap().margin.is_finite());
        }
    }
    let mut fresh = harness::model(&json!({"learner": "convex"}));
    let before = fresh.to_bytes();
    assert!(fresh.learn_one("a", &[("x", 1.0)], 1.0).is_err());
    assert!(fresh.to_bytes() == before, "not even the naming is decided");
}

#[test]
fn a_model_explains_itself_in_the_words_of_its_users() {
    let explained = |model: &Model, task: &str| -> Vec<(String, f64)> {
        model.explain(task).unwrap().weights.into_iter().map(|found| (found.name, found.weight)).collect()
    };
    let independent = |stream: Value| {
        harness::model(&json!({"stream": stream, "learner": {"perceptron": {"interaction": "independent"}}}))
    };
    let mut model = independent(json!({"bias": 0.25}));
    model.learn_one("ann", &[("size", -0.5), ("colour=red", 2.0), ("tie", 0.5)], 1.0).unwrap();
    let own =
        |pairs: &[(&str, f64)]| pairs.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect::<Vec<_>>();
    // By absolute value; of equals, the one met first.
    let expected = own(&[("colour=red", 2.0), ("size", -0.5), ("tie", 0.5), ("bias", 0.25)]);
    assert_eq!(explained(&model, "ann"), expected);
    assert_eq!(model.explain("ann").unwrap().task, TaskId(0));
    assert_eq!(
        (model.feature("size"), model.feature("tie"), model.feature("nobody")),
        (Some(0), Some(2), None)
    );
    let bias = model.feature("bias").unwrap();
    assert_eq!(model.feature_labels().label(bias), "bias");
    let unknown = model.explain("anne").unwrap_err().to_string();
    assert_eq!(unknown, "no task is called \"anne\"; nearest: ann");

    // Numbers are those in the text, from 1.
    let mut model = independent(json!({}));
    learn(&mut model, "+1 task:ann 3:0.5 7:-1\n");
    assert_eq!(explained(&model, "ann"), own(&[("7", -1.0), ("3", 0.5)]));
    assert_eq!((model.feature("3"), model.feature("0"), model.feature("x")), (Some(2), None, None));

    let mut model = independent(json!({"naming": {"hashed": {"bits": 1}}}));
    model.learn_one("ann", &[("a", 1.0), ("b", 2.0), ("c", 4.0), ("d", 8.0)], 1.0).unwrap();
    let found = explained(&model, "ann");
    let named: usize = found.iter().map(|(name, _)| name.split(" | ").count()).sum();
    assert!(found.len() <= 2 && named == 4, "{found:?}");
    assert_eq!(found.iter().map(|(_, weight)| weight).sum::<f64>(), 15.0);
}
