//! Groups of tasks: what a user may ask for. Whether those that are found are the true ones: see `adaptive`.

use crate::support::harness;
use crate::support::samples::{Sample, samples, text};
use serde_json::{Value, json};

fn task_name(task: usize) -> String {
    (task + 1).to_string()
}

fn config(parameters: &Value) -> Value {
    json!({ "learner": { "adaptive": parameters } })
}

fn bits(parameters: &Value, samples: &[Sample]) -> Vec<u64> {
    let mut model = harness::model(&config(parameters));
    let reports = harness::learn(&mut model, &text(samples, task_name));
    reports.iter().map(|report| report.margin.to_bits()).collect()
}

#[test]
fn no_groups_and_far_too_many_are_refused() {
    for groups in [0, 65, 1_000_000] {
        let config: cognate::RunConfig =
            serde_json::from_value(config(&json!({ "groups": groups }))).unwrap();
        let error = cognate::Model::new(&config).unwrap_err().to_string();
        assert!(error.contains("groups") && error.contains("between 1 and 64"), "{error}");
    }
}

/// Three tasks in eight groups: each has one of its own sooner or later, and nothing overflows.
#[test]
fn more_groups_than_tasks_are_learnt() {
    let samples = samples(4, 3, 10, 3000);
    let error = |groups: Value| {
        let mut model = harness::model(&config(&json!({ "groups": groups })));
        let reports = harness::learn(&mut model, &text(&samples, task_name));
        assert!(reports.iter().all(|report| report.margin.is_finite()));
        reports.iter().filter(|report| report.mistake).count() as f64
    };
    let (one, many) = (error(json!(1)), error(json!(8)));
    assert!(many < 1.25 * one, "{many} mistakes in eight groups, {one} in one");
}

/// A given interaction, real labels and `average` have one group, whatever tasks are like; more are refused where they cannot be.
#[test]
fn auto_is_one_group_where_groups_are_not_found() {
    let samples = samples(5, 12, 10, 9000);
    for parameters in [
        json!({"interaction": "independent"}),
        json!({"interaction": "pooled"}),
        json!({"interaction": {"coupled": {"b": 3}}}),
        json!({"average": true}),
        json!({"loss": "squares"}),
        json!({"loss": "absolute"}),
    ] {
        let with = |groups: Value| {
            let mut parameters = parameters.clone();
            parameters["groups"] = groups;
            parameters
        };
        assert_eq!(bits(&with(json!("auto")), &samples), bits(&with(json!(1)), &samples), "{parameters}");
        let many: cognate::RunConfig = serde_json::from_value(config(&with(json!(3)))).unwrap();
        let refused = cognate::Model::new(&many);
        assert_eq!(refused.is_err(), parameters.get("loss").is_none(), "{parameters}");
    }
}
