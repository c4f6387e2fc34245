//! A K x K matrix as a picture: diverging colours about 0, readable from one task to some hundred.
//!
//! The hue of a cell is the sign and its opacity the size, over a neutral background, so the scale follows the
//! theme by itself. Up to 60 tasks every cell is an element with a tooltip; above, cells of one shade share a
//! path and runs merge; above 160, blocks of tasks are averaged.

use std::collections::BTreeMap;

use super::numbers::plain;
use super::scale::{Axis, Steps, Unit, drawable, ticks};
use super::svg::{Canvas, Drawing, Num, add, bold_width, shorten, text_width};
use super::tree;
use crate::clustering::{Clustering, Join};

/// A square matrix with a name for each row and column.
#[derive(Clone, Default)]
pub struct Heatmap {
    /// Says what the matrix is.
    pub title: String,
    /// The K names.
    pub names: Vec<String>,
    /// K * K values, row by row. NaN (or one beyond 1e150) is crossed out.
    pub values: Vec<f64>,
    /// Which rows and columns to show, in which order; all in their own order if left out.
    pub order: Option<Vec<usize>>,
    /// How the rows shown are joined into groups; drawn beside them.
    pub tree: Vec<Join>,
    /// The size with full colour; the largest one present if left out.
    pub limit: Option<f64>,
    /// Rows and columns whose name gets a dagger.
    pub marked: Vec<usize>,
    /// What the dagger means, e.g. "outlier".
    pub mark: String,
}

/// Follows the name of a marked task; looks the same at any angle.
pub const DAGGER: &str = "\u{a0}†";

const NAME: usize = 18;
/// Most characters of a name in a tooltip.
const LONG_NAME: usize = 80;
/// Distance between the matrix and the tree.
const TREE: f64 = 5.0;
const VALUES_UP_TO: usize = 12;
const TOOLTIPS_UP_TO: usize = 60;
const CELLS_UP_TO: usize = 160;
/// Least height of the colour bar.
const LEAST_BAR: f64 = 54.0;
/// Shades on each side of 0 where cells share paths.
const SHADES: f64 = 24.0;

/// What is actually drawn: the ordered matrix, averaged by blocks if it is large.
struct Grid {
    names: Vec<String>,
    /// The full names where those above are shortened, else empty.
    tips: Vec<String>,
    values: Vec<f64>,
    block: usize,
}

/// Sizes that follow from the number of rows.
struct Layout {
    cell: f64,
    font: f64,
    left: f64,
    top: f64,
    limit: f64,
}

impl Heatmap {
    /// In the order of a clustering, with its tree unless all joins are at one similarity.
    #[must_use]
    pub fn clustered(mut self, clustering: &Clustering) -> Self {
        self.order = Some(clustering.order.clone());
        self.tree = if clustering.is_flat() { Vec::new() } else { clustering.joins.clone() };
        self
    }

    /// Draws the matrix; the size follows from K.
    pub fn draw(&self) -> Drawing {
        let k = self.names.len();
        assert_eq!(self.values.len(), k * k, "a heatmap of K names has K * K values");
        let mut c = Canvas::default();
        let grid = self.grid();
        let n = grid.names.len();
        if n == 0 {
            c.text("t m", (150.0, 30.0), "no tasks yet");
            return c.finish(&self.title, 300.0, 60.0);
        }
        let layout = self.layout(&grid);
        let side = layout.cell * n as f64;
        c.open(&format!("transform=\"translate({} {})\"", Num(layout.left), Num(layout.top)));
        c.rect("zero", (0.0, 0.0), (side, side));
        if n <= TOOLTIPS_UP_TO {
            cells(&mut c, &grid, &layout);
        } else {
            shades(&mut c, &grid, &layout);
        }
        c.rect("frame", (0.0, 0.0), (side, side));
        let overhang = names(&mut c, &grid, &layout);
        let (mut right, mut below) = (side, 4.0);
        if !self.tree.is_empty() {
            let (left, row) = (side + TREE, layout.cell);
            let depth = (side * 0.1).clamp(60.0, 130.0);
            let place = tree::Place { left, depth, row, leaves: grid.block, height: side };
            right = tree::draw(&mut c, &self.tree, &place);
            below = tree::FOOT + 4.0;
        }
        right += colour_bar(&mut c, &grid, &layout, (right, side));
        c.close();
        let width = layout.left + right.max(overhang);
        let height = layout.top + side.max(LEAST_BAR) + below;
        let mut drawing = c.finish(&self.title, width.ceil(), height.ceil());
        drawing.notes = self.notes(&grid);
        drawing
    }

    fn grid(&self) -> Grid {
        let k = self.names.len();
        let order = self.order.clone().unwrap_or_else(|| (0..k).collect());
        let block = order.len().div_ceil(CELLS_UP_TO).max(1);
        let blocks: Vec<&[usize]> = order.chunks(block).collect();
        let mean = |rows: &[usize], columns: &[usize]| {
            let all = rows.iter().flat_map(|r| columns.iter().map(move |c| self.values[r * k + c]));
            let (sum, n) = all.filter(|v| drawable(*v)).fold((0.0, 0), |(s, n), v| (s + v, n + 1));
            if n > 0 { sum / n as f64 } else { f64::NAN }
        };
        let values = blocks.iter().flat_map(|r| blocks.iter().map(|c| mean(r, c)));
        let values = values.collect();
        let names = blocks.iter().map(|b| self.block_name(b)).collect();
        Grid { names, tips: blocks.iter().map(|b| self.block_tip(b)).collect(), values, block }
    }

    fn block_tip(&self, block: &[usize]) -> String {
        let is_short = |i: &usize| self.names[*i].chars().nth(NAME).is_none();
        if matches!(block, [one] if is_short(one)) {
            return String::new();
        }
        let names = block.iter().map(|i| shorten(&self.names[*i], LONG_NAME));
        names.collect::<Vec<_>>().join(", ")
    }

    fn block_name(&self, block: &[usize]) -> String {
        let dagger = if block.iter().any(|i| self.marked.contains(i)) { DAGGER } else { "" };
        let name = match block {
            [one] => shorten(&self.names[*one], NAME),
            [first, .., last] => {
                format!(
                    "{} – {}",
                    shorten(&self.names[*first], NAME / 2),
                    shorten(&self.names[*last], NAME / 2)
                )
            }
            [] => String::new(),
        };
        format!("{name}{dagger}")
    }

    fn layout(&self, grid: &Grid) -> Layout {
        let n = grid.names.len();
        let cell = match n {
            1..=5 => 54.0,
            6..=12 => 46.0,
            13..=24 => 30.0,
            25..=60 => 15.0,
            _ => 11.0,
        };
        let font = f64::min(cell * 0.88, 12.0);
        let widest = grid.names.iter().map(|name| name_width(name, font)).fold(0.0, f64::max);
        let top = if slanted(n) { widest * 0.71 + 14.0 } else { widest + 8.0 };
        let largest = grid.values.iter().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()));
        let limit = self.limit.filter(|l| drawable(*l) && *l > 0.0).unwrap_or(largest);
        let limit = if limit > 0.0 { limit } else { 1.0 };
        Layout { cell, font, left: widest + 10.0, top, limit }
    }

    fn notes(&self, grid: &Grid) -> Vec<String> {
        let (k, n) = (self.order.as_ref().map_or(self.names.len(), Vec::len), grid.names.len());
        let mut notes = Vec::new();
        if grid.block > 1 {
            notes.push(format!(
                "{k} tasks shown as {n} x {n} cells: each is the mean over blocks of {} tasks.",
                grid.block
            ));
        }
        if !self.tree.is_empty() {
            notes.push(
                "Order and tree: hierarchical clustering, average linkage on 1 − correlation. Where two groups join, \
                 the scale below the tree gives the mean correlation between them."
                    .to_owned(),
            );
        }
        let limit = self.limit.unwrap_or(f64::INFINITY);
        if grid.values.iter().any(|v| v.abs() > limit * (1.0 + 1e-9)) {
            let limit = Unit::Plain.tick(limit, limit);
            notes
                .push(format!("Colour is full from {limit} in size on, so that smaller values can be seen."));
        }
        if grid.values.iter().any(|v| !v.is_finite()) {
            notes.push("Crossed out: no value.".to_owned());
        }
        if !self.marked.is_empty() && !self.mark.is_empty() {
            notes.push(format!("†\u{a0}{}.", self.mark));
        }
        notes
    }
}

impl Layout {
    /// How strong the colour of a value is, from 0 to 1.
    fn strength(&self, value: f64) -> f64 {
        (value.abs() / self.limit).min(1.0)
    }
}

fn name_width(name: &str, font: f64) -> f64 {
    if name.ends_with(DAGGER) { bold_width(name, font) } else { text_width(name, font) }
}

fn slanted(n: usize) -> bool {
    n <= 24
}

/// One element per cell, with tooltip, and with the value if there is room.
fn cells(c: &mut Canvas, grid: &Grid, layout: &Layout) {
    let (n, cell) = (grid.names.len(), Num(layout.cell));
    let mut minus = String::new();
    for (i, value) in grid.values.iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let (x, y) = (column as f64 * layout.cell, row as f64 * layout.cell);
        let (px, py) = (Num(x), Num(y));
        let name = |at: usize| if grid.tips[at].is_empty() { &grid.names[at] } else { &grid.tips[at] };
        let tip = format!("{} × {}: {}", name(row), name(column), plain(*value, layout.limit));
        let tip = super::svg::escape(&tip);
        let box_path = format!("M{px} {py}h{cell}v{cell}h-{cell}z");
        if !value.is_finite() {
            let cross = format!("{box_path}M{px} {py}l{cell} {cell}m-{cell} 0l{cell} -{cell}");
            c.put(format_args!("<path class=\"none\" d=\"{cross}\"><title>{tip}</title></path>\n"));
            continue;
        }
        let (sign, strength) = (if *value < 0.0 { "n" } else { "p" }, layout.strength(*value));
        c.put(format_args!(
            "<path class=\"{sign} cell\" fill-opacity=\"{}\" d=\"{box_path}\"><title>{tip}</title></path>\n",
            Num(strength)
        ));
        if n <= VALUES_UP_TO {
            // Text changes colour where the contrast does, later in the light theme than in the dark one.
            let class = match strength {
                s if s > 0.72 => "m tn on",
                s if s > 0.55 => "m tn mid",
                _ => "m tn",
            };
            let middle = (x + layout.cell / 2.0, y + layout.cell / 2.0 + 4.0);
            c.put(format_args!("<g pointer-events=\"none\">"));
            c.text(class, middle, &plain(*value, layout.limit));
            c.close();
        } else if *value < 0.0 && strength > 0.25 {
            // The sign must not depend on the hue alone.
            let length = layout.cell * 0.4;
            let (x, y) = (Num(x + (layout.cell - length) / 2.0), Num(y + layout.cell / 2.0));
            add(&mut minus, format_args!("M{x} {y}h{}", Num(length)));
        }
    }
    if !minus.is_empty() {
        c.put(format_args!("<path class=\"minus\" pointer-events=\"none\" d=\"{minus}\"/>\n"));
    }
}

/// One path per shade, in units of a cell; runs of one shade within a row are one rectangle.
fn shades(c: &mut Canvas, grid: &Grid, layout: &Layout) {
    let n = grid.names.len();
    let shade = |v: &f64| v.is_finite().then(|| (layout.strength(*v) * SHADES).round().copysign(*v) as i32);
    let mut paths: BTreeMap<Option<i32>, String> = BTreeMap::new();
    for (y, row) in grid.values.chunks(n).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|a, b| shade(a) == shade(b)) {
            let d = paths.entry(shade(&run[0])).or_default();
            match shade(&run[0]) {
                Some(0) => {}
                Some(_) => add(d, format_args!("M{x} {y}h{w}v1h-{w}z", w = run.len())),
                None => {
                    for i in x..x + run.len() {
                        add(d, format_args!("M{i} {y}l1 1m-1 0l1 -1"));
                    }
                }
            }
            x += run.len();
        }
    }
    c.open(&format!("transform=\"scale({})\" shape-rendering=\"crispEdges\"", Num(layout.cell)));
    for (shade, d) in paths.iter().filter(|(_, d)| !d.is_empty()) {
        match shade {
            Some(s) => {
                let (sign, strength) = (if *s < 0 { "n" } else { "p" }, Num(f64::from(s.abs()) / SHADES));
                c.put(format_args!("<path class=\"{sign}\" fill-opacity=\"{strength}\" d=\"{d}\"/>\n"));
            }
            None => {
                c.put(format_args!(
                    "<path class=\"none\" vector-effect=\"non-scaling-stroke\" d=\"{d}\"/>\n"
                ));
            }
        }
    }
    c.close();
}

/// Row and column names, every n-th if they are too dense; returns how far right the last one reaches.
fn names(c: &mut Canvas, grid: &Grid, layout: &Layout) -> f64 {
    let names = &grid.names;
    let every = (layout.font / layout.cell).ceil().max(1.0) as usize;
    let mut reach: f64 = 0.0;
    c.open(&format!("font-size=\"{}\"", Num(layout.font)));
    for (i, name) in names.iter().enumerate().step_by(every) {
        let middle = (i as f64 + 0.5) * layout.cell;
        let weight = if name.ends_with(DAGGER) { " b" } else { "" };
        let tip = &grid.tips[i];
        c.tipped(tip);
        c.text(&format!("e{weight}"), (-6.0, middle + layout.font * 0.35), name);
        if slanted(names.len()) {
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

/// The colour bar on the right, only as far as values reach; returns its width.
fn colour_bar(c: &mut Canvas, grid: &Grid, layout: &Layout, (right, side): (f64, f64)) -> f64 {
    let finite = grid.values.iter().filter(|v| v.is_finite());
    let (least, most) = finite.fold((0.0f64, 0.0f64), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
    let lo = if least < 0.0 { -layout.limit } else { 0.0 };
    let hi = if most > 0.0 || lo == 0.0 { layout.limit } else { 0.0 };
    let height = side.clamp(LEAST_BAR, 260.0);
    let axis = Axis { values: (lo, hi), pixels: (height, 0.0), steps: Steps::Linear };
    let x = right + 18.0;
    c.rect("zero", (x, 0.0), (12.0, height));
    let steps = SHADES as i32;
    for s in (-steps..steps).filter(|s| if *s < 0 { lo < 0.0 } else { hi > 0.0 }) {
        let (from, to) = (f64::from(s) / SHADES * layout.limit, f64::from(s + 1) / SHADES * layout.limit);
        let (sign, strength) = (if s < 0 { "n" } else { "p" }, layout.strength(f64::midpoint(from, to)));
        let (x, y, h) = (Num(x), Num(axis.at(to)), Num(axis.at(from) - axis.at(to)));
        c.put(format_args!(
            "<rect class=\"{sign}\" shape-rendering=\"crispEdges\" fill-opacity=\"{}\" x=\"{x}\" y=\"{y}\" \
             width=\"12\" height=\"{h}\"/>\n",
            Num(strength)
        ));
    }
    c.rect("frame", (x, 0.0), (12.0, height));
    let marks = ticks(lo, hi, (height / 40.0) as usize);
    let mut widest: f64 = 0.0;
    for &t in marks.iter().filter(|t| **t >= lo - 1e-9 * hi.abs() && **t <= hi * (1.0 + 1e-9)) {
        // Values beyond a limit set from outside share the colour of the limit; the label says so.
        let beyond = (t >= hi && most > hi * (1.0 + 1e-9)) || (t <= lo && least < lo * (1.0 + 1e-9));
        let sign = if beyond && t > 0.0 {
            "≥ "
        } else if beyond {
            "≤ "
        } else {
            ""
        };
        let label = format!("{sign}{}", Unit::Plain.tick(t, marks[1] - marks[0]));
        c.line("axis", (x + 12.0, axis.at(t)), (x + 15.0, axis.at(t)));
        c.text("t tn", (x + 19.0, axis.at(t) + 4.0), &label);
        widest = widest.max(text_width(&label, 11.0));
    }
    18.0 + 19.0 + widest + 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(k: usize, value: impl Fn(usize, usize) -> f64) -> Heatmap {
        Heatmap {
            title: "R".to_owned(),
            names: (0..k).map(|i| format!("task-{i}")).collect(),
            values: (0..k * k).map(|i| value(i / k, i % k)).collect(),
            ..Heatmap::default()
        }
    }

    fn wave(i: usize, j: usize) -> f64 {
        ((i * 7 + j * 13) % 41) as f64 / 20.0 - 1.0
    }

    #[test]
    fn one_task_and_none_are_drawn() {
        assert!(map(1, |_, _| 1.0).draw().inline().contains("task-0 × task-0: 1.00"));
        assert!(map(0, |_, _| 1.0).draw().inline().contains("no tasks yet"));
    }

    #[test]
    fn equal_values_are_drawn() {
        for value in [0.0, 0.25, -3.0, 1e-310, 1e150, f64::MAX] {
            let svg = map(4, |_, _| value).draw().inline();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{value}");
        }
    }

    #[test]
    fn missing_values_are_crossed_out_and_noted() {
        for k in [3, 70] {
            let drawing = map(k, |i, j| if i == j { f64::NAN } else { 0.5 }).draw();
            assert_eq!(drawing.notes, ["Crossed out: no value."]);
            assert!(drawing.inline().contains("class=\"none\"") && !drawing.inline().contains("NaN"));
        }
    }

    #[test]
    fn blocks_keep_the_mean() {
        let heatmap = map(480, wave);
        let grid = heatmap.grid();
        assert_eq!((grid.block, grid.names.len()), (3, 160));
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        assert!((mean(&grid.values) - mean(&heatmap.values)).abs() < 1e-12);
        assert_eq!(grid.names[1], "task-3 – task-5");
        assert!(heatmap.draw().notes[0].starts_with("480 tasks shown as 160 x 160"));
    }

    #[test]
    fn pictures_stay_small_and_stable() {
        for k in [60, 139, 160, 500] {
            let heatmap = map(k, wave);
            let svg = heatmap.draw().standalone();
            assert!(svg.len() < 500_000, "{k} tasks take {} bytes", svg.len());
            assert_eq!(svg, heatmap.draw().standalone());
        }
    }

    #[test]
    fn the_order_is_the_callers() {
        let mut heatmap = map(3, wave);
        heatmap.order = Some(vec![2, 0]);
        let grid = heatmap.grid();
        assert_eq!(grid.names, ["task-2", "task-0"]);
        assert_eq!(grid.values, [wave(2, 2), wave(2, 0), wave(0, 2), wave(0, 0)]);
    }

    #[test]
    fn a_tree_stands_beside_the_matrix() {
        for k in [3, 30, 139, 500] {
            let heatmap = map(k, |i, j| if i % 2 == j % 2 { 0.8 } else { -0.4 });
            let clustering = Clustering::of(&heatmap.values, k);
            let drawing = heatmap.clone().clustered(&clustering).draw();
            let svg = drawing.inline();
            assert!(svg.contains("class=\"tree\"") && svg.contains(">−0.40</text>") && !svg.contains("NaN"));
            assert!(drawing.notes.iter().any(|note| note.starts_with("Order and tree: ")));
            assert!(drawing.width() > heatmap.draw().width());
        }
        let flat = map(4, |_, _| 0.4);
        let clustering = Clustering::of(&flat.values, 4);
        assert!(!flat.clustered(&clustering).draw().inline().contains("class=\"tree\""));
    }

    #[test]
    fn long_names_are_told_in_full() {
        let mut heatmap = map(30, wave);
        heatmap.names[7] = "a name that is too long for the margin".to_owned();
        let svg = heatmap.draw().inline();
        assert!(svg.contains("<title>a name that is too long for the margin</title>"));
        assert!(svg.contains(">a name that…margin</text>"));
    }

    #[test]
    fn values_beyond_the_limit_are_noted() {
        let mut heatmap = map(3, |i, j| if i == j { 1.0 } else { 0.01 });
        heatmap.limit = Some(0.06);
        assert_eq!(
            heatmap.draw().notes,
            ["Colour is full from 0.06 in size on, so that smaller values can be seen."]
        );
    }

    #[test]
    fn marked_tasks_are_named() {
        let mut heatmap = map(3, wave);
        (heatmap.marked, heatmap.mark) = (vec![1], "outlier".to_owned());
        let drawing = heatmap.draw();
        assert!(drawing.inline().contains("task-1\u{a0}†") && drawing.notes == ["†\u{a0}outlier."]);
    }
}
