//! `cargo xtask ci`: everything that must hold before a change is merged.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use crate::generated::{self, root};
use crate::{docs, fuzz, python, schema};

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave the fuzz run out
    #[arg(long)]
    pub(crate) no_fuzz: bool,
    /// Leave the Python package out
    #[arg(long)]
    pub(crate) no_python: bool,
}

/// The steps that are cargo commands.
const STEPS: &[(&str, &[&str])] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("tests and doctests", &["test", "--workspace"]),
    ("docs", &["doc", "--workspace", "--no-deps", "--document-private-items"]),
];

/// Runs the command; stops at the first step that fails.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let started = Instant::now();
    for (name, words) in STEPS {
        if !step(name, || cargo(words))? {
            return Ok(false);
        }
    }
    let check = generated::Options { check: true };
    let mut fine = step("generated files", || Ok(schema::run(&check)? & docs::run(&check)?))?;
    if fine {
        fine = step("the lab, quickly", lab)?;
    }
    if fine && !options.no_python {
        fine = step("Python package", || python::run(&python::Options { speed: false, rows: 0 }))?;
    }
    if fine && !options.no_fuzz {
        fine = step("fuzzing", || fuzz::run(&fuzz::Options { seconds: 20 }))?;
    }
    println!(
        "ci: {} in {:.0} s",
        if fine { "everything holds" } else { "failed" },
        started.elapsed().as_secs_f64()
    );
    Ok(fine)
}

fn step(name: &str, run: impl FnOnce() -> Result<bool>) -> Result<bool> {
    println!("ci: {name}");
    let started = Instant::now();
    let fine = run().with_context(|| name.to_owned())?;
    let verdict = if fine { "ok" } else { "FAILED" };
    println!("ci: {name}: {verdict} ({:.0} s)", started.elapsed().as_secs_f64());
    Ok(fine)
}

/// What the papers claim, with few runs, where their data are present.
fn lab() -> Result<bool> {
    let data = root().join("../shared/data");
    if !data.exists() {
        println!("ci: skipped: {} is not there", data.display());
        return Ok(true);
    }
    let words =
        ["run", "--release", "-p", "cognate-cli", "--", "--quiet", "lab", "run", "all", "--quick", "--data"];
    let (data, out) = (data.display().to_string(), root().join("target/lab-quick").display().to_string());
    cargo(&[&words[..], &[&data, "--out", &out]].concat())
}

fn cargo(words: &[&str]) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(cargo).args(words).env("RUSTDOCFLAGS", "-D warnings").current_dir(root()).status()?;
    Ok(status.success())
}
