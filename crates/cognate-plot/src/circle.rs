//! Where the nodes of a graph and their names are: on a circle, in groups, no name over another.
//!
//! A circle rather than a force-directed layout: every name has room outside it whatever the edges are, the place of a
//! node can be explained, and nothing is random.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use super::svg::text_width;

/// A node and its name, relative to the centre.
pub(crate) struct Spot {
    /// Direction from the centre, clockwise from the right, in radians.
    pub(crate) angle: f64,
    /// Where the node is.
    pub(crate) at: (f64, f64),
    /// Where the name begins, or ends if `ends_here` is set.
    pub(crate) name_at: (f64, f64),
    /// Whether the name stands left of its place.
    pub(crate) ends_here: bool,
    /// By how many degrees the name is turned.
    pub(crate) turned: f64,
    /// By how much the dot is larger than that of one task.
    growth: f64,
}

/// Places on a circle.
pub(crate) struct Circle {
    /// Radius of the circle.
    pub(crate) radius: f64,
    /// Size of the names.
    pub(crate) font: f64,
    /// Radius of the dot of one task.
    dot: f64,
    /// The nodes in their order.
    pub(crate) spots: Vec<Spot>,
    /// Smallest and largest x and y of nodes and names.
    pub(crate) bounds: [(f64, f64); 2],
}

/// Up to this many nodes the names are horizontal; above, they point outwards.
const LEVEL_UP_TO: usize = 24;
/// Sizes of names that point outwards: the large one up to so many nodes, then the small one.
const LARGE_UP_TO: usize = 160;
const LARGE: f64 = 10.5;
const SMALL: f64 = 9.0;
/// Space between two groups, in nodes.
const GAP: f64 = 1.5;
/// Slots per pixel by which the radius of a dot is larger: the dot and its ring stay clear of the next one.
const GROWN: f64 = 0.22;
/// Room for the ring round a large dot.
const RING: f64 = 7.0;
/// From the node to its name.
const AWAY: f64 = 9.0;

impl Circle {
    /// Places the nodes with these names, group after group, from the top clockwise; a dot may be larger than that of one
    /// task by so much.
    pub(crate) fn of(names: &[String], groups: &[usize], growths: &[f64]) -> Self {
        let n = names.len();
        let font = match n {
            0..=LEVEL_UP_TO => 12.0,
            _ if n > LARGE_UP_TO => SMALL,
            _ => LARGE,
        };
        let gap = if groups.len() > 1 { GAP } else { 0.0 };
        let widths: Vec<f64> = growths.iter().map(|growth| 1.0 + growth * GROWN).collect();
        let slots = widths.iter().sum::<f64>() + gap * groups.len() as f64;
        // More nodes never make a smaller circle, even where turned names need little room.
        let room = |slots: f64, font: f64| slots * 1.2 * font / TAU;
        let mut radius = 130.0 + 5.0 * n.min(LEVEL_UP_TO) as f64;
        if n > LEVEL_UP_TO {
            radius = radius.max(room(slots.min(LARGE_UP_TO as f64), LARGE)).max(room(slots, font));
        }
        let mut spots = Vec::with_capacity(n);
        let mut slot = gap / 2.0;
        let mut sizes = widths.iter().zip(growths);
        for size in groups {
            for (width, growth) in sizes.by_ref().take(*size) {
                let angle = (slot + width / 2.0) / slots * TAU - FRAC_PI_2;
                spots.push(spot(angle, radius, *growth, n <= LEVEL_UP_TO));
                slot += width;
            }
            slot += gap;
        }
        if n <= LEVEL_UP_TO {
            for left in [false, true] {
                let side = spots.iter_mut().filter(|spot| spot.ends_here == left);
                spread(side.map(|spot| &mut spot.name_at.1).collect(), 1.25 * font);
            }
        }
        let bounds = bounds(&spots, names, font);
        Self { radius, font, dot: if n <= LEVEL_UP_TO { 5.0 } else { 3.5 }, spots, bounds }
    }

    /// Radius of the dot of one task.
    pub(crate) fn dot(&self) -> f64 {
        self.dot
    }
}

fn spot(angle: f64, radius: f64, growth: f64, level: bool) -> Spot {
    let at = |r: f64| (r * angle.cos(), r * angle.sin());
    let away = if growth > 0.0 { AWAY + growth + RING } else { AWAY };
    let ends_here = angle.cos() < -1e-9;
    let turned = match (level, ends_here) {
        (true, _) => 0.0,
        (false, false) => angle.to_degrees(),
        (false, true) => (angle - PI).to_degrees(),
    };
    // A level name stands beside a large dot, not above or below it.
    let name_at = if level && growth > 0.0 {
        (at(radius).0 + if ends_here { -away } else { away }, at(radius + AWAY).1)
    } else {
        at(radius + away)
    };
    Spot { angle, at: at(radius), name_at, ends_here, turned, growth }
}

/// Moves heights apart to a distance of `least`, away from the middle.
fn spread(mut heights: Vec<&mut f64>, least: f64) {
    heights.sort_by(|a, b| a.total_cmp(b));
    let Some(middle) = (0..heights.len()).min_by(|a, b| heights[*a].abs().total_cmp(&heights[*b].abs()))
    else {
        return;
    };
    for at in middle + 1..heights.len() {
        *heights[at] = heights[at].max(*heights[at - 1] + least);
    }
    for at in (0..middle).rev() {
        *heights[at] = heights[at].min(*heights[at + 1] - least);
    }
}

fn bounds(spots: &[Spot], names: &[String], font: f64) -> [(f64, f64); 2] {
    let mut bounds = [(0.0f64, 0.0f64); 2];
    for (spot, name) in spots.iter().zip(names) {
        let width = text_width(name, font) * if spot.ends_here { -1.0 } else { 1.0 };
        let turned = spot.turned.to_radians();
        let end = (spot.name_at.0 + width * turned.cos(), spot.name_at.1 + width * turned.sin());
        let dot = font.max(AWAY + RING + spot.growth);
        for ((x, y), room) in [(spot.at, dot), (spot.name_at, font), (end, font)] {
            for (bound, value) in bounds.iter_mut().zip([x, y]) {
                *bound = (bound.0.min(value - room), bound.1.max(value + room));
            }
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("a task called {i}")).collect()
    }

    #[test]
    fn level_names_do_not_overlap() {
        for n in 1..=LEVEL_UP_TO {
            for groups in [vec![n], vec![n / 2, n - n / 2], vec![1; n]] {
                let circle = Circle::of(&names(n), &groups, &vec![0.0; n]);
                for left in [false, true] {
                    let side = circle.spots.iter().filter(|spot| spot.ends_here == left);
                    let mut heights: Vec<f64> = side.map(|spot| spot.name_at.1).collect();
                    heights.sort_by(f64::total_cmp);
                    let close = heights.windows(2).any(|pair| pair[1] - pair[0] < 1.2 * circle.font);
                    assert!(!close, "{n} in {groups:?}: {heights:?}");
                }
            }
        }
    }

    #[test]
    fn large_dots_do_not_touch() {
        for n in [2, 12, 24, 25, 33, 139] {
            // With the ring round each, as 400 tasks have it.
            let growths: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 17.0 } else { 0.0 }).collect();
            let circle = Circle::of(&names(n), &[n], &growths);
            for (pair, growths) in circle.spots.windows(2).zip(growths.windows(2)) {
                let apart = (pair[0].at.0 - pair[1].at.0).hypot(pair[0].at.1 - pair[1].at.1);
                let dots = 2.0 * circle.dot() + growths[0] + growths[1] + 6.0;
                assert!(apart >= dots, "{n}: {apart} between dots of {dots}");
            }
            // Nor does a name begin within its ring.
            for (spot, growth) in circle.spots.iter().zip(&growths).filter(|(_, growth)| **growth > 0.0) {
                let away = (spot.at.0 - spot.name_at.0).hypot(spot.at.1 - spot.name_at.1);
                assert!(away >= circle.dot() + growth + 6.0, "{n}: {away}");
            }
        }
    }

    #[test]
    fn more_nodes_never_make_a_smaller_circle() {
        let radius = |n: usize| Circle::of(&names(n), &[n], &vec![0.0; n]).radius;
        for n in 1..200 {
            assert!(radius(n + 1) >= radius(n), "{n}: {} to {}", radius(n), radius(n + 1));
        }
        assert!(radius(29) >= 250.0);
    }

    #[test]
    fn names_that_point_outwards_have_room() {
        for n in [25, 139, 300] {
            let circle = Circle::of(&names(n), &[n], &vec![0.0; n]);
            let step = circle.spots[1].angle - circle.spots[0].angle;
            assert!(step * circle.radius >= 1.1 * circle.font, "{n}");
            assert!(circle.spots.iter().all(|spot| (-90.0..=90.1).contains(&spot.turned)), "upright");
        }
    }

    #[test]
    fn nodes_and_names_are_within_the_bounds() {
        for n in [1, 2, 15, 139] {
            let circle = Circle::of(&names(n), &[n], &vec![0.0; n]);
            let within = |bound: (f64, f64), value: f64| bound.0 <= value && value <= bound.1;
            for (spot, name) in circle.spots.iter().zip(names(n)) {
                let [x, y] = circle.bounds;
                assert!(within(x, spot.at.0) && within(y, spot.at.1), "{n}");
                // Level names reach to the side, turned ones straight on.
                let width = text_width(&name, circle.font);
                let end = match (spot.ends_here, n <= LEVEL_UP_TO) {
                    (true, true) => (spot.name_at.0 - width, spot.name_at.1),
                    (false, true) => (spot.name_at.0 + width, spot.name_at.1),
                    (_, false) => {
                        let reach = circle.radius + AWAY + width;
                        (reach * spot.angle.cos(), reach * spot.angle.sin())
                    }
                };
                assert!(within(x, end.0) && within(y, end.1), "{n}: {name}");
            }
        }
    }
}
