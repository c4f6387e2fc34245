//! Line charts: named series with labels at their ends, over thin grey lines in the background.

use super::numbers::{parameter, short_count};
use super::scale::{Axis, Steps, Unit, drawable, powers, ticks};
use super::series::{Look, entry_width, legend, looks, spread};
use super::svg::{Canvas, Drawing, Num, add, bold_width, shorten, text_width};

/// A named line.
#[derive(Clone, Default)]
pub struct Series {
    /// What the legend and the label at its end call it.
    pub name: String,
    /// The points, from left to right. A value that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

/// A point that is singled out.
#[derive(Clone)]
pub struct Mark {
    /// Where it is.
    pub at: (f64, f64),
    /// What it is; stands at the top of a line through it.
    pub text: String,
}

/// How much is drawn around the lines.
#[derive(Clone, Copy, PartialEq)]
pub enum Detail {
    /// Legend, axis titles, labels at the ends.
    Full,
    /// Axes only: one of many small charts that share a legend.
    Small,
}

/// A line chart; the y axis begins at 0 (or below, if a value is negative).
#[derive(Clone, Default)]
pub struct LineChart {
    /// Says what the chart shows: for readers who cannot see it, and as the title of a separate file.
    pub title: String,
    /// Title of the x axis.
    pub x_title: String,
    /// Title of the y axis.
    pub y_title: String,
    /// Linear or by doublings. Points at or below 0 cannot be shown by doublings.
    pub x_steps: Steps,
    /// Where the x axis has ticks, instead of at round values: for values that someone chose.
    pub x_values: Vec<f64>,
    /// How y values are written.
    pub y_unit: Unit,
    /// The lines that matter.
    pub series: Vec<Series>,
    /// Index of the series to look at first.
    pub highlight: Option<usize>,
    /// Thin grey lines behind; their names are tooltips.
    pub background: Vec<Series>,
    /// A point to be singled out.
    pub mark: Option<Mark>,
    /// The axes reach at least to these x and y, so that several charts can share a frame.
    pub reach: Option<(f64, f64)>,
}

/// Where the lines are drawn, in values and pixels.
struct Frame {
    x: Axis,
    y: Axis,
    x_ticks: Vec<f64>,
    y_ticks: Vec<f64>,
}

const LABEL_GAP: f64 = 15.0;
/// Height of a line of the text of a mark.
const MARK_ROW: f64 = 14.0;

impl LineChart {
    /// Draws the chart at a size in pixels; a legend comes on top of the height.
    pub fn draw(&self, width: f64, mut height: f64, detail: Detail) -> Drawing {
        let mut c = Canvas::default();
        let looks = looks(self.series.len(), self.highlight);
        let mut top = 8.0;
        if detail == Detail::Full {
            if self.series.len() > 1 {
                let names: Vec<&str> = self.series.iter().map(|s| s.name.as_str()).collect();
                let rows = legend(&mut c, &names, &looks, (0.0, 0.0), width);
                (top, height) = (rows + 10.0, height + rows);
            }
            c.text("t", (0.0, top + 8.0), &self.y_title);
            // The text of a mark has rows of its own.
            let rows = match self.mark_text(width).len() {
                0 => 0.0,
                lines => 4.0 + MARK_ROW * lines as f64,
            };
            (top, height) = (top + 22.0 + rows, height + rows);
        }
        let labels = self.end_labels(width, detail);
        let right = labels.iter().map(|l| bold_width(l, 12.0)).fold(0.0, f64::max);
        let right = if labels.is_empty() { 14.0 } else { right + 22.0 };
        let bottom = if detail == Detail::Full { 42.0 } else { 22.0 };
        let Some(frame) = self.frame((width, right), (top, height - bottom), detail) else {
            c.text("t m", (width / 2.0, height / 2.0), "nothing to draw yet");
            return c.finish(&self.title, width, height);
        };
        self.axes(&mut c, &frame, detail);
        self.mark_line(&mut c, &frame, width);
        for s in &self.background {
            c.path("quiet", &frame.trace(&s.points), &shorten(&s.name, 60));
        }
        for (s, look) in self.series.iter().zip(&looks) {
            look.line(&mut c, &frame.trace(&s.points));
        }
        for (s, look) in self.series.iter().zip(&looks) {
            frame.markers(&mut c, &s.points, *look, detail);
        }
        self.mark_ring(&mut c, &frame);
        self.label_ends(&mut c, &frame, &looks, &labels);
        let mut drawing = c.finish(&self.title, width, height);
        drawing.notes.extend(self.skipped());
        drawing
    }

    fn usable(&self, point: &(f64, f64)) -> bool {
        usable(*point, self.x_steps)
    }

    fn all_points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.series.iter().chain(&self.background).flat_map(|s| &s.points)
    }

    fn skipped(&self) -> Option<String> {
        let n = self.all_points().filter(|p| !self.usable(p)).count();
        (n > 0).then(|| format!("{n} points without a value that can be drawn are left out."))
    }

    /// Label at the end of each series: its name and last value. Empty for a series without points.
    fn end_labels(&self, width: f64, detail: Detail) -> Vec<String> {
        if detail == Detail::Small {
            return Vec::new();
        }
        // On a narrow chart the legend has the names, which leaves the room to the lines; a single line is named
        // by the title.
        let most = if width < 520.0 || self.series.len() == 1 { 0 } else { 20 };
        let label = |s: &Series| match s.points.iter().rev().find(|p| self.usable(p)) {
            Some((_, y)) if most > 0 => format!("{} {}", shorten(&s.name, most), self.y_unit.value(*y)),
            Some((_, y)) => self.y_unit.value(*y),
            None => String::new(),
        };
        self.series.iter().map(label).collect()
    }

    fn frame(&self, (width, right): (f64, f64), (top, bottom): (f64, f64), detail: Detail) -> Option<Frame> {
        let reach = self.reach.iter();
        let (mut x, mut y) = ((f64::INFINITY, f64::NEG_INFINITY), (0.0f64, 0.0f64));
        for p in self.all_points().chain(reach).filter(|p| self.usable(p)) {
            x = (x.0.min(p.0), x.1.max(p.0));
            y = (y.0.min(p.1), y.1.max(p.1));
        }
        if x.0 > x.1 {
            return None;
        }
        let full = detail == Detail::Full;
        let y_ticks = ticks(y.0, y.1, if full { 5 } else { 3 });
        let step = y_ticks[1] - y_ticks[0];
        let widest =
            y_ticks.iter().map(|t| text_width(&self.y_unit.tick(*t, step), 11.0)).fold(0.0, f64::max);
        let left = widest + 8.0;
        let room = ((width - left - right) / 66.0).clamp(2.0, 12.0);
        let x_ticks = match self.x_steps {
            _ if !self.x_values.is_empty() => {
                self.x_values.iter().copied().filter(|t| (x.0..=x.1).contains(t)).collect()
            }
            Steps::Log2 => powers(x.0, x.1, room as i32),
            Steps::Linear => {
                let all = ticks(x.0, x.1, room as usize);
                all.into_iter().filter(|t| (x.0..=x.1).contains(t)).collect()
            }
        };
        let y_values = (y_ticks[0], *y_ticks.last().expect("there are at least two ticks"));
        Some(Frame {
            x: Axis { values: x, pixels: (left, width - right), steps: self.x_steps },
            y: Axis { values: y_values, pixels: (bottom, top), steps: Steps::Linear },
            x_ticks,
            y_ticks,
        })
    }

    fn axes(&self, c: &mut Canvas, f: &Frame, detail: Detail) {
        let ((left, right), (bottom, top)) = (f.x.pixels, f.y.pixels);
        let step = f.y_ticks[1] - f.y_ticks[0];
        for &t in &f.y_ticks {
            let y = f.y.at(t);
            c.line(if t == 0.0 { "axis" } else { "grid" }, (left, y), (right, y));
            c.text("t e tn", (left - 6.0, y + 4.0), &self.y_unit.tick(t, step));
        }
        let mut labelled = f64::NEG_INFINITY;
        for &t in &f.x_ticks {
            let x = f.x.at(t);
            c.line("axis", (x, bottom), (x, bottom + 4.0));
            let text = if self.x_values.is_empty() { short_count(t) } else { parameter(t) };
            let half = text_width(&text, 11.0) / 2.0;
            // Values that someone chose may be close to each other: a tick without room keeps its line.
            if x - half >= labelled {
                c.text("t m tn", (x, bottom + 17.0), &text);
                labelled = x + half + 8.0;
            }
        }
        if detail == Detail::Full {
            c.text("t e", (right, bottom.max(top) + 36.0), &self.x_title);
        }
    }

    /// The text of the mark in lines that fit a width.
    fn mark_text(&self, width: f64) -> Vec<String> {
        let room = width - 4.0;
        let mut lines: Vec<String> = Vec::new();
        for word in self.mark.iter().flat_map(|mark| mark.text.split(' ')) {
            match lines.last_mut() {
                Some(line) if bold_width(&format!("{line} {word}"), 12.0) <= room => {
                    *line += &format!(" {word}");
                }
                _ => lines.push(shorten(word, (room / 12.0) as usize)),
            }
        }
        lines
    }

    /// A line through the marked point, and its text above the frame.
    fn mark_line(&self, c: &mut Canvas, f: &Frame, width: f64) {
        let Some((x, _)) = self.mark.as_ref().and_then(|mark| f.place(mark.at)) else { return };
        let ((left, right), (bottom, top)) = (f.x.pixels, f.y.pixels);
        c.path("chosen", &format!("M{} {}V{}", Num(x), Num(bottom), Num(top - 4.0)), "");
        for (at, line) in self.mark_text(width).iter().rev().enumerate() {
            let half = bold_width(line, 12.0) / 2.0;
            // Within the frame, whichever side the point is on; a long line within the picture.
            let (left, right) = if right - left > 2.0 * half { (left, right) } else { (2.0, width - 2.0) };
            let middle =
                if right - left > 2.0 * half { x.clamp(left + half, right - half) } else { width / 2.0 };
            c.text("m b", (middle, top - 9.0 - MARK_ROW * at as f64), line);
        }
    }

    /// A ring about the marked point.
    fn mark_ring(&self, c: &mut Canvas, f: &Frame) {
        if let Some((x, y)) = self.mark.as_ref().and_then(|mark| f.place(mark.at)) {
            let (x, y) = (Num(x), Num(y));
            c.put(format_args!("<circle class=\"halo\" cx=\"{x}\" cy=\"{y}\" r=\"9\"/>\n"));
        }
    }

    fn label_ends(&self, c: &mut Canvas, f: &Frame, looks: &[Look], labels: &[String]) {
        let mut ends = Vec::new();
        for (i, label) in labels.iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            let p = self.series[i].points.iter().rev().find(|p| self.usable(p));
            let &(x, y) = p.expect("a labelled series has a point");
            ends.push((i, label, (f.x.at(x), f.y.at(y))));
        }
        // When there is no room for all, the highlighted one and the first ones stay; the legend has the rest.
        ends.sort_by_key(|(i, ..)| (!looks[*i].is_strong(), *i));
        ends.truncate(((f.y.pixels.0 - f.y.pixels.1) / LABEL_GAP) as usize);
        let wanted: Vec<f64> = ends.iter().map(|e| e.2.1).collect();
        let places = spread(&wanted, LABEL_GAP, f.y.pixels.1, f.y.pixels.0 - 4.0);
        let left = f.x.pixels.1 + 14.0;
        for ((i, label, (x, y)), place) in ends.into_iter().zip(places) {
            if (place - y).abs() > 2.0 || left - x > 20.0 {
                let d = format!("M{} {}L{} {}", Num(x + 6.0), Num(y), Num(left - 2.0), Num(place));
                c.path("leader", &d, "");
            }
            let weight = if looks[i].is_strong() { " b" } else { "" };
            c.text(&format!("tn {}{weight}", looks[i].fill()), (left, place + 4.0), label);
        }
    }
}

fn usable((x, y): (f64, f64), x_steps: Steps) -> bool {
    drawable(x) && drawable(y) && (x_steps == Steps::Linear || x > 0.0)
}

impl Frame {
    fn place(&self, point: (f64, f64)) -> Option<(f64, f64)> {
        usable(point, self.x.steps).then(|| (self.x.at(point.0), self.y.at(point.1)))
    }

    /// The path through the points; points nearer than a pixel add bytes but nothing to see.
    fn trace(&self, points: &[(f64, f64)]) -> String {
        let (mut d, mut pen_down, mut last_x) = (String::new(), false, f64::NEG_INFINITY);
        for (i, point) in points.iter().enumerate() {
            let Some((x, y)) = self.place(*point) else {
                pen_down = false;
                continue;
            };
            if pen_down && x - last_x < 1.0 && i + 1 < points.len() {
                continue;
            }
            let pen = if pen_down { 'L' } else { 'M' };
            add(&mut d, format_args!("{pen}{} {}", Num(x), Num(y)));
            (pen_down, last_x) = (true, x);
        }
        d
    }

    /// Markers far enough apart to be told from each other, and one at the end.
    fn markers(&self, c: &mut Canvas, points: &[(f64, f64)], look: Look, detail: Detail) {
        let mut places: Vec<_> = points.iter().filter_map(|p| self.place(*p)).collect();
        let Some(end) = places.pop() else { return };
        let mut last = f64::NEG_INFINITY;
        for p in places {
            if detail == Detail::Full && p.0 - last >= 70.0 && end.0 - p.0 >= 35.0 {
                look.marker(c, p);
                last = p.0;
            }
        }
        look.marker(c, end);
    }
}

/// The entries of a legend one by one, for a group of small charts: the page sets them in as many rows as they need.
pub fn legend_items(names: &[&str], highlight: Option<usize>) -> Vec<Drawing> {
    let item = |(name, look): (&&str, &Look)| {
        let mut c = Canvas::default();
        let height = legend(&mut c, &[*name], &[*look], (0.0, 0.0), f64::INFINITY);
        c.finish(name, entry_width(name, *look), height)
    };
    names.iter().zip(&looks(names.len(), highlight)).map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_mark_is_within_the_picture_whatever_its_width() {
        let text =
            "chosen: cluster (between 1, clusters 2, mean 0.1, within 0.5), lambda 0.1, 12.34\u{202f}%";
        for width in [370.0, 1040.0] {
            for (at, mark) in [(0.1, text), (1.0, text), (10.0, text), (10.0, "chosen: lambda 10")] {
                let chart = LineChart {
                    x_steps: Steps::Log2,
                    series: vec![Series {
                        name: "p".to_owned(),
                        points: vec![(0.1, 0.3), (1.0, 0.2), (10.0, 0.3)],
                    }],
                    mark: Some(Mark { at: (at, 0.3), text: mark.to_owned() }),
                    ..LineChart::default()
                };
                let svg = chart.draw(width, 320.0, Detail::Full).inline();
                let lines: Vec<(f64, f64, &str)> = svg
                    .split("<text class=\"m b\" x=\"")
                    .skip(1)
                    .map(|rest| {
                        let (x, rest) = rest.split_once("\" y=\"").unwrap();
                        let (y, rest) = rest.split_once("\">").unwrap();
                        (x.parse().unwrap(), y.parse().unwrap(), rest.split_once("</text>").unwrap().0)
                    })
                    .collect();
                let mut words: Vec<(f64, &str)> = lines.iter().map(|(_, y, line)| (*y, *line)).collect();
                words.sort_by(|a, b| a.0.total_cmp(&b.0));
                let read: Vec<&str> = words.iter().map(|(_, line)| *line).collect();
                assert_eq!(read.join(" "), mark, "nothing is lost at {width}");
                for (x, y, line) in &lines {
                    let half = bold_width(line, 12.0) / 2.0;
                    assert!(x - half >= 0.0 && x + half <= width && *y > 8.0, "{line:?} at {x} in {width}");
                }
                assert!(words.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 12.0), "lines do not overlap");
            }
        }
    }

    fn chart(series: Vec<Series>) -> LineChart {
        LineChart { series, x_steps: Steps::Log2, y_unit: Unit::Percent, ..LineChart::default() }
    }

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), points: points.to_vec() }
    }

    #[test]
    fn same_data_same_bytes() {
        let c =
            chart(vec![series("a", &[(1.0, 0.5), (2.0, 0.25)]), series("<b>", &[(1.0, 0.4), (2.0, 0.3)])]);
        let once = c.draw(600.0, 300.0, Detail::Full).inline();
        assert_eq!(once, c.draw(600.0, 300.0, Detail::Full).inline());
        assert!(once.contains("&lt;b&gt; 30.0") && !once.contains("<b>"));
    }

    #[test]
    fn nothing_to_draw_is_said() {
        for c in [chart(vec![]), chart(vec![series("a", &[])]), chart(vec![series("a", &[(1.0, f64::NAN)])])]
        {
            assert!(c.draw(600.0, 300.0, Detail::Full).inline().contains("nothing to draw"));
        }
    }

    #[test]
    fn values_that_are_no_numbers_leave_a_gap_and_a_note() {
        let c = chart(vec![series("a", &[(1.0, 0.5), (2.0, f64::NAN), (4.0, 0.25), (0.0, 0.1), (8.0, 0.2)])]);
        let drawing = c.draw(600.0, 300.0, Detail::Full);
        assert_eq!(drawing.notes, ["2 points without a value that can be drawn are left out."]);
        let svg = drawing.inline();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let line = svg.lines().find(|l| l.contains("class=\"line")).expect("the line is drawn");
        assert!(line.matches('M').count() >= 2, "the line breaks: {line}");
    }

    #[test]
    fn equal_values_and_single_points_are_drawn() {
        let huge = [(1.0, f64::MAX), (2.0, -f64::MAX), (4.0, 1e150), (8.0, 1e-310)];
        for points in [&[(1.0, 0.0), (2.0, 0.0)][..], &[(5.0, 0.3)], &[(3.0, 0.2), (3.0, 0.2)], &huge] {
            let svg = chart(vec![series("a", points)]).draw(380.0, 260.0, Detail::Full).inline();
            assert!(svg.contains("class=\"line") && !svg.contains("NaN"));
        }
    }

    #[test]
    fn a_marked_point_has_a_line_a_ring_and_a_text() {
        let mut c = chart(vec![series("a", &[(0.1, 0.5), (1.0, 0.25), (10.0, 0.4)])]);
        assert!(!c.draw(600.0, 300.0, Detail::Full).inline().contains("halo"));
        for x in [0.1, 1.0, 10.0] {
            c.mark = Some(Mark { at: (x, 0.25), text: "chosen: <1>".to_owned() });
            let svg = c.draw(600.0, 300.0, Detail::Full).inline();
            assert_eq!(svg.matches("class=\"halo\"").count(), 1);
            assert!(svg.contains("class=\"chosen\"") && svg.contains(">chosen: &lt;1&gt;</text>"));
        }
        c.mark = Some(Mark { at: (0.0, 0.25), text: "nowhere".to_owned() });
        assert!(
            !c.draw(600.0, 300.0, Detail::Full).inline().contains("halo"),
            "0 is on no axis of doublings"
        );
    }

    #[test]
    fn ticks_can_be_the_values_that_were_tried() {
        let tried = [0.001, 0.01, 0.1, 1.0, 10.0];
        let points: Vec<(f64, f64)> = tried.iter().map(|x| (*x, 0.3)).collect();
        let c = LineChart { x_values: tried.to_vec(), ..chart(vec![series("a", &points)]) };
        let labels = |svg: &str| -> Vec<String> {
            let texts = svg.split("class=\"t m tn\"").skip(1);
            texts.map(|rest| rest.split(['>', '<']).nth(1).unwrap_or_default().to_owned()).collect()
        };
        let svg = c.draw(600.0, 300.0, Detail::Full).inline();
        assert_eq!(labels(&svg), ["0.001", "0.01", "0.1", "1", "10"]);
        // Too close to each other to be all named: every one has a tick, and no two names overlap.
        let tried: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i) / 100.0).collect();
        let points: Vec<(f64, f64)> = tried.iter().map(|x| (*x, 0.3)).collect();
        let c = LineChart { x_values: tried, ..chart(vec![series("a", &points)]) };
        let svg = c.draw(370.0, 300.0, Detail::Full).inline();
        assert!((3..20).contains(&labels(&svg).len()), "{:?}", labels(&svg));
        // One axis line at 0, and one tick per value.
        assert_eq!(svg.matches("class=\"axis\"").count(), 41);
    }

    #[test]
    fn long_curves_are_thinned_to_the_pixels() {
        let points: Vec<(f64, f64)> = (1..200_000).map(|i| (i as f64, 0.5 / i as f64)).collect();
        let c = LineChart { series: vec![series("a", &points)], ..LineChart::default() };
        assert!(c.draw(900.0, 300.0, Detail::Full).inline().len() < 30_000);
    }
}
