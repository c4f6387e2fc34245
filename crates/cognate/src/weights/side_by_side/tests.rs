use super::*;
use crate::weights::short_rows::ShortRows;

type Rows = SideBySide<2, 3, ShortRows>;

fn agree(weights: &Rows, x: SparseView<'_>) {
    let mut found = Found::default();
    weights.find(TaskId(1), x, &mut found);
    let mut sums = vec![0.0; weights.groups()];
    weights.sum_of_groups(x, &found, &mut sums);
    for (group, sum) in sums.iter().enumerate() {
        let slots = found.located.slots.iter().zip(x.values());
        let first = |slot: u32| weights.shared_rows()[weights.at(slot, group)][0];
        let expected: f64 = slots.map(|(slot, value)| first(*slot) * value).sum();
        assert!((sum - expected).abs() < 1e-12, "{sum} for {expected} of group {group}");
    }
    assert!(sums.iter().any(|sum| *sum != 0.0));
}

#[test]
fn first_numbers_are_those_of_their_rows_whatever_changes_them() {
    let (mut weights, mut found) = (Rows::with_groups(3), Found::default());
    let x = SparseView::trusted(&[3, 5, 9], &[1.0, -2.0, 0.5]);
    for task in (0..7).map(TaskId) {
        weights.find(task, x, &mut found);
        weights.change(task, x, &mut found, |shared, _, value| shared[0] += value + f64::from(task.0));
        agree(&weights, x);
    }
    weights.change_all(|shared| shared[0] *= 0.5, |_| ());
    agree(&weights, x);
    weights.regroup(6, |rows| [rows[1][0] + 1.0, 0.0]);
    agree(&weights, x);
    let again = Rows::restore_groups(6, 7, weights.state(|_, own| *own), |own: [f64; 3]| own).unwrap();
    agree(&again, x);
}
