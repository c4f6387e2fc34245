//! A task that is forgotten: is anything of it left, and is anything of the others lost?

use cognate::model::ForgetError;
use cognate::{Model, REGISTRY, RunConfig};
use serde_json::{Value, json};

use crate::support::harness::{learn, model};
use crate::support::samples::{samples, text};

/// Learners that keep what they know about each task apart.
fn separable() -> Vec<Value> {
    let interactions = ["independent", "pooled", "pairwise", "coupled"];
    let mut learners: Vec<Value> =
        interactions.iter().map(|choice| json!({"perceptron": {"interaction": choice}})).collect();
    learners.extend(interactions.iter().map(|choice| json!({"adaptive": {"interaction": choice}})));
    learners.extend([
        json!({"perceptron": {"interaction": {"coupled": {"b": "auto"}}}}),
        json!("adaptive"),
        json!({"adaptive": {"groups": 3}}),
        json!({"adaptive": {"average": true}}),
        json!({"adaptive": {"interaction": "independent", "average": true}}),
        json!({"passive-aggressive": {"scope": "individual"}}),
        json!("collaborative"),
        json!("rom-pgd"),
        json!({"rom-pgd": {"eta": 0.1, "alpha": 0.1, "beta": 0.1, "gamma": 0.3}}),
        json!("rom-rda"),
    ]);
    learners
}

fn name(task: usize) -> String {
    format!("task-{task}")
}

fn learnt(learner: &Value) -> Model {
    let mut model = model(&json!({"learner": learner}));
    learn(&mut model, &text(&samples(3, 4, 12, 400), name));
    model
}

#[test]
fn the_file_holds_neither_name_nor_counts_nor_own_weights() {
    for learner in separable() {
        let mut model = learnt(&learner);
        let gone = model.metrics().task(model.task("task-1").unwrap()).examples;
        let before = model.metrics().total().examples;
        model.forget_task("task-1").unwrap();
        let bytes = model.to_bytes();
        assert!(!bytes.windows(6).any(|part| part == b"task-1"), "{learner}");
        assert_eq!((model.metrics().total().examples, model.tasks().len()), (before - gone, 3), "{learner}");
        let again = Model::from_bytes(&bytes).unwrap_or_else(|error| panic!("{learner}: {error}"));
        assert_eq!(again.to_bytes(), bytes, "{learner}");
        // It predicts like a task that was never met.
        let x = [(0_u32, 1.0), (3, -0.5), (7, 0.25)];
        let margin = |task: &str| model.predict_one(task, &x).unwrap().margin;
        assert_eq!(margin("task-1").to_bits(), margin("a stranger").to_bits(), "{learner}");
    }
}

/// Where nothing is shared, the other tasks predict as before, to the bit.
#[test]
fn independent_tasks_lose_nothing() {
    for learner in [
        json!({"perceptron": {"interaction": "independent"}}),
        json!({"adaptive": {"interaction": "independent"}}),
        json!({"passive-aggressive": {"scope": "individual"}}),
    ] {
        let (mut forgetful, whole) = (learnt(&learner), learnt(&learner));
        forgetful.forget_task("task-1").unwrap();
        for task in ["task-0", "task-2", "task-3"] {
            for feature in 0..12_u32 {
                let x = [(feature, 1.0)];
                let [one, other] =
                    [&forgetful, &whole].map(|model| model.predict_one(task, &x).unwrap().margin);
                assert_eq!(one.to_bits(), other.to_bits(), "{learner} {task} {feature}");
            }
        }
    }
}

/// A task that comes back begins as a new one, and the model keeps learning.
#[test]
fn a_model_goes_on_without_the_task() {
    for learner in separable() {
        let mut model = learnt(&learner);
        model.forget_task("task-0").unwrap();
        let more = text(&samples(5, 4, 12, 200), name);
        let reports = learn(&mut model, &more);
        assert_eq!((reports.len(), model.tasks().len()), (200, 4), "{learner}");
        assert_eq!(model.tasks().names().last(), Some("task-0"), "{learner}");
        assert!(reports.iter().all(|report| report.margin.is_finite()), "{learner}");
    }
}

#[test]
fn what_cannot_be_forgotten_is_refused_and_changes_nothing() {
    let mut model = learnt(&json!("adaptive"));
    assert_eq!(
        model.forget_task("task-9").unwrap_err().to_string(),
        "no task is called \"task-9\"; nearest: task-1, task-2, task-0, task-3"
    );
    let config: RunConfig = serde_json::from_value(json!({"tasks": ["a", "b"]})).unwrap();
    let mut declared = Model::new(&config).unwrap();
    declared.learn_one("a", &[("x", 1.0)], 1.0).unwrap();
    assert_eq!(declared.forget_task("a"), Err(ForgetError::Declared { task: "a".to_owned() }));
    let separable: Vec<String> = separable().iter().map(id_of).collect();
    for about in REGISTRY.iter().filter(|about| !separable.contains(&about.id.to_owned())) {
        let config = json!({"learner": about.id});
        let Ok(mut model) = Model::new(&serde_json::from_value(config).unwrap()) else { continue };
        if model.learn_one("a", &[("x", 1.0)], 1.0).is_err() {
            continue;
        }
        let before = model.to_bytes();
        assert_eq!(
            model.forget_task("a"),
            Err(ForgetError::Inseparable { learner: about.id }),
            "{}",
            about.id
        );
        assert_eq!(model.to_bytes(), before, "{}", about.id);
    }
}

fn id_of(learner: &Value) -> String {
    match learner {
        Value::Object(tagged) => tagged.keys().next().cloned().unwrap_or_default(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}
