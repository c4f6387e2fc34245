//! Does memory stay within the cost that the file's header states, where tasks are many and features are rare?

use cognate::rng::generator;
use cognate::{Example, LearnerConfig, SparseView, TaskId, Tasks};
use rand::RngExt;
use serde_json::json;

/// Examples a task, and features an example.
const EXAMPLES: u32 = 4;
const NONZEROS: u32 = 5;

/// Learns a few random examples a task from 2^24 features; bytes held, and weights touched (own and shared).
fn held_and_touched(interaction: &str, tasks: u32) -> (usize, usize) {
    let config = json!({"perceptron": {"interaction": interaction}});
    let config: LearnerConfig = serde_json::from_value(config).unwrap();
    let mut learner = config.build(&Tasks::open()).unwrap();
    let (mut rng, mut touched) = (generator(1, 0), 0);
    for at in 0..tasks * EXAMPLES {
        let mut indices: Vec<u32> = (0..NONZEROS).map(|_| rng.random_range(0..1 << 24)).collect();
        indices.sort_unstable();
        indices.dedup();
        let values = vec![1.0; indices.len()];
        let features = SparseView::try_new(&indices, &values).unwrap();
        let label = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        let example = Example { task: TaskId(at % tasks), features, label };
        if learner.as_learn_one().learn(example).updated {
            touched += 2 * indices.len();
        }
    }
    (learner.as_inspect().heap_bytes(), touched)
}

#[test]
fn a_hundred_thousand_tasks_hold_their_touched_weights_only() {
    for interaction in ["coupled", "independent", "pooled"] {
        let (few, touched_by_few) = held_and_touched(interaction, 1_000);
        let (many, touched_by_many) = held_and_touched(interaction, 100_000);
        assert!(touched_by_many > 80 * touched_by_few);
        // A weight and its key are 12 bytes, in tables up to half empty; a table a task on top.
        assert!(many <= 64 * touched_by_many, "{interaction}: {many} bytes for {touched_by_many} weights");
        assert!(
            many <= 150 * few,
            "{interaction}: a hundred times the tasks take {many} bytes instead of {few}"
        );
    }
}
