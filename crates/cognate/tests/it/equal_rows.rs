//! Streams in which honest examples look the same: are probabilities as good as if no example were known again?
//!
//! Where things are forgotten no example is known again, so a half-life that never passes is the same learner without that rule.

use crate::support::harness;
use serde_json::json;

/// Task, category, probability of +1.
type Draw = (usize, usize, f64);

struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() * count as f64) as usize
    }
}

/// Log loss beyond that of the true probabilities, of the examples after a fourth, and the error beyond the least.
fn excess(draws: &[Draw], seed: u64, learner: &serde_json::Value) -> (f64, f64) {
    let mut random = Uniform(seed);
    let mut text = String::new();
    for (task, category, probability) in draws {
        let label = if random.next() < *probability { "+1" } else { "-1" };
        text += &format!("{label} qid:{} {}:1\n", task + 1, category + 1);
    }
    let mut model = harness::model(&json!({ "learner": learner }));
    let reports = harness::learn(&mut model, &text);
    let (mut loss, mut error) = (0.0, 0.0);
    let first = draws.len() / 4;
    for ((_, _, p), report) in draws.iter().zip(&reports).skip(first) {
        let q = 1.0 / (1.0 + (-report.margin).exp());
        loss += p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
        error += (if report.margin > 0.0 { 1.0 - p } else { *p }) - p.min(1.0 - p);
    }
    let count = (draws.len() - first) as f64;
    (loss / count, error / count)
}

/// Neither worse by more than this, in the mean of some seeds.
fn as_good_as_without(name: &str, make: impl Fn(&mut Uniform) -> Vec<Draw>) {
    let (mut found, mut without) = ((0.0, 0.0), (0.0, 0.0));
    for seed in 1..=4 {
        let draws = make(&mut Uniform(1000 + seed));
        for (learner, sums) in
            [(json!("adaptive"), &mut found), (json!({"adaptive": {"forget": 1e15}}), &mut without)]
        {
            let (loss, error) = excess(&draws, seed, &learner);
            (sums.0, sums.1) = (sums.0 + loss / 4.0, sums.1 + error / 4.0);
        }
    }
    assert!(found.0 <= 1.1 * without.0 + 0.002, "{name}: log loss {found:?}, without the rule {without:?}");
    assert!(found.1 <= without.1 + 0.002, "{name}: error {found:?}, without the rule {without:?}");
}

/// A probability that is rarely near one half.
fn extreme(random: &mut Uniform) -> f64 {
    let odds = 10.0 * (random.next() - 0.5);
    1.0 / (1.0 + (-odds - odds.signum()).exp())
}

#[test]
fn a_constant_row_has_its_base_rate() {
    for (tasks, rate) in [(1, 0.002), (1, 0.2), (1, 0.9), (6, 0.01)] {
        as_good_as_without(&format!("{tasks} tasks, rate {rate}"), |random| {
            (0..6000).map(|_| (random.below(tasks), 0, rate)).collect()
        });
    }
}

#[test]
fn few_categories_are_learnt_again_and_again() {
    for (tasks, categories) in [(1, 2), (1, 5), (1, 20), (1, 100), (1, 1000), (6, 10), (6, 50)] {
        as_good_as_without(&format!("{tasks} tasks, {categories} categories"), |random| {
            let rates: Vec<f64> = (0..tasks * categories).map(|_| extreme(random)).collect();
            (0..6000)
                .map(|_| {
                    let (task, category) = (random.below(tasks), random.below(categories));
                    (task, category, rates[task * categories + category])
                })
                .collect()
        });
    }
}

#[test]
fn sorted_rows_are_learnt() {
    for row in [100, 300] {
        as_good_as_without(&format!("{row} in a row"), |random| {
            let rates: Vec<f64> = (0..6000 / row).map(|_| extreme(random)).collect();
            (0..6000).map(|at| (at / row % 6, at / row / 6, rates[at / row])).collect()
        });
    }
}

#[test]
fn a_cycle_of_a_few_rows_is_learnt() {
    as_good_as_without("30 rows in turn", |random| {
        let rates: Vec<f64> = (0..30).map(|_| extreme(random)).collect();
        (0..6000).map(|at| (at % 6, at % 30 / 6, rates[at % 30])).collect()
    });
}
