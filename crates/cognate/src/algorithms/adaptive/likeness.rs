//! How alike tasks are: the correlations of `kinship`, with the noise of both tasks taken out.
//!
//! Own weights are noisy, so the correlation r_ij of two portraits is nearer to 0 than that of what the tasks have in common:
//! r_ij = l_i'l_j on average, where l_i is what the portrait of task i holds of a few directions that tasks share. Few directions
//! explain many pairs, which tells what a portrait holds of them from its noise (factor analysis; with one direction it is
//! Spearman's correction for attenuation, |l_i|^2 = r_ij r_ik / r_jk):
//!
//! ```text
//! fit        l minimises sum over pairs w_ij (r_ij - l_i'l_j)^2 + sum |l_i|^2, |l_i| <= 1; one direction after the other, as long
//!            as each explains 3 K more, which is 1.5 times what the largest eigenvalue of noise does
//! strength   l_i'l_j / (|l_i| |l_j|)
//! deviation  sqrt(v_i(u_j) / |l_i|^2 + v_j(u_i) / |l_j|^2),  u = l / |l|,  v_i(u) = 1 / w_i + u'(sum_j w_ij l_j l_j' + I)^-1 u,
//!            1 / w_i the mean of 1 / w_ij: noise of a portrait says the same of all who are alike, however many they are
//! ```
//!
//! A strength is supported by the evidence if it is three deviations from 0, and both tasks hold something, |l_i|^2 >= 12 v_i(u_i).
//! All others are unknown. Two strengths that are nearer than their deviations are tied.
//!
//! 1 means that the two have in common all that either has in common with anybody. What a task has for itself alone cannot be told
//! from noise and is left out: strengths compare tasks with each other, and do not say how much of a task is shared.
//!
//! Directions come of the [`MOST`] tasks with the most examples, so that K tasks cost O(K^2 d + MOST^2 (d + rounds)), d the features
//! that are compared.

use super::kinship::Kinship;
use crate::learner::Likeness;
use crate::linalg::Symmetric;

/// Directions at most.
const DIRECTIONS: usize = 6;
/// Tasks that directions come of, at most.
pub(super) const MOST: usize = 256;
/// What a direction has to explain per task.
const LEAST_GAIN: f64 = 3.0;
/// Rounds of the fit at most, and the change of a number below which it ends.
const ROUNDS: usize = 60;
const SETTLED: f64 = 1e-5;
/// Deviations by which a strength is supported, and their square by which a task holds anything.
const SUPPORTED: f64 = 3.0;
const LEAST_HELD: f64 = 12.0;

type Row = [f64; DIRECTIONS];
type Square = [Row; DIRECTIONS];

fn dot(a: &Row, b: &Row) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What a portrait holds of each direction, and the variance of that but for the portrait's own noise.
#[derive(Debug, Clone, Copy)]
struct Held {
    row: Row,
    inverse: Square,
    /// 1 / w_i.
    noise: f64,
}

/// The likeness of all tasks that were compared; directions come of these.
pub(super) fn likeness(kinship: &Kinship, reference: &[usize]) -> Likeness {
    let fitted = directions(kinship, reference);
    let held: Vec<Held> =
        (0..kinship.size()).map(|task| regress(kinship, task, reference, &fitted)).collect();
    let lengths: Vec<f64> = held.iter().map(|held| dot(&held.row, &held.row).sqrt()).collect();
    let units: Vec<Row> = held
        .iter()
        .zip(&lengths)
        .map(|(held, length)| held.row.map(|l| l / length.max(f64::MIN_POSITIVE)))
        .collect();
    let variance = |task: usize, unit: &Row| {
        let Held { inverse, noise, .. } = &held[task];
        noise + (0..DIRECTIONS).map(|at| unit[at] * dot(&inverse[at], unit)).sum::<f64>()
    };
    let holds = |task: usize| {
        lengths[task] > 0.0 && lengths[task].powi(2) >= LEAST_HELD * variance(task, &units[task])
    };
    let holding: Vec<bool> = (0..held.len()).map(holds).collect();
    Likeness::new(held.len(), |one, other| {
        if !(holding[one] && holding[other]) {
            return None;
        }
        let strength = dot(&units[one], &units[other]).clamp(-1.0, 1.0);
        let relative = |task: usize, to: usize| variance(task, &units[to]) / lengths[task].powi(2);
        let deviation = (relative(one, other) + relative(other, one)).sqrt();
        (strength.abs() >= SUPPORTED * deviation).then_some((strength, deviation))
    })
}

/// What the tasks that directions come of hold of them.
fn directions(kinship: &Kinship, reference: &[usize]) -> Vec<Row> {
    let size = reference.len();
    let mut rows = vec![[0.0; DIRECTIONS]; size];
    if size < 2 {
        return rows;
    }
    let mut unexplained = badness(kinship, reference, &rows);
    for direction in 0..DIRECTIONS {
        let rest = Symmetric::from_fn(size, |one, other| {
            let (r, w) = kinship.correlation(reference[one], reference[other]);
            if one == other { 0.0 } else { w.sqrt() * (r - dot(&rows[one], &rows[other])) }
        });
        let Some(spectrum) = rest.spectrum() else { break };
        let mut more = rows.clone();
        for (at, (row, first)) in more.iter_mut().zip(spectrum.largest_factors(1, 0.0)).enumerate() {
            let weight = mean_weight(kinship, reference[at], reference);
            row[direction] = first.first().map_or(0.0, |value| value / weight.sqrt().sqrt().max(1.0));
            shorten(row);
        }
        fit(kinship, reference, &mut more);
        let left = badness(kinship, reference, &more);
        let gain = unexplained - left;
        // No number is no gain.
        if gain.is_nan() || gain < LEAST_GAIN * size as f64 {
            break;
        }
        (rows, unexplained) = (more, left);
    }
    rows
}

/// The sum over pairs of w_ij (r_ij - l_i'l_j)^2.
fn badness(kinship: &Kinship, reference: &[usize], rows: &[Row]) -> f64 {
    let pairs = (0..reference.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    let terms = pairs.map(|(one, other)| {
        let (r, w) = kinship.correlation(reference[one], reference[other]);
        w * (r - dot(&rows[one], &rows[other])).powi(2)
    });
    terms.sum()
}

fn mean_weight(kinship: &Kinship, task: usize, reference: &[usize]) -> f64 {
    let sum: f64 = reference.iter().map(|other| kinship.correlation(task, *other).1).sum();
    sum / (reference.len() as f64 - 1.0).max(1.0)
}

/// Task by task, until nothing moves.
fn fit(kinship: &Kinship, reference: &[usize], rows: &mut [Row]) {
    for _ in 0..ROUNDS {
        let mut moved = 0.0_f64;
        for (at, task) in reference.iter().enumerate() {
            let row = regress(kinship, *task, reference, rows).row;
            let change = row.iter().zip(&rows[at]).map(|(new, old)| (new - old).abs());
            moved = change.fold(moved, f64::max);
            rows[at] = row;
        }
        if moved < SETTLED {
            return;
        }
    }
}

/// A portrait holds no more than all.
fn shorten(row: &mut Row) {
    let length = dot(row, row).sqrt();
    if length > 1.0 {
        row.iter_mut().for_each(|l| *l /= length);
    }
}

/// What a task holds, by what it has in common with the others.
fn regress(kinship: &Kinship, task: usize, reference: &[usize], rows: &[Row]) -> Held {
    let (mut sums, mut products) = (Square::default(), Row::default());
    let (mut noise, mut others) = (0.0, 0.0);
    (0..DIRECTIONS).for_each(|at| sums[at][at] = 1.0);
    for (other, row) in reference.iter().zip(rows).filter(|(other, _)| **other != task) {
        let (r, w) = kinship.correlation(task, *other);
        if w > 0.0 {
            (noise, others) = (noise + w.recip(), others + 1.0);
            for at in 0..DIRECTIONS {
                products[at] += w * r * row[at];
                sums[at].iter_mut().zip(row).for_each(|(sum, l)| *sum += w * row[at] * l);
            }
        }
    }
    let inverse = inverse(sums);
    let mut row = inverse.map(|line| dot(&line, &products));
    shorten(&mut row);
    Held { row, inverse, noise: if others > 0.0 { noise / others } else { f64::INFINITY } }
}

/// Of a matrix that is at least the identity, by elimination.
fn inverse(mut matrix: Square) -> Square {
    let mut inverse = Square::default();
    (0..DIRECTIONS).for_each(|at| inverse[at][at] = 1.0);
    for at in 0..DIRECTIONS {
        let pivot = matrix[at][at].recip();
        (matrix[at], inverse[at]) = (matrix[at].map(|x| x * pivot), inverse[at].map(|x| x * pivot));
        let (line, found) = (matrix[at], inverse[at]);
        for other in (0..DIRECTIONS).filter(|other| *other != at) {
            let factor = matrix[other][at];
            for column in 0..DIRECTIONS {
                matrix[other][column] -= factor * line[column];
                inverse[other][column] -= factor * found[column];
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::super::kinship::{Portraits, without};
    use super::*;
    use crate::rng::generator;

    /// What the portraits of tasks hold: something of two directions, by an angle, in a noise that is larger; `None` for strangers.
    fn portraits(angles: &[Option<f64>], width: usize, seed: u64) -> Portraits {
        let mut rng = generator(seed, 7);
        let mut normal = || (0..4).map(|_| rng.random_range(-1.0..1.0)).sum::<f64>();
        let directions: [Vec<f64>; 2] = [(); 2].map(|()| (0..width).map(|_| normal()).collect());
        let mut portraits = Portraits::new(width);
        for (task, angle) in angles.iter().enumerate() {
            // From a tenth to three tenths of the portrait's square is no noise.
            let held = angle.map_or(0.0, |_| (0.1 + 0.2 * (task % 5) as f64 / 4.0_f64).sqrt());
            let (cos, sin) = angle.map_or((0.0, 0.0), |angle| (angle.cos(), angle.sin()));
            let noise = (1.0 - held * held).sqrt();
            let row: Vec<f64> = (0..width)
                .map(|at| held * (cos * directions[0][at] + sin * directions[1][at]) + noise * normal())
                .collect();
            portraits.add().copy_from_slice(&row);
        }
        portraits
    }

    /// How often strengths are supported, how far they are from the truth, and how often by more than twice their deviation.
    #[derive(Debug, Default)]
    struct Found {
        pairs: f64,
        supported: f64,
        error: f64,
        square: f64,
        beyond: f64,
    }

    fn measure(angles: &[Option<f64>], wanted: impl Fn(usize, usize, f64) -> bool) -> Found {
        let mut found = Found::default();
        for seed in 0..12 {
            let kinship = portraits(angles, 800, seed).kinship();
            let likeness = likeness(&kinship, &(0..angles.len()).collect::<Vec<_>>());
            for one in 0..angles.len() {
                for other in 0..one {
                    let truth = angles[one].zip(angles[other]).map_or(0.0, |(a, b)| (a - b).cos());
                    if !wanted(one, other, truth) {
                        continue;
                    }
                    found.pairs += 1.0;
                    if let Some((strength, deviation)) = likeness.pair(one, other) {
                        found.supported += 1.0;
                        found.error += strength - truth;
                        found.square += (strength - truth).powi(2);
                        found.beyond += f64::from(u8::from((strength - truth).abs() > 2.0 * deviation));
                    }
                }
            }
        }
        found
    }

    /// Bias and calibration, where correlations are known: 24 tasks at three angles, half of them on the other side, and 6 strangers.
    #[test]
    #[expect(clippy::print_stdout, reason = "how far it is off is worth reading, too")]
    fn strengths_are_those_that_are_known_and_strangers_are_unknown() {
        let angle = |task: usize| {
            let side = if task.is_multiple_of(2) { 0.0 } else { std::f64::consts::PI };
            (task < 24).then(|| side + [0.0, 0.5, 1.5][task % 3])
        };
        let angles: Vec<Option<f64>> = (0..30).map(angle).collect();
        let strong = measure(&angles, |_, _, truth| truth.abs() > 0.85);
        let half = measure(&angles, |_, _, truth| truth.abs() > 0.5 && truth.abs() < 0.85);
        let weak = measure(&angles, |one, other, truth| one.max(other) < 24 && truth.abs() < 0.1);
        let strange = measure(&angles, |one, other, _| one.max(other) >= 24);
        for (name, found) in
            [("alike", &strong), ("half alike", &half), ("hardly alike", &weak), ("with strangers", &strange)]
        {
            let Found { pairs, supported, error, square, beyond } = found;
            println!(
                "{name}: {pairs} pairs, supported {:.3}, mean error {:.3}, rms {:.3}, beyond two deviations {:.3}",
                supported / pairs,
                error / supported,
                (square / supported).sqrt(),
                beyond / supported
            );
        }
        assert!(
            strong.supported > 0.9 * strong.pairs && strong.beyond < 0.05 * strong.supported,
            "{strong:?}"
        );
        assert!((strong.error / strong.supported).abs() < 0.03, "{strong:?}");
        assert!((strong.square / strong.supported).sqrt() < 0.15, "{strong:?}");
        assert!((half.error / half.supported).abs() < 0.1 && half.beyond < 0.05 * half.supported, "{half:?}");
        assert!(weak.supported < 0.05 * weak.pairs, "{weak:?}");
        assert!(strange.supported < 0.05 * strange.pairs, "{strange:?}");
    }

    /// Against a plain script, `tests/vectors/likeness/likeness.py`.
    #[test]
    fn strengths_are_those_of_the_script() {
        #[derive(serde::Deserialize)]
        struct Vector {
            rows: Vec<Vec<f64>>,
            rates: Vec<Vec<f64>>,
            reference: Vec<usize>,
            pairs: Vec<Option<[f64; 2]>>,
        }
        let text = include_str!("../../../tests/vectors/likeness/likeness.json");
        let Vector { rows, rates, reference, pairs } = serde_json::from_str(text).unwrap();
        let mut portraits = Portraits::new(rows[0].len());
        for (row, rates) in rows.iter().zip(&rates) {
            let portrait = portraits.add();
            portrait.copy_from_slice(row);
            without(portrait, rates);
        }
        let found = likeness(&portraits.kinship(), &reference);
        let mut expected = pairs.into_iter();
        for one in 0..rows.len() {
            for other in 0..one {
                match (found.pair(one, other), expected.next().unwrap()) {
                    (Some((strength, deviation)), Some([true_strength, true_deviation])) => assert!(
                        (strength - true_strength).abs() < 1e-9 && (deviation - true_deviation).abs() < 1e-9,
                        "{one} and {other}: {strength} ± {deviation}, not {true_strength} ± {true_deviation}"
                    ),
                    (found, expected) => assert!(found.is_none() && expected.is_none(), "{one} and {other}"),
                }
            }
        }
    }

    #[test]
    fn chance_is_unknown_and_so_is_what_is_no_number() {
        let found = measure(&[None; 30], |_, _, _| true);
        assert!(found.supported < 0.001 * found.pairs, "{found:?}");
        let mut rows = portraits(&[Some(0.0); 8], 400, 1);
        rows.add().fill(f64::NAN);
        rows.add().fill(0.0);
        let likeness = likeness(&rows.kinship(), &(0..10).collect::<Vec<_>>());
        for task in 0..8 {
            assert_eq!((likeness.pair(8, task), likeness.pair(9, task)), (None, None));
            assert!(likeness.pair(task, (task + 1) % 8).unwrap().0 > 0.9);
        }
        assert_eq!(super::likeness(&Portraits::new(4).kinship(), &[]).size(), 0);
    }

    /// Directions come of some tasks, the others are compared by them.
    #[test]
    fn tasks_that_directions_do_not_come_of_are_compared_too() {
        let angles: Vec<Option<f64>> =
            (0..40).map(|task| Some(if task % 4 == 0 { 3.0 } else { 0.0 })).collect();
        let kinship = portraits(&angles, 800, 3).kinship();
        let likeness = likeness(&kinship, &(0..20).collect::<Vec<_>>());
        let (same, other) = (likeness.pair(38, 39).unwrap().0, likeness.pair(36, 37).unwrap().0);
        assert!(same > 0.9 && other < -0.9, "{same} {other}");
    }
}
