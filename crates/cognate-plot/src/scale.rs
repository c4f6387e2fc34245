//! From values to positions: axes, ticks and their labels.

use super::numbers::{minus, percent, plain, significant};

/// How values of an axis are written.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Unit {
    /// As they are.
    #[default]
    Plain,
    /// Fractions as percentages.
    Percent,
    /// In the units of the data, with the digits of the tables.
    Measured,
}

impl Unit {
    /// A tick label with the decimals that `step` needs.
    pub fn tick(self, value: f64, step: f64) -> String {
        let (value, step) = if self == Self::Percent { (value * 100.0, step * 100.0) } else { (value, step) };
        if !(1e-6..1e9).contains(&step) {
            return minus(&format!("{value:.1e}"));
        }
        let places = (-step.abs().log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
        let text = minus(&format!("{:.places$}", value + 0.0));
        if self == Self::Percent { text + "\u{202f}%" } else { text }
    }

    /// A value in a label, as tables write it.
    pub fn value(self, value: f64) -> String {
        match self {
            Self::Plain => plain(value, value.abs()),
            // The decimals of the tables, so that one number is not written in two ways.
            Self::Percent => percent(value, 2),
            Self::Measured => significant(value),
        }
    }
}

/// Whether a value can be drawn: beyond these limits, differences and ratios leave the range of `f64`.
pub fn drawable(value: f64) -> bool {
    value.abs() <= 1e150
}

/// Round ticks that cover `lo..=hi` (the first at or below, the last at or above), about `target` of them.
pub fn ticks(lo: f64, hi: f64, target: usize) -> Vec<f64> {
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
pub fn powers(lo: f64, hi: f64, most: i32) -> Vec<f64> {
    let first = (lo.log2() - 1e-9).ceil() as i32;
    let last = (hi.log2() + 1e-9).floor() as i32;
    let every = (last - first) / most.max(1) + 1;
    (first..=last).filter(|e| (last - e) % every == 0).map(|e| 2f64.powi(e)).collect()
}

/// Whether an axis counts steps or doublings.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Steps {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long; ticks are powers of two.
    Log2,
}

/// Maps values to pixels.
pub struct Axis {
    /// Smallest and largest value.
    pub values: (f64, f64),
    /// The pixels of these two.
    pub pixels: (f64, f64),
    /// Linear or logarithmic.
    pub steps: Steps,
}

impl Axis {
    /// The pixel of a value.
    pub fn at(&self, value: f64) -> f64 {
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
    fn labels_have_the_decimals_of_their_steps() {
        assert_eq!(Unit::Percent.tick(0.05, 0.05), "5\u{202f}%");
        assert_eq!(Unit::Percent.tick(0.025, 0.005), "2.5\u{202f}%");
        assert_eq!(Unit::Plain.tick(-0.5, 0.05), "−0.50");
    }
}
