//! The cells of a matrix: one by one, or by shade where they are many.

use std::collections::BTreeMap;

use super::grid::Grid;
use super::{Layout, SHADES, VALUES_UP_TO};
use crate::numbers::plain;
use crate::svg::{Canvas, Num, add, escape};

/// One element per cell, with tooltip, and with the value if there is room.
pub(super) fn each(c: &mut Canvas, grid: &Grid, layout: &Layout) {
    let (n, cell) = (grid.names.len(), Num(layout.cell));
    let mut minus = String::new();
    for (i, value) in grid.values.iter().enumerate() {
        let (row, column) = (i / n, i % n);
        let (x, y) = (column as f64 * layout.cell, row as f64 * layout.cell);
        let (px, py) = (Num(x), Num(y));
        let name = |at: usize| if grid.tips[at].is_empty() { &grid.names[at] } else { &grid.tips[at] };
        let tip = format!("{} × {}: {}", name(row), name(column), plain(*value, layout.limit));
        let tip = escape(&tip);
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

/// The lines of one shade: a path of moves and runs, each relative to the end of the last.
#[derive(Default)]
struct Lines {
    d: String,
    pen: (usize, usize),
}

impl Lines {
    fn run(&mut self, (x, y): (usize, usize), length: usize) {
        let (right, down) = (Num(x as f64 - self.pen.0 as f64), Num(y as f64 - self.pen.1 as f64));
        add(&mut self.d, format_args!("m{right} {down}h{length}"));
        self.pen = (x + length, y);
    }
}

/// One path per shade, in units of a cell; a run of one shade within a row is one line, as thick as the row.
pub(super) fn shades(c: &mut Canvas, grid: &Grid, layout: &Layout) {
    let mut paths: BTreeMap<i32, Lines> = BTreeMap::new();
    let (mut crosses, mut minus) = (String::new(), String::new());
    for (y, row) in grid.values.chunks(grid.names.len()).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|a, b| grid.shade(*a) == grid.shade(*b)) {
            match grid.shade(run[0]) {
                Some(0) => {}
                Some(shade) => {
                    paths.entry(shade).or_default().run((x, y), run.len());
                    // The sign must not depend on the hue alone, where there is room to say it.
                    if shade < -6 && layout.is_named {
                        for i in x..x + run.len() {
                            add(&mut minus, format_args!("M{i}.3 {y}.5h.4"));
                        }
                    }
                }
                None => {
                    for i in x..x + run.len() {
                        add(&mut crosses, format_args!("M{i} {y}l1 1m-1 0l1 -1"));
                    }
                }
            }
            x += run.len();
        }
    }
    c.open(&format!(
        "transform=\"scale({})\" shape-rendering=\"crispEdges\" fill=\"none\"",
        Num(layout.cell)
    ));
    for (shade, Lines { d, .. }) in &paths {
        let (sign, strength) = (if *shade < 0 { "sn" } else { "sp" }, Num(f64::from(shade.abs()) / SHADES));
        // From the middle of the first row, where a line of its thickness lies.
        c.put(format_args!("<path class=\"{sign}\" stroke-opacity=\"{strength}\" d=\"M0 .5{d}\"/>\n"));
    }
    if !minus.is_empty() {
        c.put(format_args!("<path class=\"minus\" vector-effect=\"non-scaling-stroke\" d=\"{minus}\"/>\n"));
    }
    if !crosses.is_empty() {
        c.put(format_args!("<path class=\"none\" vector-effect=\"non-scaling-stroke\" d=\"{crosses}\"/>\n"));
    }
    c.close();
}
