//! Made-up problems for learners that are fitted to all examples at once.

use crate::support::readers::labels;
use cognate::RunConfig;
use cognate::algorithms::ConvexConfig;
use cognate::fit::{Examples, FitError};
use cognate::internal::generator;
use cognate::stream::{Input, Labels};
use rand::RngExt as _;
use serde_json::{Value, json};

pub(crate) fn examples(text: &str) -> Result<Examples, FitError> {
    let input = Input::Bytes { name: "text".into(), bytes: text.as_bytes().into() };
    read_from(&RunConfig::default(), input)
}

/// Examples with real labels, with the tasks that a config declares.
pub(crate) fn read_from(config: &RunConfig, input: Input) -> Result<Examples, FitError> {
    let mut reader = config.reader(vec![input], labels(Labels::Real)).unwrap();
    Examples::read(&mut reader, &config.declared_tasks().unwrap())
}

pub(crate) fn convex(parameters: Value) -> ConvexConfig {
    serde_json::from_value(parameters).unwrap()
}

/// Made-up tasks with `shared` inputs or their own, a share of the outputs `missing`, and labels of two classes or
/// real ones.
pub(crate) fn made_up(seed: u64, shared: bool, missing: f64, classes: bool) -> Examples {
    let (tasks, features, count) = (4, 6, 14);
    let mut rng = generator(seed, 0);
    let mut draw = || rng.random_range(-1.0..1.0);
    // Weights in two dimensions.
    let (left, right): (Vec<f64>, Vec<f64>) =
        ((0..2 * features).map(|_| draw()).collect(), (0..2 * tasks).map(|_| draw()).collect());
    let mut text = String::new();
    for _ in 0..count {
        let mut x: Vec<f64> = (0..features).map(|_| draw()).collect();
        for task in 0..tasks {
            if !shared {
                x = (0..features).map(|_| draw()).collect();
            }
            let weight =
                |feature: usize| (0..2).map(|k| left[2 * feature + k] * right[2 * task + k]).sum::<f64>();
            let y = x.iter().enumerate().map(|(at, x)| 3.0 * weight(at) * x).sum::<f64>() + 0.3 * draw();
            if f64::midpoint(draw(), 1.0) < missing {
                continue;
            }
            let y = if classes { y.signum() } else { y + 1.0 };
            let x: Vec<String> = x.iter().enumerate().map(|(at, x)| format!("{}:{x}", at + 1)).collect();
            text += &format!("{y} task:t{task} {}\n", x.join(" "));
        }
    }
    examples(&text).unwrap()
}

const PENALTIES: [&str; 9] = [
    r#"{"schatten": {"p": 1}}"#,
    r#"{"schatten": {"p": 2}}"#,
    r#"{"schatten": {"p": 1.5}}"#,
    r#""trace-one""#,
    r#"{"cluster": {"clusters": 2, "mean": 0.5, "between": 1, "within": 8}}"#,
    r#"{"log-det": {"mu": 0.5, "tau": 1}}"#,
    r#"{"fixed": {"interaction": {"graph": {"edges": [["t0", "t1"], ["t1", "t2", 2]]}}}}"#,
    r#""none""#,
    r#""rows""#,
];

/// Every penalty on every kind of data with every loss, some kernels, with and without intercepts and barriers.
pub(crate) fn for_every_problem(mut visit: impl FnMut(&str, &ConvexConfig, &Examples)) {
    for (seed, (shared, missing)) in [(true, 0.0), (true, 0.3), (false, 0.0)].into_iter().enumerate() {
        for loss in ["squares", "logistic", "hinge"] {
            let examples = made_up(seed as u64, shared, missing, loss != "squares");
            for penalty in PENALTIES {
                for (kernel, ridge, delta) in
                    [(r#""linear""#, 0.0, 0.0), (r#"{"gaussian": {"gamma": 0.5}}"#, 0.1, 0.05)]
                {
                    if penalty.contains("rows") && kernel.contains("gaussian") {
                        continue;
                    }
                    let parameters = json!({
                        "loss": loss, "lambda": 0.3, "ridge": ridge, "delta": delta,
                        "intercept": seed != 1 || ridge > 0.0, "tolerance": 1e-8, "max-iterations": 20_000,
                        "penalty": serde_json::from_str::<Value>(penalty).unwrap(),
                        "kernel": serde_json::from_str::<Value>(kernel).unwrap(),
                        "weights": if ridge > 0.0 { "mean" } else { "sum" },
                    });
                    let name = format!("shared {shared}, missing {missing}: {parameters}");
                    visit(&name, &convex(parameters), &examples);
                }
            }
        }
    }
}

/// How close a fit must come to the minimum, and two fits to each other.
pub(crate) const PROMISED: f64 = 1e-6;
