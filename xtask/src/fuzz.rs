//! `cargo xtask fuzz`: a bounded run of each fuzz target.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::generated::root;

/// Version of the tool that is installed when it is missing.
const CARGO_FUZZ: &str = "0.13.2";

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each target
    #[arg(long, default_value = "30")]
    pub(crate) seconds: u64,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let tool = install()?;
    let mut fine = true;
    for target in ["parse", "formats", "model"] {
        let corpus = format!("corpus/{target}");
        let seeds = format!("seeds/{target}");
        let folder = root().join("fuzz");
        std::fs::create_dir_all(folder.join(&corpus))?;
        // Without a sanitizer it builds on the stable toolchain.
        let status = Command::new(&tool)
            .args(["fuzz", "run", "-s", "none", target, &corpus, &seeds, "--"])
            .args([format!("-max_total_time={}", options.seconds), "-rss_limit_mb=4096".to_owned()])
            .args(["-max_len=16384", "-print_final_stats=1"])
            .current_dir(folder)
            .status()
            .context("cargo-fuzz could not be started")?;
        fine &= status.success();
    }
    Ok(fine)
}

/// The tool, from a private folder under `target`.
fn install() -> Result<PathBuf> {
    let folder = root().join("target/tools");
    let tool = folder.join("bin/cargo-fuzz");
    if !Path::new(&tool).exists() {
        println!("installing cargo-fuzz {CARGO_FUZZ} into target/tools");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ, "--root"])
            .arg(&folder)
            .status()?;
        ensure!(status.success(), "cargo-fuzz {CARGO_FUZZ} could not be installed");
    }
    Ok(tool)
}
