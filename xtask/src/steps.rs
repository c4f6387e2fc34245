//! Steps in sequence, each named and timed, until one fails.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::cargo::cargo;

/// A run of steps.
pub(crate) struct Steps {
    name: &'static str,
    started: Instant,
    fine: bool,
}

impl Steps {
    /// Begins; every line starts with `name`.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, started: Instant::now(), fine: true }
    }

    /// Runs a step, unless one before it failed.
    pub(crate) fn step(&mut self, what: &str, run: impl FnOnce() -> Result<bool>) -> Result<()> {
        if self.fine {
            println!("{}: {what}", self.name);
            let started = Instant::now();
            self.fine = run().with_context(|| what.to_owned())?;
            let verdict = if self.fine { "ok" } else { "FAILED" };
            println!("{}: {what}: {verdict} ({:.0} s)", self.name, started.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Runs a step that is a cargo command.
    pub(crate) fn cargo(&mut self, what: &str, words: &[&str]) -> Result<()> {
        self.step(what, || Ok(cargo().args(words).env("RUSTDOCFLAGS", "-D warnings").status()?.success()))
    }

    /// Ends; returns whether all steps succeeded.
    pub(crate) fn finish(self) -> bool {
        let verdict = if self.fine { "everything holds" } else { "failed" };
        println!("{}: {verdict} in {:.0} s", self.name, self.started.elapsed().as_secs_f64());
        self.fine
    }
}
