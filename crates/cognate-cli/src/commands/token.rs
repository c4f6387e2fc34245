//! `cognate token`: a line for the file of tokens.

use std::io::Read;

use anyhow::{Context, bail};
use cognate_server::tokens::{line, scopes, secret};

use crate::args::serve::TokenArgs;
use crate::output::{self, say};

/// Bytes of a secret: nobody guesses it.
const RANDOM: usize = 24;

/// Runs the command.
pub(crate) fn run(args: &TokenArgs) -> anyhow::Result<()> {
    let prefix = args.task_prefix.as_deref().unwrap_or_default();
    for (what, text) in [("NAME", args.name.as_str()), ("--task-prefix", prefix)] {
        if text.contains(char::is_whitespace) || text.starts_with('#') || text.contains(char::is_control) {
            bail!("{what} {text:?}: expected no blanks, no control characters and no `#` at the beginning");
        }
    }
    if args.name.is_empty() {
        bail!("NAME: must not be empty");
    }
    let scopes = scopes(&args.scopes).with_context(|| format!("--scopes {}", args.scopes))?;
    let secret = secret(&random().context("cannot draw a secret")?);
    output::print(&line(&args.name, &secret, &scopes, prefix))?;
    say(&format!("the secret, shown once: {secret}"));
    Ok(())
}

/// Random bytes of the operating system.
fn random() -> std::io::Result<[u8; RANDOM]> {
    let mut bytes = [0; RANDOM];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
