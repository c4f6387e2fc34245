//! Does a learned relation stay positive definite and finite, and is it right where the truth is known?

use crate::support::harness;
use crate::support::samples;
use crate::support::samples::{samples, text};
use cognate::internal::Symmetric;
use cognate::run::RunOptions;
use cognate::stream::Memory;
use cognate::stream::synthetic::opposed_triple;
use cognate::{Model, RunConfig, SparseView, TaskId};
use proptest::prelude::*;
use serde_json::{Value, json};

const RULES: [&str; 5] = ["log-det", "covariance", "von-neumann", "batch-optimal", "scale-free"];

fn relation_learner(parameters: &Value) -> Value {
    json!({"learner": {"relation-perceptron": parameters}})
}

fn learnt(config: &Value, stream: &Memory) -> Model {
    let config: RunConfig = serde_json::from_value(config.clone()).unwrap();
    let mut model = Model::new(&config).unwrap();
    let mut stream = stream.clone().numbered_as(model.tasks());
    model.learn(&mut stream, &RunOptions::default(), &mut ()).unwrap();
    model
}

/// R over the tasks of a model.
fn relation(model: &Model) -> Symmetric {
    let learner = model.learner().as_inspect();
    Symmetric::from_fn(learner.tasks(), |i, j| learner.relation(TaskId(i as u32), TaskId(j as u32)))
}

fn name(task: usize) -> String {
    format!("t{task}")
}

/// Margins of every example of a run over text.
fn margins(config: &Value, text: &str) -> Vec<f64> {
    harness::learn(&mut harness::model(config), text).iter().map(|report| report.margin).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// R is symmetric positive definite after every stream, whatever the rule, the number of tasks and the scale.
    #[test]
    fn relations_are_positive_definite(
        tasks in 1_usize..51,
        features in 1_usize..30,
        seed in 0_u64..1_000_000,
        rule in 0_usize..RULES.len(),
        eta in prop::sample::select(vec![1e-12, 1e-3, 1.0, 1e300]),
        priming in prop::sample::select(vec![json!(0), json!(60), json!("auto")]),
        scale in prop::sample::select(vec![1e-100, 1.0, 1e100]),
    ) {
        let mut parameters = json!({"relation": RULES[rule], "priming": priming});
        if RULES[rule] != "scale-free" {
            parameters["eta"] = json!(eta);
        }
        let mut drawn = samples(seed, tasks, features, 300);
        for sample in &mut drawn {
            sample.x.iter_mut().for_each(|value| *value *= scale);
        }
        let mut model = harness::model(&relation_learner(&parameters));
        for report in harness::learn(&mut model, &text(&drawn, name)) {
            prop_assert!(report.margin.is_finite());
        }
        let relation = relation(&model);
        for i in 0..relation.size() {
            for j in 0..i {
                prop_assert_eq!(relation.entry(i, j), relation.entry(j, i));
            }
        }
        let eigenvalues = relation.eigenvalues();
        let (least, largest) = (eigenvalues[0], eigenvalues[eigenvalues.len() - 1]);
        // What rounding takes from the smallest eigenvalue is restored every K changes.
        prop_assert!(least > -1e-14 * relation.size() as f64 * largest, "{} {}", least, largest);
        prop_assert!(largest.is_finite() && largest > 0.0);
    }
}

/// With one feature there is no covariance, and R stays as it is.
#[test]
fn no_variance_moves_nothing() {
    let mut model = harness::model(&relation_learner(&json!({"relation": "covariance", "priming": 0})));
    harness::learn(&mut model, &text(&samples(256_106, 18, 1, 300), name));
    let relation = relation(&model);
    for i in 0..18 {
        for j in 0..18 {
            assert_eq!(relation.entry(i, j), f64::from(u8::from(i == j)));
        }
    }
}

/// However large eta and however long the stream, the numbers stay finite.
#[test]
fn no_eta_is_too_large() {
    let stream = text(&samples(3, 6, 12, 3_000), name);
    for rule in ["von-neumann", "log-det"] {
        for eta in [1.0, 1e10, 1e300] {
            for trace in ["start", "none"] {
                let parameters = json!({"relation": rule, "eta": eta, "trace": trace, "priming": 1});
                let mut model = harness::model(&relation_learner(&parameters));
                let reports = harness::learn(&mut model, &stream);
                assert!(reports.iter().all(|report| report.margin.is_finite()), "{rule} {eta} {trace}");
                let relation = relation(&model);
                assert!((0..6).all(|i| (0..6).all(|j| relation.entry(i, j).is_finite())));
            }
        }
    }
}

/// LR11 Table 2: tasks 1 and 2 are opposed and 3 is unrelated to both, which a fixed interaction does not see.
#[test]
fn the_opposed_triple_is_found_out() {
    let configs = [
        relation_learner(&json!({"priming": 100, "start": 3})),
        relation_learner(&json!({"relation": "von-neumann", "priming": 100, "start": 3})),
        relation_learner(&json!({"relation": "scale-free"})),
        json!({"learner": {"perceptron": {"interaction": "pairwise"}}}),
    ];
    // Mean correlations of the weights of tasks (1, 2), (1, 3), (2, 3) over 20 streams.
    let mut means = [[0.0; 3]; 4];
    let mut errors = [0.0; 4];
    for seed in 1..=20 {
        let stream = opposed_triple(seed).stream;
        for (at, config) in configs.iter().enumerate() {
            let model = learnt(config, &stream);
            let weights: Vec<Vec<f64>> = (1..=3).map(|task| dense(&model, &task.to_string())).collect();
            for (mean, (i, j)) in means[at].iter_mut().zip([(0, 1), (0, 2), (1, 2)]) {
                *mean += correlation(&weights[i], &weights[j]) / 20.0;
            }
            errors[at] += model.metrics().total().error() / 20.0;
        }
    }
    for learned in &means[..3] {
        assert!(learned[0] < -0.9, "tasks 1 and 2: {means:?}");
        assert!(learned[1].abs() < 0.06 && learned[2].abs() < 0.06, "task 3: {means:?}");
    }
    let fixed = means[3];
    assert!(fixed[0] > -0.7, "the fixed interaction hides how they oppose each other: {means:?}");
    assert!(fixed[1] > 0.15, "and makes task 3 related to task 1: {means:?}");
    assert!(errors[2] < 0.8 * errors[3], "and errs more: {errors:?}");
}

/// Weights of a task over the ten features of the triple.
fn dense(model: &Model, task: &str) -> Vec<f64> {
    let mut weights = vec![0.0; 10];
    let task = model.tasks().find(task).unwrap();
    for (feature, weight) in model.learner().as_inspect().weights(task) {
        weights[feature as usize] = weight;
    }
    weights
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |x: &[f64]| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        x.iter().map(|value| value - mean).collect()
    };
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let (a, b) = (centred(a), centred(b));
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// While priming lasts, and always with one task, it is one Perceptron per task.
#[test]
fn without_a_relation_it_is_a_perceptron_a_task() {
    let independent = json!({"learner": {"perceptron": {"interaction": "independent"}}});
    let many = text(&samples(5, 5, 12, 400), name);
    let alone = text(&samples(6, 1, 12, 400), name);
    let same = |config: &Value, stream: &str| {
        for (found, expected) in margins(config, stream).iter().zip(&margins(&independent, stream)) {
            let gap = (found - expected).abs();
            assert!(gap <= 1e-9 * (1.0 + expected.abs()), "{config}: {found}, {expected}");
        }
    };
    for rule in RULES {
        same(&relation_learner(&json!({"relation": rule, "priming": 1_000_000})), &many);
        for priming in [json!(1), json!("auto")] {
            same(&relation_learner(&json!({"relation": rule, "priming": priming, "shrink": 0})), &alone);
        }
    }
}

/// A task that joins late changes no margin of the others.
#[test]
fn a_task_that_joins_disturbs_nobody() {
    let known = samples(7, 4, 12, 400);
    let probes = samples(8, 4, 12, 60);
    for rule in RULES {
        for priming in [json!(50), json!("auto")] {
            let mut model = harness::model(&relation_learner(&json!({"relation": rule, "priming": priming})));
            harness::learn(&mut model, &text(&known, name));
            let look = |model: &Model| -> Vec<f64> {
                let margin = |probe: &samples::Sample| {
                    let task = model.tasks().find(&name(probe.task)).unwrap();
                    let indices: Vec<u32> = (0..probe.x.len() as u32).collect();
                    let view = SparseView::try_new(&indices, &probe.x).unwrap();
                    model.learner().as_predict().margin(task, view)
                };
                probes.iter().map(margin).collect()
            };
            let before = look(&model);
            // It is seen, but there is nothing to learn: a zero vector without a label.
            harness::learn(&mut model, "? task:new 1:0\n");
            assert_eq!(model.learner().as_inspect().tasks(), 5);
            assert_eq!(look(&model), before, "{rule}");
        }
    }
}

/// Examples in other units scale the margins, so mistakes stay the same.
#[test]
fn scale_free_is_free_of_scale() {
    let drawn = samples(9, 6, 20, 1_500);
    let config = relation_learner(&json!({"relation": "scale-free"}));
    let expected = margins(&config, &text(&drawn, name));
    for scale in [1024.0, 1.0 / 1024.0] {
        let mut scaled = drawn.clone();
        scaled.iter_mut().flat_map(|sample| &mut sample.x).for_each(|value| *value *= scale);
        for (found, expected) in margins(&config, &text(&scaled, name)).iter().zip(&expected) {
            assert_eq!(*found, expected * scale * scale);
        }
    }
}

/// What `remarks` says when R never moved, and when it did.
#[test]
fn a_run_says_what_became_of_priming() {
    let stream = text(&samples(10, 3, 8, 200), name);
    let remarks = |parameters: Value| {
        let mut model = harness::model(&relation_learner(&parameters));
        harness::learn(&mut model, &stream);
        model.learner().as_inspect().remarks().join("; ")
    };
    assert_eq!(
        remarks(json!({"priming": 500})),
        "priming lasts until round 500, and only 200 were seen: R never moved"
    );
    assert_eq!(remarks(json!({"priming": 100})), "");
    let scale_free = remarks(json!({"relation": "scale-free"}));
    assert!(scale_free.starts_with("the learned relation has a weight of "), "{scale_free}");
}

/// A declared task without examples is taught by the others, and does no harm.
#[test]
fn a_task_that_never_appears_is_harmless() {
    let drawn = samples(11, 3, 10, 600);
    for rule in RULES {
        let config = json!({
            "tasks": ["t0", "t1", "t2", "never"],
            "learner": {"relation-perceptron": {"relation": rule, "priming": 100}},
        });
        let mut model = harness::model(&config);
        let reports = harness::learn(&mut model, &text(&drawn, name));
        assert!(reports.iter().all(|report| report.margin.is_finite()));
        let relation = relation(&model);
        assert!(relation.entry(3, 3) > 0.0, "{rule}");
    }
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let problem = |parameters: Value| {
        let config: RunConfig = serde_json::from_value(relation_learner(&parameters)).unwrap();
        Model::new(&config).unwrap_err().to_string()
    };
    let path = |what: &str| format!("learner.relation-perceptron.{what}");
    assert_eq!(problem(json!({"eta": 0})), path("eta: must be positive and finite, got 0"));
    assert_eq!(problem(json!({"eta": -1})), path("eta: must be positive and finite, got -1"));
    assert_eq!(
        problem(json!({"relation": "scale-free", "eta": 1})),
        path("eta: the relation `scale-free` has none; leave it out")
    );
    assert_eq!(problem(json!({"shrink": 1.5})), path("shrink: must be a number from 0 to 1, got 1.5"));
    assert_eq!(problem(json!({"start": 0})), path("start: must be positive and finite, got 0"));
    assert_eq!(
        problem(json!({"priming": "50%"})),
        path(
            "priming: a fraction of the stream, whose length is not known here; \
             give a number of rounds or \"auto\""
        )
    );
    for (priming, found) in [
        (json!("half"), "string \"half\""),
        (json!("150%"), "string \"150%\""),
        (json!(-3), "integer `-3`"),
        (json!(0.5), "floating point `0.5`"),
    ] {
        let parsed = serde_json::from_value::<RunConfig>(relation_learner(&json!({"priming": priming})));
        let message = parsed.unwrap_err().to_string();
        assert!(message.contains(found) && message.contains("a percentage like \"50%\""), "{message}");
    }
    assert_eq!(
        problem(json!({"relation": "scale-free", "priming": "pass"})),
        path("priming: the relation `scale-free` is formed as evidence comes, not at the end of a pass")
    );
    assert_eq!(
        problem(json!({"relation": "scale-free", "multiplier": "a"})),
        path("multiplier: the relation `scale-free` has no A; leave it out")
    );
    assert_eq!(
        problem(json!({"multiplier": "a"})),
        path("start: with the multiplier `a` it is 1 / K: declare the tasks, or give `start`")
    );
    let parsed = serde_json::from_value::<RunConfig>(relation_learner(&json!({"multiplier": "b"})));
    let message = parsed.unwrap_err().to_string();
    assert!(message.contains("unknown variant `b`, expected `inverse` or `a`"), "{message}");
}

/// A covariance or a root is the same thing either way: only its scale is told by the multiplier.
#[test]
fn the_multiplier_matters_where_a_rule_is_one_of_a() {
    let stream = text(&samples(12, 4, 10, 500), name);
    for rule in RULES.into_iter().filter(|rule| *rule != "scale-free") {
        let of = |multiplier: &str| {
            let parameters = json!({"relation": rule, "multiplier": multiplier, "priming": 100, "trace": "start",
                "shrink": 0.2, "start": 1, "eta": 0.01});
            margins(&relation_learner(&parameters), &stream)
        };
        assert_eq!(of("inverse") == of("a"), ["covariance", "batch-optimal"].contains(&rule), "{rule}");
    }
}

/// The first pass is that of one Perceptron per task; R moves when it has ended, on one thread as on two.
#[test]
fn a_relation_by_passes_waits_for_their_end() {
    let stream = text(&samples(13, 4, 10, 500), name);
    let independent = json!({"learner": {"perceptron": {"interaction": "independent"}}});
    let mut alone = harness::model(&independent);
    let first: Vec<f64> = harness::learn(&mut alone, &stream).iter().map(|report| report.margin).collect();
    for rule in RULES.into_iter().filter(|rule| *rule != "scale-free") {
        let config = relation_learner(&json!({"relation": rule, "priming": "pass"}));
        let mut model = harness::model(&config);
        let remark = "R moves at the end of a pass, and no pass has ended: R never moved";
        assert_eq!(model.learner().as_inspect().remarks(), [remark]);
        let reports = harness::learn_passes(&mut model, &stream, 2);
        for (report, expected) in reports.iter().zip(&first) {
            assert!((report.margin - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{rule}");
        }
        assert!(model.learner().as_inspect().remarks().is_empty());
        assert!(relation(&model).entry(0, 1) != 0.0, "{rule}: R has moved");
        // Two runs of one pass each are one run of two.
        let mut twice = harness::model(&config);
        harness::learn(&mut twice, &stream);
        harness::learn(&mut twice, &stream);
        assert_eq!(
            twice.learner().as_inspect().weights(TaskId(0)),
            model.learner().as_inspect().weights(TaskId(0))
        );
    }
}
