//! Importance, offsets, times and real labels, for every kind of sharing.

use serde_json::{Value, json};

use super::*;

/// Small seeded numbers.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Near enough to normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

const FEATURES: usize = 6;
const INDICES: [u32; FEATURES] = [0, 1, 2, 3, 4, 5];

/// An example that owns its features.
#[derive(Clone)]
struct Row {
    task: u32,
    values: [f64; FEATURES],
    label: f64,
    weight: f64,
    offset: f64,
    time: Option<f64>,
}

impl Row {
    fn example(&self) -> Example<'_> {
        let features = SparseView::trusted(&INDICES, &self.values);
        let Self { task, label, weight, offset, time, .. } = *self;
        Example { weight, offset, time, ..Example::new(TaskId(task), features, label) }
    }
}

/// Tasks with shared and own weights, a mean, and noise.
fn stream(seed: u64, tasks: u32, examples: usize, noise: f64) -> Vec<Row> {
    let mut random = Random(seed);
    let shared: Vec<f64> = (0..FEATURES).map(|_| random.normal()).collect();
    let own: Vec<Vec<f64>> =
        (0..tasks).map(|_| shared.iter().map(|w| w + 0.3 * random.normal()).collect()).collect();
    let means: Vec<f64> = (0..tasks).map(|_| random.normal()).collect();
    (0..examples)
        .map(|_| {
            let task = (random.uniform() * f64::from(tasks)) as u32;
            let values: [f64; FEATURES] = std::array::from_fn(|_| random.normal());
            let signal: f64 = own[task as usize].iter().zip(values).map(|(w, x)| w * x).sum();
            let label = means[task as usize] + signal + noise * random.normal();
            Row { task, values, label, weight: 1.0, offset: 0.0, time: None }
        })
        .collect()
}

fn signs(rows: Vec<Row>) -> Vec<Row> {
    rows.into_iter().map(|row| Row { label: if row.label > 0.0 { 1.0 } else { -1.0 }, ..row }).collect()
}

fn counts(rows: Vec<Row>) -> Vec<Row> {
    rows.into_iter()
        .map(|row| Row { label: (1.0 + 0.5 * row.label).clamp(-3.0, 3.0).exp().floor(), ..row })
        .collect()
}

fn sharings() -> [Value; 6] {
    [
        json!({"coupled": {"b": "auto"}}),
        json!({"coupled": {"b": 2.0}}),
        json!("independent"),
        json!("pooled"),
        json!("pairwise"),
        json!({"graph": {"edges": [["1", "2"], ["2", "3", 0.5]]}}),
    ]
}

fn build(interaction: &Value, more: Value) -> Adaptive {
    let mut parameters = more;
    parameters["interaction"] = interaction.clone();
    let config: AdaptiveConfig = serde_json::from_value(parameters).unwrap();
    let mut tasks = Tasks::default();
    for name in ["1", "2", "3", "4"] {
        tasks.meet(name).unwrap();
    }
    Adaptive::build(&config, &tasks, None).unwrap()
}

fn run(learner: &mut Adaptive, rows: &[Row]) -> Vec<f64> {
    rows.iter().map(|row| learner.learn(row.example()).margin).collect()
}

fn rmse(margins: &[f64], rows: &[Row]) -> f64 {
    let squares = margins.iter().zip(rows).map(|(margin, row)| (margin - row.label).powi(2));
    (squares.sum::<f64>() / rows.len() as f64).sqrt()
}

fn bytes(learner: &Adaptive) -> Vec<u8> {
    rmp_serde::to_vec_named(&learner.state()).unwrap()
}

fn losses() -> [Value; 6] {
    [
        json!("logistic"),
        json!("hinge"),
        json!("squares"),
        json!("absolute"),
        json!({"quantile": {"q": 0.8}}),
        json!("poisson"),
    ]
}

/// A stream with labels that the loss is for.
fn fitting(loss: &Value, rows: Vec<Row>) -> Vec<Row> {
    match loss.as_str() {
        Some("logistic" | "hinge") => signs(rows),
        Some("poisson") => counts(rows),
        _ => rows,
    }
}

/// Margins at the end differ by less than 15 % of their deviation, and by less than without weights.
#[test]
fn a_weight_of_two_is_close_to_twice() {
    for loss in losses() {
        let mut rows = fitting(&loss, stream(1, 4, 1200, 0.5));
        let probes = fitting(&loss, stream(2, 4, 200, 0.0));
        let mut found = Vec::new();
        // Half of them twice, by what is in their first feature, so that it matters. The second one is a little longer: what comes
        // again is known again, and teaches less.
        rows.iter_mut().filter(|row| row.values[0] > 0.0 && row.label > 0.0).for_each(|row| row.weight = 2.0);
        let second = |row: &Row| Row { values: row.values.map(|value| value * (1.0 + 1e-12)), ..row.clone() };
        let twice: Vec<Row> = rows
            .iter()
            .flat_map(|row| [row.clone(), second(row)].into_iter().take(row.weight as usize))
            .map(|row| Row { weight: 1.0, ..row })
            .collect();
        let once: Vec<Row> = rows.iter().map(|row| Row { weight: 1.0, ..row.clone() }).collect();
        for interaction in sharings() {
            let after = |rows: &[Row]| {
                let mut learner = build(&interaction, json!({ "loss": loss }));
                run(&mut learner, rows);
                probes
                    .iter()
                    .map(|row| learner.margin(TaskId(row.task), row.example().features))
                    .collect::<Vec<_>>()
            };
            let (weighted, repeated, plain) = (after(&rows), after(&twice), after(&once));
            let mean = repeated.iter().sum::<f64>() / 200.0;
            let size = (repeated.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 200.0).sqrt();
            let apart = |other: &[f64]| {
                (repeated.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 200.0).sqrt() / size
            };
            found.push((interaction, apart(&weighted), apart(&plain)));
        }
        for (interaction, near, far) in &found {
            assert!(
                *near < 0.15 && near < far,
                "{interaction}: {near:.3}, {far:.3} without weights; {loss}: {found:?}"
            );
        }
    }
}

#[test]
fn a_weight_of_nothing_changes_nothing() {
    for loss in losses() {
        let rows = fitting(&loss, stream(3, 4, 200, 0.5));
        for interaction in sharings() {
            let mut learner = build(&interaction, json!({ "loss": loss }));
            run(&mut learner, &rows);
            let (before, row) = (bytes(&learner), Row { weight: 0.0, ..rows[0].clone() });
            let outcome = learner.learn(row.example());
            assert_eq!(outcome.margin, learner.margin(TaskId(row.task), row.example().features));
            assert!(!outcome.updated && bytes(&learner) == before, "{loss} {interaction}");
        }
    }
}

#[test]
fn tiny_and_huge_weights_are_no_trouble() {
    for loss in losses() {
        let rows = fitting(&loss, stream(4, 4, 400, 0.5));
        for interaction in sharings() {
            for weight in [1e-6, 1e6] {
                let mut learner = build(&interaction, json!({ "loss": loss }));
                let heavy: Vec<Row> = (0..)
                    .zip(&rows)
                    .map(|(at, row)| Row { weight: if at % 3 == 0 { weight } else { 1.0 }, ..row.clone() })
                    .collect();
                let margins = run(&mut learner, &heavy);
                let largest = margins.iter().fold(0.0_f64, |largest, margin| largest.max(margin.abs()));
                assert!(largest < 1e4, "{loss} {interaction} {weight}: {largest}");
            }
        }
    }
}

/// What an offset explains is not learnt.
#[test]
fn offsets_are_added_and_not_learnt() {
    for loss in losses() {
        let rows = fitting(&loss, stream(5, 4, 1500, 0.3));
        for interaction in sharings() {
            let moved: Vec<Row> = match loss.as_str() {
                Some("logistic" | "hinge" | "poisson") => continue,
                _ => rows
                    .iter()
                    .map(|row| Row { offset: 1000.0, label: row.label + 1000.0, ..row.clone() })
                    .collect(),
            };
            let (mut plain, mut learner) =
                (build(&interaction, json!({ "loss": loss })), build(&interaction, json!({ "loss": loss })));
            let (expected, margins) = (run(&mut plain, &rows), run(&mut learner, &moved));
            for (margin, plain) in margins.iter().zip(expected) {
                assert!((margin - 1000.0 - plain).abs() < 1e-6, "{loss} {interaction}: {margin} {plain}");
            }
        }
    }
    // Labels that offsets decide on teach little else.
    for interaction in sharings() {
        let rows = stream(6, 4, 800, 0.0);
        let last = |known: bool| {
            let mut learner = build(&interaction, json!({}));
            let rows: Vec<Row> = rows
                .iter()
                .map(|row| {
                    let label = if row.values[0] > 0.0 { 1.0 } else { -1.0 };
                    Row { label, offset: if known { 6.0 * label } else { 0.0 }, ..row.clone() }
                })
                .collect();
            run(&mut learner, &rows);
            learner.margin(TaskId(0), SparseView::trusted(&[0], &[1.0])).abs()
        };
        assert!(last(true) < 0.4 * last(false), "{interaction}: {} {}", last(true), last(false));
    }
}

/// After a jump of the truth, what was learnt long before counts less.
#[test]
fn time_makes_it_forget() {
    for loss in [json!("logistic"), json!("squares")] {
        for interaction in sharings() {
            let mut rows = fitting(&loss, stream(7, 4, 1600, 0.3));
            let errors = |forget: Option<&str>, rows: &[Row]| {
                let mut more = json!({ "loss": loss });
                if let Some(forget) = forget {
                    more["forget"] = json!(forget);
                }
                let margins = run(&mut build(&interaction, more), rows);
                let late = margins.iter().zip(rows).skip(800);
                late.map(|(margin, row)| match loss.as_str() {
                    Some("squares") => (margin - row.label).powi(2),
                    _ => f64::from(u8::from(margin * row.label <= 0.0)),
                })
                .sum::<f64>()
            };
            for (at, row) in (0..).zip(&mut rows) {
                // A day lies between the halves, and a second between examples.
                row.time = Some(f64::from(at) + if at >= 800 { 86_400.0 } else { 0.0 });
                if at >= 800 {
                    row.values.rotate_left(2);
                }
            }
            let (forgetting, keeping) = (errors(Some("2h"), &rows), errors(None, &rows));
            assert!(forgetting < 0.9 * keeping, "{loss} {interaction}: {forgetting} {keeping}");
            // Without the day and with time that stands still nothing is forgotten.
            let still: Vec<Row> = rows.iter().map(|row| Row { time: Some(5.0), ..row.clone() }).collect();
            assert_eq!(errors(Some("2h"), &still), errors(None, &still), "{loss} {interaction}");
            let back: Vec<Row> =
                (0..).zip(&rows).map(|(at, row)| Row { time: Some(-f64::from(at)), ..row.clone() }).collect();
            assert_eq!(errors(Some("2h"), &back), errors(None, &still), "backwards, {loss} {interaction}");
        }
    }
}

/// Labels times a power of two, and times 1000, give margins times that. Short numbers of other digits are rounded otherwise: by 5e-7,
/// which hundreds of steps that depend on each other make larger.
#[test]
fn labels_have_no_scale() {
    for loss in [json!("squares"), json!("absolute"), json!({"quantile": {"q": 0.3}})] {
        let rows = stream(8, 4, 600, 0.5);
        for interaction in sharings() {
            for factor in [1000.0, 2.0_f64.powi(-30), 1024.0, 2.0_f64.powi(200)] {
                let larger: Vec<Row> =
                    rows.iter().map(|row| Row { label: factor * row.label, ..row.clone() }).collect();
                let margins = run(&mut build(&interaction, json!({ "loss": loss })), &rows);
                let scaled = run(&mut build(&interaction, json!({ "loss": loss })), &larger);
                let near = if factor == 1000.0 { 1e-3 } else { 1e-9 };
                for (margin, scaled) in margins.iter().zip(&scaled) {
                    assert!(
                        (factor * margin - scaled).abs() <= near * factor * (1.0 + margin.abs()),
                        "{loss} {interaction} {factor}: {margin} {scaled}"
                    );
                }
            }
        }
    }
}

/// And features too: weights take care of it.
#[test]
fn features_have_no_scale_for_real_labels() {
    for loss in [json!("squares"), json!("absolute"), json!("poisson")] {
        let rows = fitting(&loss, stream(9, 4, 600, 0.5));
        let larger: Vec<Row> =
            rows.iter().map(|row| Row { values: row.values.map(|x| 1024.0 * x), ..row.clone() }).collect();
        for interaction in sharings() {
            let margins = run(&mut build(&interaction, json!({ "loss": loss })), &rows);
            let scaled = run(&mut build(&interaction, json!({ "loss": loss })), &larger);
            for (margin, scaled) in margins.iter().zip(&scaled) {
                assert!(
                    (margin - scaled).abs() <= 1e-6 * (1.0 + margin.abs()),
                    "{loss} {interaction}: {margin} {scaled}"
                );
            }
        }
    }
}

#[test]
fn means_are_found_at_once_and_noise_is_all_that_is_left() {
    let rows: Vec<Row> =
        stream(10, 4, 3000, 1.0).into_iter().map(|row| Row { label: row.label + 1e6, ..row }).collect();
    for interaction in sharings() {
        let margins = run(&mut build(&interaction, json!({"loss": "squares"})), &rows);
        // The first examples of the tasks are about where they are.
        let early = rmse(&margins[20..60], &rows[20..60]);
        let late = rmse(&margins[1500..], &rows[1500..]);
        assert!(early < 8.0, "{interaction}: {early}");
        assert!(late < 1.5, "{interaction}: {late}");
    }
}

#[test]
fn sharing_helps_and_is_found() {
    let rows = stream(11, 100, 1200, 0.5);
    let error = |interaction: &Value| {
        rmse(&run(&mut build(interaction, json!({"loss": "squares"})), &rows)[400..], &rows[400..])
    };
    let [auto, independent, pooled] = ["auto", "independent", "pooled"].map(|form| match form {
        "auto" => error(&json!({"coupled": {"b": "auto"}})),
        form => error(&json!(form)),
    });
    assert!(auto < 0.85 * independent && auto < 1.03 * pooled, "{auto} {independent} {pooled}");
}

/// Features that are near 0 in the first examples of a task have weights there that would be wild later on.
#[test]
fn features_that_are_near_0_at_first_spoil_nothing() {
    const SEEDS: u32 = 20;
    let sharings = [json!({"coupled": {"b": "auto"}}), json!("independent"), json!({"coupled": {"b": 2.0}})];
    let mut sums = [0.0; 3];
    for seed in 0..SEEDS {
        let clean = stream(seed.into(), 7, 2000, 0.5);
        let (mut rows, mut random) = (clean.clone(), Random(u64::from(seed) + 100));
        for row in &mut rows[..30] {
            for value in &mut row.values {
                *value *= 10_f64.powf(-4.0 * random.uniform());
            }
        }
        for (sum, sharing) in sums.iter_mut().zip(&sharings) {
            let [spoilt, usual] = [&rows, &clean].map(|rows| {
                let margins = run(&mut build(sharing, json!({"loss": "squares"})), rows);
                rmse(&margins[500..], &rows[500..])
            });
            assert!(spoilt < 2.0 * usual, "{seed} {sharing}: {spoilt} instead of {usual}");
            *sum += spoilt / usual;
        }
    }
    assert!(sums.iter().all(|sum| sum / f64::from(SEEDS) < 1.15), "{sums:?} of {SEEDS}");
}

#[test]
fn a_task_in_other_units_and_an_opposed_one_do_not_disturb() {
    let mut rows = stream(12, 6, 4000, 0.5);
    for row in &mut rows {
        match row.task {
            0 => row.label = 1e4 + 1000.0 * row.label,
            1 => row.label = -row.label,
            _ => {}
        }
    }
    let of = |interaction: &Value, task: u32| {
        let margins = run(&mut build(interaction, json!({"loss": "squares"})), &rows);
        let errors = margins.iter().zip(&rows).skip(1000).filter(|(_, row)| row.task == task);
        let squares: Vec<f64> = errors.map(|(margin, row)| (margin - row.label).powi(2)).collect();
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    };
    let (auto, independent) = (json!({"coupled": {"b": "auto"}}), json!("independent"));
    for task in 0..6 {
        assert!(
            of(&auto, task) < 1.03 * of(&independent, task),
            "task {task}: {} {}",
            of(&auto, task),
            of(&independent, task)
        );
    }
}

#[test]
fn quantiles_cover_what_they_say() {
    for q in [0.1, 0.5, 0.9] {
        for interaction in sharings() {
            let rows = stream(13, 4, 4000, 2.0);
            let margins = run(&mut build(&interaction, json!({"loss": {"quantile": {"q": q}}})), &rows);
            let below = margins.iter().zip(&rows).filter(|(margin, row)| row.label <= **margin).count();
            let covered = below as f64 / rows.len() as f64;
            assert!((covered - q).abs() < 0.02, "{interaction} {q}: {covered}");
        }
    }
}

#[test]
fn counts_are_learnt_as_rates() {
    let rows = counts(stream(14, 4, 3000, 0.0));
    for interaction in sharings() {
        let mut learner = build(&interaction, json!({"loss": "poisson"}));
        let margins = run(&mut learner, &rows);
        let loss = |margin: f64, row: &Row| learner.loss(row.label, margin).unwrap();
        let mean = (rows.iter().map(|row| row.label).sum::<f64>() / rows.len() as f64).ln();
        let late = margins.iter().zip(&rows).skip(1500);
        let (learnt, constant) = late.fold((0.0, 0.0), |(learnt, constant), (margin, row)| {
            (learnt + loss(*margin, row), constant + loss(mean, row))
        });
        assert!(learnt < constant - 0.1 * 1500.0, "{interaction}: {learnt} {constant}");
        assert_eq!(learner.response(0.0), 1.0);
        assert_eq!(learner.probability(0.0), None);
    }
}

/// A saved learner goes on as if nothing had happened.
#[test]
fn what_is_saved_goes_on_the_same() {
    for loss in losses() {
        let mut rows = fitting(&loss, stream(15, 4, 300, 0.5));
        for (at, row) in (0..).zip(&mut rows) {
            (row.weight, row.offset, row.time) =
                (1.0 + f64::from(at % 3), 0.1 * f64::from(at % 2), Some(60.0 * f64::from(at)));
        }
        for interaction in sharings() {
            for more in [
                json!({}),
                json!({"forget": "1h"}),
                json!({"forget": 50}),
                json!({"intercept": false}),
                json!({"average": true}),
            ] {
                let with_loss = || {
                    let mut more = more.clone();
                    more["loss"] = loss.clone();
                    build(&interaction, more)
                };
                let mut whole = with_loss();
                run(&mut whole, &rows[..150]);
                let state = rmp_serde::from_slice(&bytes(&whole)).unwrap();
                let mut again = with_loss();
                again.restore(state).unwrap();
                let (one, other) = (run(&mut whole, &rows[150..]), run(&mut again, &rows[150..]));
                assert_eq!(one, other, "{loss} {interaction} {more}");
                assert!(bytes(&whole) == bytes(&again), "{loss} {interaction} {more}");
            }
        }
    }
}

/// The weights that are shown predict what is predicted.
#[test]
fn shown_weights_are_those_that_predict() {
    for loss in losses() {
        let rows = fitting(&loss, stream(16, 4, 300, 0.5));
        for interaction in sharings() {
            let mut learner = build(&interaction, json!({ "loss": loss }));
            run(&mut learner, &rows);
            for row in &rows[..20] {
                let weights = learner.weights(TaskId(row.task));
                let shown: f64 = weights
                    .iter()
                    .map(|(feature, weight)| {
                        if *feature == BIAS_FEATURE {
                            *weight
                        } else {
                            weight * row.values[*feature as usize]
                        }
                    })
                    .sum();
                let margin = learner.margin(TaskId(row.task), row.example().features);
                assert!(
                    (shown - margin).abs() < 1e-9 * (1.0 + margin.abs()),
                    "{loss} {interaction}: {shown} {margin}"
                );
            }
        }
    }
}

#[test]
fn a_task_that_is_removed_leaves_nothing_in_the_units() {
    let rows = stream(17, 4, 200, 0.5);
    for interaction in [json!({"coupled": {"b": "auto"}}), json!("independent")] {
        let mut learner = build(&interaction, json!({"loss": "squares"}));
        run(&mut learner, &rows);
        let mut state = learner.state();
        assert!(learner.forget(&mut state, 1));
        let mut again = build(&interaction, json!({"loss": "squares"}));
        again.tasks = 3;
        again.restore(state).unwrap();
        for (now, before) in [(0, 0), (1, 2), (2, 3)] {
            let features = rows[0].example().features;
            let (now, before) =
                (again.margin(TaskId(now), features), learner.margin(TaskId(before), features));
            assert!((now - before).abs() < 1e-6 + 0.2 * before.abs(), "{interaction}: {now} {before}");
        }
    }
}

/// What an independent script finds: real labels, one task in other units, weights and offsets.
#[test]
fn margins_are_those_of_the_script() {
    let text = include_str!("../../../tests/vectors/real/adaptive_real.json");
    let vectors: Vec<Value> = serde_json::from_str(text).unwrap();
    assert_eq!(vectors.len(), 10);
    for vector in vectors {
        let parameters = &vector["learner"];
        let config: AdaptiveConfig = serde_json::from_value(parameters.clone()).unwrap();
        let mut learner = Adaptive::build(&config, &Tasks::counted(3), None).unwrap();
        let rows: Vec<(u32, f64, f64, f64, Vec<f64>)> =
            serde_json::from_value(vector["rows"].clone()).unwrap();
        let margins: Vec<f64> = serde_json::from_value(vector["margins"].clone()).unwrap();
        assert_eq!(rows.len(), margins.len());
        for (at, ((task, label, weight, offset, values), expected)) in rows.iter().zip(margins).enumerate() {
            let features = SparseView::trusted(&INDICES[..4], values);
            let example = Example::new(TaskId(*task), features, *label);
            let margin = learner.learn(Example { weight: *weight, offset: *offset, ..example }).margin;
            let apart = (margin - expected).abs();
            assert!(
                apart <= 1e-9 * (1.0 + expected.abs()),
                "{parameters}, example {at}: {margin} {expected}"
            );
        }
    }
}
