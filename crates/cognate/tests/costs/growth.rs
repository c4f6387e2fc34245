//! Do tasks that are met on the way cost about what declared ones do?

use std::time::Duration;

use cognate::internal::generator;
use cognate::{Example, LearnerConfig, SparseView, TaskId, Tasks};
use rand::RngExt as _;
use serde_json::{Value, json};

use crate::counting::alone;

/// Tasks, and features per example.
const TASKS: u32 = 700;
const NONZEROS: u32 = 5;

/// The shortest time of several that it takes to learn an example per task, task by task; and how many were mistakes.
#[expect(clippy::disallowed_types, reason = "the cost is time")]
fn time_of_learning(learner: &Value, tasks: &Tasks) -> (Duration, usize) {
    let config: LearnerConfig = serde_json::from_value(learner.clone()).unwrap();
    let run = |_| {
        let mut learner = config.build(tasks).unwrap();
        let (mut rng, mut updates) = (generator(5, 0), 0);
        let start = std::time::Instant::now();
        for task in 0..TASKS {
            let mut indices: Vec<u32> = (0..NONZEROS).map(|_| rng.random_range(0..100)).collect();
            indices.sort_unstable();
            indices.dedup();
            let values: Vec<f64> = indices.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let features = SparseView::try_new(&indices, &values).unwrap();
            let label = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
            let outcome = learner.as_learn_one().learn(Example::new(TaskId(task), features, label));
            updates += usize::from(outcome.updated);
        }
        (start.elapsed(), updates)
    };
    (0..3).map(run).min().unwrap()
}

/// Once, each new task made everything of the pairs anew: 100 times as long at a thousand tasks, and more beyond.
#[test]
fn tasks_met_on_the_way_cost_about_what_declared_ones_do() {
    let _alone = alone();
    for learner in [
        json!("second-order-perceptron"),
        json!({"second-order-perceptron": {"interaction": "pairwise", "kernel": "gaussian"}}),
        json!("relation-perceptron"),
        json!({"relation-perceptron": {"relation": "log-det", "priming": 0}}),
        json!({"relation-perceptron": {"relation": "covariance", "priming": 0}}),
        json!({"relation-perceptron": {"relation": "scale-free"}}),
    ] {
        let (declared, mistakes) = time_of_learning(&learner, &Tasks::numbered(TASKS as usize));
        let (met, _) = time_of_learning(&learner, &Tasks::open());
        assert!(mistakes > TASKS as usize / 4, "{learner}: {mistakes} mistakes");
        assert!(met < 5 * declared, "{learner}: {met:?} instead of {declared:?}");
    }
}

/// The shortest time of several that a hundred predictions take.
#[expect(clippy::disallowed_types, reason = "the cost is time")]
fn time_of_predictions(learner: &cognate::Learner, task: TaskId) -> Duration {
    let features = SparseView::try_new(&[1, 5, 8, 9], &[1.0, -0.5, 2.0, 0.25]).unwrap();
    let time = |_| {
        let start = std::time::Instant::now();
        let sum: f64 = (0..100).map(|_| learner.as_predict().margin(task, features)).sum();
        assert!(sum.is_finite());
        start.elapsed()
    };
    (0..10).map(time).min().unwrap()
}

/// Once, everything was made anew to answer for a task that had not been met.
#[test]
fn a_prediction_for_a_new_task_takes_no_longer_than_for_an_old_one() {
    let _alone = alone();
    let config: LearnerConfig = serde_json::from_value(json!("second-order-perceptron")).unwrap();
    let mut learner = config.build(&Tasks::open()).unwrap();
    for task in 0..300 {
        let indices = [task % 20, 30 + task % 30];
        let features = SparseView::try_new(&indices, &[1.0, -1.0]).unwrap();
        learner.as_learn_one().update(Example::new(TaskId(task), features, 1.0), 0.0);
    }
    let [known, new] = [TaskId(7), TaskId(900)].map(|task| time_of_predictions(&learner, task));
    assert!(new < 5 * known, "{new:?} instead of {known:?}");
}
