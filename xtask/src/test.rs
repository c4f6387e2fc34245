//! `cargo xtask test`: the tests of library and program, and the examples in the docs.

use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo::target;
use crate::steps::Steps;

/// The library's examples.
const EXAMPLES: [&str; 3] = ["live_filter", "fit_and_save", "custom_stream"];

/// All targets of the crates that have tests; the Python package is tested from Python.
pub(crate) const TESTED: [&str; 5] =
    ["--workspace", "--exclude", "cognate-py", "--features", "cognate-lab/measure"];

/// Runs the command.
pub(crate) fn run() -> Result<bool> {
    let mut steps = Steps::new("test");
    steps.cargo("library, program, docs", &[&["test"], &TESTED[..]].concat())?;
    steps.step("programs for embedders", examples)?;
    Ok(steps.finish())
}

/// Runs the library's examples, which the tests have built; each checks what it shows.
fn examples() -> Result<bool> {
    let built = target().join("debug/examples");
    for name in EXAMPLES {
        let program = built.join(name);
        let output = Command::new(&program).output().with_context(|| program.display().to_string())?;
        if !output.status.success() {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            return Ok(false);
        }
    }
    Ok(true)
}
