//! A figure of two panels of lines, as SVG; colours follow the reader's theme.

use std::fmt::Write as _;

/// A panel: times against a size.
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) x_title: &'static str,
    /// Name and (size, seconds) of each line.
    pub(super) lines: Vec<(&'static str, Vec<(f64, f64)>)>,
}

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 58.0;
const COLOURS: [&str; 4] = ["#2a6fbb", "#c8552b", "#3f8f4f", "#8a5fb0"];

/// Both panels side by side, seconds on a logarithmic axis.
pub(super) fn draw(panels: &[Panel]) -> String {
    let all = panels.iter().flat_map(|panel| &panel.lines).flat_map(|(_, points)| points);
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for (_, seconds) in all {
        (low, high) = (low.min(*seconds), high.max(*seconds));
    }
    let (bottom, top) = (low.log10().floor(), high.log10().ceil());
    let total = panels.len() as f64 * (WIDTH + 20.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {}\" width=\"{total}\" font-family=\"sans-serif\" \
         font-size=\"12\"><title>Time of a fit against the number of features and of tasks</title><style>text{{fill:#333}}\
         .a{{stroke:#999}}@media (prefers-color-scheme:dark){{text{{fill:#ccc}}.a{{stroke:#777}}}}</style>\n",
        HEIGHT + 70.0
    );
    for (at, panel) in panels.iter().enumerate() {
        let offset = at as f64 * (WIDTH + 20.0);
        let most =
            panel.lines.iter().flat_map(|(_, points)| points).fold(0.0_f64, |most, point| most.max(point.0));
        let x = |size: f64| offset + LEFT + (WIDTH - LEFT - 10.0) * size / most;
        let y = |seconds: f64| 30.0 + HEIGHT * (1.0 - (seconds.log10() - bottom) / (top - bottom));
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"16\" font-weight=\"bold\">{}</text>",
            offset + LEFT,
            panel.title
        );
        let mut power = bottom;
        while power <= top {
            let level = y(10_f64.powf(power));
            let _ = writeln!(
                svg,
                "<line class=\"a\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{level:.1}\" y2=\"{level:.1}\" stroke-width=\"0.5\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{} s</text>",
                offset + LEFT,
                offset + WIDTH,
                offset + LEFT - 6.0,
                level + 4.0,
                10_f64.powf(power)
            );
            power += 1.0;
        }
        for size in panel.lines.first().iter().flat_map(|(_, points)| points).map(|point| point.0) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{size}</text>",
                x(size),
                HEIGHT + 48.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            offset + LEFT + (WIDTH - LEFT) / 2.0,
            HEIGHT + 64.0,
            panel.x_title
        );
        // The highest end is labelled above its line, the others below theirs.
        let end = |points: &[(f64, f64)]| points.last().map_or(0.0, |point| point.1);
        let highest = panel.lines.iter().map(|(_, points)| end(points)).fold(0.0, f64::max);
        for ((name, points), colour) in panel.lines.iter().zip(COLOURS) {
            let path: Vec<String> =
                points.iter().map(|(size, seconds)| format!("{:.1},{:.1}", x(*size), y(*seconds))).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                path.join(" ")
            );
            if let Some((size, seconds)) = points.last() {
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" style=\"fill:{colour}\">{name}</text>",
                    x(*size),
                    y(*seconds) + if *seconds >= highest { -6.0 } else { 14.0 }
                );
            }
        }
    }
    svg + "</svg>\n"
}
