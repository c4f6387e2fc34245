//! With many tasks, do memory and time stay within the cost that a learner's file states?

use std::time::Duration;

use cognate::internal::generator;
use cognate::{Example, LearnerConfig, SparseView, TaskId, Tasks};
use rand::RngExt;
use serde_json::{Value, json};

use crate::counting::alone;

/// Examples per task, and features per example.
const EXAMPLES: u32 = 4;
const NONZEROS: u32 = 5;

/// Learns a few random examples per task from 2^24 features; returns bytes held and weights touched (own and shared).
fn held_and_touched(learner: &Value, tasks: u32) -> (usize, usize) {
    let config: LearnerConfig = serde_json::from_value(learner.clone()).unwrap();
    let mut learner = config.build(&Tasks::open()).unwrap();
    let (mut rng, mut touched) = (generator(1, 0), 0);
    for at in 0..tasks * EXAMPLES {
        let mut indices: Vec<u32> = (0..NONZEROS).map(|_| rng.random_range(0..1 << 24)).collect();
        indices.sort_unstable();
        indices.dedup();
        let values = vec![1.0; indices.len()];
        let features = SparseView::try_new(&indices, &values).unwrap();
        let label = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        let example = Example::new(TaskId(at % tasks), features, label);
        if learner.as_learn_one().learn(example).updated {
            touched += 2 * indices.len();
        }
    }
    (learner.as_inspect().heap_bytes(), touched)
}

#[test]
fn a_hundred_thousand_tasks_hold_their_touched_weights_only() {
    let _alone = alone();
    for learner in [
        json!({"perceptron": {"interaction": "coupled"}}),
        json!({"perceptron": {"interaction": "independent"}}),
        json!({"perceptron": {"interaction": "pooled"}}),
        json!({"passive-aggressive": {"scope": "individual"}}),
        json!("rom-rda"),
    ] {
        within_touched_weights(&learner, 64);
    }
}

/// Learners that keep a row of about three numbers per weight.
#[test]
fn a_hundred_thousand_tasks_hold_their_touched_rows_only() {
    let _alone = alone();
    for learner in [
        json!("rom-pgd"),
        json!({"rom-pgd": {"eta": 0.1, "beta": 0.1}}),
        json!({"collaborative": {"global": 1.0}}),
        json!("adaptive"),
        json!({"adaptive": {"interaction": "independent"}}),
    ] {
        within_touched_weights(&learner, 96);
    }
    // Three settings side by side, with a row each.
    within_touched_weights(&json!("collaborative"), 3 * 96);
}

fn within_touched_weights(learner: &Value, bytes: usize) {
    let (few, touched_by_few) = held_and_touched(learner, 1_000);
    let (many, touched_by_many) = held_and_touched(learner, 100_000);
    assert!(touched_by_many > 80 * touched_by_few);
    // A weight and its key take 12 bytes, in tables up to half empty, plus a table for each task.
    assert!(many <= bytes * touched_by_many, "{learner}: {many} bytes for {touched_by_many} weights");
    assert!(many <= 150 * few, "{learner}: a hundred times the tasks take {many} bytes instead of {few}");
}

/// The shortest of several times of learning a thousand short examples, with so many other features already known.
#[expect(clippy::disallowed_types, reason = "the cost is time")]
fn time_of_learning(learner: &Value, others: u32) -> Duration {
    let config: LearnerConfig = serde_json::from_value(learner.clone()).unwrap();
    let mut learner = config.build(&Tasks::open()).unwrap();
    for feature in 0..others {
        let indices = [feature + 10];
        let features = SparseView::try_new(&indices, &[1.0]).unwrap();
        let label = if feature.is_multiple_of(2) { 1.0 } else { -1.0 };
        learner.as_learn_one().learn(Example::new(TaskId(feature % 3), features, label));
    }
    let features = SparseView::try_new(&[1, 5, 8, 9], &[1.0, -0.5, 2.0, 0.25]).unwrap();
    let time = |batch: u32| {
        let start = std::time::Instant::now();
        for at in 0..1000 {
            // Labels that change keep causing losses.
            let label = if (at + batch).is_multiple_of(2) { 1.0 } else { -1.0 };
            learner.as_learn_one().learn(Example::new(TaskId(at % 3), features, label));
        }
        start.elapsed()
    };
    (0..20).map(time).min().unwrap()
}

/// A walk over all features would take a thousand times as long.
#[test]
fn learning_takes_no_longer_beside_many_features() {
    let _alone = alone();
    for learner in [
        json!("passive-aggressive"),
        json!("collaborative"),
        json!("rom-pgd"),
        json!({"rom-pgd": {"eta": 0.01, "alpha": 0.1, "beta": 0.1, "gamma": 1}}),
        json!("rom-rda"),
    ] {
        let (few, many) = (time_of_learning(&learner, 100), time_of_learning(&learner, 300_000));
        assert!(many < 20 * few, "{learner}: {many:?} instead of {few:?}");
    }
}

fn p_norm(interaction: &str) -> Value {
    json!({"p-norm-perceptron": {"interaction": interaction}})
}

/// `coupled` is left out: for each task that was not declared, it recomputes everything.
#[test]
fn many_tasks_of_a_p_norm_hold_their_touched_weights_only() {
    let _alone = alone();
    for interaction in ["pairwise", "independent", "pooled"] {
        let (few, touched_by_few) = held_and_touched(&p_norm(interaction), 500);
        let (many, touched_by_many) = held_and_touched(&p_norm(interaction), 20_000);
        assert!(touched_by_many > 30 * touched_by_few);
        // Every feature is touched once here, so every weight has a row and a place in the tree.
        assert!(many <= 256 * touched_by_many, "{interaction}: {many} bytes for {touched_by_many} weights");
        assert!(many <= 80 * few, "{interaction}: forty times the tasks take {many} bytes instead of {few}");
    }
}

/// The shortest of several times of a thousand predictions, after every task has touched every feature.
#[expect(clippy::disallowed_types, reason = "the cost is time")]
fn time_of_p_norm_predictions(interaction: &str, tasks: u32) -> Duration {
    let config = json!({"p-norm-perceptron": {"interaction": interaction, "p": 4}});
    let config: LearnerConfig = serde_json::from_value(config).unwrap();
    let mut learner = config.build(&Tasks::numbered(tasks as usize)).unwrap();
    let features = SparseView::try_new(&[1, 5, 8, 9], &[1.0, -0.5, 2.0, 0.25]).unwrap();
    for task in 0..tasks {
        // Given margin 0 it is a mistake, whatever the real margin is.
        learner.as_learn_one().update(Example::new(TaskId(task), features, 1.0), 0.0);
    }
    let predict = |round: u32| learner.as_predict().margin(TaskId(round % tasks), features);
    let time = |_| {
        let start = std::time::Instant::now();
        let sum: f64 = (0..1000).map(predict).sum();
        assert!(sum > 0.0);
        start.elapsed()
    };
    (0..20).map(time).min().unwrap()
}

/// A walk over all tasks would take a hundred times as long.
#[test]
fn a_p_norm_predicts_among_a_thousand_tasks_as_fast_as_among_ten() {
    let _alone = alone();
    for interaction in ["pairwise", "coupled", "independent", "pooled"] {
        let (few, many) =
            (time_of_p_norm_predictions(interaction, 10), time_of_p_norm_predictions(interaction, 1000));
        assert!(many < 10 * few, "{interaction}: {many:?} instead of {few:?}");
    }
}
