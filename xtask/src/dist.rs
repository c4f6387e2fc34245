//! `cargo xtask dist`: the program built for distribution, and its size.

use anyhow::{Context, Result};

use crate::cargo::{cargo, target};

/// Runs the command.
pub(crate) fn run() -> Result<bool> {
    let built = cargo().args(["build", "--profile", "dist", "--package", "cognate-learn"]).status()?;
    if !built.success() {
        return Ok(false);
    }
    let program = target().join(format!("dist/cognate{}", std::env::consts::EXE_SUFFIX));
    let size = program.metadata().with_context(|| program.display().to_string())?.len();
    println!("{}: {:.1} MB", program.display(), size as f64 / 1e6);
    Ok(true)
}
