//! `adaptive` with real labels and times, as a run sees it: what is learnt, what is refused, what a model file keeps.

use crate::support::harness;
use cognate::Model;
use cognate::fit::Kind;
use cognate::run::RunOptions;
use cognate::stream::{Input, Labels, ReadOptions, Values};
use serde_json::{Value, json};

fn config(parameters: &Value) -> Value {
    json!({ "learner": { "adaptive": parameters } })
}

/// Why a text is not learnt.
fn refusal(parameters: &Value, text: &str) -> String {
    let mut model = harness::model(&config(parameters));
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    let options = ReadOptions::default().labels(Labels::Optional);
    let learnt =
        model.reader(vec![input], options).map_err(|error| error.to_string()).and_then(|mut reader| {
            model
                .learn(&mut reader, &RunOptions::default(), &mut harness::Collect::default())
                .map_err(|error| error.to_string())
        });
    match learnt {
        Ok(_) => panic!("{text} is learnt"),
        Err(message) => message,
    }
}

#[test]
fn labels_that_cannot_be_are_bad_lines() {
    for loss in [json!("squares"), json!("absolute"), json!({"quantile": {"q": 0.5}}), json!("poisson")] {
        let message = refusal(&json!({ "loss": loss }), "1 qid:1 1:1\n1e101 qid:2 1:1\n");
        assert_eq!(message, "text:2:1: the label 1e101 is too large; labels are between -1e100 and 1e100");
        let message = refusal(&json!({ "loss": loss }), "1 qid:1 1:1\n1e308 qid:2 1:1\n");
        assert!(message.contains("1e308"), "{message}");
    }
    let message = refusal(&json!({"loss": "poisson"}), "1 task:a 1:1\n0.5 task:a 1:1\n-3 task:b 1:1\n");
    assert_eq!(message, "text:3:1: the label -3 is no count: with the loss `poisson` labels are 0 or more");
}

#[test]
fn labels_of_a_table_are_checked_before_it_is_learnt() {
    let refused = |loss: &str, label: f64| {
        let model = harness::model(&config(&json!({ "loss": loss })));
        let error = model.check_labels(Values::F64(&[1.0, 0.0, label])).unwrap_err();
        error.to_string()
    };
    assert!(refused("poisson", -2.5).starts_with("row 2: the label -2.5 is no count"));
    assert!(refused("squares", -1e101).starts_with("row 2: the label -1e101 is too large"));
    for (loss, label) in [("squares", -1e100), ("poisson", 1e100), ("logistic", -1.0)] {
        let model = harness::model(&config(&json!({ "loss": loss })));
        assert_eq!(model.check_labels(Values::F64(&[label])), Ok(()), "{loss}");
    }
}

#[test]
fn a_time_is_needed_where_time_is_what_passes() {
    for loss in ["logistic", "squares"] {
        let message = refusal(&json!({"loss": loss, "forget": "7d"}), "1 qid:1 1:1\n");
        assert_eq!(message, "round 1, task `1`: the example has no time, and `forget` is a time");
    }
}

/// How far a real prediction is from 0 is no certainty.
#[test]
fn labels_are_not_asked_for_by_margin_where_they_are_real() {
    let tube = json!({"passive-aggressive": {"loss": "epsilon-insensitive"}});
    for learner in [json!({"adaptive": {"loss": "squares"}}), json!({"adaptive": {"loss": "poisson"}}), tube]
    {
        for query in ["margin", "relation", "uncertainty"] {
            let config = serde_json::from_value(json!({ "learner": learner, "query": query })).unwrap();
            let error = Model::new(&config).unwrap_err().to_string();
            assert!(error.starts_with("query: must "), "{error}");
            let mut model = harness::model(&json!({ "learner": learner }));
            let refused = model.set_query(serde_json::from_value(json!(query)).unwrap(), 1);
            assert!(refused.is_err(), "{query}");
        }
    }
}

#[test]
fn bad_parameters_are_named() {
    for (parameters, path) in [
        (json!({"loss": {"quantile": {"q": 1.0}}}), "loss.quantile.q"),
        (json!({"forget": "7 days"}), "forget"),
        (json!({"forget": 0}), "forget"),
    ] {
        let config = serde_json::from_value(config(&parameters)).unwrap();
        let error = Model::new(&config).unwrap_err().to_string();
        assert!(error.contains(path), "{error}");
    }
}

/// Labels of 1e100 and 1e-300 are numbers like others.
#[test]
fn extreme_labels_are_no_trouble() {
    for scale in ["e99", "e-300"] {
        let lines: Vec<String> = (0..200)
            .map(|at| format!("{}{scale} qid:{} 1:{} 2:{}\n", at % 7, at % 3, at % 5, at % 4))
            .collect();
        for interaction in
            [json!("independent"), json!("pooled"), json!({"coupled": {"b": "auto"}}), json!("pairwise")]
        {
            for loss in [json!("squares"), json!("absolute")] {
                let mut model = harness::model(&config(&json!({"loss": loss, "interaction": interaction})));
                let reports = harness::learn(&mut model, &lines.concat());
                assert_eq!(reports.len(), 200);
                assert!(reports.iter().all(|report| report.margin.is_finite()));
            }
        }
    }
}

#[test]
fn a_model_file_keeps_loss_and_half_life() {
    for parameters in [
        json!({"loss": {"quantile": {"q": 0.25}}}),
        json!({"loss": "poisson", "forget": 40.0}),
        json!({"forget": "1.5h"}),
    ] {
        let mut model = harness::model(&config(&parameters));
        let real = parameters.get("loss").is_some();
        assert_eq!(model.kind(), Some(if real { Kind::Regression } else { Kind::Classification }));
        if real {
            harness::learn(&mut model, "2 qid:1 1:1\n0 qid:2 2:1\n7 qid:1 1:3\n");
        }
        let again = Model::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(again.config().learner, model.config().learner);
        assert!(again.to_bytes() == model.to_bytes());
    }
}

/// Share of labels that were below what was predicted for them, by tasks of about 100 examples.
fn covered(interaction: &Value, q: f64) -> f64 {
    let mut state = 7_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let weights: Vec<[f64; 5]> = (0..40).map(|_| std::array::from_fn(|_| 10.0 * uniform() - 5.0)).collect();
    let mut text = String::new();
    for _ in 0..4000 {
        let task = (uniform() * 40.0) as usize;
        let x: [f64; 5] = std::array::from_fn(|_| 2.0 * uniform() - 1.0);
        let noise: f64 = 3.0 * ((0..6).map(|_| uniform()).sum::<f64>() - 3.0);
        let label = 20.0 + noise + weights[task].iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let [a, b, c, d, e] = x;
        text += &format!("{label} task:t{task} 1:{a} 2:{b} 3:{c} 4:{d} 5:{e}\n");
    }
    let loss = json!({ "quantile": { "q": q } });
    let mut model = harness::model(&config(&json!({ "loss": loss, "interaction": interaction })));
    let reports = harness::learn(&mut model, &text);
    let below = reports.iter().filter(|report| report.label <= report.margin).count();
    below as f64 / reports.len() as f64
}

/// Whoever learns alone has few examples: what is far from the median must not be found so slowly that it never is.
#[test]
fn quantiles_cover_whatever_is_shared() {
    for interaction in [json!("independent"), json!("pooled"), json!({"coupled": {"b": "auto"}})] {
        for q in [0.1, 0.5, 0.9] {
            let covered = covered(&interaction, q);
            assert!((covered - q).abs() < 0.02, "{interaction}, {q}: {covered}");
        }
    }
}
