//! Theorem 9 and Remark 12: the 2p-norm matrix Perceptron, and its form with a shared loss.
//!
//! U has the u_i as columns; `|U|_s2q` is the Schatten norm dual to that with 2p, 2q = 2p/(2p-1). M_t holds y_i x_i in
//! column i where task i was mistaken in round t, or tau_i y_i x_i when the loss is shared. Lengths are those of the
//! examples: nothing in the proofs needs length 1.
//!
//! In advance, `|M_t|_s2p^2` is at most the sum of the squared lengths of its columns.

use super::comparator::{Comparator, dot};
use super::transcript::Transcript;
use super::{Formula, Parts, Scope};
use crate::algorithms::LossNorm;
use crate::linalg::Symmetric;

/// Parameters of the shared loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SharedLoss {
    pub(super) p: u32,
    pub(super) c: f64,
    pub(super) norm: LossNorm,
}

/// Positions of a round's examples in order of task.
fn by_task(transcript: &Transcript, round: std::ops::Range<usize>) -> Vec<usize> {
    let mut order: Vec<usize> = round.collect();
    order.sort_by_key(|at| transcript.example(*at).task);
    order
}

/// `|U|_s2q^2`.
fn dual_norm_squared(u: &Comparator, p: u32) -> f64 {
    let q = f64::from(p) / (2.0 * f64::from(p) - 1.0);
    trace_norm(&u.gram(), q)
}

/// `Tr(G^p)^(1/p)` of a Gram matrix: the squared Schatten 2p-norm of what it is the Gram matrix of.
fn trace_norm(gram: &Symmetric, p: f64) -> f64 {
    super::comparator::norm(gram.eigenvalues().iter().map(|value| value.max(0.0)), p)
}

/// `|M|_s2p^2`, the columns being examples times signed factors.
fn matrix_norm_squared(transcript: &Transcript, columns: &[(usize, f64)], p: u32) -> f64 {
    if let [(at, factor)] = columns {
        return factor * factor * transcript.example(*at).features.norm_squared();
    }
    let gram = Symmetric::from_fn(columns.len(), |i, j| {
        let ((a, left), (b, right)) = (columns[i], columns[j]);
        let (a, b) = (transcript.example(a), transcript.example(b));
        left * right * a.label * b.label * dot(a.features, b.features)
    });
    trace_norm(&gram, f64::from(p))
}

/// Theorem 9.
pub(super) fn theorem_9(p: u32, transcript: &Transcript, u: &Comparator, scope: Scope) -> Parts {
    let largest = match scope {
        Scope::Mistakes => {
            let square = |(mistakes, _): (Vec<usize>, usize)| {
                let columns: Vec<_> = mistakes.iter().map(|at| (*at, 1.0)).collect();
                matrix_norm_squared(transcript, &columns, p) / mistakes.len() as f64
            };
            transcript.mistaken_rounds().map(square).fold(0.0, f64::max)
        }
        Scope::Everything => {
            let squares = (0..transcript.len()).map(|at| transcript.example(at).features.norm_squared());
            squares.fold(0.0, f64::max)
        }
    };
    let dual = dual_norm_squared(u, p);
    let complexity = (2.0 * f64::from(p) - 1.0) * largest * dual;
    let details = vec![("p", f64::from(p)), ("M_s2p", largest.sqrt()), ("|U|_s2q", dual.sqrt())];
    Parts { complexity, constant: 0.0, formula: Formula::Solved, details }
}

/// Remark 12, its last term with the factor 2p - 1 (errata).
pub(super) fn remark_12(shared: SharedLoss, transcript: &Transcript, u: &Comparator, scope: Scope) -> Parts {
    let SharedLoss { p, c, norm } = shared;
    let (mut rounds, mut largest) = (0.0, 0.0_f64);
    for (round, _) in transcript.rounds() {
        rounds += 1.0;
        let order = by_task(transcript, round);
        let square = match scope {
            Scope::Mistakes => {
                let losses: Vec<f64> = order.iter().map(|at| transcript.hinge(*at)).collect();
                let columns: Vec<(usize, f64)> = order
                    .iter()
                    .copied()
                    .zip(shared.norm.shares(&losses, shared.c))
                    .filter(|pair| pair.1 != 0.0)
                    .collect();
                matrix_norm_squared(transcript, &columns, p)
            }
            Scope::Everything => {
                let lengths = order.iter().map(|at| transcript.example(*at).features.norm_squared());
                let most = if norm == LossNorm::L1 { lengths.sum() } else { lengths.fold(0.0, f64::max) };
                c * c * most
            }
        };
        // The dual norm of tau is c wherever there is loss.
        largest = largest.max(square / c);
    }
    let dual = dual_norm_squared(u, p);
    let constant = (2.0 * f64::from(p) - 1.0) * rounds * largest / 2.0;
    let details = vec![
        ("p", f64::from(p)),
        ("C", c),
        ("|U|_s2q", dual.sqrt()),
        ("T", rounds),
        ("M_s2p", largest.sqrt()),
    ];
    Parts { complexity: dual / (2.0 * c), constant, formula: Formula::Sum, details }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schatten_norms_of_a_diagonal_matrix() {
        let u = Comparator::dense(&[vec![3.0, 0.0], vec![0.0, 4.0]]);
        assert!((dual_norm_squared(&u, 1) - 25.0).abs() < 1e-9, "2q = 2: Frobenius");
        let expected = (3.0_f64.powf(4.0 / 3.0) + 4.0_f64.powf(4.0 / 3.0)).powf(1.5);
        assert!((dual_norm_squared(&u, 2) - expected).abs() < 1e-9);
    }
}
