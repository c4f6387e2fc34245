//! Means, deviations, and whether a difference is more than chance.

/// The mean; NaN of no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample; 0 of a single value.
pub fn deviation(values: &[f64]) -> f64 {
    let (mean, freedom) = (mean(values), values.len().saturating_sub(1).max(1));
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64).sqrt()
}

/// A mean difference of paired runs and its standard error, which a single run does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) mean: f64,
    pub(crate) error: f64,
    runs: usize,
}

impl Gap {
    /// Of `ours` less `theirs`, run by run.
    pub(crate) fn between(ours: &[f64], theirs: &[f64]) -> Self {
        Self::of(&ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs).collect::<Vec<_>>())
    }

    /// Of differences.
    pub(crate) fn of(differences: &[f64]) -> Self {
        let error = deviation(differences) / (differences.len() as f64).sqrt();
        Self { mean: mean(differences), error, runs: differences.len() }
    }

    /// Whether it lies above 0 by more than two standard errors.
    pub(crate) fn is_above(self) -> bool {
        self.mean > 2.0 * self.error
    }

    /// Whether it lies below 0 by more than two standard errors.
    pub(crate) fn is_below(self) -> bool {
        self.mean < -2.0 * self.error
    }

    /// The mean and its standard error in words.
    pub(crate) fn text(self, places: usize) -> String {
        let error = match self.runs {
            1 => "one run".to_owned(),
            _ => format!("standard error {:.places$}", self.error),
        };
        format!("{:+.places$}, {error}", self.mean)
    }
}

/// The probability of a mean difference at least as far from 0 if the true one is 0, by the normal distribution.
///
/// `independent` is how many of the pairs count: repetitions of the same pairs make a mean steadier, but are no new
/// evidence.
pub fn paired_test(differences: &[f64], independent: usize) -> f64 {
    let error = deviation(differences) / (independent as f64).sqrt();
    if error == 0.0 {
        return if mean(differences) == 0.0 { 1.0 } else { 0.0 };
    }
    two_sided(mean(differences) / error)
}

/// P(|Z| >= |z|) of a standard normal Z: erfc(|z| / sqrt 2), by Laplace's continued fraction for large z and the series
/// of erf for small ones.
fn two_sided(z: f64) -> f64 {
    let z = z.abs();
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 3.0 {
        // Phi(z) - 1/2 = density (z + z^3/3 + z^5/(3 5) + …)
        let (mut term, mut sum) = (z, z);
        for odd in (3..).step_by(2).take(60) {
            term *= z * z / f64::from(odd);
            sum += term;
        }
        return (1.0 - 2.0 * density * sum).max(0.0);
    }
    // 1 - Phi(z) = density / (z + 1/(z + 2/(z + 3/(z + …))))
    let fraction = (1..=60).rev().fold(z, |below, k| z + f64::from(k) / below);
    2.0 * density / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_tables() {
        for (z, wanted) in [
            (0.0, 1.0),
            (1.0, 0.317_310_5),
            (1.959_964, 0.05),
            (2.999_9, 0.002_700_7),
            (3.290_527, 0.001),
            (5.0, 5.733e-7),
        ] {
            assert!((two_sided(z) / wanted - 1.0).abs() < 1e-3, "{z}: {}", two_sided(z));
        }
    }

    #[test]
    fn a_gap_counts_from_two_standard_errors_on() {
        let noisy = Gap::between(&[1.0, 3.0, 2.0], &[0.0, 4.0, 1.0]);
        assert!((noisy.mean - 1.0 / 3.0).abs() < 1e-12 && !noisy.is_above() && !noisy.is_below());
        let (better, worse) = (Gap::of(&[1.0, 1.1, 0.9]), Gap::of(&[-1.0, -1.1, -0.9]));
        assert!(better.is_above() && !better.is_below() && worse.is_below());
        assert_eq!(Gap::of(&[0.5]).text(1), "+0.5, one run");
        assert_eq!(Gap::of(&[1.0, 3.0]).text(1), "+2.0, standard error 1.0");
    }

    #[test]
    fn equal_pairs_differ_by_chance_and_unequal_ones_do_not() {
        assert_eq!(paired_test(&[0.0; 10], 10), 1.0);
        assert_eq!(paired_test(&[1.0; 10], 10), 0.0);
        let noise: Vec<f64> = (0..100).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(paired_test(&noise, 100) > 0.99);
        assert_eq!((mean(&[1.0, 3.0]), deviation(&[2.0])), (2.0, 0.0));
        assert!((deviation(&[1.0, 3.0]) - std::f64::consts::SQRT_2).abs() < 1e-15);
    }
}
