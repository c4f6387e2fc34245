//! The `cognate` program as a library, which is compiled while the learners still are; no stable API.

mod args;
mod ask;
mod bad_lines;
mod commands;
mod curves;
mod formats;
mod hints;
mod interrupt;
mod judging;
mod kin;
mod labelled;
mod model_file;
mod output;
mod pairs;
mod parts;
mod peak_memory;
mod progressive;
mod relation;
mod remote;
mod reporting;
mod rounds;
mod same_file;
mod saving;
mod schema;
mod settings;
mod strangers;
mod threshold;
mod times;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

/// Runs the program with the arguments of the process.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.color.apply();
    let quiet = arguments.quiet;
    let ready = interrupt::survive_saves().and_then(|()| same_file::check(&arguments.command));
    let done = ready.and_then(|()| match arguments.command {
        Command::Learn(learn) => commands::learn::run(&learn, quiet),
        Command::Compare(compare) => commands::compare::run(&compare, quiet),
        Command::Fit(fit) => commands::fit::run(&fit, quiet),
        Command::Predict(predict) => commands::predict::run(&predict),
        Command::Inspect(inspect) => commands::inspect::run(&inspect),
        Command::Forget(forget) => commands::forget::run(&forget),
        Command::Export(export) => commands::export::run(&export),
        Command::Relations(relations) => commands::relations::run(&relations, quiet),
        Command::Bound(bound) => commands::bound::run(&bound, quiet),
        Command::Algorithms(algorithms) => commands::algorithms::run(&algorithms),
        Command::Lab(lab) => commands::lab::run(&lab, quiet),
        Command::Demo(demo) => commands::demo::run(&demo, quiet),
        Command::Serve(serve) => commands::serve::run(&serve),
        Command::Recover(recover) => commands::recover::run(&recover),
        Command::Token(token) => commands::token::run(&token),
        Command::Parse(parse) => commands::parse::run(&parse),
    });
    output::exit_code(done)
}
