//! How numbers are written: counts, shares, times, sizes.

/// Stands where a number has no value, on pages and on terminals.
pub const NO_VALUE: &str = "–";

/// A fraction as a percentage with `places` decimals; a dash if there is no value.
pub fn percent(fraction: f64, places: usize) -> String {
    if fraction.is_finite() {
        // Without the noise of the last bits: a mean summed in two orders must not be written in two ways where it lies
        // half-way between two numbers.
        let noiseless = (fraction * 1e11).round() / 1e9;
        let value = if noiseless.is_finite() { noiseless } else { fraction * 100.0 };
        minus(&format!("{value:.places$}\u{202f}%"))
    } else {
        NO_VALUE.to_owned()
    }
}

/// A number with the decimals that fit values as large as `largest`; a dash if there is no value.
pub fn plain(value: f64, largest: f64) -> String {
    if !value.is_finite() {
        return NO_VALUE.to_owned();
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

/// Four digits that count, without an exponent where that can be read; a dash if there is no value.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NO_VALUE.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let before_point = if size < 1.0 { 0 } else { size.log10() as usize + 1 };
    format!("{value:.*}", 4_usize.saturating_sub(before_point))
}

/// A parameter that someone chose: up to four digits that count, without zeros behind them, and without an exponent where
/// that can be read.
pub fn parameter(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    // With the minus sign that can be pasted into a command.
    if (1e-5..1e7).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// A whole number with its thousands marked.
pub fn count(n: u64) -> String {
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
pub fn short_count(value: f64) -> String {
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

/// A time in seconds, as a person reads it.
pub fn duration(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), seconds % 60.0)
    }
}

/// Bytes in the unit that suits them.
pub fn bytes(number: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let power = (number.max(1).ilog10() / 3).min(4) as usize;
    let value = number as f64 / [1.0, 1e3, 1e6, 1e9, 1e12][power];
    if power == 0 { format!("{number} B") } else { format!("{value:.1} {}", units[power]) }
}

/// With a true minus sign.
pub(crate) fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_half_way_between_two_is_written_in_one_way() {
        let (below, above): (f64, f64) = (0.163_749_999_999_999_98, 0.163_750_000_000_000_03);
        assert_ne!(format!("{:.2}", 100.0 * below), format!("{:.2}", 100.0 * above));
        assert_eq!(percent(below, 2), percent(above, 2));
        assert_eq!(
            [0.0409, 0.123_456, -0.5].map(|v| percent(v, 2)),
            ["4.09\u{202f}%", "12.35\u{202f}%", "−50.00\u{202f}%"]
        );
        assert!(!percent(1e300, 0).contains("inf"), "and nothing overflows");
    }

    #[test]
    fn parameters_are_written_plainly() {
        assert_eq!(
            [10.0, 0.001, 0.1, 1.0, 0.012_345, 1e-7, 123_456.0].map(parameter),
            ["10", "0.001", "0.1", "1", "0.01235", "1e-7", "123500"]
        );
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(7), count(15_362), count(1_000_000)], ["7", "15,362", "1,000,000"]);
        assert_eq!([4096.0, 131_072.0, 1_048_576.0].map(short_count), ["4,096", "131k", "1.05M"]);
        assert_eq!([plain(-0.0001, 1.0), plain(0.1234, 0.14), plain(f64::NAN, 1.0)], ["0.00", "0.123", "–"]);
        assert_eq!(plain(1.5e-9, 1.5e-9), "1.5e−9");
        assert_eq!([0, 999, 1000, 2_500_000].map(bytes), ["0 B", "999 B", "1.0 kB", "2.5 MB"]);
        assert_eq!([1.234, 61.0, 125.0].map(duration), ["1.23 s", "61.00 s", "2 min 05 s"]);
    }
}
