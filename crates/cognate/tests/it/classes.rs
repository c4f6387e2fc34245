//! Lines that are one example of every class: is the class told that was predicted before any of them was learnt?

use crate::support::readers::{config, input};
use cognate::model::Model;
use cognate::run::{ClassReport, Observer, Progress, RoundReport, RunOptions};
use cognate::stream::ReadOptions;
use cognate::{TaskId, Tasks};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Collects what is told of lines.
#[derive(Default)]
struct Told(Vec<ClassReport>);

impl Observer for Told {
    fn observe(&mut self, _: &RoundReport, _: &Tasks, _: &cognate::metrics::Metrics) {}

    fn follows_classes(&self) -> bool {
        true
    }

    fn observe_class(&mut self, report: &ClassReport) {
        self.0.push(*report);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A class and two features that tell it with some noise; a third class comes late.
fn lines(count: u32) -> Vec<(&'static str, Vec<(u32, f64)>)> {
    let line = |at: u32| {
        let class = if at < 30 { at * at % 7 % 2 } else { at * at % 11 % 3 };
        let noise = f64::from(at * 37 % 19) / 10.0 - 0.9;
        // A fifth of the lines looks like another class.
        let looks = if at % 5 == 4 { (class + 1) % 3 } else { class };
        (["cat", "dog", "3"][class as usize], vec![(looks, 1.0), (3 + at % 4, noise)])
    };
    (0..count).map(line).collect()
}

fn text(class: &str, features: &[(u32, f64)]) -> String {
    let features: String = features.iter().map(|(index, value)| format!(" {}:{value}", index + 1)).collect();
    format!("{class}{features}\n")
}

fn learn(model: &mut Model, text: &str, observer: &mut dyn Observer) {
    let mut reader = model.reader(vec![input(text)], ReadOptions::default()).unwrap();
    model.learn(&mut reader, &RunOptions::default(), observer).unwrap();
}

/// The class of the largest margin among those that the model knows, the first of equals.
fn predicted(model: &Model, features: &[(u32, f64)]) -> Option<TaskId> {
    let mut best: Option<(usize, f64)> = None;
    for (at, name) in model.tasks().names().enumerate() {
        let margin = model.predict_one(name, features).unwrap().margin;
        if best.is_none_or(|(_, largest)| margin > largest) {
            best = Some((at, margin));
        }
    }
    best.map(|(at, _)| TaskId(at as u32))
}

fn configs() -> Vec<Value> {
    vec![
        json!({ "learner": "adaptive", "stream": { "one-vs-all": true } }),
        json!({ "learner": "perceptron", "stream": { "one-vs-all": true } }),
        json!({ "learner": "rom-rda", "stream": { "one-vs-all": true } }),
        json!({
            "learner": "perceptron", "tasks": ["dog", "cat", "3"],
            "stream": { "one-vs-all": true, "simultaneous": true }
        }),
        json!({
            "learner": "perceptron", "stream": { "one-vs-all": true },
            "query": { "margin": { "b": 0.1 } }
        }),
    ]
}

/// More lines than a batch holds, so that some of them are cut in two.
#[test]
fn a_line_is_predicted_before_any_of_its_examples_is_learnt() {
    let lines = lines(700);
    let whole: String = lines.iter().map(|(class, features)| text(class, features)).collect();
    for config in configs() {
        let build = || Model::new(&serde_json::from_value(config.clone()).unwrap()).unwrap();
        let (mut followed, mut told) = (build(), Told::default());
        learn(&mut followed, &whole, &mut told);
        // The same line by line: each is predicted by what was learnt from those before.
        let (mut model, mut mistakes) = (build(), 0);
        for ((class, features), report) in lines.iter().zip(&told.0) {
            let expected = predicted(&model, features);
            learn(&mut model, &text(class, features), &mut ());
            assert_eq!(report.predicted, expected, "{config}");
            assert_eq!(model.tasks().name(report.class), *class, "{config}");
            mistakes += u32::from(report.is_mistake());
        }
        assert_eq!(told.0.len(), lines.len(), "{config}");
        assert!((100..500).contains(&mistakes), "{config}: {mistakes} mistakes");
        // Following changes nothing.
        let mut plain = build();
        learn(&mut plain, &whole, &mut ());
        assert_eq!(followed.to_bytes(), plain.to_bytes(), "{config}");
    }
}

#[test]
fn new_classes_and_lines_without_a_label() {
    let mut model = Model::new(&config(&json!({ "one-vs-all": true }))).unwrap();
    let mut told = Told::default();
    let mut reader = model
        .reader(
            vec![input("a 1:1\n? 1:1\na weight:2.5 1:1\nb 2:1\n")],
            crate::support::readers::labels(cognate::stream::Labels::Optional),
        )
        .unwrap();
    model.learn(&mut reader, &RunOptions { passes: 1, ..RunOptions::default() }, &mut told).unwrap();
    let found: Vec<_> =
        told.0.iter().map(|line| (line.class.0, line.predicted.map(|x| x.0), line.weight)).collect();
    // Neither class could be predicted before it was met, and a line without one is none.
    assert_eq!(found, [(0, None, 1.0), (0, Some(0), 2.5), (1, Some(0), 1.0)]);
    assert_eq!(told.0.iter().map(ClassReport::is_mistake).collect::<Vec<_>>(), [true, false, true]);
    // A model that goes on knows both.
    let mut told = Told::default();
    learn(&mut model, "b 2:1\n", &mut told);
    assert_eq!(told.0.len(), 1);
    assert!(told.0[0].predicted.is_some());
}
