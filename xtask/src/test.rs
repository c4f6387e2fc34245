//! `cargo xtask test`: the tests of library and program, and the examples in the docs.

use anyhow::Result;

use crate::steps::Steps;

/// The crates that have tests, with all that is in them; the Python package is tested from Python.
pub(crate) const TESTED: [&str; 5] =
    ["--workspace", "--exclude", "cognate-py", "--features", "cognate-lab/measure"];

/// Runs the command.
pub(crate) fn run() -> Result<bool> {
    let mut steps = Steps::new("test");
    steps.cargo("library, program, docs", &[&["test"], &TESTED[..]].concat())?;
    Ok(steps.finish())
}
