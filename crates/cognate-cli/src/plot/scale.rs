//! From values to places and labels: axes, ticks, and how numbers are written.

/// How values of an axis are written.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Unit {
    /// As they are.
    #[default]
    Plain,
    /// Fractions as percentages.
    Percent,
}

impl Unit {
    /// A tick label with the decimals that `step` needs.
    pub(crate) fn tick(self, value: f64, step: f64) -> String {
        let (value, step) = if self == Self::Percent { (value * 100.0, step * 100.0) } else { (value, step) };
        if !(1e-6..1e9).contains(&step) {
            return minus(&format!("{value:.1e}"));
        }
        let places = (-step.abs().log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
        let text = minus(&format!("{:.places$}", value + 0.0));
        if self == Self::Percent { text + "\u{202f}%" } else { text }
    }

    /// A value in a label, with about three digits.
    pub(crate) fn value(self, value: f64) -> String {
        match self {
            Self::Plain => plain(value, value.abs()),
            Self::Percent => percent(value, 1),
        }
    }
}

/// A fraction as a percentage with `places` decimals; a dash if there is no value.
pub(crate) fn percent(fraction: f64, places: usize) -> String {
    if fraction.is_finite() {
        minus(&format!("{:.places$}\u{202f}%", fraction * 100.0))
    } else {
        "–".to_owned()
    }
}

/// A number with the decimals that fit values as large as `largest`; a dash if there is no value.
pub(crate) fn plain(value: f64, largest: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let magnitude = if largest > 0.0 { largest.log10().floor() } else { 0.0 };
    if !(-3.0..7.0).contains(&magnitude) {
        return minus(&format!("{value:.1e}"));
    }
    let places = (2.0 - magnitude).clamp(0.0, 4.0) as usize;
    let text = format!("{value:.places$}");
    // A tiny negative number must not be written as minus zero.
    let text = if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    };
    minus(&text)
}

/// A whole number with its thousands marked.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A count on an axis: whole below 100,000, then `131k`, `1.05M`, `2.1G`.
pub(crate) fn short_count(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        v if v < 1e5 => {
            let whole = v.fract() == 0.0 && value >= 0.0;
            return if whole { count(v as u64) } else { plain(value, v) };
        }
        v if v < 1e6 => (value / 1e3, "k"),
        v if v < 1e9 => (value / 1e6, "M"),
        _ => (value / 1e9, "G"),
    };
    let places = if scaled.abs() < 10.0 { 2 } else { 0 };
    let text = format!("{scaled:.places$}");
    let text = if places > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    minus(text) + suffix
}

/// Whether a value can be drawn: beyond these sizes differences and ratios leave the range of `f64`.
pub(crate) fn drawable(value: f64) -> bool {
    value.abs() <= 1e150
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// Round ticks that cover `lo..=hi` (the first at or below, the last at or above), about `target` of them.
pub(crate) fn ticks(lo: f64, hi: f64, target: usize) -> Vec<f64> {
    let span = if hi - lo > 1e-300 { hi - lo } else { 1.0 };
    let raw = span / target.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= raw * 0.999).unwrap_or(raw);
    let first = (lo / step + 1e-9).floor();
    let last = (hi / step - 1e-9).ceil().max(first + 1.0);
    // Multiples, not sums: a running sum would drift off the round values.
    (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect()
}

/// Powers of two within `lo..=hi`, at most `most` of them.
pub(crate) fn powers(lo: f64, hi: f64, most: i32) -> Vec<f64> {
    let first = (lo.log2() - 1e-9).ceil() as i32;
    let last = (hi.log2() + 1e-9).floor() as i32;
    let every = (last - first) / most.max(1) + 1;
    (first..=last).filter(|e| (last - e) % every == 0).map(|e| 2f64.powi(e)).collect()
}

/// Whether an axis counts steps or doublings.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Steps {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long; ticks are powers of two.
    Log2,
}

/// Maps values to pixels.
pub(crate) struct Axis {
    /// Smallest and largest value.
    pub(crate) values: (f64, f64),
    /// Where these two lie.
    pub(crate) pixels: (f64, f64),
    /// Linear or logarithmic.
    pub(crate) steps: Steps,
}

impl Axis {
    /// The pixel of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let f = |v: f64| if self.steps == Steps::Log2 { v.log2() } else { v };
        let (lo, hi) = (f(self.values.0), f(self.values.1));
        let part = if hi > lo { (f(value) - lo) / (hi - lo) } else { 0.5 };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover() {
        assert_eq!(ticks(0.0, 0.37, 5), [0.0, 1.0, 2.0, 3.0, 4.0].map(|i| i * 0.1));
        assert_eq!(ticks(0.0, 100.0, 4), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(-1.0, 1.0, 4), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(ticks(0.0, 0.0, 4).len(), 2, "all values equal to zero still make an axis");
    }

    #[test]
    fn powers_of_two_are_thinned() {
        assert_eq!(powers(16.0, 1000.0, 8), [16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        assert_eq!(powers(1.0, 1024.0, 4), [2.0, 16.0, 128.0, 1024.0]);
        assert_eq!(powers(5.0, 7.0, 4), [] as [f64; 0]);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(Unit::Percent.tick(0.05, 0.05), "5\u{202f}%");
        assert_eq!(Unit::Percent.tick(0.025, 0.005), "2.5\u{202f}%");
        assert_eq!(Unit::Plain.tick(-0.5, 0.05), "−0.50");
        assert_eq!([count(7), count(15_362), count(1_000_000)], ["7", "15,362", "1,000,000"]);
        assert_eq!([4096.0, 131_072.0, 1_048_576.0].map(short_count), ["4,096", "131k", "1.05M"]);
        assert_eq!([plain(-0.0001, 1.0), plain(0.1234, 0.14), plain(f64::NAN, 1.0)], ["0.00", "0.123", "–"]);
        assert_eq!(plain(1.5e-9, 1.5e-9), "1.5e−9");
    }
}
