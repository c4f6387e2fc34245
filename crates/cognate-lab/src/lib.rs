//! The papers' tables and figures, ours beside theirs; and, with the feature `measure`, what the project measures.
//!
//! This crate is the library behind `cognate lab` and behind the commands of `cargo xtask` that measure. It is internal
//! to the program; its API is not stable.
//!
//! An [`Experiment`] says what it claims, what data it needs and where it departs from the paper, and tests its claims;
//! `papers` has one file per paper. [`Findings`] are the results of an experiment and how they are written; each [`Claim`]
//! in them has a [`Verdict`], which is compared with the one on [`Record`]; `data` finds and reads data sets; `runs` learns streams; `fitting` fits all examples at once; `known` keeps what
//! several experiments need. [`parallel`] runs jobs side by side;
//! [`statistics`] tells differences from chance, whatever the metric, by what each example contributes to it ([`influence`]).

mod data;
mod findings;
mod fitting;
pub mod influence;
mod known;
#[cfg(feature = "measure")]
pub mod measure;
mod papers;
pub mod parallel;
mod record;
mod runs;
pub mod statistics;
mod verdict;

use std::path::{Path, PathBuf};

pub use data::DataSet;
pub use findings::Findings;
use known::Known;
pub use papers::experiments;
use parallel::Pool;
pub use record::Record;
pub use verdict::{Claim, Verdict};

/// A table or figure of a paper.
pub struct Experiment {
    /// What users call it.
    pub id: &'static str,
    /// The paper and the place in it.
    pub place: &'static str,
    /// The result that the paper claims.
    pub claim: &'static str,
    /// Where ours departs from the paper's experiment, and why.
    pub deviates: &'static str,
    /// Why not every claim comes out, and a command that shows it; empty where every claim does.
    pub explains: &'static str,
    /// The data sets it reads; none if its streams are synthetic.
    pub needs: &'static [&'static DataSet],
    /// Rough minutes on two processors: quick, full.
    pub minutes: (f64, f64),
    /// Runs it.
    pub run: fn(&Lab) -> anyhow::Result<Findings>,
}

/// Where and how experiments are run.
pub struct Lab {
    /// Folder of the data sets.
    pub data: PathBuf,
    /// Whether fewer runs and smaller grids will do.
    pub quick: bool,
    /// The threads that run jobs.
    pub pool: Pool,
    known: Known,
}

impl Lab {
    /// A lab that has run nothing yet.
    pub fn new(data: PathBuf, quick: bool, pool: Pool) -> Self {
        Self { data, quick, pool, known: Known::default() }
    }

    /// One value for quick runs, another for full ones.
    fn choose<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}

impl Experiment {
    /// Files that are missing.
    pub fn missing(&self, data: &Path) -> Vec<(&'static DataSet, &'static str)> {
        let of_set = |set: &&'static DataSet| {
            let set = *set;
            set.files.iter().filter(|file| !data.join(file).exists()).map(move |file| (set, *file))
        };
        self.needs.iter().flat_map(of_set).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_seventeen_with_names_of_their_own() {
        let mut ids: Vec<&str> = experiments().iter().map(|experiment| experiment.id).collect();
        assert_eq!(ids.len(), 17);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 17);
    }
}
