//! `cargo xtask convex`: explained variance on school, and the speed of `fit`, into docs/convex.md.
//!
//! Parameters are chosen by five-fold cross-validation on the training examples alone. What is promised is in
//! docs/convex.md; exits 1 when a promise is broken.

mod figure;
mod speed;
mod tables;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::measure::{page, root};

/// What is measured.
#[derive(clap::Args)]
pub struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    pub(crate) data: PathBuf,
    /// Only parts whose name contains this: school, speed
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Random draws of every table
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) draws: u64,
    /// Python with NumPy and SciPy, to be measured in the same run
    #[arg(long, value_name = "PROGRAM", default_value = "target/bench/peers/bin/python")]
    pub(crate) python: PathBuf,
    /// Put what was measured into docs/convex.md
    #[arg(long)]
    write: bool,
}

/// What a part prints, and the promises that are broken.
pub(crate) struct Measured {
    pub(crate) text: String,
    pub(crate) broken: Vec<String>,
}

type Part = fn(&Options) -> Result<Measured>;

const PARTS: [(&str, Part); 2] = [("school", tables::school), ("speed", speed::run)];

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let mut broken = Vec::new();
    let mut found = false;
    for (name, part) in PARTS.iter().filter(|(name, _)| name.contains(&options.only)) {
        found = true;
        let measured = part(options)?;
        println!("{}", measured.text);
        if options.write {
            page::publish(&root().join("docs/convex.md"), name, &measured.text)?;
        }
        broken.extend(measured.broken.into_iter().map(|promise| format!("{name}: {promise}")));
    }
    if !found {
        bail!("--only {}: no part has this in its name", options.only);
    }
    broken.iter().for_each(|promise| println!("BROKEN: {promise}"));
    println!("{}", if broken.is_empty() { "The promises are kept." } else { "A promise is broken." });
    Ok(broken.is_empty())
}
