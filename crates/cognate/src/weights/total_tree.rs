//! Totals over many rows, any of which may change: a binary tree of partial totals.
//!
//! A changed row costs a walk to the root. Nothing is ever subtracted, so nothing drifts and nothing cancels, and
//! the root depends on the rows alone, not on how they came to be.

/// What is totalled, a row or many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Total {
    /// The largest size among the numbers.
    pub(crate) largest: f64,
    /// Two sums that mean what the owner says.
    pub(crate) first: f64,
    pub(crate) second: f64,
}

impl Total {
    fn join(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            first: self.first + other.first,
            second: self.second + other.second,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TotalTree {
    /// The root at 1, the children of n at 2n and 2n + 1, the rows in the second half.
    nodes: Vec<Total>,
}

impl TotalTree {
    /// The total of all rows.
    pub(crate) fn root(&self) -> Total {
        self.nodes.get(1).copied().unwrap_or_default()
    }

    /// Makes room for so many rows; new ones total nothing.
    pub(crate) fn reserve(&mut self, rows: usize) {
        let (old, new) = (self.nodes.len() / 2, rows.next_power_of_two());
        if rows > old {
            let mut nodes = vec![Total::default(); 2 * new];
            nodes[new..new + old].copy_from_slice(&self.nodes[old..]);
            self.nodes = nodes;
            self.sum_up();
        }
    }

    /// Changes one row.
    pub(crate) fn set(&mut self, row: usize, total: Total) {
        let mut at = self.nodes.len() / 2 + row;
        self.nodes[at] = total;
        while at > 1 {
            at /= 2;
            self.nodes[at] = self.nodes[2 * at].join(self.nodes[2 * at + 1]);
        }
    }

    /// Changes all rows at once.
    pub(crate) fn set_all(&mut self, totals: impl ExactSizeIterator<Item = Total>) {
        self.reserve(totals.len());
        let start = self.nodes.len() / 2;
        self.nodes[start..].iter_mut().zip(totals).for_each(|(node, total)| *node = total);
        self.sum_up();
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Total>()
    }

    fn sum_up(&mut self) {
        for at in (1..self.nodes.len() / 2).rev() {
            self.nodes[at] = self.nodes[2 * at].join(self.nodes[2 * at + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(number: usize) -> Total {
        let number = number as f64;
        Total { largest: number, first: number, second: -2.0 * number }
    }

    #[test]
    fn the_root_is_the_total_of_the_rows() {
        let mut tree = TotalTree::default();
        assert_eq!(tree.root(), Total::default());
        for row in 0..9 {
            tree.reserve(row + 1);
            tree.set(row, total(row));
        }
        assert_eq!(tree.root(), Total { largest: 8.0, first: 36.0, second: -72.0 });
        tree.set(8, total(1));
        assert_eq!(tree.root(), Total { largest: 7.0, first: 29.0, second: -58.0 });
        let mut at_once = TotalTree::default();
        at_once.set_all([0, 1, 2, 3, 4, 5, 6, 7, 1].map(total).into_iter());
        assert_eq!(at_once.nodes, tree.nodes);
        tree.set_all([2, 1, 0, 0, 0, 0, 0, 0, 0].map(total).into_iter());
        assert_eq!(tree.root(), Total { largest: 2.0, first: 3.0, second: -6.0 });
    }
}
