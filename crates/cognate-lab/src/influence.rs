//! What each example contributes to a metric: numbers whose mean is the metric.
//!
//! A metric that is no mean over examples, such as AUC, is written as one to first order (its influence function), so that
//! the same paired test tells for every metric whether a difference between two learners is more than chance. For AUC this
//! is the test of DeLong, DeLong and Clarke-Pearson 1988.

/// What each example contributes to the mean of these values, by weight.
pub fn mean(weights: &[f64], values: &[f64]) -> Vec<f64> {
    let all: f64 = weights.iter().sum();
    let mean = weights.iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>() / all;
    let usual = all / values.len() as f64;
    weights.iter().zip(values).map(|(weight, value)| mean + weight / usual * (value - mean)).collect()
}

/// What each example contributes to the area under the ROC curve; none where one of the two labels does not occur.
///
/// AUC is the share of pairs of a positive and a negative example of which the positive one has the larger margin, equal
/// margins counted half.
pub fn auc(labels: &[f64], weights: &[f64], margins: &[f64]) -> Option<Vec<f64>> {
    let of = |positive: bool| {
        let weights = weights.iter().zip(labels).filter(|(_, label)| (**label > 0.0) == positive);
        weights.map(|(weight, _)| weight).sum::<f64>()
    };
    let (negatives, positives) = (of(false), of(true));
    if !(positives > 0.0 && negatives > 0.0) {
        return None;
    }
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_unstable_by(|a, b| margins[*a].total_cmp(&margins[*b]));
    // The share of examples of the other label on the right side of each.
    let mut shares = vec![0.0; labels.len()];
    let (mut positives_below, mut negatives_below) = (0.0, 0.0);
    // Both zeros are one margin.
    for equals in order.chunk_by(|a, b| margins[*a] == margins[*b]) {
        let here: f64 = equals.iter().map(|at| weights[*at]).sum();
        let positives_here: f64 = equals.iter().filter(|at| labels[**at] > 0.0).map(|at| weights[*at]).sum();
        let negatives_here = here - positives_here;
        for at in equals {
            shares[*at] = if labels[*at] > 0.0 {
                (negatives_below + 0.5 * negatives_here) / negatives
            } else {
                (positives - positives_below - 0.5 * positives_here) / positives
            };
        }
        positives_below += positives_here;
        negatives_below += negatives_here;
    }
    let examples = || shares.iter().zip(weights).zip(labels);
    let right = examples().filter(|(_, label)| **label > 0.0).map(|((share, weight), _)| share * weight);
    let auc = right.sum::<f64>() / positives;
    let contribution = |((share, weight), label): ((&f64, &f64), &f64)| {
        let alike = if *label > 0.0 { positives } else { negatives };
        auc + (share - auc) * weight * labels.len() as f64 / alike
    };
    Some(examples().map(contribution).collect())
}

/// What each example contributes to the area under the ROC curve within tasks: the share of the pairs of one task that are
/// right. None where no task has both labels.
pub fn auc_within(tasks: &[u32], labels: &[f64], weights: &[f64], margins: &[f64]) -> Option<Vec<f64>> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|at| tasks[*at]);
    let of = |values: &[f64], members: &[usize]| members.iter().map(|at| values[*at]).collect::<Vec<f64>>();
    let (mut parts, mut all, mut right) = (Vec::new(), 0.0, 0.0);
    for members in order.chunk_by(|one, other| tasks[*one] == tasks[*other]) {
        let (labels, weights) = (of(labels, members), of(weights, members));
        let Some(own) = auc(&labels, &weights, &of(margins, members)) else { continue };
        let weight = |positive: bool| {
            let alike = labels.iter().zip(&weights).filter(|(label, _)| (**label > 0.0) == positive);
            alike.map(|(_, weight)| weight).sum::<f64>()
        };
        let (pairs, area) = (weight(true) * weight(false), crate::statistics::mean(&own));
        (all, right) = (all + pairs, right + pairs * area);
        parts.push((members, own, pairs, area));
    }
    let within = (all > 0.0).then(|| right / all)?;
    let mut contributions = vec![within; tasks.len()];
    for (members, own, pairs, area) in parts {
        let factor = pairs / all * tasks.len() as f64 / members.len() as f64;
        members.iter().zip(own).for_each(|(at, one)| contributions[*at] += (one - area) * factor);
    }
    Some(contributions)
}

/// What each example contributes to the F-measure of the positive label; none where it is 0 / 0.
pub fn f1(labels: &[f64], weights: &[f64], mistakes: &[bool]) -> Option<Vec<f64>> {
    // 2 TP, and 2 TP + FP + FN.
    let cells = |label: f64, mistake: bool| match (label > 0.0, mistake) {
        (true, false) => (2.0, 2.0),
        (false, false) => (0.0, 0.0),
        _ => (0.0, 1.0),
    };
    let examples = labels.iter().zip(mistakes).zip(weights);
    let cells: Vec<(f64, f64)> = examples
        .map(|((label, mistake), weight)| {
            let (above, below) = cells(*label, *mistake);
            (weight * above, weight * below)
        })
        .collect();
    let (above, below) = cells.iter().fold((0.0, 0.0), |sums, cell| (sums.0 + cell.0, sums.1 + cell.1));
    if below == 0.0 {
        return None;
    }
    let (f1, mean_below) = (above / below, below / cells.len() as f64);
    Some(cells.into_iter().map(|(above, below)| f1 + (above - f1 * below) / mean_below).collect())
}

/// What each example contributes to the root of the mean square of these differences.
pub fn root_mean_square(weights: &[f64], differences: &[f64]) -> Vec<f64> {
    // Of squares that would overflow, the roots do not.
    let largest = differences.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return vec![0.0; differences.len()];
    }
    let squares: Vec<f64> = differences.iter().map(|value| (value / largest).powi(2)).collect();
    let of_square = mean(weights, &squares);
    let square = crate::statistics::mean(&of_square);
    let root = square.sqrt();
    of_square.into_iter().map(|one| largest * (root + (one - square) / (2.0 * root))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{deviation, mean};

    const ONES: [f64; 60] = [1.0; 60];

    /// The definition, pair by pair.
    fn auc_of_pairs(labels: &[f64], margins: &[f64]) -> f64 {
        let (mut right, mut pairs) = (0.0, 0.0);
        for (positive, over) in labels.iter().zip(margins).filter(|(label, _)| **label > 0.0) {
            for (_, under) in labels.iter().zip(margins).filter(|(label, _)| *label < positive) {
                pairs += 1.0;
                right += f64::from(u8::from(over > under)) + 0.5 * f64::from(u8::from(over == under));
            }
        }
        right / pairs
    }

    #[test]
    fn the_mean_of_the_contributions_is_the_metric() {
        let labels: Vec<f64> = (0..60).map(|at| if at % 7 < 2 { 1.0 } else { -1.0 }).collect();
        let margins: Vec<f64> = (0..60).map(|at| f64::from(at * 37 % 11) - 5.0).collect();
        let contributions = auc(&labels, &ONES[..labels.len()], &margins).expect("both labels occur");
        assert!((mean(&contributions) - auc_of_pairs(&labels, &margins)).abs() < 1e-12);
        let mistakes: Vec<bool> = labels.iter().zip(&margins).map(|(y, m)| y * m <= 0.0).collect();
        let count = |label: f64, mistake: bool| {
            labels.iter().zip(&mistakes).filter(|(y, wrong)| **y == label && **wrong == mistake).count()
                as f64
        };
        let wanted =
            2.0 * count(1.0, false) / (2.0 * count(1.0, false) + count(1.0, true) + count(-1.0, true));
        assert!((mean(&f1(&labels, &ONES, &mistakes).expect("positives occur")) - wanted).abs() < 1e-12);
        let squares = mean(&margins.iter().map(|value| value * value).collect::<Vec<_>>());
        assert!((mean(&root_mean_square(&ONES, &margins)) - squares.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_spread_of_contributions_to_auc_is_delongs() {
        let labels = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
        let margins = [3.0, 0.5, 2.0, 1.0, 0.0, -1.0, 2.0];
        // By hand: the shares of negatives below each positive, and of positives above each negative.
        let (positives, negatives) = ([1.0, 0.5, 0.875], [2.0 / 3.0, 1.0, 1.0, 0.5]);
        let contributions = auc(&labels, &ONES[..labels.len()], &margins).expect("both labels occur");
        let auc = mean(&positives);
        assert!((mean(&contributions) - auc).abs() < 1e-12);
        for (at, share) in positives.iter().chain(&negatives).enumerate() {
            let alike = if labels[at] > 0.0 { 3.0 } else { 4.0 };
            assert!((contributions[at] - auc - (share - auc) * 7.0 / alike).abs() < 1e-12, "example {at}");
        }
        let variance = deviation(&positives).powi(2) / 3.0 + deviation(&negatives).powi(2) / 4.0;
        let ours = deviation(&contributions).powi(2) / 7.0;
        assert!((ours / variance - 1.0).abs() < 0.35, "{ours} beside {variance}, up to n - 1 for n");
    }

    #[test]
    fn pairs_within_tasks_are_those_of_each_task() {
        let labels: Vec<f64> = (0..60).map(|at| if at % 7 < 2 { 1.0 } else { -1.0 }).collect();
        let margins: Vec<f64> = (0..60).map(|at| f64::from(at * 37 % 11) - 5.0).collect();
        let tasks: Vec<u32> = (0..60).map(|at| [0, 2, 2][at % 3]).collect();
        let (mut right, mut all) = (0.0, 0.0);
        for task in [0, 2] {
            let own = |values: &[f64]| -> Vec<f64> {
                values.iter().zip(&tasks).filter(|(_, of)| **of == task).map(|(value, _)| *value).collect()
            };
            let own_labels = own(&labels);
            let positives = own_labels.iter().filter(|label| **label > 0.0).count();
            let pairs = (positives * (own_labels.len() - positives)) as f64;
            (right, all) = (right + pairs * auc_of_pairs(&own_labels, &own(&margins)), all + pairs);
        }
        let within = auc_within(&tasks, &labels, &ONES, &margins).expect("both labels occur");
        assert!((mean(&within) - right / all).abs() < 1e-12);
        let one_task = auc_within(&[3; 60], &labels, &ONES, &margins).expect("both labels occur");
        let all = auc(&labels, &ONES, &margins).expect("both labels occur");
        assert!(one_task.iter().zip(all).all(|(one, other)| (one - other).abs() < 1e-12));
        assert_eq!(auc_within(&[0, 1], &[1.0, -1.0], &ONES[..2], &[0.0, 1.0]), None);
    }

    #[test]
    fn a_weight_of_two_is_an_example_seen_twice() {
        let (labels, margins) = ([1.0, -1.0, 1.0, -1.0], [0.5, 0.4, -0.2, -0.3]);
        let (twice, both) = ([1.0, -1.0, -1.0, 1.0, -1.0], [0.5, 0.4, 0.4, -0.2, -0.3]);
        let weights = [1.0, 2.0, 1.0, 1.0];
        let wrong = |labels: &[f64], margins: &[f64]| -> Vec<bool> {
            labels.iter().zip(margins).map(|(y, m)| y * m <= 0.0).collect()
        };
        let equal = |one: &[f64], other: &[f64]| assert!((mean(one) - mean(other)).abs() < 1e-12, "{one:?}");
        equal(
            &auc(&labels, &weights, &margins).expect("both labels"),
            &auc(&twice, &ONES[..5], &both).expect("both labels"),
        );
        equal(
            &f1(&labels, &weights, &wrong(&labels, &margins)).expect("positives"),
            &f1(&twice, &ONES[..5], &wrong(&twice, &both)).expect("positives"),
        );
        equal(&root_mean_square(&weights, &margins), &root_mean_square(&ONES[..5], &both));
        equal(&super::mean(&weights, &margins), &both);
    }

    #[test]
    fn what_is_undefined_has_no_contributions() {
        assert_eq!(auc(&[1.0, 1.0], &[1.0, 1.0], &[0.0, 1.0]), None);
        assert_eq!(auc(&[], &[], &[]), None);
        assert_eq!(f1(&[-1.0, -1.0], &[1.0, 1.0], &[false, false]), None);
        assert_eq!(root_mean_square(&[1.0, 1.0], &[0.0, 0.0]), [0.0, 0.0]);
        assert!(
            root_mean_square(&[1.0, 1.0], &[1e200, -1e200])
                .iter()
                .all(|value| (value / 1e200 - 1.0).abs() < 1e-12)
        );
        assert_eq!(auc(&[1.0, -1.0], &[1.0, 1.0], &[0.0, -0.0]).map(|both| mean(&both)), Some(0.5));
    }
}
