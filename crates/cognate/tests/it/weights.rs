//! Is an example of weight w one that is seen w times, and are weights and offsets honoured, or refused by name?

use crate::conformance::SUBJECTS;
use crate::support::harness;
use crate::support::samples::{Sample, samples};
use cognate::algorithms::{Learner, Protocol};
use cognate::config::ClassWeightConfig;
use cognate::fit::Examples;
use cognate::metrics::ThresholdMetric;
use cognate::model::{Beside, Threshold};
use cognate::stream::{Labels, Memory, RowTasks, Table, Values};
use cognate::{Example, LearnerConfig, Model, REGISTRY, RunOptions, SparseView, TaskId, Tasks};
use serde_json::{Value, json};

const INDICES: [u32; 6] = [0, 1, 2, 3, 4, 5];

fn example(sample: &Sample, weight: f64, offset: f64) -> Example<'_> {
    let features = SparseView::try_new(&INDICES[..sample.x.len()], &sample.x).unwrap();
    Example { weight, offset, ..Example::new(TaskId(sample.task as u32), features, sample.label) }
}

/// The configs of the conformance tests whose learners honour weights, or offsets; `adaptive` has tests of its own.
fn honouring(weights: bool) -> impl Iterator<Item = (&'static str, LearnerConfig)> {
    let configs =
        SUBJECTS.iter().map(|(name, text)| (*name, serde_json::from_str::<LearnerConfig>(text).unwrap()));
    configs.filter(move |(_, config)| {
        let about = config.about();
        about.id != "adaptive" && if weights { about.weights } else { about.offsets }
    })
}

/// A learner of four tasks that has learnt a few examples.
fn taught(config: &LearnerConfig, stream: &[Sample]) -> Learner {
    let names = ["b", "a", "7", "c"];
    let mut learner = config.build(&Tasks::named(names).unwrap()).unwrap();
    for sample in stream {
        learner.as_learn_one().learn(example(sample, 1.0, 0.0));
    }
    learner
}

fn margins(learner: &Learner, probes: &[Sample]) -> Vec<f64> {
    let margin = |probe: &Sample| {
        let example = example(probe, 1.0, 0.0);
        learner.as_predict().margin(example.task, example.features)
    };
    probes.iter().map(margin).collect()
}

fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn weight_zero_changes_nothing() {
    let stream = samples(11, 4, 6, 60);
    for (name, config) in honouring(true) {
        let mut learner = taught(&config, &stream[..30]);
        let before = margins(&learner, &stream);
        for sample in &stream[30..] {
            let outcome = learner.as_learn_one().learn(example(sample, 0.0, 0.0));
            assert!(!outcome.updated, "{name}");
        }
        assert_eq!(margins(&learner, &stream), before, "{name}");
    }
}

/// Whatever a learner would make of it: a run does not show it an example of weight 0.
#[test]
fn a_run_teaches_nothing_of_weight_zero() {
    for simultaneous in [false, true] {
        for about in REGISTRY.iter().filter(|about| about.weights && about.protocol != Protocol::Batch) {
            let config = json!({ "learner": about.id, "stream": { "simultaneous": simultaneous } });
            let (mut model, mut other) = (harness::model(&config), harness::model(&config));
            let stream = samples(5, 1, 6, 40);
            let turns =
                stream.iter().enumerate().map(|(at, sample)| (sample, if at < 20 { 1.0 } else { 0.0 }));
            model.learn(&mut memory(turns), &RunOptions::default(), &mut ()).unwrap();
            let first = stream[..20].iter().map(|sample| (sample, 1.0));
            other.learn(&mut memory(first), &RunOptions::default(), &mut ()).unwrap();
            assert_eq!(margins(model.learner(), &stream), margins(other.learner(), &stream), "{}", about.id);
            assert_eq!(model.metrics().total().examples, 40);
        }
    }
}

#[test]
fn weight_two_is_close_to_twice() {
    let (stream, mut failed) = (samples(3, 4, 6, 160), Vec::new());
    // What these do once per round, whatever the weight, moves more than the example does: mixing, and shrinking.
    let once_per_round = [
        "collaborative",
        "collaborative_given",
        "collaborative_slow",
        "collaborative_leveraged",
        "rom_pgd_shrinking",
    ];
    for (name, config) in honouring(true).filter(|(name, _)| !once_per_round.contains(name)) {
        let start = taught(&config, &stream[..60]);
        let (mut off, mut moved) = (0.0, 0.0);
        for sample in &stream[60..] {
            let [mut once, mut weighted, mut twice] = [start.clone(), start.clone(), start.clone()];
            once.as_learn_one().learn(example(sample, 1.0, 0.0));
            weighted.as_learn_one().learn(example(sample, 2.0, 0.0));
            (0..2).for_each(|_| {
                twice.as_learn_one().learn(example(sample, 1.0, 0.0));
            });
            let [once, weighted, twice] = [once, weighted, twice].map(|learner| margins(&learner, &stream));
            off += distance(&weighted, &twice);
            moved += distance(&once, &twice);
        }
        // These go through the example twice; the others take one step of twice the size, or less.
        let most = if config.id() == "rom-rda" { 1e-9 } else { 0.5 };
        if off > most * moved + 1e-9 {
            failed.push(format!("{name}: off by {off}, where the second time moves {moved}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A whole stream with weights from 1 to 3 beside one of copies: errors of single examples must not add up.
#[test]
fn weights_of_a_stream_are_copies_for_robust_averages_and_steps() {
    let stream = samples(13, 4, 6, 400);
    let fixed = |text: &str| serde_json::from_str::<LearnerConfig>(text).unwrap();
    for (config, most) in [
        (fixed(r#""rom-rda""#), 1e-9),
        (fixed(r#"{"rom-rda": {"kappa": 5, "gamma": 0.01, "alpha": 0.1, "beta": 0.2}}"#), 1e-9),
        (fixed(r#"{"rom-pgd": {"eta": 0.1, "alpha": 0.1, "beta": 0.2, "gamma": 0.1}}"#), 0.1),
    ] {
        let (mut weighted, mut copied) = (taught(&config, &[]), taught(&config, &[]));
        for (at, sample) in stream.iter().enumerate() {
            let times = 1 + at % 3;
            weighted.as_learn_one().learn(example(sample, times as f64, 0.0));
            (0..times).for_each(|_| {
                copied.as_learn_one().learn(example(sample, 1.0, 0.0));
            });
        }
        let (found, expected) = (margins(&weighted, &stream), margins(&copied, &stream));
        let size = distance(&expected, &vec![0.0; expected.len()]);
        let off = distance(&found, &expected) / size;
        assert!(off <= most, "{}: off by {off}", config.id());
        let plain = distance(&margins(&taught(&config, &stream), &stream), &expected) / size;
        assert!(plain > 2.0 * most, "{}: weights make a difference of {plain}", config.id());
    }
}

/// Parts of weights and weights far beyond what is gone through one by one.
#[test]
fn robust_averages_take_any_weight() {
    let stream = samples(14, 4, 6, 60);
    let config: LearnerConfig = serde_json::from_str(r#"{"rom-rda": {"kappa": 1}}"#).unwrap();
    let margin = |seen: &[(usize, f64)]| {
        let mut learner = taught(&config, &[]);
        for (at, weight) in seen {
            learner.as_learn_one().learn(example(&stream[*at], *weight, 0.0));
        }
        margins(&learner, &stream[..1])[0]
    };
    let close =
        |one: f64, other: f64, most: f64| assert!((one - other).abs() <= most * other.abs(), "{one} {other}");
    close(margin(&[(0, 2.5)]), margin(&[(0, 1.0), (0, 1.0), (0, 0.5)]), 1e-12);
    // Gone through one by one up to 100 times, then in one step.
    let copies = |times: usize| margin(&vec![(0, 1.0); times]);
    close(margin(&[(0, 100.0)]), copies(100), 1e-9);
    close(margin(&[(0, 400.0)]), copies(400), 0.1);
    assert!(margin(&[(0, 1e150), (1, 1.0), (0, 1e150)]).is_finite());
    let mut model = harness::model(&json!({ "learner": "rom-rda" }));
    for weight in [0.25, 1e150] {
        model.learn_one_with("a", &[(0_u32, 1.0)], 1.0, Beside::weight(weight)).unwrap();
        let again = Model::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(again.to_bytes(), model.to_bytes());
        let predicted = |model: &Model| model.predict_one("a", &[(0_u32, 1.0)]).unwrap().margin;
        assert_eq!(predicted(&again), predicted(&model));
    }
}

/// Where an update has a closed form, weight w is w times to the last digits.
#[test]
fn weight_five_is_five_times_where_updates_are_invariant() {
    let stream = samples(8, 4, 6, 120);
    for (name, config) in honouring(true) {
        // With a Gaussian kernel margins are often exactly 0, and rounding would decide.
        let exact = ["perceptron", "kernel-perceptron"].contains(&config.id())
            && !["perceptron_auto", "kernel_perceptron_gaussian"].contains(&name)
            || name == "passive_aggressive"
            || config.id() == "rom-rda";
        if !exact {
            continue;
        }
        let (mut weighted, mut repeated) = (taught(&config, &[]), taught(&config, &[]));
        for sample in &stream {
            weighted.as_learn_one().learn(example(sample, 5.0, 0.0));
            (0..5).for_each(|_| {
                repeated.as_learn_one().learn(example(sample, 1.0, 0.0));
            });
        }
        let (found, expected) = (margins(&weighted, &stream), margins(&repeated, &stream));
        let size = distance(&expected, &vec![0.0; expected.len()]);
        assert!(distance(&found, &expected) <= 1e-9 * size, "{name}");
        assert!(distance(&found, &margins(&taught(&config, &stream), &stream)) > 1e-3 * size, "{name}");
    }
}

#[test]
fn learning_alone_in_batches_and_in_rounds_carry_weights_and_offsets() {
    let stream = samples(21, 4, 6, 80);
    let vary = |at: usize| ([0.5, 1.0, 2.0, 3.0][at % 4], [0.0, 0.7, -0.4][at % 3]);
    for (name, config) in honouring(false) {
        let weights = config.about().weights;
        let examples: Vec<Example<'_>> = stream
            .iter()
            .enumerate()
            .map(|(at, sample)| example(sample, if weights { vary(at).0 } else { 1.0 }, vary(at).1))
            .collect();
        let (mut apart, mut alone, mut together) =
            (taught(&config, &[]), taught(&config, &[]), taught(&config, &[]));
        let mut batch = cognate::stream::Batch::default();
        let mut outcomes = Vec::new();
        for example in &examples {
            let before = apart.as_predict().margin(example.task, example.features) + example.offset;
            let updated = apart.as_learn_one().update(*example, before);
            let outcome = alone.as_learn_one().learn(*example);
            assert_eq!((outcome.margin, outcome.updated), (before, updated), "{name}");
            batch.push(*example);
            let mut round = cognate::stream::Batch::default();
            round.push(*example);
            together.as_learn_one().learn_round(&round, &mut outcomes);
            assert_eq!((outcomes[0].margin, outcomes[0].updated), (before, updated), "{name}");
        }
        let mut batched = taught(&config, &[]);
        batched.as_learn_one().learn_batch(&batch, &mut outcomes);
        for learner in [&alone, &together, &batched] {
            assert_eq!(margins(learner, &stream), margins(&apart, &stream), "{name}");
        }
    }
}

/// An example that its offset puts far on the right side teaches nothing.
#[test]
fn an_offset_can_settle_a_label() {
    let stream = samples(2, 4, 6, 40);
    for (name, config) in
        honouring(false).filter(|(_, config)| config.kind() == cognate::fit::Kind::Classification)
    {
        let mut learner = taught(&config, &stream[..20]);
        for sample in &stream[20..] {
            let before =
                learner.as_predict().margin(TaskId(sample.task as u32), example(sample, 1.0, 0.0).features);
            let outcome = learner.as_learn_one().learn(example(sample, 1.0, 1e6 * sample.label));
            assert!(!outcome.updated, "{name}");
            assert!((outcome.margin - before - 1e6 * sample.label).abs() < 1e-6, "{name}");
        }
    }
}

/// Samples as a stream, each with its weight.
fn memory<'a>(stream: impl Iterator<Item = (&'a Sample, f64)>) -> Memory {
    let mut memory = Memory::new();
    for (sample, weight) in stream {
        memory.push(&sample.task.to_string(), example(sample, weight, 0.0));
    }
    memory
}

#[test]
fn learners_that_know_nothing_of_weights_say_so() {
    for about in REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch) {
        for (beside, honoured, what) in [
            (Beside::weight(2.0), about.weights, "weights"),
            (Beside { offset: 0.5, ..Beside::default() }, about.offsets, "offsets"),
        ] {
            let mut model = harness::model(&json!({ "learner": about.id }));
            let learnt = model.learn_one_with("a", &[(0_u32, 1.0)], 1.0, beside);
            if honoured {
                learnt.unwrap_or_else(|error| panic!("{}: {error}", about.id));
                continue;
            }
            let error = learnt.unwrap_err();
            assert!(error.hint().is_some());
            let expected = format!("`{}` knows nothing of {what}, and examples have some", about.id);
            assert_eq!(error.to_string(), expected);
            assert_eq!((model.rounds(), model.tasks().len()), (0, 0), "the model is unchanged");
        }
    }
    let mut moved = Memory::new();
    let sample = &samples(1, 2, 3, 10)[0];
    moved.push("a", example(sample, 1.0, 0.5));
    let error = Examples::read(&mut moved, &Tasks::open()).unwrap_err();
    assert_eq!(error.to_string(), "`convex` knows nothing of offsets, and examples have some");
}

#[test]
fn weights_that_are_none_are_refused_at_the_border() {
    let mut model = harness::model(&json!({ "learner": "perceptron" }));
    for (beside, problem) in [
        (Beside::weight(-1.0), "found weight -1; expected a number from 0 to 1e150"),
        (Beside::weight(f64::NAN), "found weight NaN; expected a number from 0 to 1e150"),
        (Beside::weight(f64::INFINITY), "found weight inf; expected a number from 0 to 1e150"),
        (
            Beside { offset: f64::NAN, ..Beside::default() },
            "found offset NaN; expected a finite number of at most 1e150",
        ),
        (
            Beside { time: Some(f64::NAN), ..Beside::default() },
            "found time NaN; expected seconds, or a date and time like 2026-01-31T12:00:00Z",
        ),
    ] {
        let error = model.learn_one_with("a", &[(0_u32, 1.0)], 1.0, beside).unwrap_err();
        assert_eq!(error.to_string(), format!("row 0: {problem}"));
        assert_eq!(model.rounds(), 0);
    }
    let report = model.learn_one_with("a", &[(0_u32, 1.0)], 1.0, Beside::weight(0.0)).unwrap();
    assert!(report.mistake && !report.updated);
    assert_eq!(model.predict_one("a", &[(0_u32, 1.0)]).unwrap().margin, 0.0);
    // What was refused leaves nothing to the next.
    let report = model.learn_one("a", &[(0_u32, 1.0)], 1.0).unwrap();
    assert!(report.updated);
}

#[test]
fn a_weight_of_one_is_none() {
    let config = json!({ "learner": "perceptron" });
    let (mut plain, mut weighted) = (harness::model(&config), harness::model(&config));
    for at in 0..20_u32 {
        let (features, label) = ([(at % 3, 1.0), (3, 0.5)], if at % 3 == 0 { 1.0 } else { -1.0 });
        plain.learn_one("a", &features, label).unwrap();
        weighted.learn_one_with("a", &features, label, Beside::default()).unwrap();
    }
    assert_eq!(plain.to_bytes(), weighted.to_bytes());
}

#[test]
fn queries_and_rounds_carry_weights() {
    let stream = samples(4, 1, 6, 60);
    let weight = |sample: &Sample| if sample.label > 0.0 { 3.0 } else { 0.25 };
    let learnt = |config: Value| {
        let mut model = harness::model(&config);
        model
            .learn(
                &mut memory(stream.iter().map(|sample| (sample, weight(sample)))),
                &RunOptions::default(),
                &mut (),
            )
            .unwrap();
        margins(model.learner(), &stream)
    };
    let plain = learnt(json!({ "learner": "perceptron" }));
    assert_eq!(learnt(json!({ "learner": "perceptron", "stream": { "simultaneous": true } })), plain);
    assert_eq!(learnt(json!({ "learner": "perceptron", "query": { "margin": { "b": 1e12 } } })), plain);
    let both = json!({ "learner": "perceptron", "query": { "margin": { "b": 1e12 } }, "stream": { "simultaneous": true } });
    assert_eq!(learnt(both), plain);
}

#[test]
fn class_weights_are_weights() {
    let stream = samples(9, 3, 6, 90);
    let given = json!({ "given": { "positive": 4.0, "negative": 0.5 } });
    let weight = |sample: &Sample| if sample.label > 0.0 { 4.0 } else { 0.5 };
    for id in ["perceptron", "passive-aggressive", "rom-pgd"] {
        let mut weighed = harness::model(&json!({ "learner": id }));
        weighed
            .learn(
                &mut memory(stream.iter().map(|sample| (sample, weight(sample)))),
                &RunOptions::default(),
                &mut (),
            )
            .unwrap();
        let mut classes = harness::model(&json!({ "learner": id, "stream": { "class-weight": given } }));
        classes
            .learn(&mut memory(stream.iter().map(|sample| (sample, 1.0))), &RunOptions::default(), &mut ())
            .unwrap();
        assert_eq!(margins(classes.learner(), &stream), margins(weighed.learner(), &stream), "{id}");
    }
}

#[test]
fn balanced_classes_go_on_where_a_model_is_resumed() {
    let stream = samples(6, 3, 6, 90);
    for query in [json!("all"), json!({ "margin": { "b": 1.0 } })] {
        let config = json!({
            "learner": "passive-aggressive", "stream": { "class-weight": "balanced" }, "query": query
        });
        let run = |model: &mut Model, stream: &[Sample]| {
            for sample in stream {
                let features: Vec<(u32, f64)> = INDICES.into_iter().zip(sample.x.iter().copied()).collect();
                model.learn_one("one", &features, sample.label).unwrap();
            }
        };
        let (mut unbroken, mut broken) = (harness::model(&config), harness::model(&config));
        run(&mut unbroken, &stream);
        run(&mut broken, &stream[..37]);
        let mut broken = Model::from_bytes(&broken.to_bytes()).unwrap();
        run(&mut broken, &stream[37..]);
        assert_eq!(broken.to_bytes(), unbroken.to_bytes());
        let mut plain = harness::model(&json!({ "learner": "passive-aggressive", "query": query }));
        run(&mut plain, &stream);
        assert_ne!(margins(unbroken.learner(), &stream), margins(plain.learner(), &stream));
    }
}

#[test]
fn class_weights_are_refused_by_name_where_they_mean_nothing() {
    let problem = |learner: Value, class_weight: Value| {
        let config = json!({ "learner": learner, "stream": { "class-weight": class_weight } });
        let config: cognate::RunConfig = serde_json::from_value(config).unwrap();
        Model::new(&config).unwrap_err().to_string()
    };
    assert_eq!(
        problem(json!("second-order-perceptron"), json!("balanced")),
        "stream.class-weight: `second-order-perceptron` knows nothing of weights"
    );
    let regression = json!({ "passive-aggressive": { "loss": "epsilon-insensitive" } });
    assert_eq!(
        problem(regression, json!("balanced")),
        "stream.class-weight: labels of this `passive-aggressive` are real numbers; they have no classes"
    );
    for weight in [0.0, -1.0] {
        assert_eq!(
            problem(json!("perceptron"), json!({ "given": { "positive": weight } })),
            format!("stream.class-weight.given.positive: must be positive and at most 1e9, got {weight}")
        );
    }
    assert!(ClassWeightConfig::default().is_none());
}

#[test]
fn rows_of_tables_have_weights() {
    let (values, labels) = ([1.0, 0.0, 0.5, 1.0], [1.0, -1.0]);
    let table = Table::Rows { values: Values::F64(&values), rows: 2, columns: 2 };
    let learnt = |weights: &[f64]| -> Result<Vec<f64>, String> {
        let mut model = harness::model(&json!({ "learner": "rom-rda" }));
        let mut tasks = RowTasks::new(model.tasks());
        tasks.push(model.tasks(), "a").unwrap();
        let rows = model.table(&table, &tasks).unwrap();
        let rows = rows.labelled(Values::F64(&labels), Labels::Required).unwrap();
        let mut rows = rows.weighted(Values::F64(weights)).map_err(|error| error.to_string())?;
        model.learn(&mut rows, &RunOptions::default(), &mut ()).unwrap();
        Ok(model.learner().as_inspect().weights(TaskId(0)).into_iter().map(|pair| pair.1).collect())
    };
    let mut model = harness::model(&json!({ "learner": "rom-rda" }));
    model.learn_one_with("a", &[(0_u32, 1.0)], 1.0, Beside::weight(3.0)).unwrap();
    model.learn_one_with("a", &[(0_u32, 0.5), (1, 1.0)], -1.0, Beside::weight(0.5)).unwrap();
    let expected: Vec<f64> =
        model.learner().as_inspect().weights(TaskId(0)).into_iter().map(|pair| pair.1).collect();
    assert_eq!(learnt(&[3.0, 0.5]).unwrap(), expected);
    assert_ne!(learnt(&[1.0, 1.0]).unwrap(), expected);
    for (weights, message) in [
        (&[1.0][..], "there are 1 weights; expected 2"),
        (&[1.0, -2.0], "row 1: found weight -2; expected a number from 0 to 1e150"),
        (&[f64::NAN, 1.0], "row 0: found weight NaN; expected a number from 0 to 1e150"),
    ] {
        let error = learnt(weights).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_threshold_decides_labels_and_is_kept() {
    let mut model = harness::model(&json!({ "learner": "perceptron" }));
    model.learn_one("a", &[(0_u32, 1.0)], 1.0).unwrap();
    let label = |model: &Model, x: f64| model.predict_one("a", &[(0_u32, x)]).unwrap().label;
    assert_eq!([1.0, 0.2, -0.2].map(|x| label(&model, x)), [1.0, 1.0, -1.0]);
    let before = model.to_bytes();
    model.set_threshold(Threshold::Margin(0.5)).unwrap();
    let model = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(model.threshold(), 0.5);
    assert_eq!([1.0, 0.5, 0.2].map(|x| label(&model, x)), [1.0, 1.0, -1.0]);
    let mut model = model;
    let error = model.set_threshold(Threshold::Probability(0.3)).unwrap_err();
    let expected = "threshold: margins of this `perceptron` are not probabilities; those of `adaptive` with the logistic loss are";
    assert_eq!(error.to_string(), expected);
    model.set_threshold(Threshold::Margin(0.0)).unwrap();
    assert_eq!(model.to_bytes(), before, "0 is no threshold");
    assert!(ThresholdMetric::from_name("recall").is_err());
}
