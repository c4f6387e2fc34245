//! The settings of a kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::{allow_bare_names, choice};
use crate::error::ConfigProblem;

/// How the similarity of two examples is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum KernelConfig {
    /// x'z
    Linear(LinearConfig),
    /// (gamma x'z + coef0)^degree
    Polynomial(PolynomialConfig),
    /// exp(-gamma |x - z|^2)
    Gaussian(GaussianConfig),
}

choice!(KernelConfig, "a kernel");

impl Default for KernelConfig {
    fn default() -> Self {
        Self::Linear(LinearConfig::default())
    }
}

/// Parameters of the kernel `linear`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinearConfig {
    /// Divide k(x, z) by sqrt(k(x, x) k(z, z))
    pub normalize: bool,
}

/// Parameters of the kernel `polynomial`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolynomialConfig {
    /// The power, a whole number from 1 to 64
    #[schemars(with = "u32", range(min = 1, max = 64))]
    pub degree: f64,
    /// Factor of the inner product, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub gamma: f64,
    /// Constant added to the inner product, at least 0
    #[schemars(range(min = 0.0))]
    pub coef0: f64,
    /// Divide k(x, z) by sqrt(k(x, x) k(z, z))
    pub normalize: bool,
}

/// A kernel of a higher degree has hardly any correct digits.
const LARGEST_DEGREE: f64 = 64.0;

impl Default for PolynomialConfig {
    fn default() -> Self {
        Self { degree: 2.0, gamma: 1.0, coef0: 1.0, normalize: false }
    }
}

/// Parameters of the kernel `gaussian`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GaussianConfig {
    /// How fast similarity falls with distance, positive
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub gamma: f64,
}

impl Default for GaussianConfig {
    fn default() -> Self {
        Self { gamma: 1.0 }
    }
}

impl KernelConfig {
    /// All problems of the parameters.
    pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let mut require = |holds: bool, path: &str, rule: &str, found: f64| {
            if !holds {
                problems.push(ConfigProblem::new(path, format!("must be {rule}, got {found}")));
            }
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        match self {
            Self::Linear(_) => {}
            Self::Polynomial(PolynomialConfig { degree, gamma, coef0, .. }) => {
                let whole = degree.fract() == 0.0 && (1.0..=LARGEST_DEGREE).contains(degree);
                require(whole, "polynomial.degree", "a whole number from 1 to 64", *degree);
                require(positive(*gamma), "polynomial.gamma", "positive and finite", *gamma);
                let coef0_fits = coef0.is_finite() && *coef0 >= 0.0;
                require(coef0_fits, "polynomial.coef0", "a finite number of at least 0", *coef0);
            }
            Self::Gaussian(GaussianConfig { gamma }) => {
                require(positive(*gamma), "gaussian.gamma", "positive and finite", *gamma);
            }
        }
        problems
    }
}
