//! What `cargo xtask` measures: speed beside others, accuracy, and whether learners keep their promises.
//!
//! | file | question |
//! |---|---|
//! | `bench` | how fast is `cognate`, and how often does it err, beside others? |
//! | `labels` | what do labels buy that are asked for by margin, or by uncertainty? |
//! | `strengths` | does b = "auto" keep its promise? |
//! | `relations`, `relation_speed` | is a learned relation worth having, and what does it cost? |
//! | `robust` | does `rom-pgd` keep its promises? |
//! | `breaks` | does `adaptive` withstand bad lines, huge values, other units and poisoned tasks? |
//! | `real` | how far off is `adaptive` where labels are real numbers? |
//! | `budgets` | what do learners in fixed memory cost? |
//! | `convex` | what does a fit explain, and how long does it take? |
//! | `load` | how many requests does `cognate serve` answer, and how fast? |
//! | `crash` | does `cognate serve` keep what it acknowledged, however often it is killed? |
//! | `reproduce` | do the papers' tables come out? |
//! | `sets` | the data sets that they read |
//! | `page` | where results are published |
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the project reports to the person who runs it"
)]

mod bench;
mod breaks;
mod budgets;
mod convex;
mod crash;
mod labels;
#[cfg(unix)]
mod load;
mod page;
mod real;
mod relation_speed;
mod relations;
mod reproduce;
mod robust;
mod sets;
mod strengths;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::parallel::Pool;

/// The commands that measure.
#[derive(Subcommand)]
pub enum Command {
    /// Measure `cognate` beside Vowpal Wabbit, scikit-learn, River and a bare parse
    Bench(bench::Options),
    /// Compare b = "auto" with fixed strengths of sharing on every data set
    Strengths(sets::Options),
    /// Compare what labels buy that are asked for by margin and by uncertainty, on spam_b and sentiment16
    Labels(labels::Options),
    /// Compare learned relations with given ones on every data set
    Relations(relations::Options),
    /// Compare `rom-pgd` with the passive-aggressive learners on every data set, and with others on poisoned tasks; `adaptive` on
    /// broken streams
    Robust(robust::Options),
    /// Compare `adaptive` on real labels with Vowpal Wabbit and with its own forms, and write docs/regression.md
    Real(real::Options),
    /// Measure learners in fixed memory: speed, memory, error against budget
    Budgets(budgets::Options),
    /// Measure what `convex` explains on school, and how long a fit takes
    Convex(convex::Options),
    /// Measure `cognate serve` under load, beside Vowpal Wabbit's daemon and a server of FastAPI and River
    #[cfg(unix)]
    Load(load::Options),
    /// Kill `cognate serve` again and again under load: is anything acknowledged lost, or learnt twice?
    Crash(crash::Options),
    /// Run the lab, and write docs/papers from what it finds
    Reproduce(reproduce::Options),
}

impl Command {
    /// Runs the command; returns false when a limit or a promise is broken.
    ///
    /// # Errors
    /// What could not be measured, and why.
    pub fn run(&self) -> anyhow::Result<bool> {
        match self {
            Self::Bench(options) => bench::run(options),
            Self::Strengths(options) => strengths::run(options),
            Self::Labels(options) => labels::run(options),
            Self::Relations(options) => relations::run(options),
            Self::Robust(options) => robust::run(options),
            Self::Real(options) => real::run(options),
            Self::Budgets(options) => budgets::run(options),
            Self::Convex(options) => convex::run(options),
            #[cfg(unix)]
            Self::Load(options) => load::run(options),
            Self::Crash(options) => crash::run(options),
            Self::Reproduce(options) => reproduce::run(options),
        }
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.ancestors().nth(2).expect("crates/cognate-lab is two folders below the root").to_owned()
}

/// The results of independent jobs in the jobs' order, on several threads.
fn in_parallel<T: Sync, R: Send>(
    jobs: &[T],
    work: impl Fn(&T) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let quiet = true;
    Pool::new(None, std::sync::Arc::default(), quiet).all("", jobs, work)
}
