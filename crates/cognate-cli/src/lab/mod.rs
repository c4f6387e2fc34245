//! The papers' tables and figures, ours beside theirs.
//!
//! One file a paper; an [`Experiment`] says what it claims, what data it needs, where it deviates, and checks what comes
//! out. `findings` is what an experiment leaves and how that is written; `data` finds and reads data sets; `runs` learns
//! streams; `fitting` fits all examples at once.

mod cs15;
mod data;
mod findings;
#[expect(dead_code, reason = "the project's own measurements, compiled from the same file, use more of it")]
mod fitting;
mod lr11;
mod mb12;
mod mp10;
mod rom17;
mod runs;

use std::path::{Path, PathBuf};

use crate::parallel::Pool;
pub(crate) use data::DataSet;
pub(crate) use findings::Findings;

/// A table or figure of a paper.
pub(crate) struct Experiment {
    /// What users call it.
    pub(crate) id: &'static str,
    /// The paper and the place in it.
    pub(crate) place: &'static str,
    /// What the paper says comes out.
    pub(crate) claim: &'static str,
    /// Where ours is not the paper's experiment, and why.
    pub(crate) deviates: &'static str,
    /// What it reads; nothing where streams are made up.
    pub(crate) needs: &'static [&'static DataSet],
    /// Rough minutes on two processors: quick, full.
    pub(crate) minutes: (f64, f64),
    /// Does it.
    pub(crate) run: fn(&Lab) -> anyhow::Result<Findings>,
}

/// All of them, in the order of the papers.
pub(crate) fn experiments() -> Vec<&'static Experiment> {
    [&mp10::ALL[..], &lr11::ALL, &rom17::ALL, &cs15::ALL, &mb12::ALL].into_iter().flatten().collect()
}

/// Where and how experiments are run.
pub(crate) struct Lab {
    /// Folder of the data sets.
    pub(crate) data: PathBuf,
    /// Whether fewer runs and smaller grids will do.
    pub(crate) quick: bool,
    /// Who runs.
    pub(crate) pool: Pool,
}

impl Lab {
    /// The one or the other.
    fn choose<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}

impl Experiment {
    /// Files that are not there.
    pub(crate) fn missing(&self, data: &Path) -> Vec<(&'static DataSet, &'static str)> {
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
