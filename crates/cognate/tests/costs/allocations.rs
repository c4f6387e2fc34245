//! Does learning allocate? Not per example, once buffers and tables have grown.

use std::sync::atomic::Ordering;

use crate::samples::{samples, text};
use cognate::run::RunOptions;
use cognate::stream::{Input, ReadOptions};
use cognate::{Model, RunConfig};
use serde_json::{Value, json};

use crate::counting::{ALLOCATIONS, alone};

/// Enough for opening a stream, and for the odd table that grows late.
const ALLOWED: usize = 60;

/// Allocations of the last of several passes over a text, and the updates it made.
fn allocations_of_a_late_pass(learner: &Value, text: &str) -> (usize, u64) {
    let config = json!({"learner": learner});
    let config: RunConfig = serde_json::from_value(config).unwrap();
    let mut model = Model::new(&config).unwrap();
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    let mut pass = || {
        let mut reader = model.reader(vec![input.clone()], ReadOptions::default()).unwrap();
        let before = (ALLOCATIONS.load(Ordering::Relaxed), model.metrics().total().updates);
        model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
        (ALLOCATIONS.load(Ordering::Relaxed) - before.0, model.metrics().total().updates - before.1)
    };
    pass();
    pass();
    pass()
}

#[test]
fn a_late_pass_allocates_no_more_for_ten_times_the_examples() {
    let _alone = alone();
    let graph = json!({"graph": {"edges": [["t0", "t1"], ["t1", "t2"], ["t3", "t4"], ["t5", "t4"]]}});
    let auto = json!({"coupled": {"b": "auto"}});
    let interactions =
        [json!("coupled"), json!("independent"), json!("pooled"), json!("pairwise"), graph, auto];
    let with = |learner: &str, interaction: &Value| json!({learner: {"interaction": interaction}});
    let mut learners: Vec<Value> = interactions.iter().map(|choice| with("perceptron", choice)).collect();
    // Only the Perceptron can find b itself.
    learners.extend(interactions[..5].iter().map(|choice| with("p-norm-perceptron", choice)));
    learners.extend(
        ["adaptive", "passive-aggressive", "collaborative", "rom-pgd", "rom-rda"].map(|id| json!(id)),
    );
    learners.push(json!({"adaptive": {"groups": 2}}));
    learners.push(json!({"rom-pgd": {"eta": 0.1, "alpha": 0.1, "beta": 0.1, "gamma": 0.3}}));
    for (learner, examples) in learners.iter().flat_map(|learner| [(learner, 2_000), (learner, 20_000)]) {
        let text = text(&samples(1, 6, 50, examples), |task| format!("t{task}"));
        let (allocations, updates) = allocations_of_a_late_pass(learner, &text);
        assert!(updates as usize > examples / 20, "{updates} updates are too few to tell");
        assert!(allocations <= ALLOWED, "{allocations} allocations for {examples} examples of {learner}");
    }
}
