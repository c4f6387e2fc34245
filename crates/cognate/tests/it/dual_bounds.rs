//! Bounds for kernels: are comparators given by dual coefficients what the theorems say, and is one found?

use crate::support::harness;
use crate::support::matrices::{Matrix, coupled, inverse};
use cognate::bounds::{BoundError, Certificate, Comparator, DualComparator, Theorems, Transcript};
use cognate::run::RunOptions;
use cognate::stream::Memory;
use cognate::stream::synthetic::Related;
use cognate::{Example, LearnerConfig, SparseView, TaskId, Tasks};
use serde_json::{Value, json};

const TASKS: usize = 3;

fn stream(examples: usize) -> Memory {
    let related =
        Related { tasks: TASKS, features: 6, examples, spread: 0.4, flips: 0.05, ..Related::default() };
    related.generate().stream
}

/// Labels are products of two features, which no vector predicts.
fn crossed(examples: usize) -> Memory {
    let mut memory = Memory::new();
    let mut noise = 1_u64;
    let mut next = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    for at in 0..examples {
        let (a, b) = (next(), next());
        let values = [a, b];
        let task = (at % TASKS + 1).to_string();
        let x = SparseView::try_new(&[0, 1], &values).unwrap();
        memory.push(&task, Example::new(TaskId(0), x, if a * b > 0.0 { 1.0 } else { -1.0 }));
    }
    memory
}

fn learn(learner: &Value, stream: &Memory) -> (Theorems, Transcript) {
    let names: Vec<String> = (1..=TASKS).map(|task| task.to_string()).collect();
    let mut model = harness::model(&json!({"tasks": names, "learner": learner}));
    let mut stream = stream.clone().numbered_as(model.tasks());
    let transcript = Transcript::record(&mut model, &mut stream, &RunOptions::default()).unwrap();
    let config: LearnerConfig = serde_json::from_value(learner.clone()).unwrap();
    (
        Theorems::of(&config, &Tasks::named(names.iter().map(String::as_str)).unwrap(), None).unwrap(),
        transcript,
    )
}

/// Task from 0, x, label.
fn rows(stream: &Memory, features: usize) -> Vec<(usize, Vec<f64>, f64)> {
    let row = |(task, example): (&str, Example<'_>)| {
        let mut x = vec![0.0; features];
        example.features.iter().for_each(|(feature, value)| x[feature as usize] = value);
        (task.parse::<usize>().unwrap() - 1, x, example.label)
    };
    stream.examples().map(row).collect()
}

fn relation() -> Matrix {
    inverse(&coupled(TASKS, 2.0))
}

/// Some coefficients.
fn some() -> Vec<(usize, f64)> {
    vec![(3, 0.5), (10, -1.25), (11, 2.0), (40, 0.75), (77, -0.3)]
}

fn assert_same(ours: &[Certificate], expected: &[Certificate], what: &str) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    for (ours, expected) in ours.iter().zip(expected) {
        assert_eq!(
            (ours.name, ours.found, ours.holds),
            (expected.name, expected.found, expected.holds),
            "{what}"
        );
        for (a, b) in [
            (ours.bound, expected.bound),
            (ours.loss, expected.loss),
            (ours.complexity, expected.complexity),
            (ours.in_advance, expected.in_advance),
        ] {
            assert!(
                a == b || (a - b).abs() <= 1e-9 * (1.0 + b.abs()),
                "{what}: {ours:?}, expected {expected:?}"
            );
        }
    }
}

#[test]
fn under_the_linear_kernel_dual_coefficients_are_vectors() {
    let stream = stream(120);
    let (rows, r) = (rows(&stream, 6), relation());
    let values = json!({"polynomial": {"degree": 1, "gamma": 1, "coef0": 0}});
    let learners = |kernel: &Value| {
        let interaction = json!({"coupled": {"b": 2}});
        // A of the complete graph is that of b = K, here with edges of weight 2/3.
        let graph = json!({"edges": [["1", "2", 2.0 / 3.0], ["1", "3", 2.0 / 3.0], ["2", "3", 2.0 / 3.0]]});
        vec![
            json!({"kernel-perceptron": {"interaction": interaction, "kernel": kernel}}),
            json!({"budget-random": {"graph": graph, "kernel": kernel, "budget": 400}}),
            json!({"budget-forgetron": {"graph": graph, "kernel": kernel, "budget": 200, "bound": 1.0}}),
        ]
    };
    for (plain, dual) in learners(&json!("linear")).iter().zip(&learners(&values)) {
        for scale in [0.05, 1.0] {
            let coefficients: Vec<(usize, f64)> =
                some().into_iter().map(|(at, beta)| (at, scale * beta)).collect();
            let vector = |task: usize| -> Vec<f64> {
                (0..6)
                    .map(|feature| {
                        let term =
                            |(at, beta): &(usize, f64)| beta * r[task][rows[*at].0] * rows[*at].1[feature];
                        coefficients.iter().map(term).sum()
                    })
                    .collect()
            };
            let u = Comparator::dense(&(0..TASKS).map(vector).collect::<Vec<_>>());
            let beta = DualComparator::new(coefficients.clone());
            let (theorems, transcript) = learn(plain, &stream);
            let mut expected = theorems.certify(&transcript, &u).unwrap();
            // Corollary 4 is about sums of |u_i|^2, which only vectors have.
            expected.retain(|certificate| certificate.name.contains("Theorem"));
            assert_same(&theorems.certify_dual(&transcript, &beta).unwrap(), &expected, "linear");
            let (theorems, transcript) = learn(dual, &stream);
            assert!(theorems.needs_dual());
            assert_same(&theorems.certify_dual(&transcript, &beta).unwrap(), &expected, "by values");
        }
    }
}

#[test]
fn gaussian_certificates_are_what_theorem_1_says() {
    let stream = stream(120);
    let learner = json!({"kernel-perceptron": {"interaction": {"coupled": {"b": 2}}, "kernel": {"gaussian": {"gamma": 0.7}}}});
    let (theorems, transcript) = learn(&learner, &stream);
    let certificates = theorems.certify_dual(&transcript, &DualComparator::new(some())).unwrap();
    let (rows, r) = (rows(&stream, 6), relation());
    let product = |s: usize, t: usize| {
        let apart: f64 = rows[s].1.iter().zip(&rows[t].1).map(|(a, b)| (a - b).powi(2)).sum();
        r[rows[s].0][rows[t].0] * (-0.7 * apart).exp()
    };
    let margin = |t: usize| -> f64 { some().iter().map(|(s, beta)| beta * product(*s, t)).sum() };
    let quadratic: f64 = some().iter().map(|(s, beta)| beta * margin(*s)).sum();
    // The kernel Perceptron from its definition: its mistakes are the rounds that count.
    let mut mistakes: Vec<usize> = Vec::new();
    for t in 0..rows.len() {
        let own: f64 = mistakes.iter().map(|s| rows[*s].2 * product(*s, t)).sum();
        if rows[t].2 * own <= 0.0 {
            mistakes.push(t);
        }
    }
    let loss: f64 = mistakes.iter().map(|t| (1.0 - rows[*t].2 * margin(*t)).max(0.0)).sum();
    let complexity = r[0][0] * quadratic;
    let [found] = &certificates[..] else { panic!("rates are all the same: {certificates:?}") };
    assert_eq!((found.name, found.found), ("Theorem 1", mistakes.len() as f64));
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a}, not {b}");
    close(found.loss, loss);
    close(found.complexity, complexity);
    close(found.bound, loss + complexity + (loss * complexity).sqrt());
}

#[test]
fn a_comparator_is_found_where_no_vector_would_do() {
    let stream = crossed(900);
    let kernel = json!({"gaussian": {"gamma": 4.0}});
    let learner = json!({"kernel-perceptron": {"interaction": "pairwise", "kernel": kernel}});
    let (theorems, transcript) = learn(&learner, &stream);
    let u = theorems.hindsight_dual(&transcript).unwrap();
    let certificates = theorems.certify_dual(&transcript, &u).unwrap();
    assert!(!u.is_zero());
    for certificate in &certificates {
        assert!(certificate.holds && !certificate.vacuous, "{certificate:?}");
        assert!(certificate.in_advance < 450.0, "{certificate:?}");
    }
    let vectors = json!({"kernel-perceptron": {"interaction": "pairwise"}});
    let (theorems, transcript) = learn(&vectors, &stream);
    let u = theorems.hindsight(&transcript).unwrap();
    let best = &theorems.certify(&transcript, &u).unwrap()[0];
    assert!(best.in_advance > 800.0, "{best:?}");
    // Learners on a budget compete with short comparators; their bounds hold.
    for (id, budget) in [("budget-random", 400), ("budget-forgetron", 300)] {
        let (theorems, transcript) = learn(&json!({id: {"kernel": kernel, "budget": budget}}), &stream);
        let u = theorems.hindsight_dual(&transcript).unwrap();
        assert!(theorems.certify_dual(&transcript, &u).unwrap()[0].holds);
    }
}

#[test]
fn what_is_no_dual_comparator_is_refused() {
    let stream = stream(30);
    let gaussian = json!({"kernel-perceptron": {"kernel": "gaussian"}});
    let (theorems, transcript) = learn(&gaussian, &stream);
    let error = theorems.certify(&transcript, &Comparator::zero(TASKS)).unwrap_err();
    assert!(matches!(error, BoundError::Kernel { .. }), "{error}");
    let beyond = DualComparator::new([(30, 1.0)]);
    let error = theorems.certify_dual(&transcript, &beyond).unwrap_err().to_string();
    assert_eq!(error, "example: 31; an example of the run");
    let (theorems, transcript) = learn(&json!("second-order-perceptron"), &stream);
    let error = theorems.certify_dual(&transcript, &DualComparator::default()).unwrap_err().to_string();
    assert_eq!(error, "Theorem 8 is for comparators that are vectors, not for dual coefficients");
}
