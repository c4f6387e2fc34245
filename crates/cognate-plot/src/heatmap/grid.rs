//! What is actually drawn of a matrix: ordered, and averaged by blocks where it is too large.

use super::{COMPACT, DAGGER, Heatmap, NAMES, SHADES, TOOLTIPS_UP_TO};
use crate::scale::drawable;
use crate::svg::shorten;

/// Most characters of a name in a tooltip.
const LONG_NAME: usize = 80;
/// Room beside the matrix that cells cannot take, wide and narrow.
const MARGIN: (f64, f64) = (240.0, 200.0);
/// Most runs of one shade, wide and narrow: about 7 bytes each.
const RUNS: (usize, usize) = (45_000, 12_000);
/// The same in a file of its own.
const RUNS_ALONE: usize = 180_000;

pub(super) struct Grid {
    pub(super) names: Vec<String>,
    /// The full names where those above are shortened, else empty.
    pub(super) tips: Vec<String>,
    pub(super) values: Vec<f64>,
    /// Tasks in a row.
    pub(super) block: usize,
    /// The size with full colour; more than 0. That of the whole matrix, whatever is averaged.
    pub(super) limit: f64,
    /// The smallest and the largest value of the whole matrix, at most and at least 0.
    pub(super) reach: (f64, f64),
}

impl Grid {
    /// The shade of a value, signed; none without a value.
    pub(super) fn shade(&self, value: f64) -> Option<i32> {
        let strength = (value.abs() / self.limit).min(1.0);
        value.is_finite().then(|| (strength * SHADES).round().copysign(value) as i32)
    }

    /// The runs of one shade in each row; none where there is no colour, two per cell that is crossed out.
    fn runs(&self) -> usize {
        let cost = |run: &[f64]| match self.shade(run[0]) {
            Some(0) => 0,
            Some(_) => 1,
            None => 2 * run.len(),
        };
        let runs =
            |row: &[f64]| row.chunk_by(|a, b| self.shade(*a) == self.shade(*b)).map(cost).sum::<usize>();
        self.values.chunks(self.names.len().max(1)).map(runs).sum()
    }
}

impl Heatmap {
    /// The rows shown, in their order.
    pub(super) fn shown(&self) -> Vec<usize> {
        self.order.clone().unwrap_or_else(|| (0..self.names.len()).collect())
    }

    /// The finest grid whose cells are a pixel or more, and few enough to keep the picture small.
    pub(super) fn grid(&self, width: f64) -> Grid {
        self.grid_of(width, if width < COMPACT { RUNS.1 } else { RUNS.0 })
    }

    /// The same for a file of its own.
    pub(super) fn fine_grid(&self, width: f64) -> Grid {
        self.grid_of(width, RUNS_ALONE)
    }

    fn grid_of(&self, width: f64, most: usize) -> Grid {
        let order = self.shown();
        let room = width - if width < COMPACT { MARGIN.1 } else { MARGIN.0 };
        let mut block = order.len().div_ceil(room as usize).max(1);
        loop {
            let grid = self.blocks(&order, block, width);
            if grid.names.len() <= TOOLTIPS_UP_TO || grid.runs() <= most {
                return grid;
            }
            block += 1;
        }
    }

    fn blocks(&self, order: &[usize], block: usize, width: f64) -> Grid {
        let k = self.names.len();
        let blocks: Vec<&[usize]> = order.chunks(block).collect();
        let mean = |rows: &[usize], columns: &[usize]| {
            let all = rows.iter().flat_map(|r| columns.iter().map(move |c| self.values[r * k + c]));
            let (sum, n) = all.filter(|v| drawable(*v)).fold((0.0, 0), |(s, n), v| (s + v, n + 1));
            if n > 0 { sum / n as f64 } else { f64::NAN }
        };
        let values: Vec<f64> =
            blocks.iter().flat_map(|rows| blocks.iter().map(|columns| mean(rows, columns))).collect();
        let limit = self.full_colour();
        let present = self.values.iter().filter(|v| drawable(**v));
        let most = if width < COMPACT { NAMES.1 } else { NAMES.0 };
        Grid {
            names: blocks.iter().map(|block| self.block_name(block, most)).collect(),
            tips: blocks.iter().map(|block| self.block_tip(block, most)).collect(),
            values,
            block,
            limit: if limit > 0.0 { limit } else { 1.0 },
            reach: present.fold((0.0, 0.0), |(lo, hi), v| (lo.min(*v), hi.max(*v))),
        }
    }

    fn block_tip(&self, block: &[usize], most: usize) -> String {
        let is_short = |i: &usize| self.names[*i].chars().nth(most).is_none();
        if matches!(block, [one] if is_short(one)) {
            return String::new();
        }
        let names = block.iter().map(|i| shorten(&self.names[*i], LONG_NAME));
        names.collect::<Vec<_>>().join(", ")
    }

    fn block_name(&self, block: &[usize], most: usize) -> String {
        let dagger = if block.iter().any(|i| self.marked.contains(i)) { DAGGER } else { "" };
        let short = |i: &usize, most: usize| shorten(&self.names[*i], most);
        let name = match block {
            [one] => short(one, most),
            [first, .., last] => format!("{} – {}", short(first, most / 2), short(last, most / 2)),
            [] => String::new(),
        };
        format!("{name}{dagger}")
    }
}
