//! A relation that is singular, as MB12's footnote 1 allows: what it leaves out cannot be learnt.

use cognate::internal::generator;
use cognate::{Model, RunConfig};
use rand::RngExt as _;

/// Mistakes of 2,000 examples of two tasks that are the same.
fn mistakes(graph: &str) -> u64 {
    let config =
        format!(r#"{{"tasks": 2, "learner": {{"budget-random": {{"budget": 4000, "graph": {graph}}}}}}}"#);
    let config: RunConfig = serde_json::from_str(&config).unwrap();
    let mut model = Model::new(&config).unwrap();
    let mut rng = generator(5, 0);
    let truth: Vec<f64> = (0..10).map(|_| rng.random_range(-1.0..1.0)).collect();
    for at in 0..2000 {
        let features: Vec<(u32, f64)> = (0..10).map(|index| (index, rng.random_range(-1.0..1.0))).collect();
        let margin: f64 = features.iter().map(|(index, value)| truth[*index as usize] * value).sum();
        let task = ["1", "2"][at % 2];
        model.learn_one(task, &features, margin.signum()).unwrap();
    }
    model.metrics().total().mistakes
}

#[test]
fn a_singular_matrix_forgets_what_tasks_have_in_common() {
    let laplacian = mistakes(r#"{"matrix": {"rows": [[1.0, -1.0], [-1.0, 1.0]]}}"#);
    let graph = mistakes(r#""complete""#);
    assert!(laplacian > 800 && graph < 300, "{laplacian} with L, {graph} with I + L");
}
