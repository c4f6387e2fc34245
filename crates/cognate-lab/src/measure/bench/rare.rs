//! `cargo xtask bench --accuracy --rare`: small streams with a rare label, as of mine fields.
//!
//! Tasks have dense correlated features, of scales and means of their own, and 5 to 10 % positives: as many in one task as in the
//! other or not, on ground that lies elsewhere or not, with vectors that are alike, of two kinds, or unrelated. AUC of `adaptive` is
//! compared with that of its own `pooled` and `independent` forms. Constants were chosen on streams of another generator of the same
//! kind.

use std::fmt::Write as _;

use anyhow::Result;
use cognate::stream::Memory;
use cognate::{Example, SparseView, TaskId};
use serde_json::{Value, json};

use super::figures::figures_of;
use super::random::{Draws, hash};

/// How far below the better form an AUC may be.
const BELOW: f64 = 0.005;
const SEEDS: [u64; 2] = [1, 2];
/// Common causes of the features.
const CAUSES: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum Kinship {
    Alike,
    TwoKinds,
    Unrelated,
}

struct Shape {
    name: &'static str,
    tasks: usize,
    features: usize,
    examples: usize,
    positives: f64,
    kinship: Kinship,
    /// Deviation of the log of the share of positives between tasks, and of where features lie.
    levels: f64,
    ground: f64,
}

#[rustfmt::skip]
const SHAPES: [Shape; 8] = [
    Shape { name: "two grounds", tasks: 29, features: 9, examples: 14_820, positives: 0.06, kinship: Kinship::TwoKinds, levels: 0.6, ground: 0.5 },
    Shape { name: "mine fields alike", tasks: 29, features: 9, examples: 14_820, positives: 0.06, kinship: Kinship::Alike, levels: 0.3, ground: 0.0 },
    Shape { name: "mine fields unrelated", tasks: 29, features: 9, examples: 14_820, positives: 0.06, kinship: Kinship::Unrelated, levels: 0.6, ground: 0.5 },
    Shape { name: "uneven levels", tasks: 40, features: 8, examples: 20_000, positives: 0.05, kinship: Kinship::Alike, levels: 1.0, ground: 0.0 },
    Shape { name: "many, few features", tasks: 50, features: 5, examples: 15_000, positives: 0.08, kinship: Kinship::Alike, levels: 0.8, ground: 0.0 },
    Shape { name: "even levels", tasks: 50, features: 15, examples: 12_500, positives: 0.07, kinship: Kinship::TwoKinds, levels: 0.0, ground: 0.5 },
    Shape { name: "few tasks", tasks: 5, features: 12, examples: 4000, positives: 0.05, kinship: Kinship::Alike, levels: 0.3, ground: 0.0 },
    Shape { name: "few, two kinds", tasks: 10, features: 20, examples: 6000, positives: 0.10, kinship: Kinship::TwoKinds, levels: 0.8, ground: 0.5 },
];

/// Measures; returns the table, and whether no AUC is too low.
pub(super) fn measure() -> Result<(String, bool)> {
    let mut text = String::from(
        "| stream | seed | K | d | n | +1 in % | AUC: pooled | independent | adaptive | to the better | log loss: pooled | independent | adaptive |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let (mut low, mut sum, mut rows) = (0, 0.0, 0);
    for shape in &SHAPES {
        for seed in SEEDS {
            let stream = shape.generate(seed);
            let positives = stream.examples().filter(|(_, example)| example.label > 0.0).count();
            let form = |interaction: &str| json!({"adaptive": {"interaction": interaction}});
            let learners: [Value; 3] = [form("pooled"), form("independent"), json!("adaptive")];
            let mut found = Vec::new();
            for learner in &learners {
                let figures = figures_of(learner, &stream)?;
                found.push((figures.auc.unwrap_or(f64::NAN), figures.log_loss.unwrap_or(f64::NAN)));
            }
            let ahead = found[2].0 - found[0].0.max(found[1].0);
            low += usize::from(ahead < -BELOW);
            sum += ahead;
            rows += 1;
            let aucs: Vec<String> = found.iter().map(|(auc, _)| format!("{auc:.4}")).collect();
            let losses: Vec<String> = found.iter().map(|(_, loss)| format!("{loss:.4}")).collect();
            let line = format!(
                "| {} | {seed} | {} | {} | {} | {:.1} | {} | {ahead:+.4} | {} |",
                shape.name,
                shape.tasks,
                shape.features,
                stream.len(),
                100.0 * positives as f64 / stream.len() as f64,
                aucs.join(" | "),
                losses.join(" | "),
            );
            println!("{line}");
            let _ = writeln!(text, "{line}");
        }
    }
    let _ = writeln!(
        text,
        "\nOf {rows} streams, the AUC of `adaptive` is more than {BELOW} below the better of the two forms on {low}; in the mean it \
         is {:+.4} from it.",
        sum / f64::from(rows),
    );
    println!("{}", text.lines().last().unwrap_or_default());
    Ok((text, low == 0))
}

fn normals(draws: &mut Draws, count: usize) -> Vec<f64> {
    (0..count).map(|_| f64::from(draws.normal())).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What is fixed about a task.
struct Task {
    weights: Vec<f64>,
    shift: Vec<f64>,
    intercept: f64,
}

impl Shape {
    /// The stream of a seed.
    fn generate(&self, seed: u64) -> Memory {
        let d = self.features;
        let seed = hash(seed ^ hash(self.name.bytes().fold(0, |sum, byte| hash(sum ^ u64::from(byte)))));
        let mut draws = Draws::new(seed, 0);
        let causes: Vec<Vec<f64>> = (0..CAUSES).map(|_| normals(&mut draws, d)).collect();
        let scales: Vec<f64> = normals(&mut draws, d).iter().map(|one| (0.7 * one).exp()).collect();
        let means = normals(&mut draws, d);
        let size = (d as f64).sqrt().recip();
        let common: [Vec<f64>; 2] =
            std::array::from_fn(|_| normals(&mut draws, d).iter().map(|one| 1.3 * size * one).collect());
        let tasks: Vec<Task> =
            (0..self.tasks).map(|task| self.task(task, &mut draws, &common, &causes)).collect();
        let (mut stream, indices) = (Memory::new(), (0..d as u32).collect::<Vec<_>>());
        for row in 1..=self.examples as u64 {
            let mut draws = Draws::new(seed, row);
            let at = draws.below(self.tasks as u64) as usize;
            let task = &tasks[at];
            let z = features(&mut draws, &causes, d);
            let chance = 1.0 / (1.0 + (-dot(&task.weights, &z) - task.intercept).exp());
            let label = if draws.uniform() < chance { 1.0 } else { -1.0 };
            let values: Vec<f64> = (0..d).map(|k| scales[k] * (z[k] + task.shift[k] + means[k])).collect();
            if let Ok(view) = SparseView::try_new(&indices, &values) {
                stream.push(&(at + 1).to_string(), Example::new(TaskId(0), view, label));
            }
        }
        stream
    }

    fn task(&self, task: usize, draws: &mut Draws, common: &[Vec<f64>; 2], causes: &[Vec<f64>]) -> Task {
        let d = self.features;
        let size = (d as f64).sqrt().recip();
        let own = normals(draws, d);
        let weights: Vec<f64> = match self.kinship {
            Kinship::Unrelated => own.iter().map(|one| 1.3 * size * one).collect(),
            kinship => {
                let kind = if kinship == Kinship::TwoKinds { task % 2 } else { 0 };
                common[kind].iter().zip(&own).map(|(all, one)| all + 0.35 * size * one).collect()
            }
        };
        let shift = normals(draws, d).iter().map(|one| self.ground * one).collect();
        let positives = (self.positives * (self.levels * f64::from(draws.normal())).exp()).min(0.4);
        // The intercept that gives this share, on a sample.
        let sample: Vec<f64> = (0..400).map(|_| dot(&weights, &features(draws, causes, d))).collect();
        let share = |intercept: f64| {
            sample.iter().map(|said| 1.0 / (1.0 + (-said - intercept).exp())).sum::<f64>()
                / sample.len() as f64
        };
        let (mut low, mut high) = (-20.0, 20.0);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if share(middle) > positives { high = middle } else { low = middle }
        }
        Task { weights, shift, intercept: low }
    }
}

/// Correlated features of deviation near 1.
fn features(draws: &mut Draws, causes: &[Vec<f64>], d: usize) -> Vec<f64> {
    let (strength, noise) = (normals(draws, CAUSES), normals(draws, d));
    let caused = |k: usize| causes.iter().zip(&strength).map(|(cause, s)| 0.7 * s * cause[k]).sum::<f64>();
    (0..d).map(|k| (caused(k) + noise[k]) / 1.55).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_as_described() {
        for shape in &SHAPES {
            let stream = shape.generate(3);
            assert_eq!(stream.len(), shape.examples, "{}", shape.name);
            let positives = stream.examples().filter(|(_, example)| example.label > 0.0).count();
            let share = positives as f64 / stream.len() as f64;
            assert!(
                share > 0.5 * shape.positives && share < 2.2 * shape.positives,
                "{}: {share}",
                shape.name
            );
            assert!(stream.examples().eq(shape.generate(3).examples()));
        }
    }
}
