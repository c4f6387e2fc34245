//! Decimal numbers, eight characters at a time.
//!
//! Both functions read past the token they parse, up to [`super::lines::SLACK`] bytes; the buffer has them.

/// Any decimal number; like the standard library's parser, and as exact.
pub(crate) fn parse_f64(token: &[u8]) -> Option<f64> {
    fast_float2::parse(token).ok()
}

/// Exact powers of ten.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
const WHOLE_POWERS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Eight characters, the first in the lowest byte.
#[inline]
fn load(buffer: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(buffer[at..at + 8].try_into().expect("eight bytes"))
}

/// The run of digits that eight characters begin with, of which seven are looked at: its value and length.
#[inline]
fn leading_digits(word: u64) -> (u64, usize) {
    // Digits become 0..=9; a byte that is something else gets its top bit set, and so does the last byte.
    let word = word ^ 0x3030_3030_3030_3030;
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let first_other = (others | 0x8000_0000_0000_0000).trailing_zeros();
    if first_other < 8 {
        return (0, 0);
    }
    // The first character is the lowest byte: shifting up puts zeros in front of the number.
    let word = word << (71 - first_other);
    // Pairs, then fours, then all: ten times one neighbour plus the other, in one multiplication each.
    let word = (word.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let word = (word.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    let word = word.wrapping_mul(10_000 << 32 | 1) >> 32;
    (word, (first_other / 8) as usize)
}

/// A run of digits at `at`, of which at most seven are looked at: its value and length.
#[inline]
pub(crate) fn digits(buffer: &[u8], at: usize) -> (u64, usize) {
    leading_digits(load(buffer, at))
}

/// Characters that [`common_feature`] looks at.
pub(crate) const WINDOW: usize = 24;

/// Characters that [`before_blank`] looks at.
pub(crate) const SEEN_BEFORE_BLANK: usize = 16;

/// How many of the next characters come before a blank; [`SEEN_BEFORE_BLANK`] is as many or more.
///
/// Cheaper than reading them as numbers: a caller that knows where the next token begins can start on it at once.
#[inline]
pub(crate) fn before_blank(window: &[u8; WINDOW]) -> usize {
    // The lowest byte that is zero gets its top bit set; bytes above it may, too.
    let blanks = |word: u64| {
        let word = word ^ 0x2020_2020_2020_2020;
        word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
    };
    let (low, high) = (blanks(load(window, 0)), blanks(load(window, 8)));
    let (found, start) = if low == 0 { (high, 8) } else { (low, 0) };
    start + found.trailing_zeros() as usize / 8
}

/// A feature like `123456:-0.0625`, one digit before the point and at most six behind it: index, value, length.
///
/// Most features are written so. A longer number is cut off in the midst of its digits.
#[inline]
pub(crate) fn common_feature(window: &[u8; WINDOW]) -> Option<(u32, f64, usize)> {
    let (index, index_digits) = leading_digits(load(window, 0));
    let start = index_digits + 1;
    let negative = window[start] == b'-';
    let start = start + usize::from(negative);
    let word = load(window, start);
    if window[index_digits] != b':' || (word >> 8) as u8 != b'.' || index_digits == 0 {
        return None;
    }
    let (value, digits) = one_digit_decimal(word)?;
    Some((index as u32, signed(value, negative), start + 1 + digits))
}

/// A number with its sign, without a branch: nobody can predict it.
#[inline]
fn signed(value: f64, negative: bool) -> f64 {
    f64::from_bits(value.to_bits() ^ u64::from(negative) << 63)
}

/// A number with one digit before the point, of which eight characters are given: its value and digits.
#[inline]
fn one_digit_decimal(word: u64) -> Option<(f64, usize)> {
    // Take the point out and read on.
    let (number, count) = leading_digits(word & 0xff | word >> 8 & !0xff);
    (count > 0).then(|| (number as f64 / POWERS[count - 1], count))
}

/// A number like `-12.0625` of at most 7 + 7 digits without exponent: its value and where it ends.
///
/// Such a number is a whole number below 2^53 over a power of ten below 10^22, so one division rounds it right.
/// A longer one is cut off in the midst of its digits.
#[inline]
pub(crate) fn short_decimal(buffer: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = buffer[at] == b'-';
    let start = at + usize::from(negative);
    let word = load(buffer, start);
    let (value, end) = if (word >> 8) as u8 == b'.' {
        let (value, digits) = one_digit_decimal(word)?;
        (value, start + 1 + digits)
    } else {
        let (whole, whole_digits) = leading_digits(word);
        let point = start + whole_digits;
        if buffer[point] == b'.' {
            let (fraction, fraction_digits) = digits(buffer, point + 1);
            if whole_digits + fraction_digits == 0 {
                return None;
            }
            let number = whole * WHOLE_POWERS[fraction_digits] + fraction;
            (number as f64 / POWERS[fraction_digits], point + 1 + fraction_digits)
        } else if whole_digits == 0 {
            return None;
        } else {
            (whole as f64, point)
        }
    };
    Some((signed(value, negative), end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn padded(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend([b' '; 32]);
        bytes
    }

    #[test]
    fn runs_of_digits() {
        for (text, expected) in [
            ("", (0, 0)),
            ("7", (7, 1)),
            ("0012:", (12, 4)),
            ("1234567", (1_234_567, 7)),
            ("123456789", (1_234_567, 7)),
            ("4/", (4, 1)),
            ("4:", (4, 1)),
            ("4\u{e9}", (4, 1)),
        ] {
            assert_eq!(digits(&padded(text), 0), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_short_decimal() {
        for text in ["", "-", ".", "-.", "x", "+1", "..5", "-x.5"] {
            assert_eq!(short_decimal(&padded(text), 0), None, "{text}");
        }
        // An end that is not the token's end: the caller takes the long way.
        for (text, end) in [("12345678", 7), ("0.12345678", 8), ("5.e3", 2), ("1e5", 1), ("12.12345678", 10)]
        {
            assert_eq!(short_decimal(&padded(text), 0).map(|found| found.1), Some(end), "{text}");
        }
        assert_eq!(short_decimal(&padded(".5"), 0), Some((0.5, 2)));
        assert_eq!(short_decimal(&padded("5."), 0), Some((5.0, 2)));
    }

    #[test]
    fn blanks_are_found_as_far_as_looked() {
        for (text, expected) in [
            ("", 0),
            ("1:0.5", 5),
            ("1234567:", 8),
            ("123456:-0.25", 12),
            ("1234567:0.25252", 15),
            ("1234567:0.252525", 16),
            ("1234567:0.25252525", 16),
        ] {
            assert_eq!(before_blank(padded(text).first_chunk().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn common_features() {
        let feature = |text: &str| common_feature(padded(text).first_chunk().unwrap());
        assert_eq!(feature("123456:-0.0625 7:1"), Some((123_456, -0.0625, 14)));
        assert_eq!(feature("7:3.5"), Some((7, 3.5, 5)));
        assert_eq!(feature("1234567:1.234567"), Some((1_234_567, 1.234_567, 16)));
        // Cut off in the midst of a number, which the caller notices, or left to the caller at once.
        assert_eq!(feature("1:0.12345678").map(|found| found.2), Some(10));
        for text in ["", ":0.5", "7 0.5", "7:1", "7:12.5", "7:.5", "7:-.5", "7:x.5", "12345678:0.5", "qid:7"]
        {
            assert_eq!(feature(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn short_decimals_round_as_the_standard_library(whole in 0u32..10_000_000, fraction in "[0-9]{0,6}", negative: bool) {
            let text = format!("{}{whole}.{fraction}", if negative { "-" } else { "" });
            let (value, end) = short_decimal(&padded(&text), 0).unwrap();
            prop_assert_eq!(end, text.len());
            prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
        }
    }
}
