//! The program behind `cargo xtask bench` and similar commands: measures, and says whether promises are kept.
#![expect(clippy::print_stderr, reason = "a command of the project reports to the person who runs it")]

use std::process::ExitCode;

use clap::Parser;
use cognate_lab::measure::Command;

/// The project's commands that measure.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Exit codes: 0 done, 1 a promise is broken, 2 it could not be measured.
fn main() -> ExitCode {
    match Arguments::parse().command.run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
