//! The batch learner `convex`: vectors, an objective that never increases, starts that do not matter, bad input.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::model_files::{FORMAT_VERSION, fixture, fixture_of, released};
use crate::support::problems::{PROMISED, convex, examples, for_every_problem, made_up, read_from};
use cognate::algorithms::{Convex, ConvexConfig};
use cognate::fit::{
    Examples, FitOptions, FitStatus, Fitted, Fitter, Method, Start, Stopped, fit, folds, score, select,
};
use cognate::internal::{Symmetric, generator};
use cognate::run::RunOptions;
use cognate::stream::{Input, Memory};
use cognate::{Inspect as _, Model, Predict as _, RunConfig, SparseView, TaskId};
use rand::RngExt as _;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn vectors() -> Value {
    serde_json::from_slice(&fs::read(folder().join("batch.json")).unwrap()).unwrap()
}

/// Examples of a file, tasks in the order of their numbers.
fn read(name: &str) -> Examples {
    read_from(&RunConfig::default(), Input::File(folder().join(name))).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(|row| row.as_array().unwrap().iter().map(number).collect()).collect()
}

/// L + gamma I of a graph with edges from 1.
fn graph_rows(penalty: &Value, tasks: usize) -> Vec<Vec<f64>> {
    let mut a = vec![vec![0.0; tasks]; tasks];
    (0..tasks).for_each(|at| a[at][at] = number(&penalty["gamma"]));
    for edge in rows(&penalty["edges"]) {
        let (from, to, weight) = (edge[0] as usize - 1, edge[1] as usize - 1, edge[2]);
        a[from][from] += weight;
        a[to][to] += weight;
        a[from][to] -= weight;
        a[to][from] -= weight;
    }
    a
}

/// A vector's penalty in the words of the config.
fn penalty(penalty: &Value, tasks: usize) -> Value {
    match penalty["kind"].as_str().unwrap() {
        "schatten" => json!({ "schatten": { "p": penalty["p"] } }),
        "trace_one" | "mtrl" => json!("trace-one"),
        "cluster" => json!({ "cluster": {
            "clusters": penalty["r"], "mean": penalty["eps_M"], "between": penalty["eps_B"], "within": penalty["eps_W"],
        } }),
        "logdet" => json!({ "log-det": { "mu": penalty["mu"], "tau": penalty["tau"] } }),
        "graph" => {
            json!({ "fixed": { "interaction": { "matrix": { "rows": graph_rows(penalty, tasks) } } } })
        }
        "variance" => json!({ "fixed": { "interaction": { "coupled": { "b": penalty["gamma"] } } } }),
        "independent" => json!("none"),
        other => panic!("penalty {other}"),
    }
}

fn config_of(case: &Value) -> RunConfig {
    let kernel = &case["kernel"];
    let kernel = match kernel["kind"].as_str().unwrap() {
        "linear" => json!("linear"),
        "gauss" => json!({ "gaussian": { "gamma": kernel["gamma"] } }),
        "poly" => json!({ "polynomial": {
            "degree": kernel["degree"], "gamma": kernel["gamma"], "coef0": kernel["coef0"],
        } }),
        other => panic!("kernel {other}"),
    };
    let loss = match case["loss"].as_str().unwrap() {
        "squared" => "squares",
        other => other,
    };
    let weights = if case["weights"] == "1" { "sum" } else { "mean" };
    let tasks = case["tasks"].as_u64().unwrap() as usize;
    serde_json::from_value(json!({ "learner": { "convex": {
        "loss": loss, "weights": weights, "kernel": kernel, "penalty": penalty(&case["penalty"], tasks),
        "lambda": case["lam"], "ridge": case["lam1"], "delta": case["delta"], "intercept": false,
        "tolerance": 1e-15, "max-iterations": 20_000,
    } } }))
    .unwrap()
}

fn close(what: &str, found: f64, expected: f64, scale: f64) {
    let gap = (found - expected).abs();
    assert!(gap <= 1e-6 * scale, "{what} is {found}, expected {expected}");
}

#[test]
fn fits_are_those_of_the_vectors() {
    let vectors = vectors();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 29);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let examples = read(case["data"].as_str().unwrap());
        let config = config_of(case);
        let (model, fitted) = Model::fit(&config, &examples, &FitOptions::default(), &|_, _| true).unwrap();
        let objective = number(&case["objective"]);
        close(&format!("{name}: objective"), fitted.status.objective, objective, objective);
        assert!(fitted.status.gap <= 1e-6 * objective, "{name}: {}", fitted.status);
        assert!(
            fitted.status.objective - fitted.status.gap <= objective * (1.0 + 1e-9),
            "{name}: {}",
            fitted.status
        );
        let predictions: Vec<f64> = case["predictions"].as_array().unwrap().iter().map(number).collect();
        let largest = predictions.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let learner = model.learner().as_predict();
        for (at, (example, expected)) in examples.examples().zip(&predictions).enumerate() {
            let margin = learner.margin(example.task, example.features);
            close(&format!("{name}: prediction {at} ({})", fitted.status), margin, *expected, largest);
        }
        let a = rows(&case["A"]);
        let largest = a.iter().flatten().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        for (i, row) in a.iter().enumerate() {
            for (j, expected) in row.iter().enumerate() {
                close(&format!("{name}: A[{i}, {j}]"), fitted.relation.entry(i, j), *expected, largest);
            }
        }
        let tests = rows(&case["test_predictions"]);
        let scale = tests.iter().flatten().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        for (x, expected) in rows(&case["test_inputs"]).iter().zip(&tests) {
            let indices: Vec<u32> = (0..x.len() as u32).collect();
            let x = SparseView::try_new(&indices, x).unwrap();
            for (task, expected) in (0..).zip(expected) {
                close(&format!("{name}: test"), learner.margin(TaskId(task), x), *expected, scale);
            }
        }
        let weights = case.get("W").map(rows).unwrap_or_default();
        for (feature, row) in weights.iter().enumerate() {
            for (task, expected) in (0..).zip(row) {
                let found = model.learner().as_inspect().weights(TaskId(task));
                close(&format!("{name}: W"), found[feature].1, *expected, 10.0);
            }
        }
        let again = Model::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(again.to_bytes(), model.to_bytes(), "{name}");
    }
}

/// The supervised step on its own: K C + lambda C A^-1 = Y, on the inputs of the shared vectors.
#[test]
fn the_coefficients_solve_the_equation_of_sylvester() {
    let vectors = vectors();
    let case = &vectors["sylvester"];
    let examples = read("batch_shared.svm");
    let inverse = Symmetric::try_from_rows(&rows(&case["A"])).unwrap().try_inverse().unwrap();
    let inverse: Vec<&[f64]> = (0..3).map(|row| inverse.row(row)).collect();
    let config = json!({ "learner": { "convex": {
        "kernel": { "gaussian": { "gamma": 0.2 } }, "lambda": case["lam"], "intercept": false, "tolerance": 1e-15,
        "penalty": { "fixed": { "interaction": { "matrix": { "rows": inverse } } } },
    } } });
    let config: RunConfig = serde_json::from_value(config).unwrap();
    let (model, fitted) = Model::fit(&config, &examples, &FitOptions::default(), &|_, _| true).unwrap();
    let expected = rows(&case["C"]);
    let supports = model.learner().as_inspect().supports().unwrap();
    assert_eq!(supports.len(), 45);
    for (at, support) in supports.iter().enumerate() {
        let expected = expected[at / 3][support.task.index()];
        close(&format!("C[{at}] ({})", fitted.status), support.coefficient, expected, 1.0);
    }
    assert!(fitted.objectives.len() <= 2, "one exact step is enough: {}", fitted.status);
}

#[test]
fn the_objective_never_increases_and_starts_do_not_matter() {
    let mut count = 0;
    for_every_problem(|name, config, examples| {
        count += 1;
        let run = |start: Start| -> Fitted {
            let options = FitOptions { start, ..FitOptions::default() };
            fit(config, examples, &options).unwrap()
        };
        let (one, other) = (run(Start::Nothing), run(Start::Drawn(7)));
        for fitted in [&one, &other] {
            let falls = fitted.objectives.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-13));
            assert!(falls, "{name}: {:?}", fitted.objectives);
            let share = fitted.status.gap / fitted.status.objective;
            assert!(share <= PROMISED, "{name}: {}", fitted.status);
        }
        let (a, b) = (one.status.objective, other.status.objective);
        assert!((a - b).abs() <= PROMISED * a, "{name}: {} and {}", one.status, other.status);
    });
    assert_eq!(count, 153);
}

#[test]
fn all_methods_reach_the_same_minimum() {
    for_every_problem(|name, config, examples| {
        let spectral = ["schatten", "trace-one", "log-det"].iter().any(|penalty| name.contains(penalty));
        if !spectral || config.loss.name() == "hinge" {
            return;
        }
        let config = &ConvexConfig { max_iterations: 4000, ..config.clone() };
        let run = |method| {
            let options = FitOptions { method: Some(method), ..FitOptions::default() };
            fit(config, examples, &options).unwrap().status
        };
        let (one, other) = (run(Method::Alternating), run(Method::Proximal));
        if config.loss.name() == "squares" {
            let third = run(Method::Splitting);
            assert!(third.gap <= 1e-6 * third.objective, "{name}: {third}");
            assert!((third.objective - other.objective).abs() <= 1e-6 * other.objective, "{name}: {third}");
        }
        let apart = (one.objective - other.objective).abs();
        // Alternating alone is slow where A is singular, and says so; a barrier keeps it away from there.
        let promised = if config.delta > 0.0 { 1e-6 * one.objective } else { one.gap.max(other.gap) };
        assert!(apart <= promised + 1e-9 * one.objective, "{name}: {one} and {other}");
        let closed = |status: FitStatus| status.gap <= 1e-6 * status.objective;
        assert!(closed(other) && (closed(one) || config.delta == 0.0), "{name}: {one} and {other}");
    });
}

#[test]
fn single_tasks_are_ridge_regressions() {
    // One feature, centred by hand: w = sum x y / (sum x^2 + lambda), b = mean y - w mean x.
    let examples =
        examples("1 task:a 1:0\n3 task:a 1:1\n8 task:a 1:2\n5 task:b 1:1\n7 task:b 1:3\n").unwrap();
    let config = json!({ "learner": { "convex": { "penalty": "none", "lambda": 0.5, "tolerance": 1e-14 } } });
    let config: RunConfig = serde_json::from_value(config).unwrap();
    let (model, _) = Model::fit(&config, &examples, &FitOptions::default(), &|_, _| true).unwrap();
    let x = SparseView::try_new(&[0], &[1.5]).unwrap();
    let a = 7.0 / 2.5;
    let b = 2.0 / 2.5;
    for (task, expected) in [(0, 4.0 + a * 0.5), (1, 6.0 - b * 0.5)] {
        let margin = model.learner().as_predict().margin(TaskId(task), x);
        assert!((margin - expected).abs() < 1e-9, "{margin} is not {expected}");
    }
    // A task that was never seen is predicted by the mean of the others.
    let mean = model.learner().as_predict().margin(TaskId(9), x);
    assert!((mean - f64::midpoint(4.0 + a * 0.5, 6.0 - b * 0.5)).abs() < 1e-9);
}

#[test]
fn a_trace_norm_that_is_too_strong_leaves_nothing() {
    let examples = made_up(3, false, 0.0, false);
    let at = |lambda: f64| {
        let config = convex(json!({ "lambda": lambda, "tolerance": 1e-9 }));
        fit(&config, &examples, &FitOptions::default()).unwrap()
    };
    let fitter = Fitter::new(&ConvexConfig::default(), &examples, 1 << 30).unwrap();
    let path = fitter.path(&ConvexConfig::default(), 5).unwrap();
    assert!(path.windows(2).all(|pair| pair[1] < pair[0]));
    // At the first lambda of a path W is 0 (errata: sqrt(lambda) = sigma_max(X'Y)), a little below it is not.
    let norm = |fitted: &Fitted| (0..4).map(|task| fitted.relation.entry(task, task)).sum::<f64>();
    assert!(norm(&at(path[0] * 1.01)) < 1e-5, "{}", norm(&at(path[0] * 1.01)));
    assert!(norm(&at(path[0] * 0.5)) > 0.1);
}

#[test]
fn a_code_of_the_labels_is_its_matrix() {
    let examples = made_up(5, false, 0.2, false);
    let code = [[1.0, 0.5, 0.0, -1.0], [0.0, 1.0, 1.0, 0.5]];
    let fitted = |penalty: Value| {
        let config = convex(json!({ "penalty": penalty, "lambda": 0.7, "tolerance": 1e-12 }));
        fit(&config, &examples, &FitOptions::default()).unwrap()
    };
    // A = L'L is singular: tasks live in two dimensions.
    let coded = fitted(json!({ "fixed": { "coding": code } }));
    assert_eq!(coded.relation.entry(0, 3), -1.0);
    assert!(coded.status.stopped == Stopped::Converged, "{}", coded.status);
    // A code of full rank is the interaction with the inverse.
    let full = [[1.0, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.2], [0.0, 0.0, 0.0, 2.0]];
    let a = Symmetric::from_fn(4, |i, j| full.iter().map(|row: &[f64; 4]| row[i] * row[j]).sum());
    let inverse = a.try_inverse().unwrap();
    let inverse: Vec<&[f64]> = (0..4).map(|row| inverse.row(row)).collect();
    let config = json!({ "fixed": { "interaction": { "matrix": { "rows": inverse } } } });
    let (one, other) = (fitted(json!({ "fixed": { "coding": full } })), fitted(config));
    assert!((one.status.objective - other.status.objective).abs() < 1e-8 * one.status.objective);
}

#[test]
fn few_features_are_found_by_rows() {
    // 3 of 20 features matter, to all tasks.
    let mut rng = generator(11, 0);
    let mut text = String::new();
    for at in 0..240 {
        let x: Vec<f64> = (0..20).map(|_| rng.random_range(-1.0..1.0)).collect();
        let task = at % 6;
        let y = (1.0 + task as f64) * x[2] - 2.0 * x[7]
            + (task as f64 - 3.0) * x[13]
            + 0.1 * rng.random_range(-1.0..1.0);
        let x: Vec<String> = x.iter().enumerate().map(|(at, x)| format!("{}:{x}", at + 1)).collect();
        text += &format!("{y} task:t{task} {}\n", x.join(" "));
    }
    let examples = examples(&text).unwrap();
    let config = json!({ "learner": { "convex": { "penalty": "rows", "lambda": 8.0 } } });
    let config: RunConfig = serde_json::from_value(config).unwrap();
    let (model, fitted) = Model::fit(&config, &examples, &FitOptions::default(), &|_, _| true).unwrap();
    assert!(fitted.status.stopped == Stopped::Converged, "{}", fitted.status);
    let found: Vec<u32> = model.learner().as_inspect().weights(TaskId(1)).iter().map(|pair| pair.0).collect();
    assert_eq!(found[..3], [2, 7, 13], "{found:?}");
    assert_eq!(found.len(), 4, "three features and the intercept: {found:?}");
}

#[test]
fn cross_validation_chooses_what_predicts() {
    let examples = made_up(2, false, 0.0, false);
    let splits = folds(&examples, 5, 1).unwrap();
    assert_eq!(splits.iter().map(|fold| fold.test.len()).sum::<usize>(), examples.len());
    assert_eq!(splits, folds(&examples, 5, 1).unwrap());
    let candidates: Vec<ConvexConfig> =
        [1e4, 1.0, 0.1, 1e-9].iter().map(|lambda| convex(json!({ "lambda": lambda }))).collect();
    let threads = |count| std::num::NonZeroUsize::new(count).unwrap();
    let chosen = |count| {
        select(&candidates, &examples, &splits, &FitOptions::default(), threads(count), &|| true).unwrap()
    };
    let (one, two) = (chosen(1), chosen(2));
    assert!(one.best == 1 || one.best == 2, "{:?}", one.candidates);
    for (a, b) in one.candidates.iter().zip(&two.candidates) {
        assert_eq!((a.error.to_bits(), a.deviation.to_bits()), (b.error.to_bits(), b.deviation.to_bits()));
    }
    assert!(one.candidates[one.best].explained > 0.5);
    // Outputs of a shared input stay together.
    let shared = made_up(2, true, 0.0, false);
    for fold in folds(&shared, 4, 1).unwrap() {
        assert!(
            fold.test.len() % 4 == 0 && fold.test.chunks(4).all(|four| four[3] - four[0] == 3),
            "{fold:?}"
        );
    }
    let all: Vec<usize> = (0..examples.len()).collect();
    let perfect = score(&examples, &all, |at| examples.example(at).label);
    assert_eq!((perfect.error, perfect.explained), (0.0, 1.0));
}

#[test]
fn bad_input_is_refused_by_name() {
    let data = made_up(1, false, 0.0, false);
    let refused = |parameters: Value| {
        let config = json!({ "learner": { "convex": parameters } });
        let config: RunConfig = serde_json::from_value(config).unwrap();
        Model::fit(&config, &data, &FitOptions::default(), &|_, _| true).unwrap_err().to_string()
    };
    for (parameters, message) in [
        (json!({ "lambda": 0 }), "learner.convex.lambda: must be positive and finite, got 0"),
        (json!({ "lambda": -1 }), "learner.convex.lambda: must be positive and finite, got -1"),
        (json!({ "ridge": -1 }), "learner.convex.ridge: must be finite and at least 0, got -1"),
        (json!({ "delta": -1 }), "learner.convex.delta: must be finite and at least 0, got -1"),
        (json!({ "tolerance": 0 }), "learner.convex.tolerance: must be positive and finite, got 0"),
        (json!({ "max-iterations": 0 }), "learner.convex.max-iterations: must be at least 1, got 0"),
        (
            json!({ "penalty": { "schatten": { "p": 0.5 } } }),
            "learner.convex.penalty.schatten.p: must be finite and at least 1, got 0.5",
        ),
        (
            json!({ "penalty": { "cluster": { "clusters": 5 } } }),
            "learner.convex.penalty.cluster.clusters: 5 clusters of 4 tasks; there cannot be more than tasks",
        ),
        (
            json!({ "penalty": { "cluster": { "within": 1, "between": 2 } } }),
            "learner.convex.penalty.cluster.within: must be more than `between`, which is 2, got 1",
        ),
        (
            json!({ "penalty": { "log-det": { "tau": 0 } } }),
            "learner.convex.penalty.log-det.tau: must be positive and finite, got 0",
        ),
        (
            json!({ "penalty": { "fixed": { "coding": [[1, 2]] } } }),
            "learner.convex.penalty.fixed.coding: 2 columns for 4 tasks",
        ),
        (
            json!({ "penalty": "rows", "kernel": "gaussian" }),
            "learner.convex.penalty: `rows` chooses features, which only the linear kernel has (without `normalize`)",
        ),
        (
            json!({ "kernel": { "gaussian": { "gamma": -1 } } }),
            "learner.convex.kernel.gaussian.gamma: must be positive and finite, got -1",
        ),
    ] {
        assert_eq!(refused(parameters.clone()), message, "{parameters}");
    }
    assert!(refused(json!({ "loss": "logistic" })).ends_with("real labels need \"squares\""));
    let message = examples("1 task:a 1:1\n1 task:b 1:2\n").unwrap_err().to_string();
    assert_eq!(message, "every label is 1; there is nothing to learn");
    assert_eq!(examples("").unwrap_err().to_string(), "there are no labelled examples to fit");
    assert!(examples("nan task:a 1:1\n").unwrap_err().to_string().contains("label"));
    assert!(examples("1 task:a 1:inf\n").is_err());
}

#[test]
fn a_declared_task_without_examples_and_too_many_folds_are_told() {
    let config = serde_json::from_value(json!({"tasks": ["a", "b"]})).unwrap();
    let text = "1.5 task:a 1:1\n2 task:a 1:2\n? task:b 1:3\n";
    let input = Input::Bytes { name: "text".into(), bytes: text.as_bytes().into() };
    let refused = read_from(&config, input).unwrap_err();
    assert!(refused.to_string().starts_with("task \"b\" has no labelled examples"), "{refused}");
    let few = examples("1.5 task:a 1:1\n2 task:a 1:2\n3 task:b 1:1\n2 task:b 1:5\n").unwrap();
    let refused = folds(&few, 3, 1).unwrap_err().to_string();
    assert!(refused.starts_with("task \"a\" has 2 examples, fewer than 3 folds"), "{refused}");
    assert_eq!(folds(&few, 1, 1).unwrap_err().to_string(), "1 folds: at least 2 are needed");
}

#[test]
fn matrices_that_do_not_fit_are_refused_before_they_are_made() {
    let data = made_up(1, false, 0.0, false);
    let refused = |parameters: Value| {
        let options = FitOptions { memory: 1000, ..FitOptions::default() };
        fit(&convex(parameters), &data, &options).unwrap_err().to_string()
    };
    let gram = refused(json!({ "kernel": "gaussian" }));
    assert!(gram.starts_with("the Gram matrix of 56 inputs, with its eigenvectors, needs"), "{gram}");
    assert!(gram.ends_with("use fewer examples, or the linear kernel on few features"), "{gram}");
    assert!(refused(json!({})).starts_with("the table of 56 inputs and 6 features needs"));
    let huge = json!({ "kernel": { "polynomial": { "degree": 64, "gamma": 1e150 } } });
    let refused = fit(&convex(huge), &data, &FitOptions::default()).unwrap_err().to_string();
    assert!(refused.starts_with("a value of the kernel is not finite"), "{refused}");
}

#[test]
fn a_batch_learner_does_not_learn_from_streams() {
    let config: RunConfig = serde_json::from_value(json!({ "learner": "convex" })).unwrap();
    let mut model = Model::new(&config).unwrap();
    let refused = model.learn(&mut Memory::new(), &RunOptions::default(), &mut ()).unwrap_err().to_string();
    assert!(refused.starts_with("`convex` does not learn from streams"), "{refused}");
    let perceptron: RunConfig = serde_json::from_value(json!({ "learner": "perceptron" })).unwrap();
    let data = made_up(1, false, 0.0, false);
    let refused =
        Model::fit(&perceptron, &data, &FitOptions::default(), &|_, _| true).unwrap_err().to_string();
    assert_eq!(refused, "learner: `perceptron` learns from streams and cannot be fitted; `convex` can");
    let query: RunConfig = serde_json::from_value(json!({ "learner": "convex", "query": "margin" })).unwrap();
    assert!(Model::new(&query).unwrap_err().to_string().starts_with("query: must be `all`"));
}

/// `COGNATE_BLESS=1` writes a fixture that is not there; a released one is never written anew.
#[test]
fn models_load_and_predict_as_ever() {
    for (file, kernel, classes) in
        [("convex", json!("linear"), false), ("convex-gaussian", json!("gaussian"), true)]
    {
        let data = made_up(4, true, 0.2, classes);
        let config =
            json!({ "learner": { "convex": { "kernel": kernel, "lambda": 0.5, "tolerance": 1e-12 } } });
        let config: RunConfig = serde_json::from_value(config).unwrap();
        let (today, _) = Model::fit(&config, &data, &FitOptions::default(), &|_, _| true).unwrap();
        fixture_of(file, &today);
        for version in 1..=FORMAT_VERSION {
            let released = released(&fixture(version, file));
            assert_eq!(released.kind(), today.kind());
            for example in data.examples() {
                let margin =
                    |model: &Model| model.learner().as_predict().margin(example.task, example.features);
                let (then, now) = (margin(&released), margin(&today));
                let close = (then - now).abs() <= 1e-5 * (1.0 + now.abs());
                assert!(then != 0.0 && close, "{file} of version {version}: {then}, {now}");
            }
        }
        for cut in 0..today.to_bytes().len() {
            assert!(Model::from_bytes(&today.to_bytes()[..cut]).is_err(), "{file} cut after {cut} bytes");
        }
    }
}

/// Tasks of one class have no finite intercept of their own under the logistic loss.
#[test]
fn tasks_of_one_class_share_the_intercept_of_all_examples() {
    let mut lines = String::new();
    for at in 0..60 {
        let (x, z) = (f64::from(at % 7) - 3.0, f64::from(at % 5) - 2.0);
        let label = if x + 0.5 * z > 0.4 { 1 } else { -1 };
        lines += &format!("{label} task:{} 1:{x} 2:{z}\n", ["a", "b"][at as usize % 2]);
        if label < 0 && at % 3 == 0 {
            lines += &format!("{label} task:only 1:{x} 2:{z}\n");
        }
    }
    let examples = examples(&lines).unwrap();
    let config = json!({ "loss": "logistic", "lambda": 0.3, "delta": 0.1, "tolerance": 1e-8 });
    let config: ConvexConfig = serde_json::from_value(config).unwrap();
    let run = |method| {
        let options = FitOptions { method: Some(method), ..FitOptions::default() };
        fit(&config, &examples, &options).unwrap()
    };
    let (one, other) = (run(Method::Alternating), run(Method::Proximal));
    for found in [&one, &other] {
        let FitStatus { objective, gap, .. } = found.status;
        assert!(gap >= -1e-9 * objective && gap <= 1e-6 * objective, "{:?}", found.status);
        let names: Vec<_> = found.shared_intercepts.iter().map(|task| examples.tasks().name(*task)).collect();
        assert_eq!(names, ["only"]);
    }
    let difference = (one.status.objective - other.status.objective).abs();
    assert!(difference <= 1e-6 * one.status.objective, "{} {}", one.status, other.status);
    let learner = Convex::from_fit(&config, &examples, &one);
    assert!(learner.margin(one.shared_intercepts[0], SparseView::try_new(&[0], &[-3.0]).unwrap()) < 0.0);
    assert_eq!(learner.probability(0.0), Some(0.5));
}
