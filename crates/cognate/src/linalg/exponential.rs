//! e^x for x <= 0, and ln(1 + x), in operations that compile to wide vectors, with the same bits whatever their width.
//!
//! x = k ln 2 + r with a whole k and |r| <= ln 2 / 2; e^r by its series, which is within 1e-17 after r^13; 2^k by writing
//! its exponent. Below -708, where 2^k has no exponent of its own, it is 0.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use std::f64::consts::LOG2_E;

/// Adding it leaves a number rounded to a whole one, in the low bits.
const TO_WHOLE: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// ln 2 in two parts; k times the first is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// 1/2!, 1/3!, ..., 1/13!.
const SERIES: [f64; 12] = [
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// The sum of [`SERIES`] times the powers of r, in halves of halves: the fewest operations wait for each other.
#[inline(always)]
fn series(r: f64, square: f64) -> f64 {
    let pair = |at: usize| SERIES[at] + SERIES[at + 1] * r;
    let fourth = square * square;
    let four = |at: usize| pair(at) + pair(at + 2) * square;
    four(0) + (four(4) + four(8) * fourth) * fourth
}

#[inline(always)]
pub(crate) fn exp_of_negative(x: f64) -> f64 {
    let shifted = x * LOG2_E + TO_WHOLE;
    let k = shifted - TO_WHOLE;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let square = r * r;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    let value = (series(r, square) * square + r + 1.0) * power;
    if x < -708.0 { 0.0 } else { value }
}

/// 1/3, 1/5, ..., 1/33.
const ODD: [f64; 16] = [
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
    1.0 / 21.0,
    1.0 / 23.0,
    1.0 / 25.0,
    1.0 / 27.0,
    1.0 / 29.0,
    1.0 / 31.0,
    1.0 / 33.0,
];

/// ln(1 + x) for 0 <= x <= 1, as 2 artanh(x / (2 + x)) by its series in squares of at most 1/9.
#[inline(always)]
pub(crate) fn ln_of_one_and(x: f64) -> f64 {
    let share = x / (2.0 + x);
    let square = share * share;
    let fourth = square * square;
    let eighth = fourth * fourth;
    let four = |at: usize| ODD[at] + ODD[at + 1] * square + (ODD[at + 2] + ODD[at + 3] * square) * fourth;
    let low = four(0) + four(4) * eighth;
    let high = four(8) + four(12) * eighth;
    let sum = low + high * (eighth * eighth);
    let twice = share + share;
    twice + twice * (square * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_agree_with_the_standard_library() {
        for at in 0..=200_000 {
            let x = f64::from(at) / 200_000.0;
            let (found, expected) = (ln_of_one_and(x), x.ln_1p());
            assert!((found - expected).abs() <= 5e-16 * expected, "ln(1 + {x}) is {expected}, not {found}");
        }
        for tiny in [0.0, f64::MIN_POSITIVE, 1e-300, 1e-17, 1e-9] {
            assert_eq!(ln_of_one_and(tiny), tiny.ln_1p());
        }
    }

    #[test]
    fn agrees_with_the_standard_library() {
        let close = |x: f64| {
            let (found, expected) = (exp_of_negative(x), x.exp());
            assert!((found - expected).abs() <= 4e-16 * expected, "e^{x} is {expected}, not {found}");
        };
        (0..200_000).for_each(|at| close(f64::from(at) * -0.003_5));
        (0..1_000).for_each(|at| close(-(0.97_f64).powi(at)));
        [0.0, -0.0, -f64::MIN_POSITIVE, -1e-300, -1e-17, -0.5, -708.0].into_iter().for_each(close);
        assert_eq!((exp_of_negative(0.0), exp_of_negative(-0.0)), (1.0, 1.0));
        for below in [-708.000_1, -745.0, -1e18, f64::MIN, f64::NEG_INFINITY] {
            assert_eq!(exp_of_negative(below), 0.0, "e^{below}");
        }
        // Rows of a Gram matrix fall with the distance.
        let values: Vec<f64> = (0..10_000).map(|at| exp_of_negative(f64::from(at) * -1e-3)).collect();
        assert!(values.is_sorted_by(|a, b| a > b));
    }
}
