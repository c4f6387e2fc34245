//! `cargo xtask fuzz`: a bounded run of each fuzz target, or forged model files.
//!
//! The targets are built by cargo itself, with the flags that cargo-fuzz uses without a sanitizer: these work with the
//! stable compiler, and nothing has to be installed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::cargo::{cargo, root};

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each target
    #[arg(long, default_value = "30")]
    pub(crate) seconds: u64,
    /// Try forged model files instead: so many, however long it takes
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000000")]
    pub(crate) forge: Option<u64>,
}

const TARGETS: [&str; 5] = ["parse", "formats", "model", "body", "log"];

/// Instruments branches and comparisons, so that the fuzzer learns from both.
const FLAGS: [&str; 8] = [
    "--cfg",
    "fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    if let Some(cases) = options.forge {
        return forge(&[&cases.to_string()]);
    }
    let folder = root().join("fuzz");
    if !in_folder(&folder, "build").arg("--bins").status()?.success() {
        return Ok(false);
    }
    let mut fine = true;
    for target in TARGETS {
        fine &= run_target(&folder, target, options.seconds)?;
    }
    Ok(fine)
}

/// Forged model files, as many as fit into some seconds.
pub(crate) fn forge_for(seconds: u64) -> Result<bool> {
    forge(&[&u64::MAX.to_string(), "--seconds", &seconds.to_string()])
}

/// Built as tests are: arithmetic that overflows is a failure.
fn forge(words: &[&str]) -> Result<bool> {
    let mut cargo = cargo();
    cargo.args(["run", "--quiet", "--package", "xtask", "--features", "forge", "--bin", "xtask-forge", "--"]);
    Ok(cargo.args(words).status()?.success())
}

/// Cargo for the fuzz targets. A named target platform keeps the flags away from build scripts and macros.
fn in_folder(folder: &Path, command: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([command, "--release", "--target", "host-tuple", "--target-dir", "target"]);
    cargo.env("RUSTFLAGS", FLAGS.join(" ")).current_dir(folder);
    cargo
}

fn run_target(folder: &Path, target: &str, seconds: u64) -> Result<bool> {
    println!("fuzz: {target}");
    let (corpus, artifacts) = (format!("corpus/{target}"), format!("artifacts/{target}/"));
    for made in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder.join(made)).with_context(|| made.clone())?;
    }
    let status = in_folder(folder, "run")
        .args(["--quiet", "--bin", target, "--", &corpus, &format!("seeds/{target}")])
        .args([&format!("-artifact_prefix={artifacts}"), &format!("-max_total_time={seconds}")])
        .args(["-rss_limit_mb=4096", "-max_len=16384", "-print_final_stats=1"])
        .status()?;
    Ok(status.success())
}
