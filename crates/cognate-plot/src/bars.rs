//! Grouped horizontal bars: a few series compared over named groups.

use super::scale::{Axis, Steps, Unit, drawable, ticks};
use super::series::{Look, legend, looks};
use super::svg::{Canvas, Drawing, shorten, text_width};

/// One series of bars.
pub struct BarSeries {
    /// What the legend calls it.
    pub name: String,
    /// One value per group; one that is not finite is drawn as "no value".
    pub values: Vec<f64>,
}

/// Grouped bars; the axis begins at 0.
pub struct BarChart {
    /// Says what the chart shows.
    pub title: String,
    /// How values are written.
    pub unit: Unit,
    /// Names of the groups, from top to bottom.
    pub groups: Vec<String>,
    /// The series, from top to bottom within a group.
    pub series: Vec<BarSeries>,
    /// Index of the series to look at first.
    pub highlight: Option<usize>,
}

const BAR: f64 = 9.0;
const PITCH: f64 = 14.0;
const GROUP_GAP: f64 = 12.0;

impl BarChart {
    /// Draws the chart at a width; the height follows from the number of bars.
    pub fn draw(&self, width: f64) -> Drawing {
        let mut c = Canvas::default();
        let looks = looks(self.series.len(), self.highlight);
        let names: Vec<&str> = self.series.iter().map(|s| s.name.as_str()).collect();
        let top = 12.0 + legend(&mut c, &names, &looks, (0.0, 0.0), width);
        let groups: Vec<String> = self.groups.iter().map(|g| shorten(g, 20)).collect();
        let left = 12.0 + groups.iter().map(|g| text_width(g, 12.0)).fold(0.0, f64::max);
        let pitch = self.series.len() as f64 * PITCH + GROUP_GAP;
        let bottom = top + groups.len() as f64 * pitch;
        let values = self.series.iter().flat_map(|s| &s.values).filter(|v| drawable(**v));
        let (lo, hi) = values.fold((0.0f64, 0.0f64), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
        let marks = ticks(lo, hi, if width < 480.0 { 3 } else { 6 });
        let ends = (marks[0], *marks.last().expect("there are at least two ticks"));
        let axis = Axis { values: ends, pixels: (left, width - 64.0), steps: Steps::Linear };
        for &t in &marks {
            let x = axis.at(t);
            c.line(if t == 0.0 { "axis" } else { "grid" }, (x, top), (x, bottom));
            c.text("t m tn", (x, bottom + 16.0), &self.unit.tick(t, marks[1] - marks[0]));
        }
        for (g, name) in groups.iter().enumerate() {
            let y = top + GROUP_GAP / 2.0 + g as f64 * pitch;
            let middle = y + (self.series.len() as f64 * PITCH) / 2.0;
            c.text("e", (left - 10.0, middle + 4.0), name);
            for (i, (s, look)) in self.series.iter().zip(&looks).enumerate() {
                let value = s.values.get(g).copied().unwrap_or(f64::NAN);
                self.bar(&mut c, &axis, *look, y + (i as f64 + 0.5) * PITCH, value);
            }
        }
        c.finish(&self.title, width, bottom + 22.0)
    }

    /// One bar about the height `y`, with the marker of its series at the end and its value behind it.
    fn bar(&self, c: &mut Canvas, axis: &Axis, look: Look, y: f64, value: f64) {
        if !drawable(value) {
            c.text("t", (axis.at(0.0) + 8.0, y + 4.0), "no value");
            return;
        }
        let (zero, end) = (axis.at(0.0), axis.at(value));
        let thick = if look.is_strong() { BAR } else { BAR * 0.55 };
        c.rect(&look.fill(), (zero.min(end), y - thick / 2.0), ((end - zero).abs(), thick));
        look.marker(c, (end, y));
        let class = if look.is_strong() { "tn b" } else { "t tn" };
        c.text(class, (end.max(zero) + 10.0, y + 4.0), &self.unit.value(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64]) -> BarChart {
        BarChart {
            title: "error".to_owned(),
            unit: Unit::Percent,
            groups: (0..values.len()).map(|i| format!("task <{i}>")).collect(),
            series: vec![BarSeries { name: "a".to_owned(), values: values.to_vec() }],
            highlight: None,
        }
    }

    #[test]
    fn missing_values_are_named() {
        let svg = chart(&[0.1, f64::NAN]).draw(500.0).inline();
        assert!(svg.contains("no value") && !svg.contains("NaN"));
        assert!(svg.contains("task &lt;1&gt;"));
    }

    #[test]
    fn zeros_negatives_and_no_bars_are_drawn() {
        for values in [&[0.0, 0.0][..], &[-0.5, 0.5], &[f64::MAX, f64::MIN], &[]] {
            let chart = chart(values);
            let svg = chart.draw(500.0).inline();
            assert!(!svg.contains("NaN") && !svg.contains("width=\"-"));
            assert_eq!(svg, chart.draw(500.0).inline());
        }
    }
}
