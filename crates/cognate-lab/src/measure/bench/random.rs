//! Where the streams' randomness comes from: splitmix64, as hash of a counter and as generator.
//!
//! Arithmetic only, no mathematics library, so that the draws are the same on every machine.

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The splitmix64 hash of `x`.
pub(crate) fn hash(x: u64) -> u64 {
    let x = x.wrapping_add(STEP);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A nearly normal N(0, 1) number that belongs to `key`: four 16-bit uniforms summed.
pub(crate) fn normal_of(key: u64) -> f32 {
    (lanes(hash(key)) as f32 / 65536.0 - 2.0) * 1.732_050_8
}

/// The sum of the four 16-bit parts.
fn lanes(h: u64) -> u64 {
    (h & 0xFFFF) + ((h >> 16) & 0xFFFF) + ((h >> 32) & 0xFFFF) + (h >> 48)
}

/// The draws of one row. Each row has its own, so a shorter stream is a prefix of a longer one.
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    /// The generator of row `row` of the stream with this seed.
    pub(crate) fn new(seed: u64, row: u64) -> Self {
        Self { state: hash(hash(seed) ^ row) }
    }

    fn next(&mut self) -> u64 {
        let value = hash(self.state);
        self.state = self.state.wrapping_add(STEP);
        value
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in 0..n, for n far below 2^64.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Nearly normal N(0, 1): eight 16-bit uniforms summed, so never beyond 4.9.
    pub(crate) fn normal(&mut self) -> f32 {
        let sum = lanes(self.next()) + lanes(self.next());
        (sum as f32 / 65536.0 - 4.0) * 1.224_744_9
    }

    /// Poisson with mean -ln(`exp_minus_mean`), by multiplying uniforms.
    pub(crate) fn poisson(&mut self, exp_minus_mean: f64) -> usize {
        let mut product = self.uniform();
        let mut count = 0;
        while product > exp_minus_mean {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_splitmix64() {
        // First output of the reference implementation for seed 0.
        assert_eq!(hash(0), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn draws_have_the_moments_they_claim() {
        let mut draws = Draws::new(1, 0);
        let count = 20_000;
        let normals: Vec<f64> = (0..count).map(|_| f64::from(draws.normal())).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(count);
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / f64::from(count);
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        let poisson = (0..count).map(|_| draws.poisson((-5.0_f64).exp())).sum::<usize>() as f64;
        assert!((poisson / f64::from(count) - 5.0).abs() < 0.1, "{poisson}");
    }
}
