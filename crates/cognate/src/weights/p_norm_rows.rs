//! A compound vector v of K tasks by d features, and the gradient of (1/2) |v|_p^2, touched weights only.
//!
//! There is a row per feature. It holds u, the own part of every group of tasks that has touched it, and s, the part shared by
//! all tasks: v_j = own u_j + shared s. Tasks that never touched the feature need no cell, since their v is
//! shared s. The gradient is elementwise but for one factor,
//!
//! ```text
//! unit h(v_j) / (sum over all cells of |v / unit|^p)^((p-2)/p),   h(v) = sign(v) |v / unit|^(p-1)
//! ```
//!
//! so a row keeps the sum of its h, and a tree keeps the sum over rows of |v / unit|^p. Nobody walks all of v to
//! predict. The unit is a power of two near the largest |v|: powers neither overflow nor vanish, whatever p is.

use serde::{Deserialize, Serialize};

use super::total_tree::{Total, TotalTree};
use crate::block::Block;
use crate::error::StateError;
use crate::example::SparseView;
use crate::linalg::check_finite;
use crate::table::IndexMap;

/// The norm, and how the two parts make v.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    pub(crate) p: f64,
    pub(crate) own: f64,
    pub(crate) shared: f64,
}

/// Powers |v / unit|^p of the largest |v| stay within 2^-600 and 2^600: sums of them have room above, small
/// weights below.
const ROOM: f64 = 600.0;

impl Shape {
    /// How far the largest |v| may be from the unit, in powers of two; the nearest unit is always near enough.
    fn reach(self) -> f64 {
        (ROOM / self.p).clamp(0.5, 64.0)
    }

    /// h(v).
    fn link(self, v: f64, unit: f64) -> f64 {
        (v.abs() / unit).powf(self.p - 1.0).copysign(v)
    }
}

/// A group of tasks as an example's task sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupView<'a> {
    /// Its number.
    pub(crate) at: usize,
    /// How much each of its tasks counts for the task asked about: a column of R.
    pub(crate) rates: &'a [f64],
}

#[derive(Debug, Clone)]
pub(crate) struct PNormRows {
    shape: Shape,
    unit: f64,
    /// Feature to row, from 1; 0 is a feature never touched.
    rows_of: IndexMap<u32>,
    /// Row to feature, from 0.
    features: Vec<u32>,
    rows: Vec<Row>,
    /// Group, then row, to the place of the group's first cell, from 1.
    starts: Vec<IndexMap<u32>>,
    /// `first` is the sum of powers beyond what the row's groups would have without own parts, `second` the power
    /// of shared s: with K tasks, the sum is first + K second.
    totals: TotalTree,
}

#[derive(Debug, Clone, Default)]
struct Row {
    /// In the order in which they touched the feature.
    groups: Vec<u32>,
    /// u, the cells of a group side by side.
    cells: Vec<f64>,
    /// s.
    shared: f64,
    /// Sum of h over the cells.
    links: f64,
}

impl Row {
    fn largest(&self, shape: Shape) -> f64 {
        let shared = shape.shared * self.shared;
        self.cells.iter().fold(shared.abs(), |most, u| most.max((shape.own * u + shared).abs()))
    }

    /// Sums h anew; gives what the tree wants to know.
    fn refresh(&mut self, shape: Shape, unit: f64) -> Total {
        let shared = shape.shared * self.shared;
        let (mut links, mut powers) = (0.0, 0.0);
        for u in &self.cells {
            let v = shape.own * u + shared;
            let link = shape.link(v, unit);
            links += link;
            powers += link * (v / unit);
        }
        self.links = links;
        let second = shape.link(shared, unit) * (shared / unit);
        Total { largest: self.largest(shape), first: powers - self.groups.len() as f64 * second, second }
    }
}

impl PNormRows {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            shape,
            unit: 1.0,
            rows_of: IndexMap::default(),
            features: Vec::new(),
            rows: Vec::new(),
            starts: Vec::new(),
            totals: TotalTree::default(),
        }
    }

    /// Number of different features touched.
    pub(crate) fn touched(&self) -> usize {
        self.features.len()
    }

    /// (own R_i'grad + shared 1'grad)'x among so many tasks, R_i the rates of the group.
    pub(crate) fn dot(&self, group: GroupView<'_>, tasks: usize, x: SparseView<'_>) -> f64 {
        let norm = self.norm_factor(tasks);
        let starts = self.starts.get(group.at);
        let mut sum = 0.0;
        for (feature, value) in x.iter() {
            let row = self.rows_of.get(feature);
            if row != 0 {
                let start = starts.map_or(0, |starts| starts.get(row - 1));
                // The norm before the value: their product with h alone may be too large for a number.
                sum += self.combined_link(row, start, group.rates, tasks) * norm * value;
            }
        }
        sum * self.unit
    }

    /// The vector whose inner product with x is [`Self::dot`], by feature, zeros left out.
    pub(crate) fn gradient(&self, group: GroupView<'_>, tasks: usize) -> Vec<(u32, f64)> {
        let norm = self.norm_factor(tasks);
        let starts = self.starts.get(group.at);
        let weight = |row: u32| {
            let start = starts.map_or(0, |starts| starts.get(row - 1));
            self.combined_link(row, start, group.rates, tasks) * norm * self.unit
        };
        let of_row = |(row, feature): (usize, &u32)| (*feature, weight(row as u32 + 1));
        let mut weights: Vec<_> =
            self.features.iter().enumerate().map(of_row).filter(|pair| pair.1 != 0.0).collect();
        weights.sort_unstable_by_key(|pair| pair.0);
        weights
    }

    /// Own part of R_i'h and shared part of 1'h of a feature; row and start from 1.
    fn combined_link(&self, row: u32, start: u32, rates: &[f64], tasks: usize) -> f64 {
        let (shape, row) = (self.shape, &self.rows[row as usize - 1]);
        let shared = shape.shared * row.shared;
        let elsewhere = if shared == 0.0 { 0.0 } else { shape.link(shared, self.unit) };
        let mut near = 0.0;
        if start == 0 {
            rates.iter().for_each(|rate| near += rate * elsewhere);
        } else {
            for (rate, u) in rates.iter().zip(&row.cells[start as usize - 1..]) {
                near += rate * shape.link(shape.own * u + shared, self.unit);
            }
        }
        let all = row.links + (tasks as f64 - row.groups.len() as f64) * elsewhere;
        shape.own * near + shape.shared * all
    }

    /// 1 / (sum of |v / unit|^p)^((p-2)/p), or 0 at v = 0.
    fn norm_factor(&self, tasks: usize) -> f64 {
        let root = self.totals.root();
        let sum = root.first + tasks as f64 * root.second;
        if sum > 0.0 { sum.powf((2.0 - self.shape.p) / self.shape.p) } else { 0.0 }
    }

    /// `u_j += step * rates[j] * x` for the tasks of a group; [`Self::refresh`] must follow.
    pub(crate) fn add_own(&mut self, group: GroupView<'_>, x: SparseView<'_>, step: f64) {
        if self.starts.len() <= group.at {
            self.starts.resize_with(group.at + 1, IndexMap::default);
        }
        for (feature, value) in x.iter() {
            let at = self.row_of(feature);
            let row = &mut self.rows[at];
            let start = self.starts[group.at].entry(at as u32);
            if *start == 0 {
                *start = row.cells.len() as u32 + 1;
                row.groups.push(group.at as u32);
                row.cells.resize(row.cells.len() + group.rates.len(), 0.0);
            }
            let amount = step * value;
            for (u, rate) in row.cells[*start as usize - 1..].iter_mut().zip(group.rates) {
                *u += amount * rate;
            }
        }
    }

    /// `s += step * x`; [`Self::refresh`] must follow.
    pub(crate) fn add_shared(&mut self, x: SparseView<'_>, step: f64) {
        for (feature, value) in x.iter() {
            let at = self.row_of(feature);
            self.rows[at].shared += step * value;
        }
    }

    /// The row of a feature, a new one where it has none.
    fn row_of(&mut self, feature: u32) -> usize {
        let row = self.rows_of.entry(feature);
        if *row == 0 {
            self.features.push(feature);
            *row = self.features.len() as u32;
            self.rows.push(Row::default());
        }
        *row as usize - 1
    }

    /// Brings what is derived from the cells up to date after the features of `x` have changed.
    pub(crate) fn refresh(&mut self, x: SparseView<'_>) {
        self.totals.reserve(self.rows.len());
        for feature in x.indices() {
            let row = self.rows_of.get(*feature);
            if row != 0 {
                let at = row as usize - 1;
                self.totals.set(at, self.rows[at].refresh(self.shape, self.unit));
            }
        }
        if !self.unit_fits() {
            self.derive_all();
        }
    }

    /// Takes another norm or other parts; if they differ, all is computed anew, and nothing is left to refresh.
    pub(crate) fn reshape(&mut self, shape: Shape) -> bool {
        let differs = self.shape != shape;
        if differs {
            self.shape = shape;
            self.derive_all();
        }
        differs
    }

    fn unit_fits(&self) -> bool {
        let largest = self.totals.root().largest;
        largest == 0.0 || (largest.log2() - self.unit.log2()).abs() <= self.shape.reach()
    }

    /// Chooses the unit, then computes every row.
    fn derive_all(&mut self) {
        let largest = self.rows.iter().fold(0.0_f64, |most, row| most.max(row.largest(self.shape)));
        if largest > 0.0 {
            self.unit = largest.log2().round().min(1023.0).exp2();
        }
        self.derive_rows();
    }

    fn derive_rows(&mut self) {
        let (shape, unit) = (self.shape, self.unit);
        self.totals.set_all(self.rows.iter_mut().map(|row| row.refresh(shape, unit)));
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        let of_row =
            |row: &Row| row.groups.capacity() * size_of::<u32>() + row.cells.capacity() * size_of::<f64>();
        self.rows_of.heap_bytes()
            + self.features.capacity() * size_of::<u32>()
            + self.rows.capacity() * size_of::<Row>()
            + self.rows.iter().map(of_row).sum::<usize>()
            + self.starts.capacity() * size_of::<IndexMap<u32>>()
            + self.starts.iter().map(IndexMap::heap_bytes).sum::<usize>()
            + self.totals.heap_bytes()
    }

    pub(crate) fn state(&self) -> PNormRowsState {
        let (mut ends, mut groups, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for row in &self.rows {
            groups.extend(&row.groups);
            cells.extend(&row.cells);
            ends.push(groups.len() as u64);
        }
        PNormRowsState {
            unit: self.unit,
            features: Block(self.features.clone()),
            shared: Block(self.rows.iter().map(|row| row.shared).collect()),
            group_ends: Block(ends),
            groups: Block(groups),
            cells: Block(cells),
        }
    }

    /// Takes a saved form, checking everything that later code trusts: `size_of` a group, where there is such a
    /// group, and the shape that goes with so many touched features.
    pub(crate) fn restore(
        state: &PNormRowsState,
        size_of: impl Fn(u32) -> Option<usize>,
        shape: impl FnOnce(usize) -> Shape,
    ) -> Result<Self, StateError> {
        let count = state.features.0.len();
        if state.shared.0.len() != count || state.group_ends.0.len() != count {
            return Err(StateError::new("the features and their rows disagree"));
        }
        check_finite(&state.shared.0)?;
        check_finite(&state.cells.0)?;
        if !state.unit.is_finite() || state.unit <= 0.0 {
            return Err(StateError::new("the unit is not a positive number"));
        }
        let mut rows = Self { unit: state.unit, ..Self::new(shape(count)) };
        let (mut groups, mut cells) = (&state.groups.0[..], &state.cells.0[..]);
        let mut done = 0;
        for ((feature, shared), end) in state.features.0.iter().zip(&state.shared.0).zip(&state.group_ends.0)
        {
            if *feature == u32::MAX || rows.rows_of.get(*feature) != 0 {
                return Err(StateError::new("a feature is listed twice or out of range"));
            }
            let at = rows.row_of(*feature);
            rows.rows[at].shared = *shared;
            let split =
                end.checked_sub(done).and_then(|more| groups.split_at_checked(usize::try_from(more).ok()?));
            let (here, rest) = split.ok_or_else(|| StateError::new("rows and their ends disagree"))?;
            (groups, done) = (rest, *end);
            for group in here {
                let part = size_of(*group).and_then(|size| cells.split_at_checked(size));
                let (part, rest) = part.ok_or_else(|| StateError::new("a group of tasks is out of range"))?;
                cells = rest;
                rows.restore_group(at, *group, part)?;
            }
        }
        if !groups.is_empty() || !cells.is_empty() {
            return Err(StateError::new("rows and their ends disagree"));
        }
        rows.derive_rows();
        if !rows.unit_fits() {
            return Err(StateError::new("the unit is far from the weights"));
        }
        Ok(rows)
    }

    fn restore_group(&mut self, at: usize, group: u32, part: &[f64]) -> Result<(), StateError> {
        let (row, group_at) = (&mut self.rows[at], group as usize);
        if self.starts.len() <= group_at {
            self.starts.resize_with(group_at + 1, IndexMap::default);
        }
        let start = self.starts[group_at].entry(at as u32);
        if *start != 0 {
            return Err(StateError::new("a group of tasks is listed twice"));
        }
        *start = row.cells.len() as u32 + 1;
        row.groups.push(group);
        row.cells.extend(part);
        Ok(())
    }
}

/// Saved form of [`PNormRows`]; the shape follows from the config, the sums from the cells.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PNormRowsState {
    unit: f64,
    features: Block<u32>,
    shared: Block<f64>,
    /// Where each row's groups end in `groups`.
    group_ends: Block<u64>,
    groups: Block<u32>,
    /// The cells of the groups, one after the other.
    cells: Block<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { p: 6.0, own: 0.5, shared: 0.5 };

    fn learnt() -> PNormRows {
        let mut rows = PNormRows::new(SHAPE);
        for (task, features, values) in
            [(0, &[3, 7][..], &[1.0, -2.0][..]), (2, &[7, 20], &[0.5, 1e-30]), (0, &[20], &[4.0])]
        {
            let x = SparseView::try_new(features, values).unwrap();
            rows.add_own(GroupView { at: task, rates: &[1.0] }, x, 1.0);
            rows.add_shared(x, 1.0);
            rows.refresh(x);
        }
        rows
    }

    fn restore(state: &PNormRowsState) -> Result<PNormRows, StateError> {
        PNormRows::restore(state, |group| (group < 3).then_some(1), |_| SHAPE)
    }

    #[test]
    fn a_huge_weight_and_its_end_take_the_unit_along() {
        let mut rows = learnt();
        let before = rows.gradient(GroupView { at: 1, rates: &[1.0] }, 3);
        let x = SparseView::try_new(&[7], &[1e140]).unwrap();
        for (step, expected) in [(1.0, 1e140_f64), (-1.0, 1.0)] {
            rows.add_own(GroupView { at: 1, rates: &[1.0] }, x, step);
            rows.refresh(x);
            assert!((rows.unit.log2() - expected.log2()).abs() < 3.0, "unit {}", rows.unit);
            assert!(rows.norm_factor(3).is_finite() && rows.norm_factor(3) > 0.0);
        }
        // Only the third own part of feature 7 is left of it, and that is 0: v is what it was.
        for (found, expected) in rows.gradient(GroupView { at: 1, rates: &[1.0] }, 3).iter().zip(&before) {
            assert_eq!(found.0, expected.0);
            assert!(
                (found.1 - expected.1).abs() <= 1e-12 * expected.1.abs(),
                "{found:?} is not {expected:?}"
            );
        }
    }

    #[test]
    fn what_is_saved_comes_back_and_what_is_wrong_is_refused() {
        let (original, restored) = (learnt(), restore(&learnt().state()).unwrap());
        assert_eq!(original.totals.root(), restored.totals.root());
        assert_eq!(original.rows.len(), restored.rows.len());
        type Spoil = fn(&mut PNormRowsState);
        let spoil: [(&str, Spoil); 12] = [
            ("disagree", |state| state.shared.0.truncate(2)),
            ("disagree", |state| state.group_ends.0.push(4)),
            ("disagree", |state| state.group_ends.0[0] = 9),
            ("disagree", |state| state.group_ends.0[2] = 0),
            ("disagree", |state| state.cells.0.push(1.0)),
            ("out of range", |state| state.cells.0.truncate(2)),
            ("out of range", |state| state.groups.0[1] = 3),
            ("listed twice", |state| state.groups.0[2] = state.groups.0[1]),
            ("listed twice", |state| state.features.0[1] = state.features.0[0]),
            ("not finite", |state| state.cells.0[0] = f64::NAN),
            ("not a positive", |state| state.unit = 0.0),
            ("far from", |state| state.unit = 1e-200),
        ];
        for (message, spoil) in spoil {
            let mut state = learnt().state();
            spoil(&mut state);
            let error = restore(&state).unwrap_err().to_string();
            assert!(error.contains(message), "{error:?} does not say {message:?}");
        }
    }
}
