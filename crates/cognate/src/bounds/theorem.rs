//! The theorems by name, as the registry lists them for each learner.

use serde::{Serialize, Serializer};

/// A theorem that bounds what a learner does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Theorem {
    /// MP10 Theorem 1: any interaction.
    Theorem1,
    /// MP10 Corollary 3: tasks coupled in pairs.
    Corollary3,
    /// MP10 Corollary 4: tasks coupled with strength b.
    Corollary4,
    /// MP10 Corollary 5: a graph of tasks.
    Corollary5,
    /// MP10 Equation (9): any interaction and any p-norm.
    Equation9,
    /// MP10 Theorem 6: tasks coupled in pairs, and the p that follows K and d.
    Theorem6,
    /// MP10 Theorem 8: second order.
    Theorem8,
    /// MP10 Theorem 9: Schatten norms.
    Theorem9,
    /// MP10 Remark 12: the shared loss.
    Remark12,
    /// MB12 Theorem 1: a budget kept by forgetting at random.
    BudgetTheorem1,
    /// MB12 Theorem 2: a budget kept by forgetting the oldest.
    BudgetTheorem2,
    /// ROM17 Theorem 3: the regret of proximal gradient steps.
    RobustTheorem3,
    /// ROM17 Theorem 6: the regret of dual averages.
    RobustTheorem6,
}

impl Theorem {
    /// Name of the theorem: its place in MP10, or in the paper that it names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Theorem1 => "Theorem 1",
            Self::Corollary3 => "Corollary 3",
            Self::Corollary4 => "Corollary 4",
            Self::Corollary5 => "Corollary 5",
            Self::Equation9 => "Equation (9)",
            Self::Theorem6 => "Theorem 6",
            Self::Theorem8 => "Theorem 8",
            Self::Theorem9 => "Theorem 9",
            Self::Remark12 => "Remark 12",
            Self::BudgetTheorem1 => "MB12 Theorem 1",
            Self::BudgetTheorem2 => "MB12 Theorem 2",
            Self::RobustTheorem3 => "ROM17 Theorem 3",
            Self::RobustTheorem6 => "ROM17 Theorem 6",
        }
    }
}

impl Serialize for Theorem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
