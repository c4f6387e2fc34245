//! `cargo xtask crash`: `cognate serve` is killed again and again under load; nothing acknowledged may be lost, nothing learnt twice.
//!
//! The drill is that of the program's tests, where it is shorter. Exits 1 when something was lost or learnt twice.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cognate_server::drill::{Drill, Killed};

use super::bench;

/// What is done.
#[derive(clap::Args)]
pub struct Options {
    /// How often the program is killed
    #[arg(long, value_name = "N", default_value_t = 400)]
    kills: u32,
    /// Clients that learn meanwhile
    #[arg(long, value_name = "N", default_value_t = 8)]
    clients: u32,
    /// Draws the moments
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Use this `cognate` program instead of building it
    #[arg(long, value_name = "FILE")]
    cognate: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let program = match &options.cognate {
        Some(program) => program.clone(),
        None => bench::program()?,
    };
    let folder = tempfile::tempdir_in(bench::folder()?).context("a folder for what is learnt")?;
    let Options { kills, clients, seed, .. } = *options;
    let drill = Drill { program: &program, folder: &folder.path().join("data"), kills, clients, seed };
    let Killed { acknowledged, learnt, again, kills, wrong } = drill.run()?;
    println!(
        "{kills} kills, {clients} clients: {acknowledged} requests acknowledged, {learnt} examples learnt, {again} requests sent again"
    );
    for (task, acknowledged, learnt) in &wrong {
        println!("{task}: {acknowledged} acknowledged, {learnt} learnt");
    }
    Ok(wrong.is_empty() && acknowledged == learnt)
}
