//! What tells series apart: colour, dash, marker; and the legend that explains them.

use super::svg::{Canvas, Num, bold_width, shorten, text_width};
use super::theme::SERIES_COLOURS;

const DASHES: [&str; 5] = ["", "7 4", "2 4", "9 3 2 3", "4 3"];
const NAME: usize = 24;
const ROW: f64 = 20.0;

/// The looks of one series. Colour, dash and marker all carry the difference, so none is needed alone.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    index: usize,
    strong: bool,
}

/// The looks of `n` series; the highlighted one takes the first colour, a solid line and more weight.
pub(crate) fn looks(n: usize, highlight: Option<usize>) -> Vec<Look> {
    let highlight = highlight.filter(|h| *h < n);
    let mut next = usize::from(highlight.is_some());
    (0..n)
        .map(|i| {
            if highlight == Some(i) {
                return Look { index: 0, strong: true };
            }
            next += 1;
            Look { index: next - 1, strong: false }
        })
        .collect()
}

impl Look {
    /// Class for shapes filled with the colour.
    pub(crate) fn fill(self) -> String {
        format!("f{}", self.index % SERIES_COLOURS)
    }

    /// Whether this is the highlighted series.
    pub(crate) fn is_strong(self) -> bool {
        self.strong
    }

    /// A line through the path `d`.
    pub(crate) fn line(self, c: &mut Canvas, d: &str) {
        let colour = self.index % SERIES_COLOURS;
        let strong = if self.strong { " strong" } else { "" };
        let dash = match DASHES[self.index % DASHES.len()] {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        c.put(format_args!("<path class=\"line l{colour}{strong}\"{dash} d=\"{d}\"/>\n"));
    }

    /// The marker at a place.
    pub(crate) fn marker(self, c: &mut Canvas, (x, y): (f64, f64)) {
        let r = if self.strong { 5.0 } else { 4.4 };
        let corners: &[(f64, f64)] = match self.index % 6 {
            0 => &[],
            1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => &[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
            3 => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            4 => &[(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
            _ => &[(-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)],
        };
        let class = self.fill();
        if corners.is_empty() {
            let (x, y, r) = (Num(x), Num(y), Num(r));
            c.put(format_args!("<circle class=\"{class} mark\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>\n"));
            return;
        }
        let points = corners.iter().map(|(dx, dy)| format!("{} {}", Num(x + r * dx), Num(y + r * dy)));
        let d = format!("M{}z", points.collect::<Vec<_>>().join("L"));
        c.path(&format!("{class} mark"), &d, "");
    }
}

/// The width of one entry of a legend.
pub(crate) fn entry_width(name: &str, look: Look) -> f64 {
    let name = shorten(name, NAME);
    38.0 + if look.strong { bold_width(&name, 12.0) } else { text_width(&name, 12.0) }
}

/// Draws a legend from `(x, y)` to the right, in as many rows as `width` requires; returns its height.
pub(crate) fn legend(c: &mut Canvas, names: &[&str], looks: &[Look], (x, y): (f64, f64), width: f64) -> f64 {
    let (mut left, mut top) = (x, y);
    for (name, look) in names.iter().zip(looks) {
        let needs = entry_width(name, *look) + 14.0;
        let name = shorten(name, NAME);
        if left > x && left + needs > x + width {
            (left, top) = (x, top + ROW);
        }
        let middle = top + ROW / 2.0;
        look.line(c, &format!("M{} {}h26", Num(left), Num(middle)));
        look.marker(c, (left + 13.0, middle));
        c.text(if look.strong { "b" } else { "" }, (left + 33.0, middle + 4.0), &name);
        left += needs;
    }
    if names.is_empty() { 0.0 } else { top + ROW - y }
}

/// Moves labels apart until each has `gap` to the next, within `lo..=hi`, as little as needed.
pub(crate) fn spread(wanted: &[f64], gap: f64, lo: f64, hi: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]).then(a.cmp(b)));
    // Pool adjacent violators: clusters (sum of offset-free wishes, size) merge until they do not overlap.
    let mut clusters: Vec<(f64, usize)> = Vec::new();
    for &i in &order {
        clusters.push((wanted[i], 1));
        while let [.., (above, n), (below, m)] = clusters[..] {
            let (a, b) = (above / n as f64, below / m as f64);
            if b - a >= gap * (n + m) as f64 / 2.0 {
                break;
            }
            clusters.truncate(clusters.len() - 2);
            clusters.push((above + below, n + m));
        }
    }
    let mut places = vec![0.0; wanted.len()];
    let mut rank = 0;
    for (sum, n) in clusters {
        for j in 0..n {
            places[order[rank]] = sum / n as f64 + gap * (j as f64 - (n - 1) as f64 / 2.0);
            rank += 1;
        }
    }
    clamp(&mut places, &order, gap, lo, hi);
    places
}

fn clamp(places: &mut [f64], order: &[usize], gap: f64, lo: f64, hi: f64) {
    let mut least = lo;
    for &i in order {
        places[i] = places[i].max(least);
        least = places[i] + gap;
    }
    let mut most = hi;
    for &i in order.iter().rev() {
        places[i] = places[i].min(most);
        most = places[i] - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap_and_stay_inside() {
        let places = spread(&[50.0, 51.0, 52.0, 10.0, 99.0, 98.0], 14.0, 0.0, 100.0);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|w| w[1] - w[0] > 13.999), "{sorted:?}");
        assert!(sorted[0] >= 0.0 && sorted[5] <= 100.0);
        assert!((places[3] - 10.0).abs() < 1e-9, "a label with room stays where it belongs");
        assert!(places[0] < places[1] && places[1] < places[2] && places[5] < places[4]);
    }

    #[test]
    fn the_highlighted_series_takes_the_first_look() {
        let looks = looks(3, Some(2));
        assert_eq!(looks.iter().map(|l| l.index).collect::<Vec<_>>(), [1, 2, 0]);
        assert!(looks[2].strong && !looks[0].strong);
    }
}
