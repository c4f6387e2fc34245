//! Which margin to begin to answer +1 at, chosen for a metric on margins that were given before learning.
//!
//! Margins are kept sorted in cells with what was counted in them. Up to a million distinct margins the choice is exact; beyond,
//! neighbours share a cell, and only cuts between cells are tried.

use crate::error::ConfigProblem;

/// What a threshold is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThresholdMetric {
    /// The F-measure of the label +1, as large as can be.
    F1,
    /// The mean of the errors on both labels, as small as can be.
    BalancedError,
    /// The error, as small as can be.
    Error,
}

impl ThresholdMetric {
    /// All of them, by name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("f1", Self::F1), ("balanced-error", Self::BalancedError), ("error", Self::Error)];

    /// The metric of a name.
    ///
    /// # Errors
    /// When there is none.
    pub fn from_name(name: &str) -> Result<Self, ConfigProblem> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, metric)| *metric).ok_or_else(|| {
            let message = format!("unknown metric {name:?}; known: f1, balanced-error, error");
            ConfigProblem::new("threshold", message)
        })
    }

    /// How good so many right and wrong answers are; more is better. `all` are the examples of each label, `hits` those
    /// that are answered +1.
    fn value(self, all: Sides, hits: Sides) -> f64 {
        let missed = all.positive - hits.positive;
        match self {
            Self::F1 => 2.0 * hits.positive / (2.0 * hits.positive + hits.negative + missed),
            Self::BalancedError => -(missed / all.positive + hits.negative / all.negative),
            Self::Error => -(missed + hits.negative),
        }
    }
}

/// Weights of examples of either label.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sides {
    positive: f64,
    negative: f64,
}

/// Margins next to each other, the least and the largest of them, and what was counted.
#[derive(Debug, Clone, Copy)]
struct Cell {
    low: f64,
    high: f64,
    sides: Sides,
}

/// Cells beyond which neighbours are joined.
const MOST_CELLS: usize = 1 << 20;

/// Collects margins, and chooses the threshold that would have been best.
#[derive(Debug, Clone, Default)]
pub struct ThresholdChooser {
    cells: Vec<Cell>,
}

impl ThresholdChooser {
    /// Counts a margin that was given before its label was learnt.
    pub fn count(&mut self, label: f64, margin: f64, weight: f64) {
        let mut sides = Sides::default();
        *(if label > 0.0 { &mut sides.positive } else { &mut sides.negative }) = weight;
        self.cells.push(Cell { low: margin, high: margin, sides });
        if self.cells.len() >= MOST_CELLS {
            self.compact(MOST_CELLS / 2);
        }
    }

    /// Sorts, joins equal margins, and then neighbours until there are at most so many cells.
    fn compact(&mut self, most: usize) {
        self.cells.sort_by(|one, other| one.low.total_cmp(&other.low));
        self.cells.dedup_by(|cell, before| cell.low <= before.high && before.absorb(cell));
        while self.cells.len() > most {
            let pairs = self.cells.chunks(2).map(|pair| {
                let mut first = pair[0];
                pair[1..].iter().for_each(|second| {
                    first.absorb(second);
                });
                first
            });
            self.cells = pairs.collect();
        }
    }

    /// The threshold that is best for a metric: +1 is answered from it on. 0 where that is as good as any; none where there
    /// are not both labels.
    pub fn best(&mut self, metric: ThresholdMetric) -> Option<f64> {
        self.compact(MOST_CELLS);
        let mut all = Sides::default();
        for Cell { sides, .. } in &self.cells {
            all.positive += sides.positive;
            all.negative += sides.negative;
        }
        if !(all.positive > 0.0 && all.negative > 0.0) {
            return None;
        }
        let (mut hits, mut best) = (all, None::<(f64, f64)>);
        for cut in 0..=self.cells.len() {
            let (value, threshold) = (metric.value(all, hits), self.threshold(cut));
            let better =
                |(known, at): (f64, f64)| value > known || (value == known && threshold.abs() < at.abs());
            if best.is_none_or(better) {
                best = Some((value, threshold));
            }
            if let Some(Cell { sides, .. }) = self.cells.get(cut) {
                hits.positive -= sides.positive;
                hits.negative -= sides.negative;
            }
        }
        best.map(|(_, threshold)| threshold)
    }

    /// A threshold from which on the cells from the given one are: 0 if it is one, else half way.
    fn threshold(&self, cut: usize) -> f64 {
        let below = cut.checked_sub(1).map(|at| self.cells[at].high);
        let from = self.cells.get(cut).map(|cell| cell.low);
        match (below, from) {
            (below, from) if below.is_none_or(|below| below < 0.0) && from.is_none_or(|from| from >= 0.0) => {
                0.0
            }
            (Some(below), Some(from)) => {
                let middle = below + (from - below) / 2.0;
                if middle > below && middle.is_finite() { middle } else { from }
            }
            (None, Some(from)) => from,
            (Some(below), None) => below.next_up(),
            (None, None) => 0.0,
        }
    }
}

impl Cell {
    /// Takes in the cell that comes next; says so.
    fn absorb(&mut self, next: &Self) -> bool {
        self.high = self.high.max(next.high);
        self.sides.positive += next.sides.positive;
        self.sides.negative += next.sides.negative;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chooser(pairs: &[(f64, f64)]) -> ThresholdChooser {
        let mut chooser = ThresholdChooser::default();
        pairs.iter().for_each(|(label, margin)| chooser.count(*label, *margin, 1.0));
        chooser
    }

    /// The value of a metric at a threshold, the plain way.
    fn plain(metric: ThresholdMetric, pairs: &[(f64, f64)], threshold: f64) -> f64 {
        let (mut all, mut hits) = (Sides::default(), Sides::default());
        for (label, margin) in pairs {
            let count = |sides: &mut Sides| {
                *(if *label > 0.0 { &mut sides.positive } else { &mut sides.negative }) += 1.0;
            };
            count(&mut all);
            if *margin >= threshold {
                count(&mut hits);
            }
        }
        metric.value(all, hits)
    }

    #[test]
    fn no_other_threshold_is_better() {
        let mut pairs: Vec<(f64, f64)> = Vec::new();
        for at in 0..200_i32 {
            let margin = f64::from((at * 37) % 101) / 20.0 - 3.0;
            pairs.push((if (at * 13) % 17 < 4 { 1.0 } else { -1.0 }, margin));
        }
        for (name, metric) in ThresholdMetric::NAMES {
            let chosen = chooser(&pairs).best(metric).unwrap();
            let value = plain(metric, &pairs, chosen);
            for at in -400..400 {
                assert!(plain(metric, &pairs, f64::from(at) / 100.0) <= value + 1e-12, "{name} {at}");
            }
        }
    }

    #[test]
    fn zero_where_it_is_as_good() {
        let pairs = [(-1.0, -2.0), (-1.0, -0.5), (1.0, 0.25), (1.0, 3.0)];
        for (_, metric) in ThresholdMetric::NAMES {
            assert_eq!(chooser(&pairs).best(metric), Some(0.0));
        }
        let apart = [(-1.0, -2.0), (1.0, -1.0), (1.0, 0.25)];
        assert_eq!(chooser(&apart).best(ThresholdMetric::F1), Some(-1.5));
        assert_eq!(chooser(&[(1.0, 1.0)]).best(ThresholdMetric::Error), None);
        // Nobody is the best answer, or everybody.
        assert_eq!(
            chooser(&[(1.0, 1.0), (-1.0, 2.0), (-1.0, 3.0)]).best(ThresholdMetric::Error),
            Some(3.0_f64.next_up())
        );
        assert_eq!(chooser(&[(1.0, -3.0), (-1.0, -2.0)]).best(ThresholdMetric::F1), Some(-3.0));
    }

    #[test]
    fn neighbours_share_a_cell_when_there_are_many() {
        let mut chooser = ThresholdChooser::default();
        for at in 0..3000_i32 {
            chooser.count(if at < 1000 { -1.0 } else { 1.0 }, f64::from((at * 7) % 3000), 1.0);
        }
        let mut joined = chooser.clone();
        joined.compact(100);
        assert!(joined.cells.len() <= 100);
        let sum =
            |chooser: &ThresholdChooser| chooser.cells.iter().map(|cell| cell.sides.positive).sum::<f64>();
        assert_eq!(sum(&joined), sum(&chooser));
    }
}
