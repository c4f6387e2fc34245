//! Does a learner on a budget stay within its memory? Over a million rounds of features that never come again, the peak
//! must be that of the first tenth.

use std::sync::atomic::Ordering;

use cognate::algorithms::CostClass;
use cognate::internal::generator;
use cognate::{Example, LearnerConfig, REGISTRY, SparseView, TaskId, Tasks};
use rand::RngExt as _;
use serde_json::{Value, json};

use crate::counting::{HELD, MOST, alone};

const ROUNDS: u32 = 1_000_000;
const BUDGET: usize = 16;
const NONZEROS: u32 = 4;

/// The most bytes held, beyond those held before, in the first tenth of the rounds and in all of them.
fn most_held(learner: &Value) -> (usize, usize) {
    let config: LearnerConfig = serde_json::from_value(learner.clone()).unwrap();
    let mut rng = generator(4, 0);
    let (mut indices, mut values) = (Vec::with_capacity(8), Vec::with_capacity(8));
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let mut learner = config.build(&Tasks::numbered(3)).unwrap();
    let mut early = 0;
    for round in 0..ROUNDS {
        indices.clear();
        values.clear();
        // One feature that all examples have, so that margins are not 0, and some of its own.
        indices.push(0);
        indices.extend((0..rng.random_range(1..NONZEROS)).map(|at| 1 + round * NONZEROS + at));
        values.extend(indices.iter().map(|_| rng.random_range(-1.0..1.0)));
        let features = SparseView::try_new(&indices, &values).unwrap();
        let label = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        learner.as_learn_one().learn(Example::new(TaskId(round % 3), features, label));
        if round + 1 == ROUNDS / 10 {
            early = MOST.load(Ordering::Relaxed) - before;
        }
    }
    assert_eq!(learner.as_inspect().supports().unwrap().len(), BUDGET);
    (early, MOST.load(Ordering::Relaxed) - before)
}

#[test]
fn a_million_rounds_hold_no_more_than_the_first_tenth() {
    let _alone = alone();
    let budgeted = REGISTRY.iter().filter(|about| about.cost_class == CostClass::Budget);
    let ids: Vec<&str> = budgeted.map(|about| about.id).collect();
    assert!(ids.len() >= 4, "{ids:?}");
    for id in ids {
        let (early, most) = most_held(&json!({id: {"budget": BUDGET, "kernel": "gaussian"}}));
        // Unused entries are cleared away in bulk, in late rounds perhaps a little later than in early ones.
        assert!(most <= early + early / 8, "{id}: {most} bytes, {early} in the first tenth");
        assert!(most < 64 << 10, "{id}: {most} bytes");
    }
}
