//! The project's own commands: `cargo xtask <command>`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the project reports to the person who runs it"
)]

mod cargo;
mod ci;
mod dist;
mod forward;
mod fuzz;
mod page;
mod python;
mod steps;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use forward::{GENERATE, MEASURE, Words};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The tests of library and program, and the examples in the docs
    Test,
    /// What else must hold: format, lints, docs, generated files, packages, the lab, the Python package, a bounded fuzz run
    Ci(ci::Options),
    /// Build the program for distribution, and print its path and size
    Dist,
    /// Write schema/config.schema.json
    Schema(Words),
    /// Write the table of docs/learners.md
    Docs(Words),
    /// Build the Python package, install it in a clean environment, run its tests
    Python(python::Options),
    /// Bundle the dashboard from its sources and pinned packages; node and npm are needed
    Vendor(page::Options),
    /// Test the dashboard in Chromium, and keep pictures of it
    Browser(page::Browser),
    /// Fuzz the parsers and the model loader for a while, or try forged model files
    Fuzz(fuzz::Options),
    /// Measure `cognate` beside Vowpal Wabbit, scikit-learn, River and a bare parse
    Bench(Words),
    /// Compare `adaptive` on real labels with Vowpal Wabbit and with its own forms, and write docs/regression.md
    Real(Words),
    /// Compare b = "auto" with fixed strengths of sharing on every data set
    Strengths(Words),
    /// Compare what labels buy that are asked for by margin and by uncertainty
    Labels(Words),
    /// Compare learned relations with given ones on every data set
    Relations(Words),
    /// Compare `rom-pgd` with the passive-aggressive learners on every data set, and with others on poisoned tasks
    Robust(Words),
    /// Measure learners in fixed memory: speed, memory, error against budget
    Budgets(Words),
    /// Measure what `convex` explains on school, and how long a fit takes
    Convex(Words),
    /// Measure `cognate serve` under load, beside Vowpal Wabbit's daemon and a server of FastAPI and River
    Load(Words),
    /// Kill `cognate serve` again and again under load: is anything acknowledged lost, or learnt twice?
    Crash(Words),
    /// Run the lab, and write docs/papers from what it finds
    Reproduce(Words),
}

/// Exit codes: 0 done, 1 a check failed, 2 the command could not be run.
fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Test => test::run(),
        Command::Ci(options) => ci::run(&options),
        Command::Dist => dist::run(),
        Command::Schema(words) => GENERATE.forward("schema", &words),
        Command::Docs(words) => GENERATE.forward("docs", &words),
        Command::Python(options) => python::run(&options),
        Command::Vendor(options) => page::vendor(&options),
        Command::Browser(options) => page::browser(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Bench(words) => MEASURE.forward("bench", &words),
        Command::Real(words) => MEASURE.forward("real", &words),
        Command::Strengths(words) => MEASURE.forward("strengths", &words),
        Command::Labels(words) => MEASURE.forward("labels", &words),
        Command::Relations(words) => MEASURE.forward("relations", &words),
        Command::Robust(words) => MEASURE.forward("robust", &words),
        Command::Budgets(words) => MEASURE.forward("budgets", &words),
        Command::Convex(words) => MEASURE.forward("convex", &words),
        Command::Load(words) => MEASURE.forward("load", &words),
        Command::Crash(words) => MEASURE.forward("crash", &words),
        Command::Reproduce(words) => MEASURE.forward("reproduce", &words),
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
