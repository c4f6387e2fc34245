//! How a stream is generated: seeded examples of related tasks whose comparator is known.
//!
//! w = base + sigma * own, y = sign(w . x), 5 % of the labels flipped. Both parts are hashes of
//! (task, feature), so K x d weights are never stored. A feature of frequency rank r carries signal
//! 1 / (1 + r/200). The same family as `bench_gen.py`, with other draws.

use std::io::{self, Write};

use super::presets::Preset;
use super::random::{Draws, normal_of};

/// Changes when the bytes of a stream change, so that an old file is not taken for a new one.
pub(super) const GENERATION: u32 = 1;

const SEED: u64 = 1;
const FLIPPED: f64 = 0.05;
/// Rank at which a feature carries half the signal of the most frequent one.
const RARE: f64 = 200.0;
/// Row number of the draws that order the features: no example has it.
const PERMUTATION: u64 = u64::MAX;

/// What was generated.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Summary {
    /// Examples labelled +1.
    pub(super) positives: u64,
    /// Examples whose label was flipped: no learner can be right on these.
    pub(super) flipped: u64,
    /// Features written, over all examples.
    pub(super) nonzeros: u64,
}

/// Writes the first `rows` examples of a preset as svmlight with `qid:` = task.
pub(super) fn write(preset: &Preset, rows: u64, out: &mut dyn Write) -> io::Result<Summary> {
    write_seeded(preset, SEED, rows, out)
}

/// The same with another seed than all streams have that are measured elsewhere.
pub(super) fn write_seeded(
    preset: &Preset,
    seed: u64,
    rows: u64,
    out: &mut dyn Write,
) -> io::Result<Summary> {
    let tasks = cumulative(preset.tasks, preset.task_skew, 1.0);
    let mut features = Features::new(preset, seed);
    let mut line = Vec::new();
    let mut summary = Summary::default();
    for row in 0..rows {
        let mut draws = Draws::new(seed, row);
        let task = pick(&tasks, draws.uniform());
        features.draw(&mut draws);
        let margin: f32 = features
            .row
            .iter()
            .map(|f| weight(preset, seed, task, f.index) * features.signal(f) * (f.value as f32 / 10_000.0))
            .sum();
        let flip = draws.uniform() < FLIPPED;
        let positive = (margin > 0.0) != flip;
        summary.positives += u64::from(positive);
        summary.flipped += u64::from(flip);
        summary.nonzeros += features.row.len() as u64;
        line.clear();
        format(&mut line, positive, task, &features.row);
        out.write_all(&line)?;
    }
    Ok(summary)
}

/// One feature of a row; the value in units of 0.0001.
#[derive(Clone, Copy)]
struct Feature {
    index: u64,
    rank: usize,
    value: i32,
}

/// Draws rows; everything that does not change from row to row, and the last row drawn.
struct Features {
    dense: Option<u64>,
    cumulative: Vec<f64>,
    /// The size of a feature's value by rank: rare features have larger values, as in tf-idf.
    idf: Vec<f32>,
    index_of_rank: Vec<u32>,
    exp_minus_mean: f64,
    most: usize,
    row: Vec<Feature>,
}

impl Features {
    fn new(preset: &Preset, seed: u64) -> Self {
        let Some(nonzeros) = preset.nonzeros else {
            return Self { dense: Some(preset.features), ..Self::empty() };
        };
        let cumulative = cumulative(preset.features, preset.feature_skew, 8.0);
        let mut last = 0.0;
        let idf: Vec<f64> = cumulative
            .iter()
            .map(|&c| {
                let share = c - last;
                last = c;
                -share.ln()
            })
            .collect();
        let largest = idf.iter().copied().fold(0.0, f64::max);
        Self {
            cumulative,
            idf: idf.into_iter().map(|x| (x / largest) as f32).collect(),
            index_of_rank: permutation(preset.features, seed),
            // 1.05: repeated draws of a feature are merged, which makes rows shorter.
            exp_minus_mean: (-f64::from(nonzeros) * 1.05).exp(),
            most: nonzeros as usize * 3 / 2 + 4,
            ..Self::empty()
        }
    }

    fn empty() -> Self {
        Self {
            dense: None,
            cumulative: Vec::new(),
            idf: Vec::new(),
            index_of_rank: Vec::new(),
            exp_minus_mean: 1.0,
            most: 0,
            row: Vec::new(),
        }
    }

    /// Draws the next row into `self.row`, by increasing index.
    fn draw(&mut self, draws: &mut Draws) {
        self.row.clear();
        if let Some(count) = self.dense {
            self.row.extend((0..count).map(|index| Feature {
                index,
                rank: 0,
                value: (draws.normal() * 10_000.0).round() as i32,
            }));
            return;
        }
        let count = draws.poisson(self.exp_minus_mean).clamp(1, self.most);
        for _ in 0..count {
            let rank = pick(&self.cumulative, draws.uniform()) as usize;
            self.row.push(Feature { index: u64::from(self.index_of_rank[rank]), rank, value: 0 });
        }
        self.row.sort_unstable_by_key(|f| f.index);
        self.row.dedup_by_key(|f| f.index);
        self.fill_values(draws);
    }

    /// Gives a sparse row its values: idf times a factor, normalised, four decimals, none zero.
    fn fill_values(&mut self, draws: &mut Draws) {
        let values: Vec<f32> =
            self.row.iter().map(|f| self.idf[f.rank] * (0.5 + draws.uniform() as f32)).collect();
        let norm = values.iter().map(|v| v * v).sum::<f32>().sqrt();
        for (feature, value) in self.row.iter_mut().zip(values) {
            feature.value = ((value / norm * 10_000.0).round() as i32).max(1);
        }
    }

    /// Signal of a feature: less for rare ones.
    fn signal(&self, feature: &Feature) -> f32 {
        if self.dense.is_some() { 1.0 } else { (1.0 / (1.0 + feature.rank as f64 / RARE)) as f32 }
    }
}

/// Whether a task belongs to no group.
pub(super) fn is_outlier(preset: &Preset, task: u64) -> bool {
    task.wrapping_mul(2_654_435_761) % 1000 < preset.outliers
}

/// Weight of a feature in a task's comparator.
fn weight(preset: &Preset, seed: u64, task: u64, feature: u64) -> f32 {
    let seed = seed << 56;
    let own = normal_of(seed.wrapping_add((1 << 55) + task * preset.features + feature));
    if is_outlier(preset, task) {
        return own;
    }
    let mut group = task % preset.groups;
    let mut sign = 1.0;
    if preset.groups >= 4 {
        let half = preset.groups / 2;
        sign = if group >= half { -1.0 } else { 1.0 };
        group %= half;
    }
    sign * normal_of(seed.wrapping_add((group << 52) + feature)) + preset.sigma * own
}

/// Cumulative shares of a power law 1/(rank + shift)^skew over `count` ranks.
fn cumulative(count: u64, skew: f64, shift: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let mut shares: Vec<f64> = (0..count)
        .map(|rank| {
            sum += (rank as f64 + shift).powf(-skew);
            sum
        })
        .collect();
    for share in &mut shares {
        *share /= sum;
    }
    shares
}

/// The rank whose share contains `at`.
fn pick(cumulative: &[f64], at: f64) -> u64 {
    cumulative.partition_point(|&share| share < at).min(cumulative.len() - 1) as u64
}

/// A random order of 0..count.
fn permutation(count: u64, seed: u64) -> Vec<u32> {
    let mut draws = Draws::new(seed, PERMUTATION);
    let mut order: Vec<u32> = (0..count as u32).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, draws.below(last as u64 + 1) as usize);
    }
    order
}

/// Appends one line: `+1 qid:7 3:0.1234 …`, task and features counted from 1.
fn format(line: &mut Vec<u8>, positive: bool, task: u64, row: &[Feature]) {
    line.extend_from_slice(if positive { b"+1 qid:" } else { b"-1 qid:" });
    push_decimal(line, task + 1, 1);
    for feature in row {
        line.push(b' ');
        push_decimal(line, feature.index + 1, 1);
        line.push(b':');
        if feature.value < 0 {
            line.push(b'-');
        }
        let value = u64::from(feature.value.unsigned_abs());
        push_decimal(line, value / 10_000, 1);
        line.push(b'.');
        push_decimal(line, value % 10_000, 4);
    }
    line.push(b'\n');
}

/// Appends a number with at least `width` digits; `write!` would take half the generator's time.
fn push_decimal(line: &mut Vec<u8>, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    line.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

#[cfg(test)]
mod tests {
    use super::super::presets::{PRESETS, named};
    use super::*;

    fn generated(name: &str, rows: u64) -> (String, Summary) {
        let mut bytes = Vec::new();
        let summary = write(named(name).unwrap(), rows, &mut bytes).unwrap();
        (String::from_utf8(bytes).unwrap(), summary)
    }

    #[test]
    fn the_same_bytes_every_time_and_a_prefix_when_shorter() {
        for preset in &PRESETS {
            let (long, _) = generated(preset.name, 200);
            assert_eq!(long, generated(preset.name, 200).0);
            assert!(long.starts_with(&generated(preset.name, 50).0), "{}", preset.name);
        }
    }

    #[test]
    fn first_bytes_belong_to_this_generation() {
        assert_eq!(GENERATION, 1, "count GENERATION up and take over the new bytes");
        let starts = [
            "-1 qid:51 16628:0.1857 19893:0.1039 ",
            "-1 qid:19445 10079:0.2612 15016:0.2822 ",
            "+1 qid:7 1:-0.5165 2:-0.4795 ",
            "+1 qid:39 974:0.1286 1018:0.2427 ",
        ];
        for (preset, start) in PRESETS.iter().zip(starts) {
            let (text, _) = generated(preset.name, 1);
            assert!(text.starts_with(start), "{}: {}", preset.name, &text[..60]);
        }
    }

    #[test]
    fn lines_have_label_task_and_increasing_features() {
        for preset in &PRESETS {
            for line in generated(preset.name, 300).0.lines() {
                let mut words = line.split(' ');
                assert!(["+1", "-1"].contains(&words.next().unwrap()));
                let task: u64 = words.next().unwrap().strip_prefix("qid:").unwrap().parse().unwrap();
                assert!((1..=preset.tasks).contains(&task));
                let (mut last, mut square) = (0, 0.0);
                for word in words {
                    let (index, value) = word.split_once(':').unwrap();
                    let index: u64 = index.parse().unwrap();
                    assert!(index > last && index <= preset.features);
                    last = index;
                    assert_eq!(value.split_once('.').unwrap().1.len(), 4);
                    square += value.parse::<f64>().unwrap().powi(2);
                }
                assert!(preset.nonzeros.is_none() || (square - 1.0).abs() < 0.01, "{square}");
            }
        }
    }

    #[test]
    fn shares_are_those_of_the_family() {
        for preset in &PRESETS {
            let rows = 5000;
            let (_, summary) = generated(preset.name, rows);
            let share = |count: u64| count as f64 / rows as f64;
            assert!((share(summary.flipped) - FLIPPED).abs() < 0.012, "{summary:?}");
            assert!((share(summary.positives) - 0.5).abs() < 0.1, "{summary:?}");
            let expected = preset.nonzeros.map_or(preset.features as f64, f64::from);
            assert!((share(summary.nonzeros) / expected - 1.0).abs() < 0.05, "{summary:?}");
        }
    }
}
