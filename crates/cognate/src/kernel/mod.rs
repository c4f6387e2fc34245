//! Inner products in other spaces, and the examples that learners in dual form keep.

mod active_set;
mod budget;
mod config;
mod postings;
mod supports;
mod values;

pub(crate) use active_set::{
    ActiveSet, ActiveSetState, BudgetParameters, Common, OnBudget, restored_coefficients,
};
pub use budget::Budget;
pub(crate) use budget::Overhead;
pub use config::{GaussianConfig, KernelConfig, LinearConfig, PolynomialConfig};
pub(crate) use supports::{Supports, SupportsState, merged_product, square};

impl KernelConfig {
    /// k(x, z) from x'z, |x|^2 and |z|^2.
    pub(crate) fn value(&self, product: f64, x: f64, z: f64) -> f64 {
        let mut value = [product];
        self.values(&mut value, x, &[z]);
        value[0]
    }

    /// k(x, x) from |x|^2.
    pub(crate) fn square(&self, x: f64) -> f64 {
        self.value(x, x, x)
    }

    /// Whether the kernel is x'z itself, so that weights can be written out.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::Linear(LinearConfig { normalize: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(json: &str) -> KernelConfig {
        serde_json::from_str(json).unwrap()
    }

    /// x = (1, 2), z = (3, -1): x'z = 1, |x|^2 = 5, |z|^2 = 10, |x - z|^2 = 13.
    #[test]
    fn values_by_hand() {
        let value = |json: &str| kernel(json).value(1.0, 5.0, 10.0);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} is not {b}");
        close(value(r#""linear""#), 1.0);
        close(value(r#"{"linear": {"normalize": true}}"#), 1.0 / 50_f64.sqrt());
        close(value(r#"{"polynomial": {"degree": 3, "gamma": 2, "coef0": 0.5}}"#), 15.625);
        close(
            value(r#"{"polynomial": {"degree": 2, "gamma": 1, "coef0": 1, "normalize": true}}"#),
            4.0 / (6.0 * 11.0),
        );
        close(value(r#"{"gaussian": {"gamma": 0.1}}"#), (-1.3_f64).exp());
    }

    #[test]
    fn normalized_kernels_have_length_one() {
        for json in [
            r#"{"linear": {"normalize": true}}"#,
            r#"{"polynomial": {"degree": 3, "normalize": true}}"#,
            r#"{"gaussian": {"gamma": 4}}"#,
        ] {
            assert!((kernel(json).square(7.3) - 1.0).abs() < 1e-15, "{json}");
        }
        assert_eq!(kernel(r#"{"linear": {"normalize": true}}"#).value(0.0, 0.0, 3.0), 0.0);
    }
}
