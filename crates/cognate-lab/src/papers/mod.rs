//! The papers' tables and figures, one file per paper: what each claims, needs and checks.

mod cs15;
mod lr11;
mod mb12;
mod mp10;
mod rom17;

use crate::Experiment;

/// All experiments, in the order of the papers.
pub fn experiments() -> Vec<&'static Experiment> {
    [&mp10::ALL[..], &lr11::ALL, &rom17::ALL, &cs15::ALL, &mb12::ALL].into_iter().flatten().collect()
}
