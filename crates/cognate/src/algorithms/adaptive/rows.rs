//! What is kept per feature, by name: the table of weights holds plain rows of numbers.
//!
//! `of(row.each_ref())` names the numbers of a row to read them, `of(row.each_mut())` to change them; `of(*row)` copies them.

/// Of a feature, what all tasks of a group share.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SharedRow<N> {
    /// Weight of the member `pooled`: the first number of the row, of which all groups' are summed up at once.
    pub(super) pooled: N,
    /// Shared weight of the member `coupled`.
    pub(super) coupled: N,
    /// Precision of both: sum h x^2 over the examples of the group.
    pub(super) precision: N,
    /// s, the largest |x|.
    pub(super) size: N,
}

/// Of a feature, what is a task's own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnRow<N> {
    /// Weight of the member `alone`.
    pub(super) alone: N,
    /// Own weight of the member `coupled`.
    pub(super) coupled: N,
    /// Precision of both: sum h x^2 over the examples of the task.
    pub(super) precision: N,
}

/// Of a feature, what a vector keeps that shares nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct VectorRow<N> {
    pub(super) weight: N,
    /// Precision of the weight: sum h x^2.
    pub(super) precision: N,
    /// s, the largest |x|.
    pub(super) size: N,
}

impl<N> SharedRow<N> {
    #[inline]
    pub(super) fn of([pooled, coupled, precision, size]: [N; 4]) -> Self {
        Self { pooled, coupled, precision, size }
    }
}

impl<N> OwnRow<N> {
    #[inline]
    pub(super) fn of([alone, coupled, precision]: [N; 3]) -> Self {
        Self { alone, coupled, precision }
    }
}

impl<N> VectorRow<N> {
    #[inline]
    pub(super) fn of([weight, precision, size]: [N; 3]) -> Self {
        Self { weight, precision, size }
    }
}
