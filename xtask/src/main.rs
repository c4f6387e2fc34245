//! The project's own commands: `cargo xtask <command>`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the project reports to the person who runs it"
)]

mod bench;
mod budgets;
mod ci;
mod convex;
mod docs;
mod fuzz;
mod generated;
mod plot;
mod python;
mod relation_speed;
mod relations;
mod reproduce;
mod robust;
mod schema;
mod sets;
mod strengths;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure `cognate` beside Vowpal Wabbit, scikit-learn, River and a bare parse
    Bench(bench::Options),
    /// Everything that must hold: format, lints, tests, docs, generated files, a bounded fuzz run
    Ci(ci::Options),
    /// Write schema/config.schema.json
    Schema(generated::Options),
    /// Write the table of docs/learners.md
    Docs(generated::Options),
    /// Compare b = "auto" with fixed strengths of sharing on every data set
    Strengths(strengths::Options),
    /// Compare learned relations with given ones on every data set
    Relations(relations::Options),
    /// Compare `rom-pgd` with the passive-aggressive learners on every data set, and with others under poison
    Robust(robust::Options),
    /// Measure learners in fixed memory: speed, memory, error against budget
    Budgets(budgets::Options),
    /// Measure what `convex` explains on school, and how long a fit takes
    Convex(convex::Options),
    /// Run the lab, and write docs/papers from what it finds
    Reproduce(reproduce::Options),
    /// Build the Python package, install it in a clean environment, run its tests
    Python(python::Options),
    /// Fuzz the parser and the model loader for a while
    Fuzz(fuzz::Options),
}

/// Exit codes: 0 done, 1 a check failed, 2 it could not be done.
fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Bench(options) => bench::run(&options),
        Command::Ci(options) => ci::run(&options),
        Command::Schema(options) => schema::run(&options),
        Command::Docs(options) => docs::run(&options),
        Command::Strengths(options) => strengths::run(&options),
        Command::Relations(options) => relations::run(&options),
        Command::Robust(options) => robust::run(&options),
        Command::Budgets(options) => budgets::run(&options),
        Command::Convex(options) => convex::run(&options),
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Python(options) => python::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
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
