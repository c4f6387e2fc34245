//! The squared norm of a vector that grows by small steps, kept without walking over the vector.
//!
//! |w + step x|^2 = |w|^2 + 2 step w'x + step^2 |x|^2, and |c w|^2 = c^2 |w|^2. Each step rounds by a few units in the
//! last place of the largest of these terms, which matters when a long vector is brought back to a short one. So the
//! norm is counted anew from the weights once the steps have touched many times as many weights as there are: a small
//! share of the work of the steps themselves, whatever their number.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::error::StateError;

/// Weights touched before the first count.
const FIRST: u64 = 4096;

/// Weights touched between two counts, for each non-zero weight.
const PER_WEIGHT: u64 = 16;

/// A squared norm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Norm {
    squared: f64,
    /// Weights that may be touched before the norm is counted anew.
    left: u64,
}

/// Squares added up, and how many of them are not 0.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Squares {
    sum: f64,
    count: u64,
}

impl Squares {
    pub(crate) fn of(numbers: impl Iterator<Item = f64>) -> Self {
        numbers.fold(Self::default(), |squares, number| Self {
            sum: squares.sum + number * number,
            count: squares.count + u64::from(number != 0.0),
        })
    }

    /// The root of the sum.
    pub(crate) fn norm(self) -> f64 {
        self.sum.sqrt()
    }
}

impl Norm {
    /// That of no vector yet.
    pub(crate) const NEW: Self = Self { squared: 0.0, left: FIRST };

    pub(crate) fn get(self) -> f64 {
        self.squared.sqrt()
    }

    /// |w + step x|^2, from w'x and |x|^2.
    pub(crate) fn squared_after(self, step: f64, dot: f64, x_squared: f64) -> f64 {
        (self.squared + step * (2.0 * dot + step * x_squared)).max(0.0)
    }

    /// The vector became one of this squared norm by a step on so many weights; whether it is time to count.
    pub(crate) fn follow(&mut self, squared: f64, touched: usize) -> bool {
        self.squared = squared;
        self.left = self.left.saturating_sub(touched as u64);
        self.left == 0
    }

    /// The vector holds these squares.
    pub(crate) fn count(&mut self, squares: Squares) {
        self.squared = squares.sum;
        self.left = FIRST.max(PER_WEIGHT * squares.count);
    }
}

/// Saved form of some norms.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NormsState {
    squared: Block<f64>,
    left: Block<u64>,
}

impl NormsState {
    /// Takes out the norm of a task, where there is one; those after it come one number earlier.
    pub(crate) fn remove_task(&mut self, task: usize) {
        self.squared.remove_row(task, 1);
        self.left.remove_row(task, 1);
    }

    pub(crate) fn of(norms: impl Iterator<Item = Norm> + Clone) -> Self {
        Self {
            squared: Block(norms.clone().map(|norm| norm.squared).collect()),
            left: Block(norms.map(|norm| norm.left).collect()),
        }
    }

    /// The norms, none of which is what no vector has.
    pub(crate) fn restore(self) -> Result<Vec<Norm>, StateError> {
        let Self { squared: Block(squared), left: Block(left) } = self;
        let good = |squared: &f64| squared.is_finite() && *squared >= 0.0;
        if squared.len() != left.len() || !squared.iter().all(good) || left.contains(&0) {
            return Err(StateError::new("a norm is negative, not finite or out of date"));
        }
        Ok(squared.into_iter().zip(left).map(|(squared, left)| Norm { squared, left }).collect())
    }
}
