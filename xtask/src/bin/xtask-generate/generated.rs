//! Writes generated files, or checks that they are up to date.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

/// Options of a generator.
#[derive(Args)]
pub(crate) struct Options {
    /// Only say whether the file is up to date (exit code 1 if not)
    #[arg(long)]
    pub(crate) check: bool,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the workspace").to_owned()
}

/// Writes a file, or checks it; `command` is the one that updates it.
pub(crate) fn put(options: &Options, name: &str, text: &str, command: &str) -> Result<bool> {
    let path = root().join(name);
    let now = std::fs::read_to_string(&path).unwrap_or_default();
    if now == text {
        println!("{name} is up to date");
        return Ok(true);
    }
    if options.check {
        println!("{name} is out of date; run: cargo xtask {command}");
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    std::fs::write(&path, text).with_context(|| name.to_owned())?;
    println!("{name} written");
    Ok(true)
}
