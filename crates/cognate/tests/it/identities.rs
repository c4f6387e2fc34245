//! Does a Perceptron reduce to what the paper says it reduces to?
//!
//! Every form of it is compared with the paper's formulas written out (tests/it/support/figure1.rs, and p_norm.rs for
//! the p-norm Perceptron), and where two forms compute the same, with the other to the last bit.

use crate::support::figure1::Figure1;
use crate::support::harness;
use crate::support::matrices::{Matrix, coupled, graph, inverse};
use crate::support::p_norm::PNorm;
use crate::support::samples::{Sample, samples, text};
use cognate::run::RoundReport;
use cognate::{Model, TaskId};
use serde_json::{Value, json};

const TASKS: usize = 5;
const FEATURES: usize = 12;
const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// Edges of different weights, and a task without any.
const EDGES: [(usize, usize, f64); 4] = [(0, 1, 1.0), (1, 2, 0.5), (0, 2, 3.0), (3, 1, 1.0)];

fn task_name(task: usize) -> String {
    (task + 1).to_string()
}

fn edges(list: &[(usize, usize, f64)]) -> Value {
    list.iter().map(|(i, j, weight)| json!([task_name(*i), task_name(*j), weight])).collect()
}

fn all_pairs(tasks: usize) -> Vec<(usize, usize, f64)> {
    (0..tasks).flat_map(|j| (0..j).map(move |i| (i, j, 1.0))).collect()
}

/// MP10 (4): K on the diagonal, -1 elsewhere.
fn pairwise(tasks: usize) -> Matrix {
    let entry = |i, j| if i == j { tasks as f64 } else { -1.0 };
    (0..tasks).map(|i| (0..tasks).map(|j| entry(i, j)).collect()).collect()
}

/// A symmetric positive definite matrix without structure.
fn arbitrary(tasks: usize) -> Matrix {
    let factor = |i: usize, j: usize| ((i * 7 + j * 3) as f64).sin();
    let product = |i, j| (0..tasks).map(|k| factor(i, k) * factor(j, k)).sum::<f64>();
    let entry = |i, j| product(i, j) + if i == j { 1.0 } else { 0.0 };
    (0..tasks).map(|i| (0..tasks).map(|j| entry(i, j)).collect()).collect()
}

/// Every interaction, and the R that it stands for with K tasks.
fn interactions(tasks: usize) -> Vec<(Value, Matrix)> {
    let edges_among: Vec<_> = EDGES.into_iter().filter(|edge| edge.0.max(edge.1) < tasks).collect();
    vec![
        (json!("independent"), coupled(tasks, 0.0)),
        (json!("pooled"), vec![vec![1.0; tasks]; tasks]),
        (json!("pairwise"), inverse(&pairwise(tasks))),
        (json!("coupled"), inverse(&coupled(tasks, 1.0))),
        (json!({"coupled": {"b": 0}}), inverse(&coupled(tasks, 0.0))),
        (json!({"coupled": {"b": 3.5}}), inverse(&coupled(tasks, 3.5))),
        (json!({"graph": {"edges": "complete"}}), inverse(&graph(tasks, &all_pairs(tasks)))),
        (json!({"graph": {"edges": edges(&edges_among)}}), inverse(&graph(tasks, &edges_among))),
        (json!({"graph": {"edges": []}}), coupled(tasks, 0.0)),
        (json!({"matrix": {"rows": arbitrary(tasks)}}), inverse(&arbitrary(tasks))),
    ]
}

fn perceptron(interaction: &Value) -> Value {
    json!({"perceptron": {"interaction": interaction}})
}

fn p_norm(interaction: &Value, p: f64) -> Value {
    json!({"p-norm-perceptron": {"interaction": interaction, "p": p}})
}

/// A run with declared tasks named 1 to K.
fn run(interaction: &Value, tasks: usize, samples: &[Sample]) -> (Model, Vec<RoundReport>) {
    run_learner(&perceptron(interaction), tasks, samples)
}

fn run_learner(learner: &Value, tasks: usize, samples: &[Sample]) -> (Model, Vec<RoundReport>) {
    let names: Vec<String> = (0..tasks).map(task_name).collect();
    let mut model = harness::model(&json!({"tasks": names, "learner": learner}));
    let reports = harness::learn(&mut model, &text(samples, task_name));
    assert_eq!(reports.len(), samples.len());
    (model, reports)
}

fn margins(interaction: &Value, tasks: usize, samples: &[Sample]) -> Vec<f64> {
    margins_of(&perceptron(interaction), tasks, samples)
}

fn margins_of(learner: &Value, tasks: usize, samples: &[Sample]) -> Vec<f64> {
    let (_, reports) = run_learner(learner, tasks, samples);
    reports.iter().map(|report| report.margin).collect()
}

/// Checks that the numbers are the same to the last bit, taking 0 and -0 as equal.
fn assert_same(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = found.to_bits() == expected.to_bits() || (*found == 0.0 && *expected == 0.0);
        assert!(same, "{what}, at {at}: {found} is not {expected}");
    }
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let gap = (found - expected).abs();
        assert!(gap <= 1e-9 * (1.0 + expected.abs()), "{what}, at {at}: {found} is not {expected}");
    }
}

/// The textbook Perceptron: margins of one task's examples.
fn plain_perceptron<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Vec<f64> {
    let mut w = [0.0; FEATURES];
    let mut learn = |sample: &Sample| {
        let margin: f64 = w.iter().zip(&sample.x).map(|(w, x)| w * x).sum();
        if margin * sample.label <= 0.0 {
            w.iter_mut().zip(&sample.x).for_each(|(w, x)| *w += sample.label * x);
        }
        margin
    };
    samples.into_iter().map(&mut learn).collect()
}

#[test]
fn every_interaction_is_figure_1_with_its_r() {
    for seed in SEEDS {
        let samples = samples(seed, TASKS, FEATURES, 300);
        for (interaction, r) in interactions(TASKS) {
            let mut naive = Figure1::new(r.clone(), FEATURES);
            let step = |sample: &Sample| {
                let margin = naive.margin(sample.task, &sample.x);
                naive.update(sample.task, &sample.x, sample.label, margin);
                margin
            };
            let expected: Vec<f64> = samples.iter().map(step).collect();
            let (model, reports) = run(&interaction, TASKS, &samples);
            let found: Vec<f64> = reports.iter().map(|report| report.margin).collect();
            assert_close(&found, &expected, &interaction.to_string());
            let inspect = model.learner().as_inspect();
            for (i, (expected, row)) in naive.weights.iter().zip(&r).enumerate() {
                let id = TaskId(i as u32);
                let mut weights = vec![0.0; FEATURES];
                for (feature, weight) in inspect.weights(id) {
                    weights[feature as usize] = weight;
                }
                assert_close(&weights, expected, &format!("weights under {interaction}"));
                let found: Vec<f64> = (0..TASKS as u32).map(|j| inspect.relation(id, TaskId(j))).collect();
                assert_close(&found, row, &format!("R under {interaction}"));
            }
        }
    }
}

/// Tasks come one after the other, and come again; only those that a graph names are declared.
#[test]
fn tasks_met_on_the_way_are_figure_1_with_the_r_of_the_present_k() {
    for seed in SEEDS {
        let mut samples = samples(seed, TASKS, FEATURES, 300);
        for (at, sample) in samples.iter_mut().enumerate() {
            sample.task = sample.task.min(at / 40);
        }
        // All but the matrix, which has a fixed size.
        for choice in 0..interactions(TASKS).len() - 1 {
            let (interaction, _) = &interactions(TASKS)[choice];
            // Edges name their tasks beforehand; without them, K is the number of tasks met.
            let named = interaction["graph"]["edges"].as_array().is_some_and(|list| !list.is_empty());
            let (mut met, mut naive) = (0, Figure1::new(Vec::new(), FEATURES));
            let step = |sample: &Sample| {
                let known = if named { TASKS } else { met.max(sample.task + 1) };
                if known > met {
                    naive.grow(interactions(known)[choice].1.clone());
                    met = known;
                }
                let margin = naive.margin(sample.task, &sample.x);
                naive.update(sample.task, &sample.x, sample.label, margin);
                margin
            };
            let expected: Vec<f64> = samples.iter().map(step).collect();
            let mut model = harness::model(&json!({"learner": perceptron(interaction)}));
            let reports = harness::learn(&mut model, &text(&samples, task_name));
            let found: Vec<f64> = reports.iter().map(|report| report.margin).collect();
            assert_close(&found, &expected, &interaction.to_string());
            assert_eq!(model.learner().as_inspect().tasks(), TASKS);
        }
    }
}

/// All margins of a round come before any update; updates come in the order of the tasks.
#[test]
fn simultaneous_rounds_are_figure_1_with_the_margins_first() {
    for seed in SEEDS {
        let mut samples = samples(seed, TASKS, FEATURES, 60 * TASKS);
        for (at, sample) in samples.iter_mut().enumerate() {
            // Each round has the tasks in a different order.
            sample.task = (at + at / TASKS) % TASKS;
        }
        for (interaction, r) in interactions(TASKS) {
            let mut naive = Figure1::new(r, FEATURES);
            let mut expected = Vec::new();
            for round in samples.chunks(TASKS) {
                let margins: Vec<f64> = round.iter().map(|s| naive.margin(s.task, &s.x)).collect();
                for task in 0..TASKS {
                    let at = round.iter().position(|sample| sample.task == task).unwrap();
                    naive.update(task, &round[at].x, round[at].label, margins[at]);
                }
                expected.extend(margins);
            }
            let names: Vec<String> = (0..TASKS).map(task_name).collect();
            let stream = json!({"simultaneous": true});
            let mut model = harness::model(
                &json!({"tasks": names, "stream": stream, "learner": perceptron(&interaction)}),
            );
            let reports = harness::learn(&mut model, &text(&samples, task_name));
            let found: Vec<f64> = reports.iter().map(|report| report.margin).collect();
            assert_close(&found, &expected, &interaction.to_string());
            let rounds: Vec<u64> = reports.iter().map(|report| report.round).collect();
            assert!(rounds.iter().enumerate().all(|(at, round)| *round == (at / TASKS) as u64 + 1));
            assert_eq!(model.rounds(), 60);
        }
    }
}

#[test]
fn one_task_is_the_plain_perceptron() {
    for seed in SEEDS {
        let samples = samples(seed, 1, FEATURES, 300);
        let expected = plain_perceptron(&samples);
        let ones = json!({"matrix": {"rows": [[1]]}});
        let choices = interactions(1).into_iter().map(|(interaction, _)| interaction);
        for interaction in choices.filter(|choice| choice["matrix"].is_null()).chain([ones]) {
            assert_close(&margins(&interaction, 1, &samples), &expected, &interaction.to_string());
        }
        // A = 2 halves every step, and so every margin; no sign changes.
        let halved = margins(&json!({"matrix": {"rows": [[2]]}}), 1, &samples);
        let doubled: Vec<f64> = halved.iter().map(|margin| 2.0 * margin).collect();
        assert_close(&doubled, &expected, "A = 2");
    }
}

#[test]
fn independent_is_k_single_learners() {
    for seed in SEEDS {
        let samples = samples(seed, TASKS, FEATURES, 300);
        let found = margins(&json!("independent"), TASKS, &samples);
        for task in 0..TASKS {
            let of_task = |at: &usize| samples[*at].task == task;
            let own: Vec<f64> = (0..samples.len()).filter(of_task).map(|at| found[at]).collect();
            let expected = plain_perceptron(samples.iter().filter(|sample| sample.task == task));
            assert!(own.len() > 20);
            assert_close(&own, &expected, &format!("task {task}"));
        }
    }
}

/// Each task is, to the bit, the same learner alone.
#[test]
fn independent_tasks_do_not_touch_each_other() {
    let samples = samples(9, TASKS, FEATURES, 300);
    let found = margins(&json!("independent"), TASKS, &samples);
    for task in 0..TASKS {
        let of_task = |at: &usize| samples[*at].task == task;
        let own: Vec<f64> = (0..samples.len()).filter(of_task).map(|at| found[at]).collect();
        let alone: Vec<Sample> = samples.iter().filter(|sample| sample.task == task).cloned().collect();
        assert_same(&own, &margins(&json!("independent"), TASKS, &alone), &format!("task {task}"));
    }
}

#[test]
fn pooled_is_one_plain_perceptron_that_ignores_tasks() {
    for seed in SEEDS {
        let samples = samples(seed, TASKS, FEATURES, 300);
        let found = margins(&json!("pooled"), TASKS, &samples);
        assert_close(&found, &plain_perceptron(&samples), "pooled");
    }
}

#[test]
fn pooled_is_the_limit_of_coupled() {
    let samples = samples(5, TASKS, FEATURES, 300);
    let pooled = margins(&json!("pooled"), TASKS, &samples);
    // R of (5) tends to 1/K everywhere: K times the margins are those of one Perceptron.
    for b in [1e12, f64::MAX] {
        let coupled = margins(&json!({"coupled": {"b": b}}), TASKS, &samples);
        let scaled: Vec<f64> = coupled.iter().map(|margin| TASKS as f64 * margin).collect();
        assert_close(&scaled, &pooled, &format!("b = {b:e}"));
    }
}

/// Pairs of configs for the same interaction.
#[test]
fn different_words_for_one_interaction_agree() {
    let k = TASKS as f64;
    let matrix = |rows: &Matrix| json!({"matrix": {"rows": rows}});
    for seed in SEEDS {
        let samples = samples(seed, TASKS, FEATURES, 300);
        let of = |interaction: &Value| margins(interaction, TASKS, &samples);
        for (left, right) in [
            (json!({"coupled": {"b": 0}}), json!("independent")),
            (json!({"graph": {"edges": []}}), json!("independent")),
            (json!({"graph": {"edges": "complete"}}), json!("pairwise")),
        ] {
            assert_same(&of(&left), &of(&right), &format!("{left} against {right}"));
        }
        for (left, right) in [
            (json!({"coupled": {"b": k}}), json!("pairwise")),
            (json!({"graph": {"edges": edges(&all_pairs(TASKS))}}), json!("pairwise")),
            (matrix(&pairwise(TASKS)), json!("pairwise")),
            (matrix(&coupled(TASKS, 2.5)), json!({"coupled": {"b": 2.5}})),
            (matrix(&coupled(TASKS, 0.0)), json!("independent")),
            (matrix(&graph(TASKS, &EDGES)), json!({"graph": {"edges": edges(&EDGES)}})),
        ] {
            assert_close(&of(&left), &of(&right), &format!("{left} against {right}"));
        }
    }
}

/// Tasks in different components of a graph learn nothing from each other.
#[test]
fn a_disconnected_graph_is_a_learner_a_component_to_the_bit() {
    let interaction = json!({"graph": {"edges": edges(&[(0, 1, 1.0), (2, 3, 2.0)])}});
    let samples = samples(6, TASKS, FEATURES, 300);
    let found = margins(&interaction, TASKS, &samples);
    for component in [&[0, 1][..], &[2, 3], &[4]] {
        let inside = |at: &usize| component.contains(&samples[*at].task);
        let own: Vec<f64> = (0..samples.len()).filter(inside).map(|at| found[at]).collect();
        let alone: Vec<Sample> = samples.iter().filter(|s| component.contains(&s.task)).cloned().collect();
        assert_same(&own, &margins(&interaction, TASKS, &alone), &format!("component {component:?}"));
    }
}

#[test]
fn permuting_tasks_permutes_the_result() {
    let mut permuted = samples(7, TASKS, FEATURES, 300);
    let moved = |task: usize| (2 * task + 1) % TASKS;
    for sample in &mut permuted {
        sample.task = moved(sample.task);
    }
    let samples = samples(7, TASKS, FEATURES, 300);
    let uniform = ["independent", "pooled", "pairwise", "coupled"].map(Value::from);
    for interaction in uniform {
        let (left, right) = (run(&interaction, TASKS, &samples), run(&interaction, TASKS, &permuted));
        let margins = |reports: &[RoundReport]| reports.iter().map(|r| r.margin).collect::<Vec<_>>();
        assert_same(&margins(&left.1), &margins(&right.1), &interaction.to_string());
        for task in 0..TASKS {
            let weights =
                |model: &Model, task: usize| model.learner().as_inspect().weights(TaskId(task as u32));
            assert_eq!(weights(&left.0, task), weights(&right.0, moved(task)), "{interaction}");
        }
    }
    let moved_edges: Vec<_> = EDGES.iter().map(|(i, j, weight)| (moved(*i), moved(*j), *weight)).collect();
    let left = margins(&json!({"graph": {"edges": edges(&EDGES)}}), TASKS, &samples);
    let right = margins(&json!({"graph": {"edges": edges(&moved_edges)}}), TASKS, &permuted);
    assert_close(&left, &right, "graph");
}

#[test]
fn permuting_features_permutes_the_result() {
    let moved = |feature: usize| (5 * feature + 3) % FEATURES;
    let samples = samples(8, TASKS, FEATURES, 300);
    let mut permuted = samples.clone();
    for (sample, original) in permuted.iter_mut().zip(&samples) {
        (0..FEATURES).for_each(|feature| sample.x[moved(feature)] = original.x[feature]);
    }
    for (interaction, _) in interactions(TASKS) {
        let (left, right) = (run(&interaction, TASKS, &samples), run(&interaction, TASKS, &permuted));
        let margins = |reports: &[RoundReport]| reports.iter().map(|r| r.margin).collect::<Vec<_>>();
        assert_close(&margins(&left.1), &margins(&right.1), &interaction.to_string());
        for task in 0..TASKS as u32 {
            let mut weights = left.0.learner().as_inspect().weights(TaskId(task));
            for (feature, _) in &mut weights {
                *feature = moved(*feature as usize) as u32;
            }
            weights.sort_unstable_by_key(|pair| pair.0);
            assert_eq!(weights, right.0.learner().as_inspect().weights(TaskId(task)), "{interaction}");
        }
    }
}

/// Values of p from the plain one to one beyond every default.
const NORMS: [f64; 4] = [2.0, 3.0, 7.5, 60.0];

#[test]
fn every_interaction_is_section_4_1_with_its_r() {
    for (tasks, seed) in [(TASKS, 1), (TASKS, 2), (1, 3)] {
        let samples = samples(seed, tasks, FEATURES, 250);
        for ((interaction, r), p) in
            interactions(tasks).into_iter().flat_map(|i| NORMS.map(|p| (i.clone(), p)))
        {
            let mut naive = PNorm::new(p, r, FEATURES);
            let step = |sample: &Sample| {
                let margin = naive.margin(sample.task, &sample.x);
                naive.update(sample.task, &sample.x, sample.label, margin);
                margin
            };
            let expected: Vec<f64> = samples.iter().map(step).collect();
            let what = format!("p = {p} under {interaction}");
            let (model, reports) = run_learner(&p_norm(&interaction, p), tasks, &samples);
            let found: Vec<f64> = reports.iter().map(|report| report.margin).collect();
            assert_close(&found, &expected, &what);
            for task in 0..tasks {
                let mut weights = vec![0.0; FEATURES];
                for (feature, weight) in model.learner().as_inspect().weights(TaskId(task as u32)) {
                    weights[feature as usize] = weight;
                }
                assert_close(&weights, &naive.weights(task), &what);
            }
        }
    }
}

/// Left out, p is 2 ln max(K, d), exactly so where both are declared.
#[test]
fn the_p_of_theorem_6_is_the_default() {
    let samples = samples(4, TASKS, FEATURES, 300);
    for (tasks, features, n) in [(TASKS, FEATURES, FEATURES), (40, FEATURES, 40), (TASKS, 1000, 1000)] {
        let run = |learner: Value| {
            let config = json!({"tasks": tasks, "features": features, "learner": learner});
            let reports = harness::learn(&mut harness::model(&config), &text(&samples, task_name));
            reports.iter().map(|report| report.margin).collect::<Vec<_>>()
        };
        let found = run(json!("p-norm-perceptron"));
        assert_same(&found, &run(p_norm(&json!("pairwise"), 2.0 * (n as f64).ln())), &n.to_string());
    }
}

#[test]
fn tasks_met_on_the_way_are_section_4_1_with_the_r_of_the_present_k() {
    let mut samples = samples(5, TASKS, FEATURES, 300);
    for (at, sample) in samples.iter_mut().enumerate() {
        sample.task = sample.task.min(at / 40);
    }
    for choice in 0..interactions(TASKS).len() - 1 {
        let (interaction, _) = &interactions(TASKS)[choice];
        let mut model = harness::model(&json!({"learner": p_norm(interaction, 5.0)}));
        let reports = harness::learn(&mut model, &text(&samples, task_name));
        let named = interaction["graph"]["edges"].as_array().is_some_and(|list| !list.is_empty());
        let (mut met, mut naive) = (0, PNorm::new(5.0, Vec::new(), FEATURES));
        for (at, (sample, report)) in samples.iter().zip(&reports).enumerate() {
            let known = if named { TASKS } else { met.max(sample.task + 1) };
            // A task's first example is predicted with the previous K, which is not in the formulas.
            let first = known > met;
            if first {
                naive.grow(interactions(known)[choice].1.clone(), FEATURES);
                met = known;
            }
            if !first {
                let expected = naive.margin(sample.task, &sample.x);
                assert_close(&[report.margin], &[expected], &format!("{interaction}, example {at}"));
            }
            naive.update(sample.task, &sample.x, sample.label, report.margin);
        }
        assert_eq!(model.learner().as_inspect().tasks(), TASKS);
    }
}

/// For p = 2 the gradient is v itself.
#[test]
fn a_2_norm_is_the_perceptron_with_the_matrix_squared() {
    let squared = |a: &Matrix| -> Matrix {
        let entry = |i: usize, j: usize| (0..a.len()).map(|k| a[i][k] * a[k][j]).sum();
        (0..a.len()).map(|i| (0..a.len()).map(|j| entry(i, j)).collect()).collect()
    };
    let matrix = |rows: &Matrix| json!({"matrix": {"rows": rows}});
    for seed in SEEDS {
        let samples = samples(seed, TASKS, FEATURES, 300);
        for (interaction, a) in [
            (json!("pairwise"), pairwise(TASKS)),
            (json!({"coupled": {"b": 2.5}}), coupled(TASKS, 2.5)),
            (matrix(&arbitrary(TASKS)), arbitrary(TASKS)),
            (json!({"graph": {"edges": edges(&EDGES)}}), graph(TASKS, &EDGES)),
        ] {
            let expected = margins(&matrix(&squared(&a)), TASKS, &samples);
            let found = margins_of(&p_norm(&interaction, 2.0), TASKS, &samples);
            assert_close(&found, &expected, &interaction.to_string());
            // Remark 7: it is not the Perceptron with A.
            let other = margins(&interaction, TASKS, &samples);
            assert!(found.iter().zip(&other).any(|(a, b)| a * b < 0.0), "{interaction}");
        }
        // I is its own square.
        let independent = json!("independent");
        let found = margins_of(&p_norm(&independent, 2.0), TASKS, &samples);
        assert_close(&found, &margins(&independent, TASKS, &samples), "independent");
    }
}

/// Tasks share the norm, a positive factor, and nothing else.
#[test]
fn independent_p_norm_tasks_share_no_more_than_a_scale() {
    let samples = samples(6, TASKS, FEATURES, 300);
    for p in NORMS {
        let learner = p_norm(&json!("independent"), p);
        let (_, together) = run_learner(&learner, TASKS, &samples);
        for task in 0..TASKS {
            let alone: Vec<Sample> = samples.iter().filter(|sample| sample.task == task).cloned().collect();
            let (_, alone) = run_learner(&learner, TASKS, &alone);
            let own = together.iter().zip(&samples).filter(|(_, sample)| sample.task == task);
            let mistakes: Vec<bool> = own.map(|(report, _)| report.mistake).collect();
            assert_eq!(mistakes, alone.iter().map(|report| report.mistake).collect::<Vec<_>>(), "p = {p}");
        }
    }
}

/// v = (s, …, s), whose norm is K^(1/p) |s|_p, and K equal gradients.
#[test]
fn a_pooled_p_norm_is_one_learner_that_ignores_tasks() {
    let samples = samples(7, TASKS, FEATURES, 300);
    let mut one_task = samples.clone();
    one_task.iter_mut().for_each(|sample| sample.task = 0);
    for p in NORMS {
        let learner = p_norm(&json!("pooled"), p);
        let scale = (TASKS as f64).powf(2.0 / p);
        let alone: Vec<f64> =
            margins_of(&learner, 1, &one_task).iter().map(|margin| scale * margin).collect();
        assert_close(&margins_of(&learner, TASKS, &samples), &alone, &format!("p = {p}"));
    }
}

#[test]
fn permuting_tasks_permutes_a_p_norm() {
    let samples = samples(8, TASKS, FEATURES, 300);
    let mut permuted = samples.clone();
    permuted.iter_mut().for_each(|sample| sample.task = (2 * sample.task + 1) % TASKS);
    for interaction in ["independent", "pooled", "pairwise", "coupled"].map(Value::from) {
        let learner = p_norm(&interaction, 6.0);
        let (left, right) = (margins_of(&learner, TASKS, &samples), margins_of(&learner, TASKS, &permuted));
        assert_close(&left, &right, &interaction.to_string());
    }
}

/// Scaling values by c scales v by c and margins by c^2, up to the limits of floating point.
#[test]
fn a_p_norm_is_homogeneous() {
    let samples = samples(9, TASKS, FEATURES, 300);
    for (interaction, p) in [(json!("pairwise"), 4.0), (json!("coupled"), 60.0), (json!("independent"), 12.3)]
    {
        let expected = margins_of(&p_norm(&interaction, p), TASKS, &samples);
        for exponent in [-480, 480] {
            let scale = 2.0_f64.powi(exponent);
            let mut scaled = samples.clone();
            scaled.iter_mut().for_each(|sample| sample.x.iter_mut().for_each(|x| *x *= scale));
            let found = margins_of(&p_norm(&interaction, p), TASKS, &scaled);
            let found: Vec<f64> = found.iter().map(|margin| margin / scale / scale).collect();
            assert_close(&found, &expected, &format!("p = {p}, 2^{exponent}"));
        }
    }
}
