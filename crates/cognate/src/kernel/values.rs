//! Kernel values of one example with many, from their inner products, in wide loops.
//!
//! Every value is computed by itself, so its bits depend neither on its place in the row nor on the processor.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use pulp::{Simd, WithSimd};

use super::{GaussianConfig, KernelConfig, LinearConfig, PolynomialConfig};
use crate::linalg::Width;
use crate::linalg::exponential::exp_of_negative;

impl KernelConfig {
    /// Puts k(x, z) into the place of x'z for every z, given |x|^2 and all |z|^2.
    pub(crate) fn values(&self, row: &mut [f64], x: f64, squares: &[f64]) {
        let width = Width::find();
        match self {
            Self::Linear(LinearConfig { normalize: false }) => {}
            Self::Linear(LinearConfig { normalize: true }) => {
                width.run(Normalized { row, squares, root: x.sqrt() });
            }
            Self::Polynomial(polynomial) => {
                width.run(Polynomial { row, squares, x, config: *polynomial });
            }
            Self::Gaussian(GaussianConfig { gamma }) => {
                width.run(Gaussian { row, squares, x, gamma: *gamma });
            }
        }
    }
}

/// exp(-gamma |x - z|^2).
struct Gaussian<'a> {
    row: &'a mut [f64],
    squares: &'a [f64],
    x: f64,
    gamma: f64,
}

impl WithSimd for Gaussian<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (entry, z) in self.row.iter_mut().zip(self.squares) {
            // The distance may come out below 0 by rounding.
            let distance = (self.x + z - 2.0 * *entry).max(0.0);
            *entry = exp_of_negative(-self.gamma * distance);
        }
    }
}

/// x'z / (|x| |z|), 0 for a vector of length 0.
struct Normalized<'a> {
    row: &'a mut [f64],
    squares: &'a [f64],
    /// |x|.
    root: f64,
}

impl WithSimd for Normalized<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (entry, z) in self.row.iter_mut().zip(self.squares) {
            *entry = normalized(*entry, self.root * z.sqrt());
        }
    }
}

#[inline(always)]
fn normalized(value: f64, length: f64) -> f64 {
    if length > 0.0 { value / length } else { 0.0 }
}

/// (gamma x'z + coef0)^degree, perhaps over sqrt(k(x, x) k(z, z)).
struct Polynomial<'a> {
    row: &'a mut [f64],
    squares: &'a [f64],
    x: f64,
    config: PolynomialConfig,
}

/// Values whose powers are taken side by side.
const LANES: usize = 8;

impl WithSimd for Polynomial<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let PolynomialConfig { normalize, .. } = self.config;
        let root = self.config.power([self.x])[0].sqrt();
        let mut row = self.row.chunks_exact_mut(LANES);
        let mut squares = self.squares.chunks_exact(LANES);
        for (entries, squares) in row.by_ref().zip(squares.by_ref()) {
            let mut lanes = [[0.0; LANES]; 2];
            lanes[0].copy_from_slice(entries);
            lanes[1].copy_from_slice(squares);
            entries.copy_from_slice(&self.config.lanes(lanes[0], lanes[1], root, normalize));
        }
        for (entry, z) in row.into_remainder().iter_mut().zip(squares.remainder()) {
            [*entry] = self.config.lanes([*entry], [*z], root, normalize);
        }
    }
}

impl PolynomialConfig {
    /// Some values from their inner products; `root` is sqrt(k(x, x)).
    #[inline(always)]
    fn lanes<const N: usize>(
        self,
        products: [f64; N],
        squares: [f64; N],
        root: f64,
        normalize: bool,
    ) -> [f64; N] {
        let mut values = self.power(products);
        if normalize {
            let lengths = self.power(squares);
            for lane in 0..N {
                values[lane] = normalized(values[lane], root * lengths[lane].sqrt());
            }
        }
        values
    }

    /// Powers of some inner products, by squaring.
    #[inline(always)]
    fn power<const N: usize>(self, products: [f64; N]) -> [f64; N] {
        let mut base = products.map(|product| self.gamma * product + self.coef0);
        let (mut powers, mut degree) = ([1.0; N], self.degree as u32);
        loop {
            if degree % 2 == 1 {
                for lane in 0..N {
                    powers[lane] *= base[lane];
                }
            }
            degree /= 2;
            if degree == 0 {
                return powers;
            }
            for lane in 0..N {
                base[lane] *= base[lane];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_wherever_it_stands() {
        let squares: Vec<f64> = (0..37).map(|at| f64::from(at % 6) * 0.7).collect();
        let products: Vec<f64> = squares.iter().map(|square| square * 0.8 - 0.3).collect();
        for json in [
            r#""linear""#,
            r#"{"linear": {"normalize": true}}"#,
            r#"{"polynomial": {"degree": 7, "gamma": 0.6}}"#,
            r#"{"polynomial": {"degree": 4, "normalize": true}}"#,
            r#"{"gaussian": {"gamma": 1.3}}"#,
        ] {
            let kernel: KernelConfig = serde_json::from_str(json).unwrap();
            let mut row = products.clone();
            kernel.values(&mut row, 1.7, &squares);
            for (at, value) in row.iter().enumerate() {
                let alone = kernel.value(products[at], 1.7, squares[at]);
                assert_eq!(value.to_bits(), alone.to_bits(), "{json} at {at}");
            }
        }
    }
}
