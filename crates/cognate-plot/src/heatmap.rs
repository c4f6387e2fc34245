//! A K x K matrix as a picture: diverging colours about 0, readable from one task to some hundred.
//!
//! The hue of a cell is the sign and its opacity the size, over a neutral background, so the scale follows the
//! theme by itself. A picture fits a width. Up to 60 tasks every cell is an element with a tooltip; above, cells of one
//! shade share a path and runs merge. Where names would be too small to read, groups of tasks are named instead; where
//! cells would be smaller than a pixel, or too many to mail, blocks of tasks are averaged.

mod beside;
mod cells;
mod grid;

use super::numbers::plain;
use super::scale::{Unit, drawable};
use super::svg::{Canvas, Drawing, Num, bold_width, text_width};
use super::tree;
use crate::clustering::{Clustering, Join};
use crate::page::COLUMN;
use beside::Bar;
use grid::Grid;

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
    /// The first and the last row of each group; named where single names would be too small.
    pub groups: Vec<(usize, usize)>,
    /// Which of the groups holds the tasks that are hardly related to any other, if one does.
    pub apart: Option<usize>,
    /// The size with full colour; the largest one present if left out.
    pub limit: Option<f64>,
    /// Whether the colour bar covers both signs whatever the values are, so that several pictures share one scale.
    pub is_signed: bool,
    /// Rows and columns whose name gets a dagger.
    pub marked: Vec<usize>,
    /// What the dagger means, e.g. "outlier".
    pub mark: String,
}

/// Follows the name of a marked task; looks the same at any angle.
pub const DAGGER: &str = "\u{a0}†";

/// Longest names beside a wide picture, and beside a narrow one.
const NAMES: (usize, usize) = (18, 12);
/// Least size of type that is drawn.
const LEAST_FONT: f64 = 8.5;
/// A name's size as a part of its cell.
const FONT_OF_CELL: f64 = 0.88;
/// Distance between the matrix and the tree.
const TREE: f64 = 5.0;
/// A tree of more tasks cannot be followed; their groups are named.
const TREE_UP_TO: usize = 160;
const VALUES_UP_TO: usize = 12;
const TOOLTIPS_UP_TO: usize = 60;
/// Below this width a picture has no tooltips, no tree and shorter names.
const COMPACT: f64 = 480.0;
/// Width of a picture in a file of its own, which has no page to fit: with names, for some 150 tasks, and without.
const ALONE: (f64, f64) = (2000.0, 1200.0);
/// Shades on each side of 0 where cells share paths.
const SHADES: f64 = 24.0;

/// Sizes that follow from the number of rows and the width.
struct Layout {
    cell: f64,
    font: f64,
    left: f64,
    top: f64,
    limit: f64,
    /// How far the tree reaches; 0 if there is none.
    tree: f64,
    is_named: bool,
    is_compact: bool,
}

impl Heatmap {
    /// In the order of a clustering, with its groups, and its tree unless all joins are at one similarity.
    #[must_use]
    pub fn clustered(mut self, clustering: &Clustering) -> Self {
        self.order = Some(clustering.order.clone());
        self.groups = clustering.groups();
        self.apart = clustering.has_apart().then(|| self.groups.len() - 1);
        self.tree = if clustering.is_flat() { Vec::new() } else { clustering.joins.clone() };
        self
    }

    /// The tasks of each group, in the order shown.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let order = self.shown();
        self.groups.iter().map(|(first, last)| order[*first..=*last].to_vec()).collect()
    }

    /// The member of a group that is most alike to the others of it; of equal ones the first.
    fn centre(&self, members: &[usize]) -> usize {
        let k = self.names.len();
        let size = |task: usize| self.values[task * k + task].abs().sqrt();
        let alike = |task: usize| -> f64 {
            let with = |other: usize| match self.values[task * k + other] / (size(task) * size(other)) {
                correlation if correlation.is_finite() => correlation,
                _ => 0.0,
            };
            members.iter().filter(|other| **other != task).map(|other| with(*other)).sum()
        };
        let sums = members.iter().map(|task| (*task, alike(*task)));
        // Sums of equal values in another order differ in their last bits.
        let better = |best: (usize, f64), next: (usize, f64)| {
            if next.1 > best.1 + 1e-9 * best.1.abs() { next } else { best }
        };
        sums.reduce(better).map_or(members[0], |(task, _)| task)
    }

    /// The largest size beside the diagonal, if no cell there has a colour that can be seen although it is not 0.
    fn invisible(&self, limit: f64) -> Option<f64> {
        let k = self.names.len();
        let beside = (0..k * k).filter(|at| at / k != at % k).map(|at| self.values[at].abs());
        let largest = beside.filter(|size| drawable(*size)).fold(0.0, f64::max);
        (largest > 0.0 && largest < limit / SHADES).then_some(largest)
    }

    /// The one value of all entries beside the diagonal, if they are equal.
    pub fn only_value(&self) -> Option<f64> {
        let k = self.names.len();
        let beside = || (0..k * k).filter(|at| at / k != at % k).map(|at| self.values[at]);
        let first = beside().next()?;
        let same = |value: f64| (value - first).abs() <= 1e-9 * first.abs();
        beside().all(same).then_some(first)
    }

    /// The size with full colour.
    pub fn full_colour(&self) -> f64 {
        let largest = self.values.iter().filter(|v| drawable(**v)).fold(0.0, |m: f64, v| m.max(v.abs()));
        self.limit.filter(|l| drawable(*l) && *l > 0.0).unwrap_or(largest)
    }

    /// Draws the matrix within the column of a page.
    pub fn draw(&self) -> Drawing {
        self.draw_within(COLUMN)
    }

    /// Draws the matrix within a width; the size follows from K.
    pub fn draw_within(&self, width: f64) -> Drawing {
        self.draw_grid(&self.grid(width), width)
    }

    /// Draws the matrix for a file of its own: as wide as names need. Where there is no room for names, nothing needs the
    /// width, and every task has a cell of its own as long as the file does not get too large.
    pub fn draw_alone(&self) -> Drawing {
        let grid = self.fine_grid(ALONE.0);
        let bar = Bar::of(&grid, self.is_signed).width();
        if grid.names.is_empty() || self.layout(&grid, bar, ALONE.0).is_named {
            return self.draw_grid(&grid, ALONE.0);
        }
        self.draw_grid(&self.fine_grid(ALONE.1), ALONE.1)
    }

    fn draw_grid(&self, grid: &Grid, width: f64) -> Drawing {
        let k = self.names.len();
        assert_eq!(self.values.len(), k * k, "a heatmap of K names has K * K values");
        let mut c = Canvas::default();
        let n = grid.names.len();
        if n == 0 {
            c.text("t m", (150.0, 30.0), "no tasks yet");
            return c.finish(&self.title, 300.0, 60.0);
        }
        let bar = Bar::of(grid, self.is_signed);
        let layout = self.layout(grid, bar.width(), width);
        let side = layout.cell * n as f64;
        c.open(&format!("transform=\"translate({} {})\"", Num(layout.left), Num(layout.top)));
        c.rect("zero", (0.0, 0.0), (side, side));
        if n <= TOOLTIPS_UP_TO && !layout.is_compact {
            cells::each(&mut c, grid, &layout);
        } else {
            cells::shades(&mut c, grid, &layout);
        }
        c.rect("frame", (0.0, 0.0), (side, side));
        let overhang = if layout.is_named {
            beside::names(&mut c, grid, &layout)
        } else {
            self.name_groups(&mut c, grid, &layout);
            0.0
        };
        let (mut right, mut below) = (side, 4.0);
        if layout.tree > 0.0 {
            let (left, row) = (side + TREE, layout.cell);
            let depth = layout.tree - TREE;
            let place = tree::Place { left, depth, row, leaves: grid.block, height: side };
            right = tree::draw(&mut c, &self.tree, &place);
            below = tree::FOOT + 4.0;
        }
        right += bar.draw(&mut c, (right, side));
        c.close();
        let width = layout.left + right.max(overhang);
        let height = layout.top + side.max(beside::LEAST_BAR) + below;
        let mut drawing = c.finish(&self.title, width.ceil(), height.ceil());
        drawing.notes = self.notes(grid, &layout);
        drawing
    }

    fn layout(&self, grid: &Grid, bar: f64, width: f64) -> Layout {
        let n = grid.names.len();
        let is_compact = width < COMPACT;
        let preset = match n {
            1..=5 => 54.0,
            6..=12 => 46.0,
            13..=24 => 30.0,
            25..=60 => 15.0,
            _ => 12.0,
        };
        let has_tree = !self.tree.is_empty() && !is_compact && n * grid.block <= TREE_UP_TO;
        let tree = if has_tree { TREE + (preset * n as f64 * 0.1).clamp(60.0, 110.0) } else { 0.0 };
        let widest = |font: f64| grid.names.iter().map(|name| name_width(name, font)).fold(0.0, f64::max);
        let mut layout = Layout {
            cell: preset,
            font: 12.0,
            left: 0.0,
            top: 6.0,
            limit: grid.limit,
            tree,
            is_named: true,
            is_compact,
        };
        let fit = |left: f64| (width - left - tree - bar) / n as f64;
        layout.cell = preset.min(fit(widest(12.0) + 10.0));
        layout.font = (layout.cell * FONT_OF_CELL).clamp(LEAST_FONT, 12.0);
        // A smaller type leaves more room to the cells.
        layout.cell = preset.min(fit(widest(layout.font) + 10.0));
        layout.font = layout.font.min(layout.cell * FONT_OF_CELL);
        layout.is_named = layout.font >= LEAST_FONT && grid.block == 1;
        if layout.is_named {
            let widest = widest(layout.font);
            layout.left = widest + 10.0;
            layout.top = if layout.is_slanted(n) { widest * 0.71 + 14.0 } else { widest + 8.0 };
        } else {
            layout.left = beside::group_width(self, is_compact) + 2.0;
            let cell = preset.min(fit(layout.left + 1.0));
            // Cells of whole pixels are equally large.
            layout.cell = if cell >= 2.0 { cell.floor() } else { cell };
        }
        layout
    }

    fn notes(&self, grid: &Grid, layout: &Layout) -> Vec<String> {
        let (k, n) = (self.shown().len(), grid.names.len());
        let mut notes = Vec::new();
        if grid.block > 1 {
            notes.push(format!(
                "{k} tasks shown as {n} x {n} cells: each is the mean over blocks of {} tasks.",
                grid.block
            ));
        }
        if layout.tree > 0.0 {
            notes.push(
                "Order and tree: hierarchical clustering, average linkage on 1 − correlation. Where two groups join, \
                 the scale below the tree gives the mean correlation between them."
                    .to_owned(),
            );
        } else if !self.tree.is_empty() {
            notes.push("Order: hierarchical clustering, average linkage on 1 − correlation.".to_owned());
        }
        if !layout.is_named && !self.groups.is_empty() {
            let apart =
                if self.apart.is_some() { " Apart are those hardly related to any other." } else { "" };
            notes.push(format!("Named are groups, by their most central task.{apart}"));
        }
        let limit = Unit::Plain.tick(grid.limit, grid.limit);
        if let Some(largest) = self.invisible(grid.limit) {
            notes.push(format!(
                "Nothing can be seen beside the diagonal: the largest value there is {}, and colour is full from {limit} on.",
                plain(largest, largest)
            ));
        } else if grid.reach.1.max(-grid.reach.0) > grid.limit * (1.0 + 1e-9) {
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

    /// Whether the names of columns are slanted rather than upright.
    fn is_slanted(&self, n: usize) -> bool {
        n <= 24 && !self.is_compact
    }
}

fn name_width(name: &str, font: f64) -> f64 {
    if name.ends_with(DAGGER) { bold_width(name, font) } else { text_width(name, font) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::NARROW_COLUMN;

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
        // Too many for cells of a pixel: 2000 values cannot stand in 800 pixels.
        let smooth = map(2000, |i, j| if i / 500 == j / 500 { 0.5 } else { -0.1 });
        let grid = smooth.grid(COLUMN);
        assert_eq!((grid.block, grid.names.len()), (3, 667));
        let heatmap = map(480, wave);
        let grid = heatmap.grid(COLUMN);
        assert_eq!(
            (grid.block, grid.names.len()),
            (3, 160),
            "480 x 480 shades in no order are too many bytes"
        );
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        assert!((mean(&grid.values) - mean(&heatmap.values)).abs() < 1e-12);
        assert_eq!(grid.names[1], "task-3 – task-5");
        assert!(heatmap.draw().notes[0].starts_with("480 tasks shown as 160 x 160"));
    }

    #[test]
    fn pictures_stay_small_and_stable() {
        for k in [60, 139, 160, 412, 500] {
            let heatmap = map(k, wave);
            let svg = heatmap.draw().standalone();
            assert!(svg.len() < 500_000, "{k} tasks take {} bytes", svg.len());
            assert_eq!(svg, heatmap.draw().standalone());
            let narrow = heatmap.draw_within(NARROW_COLUMN).inline();
            assert!(narrow.len() < 150_000, "{k} tasks take {} bytes on a narrow page", narrow.len());
        }
    }

    #[test]
    fn any_number_of_tasks_fits_the_page_in_type_that_can_be_read() {
        for k in [1, 2, 5, 6, 12, 13, 24, 25, 29, 60, 61, 77, 139, 160, 161, 412, 840, 1500] {
            let mut heatmap = map(k, |i, j| if i % 4 == j % 4 { 0.8 } else { -0.1 });
            heatmap
                .names
                .iter_mut()
                .skip(1)
                .step_by(3)
                .for_each(|name| *name += " with a name that is too long");
            let heatmap = heatmap.clone().clustered(&Clustering::of(&heatmap.values, k));
            for width in [COLUMN, NARROW_COLUMN] {
                let grid = heatmap.grid(width);
                let layout = heatmap.layout(&grid, Bar::of(&grid, false).width(), width);
                assert!(layout.cell >= 1.0, "{k} tasks in {width}: a cell of {}", layout.cell);
                assert!(!layout.is_named || layout.font >= LEAST_FONT, "{k} tasks in {width}");
                let drawing = heatmap.draw_within(width);
                assert!(drawing.width() <= width, "{k} tasks in {width} take {}", drawing.width());
                let has_names = drawing.inline().contains(">task-0</text>");
                assert_eq!(has_names, layout.is_named, "{k} tasks in {width}");
            }
        }
    }

    #[test]
    fn a_file_of_its_own_has_a_cell_for_every_task_and_no_more_width_than_it_needs() {
        // In no order: nothing merges.
        for (k, block) in [(100, 1), (250, 1), (412, 1), (840, 2), (1500, 4)] {
            let heatmap = map(k, wave);
            let drawing = heatmap.draw_alone();
            let svg = drawing.inline();
            let is_named = svg.contains(">task-0</text>");
            assert_eq!(is_named, k == 100, "{k} tasks");
            assert!(drawing.width() <= if is_named { 2000.0 } else { 1200.0 }, "{k}: {}", drawing.width());
            assert_eq!(heatmap.fine_grid(ALONE.1).block, block, "{k} tasks");
            assert_eq!(drawing.notes.iter().any(|note| note.contains("blocks of")), block > 1, "{k} tasks");
            assert!(svg.len() < 1_500_000, "{k} tasks take {} bytes", svg.len());
        }
        assert!(map(0, wave).draw_alone().inline().contains("no tasks yet"));
    }

    #[test]
    fn many_tasks_are_drawn_one_by_one_with_their_groups_named() {
        let k = 412;
        let heatmap = map(k, |i, j| {
            if i == j {
                1.0
            } else if i % 4 == j % 4 {
                0.8
            } else {
                -0.1
            }
        });
        let heatmap = heatmap.clone().clustered(&Clustering::of(&heatmap.values, k));
        assert_eq!(heatmap.grid(COLUMN).block, 1);
        let drawing = heatmap.draw();
        let svg = drawing.inline();
        for name in ["task-0", "task-1", "task-2", "task-3"] {
            assert!(svg.contains(&format!(">{name} + 102</text>")), "{name}");
        }
        assert_eq!(heatmap.members().iter().map(Vec::len).collect::<Vec<_>>(), [103; 4]);
        assert!(drawing.notes.iter().any(|note| note.starts_with("Named are groups")), "{:?}", drawing.notes);
        assert!(!svg.contains("class=\"tree\""), "a tree of 412 leaves cannot be followed");
    }

    #[test]
    fn equal_entries_are_found() {
        assert_eq!(map(3, |i, j| if i == j { 1.0 } else { 0.25 }).only_value(), Some(0.25));
        assert_eq!(map(3, |i, j| (i * j) as f64).only_value(), None);
        assert_eq!(map(1, |_, _| 1.0).only_value(), None);
    }

    #[test]
    fn the_order_is_the_callers() {
        let mut heatmap = map(3, wave);
        heatmap.order = Some(vec![2, 0]);
        let grid = heatmap.grid(COLUMN);
        assert_eq!(grid.names, ["task-2", "task-0"]);
        assert_eq!(grid.values, [wave(2, 2), wave(2, 0), wave(0, 2), wave(0, 0)]);
    }

    #[test]
    fn a_tree_stands_beside_the_matrix() {
        for k in [3, 30, 139] {
            let heatmap = map(k, |i, j| if i % 2 == j % 2 { 0.8 } else { -0.4 });
            let clustering = Clustering::of(&heatmap.values, k);
            let drawing = heatmap.clone().clustered(&clustering).draw();
            let svg = drawing.inline();
            assert!(svg.contains("class=\"tree\"") && svg.contains(">−0.40</text>") && !svg.contains("NaN"));
            assert!(drawing.notes.iter().any(|note| note.starts_with("Order and tree: ")));
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
    fn a_matrix_has_one_limit_at_every_width() {
        // Blocks of 480 tasks have smaller means than the tasks have values.
        let heatmap = map(480, wave);
        let grids = [1040.0, 358.0].map(|width| heatmap.grid(width));
        assert!(grids[1].block > grids[0].block);
        for grid in &grids {
            assert_eq!((grid.limit, grid.reach), (1.0, (-1.0, 1.0)));
        }
        let labels = |svg: &str| svg.matches(">−1.0</text>").count() + svg.matches(">1.0</text>").count();
        assert_eq!([1040.0, 358.0].map(|width| labels(&heatmap.draw_within(width).inline())), [2, 2]);
    }

    #[test]
    fn a_blank_matrix_says_that_nothing_can_be_seen() {
        let mut heatmap = map(29, |i, j| if i == j { 1.0 } else { 2.6e-4 * (i + j) as f64 / 55.0 });
        heatmap.limit = Some(0.06);
        assert_eq!(
            heatmap.draw().notes,
            [
                "Nothing can be seen beside the diagonal: the largest value there is 2.6e−4, and colour is full from 0.06 on."
            ]
        );
        let plain = map(29, |i, j| f64::from(u8::from(i == j))).draw();
        assert!(plain.notes.is_empty(), "nothing is missed where all is 0: {:?}", plain.notes);
    }

    #[test]
    fn a_group_is_named_by_its_most_central_task() {
        // Of two groups of 206, the tasks 4 and 5 are those most alike to the others of their own, 0 and 1 those least.
        let value = |i: usize, j: usize| match (i == j, i % 2 == j % 2, i.min(j) < 2) {
            (true, ..) => 1.0,
            (_, true, true) => 0.62,
            (_, true, false) if [i, j].iter().any(|task| [4, 5].contains(task)) => 0.7,
            (_, true, false) => 0.66,
            (_, false, _) => -0.5,
        };
        let heatmap = map(412, value);
        let heatmap = heatmap.clone().clustered(&Clustering::of(&heatmap.values, 412));
        let svg = heatmap.draw().inline();
        assert!(svg.contains(">task-4 + 205</text>") && svg.contains(">task-5 + 205</text>"), "{svg}");
    }

    #[test]
    fn tasks_related_to_nobody_stand_apart() {
        let value = |i: usize, j: usize| match (i == j, (i % 50).min(j % 50) == 0, i % 4 == j % 4) {
            (true, ..) => 1.0,
            (_, true, _) => 0.001,
            (.., true) => 0.5,
            (.., false) => -0.2,
        };
        let heatmap = map(412, value);
        let heatmap = heatmap.clone().clustered(&Clustering::of(&heatmap.values, 412));
        let drawing = heatmap.draw();
        assert_eq!(heatmap.members().len(), 5);
        assert_eq!(heatmap.members()[4], [0, 50, 100, 150, 200, 250, 300, 350, 400]);
        assert!(drawing.inline().contains(">9 apart</text>") && !drawing.inline().contains(">task-0 +"));
        assert!(drawing.notes.iter().any(|note| note.contains("Apart are those hardly related")));
    }

    #[test]
    fn marked_tasks_are_named() {
        let mut heatmap = map(3, wave);
        (heatmap.marked, heatmap.mark) = (vec![1], "outlier".to_owned());
        let drawing = heatmap.draw();
        assert!(drawing.inline().contains("task-1\u{a0}†") && drawing.notes == ["†\u{a0}outlier."]);
    }
}
