//! `cargo xtask schema` and `cargo xtask docs`: files that are generated from the library.
//!
//! A program of its own, so that the other commands need not wait for the library.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the project reports to the person who runs it"
)]

mod docs;
mod generated;
mod schema;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Files that are generated from the library.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write schema/config.schema.json
    Schema(generated::Options),
    /// Write the table of docs/learners.md
    Docs(generated::Options),
}

/// Exit codes: 0 done, 1 a file is out of date, 2 the command could not be run.
fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Schema(options) => schema::run(&options),
        Command::Docs(options) => docs::run(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
