//! Loops compiled for the widest vectors that the processor at hand has.
//!
//! Only loops that treat every entry by itself: those give the same bits whatever the width, sums do not. The library
//! that finds out about the processor compiles what it can inline, so the loops are types of their own rather than
//! closures, which are not inlined when they are long.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use pulp::Arch;
pub(crate) use pulp::{Simd, WithSimd};

/// The vectors at hand; found out once for many loops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Width(Arch);

/// Runs short work with all vector instructions that there are.
#[inline]
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(work)
}

/// The same for work that is too long to be inlined as a closure.
#[inline]
pub(crate) fn wide_work<W: WithSimd>(work: W) -> W::Output {
    Arch::new().dispatch(work)
}

impl Width {
    #[inline]
    pub(crate) fn find() -> Self {
        Self(Arch::new())
    }

    /// Runs a loop that is a type of its own.
    #[inline]
    pub(crate) fn run<W: WithSimd>(self, work: W) -> W::Output {
        self.0.dispatch(work)
    }

    /// `sums += factor * terms`.
    #[inline]
    pub(crate) fn add_scaled(self, sums: &mut [f64], factor: f64, terms: &[f64]) {
        self.0.dispatch(AddScaled { sums, factor, terms });
    }

    /// `sums += factor * terms^2`.
    #[inline]
    pub(crate) fn add_scaled_squares(self, sums: &mut [f64], factor: f64, terms: &[f64]) {
        self.0.dispatch(AddScaledSquares { sums, factor, terms });
    }

    /// `sums += factor * terms`, then `terms += step * rates`.
    #[inline]
    pub(crate) fn add_scaled_then_move(
        self,
        sums: &mut [f64],
        factor: f64,
        terms: &mut [f64],
        step: f64,
        rates: &[f64],
    ) {
        self.0.dispatch(AddScaledThenMove { sums, factor, terms, step, rates });
    }
}

struct AddScaled<'a> {
    sums: &'a mut [f64],
    factor: f64,
    terms: &'a [f64],
}

impl WithSimd for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (sum, term) in self.sums.iter_mut().zip(self.terms) {
            *sum += self.factor * term;
        }
    }
}

struct AddScaledSquares<'a> {
    sums: &'a mut [f64],
    factor: f64,
    terms: &'a [f64],
}

impl WithSimd for AddScaledSquares<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (sum, term) in self.sums.iter_mut().zip(self.terms) {
            *sum += self.factor * term * term;
        }
    }
}

struct AddScaledThenMove<'a> {
    sums: &'a mut [f64],
    factor: f64,
    terms: &'a mut [f64],
    step: f64,
    rates: &'a [f64],
}

impl WithSimd for AddScaledThenMove<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sums, factor, terms, step, rates } = self;
        for ((sum, term), rate) in sums.iter_mut().zip(terms).zip(rates) {
            *sum += factor * *term;
            *term += step * rate;
        }
    }
}
