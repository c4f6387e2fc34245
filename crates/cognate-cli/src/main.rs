//! The `cognate` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    cognate_learn::run()
}
