//! The commands that measure: done by `cognate-measure` of crates/cognate-lab, built as users build the program.

use std::ffi::OsString;

use anyhow::{Result, bail};
use clap::Args;

use crate::cargo::cargo;

/// Flags of a command that measures, `--help` among them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    words: Vec<OsString>,
}

/// Runs a command; false when what it promises does not hold.
pub(crate) fn run(command: &str, words: &Words) -> Result<bool> {
    let program = ["run", "--quiet", "--release", "--package", "cognate-lab", "--features", "measure"];
    let mut cargo = cargo();
    // Paths among the flags are relative to the caller's folder.
    cargo.current_dir(std::env::current_dir()?);
    cargo.args(program).args(["--bin", "cognate-measure", "--", command]).args(&words.words);
    match cargo.status()?.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => bail!("{command} could not be done"),
    }
}
