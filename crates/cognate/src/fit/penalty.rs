//! What the structure A of the tasks may be, and what it costs: F(A) of CS15, on eigenvalues.
//!
//! All but the given structures depend on the eigenvalues of A only (`cluster` on those beside the direction 1 of equal
//! tasks), so the best A has the eigenvectors of M = W'W + delta^2 I, and each step is one on numbers: it minimises
//! lambda sum_j m_j / a_j + F(a).

use crate::linalg::Symmetric;

/// A penalty whose parameters have been checked.
#[derive(Debug, Clone)]
pub(crate) enum Penalty {
    /// F(A) = |A|_p^p.
    Schatten { p: f64 },
    /// Tr A = 1.
    TraceOne,
    /// Tasks fall into groups (see [`Cluster`]).
    Cluster(Cluster),
    /// F(A) = tau tr A - mu log det A.
    LogDet { mu: f64, tau: f64 },
    /// A is given.
    Fixed(Symmetric),
    /// No A: lambda times the sum of the norms of the rows of W.
    Rows,
    /// A = I.
    None,
}

/// The relaxation of Jacob et al.: A 1 = 1/mean, and on the complement of 1 the eigenvalues of A lie between 1/within
/// and 1/between and add up to (r - 1)/between + (T - r)/within, as they do for r groups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cluster {
    pub(crate) clusters: f64,
    pub(crate) mean: f64,
    pub(crate) between: f64,
    pub(crate) within: f64,
}

impl Cluster {
    /// Bounds and sum of the eigenvalues beside 1/mean, among `tasks` tasks.
    pub(crate) fn range(&self, tasks: usize) -> (f64, f64, f64) {
        let (lowest, highest) = (1.0 / self.within, 1.0 / self.between);
        (lowest, highest, (self.clusters - 1.0) * highest + (tasks as f64 - self.clusters) * lowest)
    }
}

impl Penalty {
    /// The eigenvalue of A for one of M, where each is found on its own.
    pub(crate) fn separable(&self, m: f64, lambda: f64) -> Option<f64> {
        match self {
            // Proposition 3.6 as corrected: (lambda M / p)^(1/(p+1)).
            Self::Schatten { p } => {
                let base = (lambda * m.max(0.0)) / p;
                Some(if *p == 1.0 { base.sqrt() } else { base.powf(1.0 / (p + 1.0)) })
            }
            Self::LogDet { mu, tau } => {
                Some((mu + (mu * mu + 4.0 * tau * lambda * m.max(0.0)).sqrt()) / (2.0 * tau))
            }
            _ => None,
        }
    }

    /// The eigenvalues of the best A for those of M, none where A is given.
    pub(crate) fn step(&self, m: &[f64], lambda: f64) -> Vec<f64> {
        match self {
            Self::Schatten { .. } | Self::LogDet { .. } => {
                m.iter().filter_map(|m| self.separable(*m, lambda)).collect()
            }
            Self::TraceOne => {
                let roots: Vec<f64> = m.iter().map(|m| m.max(0.0).sqrt()).collect();
                let total: f64 = roots.iter().sum();
                let even = 1.0 / m.len() as f64;
                roots.iter().map(|root| if total > 0.0 { root / total } else { even }).collect()
            }
            Self::Cluster(cluster) => {
                let (lowest, highest, total) = cluster.range(m.len() + 1);
                water_fill(m, lowest, highest, total)
            }
            Self::None | Self::Fixed(_) | Self::Rows => vec![1.0; m.len()],
        }
    }

    /// F of eigenvalues.
    pub(crate) fn value(&self, a: &[f64]) -> f64 {
        match self {
            Self::Schatten { p } => a.iter().map(|a| a.powf(*p)).sum(),
            Self::LogDet { mu, tau } => a.iter().map(|a| tau * a - mu * a.ln()).sum(),
            _ => 0.0,
        }
    }

    /// The derivative of F at one eigenvalue.
    pub(crate) fn slope(&self, a: f64) -> f64 {
        match self {
            Self::Schatten { p } => p * a.powf(p - 1.0),
            Self::LogDet { mu, tau } => tau - mu / a,
            _ => 0.0,
        }
    }

    /// Whether eigenvalues of A may reach 0, where alternating minimisation needs a barrier.
    pub(crate) fn reaches_zero(&self) -> bool {
        matches!(self, Self::Schatten { .. } | Self::TraceOne)
    }

    /// Whether only the singular values of W matter.
    pub(crate) fn is_spectral(&self) -> bool {
        matches!(self, Self::Schatten { .. } | Self::TraceOne | Self::LogDet { .. })
    }

    /// Whether A is learnt.
    pub(crate) fn is_learnt(&self) -> bool {
        self.is_spectral() || matches!(self, Self::Cluster(_))
    }
}

/// The s with lowest <= s_j <= highest and sum `total` that minimise sum m_j / s_j: s_j = c sqrt(m_j), cut off.
///
/// Where m_j = 0, s_j is lowest, unless more has to go somewhere.
pub(crate) fn water_fill(m: &[f64], lowest: f64, highest: f64, total: f64) -> Vec<f64> {
    let roots: Vec<f64> = m.iter().map(|m| m.max(0.0).sqrt()).collect();
    let fill = |c: f64| roots.iter().map(move |root| (c * root).clamp(lowest, highest));
    let largest = roots.iter().fold(0.0_f64, |largest, root| largest.max(*root));
    let smallest =
        roots.iter().filter(|root| **root > 0.0).fold(f64::INFINITY, |least, root| least.min(*root));
    let most = if smallest.is_finite() { highest / smallest } else { 0.0 };
    if fill(most).sum::<f64>() <= total {
        // All that matter are full: the rest is shared by the others.
        let zeros = roots.iter().filter(|root| **root == 0.0).count() as f64;
        let filled: f64 = fill(most).zip(&roots).filter(|(_, root)| **root > 0.0).map(|(s, _)| s).sum();
        let share = if zeros > 0.0 { ((total - filled) / zeros).clamp(lowest, highest) } else { highest };
        return fill(most).zip(&roots).map(|(s, root)| if *root > 0.0 { s } else { share }).collect();
    }
    let (mut low, mut high) = (if largest > 0.0 { lowest / largest } else { 0.0 }, most);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        *(if fill(middle).sum::<f64>() < total { &mut low } else { &mut high }) = middle;
    }
    // Exact for the ones that are not cut off.
    let inside = |root: &f64| (lowest..highest).contains(&(high * root)) && high * root > lowest;
    let free: f64 = roots.iter().filter(|root| inside(root)).sum();
    let cut: f64 = fill(high).zip(&roots).filter(|(_, root)| !inside(root)).map(|(s, _)| s).sum();
    let c = if free > 0.0 { (total - cut) / free } else { high };
    fill(high).zip(&roots).map(|(s, root)| if inside(root) { c * root } else { s }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The optimality condition: m_j / s_j^2 is equal where s_j is not cut off, larger at the top, smaller at the
        /// bottom.
        #[test]
        fn water_filling_is_optimal(m in prop::collection::vec(0.0..10.0f64, 1..8), share in 0.0..1.0f64) {
            let (lowest, highest) = (0.2, 3.0);
            let total = m.len() as f64 * (lowest + share * (highest - lowest));
            let s = water_fill(&m, lowest, highest, total);
            prop_assert!((s.iter().sum::<f64>() - total).abs() < 1e-9);
            let rate: Vec<f64> = m.iter().zip(&s).map(|(m, s)| m / (s * s)).collect();
            for i in 0..m.len() {
                for j in 0..m.len() {
                    // Moving mass from i to j must not help.
                    if s[i] > lowest + 1e-9 && s[j] < highest - 1e-9 {
                        prop_assert!(rate[j] <= rate[i] * (1.0 + 1e-6) + 1e-9, "{m:?} {s:?}");
                    }
                }
            }
        }
    }
}
