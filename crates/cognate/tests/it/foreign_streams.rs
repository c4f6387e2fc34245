//! Streams made for another model: are they refused, and is the model left as it was?

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::door::{hashed, learn, named, numbered, perceptron, refuses};
use crate::support::harness;
use crate::support::readers::{config, input, reader_for};
use cognate::model::Predictions;
use cognate::run::RunOptions;
use cognate::stream::{Memory, Reader};
use cognate::{Example, Features, Model, ReadOptions, SparseView, TaskId};
use serde_json::json;

#[test]
fn streams_that_number_other_tasks_are_refused() {
    let text = "+1 task:eve 1:1\n-1 task:ann 1:1\n";
    let not_next = |task: &str| {
        format!(
            "task {task} of the stream is not the next one that the model would meet: \
             the stream was made for another model"
        )
    };
    let fresh = || config(&json!({})).reader(vec![input(text)], ReadOptions::default()).unwrap();
    // The model knows ann and bob; eve is new to it too, but the stream numbers her first.
    let mut model = numbered();
    refuses(&mut model, &mut fresh(), &not_next("eve"));
    refuses(&mut model, &mut fresh().into_memory().unwrap(), &not_next("eve"));
    let mut memory = Memory::new();
    let features = SparseView::try_new(&[0], &[1.0]).unwrap();
    memory.push("eve", Example::new(TaskId(0), features, 1.0));
    refuses(&mut model, &mut memory, &not_next("eve"));
    // The other way round: the stream takes ann and bob for known.
    let mut stranger = perceptron(&json!({}));
    let mut reader = reader_for(&model, vec![input("+1 task:bob 1:1\n")]);
    refuses(&mut stranger, &mut reader, &not_next("number 1"));
    let mut reader = reader_for(&model, vec![input(text)]);
    refuses(&mut stranger, &mut reader, &not_next("eve"));
    // One of the declared tasks has a name already.
    let mut counted = harness::model(&json!({"tasks": 2, "learner": "perceptron"}));
    counted.learn_one("ann", &[(0, 1.0)], 1.0).unwrap();
    refuses(&mut counted, &mut fresh(), &not_next("eve"));

    let refused =
        model.predict(&mut fresh(), NonZeroUsize::MIN, &mut |_| panic!("a foreign stream is predicted"));
    assert_eq!(refused.unwrap_err().to_string(), not_next("eve"));
    let mut known = memory.clone().numbered_as(model.tasks());
    for (model, rounds) in [(&mut model, 3), (&mut stranger, 1), (&mut counted, 2)] {
        if rounds == 3 {
            model.clone().learn(&mut known, &RunOptions::default(), &mut ()).unwrap();
        }
        learn(model, "+1 task:eve 1:1\n");
        assert_eq!(model.rounds(), rounds, "it is as good as ever");
    }
}

#[test]
fn streams_that_number_other_names_are_refused() {
    let line = |names: &str| {
        let features: Vec<String> = names.split(' ').map(|name| format!("\"{name}\":1")).collect();
        format!("{{\"task\":\"ann\",\"label\":1,\"features\":{{{}}}}}\n", features.join(","))
    };
    let foreign = |name: &str| {
        format!(
            "feature {name} of the stream has another number in the model, or none: \
             the stream was made for another model"
        )
    };
    // Both know the tasks ann and bob; one knows the names x, y and z, the other none.
    let (mut model, mut other) = (named(), perceptron(&json!({"naming": "named"})));
    other.learn_one("ann", Features::Nothing, 1.0).unwrap();
    other.learn_one("bob", Features::Nothing, 1.0).unwrap();
    let reader = |model: &Model, names: &str| reader_for(model, vec![input(line(names))]);
    refuses(&mut model, &mut reader(&other, "new"), &foreign("\"new\""));
    refuses(&mut model, &mut reader(&other, "x"), &foreign("\"x\""));
    refuses(&mut other, &mut reader(&model, "new"), &foreign("\"new\""));
    // The stream does not name features that it takes for known.
    refuses(&mut other, &mut reader(&model, "y"), &foreign("number 1"));
    refuses(&mut other, &mut reader(&model, "y").into_memory().unwrap(), &foreign("number 1"));
    // The first name would fit, the second does not.
    other.learn_one("ann", &[("q", 1.0)], 1.0).unwrap();
    let mut one_name = perceptron(&json!({"naming": "named"}));
    one_name.learn_one("ann", &[("x", 1.0)], 1.0).unwrap();
    one_name.learn_one("bob", Features::Nothing, 1.0).unwrap();
    refuses(&mut one_name, &mut reader(&other, "new x"), &foreign("\"x\""));
    // A stream gives its names once, to the model that learns it.
    let fresh = || perceptron(&json!({"format": "jsonl", "bias": 1.0}));
    let memory = reader(&fresh(), "x y").into_memory().unwrap();
    let mut once = memory.clone();
    fresh().learn(&mut once, &RunOptions::default(), &mut ()).unwrap();
    cognate::Stream::rewind(&mut once).unwrap();
    let refused = fresh().learn(&mut once, &RunOptions::default(), &mut ()).unwrap_err().to_string();
    assert!(refused.starts_with("task number 0 of the stream"), "{refused}");
    fresh().learn(&mut memory.clone(), &RunOptions::default(), &mut ()).unwrap();
    // Slots are the same in every model, but a name is new only once.
    let mut slots = hashed(true);
    let mut told_again = perceptron(&json!({"format": "jsonl", "naming": {"hashed": {"bits": 3}}}));
    told_again.learn_one("ann", Features::Nothing, 1.0).unwrap();
    told_again.learn_one("bob", Features::Nothing, 1.0).unwrap();
    refuses(&mut slots, &mut reader(&told_again, "new x"), &foreign("\"x\""));

    for model in [&mut model, &mut other, &mut one_name, &mut slots] {
        let (rounds, names) = (model.rounds(), model.names().len());
        learn(model, &line("new newer"));
        assert_eq!((model.rounds(), model.names().len()), (rounds + 1, names + 2), "it is as good as ever");
    }
}

#[test]
fn streams_of_another_naming_are_refused() {
    let jsonl = "{\"label\":1,\"features\":{\"x\":1}}\n";
    let stream = |naming: &str| -> Reader {
        let (stream, text) = match naming {
            "numbers" => (json!({}), "+1 1:1\n"),
            "names" => (json!({"format": "jsonl"}), jsonl),
            "names hashed to 3 bits" => {
                (json!({"format": "jsonl", "naming": {"hashed": {"bits": 3}}}), jsonl)
            }
            _ => (json!({"format": "jsonl", "naming": {"hashed": {"bits": 4, "names": false}}}), jsonl),
        };
        config(&stream).reader(vec![input(text)], ReadOptions::default()).unwrap()
    };
    let all = ["numbers", "names", "names hashed to 3 bits", "names hashed to 4 bits and forgotten"];
    for (model, own) in [
        (perceptron(&json!({})), "numbers or names"),
        (perceptron(&json!({"naming": "numbered"})), all[0]),
        (perceptron(&json!({"naming": "named"})), all[1]),
        (perceptron(&json!({"naming": {"hashed": {"bits": 3}}})), all[2]),
        (perceptron(&json!({"naming": {"hashed": {"bits": 4, "names": false}}})), all[3]),
    ] {
        for found in all {
            let mut model = model.clone();
            if own == found || (own == "numbers or names" && !found.contains("hashed")) {
                model
                    .predict(&mut stream(found), NonZeroUsize::MIN, &mut |_| ControlFlow::Continue(()))
                    .unwrap();
                model.learn(&mut stream(found), &RunOptions::default(), &mut ()).unwrap();
                assert_eq!(model.rounds(), 1);
                continue;
            }
            let message = format!("features of the stream are {found}, those of the model {own}");
            refuses(&mut model, &mut stream(found), &message);
            let never = &mut |_: &Predictions<'_>| panic!("a foreign stream is predicted");
            let refused = model.predict(&mut stream(found), NonZeroUsize::MIN, never).unwrap_err();
            assert_eq!(refused.to_string(), message);
            model.learn_one("a", Features::Nothing, 1.0).unwrap();
        }
    }
}

#[test]
fn text_that_cannot_have_the_features_of_a_model_is_refused_when_it_is_opened() {
    let refused = |model: &Model| {
        let refused = [
            model.reader(Vec::new(), ReadOptions::default()).err().map(|error| error.to_string()),
            model.prediction_reader(Vec::new(), ReadOptions::default()).err().map(|error| error.to_string()),
            model
                .open(Vec::new(), &model.run_config().stream, ReadOptions::default())
                .err()
                .map(|error| error.to_string()),
        ];
        assert!(refused[0] == refused[1] && refused[1] == refused[2], "{refused:?}");
        refused.into_iter().next().unwrap()
    };
    let numbers = "stream.naming: features of `svm` have numbers, and nothing is named or hashed";
    for naming in [json!("named"), json!({"hashed": {}})] {
        let mut model = perceptron(&json!({"naming": naming}));
        assert_eq!(refused(&model).as_deref(), Some(numbers), "{naming}");
        let error = model.run_config().reader(Vec::new(), ReadOptions::default()).err().unwrap().to_string();
        assert_eq!(error, numbers);
        model.learn_one("a", &[("x", 1.0)], 1.0).unwrap();
        assert_eq!(refused(&model), None, "lines of JSON have names");
    }
    let mut model = perceptron(&json!({"format": "csv"}));
    assert_eq!(refused(&model), None);
    model.learn_one("a", &[(0, 1.0)], 1.0).unwrap();
    let names = "stream.naming: features of `csv` have names, not numbers";
    assert_eq!(refused(&model).as_deref(), Some(names));
}
