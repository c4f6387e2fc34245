//! Do the Perceptrons of MP10 reduce to each other where the paper says so?

use crate::support::harness;
use crate::support::readers::reader_for;
use crate::support::samples::{Sample, samples, text};
use cognate::run::{RunError, RunOptions};
use cognate::stream::Input;
use serde_json::{Value, json};

const TASKS: usize = 4;
const FEATURES: usize = 10;

fn task_name(task: usize) -> String {
    (task + 1).to_string()
}

/// Margins of a run with declared tasks, one task per round or all of them.
fn margins(learner: &Value, tasks: usize, simultaneous: bool, samples: &[Sample]) -> Vec<f64> {
    let names: Vec<String> = (0..tasks).map(task_name).collect();
    let mut model = harness::model(
        &json!({"tasks": names, "stream": {"simultaneous": simultaneous}, "learner": learner}),
    );
    harness::learn(&mut model, &text(samples, task_name)).iter().map(|report| report.margin).collect()
}

/// Rounds of one example of every task, in the order of the tasks.
fn rounds(seed: u64) -> Vec<Sample> {
    let mut samples = samples(seed, TASKS, FEATURES, 60 * TASKS);
    for (at, sample) in samples.iter_mut().enumerate() {
        sample.task = at % TASKS;
    }
    samples
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let gap = (found - expected).abs();
        assert!(gap <= 1e-9 * (1.0 + expected.abs()), "{what}, at {at}: {found} is not {expected}");
    }
}

fn interactions() -> Vec<Value> {
    vec![
        json!("independent"),
        json!("pooled"),
        json!("pairwise"),
        json!({"coupled": {"b": 3.5}}),
        json!({"graph": {"edges": [["1", "2"], ["2", "4", 0.5]]}}),
        json!({"matrix": {"rows": [[2, -0.5, 0.3, 0], [-0.5, 1.5, 0, -0.2], [0.3, 0, 1, 0.1], [0, -0.2, 0.1, 3]]}}),
    ]
}

/// Margins of a learner that is given each task's examples on their own.
fn apart(learner: &Value, samples: &[Sample]) -> Vec<f64> {
    let mut found = vec![0.0; samples.len()];
    for task in 0..TASKS {
        let places: Vec<usize> = (0..samples.len()).filter(|at| samples[*at].task == task).collect();
        let own: Vec<Sample> = places.iter().map(|at| Sample { task: 0, ..samples[*at].clone() }).collect();
        for (at, margin) in places.iter().zip(margins(learner, 1, false, &own)) {
            found[*at] = margin;
        }
    }
    found
}

#[test]
fn the_linear_kernel_is_the_primal_form() {
    for seed in 1..=3 {
        let samples = samples(seed, TASKS, FEATURES, 400);
        for interaction in interactions() {
            let primal = json!({"perceptron": {"interaction": interaction}});
            let dual = json!({"kernel-perceptron": {"interaction": interaction}});
            let (primal, dual) =
                (margins(&primal, TASKS, false, &samples), margins(&dual, TASKS, false, &samples));
            assert_close(&dual, &primal, &format!("{interaction}, seed {seed}"));
        }
    }
}

#[test]
fn independent_learners_are_learners_apart() {
    let samples = samples(7, TASKS, FEATURES, 300);
    for kernel in [json!("linear"), json!({"gaussian": {"gamma": 0.3}})] {
        for id in ["kernel-perceptron", "second-order-perceptron"] {
            let learner = json!({id: {"interaction": "independent", "kernel": kernel}});
            assert_close(
                &margins(&learner, TASKS, false, &samples),
                &apart(&learner, &samples),
                &format!("{id}, {kernel}"),
            );
        }
    }
}

/// (aI + SS' + xx')^-1, written out in K d dimensions by adding one instance at a time (Sherman-Morrison).
#[test]
fn the_second_order_learner_is_its_primal_form() {
    let samples = samples(8, 1, FEATURES, 250);
    for a in [0.2, 1.0, 30.0] {
        let mut inverse: Vec<Vec<f64>> = (0..FEATURES)
            .map(|i| (0..FEATURES).map(|j| if i == j { 1.0 / a } else { 0.0 }).collect())
            .collect();
        let mut v = [0.0; FEATURES];
        let expected: Vec<f64> = samples
            .iter()
            .map(|sample| {
                let px: Vec<f64> =
                    inverse.iter().map(|row| row.iter().zip(&sample.x).map(|(p, x)| p * x).sum()).collect();
                let length: f64 = px.iter().zip(&sample.x).map(|(p, x)| p * x).sum();
                let without: f64 = px.iter().zip(&v).map(|(p, v)| p * v).sum();
                let margin = without / (1.0 + length);
                if margin * sample.label <= 0.0 {
                    for i in 0..FEATURES {
                        v[i] += sample.label * sample.x[i];
                        for j in 0..FEATURES {
                            inverse[i][j] -= px[i] * px[j] / (1.0 + length);
                        }
                    }
                }
                margin
            })
            .collect();
        let found = margins(&json!({"second-order-perceptron": {"a": a}}), 1, false, &samples);
        assert_close(&found, &expected, &format!("a = {a}"));
    }
}

#[test]
fn a_schatten_norm_of_one_is_independent_perceptrons() {
    let independent = json!({"perceptron": {"interaction": "independent"}});
    for seed in 1..=3 {
        for (simultaneous, samples) in [(false, samples(seed, TASKS, FEATURES, 300)), (true, rounds(seed))] {
            let expected = margins(&independent, TASKS, simultaneous, &samples);
            let found = margins(&json!({"schatten-perceptron": {"p": 1}}), TASKS, simultaneous, &samples);
            assert_close(&found, &expected, &format!("seed {seed}, simultaneous {simultaneous}"));
        }
    }
}

#[test]
fn one_task_has_nothing_to_share() {
    let samples = samples(9, 1, FEATURES, 300);
    let plain = margins(&json!("perceptron"), 1, false, &samples);
    for learner in [
        json!({"schatten-perceptron": {"p": 2}}),
        json!({"schatten-perceptron": {"p": 50}}),
        json!({"kernel-perceptron": {"interaction": "pairwise"}}),
    ] {
        assert_close(&margins(&learner, 1, false, &samples), &plain, &learner.to_string());
    }
}

/// A polynomial kernel of degree 1 without a constant is the inner product, but keeps examples instead of weights.
#[test]
fn the_dual_schatten_form_is_the_primal_one() {
    let kernel = json!({"polynomial": {"degree": 1, "gamma": 1, "coef0": 0}});
    for p in [1, 2, 3, 7, 50] {
        for simultaneous in [false, true] {
            let samples = rounds(10 + p);
            let primal = json!({"schatten-perceptron": {"p": p}});
            let dual = json!({"schatten-perceptron": {"p": p, "kernel": kernel}});
            assert_close(
                &margins(&dual, TASKS, simultaneous, &samples),
                &margins(&primal, TASKS, simultaneous, &samples),
                &format!("p = {p}, simultaneous {simultaneous}"),
            );
        }
    }
}

/// With p = 1 and l1, every task with a loss learns c times its example, whatever the others do.
#[test]
fn a_loss_shared_by_its_sum_is_shared_by_nobody() {
    let samples = rounds(11);
    let learner = json!({"shared-loss-perceptron": {"p": 1, "c": 0.25, "norm": "l1"}});
    let mut weights = vec![vec![0.0; FEATURES]; TASKS];
    let expected: Vec<f64> = samples
        .iter()
        .map(|sample| {
            let w = &mut weights[sample.task];
            let margin: f64 = w.iter().zip(&sample.x).map(|(w, x)| w * x).sum();
            if 1.0 - sample.label * margin > 0.0 {
                w.iter_mut().zip(&sample.x).for_each(|(w, x)| *w += 0.25 * sample.label * x);
            }
            margin
        })
        .collect();
    assert_close(&margins(&learner, TASKS, true, &samples), &expected, "l1");
}

/// When all examples are scaled, the gradient changes by that scale alone.
#[test]
fn high_powers_of_large_and_small_numbers_do_not_overflow() {
    for p in [2, 17, 50] {
        let learner = json!({"schatten-perceptron": {"p": p}});
        let plain = margins(&learner, TASKS, true, &rounds(12));
        for scale in [1e-60, 1e60] {
            let scaled: Vec<Sample> = rounds(12)
                .into_iter()
                .map(|sample| Sample { x: sample.x.iter().map(|x| x * scale).collect(), ..sample })
                .collect();
            let found: Vec<f64> =
                margins(&learner, TASKS, true, &scaled).iter().map(|margin| margin / scale / scale).collect();
            assert_close(&found, &plain, &format!("p = {p}, examples times {scale}"));
        }
    }
}

#[test]
fn numbers_beyond_all_bounds_end_the_run_with_the_round() {
    let kernel = json!({"polynomial": {"degree": 8}});
    let mut model = harness::model(&json!({"learner": {"kernel-perceptron": {"kernel": kernel}}}));
    let text = "+1 qid:7 1:1\n-1 qid:7 1:1e30\n+1 qid:7 1:1e30\n-1 qid:7 1:1\n";
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    let mut reader = reader_for(&model, vec![input]);
    let error = model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap_err();
    let RunError::Diverged { round, task, margin } = error else { panic!("{error}") };
    // The kernel of the example kept in round 2 with itself is 1e480.
    assert_eq!((round, task.as_str(), margin), (3, "7", f64::NEG_INFINITY));
}
