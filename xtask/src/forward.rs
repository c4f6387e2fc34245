//! Commands that other programs run, built as users build the program; tests need not wait for them.

use std::ffi::OsString;

use anyhow::{Result, bail};
use clap::Args;

use crate::cargo::cargo;

/// Flags of such a command, including `--help`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    words: Vec<OsString>,
}

/// A program, its package, and the feature that it needs.
pub(crate) struct Program(&'static str, &'static str, &'static str);

/// The program that writes files generated from the library.
pub(crate) const GENERATE: Program = Program("xtask-generate", "xtask", "generate");
/// The program that measures.
pub(crate) const MEASURE: Program = Program("cognate-measure", "cognate-lab", "measure");

impl Program {
    /// Runs a command with the flags that were given.
    pub(crate) fn forward(&self, command: &str, words: &Words) -> Result<bool> {
        let words: Vec<&OsString> = words.words.iter().collect();
        self.run(command, &words)
    }

    /// Runs a command; returns false when what it checks does not hold.
    pub(crate) fn run(&self, command: &str, words: &[impl AsRef<std::ffi::OsStr>]) -> Result<bool> {
        let Self(program, package, feature) = self;
        let mut cargo = cargo();
        // Paths in the flags are relative to the caller's folder.
        cargo.current_dir(std::env::current_dir()?);
        cargo.args(["run", "--quiet", "--release", "--package", package, "--features", feature]);
        match cargo.args(["--bin", program, "--", command]).args(words).status()?.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => bail!("{command} could not be done"),
        }
    }
}
