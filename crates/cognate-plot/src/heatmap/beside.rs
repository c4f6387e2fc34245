//! What stands beside a matrix: names, groups, the colour bar.

use super::grid::Grid;
use super::{DAGGER, Heatmap, Layout, SHADES, name_width};
use crate::scale::{Axis, Steps, Unit, ticks};
use crate::series::spread;
use crate::svg::{Canvas, Num, shorten, text_width};

/// Least height of the colour bar.
pub(super) const LEAST_BAR: f64 = 54.0;
/// Longest name of a group, wide and narrow.
const GROUP_NAMES: (usize, usize) = (14, 10);
/// Distance between the names of groups.
const GROUP_GAP: f64 = 14.0;
/// From the matrix to the bracket of a group, and on to its name.
const BRACKET: (f64, f64) = (5.0, 14.0);

/// Row and column names; returns how far right the last one reaches.
pub(super) fn names(c: &mut Canvas, grid: &Grid, layout: &Layout) -> f64 {
    let names = &grid.names;
    let mut reach: f64 = 0.0;
    c.open(&format!("font-size=\"{}\"", Num(layout.font)));
    for (i, name) in names.iter().enumerate() {
        let middle = (i as f64 + 0.5) * layout.cell;
        let weight = if name.ends_with(DAGGER) { " b" } else { "" };
        c.tipped(&grid.tips[i]);
        c.text(&format!("e{weight}"), (-6.0, middle + layout.font * 0.35), name);
        if layout.is_slanted(names.len()) {
            c.turned(weight, (middle + 2.0, -7.0), -45, name);
            reach = reach.max(middle + 12.0 + 0.71 * name_width(name, layout.font));
        } else {
            c.turned(weight, (middle + layout.font * 0.35, -6.0), -90, name);
        }
        c.close();
    }
    c.close();
    reach
}

/// The names of the groups: the most central task, and how many more there are; of tasks that are apart, how many.
fn group_names(heatmap: &Heatmap, is_compact: bool) -> Vec<String> {
    let most = if is_compact { GROUP_NAMES.1 } else { GROUP_NAMES.0 };
    let name = |(at, members): (usize, &Vec<usize>)| {
        let dagger = if members.iter().any(|task| heatmap.marked.contains(task)) { DAGGER } else { "" };
        let centre = shorten(&heatmap.names[heatmap.centre(members)], most);
        match members.len() - 1 {
            0 => format!("{centre}{dagger}"),
            more if Some(at) == heatmap.apart => format!("{} apart{dagger}", more + 1),
            more => format!("{centre} + {more}{dagger}"),
        }
    };
    heatmap.members().iter().enumerate().map(name).collect()
}

/// The room that the names of groups take left of the matrix.
pub(super) fn group_width(heatmap: &Heatmap, is_compact: bool) -> f64 {
    let widths = group_names(heatmap, is_compact).into_iter().map(|name| name_width(&name, 11.0));
    widths.reduce(f64::max).map_or(0.0, |widest| widest + BRACKET.1 + 4.0)
}

impl Heatmap {
    /// A bracket beside each group, and its name.
    pub(super) fn name_groups(&self, c: &mut Canvas, grid: &Grid, layout: &Layout) {
        let side = layout.cell * grid.names.len() as f64;
        let at = |row: usize| row as f64 / grid.block as f64 * layout.cell;
        let spans: Vec<(f64, f64)> =
            self.groups.iter().map(|(first, last)| (at(*first), at(last + 1).min(side))).collect();
        let wanted: Vec<f64> = spans.iter().map(|(top, bottom)| f64::midpoint(*top, *bottom)).collect();
        let places = spread(&wanted, GROUP_GAP, 4.0, side.max(LEAST_BAR) - 4.0);
        let members = self.members();
        for (at, name) in group_names(self, layout.is_compact).iter().enumerate() {
            let ((top, bottom), middle, place) = (spans[at], wanted[at], places[at]);
            // A group of one row still has a bracket that can be seen.
            let inset = if bottom - top > 4.0 { 1.0 } else { 0.0 };
            let d = format!(
                "M{x} {}V{}M{x} {}L{} {}",
                Num(top + inset),
                Num(bottom - inset),
                Num(middle),
                Num(-BRACKET.1 + 2.0),
                Num(place),
                x = Num(-BRACKET.0)
            );
            let listed: Vec<String> =
                members[at].iter().take(12).map(|task| shorten(&self.names[*task], 40)).collect();
            let more = if members[at].len() > listed.len() { ", …" } else { "" };
            c.tipped(&format!("{}{more}", listed.join(", ")));
            c.path("bracket", &d, "");
            let weight = if name.ends_with(DAGGER) { "t e b" } else { "t e" };
            c.text(weight, (-BRACKET.1, place + 4.0), name);
            c.close();
        }
    }
}

/// Without zeros at the end of a fraction.
fn short(number: String) -> String {
    if number.contains('.') && !number.contains('e') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number
    }
}

/// The colour bar on the right, only as far as values reach.
pub(super) struct Bar {
    /// Its ends.
    values: (f64, f64),
    /// The smallest and the largest value of the matrix.
    reach: (f64, f64),
    limit: f64,
}

impl Bar {
    pub(super) fn of(grid: &Grid, is_signed: bool) -> Self {
        let (least, most) = grid.reach;
        let lo = if least < 0.0 || is_signed { -grid.limit } else { 0.0 };
        let hi = if most > 0.0 || lo == 0.0 || is_signed { grid.limit } else { 0.0 };
        Self { values: (lo, hi), reach: (least, most), limit: grid.limit }
    }

    /// Ticks and their labels at a height.
    fn labels(&self, height: f64) -> Vec<(f64, String)> {
        let (lo, hi) = self.values;
        let marks = ticks(lo, hi, (height / 40.0) as usize);
        let step = marks[1] - marks[0];
        // The ends are always labelled, and round values where they do not come too close to them.
        let apart = (hi - lo) * (14.0 / height);
        let within = |t: &f64| *t > lo + apart && *t < hi - apart;
        let mut marks: Vec<f64> = marks.into_iter().filter(within).collect();
        marks.insert(0, lo);
        marks.push(hi);
        let label = |t: f64| {
            // Values beyond a limit set from outside share the colour of the limit; the label says so.
            let above = t >= hi && self.reach.1 > hi * (1.0 + 1e-9);
            let below = t <= lo && self.reach.0 < lo * (1.0 + 1e-9);
            let sign = match (above && t > 0.0, above || below) {
                (true, _) => "≥ ",
                (false, true) => "≤ ",
                (false, false) => "",
            };
            // An end that is no round value has the digits that it needs.
            let rounded = (t / step).round() * step;
            let is_round = (t - rounded).abs() <= 1e-9 * step;
            let text = if is_round { Unit::Plain.tick(t, step) } else { short(Unit::Plain.value(t)) };
            (t, format!("{sign}{text}"))
        };
        marks.into_iter().map(label).collect()
    }

    /// The room it needs, whatever its height.
    pub(super) fn width(&self) -> f64 {
        let widest = |height: f64| {
            self.labels(height).iter().map(|(_, label)| text_width(label, 11.0)).fold(0.0, f64::max)
        };
        18.0 + 19.0 + widest(260.0).max(widest(LEAST_BAR)) + 4.0
    }

    /// Draws it right of a place, beside a matrix of a height; returns its width.
    pub(super) fn draw(&self, c: &mut Canvas, (right, side): (f64, f64)) -> f64 {
        let (lo, hi) = self.values;
        let height = side.clamp(LEAST_BAR, 260.0);
        let axis = Axis { values: (lo, hi), pixels: (height, 0.0), steps: Steps::Linear };
        let x = right + 18.0;
        c.rect("zero", (x, 0.0), (12.0, height));
        let steps = SHADES as i32;
        for s in (-steps..steps).filter(|s| if *s < 0 { lo < 0.0 } else { hi > 0.0 }) {
            let (from, to) = (f64::from(s) / SHADES * self.limit, f64::from(s + 1) / SHADES * self.limit);
            let sign = if s < 0 { "n" } else { "p" };
            let strength = Num((f64::midpoint(from, to).abs() / self.limit).min(1.0));
            let (x, y, h) = (Num(x), Num(axis.at(to)), Num(axis.at(from) - axis.at(to)));
            c.put(format_args!(
                "<rect class=\"{sign}\" shape-rendering=\"crispEdges\" fill-opacity=\"{strength}\" x=\"{x}\" \
                 y=\"{y}\" width=\"12\" height=\"{h}\"/>\n"
            ));
        }
        c.rect("frame", (x, 0.0), (12.0, height));
        let mut widest: f64 = 0.0;
        for (t, label) in self.labels(height) {
            c.line("axis", (x + 12.0, axis.at(t)), (x + 15.0, axis.at(t)));
            c.text("t tn", (x + 19.0, axis.at(t) + 4.0), &label);
            widest = widest.max(text_width(&label, 11.0));
        }
        18.0 + 19.0 + widest + 4.0
    }
}
