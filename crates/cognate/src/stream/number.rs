//! Decimal numbers, eight characters at a time.
//!
//! Both functions read past the token they parse, up to [`super::lines::SLACK`] bytes; the buffer has them.

/// Exact powers of ten.
const POWERS: [f64; 16] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];
const WHOLE_POWERS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// A run of at most eight digits: its value and length.
#[inline]
pub(crate) fn digits(buffer: &[u8], at: usize) -> (u64, usize) {
    let word = u64::from_le_bytes(buffer[at..at + 8].try_into().expect("eight bytes"));
    // Digits become 0..=9; the lowest byte that is something else gets its top bit set.
    let word = word ^ 0x3030_3030_3030_3030;
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return (0, 0);
    }
    // The first character is the lowest byte: shifting up puts zeros in front of the number.
    let word = word << (64 - 8 * count as u32);
    let word = word.wrapping_mul(10).wrapping_add(word >> 8) & 0x00ff_00ff_00ff_00ff;
    let word = word.wrapping_mul(100).wrapping_add(word >> 16) & 0x0000_ffff_0000_ffff;
    let word = word.wrapping_mul(10_000).wrapping_add(word >> 32) & 0xffff_ffff;
    (word, count)
}

/// A number like `-12.0625` of at most 7 + 7 digits without exponent: its value and where it ends.
///
/// Such a number is a whole number below 2^53 over a power of ten below 10^22, so one division rounds it right.
#[inline]
pub(crate) fn short_decimal(buffer: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = buffer[at] == b'-';
    let start = at + usize::from(negative);
    let (whole, whole_digits) = digits(buffer, start);
    let mut end = start + whole_digits;
    let mut value = whole as f64;
    let mut total = whole_digits;
    if buffer[end] == b'.' {
        let (fraction, fraction_digits) = digits(buffer, end + 1);
        end += 1 + fraction_digits;
        total += fraction_digits;
        if fraction_digits > 7 {
            return None;
        }
        value = (whole * WHOLE_POWERS[fraction_digits] + fraction) as f64 / POWERS[fraction_digits];
    }
    if whole_digits > 7 || total == 0 {
        return None;
    }
    Some((if negative { -value } else { value }, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn padded(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend([b' '; 16]);
        bytes
    }

    #[test]
    fn runs_of_digits() {
        for (text, expected) in [
            ("", (0, 0)),
            ("7", (7, 1)),
            ("0012:", (12, 4)),
            ("12345678", (12_345_678, 8)),
            ("123456789", (12_345_678, 8)),
            ("4/", (4, 1)),
            ("4\u{e9}", (4, 1)),
        ] {
            assert_eq!(digits(&padded(text), 0), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_short_decimal() {
        for text in ["", "-", ".", "-.", "x", "12345678", "0.12345678", "+1"] {
            assert_eq!(short_decimal(&padded(text), 0), None, "{text}");
        }
        assert_eq!(short_decimal(&padded(".5"), 0), Some((0.5, 2)));
        assert_eq!(short_decimal(&padded("5.e3"), 0), Some((5.0, 2)));
    }

    proptest! {
        #[test]
        fn short_decimals_round_as_the_standard_library(whole in 0u32..10_000_000, fraction in "[0-9]{0,7}", negative: bool) {
            let text = format!("{}{whole}.{fraction}", if negative { "-" } else { "" });
            let (value, end) = short_decimal(&padded(&text), 0).unwrap();
            prop_assert_eq!(end, text.len());
            prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
        }
    }
}
