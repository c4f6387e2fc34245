//! b = "auto": are its members the Perceptrons they should be, and does it keep its guarantee?
//!
//! `algorithms/perceptron/hedge.rs` promises, on every stream, with N = 5 strengths that disagree on D rounds,
//!
//! ```text
//! mistakes <= 2 H + 1,   H <= min_g L_g + (17/8) sqrt(D ln N)
//! ```
//!
//! where L_g are the mistakes of the Perceptron with the g-th fixed strength. On streams that no adversary chose, it
//! also makes no more mistakes than the best of them plus the regret. `cargo xtask strengths` measures real data sets,
//! the smaller of which are measured here too.

use std::path::Path;

use crate::support::harness::{self, Collect};
use cognate::run::RunOptions;
use cognate::stream::synthetic::Related;
use cognate::stream::{Input, Memory, Order, ReadOptions};
use cognate::{Model, RunConfig};
use serde_json::{Value, json};

const TASKS: usize = 9;

/// The strengths for nine tasks.
const GRID: [f64; 5] = [0.0, 1.0, 3.0, 9.0, 36.0];

fn learn(stream: &Memory, b: &Value, simultaneous: bool) -> (Model, Collect) {
    let names: Vec<String> = (1..=TASKS).map(|task| task.to_string()).collect();
    let mut model = harness::model(&json!({
        "tasks": names,
        "stream": {"simultaneous": simultaneous},
        "learner": {"perceptron": {"interaction": {"coupled": {"b": b}}}},
    }));
    let order = if simultaneous { Order::Interleave } else { Order::File };
    let mut stream = stream.clone().numbered_as(model.tasks()).ordered(order, 1, simultaneous);
    let mut seen = Collect::default();
    model.learn(&mut stream, &RunOptions::default(), &mut seen).unwrap();
    (model, seen)
}

/// Streams on which different strengths are the best.
fn streams() -> Vec<Memory> {
    let mut all = Vec::new();
    for (spread, outliers, flips) in [(0.0, 0, 0.1), (0.4, 2, 0.05), (3.0, 0, 0.0), (100.0, 0, 0.1)] {
        for seed in 1..=3 {
            let made = Related {
                tasks: TASKS,
                features: 40,
                examples: 3000,
                spread,
                outliers,
                flips,
                seed,
                ..Related::default()
            };
            all.push(made.generate().stream);
        }
    }
    all
}

/// Equally many examples of every task.
fn even(stream: &Memory) -> Memory {
    let mut even = Memory::new();
    let mut counts = [0; TASKS];
    for (task, example) in stream.examples() {
        let count = &mut counts[task.parse::<usize>().unwrap() - 1];
        *count += 1;
        if *count <= 200 {
            even.push(task, example);
        }
    }
    assert!(counts.iter().all(|count| *count >= 200), "{counts:?}");
    even
}

#[test]
fn strengths_are_trusted_by_the_mistakes_of_fixed_ones() {
    for (at, stream) in streams().iter().enumerate() {
        for simultaneous in [false, true] {
            let stream = if simultaneous { even(stream) } else { stream.clone() };
            let fixed = GRID.map(|b| learn(&stream, &json!(b), simultaneous).1.reports);
            let (model, seen) = learn(&stream, &json!("auto"), simultaneous);
            let losses = fixed.each_ref().map(|reports| reports.iter().filter(|round| round.mistake).count());
            let wrong = |round: usize| fixed.iter().filter(|reports| reports[round].mistake).count();
            let disagreements =
                (0..seen.reports.len()).filter(|round| (1..5).contains(&wrong(*round))).count();
            let best = *losses.iter().min().unwrap();

            let eta = 0.5 * (5.0_f64.ln() / (disagreements as f64 + 1.0)).sqrt();
            let trust = losses.map(|loss| (-eta * (loss - best) as f64).exp());
            let sum: f64 = trust.iter().sum();
            let strengths = model.learner().as_inspect().strengths().unwrap();
            for ((b, weight), (expected_b, trust)) in strengths.iter().zip(GRID.iter().zip(trust)) {
                assert_eq!(b, expected_b);
                assert!(
                    (weight - trust / sum).abs() < 1e-12,
                    "stream {at}: {strengths:?}, mistakes {losses:?}"
                );
            }

            let mistakes = model.metrics().total().mistakes as f64;
            let regret = 17.0 / 8.0 * (disagreements as f64 * 5.0_f64.ln()).sqrt();
            assert!(mistakes <= 2.0 * (best as f64 + regret) + 1.0, "stream {at}");
            assert!(mistakes <= best as f64 + regret, "stream {at}: {mistakes}, but {losses:?}");
            // A round on which no member is wrong changes nothing.
            let updated =
                (0..seen.reports.len()).all(|round| seen.reports[round].updated == (wrong(round) > 0));
            assert!(updated, "stream {at}");
        }
    }
}

#[test]
fn what_is_inspected_is_the_mean() {
    let (model, _) = learn(&streams()[4], &json!("auto"), false);
    let (learner, tasks) = (model.learner(), model.tasks());
    let strengths = learner.as_inspect().strengths().unwrap();
    let shared: f64 = strengths.iter().map(|(b, weight)| weight * b / (1.0 + b) / TASKS as f64).sum();
    let own: f64 = strengths.iter().map(|(b, weight)| weight / (1.0 + b)).sum();
    let relation = |to, from| learner.as_inspect().relation(cognate::TaskId(to), cognate::TaskId(from));
    assert!((relation(2, 7) - shared).abs() < 1e-12);
    assert!((relation(2, 2) - own - shared).abs() < 1e-12);
    for (name, example) in streams()[5].examples().take(50) {
        let task = tasks.find(name).unwrap();
        let weights: std::collections::BTreeMap<u32, f64> =
            learner.as_inspect().weights(task).into_iter().collect();
        let sum: f64 =
            example.features.iter().map(|(at, value)| weights.get(&at).unwrap_or(&0.0) * value).sum();
        let margin = learner.as_predict().margin(task, example.features);
        assert!((sum - margin).abs() < 1e-9 * (1.0 + margin.abs()), "{sum} is not {margin}");
    }
}

/// Mean share of mistakes over five shuffles.
fn error(stream: &Memory, b: &Value) -> f64 {
    let config = json!({"learner": {"perceptron": {"interaction": {"coupled": {"b": b}}}}});
    let errors = (1..=5).map(|seed| {
        let mut model = harness::model(&config);
        let mut shuffled = stream.clone().ordered(Order::Shuffle, seed, false);
        model.learn(&mut shuffled, &RunOptions::default(), &mut ()).unwrap();
        model.metrics().total().error()
    });
    errors.sum::<f64>() / 5.0
}

#[test]
#[expect(clippy::print_stderr, reason = "a test says when it could not look")]
fn within_three_percent_of_the_best_strength_on_real_data() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.exists() {
        eprintln!("skipped: ../shared/data is not here");
        return;
    }
    let scaled: RunConfig = serde_json::from_value(json!({"stream": {"normalize": "l2"}})).unwrap();
    for (set, tasks) in
        [("school/school", 139), ("spam_a/spam_a", 3), ("spam_b/spam_b", 15), ("movielens/movielens", 30)]
    {
        let input = Input::File(data.join(format!("{set}.svm.gz")));
        let stream = scaled.reader(vec![input], ReadOptions::default()).unwrap().into_memory().unwrap();
        let fixed: Vec<f64> = [0, 1, 4, 16, tasks].iter().map(|b| error(&stream, &json!(b))).collect();
        let (auto, best) =
            (error(&stream, &json!("auto")), fixed.iter().copied().fold(f64::INFINITY, f64::min));
        assert!(auto <= 1.03 * best, "{set}: {auto}, the best of {fixed:?} is {best}");
        assert!(auto < fixed[0], "{set}: {auto} is no better than independent learners, {fixed:?}");
    }
}
