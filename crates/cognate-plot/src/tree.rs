//! The tree of a clustering beside the matrix that it orders: leaves to the left, each at the middle of its row.

use super::numbers::plain;
use super::scale::drawable;
use super::svg::{Canvas, Num, add, text_width};
use crate::clustering::Join;

/// Room for the numbers below the tree.
pub(crate) const FOOT: f64 = 14.0;

/// Where a tree is drawn.
pub(crate) struct Place {
    /// Distance of the leaves from the left.
    pub(crate) left: f64,
    /// From the leaves, which join at a similarity of 1, to the last join.
    pub(crate) depth: f64,
    /// Height of a row.
    pub(crate) row: f64,
    /// Leaves in a row of the matrix.
    pub(crate) leaves: usize,
    /// Height of all rows.
    pub(crate) height: f64,
}

/// Draws the joins and the similarities at both ends; returns how far right this reaches.
pub(crate) fn draw(c: &mut Canvas, joins: &[Join], place: &Place) -> f64 {
    let least = joins.iter().map(|join| join.similarity).filter(|s| drawable(*s)).fold(1.0, f64::min);
    let span = if least < 1.0 { 1.0 - least } else { 1.0 };
    let x = |similarity: f64| place.left + (1.0 - similarity) / span * place.depth;
    let y = |at: f64| Num((at + 0.5) / place.leaves as f64 * place.row);
    let mut d = String::new();
    for join in joins {
        let [(upper, from), (lower, to)] = join.groups;
        let (from, to, at) = (Num(x(from)), Num(x(to)), Num(x(join.similarity)));
        add(&mut d, format_args!("M{from} {}H{at}V{}H{to}", y(upper), y(lower)));
    }
    c.path("tree", &d, "");
    let base = place.height + FOOT;
    c.text("t tn", (place.left, base), "1");
    let end = plain(least, 1.0);
    let right = (place.left + place.depth).max(place.left + 12.0 + text_width(&end, 11.0));
    c.text("t tn e", (right, base), &end);
    right
}
