//! Pairs of tasks by how strongly they are related: what tables list and graphs draw.

use cognate::internal::Symmetric;

/// Two tasks and their correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pair {
    a: u32,
    b: u32,
    /// From -1 to 1; 0 if there is none.
    pub(crate) correlation: f64,
}

/// Weaker pairs are not drawn unless there are no others.
const STRONG: f64 = 0.3;
/// Weaker ones still not unless a threshold asks for them: a tenth is one part in a hundred of the variance.
const WEAK: f64 = 0.1;
/// A graph can be read up to this many edges per task, with these bounds over all.
const EDGES_A_TASK: usize = 3;
const EDGES: (usize, usize) = (100, 1000);

impl Pair {
    /// The two tasks, the earlier first.
    pub(crate) fn tasks(&self) -> (usize, usize) {
        (self.a as usize, self.b as usize)
    }

    /// Size of the correlation.
    pub(crate) fn strength(&self) -> f64 {
        self.correlation.abs()
    }
}

/// All pairs of the tasks of a correlation matrix, strongest first; of equal ones the earlier first.
pub(crate) fn by_strength(correlation: &Symmetric) -> Vec<Pair> {
    let k = correlation.size() as u32;
    let pair = |a: u32, b: u32| {
        let value = correlation.entry(a as usize, b as usize);
        Pair { a, b, correlation: if value.is_finite() { value } else { 0.0 } }
    };
    let mut pairs: Vec<Pair> = (0..k).flat_map(|a| (a + 1..k).map(move |b| pair(a, b))).collect();
    pairs.sort_by(|x, y| y.strength().total_cmp(&x.strength()));
    pairs
}

/// The least strength that a readable graph of these pairs (strongest first) draws, in hundredths.
///
/// It is above all pairs that would be too many. Where equal pairs are too many at once, no threshold helps, and the
/// strongest are kept.
pub(crate) fn readable_threshold(pairs: &[Pair], tasks: usize) -> f64 {
    let most = (EDGES_A_TASK * tasks).clamp(EDGES.0, EDGES.1);
    let strongest = pairs.first().map_or(0.0, Pair::strength);
    let least = if strongest >= STRONG { STRONG } else { WEAK };
    let Some(excess) = pairs.get(most).map(Pair::strength).filter(|excess| *excess >= least) else {
        return least;
    };
    let above = ((excess * 100.0).floor() + 1.0) / 100.0;
    if above <= strongest { above } else { (strongest * 100.0).floor() / 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(k: usize, correlation: f64) -> Vec<Pair> {
        by_strength(&Symmetric::from_fn(k, |i, j| if i == j { 1.0 } else { correlation }))
    }

    #[test]
    fn the_strongest_come_first_and_ties_in_order() {
        let rows = [[1.0, 0.2, -0.5], [0.2, 1.0, 0.2], [-0.5, 0.2, 1.0]];
        let pairs = by_strength(&Symmetric::from_fn(3, |i, j| rows[i][j]));
        assert_eq!(pairs.iter().map(Pair::tasks).collect::<Vec<_>>(), [(0, 2), (0, 1), (1, 2)]);
        assert_eq!(by_strength(&Symmetric::from_fn(1, |_, _| 1.0)), []);
        assert_eq!(equal(2, f64::NAN)[0].correlation, 0.0);
    }

    #[test]
    fn the_threshold_makes_a_readable_graph() {
        assert_eq!(readable_threshold(&[], 1), WEAK);
        assert_eq!(readable_threshold(&equal(3, 0.05), 3), WEAK);
        assert_eq!(readable_threshold(&equal(3, 0.2), 3), WEAK);
        assert_eq!(readable_threshold(&equal(10, 0.9), 10), STRONG, "45 pairs are few");
        assert_eq!(readable_threshold(&equal(100, 0.456), 100), 0.45, "equal pairs are kept");
        assert_eq!(readable_threshold(&equal(100, 1.0), 100), 1.0);
        let falling = Symmetric::from_fn(100, |i, j| (i * 100 + j) as f64 / 10_000.0);
        let pairs = by_strength(&falling);
        let threshold = readable_threshold(&pairs, 100);
        let drawn = pairs.iter().filter(|pair| pair.strength() >= threshold).count();
        assert!((250..=300).contains(&drawn), "{drawn} above {threshold}");
    }
}
