//! Which names in a stream does a model keep, and are classes as labels turned into tasks?

use std::fmt::Write;

use crate::support::readers::{self, input, reader_for};
use cognate::run::RunOptions;
use cognate::stream::{Batch, Order, ReadOptions};
use cognate::{Model, RunConfig, Stream};
use serde_json::{Value, json};

/// A stream of named features in one of the formats: its lines, after a header if it has one.
fn named_stream(format: &str, lines: usize) -> (String, Vec<String>) {
    let header = if format == "csv" { "who,label,size,colour,n0,n1\n" } else { "" };
    let line = |at: usize| {
        let (task, label) = (["ann", "bob", "eve"][at % 3], if at % 5 < 2 { 1 } else { -1 });
        let (size, colour, new) = (at % 7, ["red", "blue"][at % 2], at % 2);
        match format {
            "csv" if new == 0 => format!("{task},{label},{size},{colour},{at},\n"),
            "csv" => format!("{task},{label},{size},{colour},,{at}\n"),
            "vw" => format!("{label} '{task} |f size:{size} {colour} |n{} {at}\n", at / 9),
            _ => format!(
                "{{\"task\":\"{task}\",\"label\":{label},\"features\":{{\"size\":{size},\"w{}\":1,\"c\":\"{colour}\"}}}}\n",
                at / 4
            ),
        }
    };
    (header.to_owned(), (0..lines).map(line).collect())
}

fn config(format: &str, extra: &Value) -> Value {
    let told = if format == "csv" { json!({ "csv": { "task-column": "who" } }) } else { json!(format) };
    let mut stream = json!({ "format": told });
    stream.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({ "stream": stream, "learner": { "perceptron": {} } })
}

fn model(config: &Value) -> Model {
    Model::new(&serde_json::from_value::<RunConfig>(config.clone()).unwrap()).unwrap()
}

fn learn(model: &mut Model, text: &str) {
    let mut reader = reader_for(model, vec![input(text)]);
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
}

#[test]
fn a_resumed_run_with_names_equals_the_unbroken_one_byte_for_byte() {
    for format in ["vw", "csv", "jsonl"] {
        for hashed in [json!(null), json!({ "bits": 5 }), json!({ "bits": 5, "names": false })] {
            let extra = if hashed.is_null() { json!({}) } else { json!({ "naming": { "hashed": hashed } }) };
            let (header, lines) = named_stream(format, 200);
            let mut whole = model(&config(format, &extra));
            learn(&mut whole, &format!("{header}{}", lines.concat()));
            for cut in [1, 77, 199] {
                let mut part = model(&config(format, &extra));
                learn(&mut part, &format!("{header}{}", lines[..cut].concat()));
                let mut resumed = Model::from_bytes(&part.to_bytes()).unwrap();
                learn(&mut resumed, &format!("{header}{}", lines[cut..].concat()));
                assert!(resumed.to_bytes() == whole.to_bytes(), "{format} {extra} cut at {cut}");
            }
            let loaded = Model::from_bytes(&whole.to_bytes()).unwrap();
            assert!(loaded.to_bytes() == whole.to_bytes());
            assert_eq!(whole.names().is_empty(), hashed["names"] == json!(false), "{format} {extra}");
        }
    }
}

#[test]
fn an_order_in_memory_learns_the_same_names() {
    let (header, lines) = named_stream("jsonl", 50);
    let text = format!("{header}{}", lines.concat());
    let mut straight = model(&config("jsonl", &json!({})));
    learn(&mut straight, &text);
    let mut held = model(&config("jsonl", &json!({})));
    let memory = reader_for(&held, vec![input(&text)]).into_memory().unwrap();
    let mut shuffled = memory.clone().ordered(Order::File, 1, false);
    let twice = RunOptions { passes: 2, ..RunOptions::default() };
    held.learn(&mut shuffled, &twice, &mut ()).unwrap();
    assert_eq!(held.names().iter().collect::<Vec<_>>(), straight.names().iter().collect::<Vec<_>>());
}

/// Classes become the tasks of a stream written out by hand; a batch does not grow with classes and features at once.
#[test]
fn one_task_a_class_is_the_stream_written_out() {
    let (mut classes, mut by_hand) = (String::new(), String::new());
    for at in 0..60 {
        let features: String =
            (1..200).map(|feature| format!(" {feature}:{}", (at * feature) % 11)).collect();
        writeln!(classes, "{}{features}", at % 20).unwrap();
        for class in 0..20.min(at + 1) {
            writeln!(by_hand, "{} qid:{class}{features}", if class == at % 20 { "+1" } else { "-1" })
                .unwrap();
        }
    }
    let learnt = |stream: Value, text: &str| {
        let mut found = model(&json!({ "stream": stream, "learner": { "perceptron": {} } }));
        learn(&mut found, text);
        found
    };
    let (found, expected) = (learnt(json!({ "one-vs-all": true }), &classes), learnt(json!({}), &by_hand));
    assert_eq!(found.metrics().total(), expected.metrics().total());
    assert_eq!(found.tasks().names().collect::<Vec<_>>(), expected.tasks().names().collect::<Vec<_>>());
    for task in found.tasks().sorted() {
        let weights = |model: &Model| model.learner().as_inspect().weights(task);
        assert_eq!(weights(&found), weights(&expected));
    }
    let classes_are_tasks = readers::config(&json!({ "one-vs-all": true }));
    let mut reader = classes_are_tasks.reader(vec![input(&classes)], ReadOptions::default()).unwrap();
    let (mut batch, mut examples, mut largest) = (Batch::default(), 0, 0);
    loop {
        reader.fill(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        examples += batch.len();
        largest = largest.max(batch.examples().map(|example| example.features.len()).sum());
    }
    assert!(examples as u64 == expected.metrics().total().examples && largest < (1 << 17) + 200, "{largest}");
}

#[test]
fn names_take_memory_of_what_was_met() {
    let mut text = String::new();
    for at in 0..20_000 {
        writeln!(text, "{{\"label\":1,\"features\":{{\"name {at}\":1}}}}").unwrap();
    }
    let mut found = model(&config("jsonl", &json!({})));
    learn(&mut found, &text);
    assert_eq!(found.names().len(), 20_000);
    assert!(found.names().heap_bytes() < 80 * 20_000, "{}", found.names().heap_bytes());
    // Predicting adds no names.
    let other = text.replace("name", "other");
    let mut reader = found.prediction_reader(vec![input(&other)], ReadOptions::default()).unwrap();
    let mut batch = Batch::default();
    reader.fill(&mut batch).unwrap();
    while !batch.is_empty() {
        assert!(batch.examples().all(|example| example.features.indices() == [20_000]));
        reader.fill(&mut batch).unwrap();
    }
    assert_eq!(found.names().len(), 20_000);
}
