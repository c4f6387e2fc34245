//! Does an example of weight w count as w examples where all are fitted at once?

use crate::support::problems::{PROMISED, convex, for_every_problem};
use cognate::algorithms::{Convex, ConvexConfig};
use cognate::config::{ClassWeightConfig, GivenClassWeights};
use cognate::fit::{Examples, FitOptions, Fitted, Method, fit, score};
use cognate::stream::Memory;
use cognate::{Example, Model, Predict as _, RunConfig, SparseView, TaskId, Tasks};
use serde_json::json;

/// Every fifth example is there twice, every seventh three times, and every ninth not at all.
fn repeats(at: usize) -> u32 {
    match at {
        _ if at % 9 == 8 => 0,
        _ if at % 5 == 2 => 2,
        _ if at % 7 == 3 => 3,
        _ => 1,
    }
}

fn read(memory: &mut Memory) -> Examples {
    Examples::read(memory, &Tasks::open()).unwrap()
}

/// The examples with weights in units of `unit`, and the same repeated.
fn both(examples: &Examples, unit: f64) -> (Examples, Examples) {
    let (mut weighted, mut repeated) = (Memory::new(), Memory::new());
    for (at, example) in examples.examples().enumerate() {
        let (task, weight) = (examples.tasks().name(example.task), repeats(at));
        weighted.push(task, Example { weight: unit * f64::from(weight), ..example });
        (0..weight).for_each(|_| repeated.push(task, example));
    }
    (read(&mut weighted), read(&mut repeated))
}

/// Margins of a fit of these examples on the others.
fn margins(config: &ConvexConfig, of: &Examples, fitted: &Fitted, on: &Examples) -> Vec<f64> {
    let learner = Convex::from_fit(config, of, fitted);
    // Both met their tasks in the same order.
    on.examples().map(|example| learner.margin(example.task, example.features)).collect()
}

fn close(one: &[f64], other: &[f64], within: f64) -> bool {
    let largest = one.iter().fold(1e-3_f64, |largest, x| largest.max(x.abs()));
    one.iter().zip(other).all(|(a, b)| (a - b).abs() <= within * largest)
}

#[test]
fn a_weight_of_w_is_w_examples() {
    let mut count = 0;
    for_every_problem(|name, config, examples| {
        let options = FitOptions::default();
        let run = |examples: &Examples| fit(config, examples, &options).unwrap();
        let (weighted, repeated) = both(examples, 1.0);
        assert!(weighted.len() < repeated.len() && weighted.len() < examples.len());
        let (one, other) = (run(&weighted), run(&repeated));
        let objective = other.status.objective;
        assert!(one.status.gap <= PROMISED * objective, "{name}: {}", one.status);
        assert!(
            (one.status.objective - objective).abs() <= PROMISED * objective,
            "{name}: {} {}",
            one.status,
            other.status
        );
        let (a, b) =
            (margins(config, &weighted, &one, examples), margins(config, &repeated, &other, examples));
        assert!(close(&a, &b, 0.01), "{name}:\n{a:?}\n{b:?}");
        count += 1;
        if name.contains(r#""weights":"mean""#) {
            // Where each task's weights add up to 1, their unit does not matter.
            let (halves, _) = both(examples, 0.5);
            let third = run(&halves).status;
            assert!((third.objective - objective).abs() <= PROMISED * objective, "{name}: {third}");
        }
    });
    assert_eq!(count, 153);
}

#[test]
fn all_methods_take_weights() {
    for_every_problem(|name, config, examples| {
        if !name.contains("schatten") || config.loss.name() == "hinge" || config.delta == 0.0 {
            return;
        }
        let (weighted, _) = both(examples, 1.0);
        let run = |method| {
            let options = FitOptions { method: Some(method), ..FitOptions::default() };
            fit(config, &weighted, &options).unwrap().status
        };
        let one = run(Method::Alternating);
        let others = [Method::Proximal, Method::Splitting];
        for other in others.into_iter().take(if config.loss.name() == "squares" { 2 } else { 1 }) {
            let other = run(other);
            assert!(
                (one.objective - other.objective).abs() <= PROMISED * one.objective,
                "{name}: {one} {other}"
            );
        }
    });
}

/// One task of one class, whose intercept is that of all examples; equal inputs within and across tasks.
fn one_sided() -> Memory {
    let mut memory = Memory::new();
    for at in 0..60_u32 {
        let (x, z) = (f64::from(at % 7) - 3.0, f64::from(at % 5) - 2.0);
        let values = [x, z];
        let features = SparseView::try_new(&[0, 1], &values).unwrap();
        let label = if x + 0.5 * z > 0.4 { 1.0 } else { -1.0 };
        memory.push(["a", "b"][at as usize % 2], Example::new(TaskId(0), features, label));
        if label < 0.0 && at % 3 == 0 {
            memory.push("only", Example::new(TaskId(0), features, label));
        }
    }
    memory
}

#[test]
fn shared_intercepts_count_by_weight_too() {
    let examples = read(&mut one_sided());
    let (weighted, repeated) = both(&examples, 1.0);
    for kernel in ["linear", "gaussian"] {
        let config = convex(json!({
            "loss": "logistic", "lambda": 0.3, "delta": 0.1, "tolerance": 1e-10, "kernel": kernel,
        }));
        let run = |examples: &Examples| fit(&config, examples, &FitOptions::default()).unwrap();
        let (one, other) = (run(&weighted), run(&repeated));
        assert_eq!(one.shared_intercepts.len(), 1);
        let (a, b) =
            (margins(&config, &weighted, &one, &examples), margins(&config, &repeated, &other, &examples));
        assert!(close(&a, &b, 1e-3), "{kernel}:\n{a:?}\n{b:?}");
    }
}

#[test]
fn scores_and_counts_go_by_weight() {
    let examples = read(&mut one_sided());
    let (weighted, repeated) = both(&examples, 1.0);
    let wrong = |examples: &Examples| {
        let all: Vec<usize> = (0..examples.len()).collect();
        let predict = |at: usize| examples.example(at).features.values()[0];
        (score(examples, &all, predict), examples.len())
    };
    let ((one, _), (other, _)) = (wrong(&weighted), wrong(&repeated));
    assert!((one.error - other.error).abs() < 1e-12 && one.error > 0.0, "{one:?} {other:?}");
    assert!((one.explained - other.explained).abs() < 1e-12, "{one:?} {other:?}");
    let config: RunConfig =
        serde_json::from_value(json!({ "learner": { "convex": { "loss": "logistic" } } })).unwrap();
    let model =
        |examples: &Examples| Model::fit(&config, examples, &FitOptions::default(), &|_, _| true).unwrap().0;
    let (one, other) = (model(&weighted), model(&repeated));
    let (a, b) = (one.metrics().total().error(), other.metrics().total().error());
    assert!((a - b).abs() < 1e-12, "{a} {b}");
}

#[test]
fn classes_are_weighed_in_the_losses_and_nowhere_else() {
    let examples = read(&mut one_sided());
    let negatives = examples.examples().filter(|example| example.label < 0.0).count() as f64;
    let (all, share) = (examples.len() as f64, negatives / examples.len() as f64);
    assert!(share > 0.55, "{share}");
    let given =
        GivenClassWeights { negative: all / (2.0 * negatives), positive: all / (2.0 * (all - negatives)) };
    let config = convex(json!({ "loss": "logistic", "delta": 0.1, "tolerance": 1e-10 }));
    let run = |examples: &Examples| {
        let fitted = fit(&config, examples, &FitOptions::default()).unwrap();
        margins(&config, examples, &fitted, &read(&mut one_sided()))
    };
    let mut by_hand = Memory::new();
    for example in examples.examples() {
        let weight = if example.label > 0.0 { given.positive } else { given.negative };
        by_hand.push(examples.tasks().name(example.task), Example { weight, ..example });
    }
    let expected = run(&read(&mut by_hand));
    assert!(!close(&expected, &run(&examples), 0.01));
    for weight in [ClassWeightConfig::Given(given), serde_json::from_value(json!("balanced")).unwrap()] {
        let mut weighed = examples.clone();
        weighed.weigh_classes(&weight).unwrap();
        assert!(close(&expected, &run(&weighed), 1e-4), "{weight:?}");
        let every: Vec<usize> = (0..examples.len()).collect();
        assert!(close(&expected, &run(&weighed.subset(&every)), 1e-4), "parts keep them");
        assert_eq!(score(&weighed, &every, |_| 1.0).error, score(&examples, &every, |_| 1.0).error);
        let config: RunConfig = serde_json::from_value(json!({
            "learner": { "convex": { "loss": "logistic" } }, "stream": { "class-weight": weight },
        }))
        .unwrap();
        let fitted =
            |examples: &Examples| Model::fit(&config, examples, &FitOptions::default(), &|_, _| true);
        fitted(&weighed).unwrap();
        let refused = fitted(&examples).unwrap_err().to_string();
        assert!(refused.contains("weigh_classes"), "{refused}");
    }
}

#[test]
fn real_labels_have_no_classes_and_tasks_must_count_for_something() {
    let features = SparseView::try_new(&[0], &[1.0]).unwrap();
    let real = || {
        let mut memory = Memory::new();
        [1.5, 2.5, 0.5].iter().for_each(|label| memory.push("a", Example::new(TaskId(0), features, *label)));
        memory
    };
    let mut examples = read(&mut real());
    let balanced: ClassWeightConfig = serde_json::from_value(json!("balanced")).unwrap();
    let refused = examples.weigh_classes(&balanced).unwrap_err().to_string();
    assert_eq!(refused, "stream.class-weight: labels are real numbers, which have no classes");
    let mut memory = real();
    memory.push("b", Example { weight: 0.0, ..Example::new(TaskId(0), features, 1.0) });
    let refused = Examples::read(&mut memory, &Tasks::open()).unwrap_err().to_string();
    assert!(refused.starts_with("task \"b\" has no labelled examples"), "{refused}");
}
