//! Standard output and error: tables, numbers, error reports, exit codes.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use cognate::fit::FitError;
use cognate::internal::{readable, readable_lines, replace_file};
use cognate::model::{ExportError, OpenError};
use cognate::{Hint, RunError, SnapshotError, StreamError};
pub(crate) use cognate_lab::parallel::Interrupted;
pub(crate) use cognate_plot::numbers::bytes;
use cognate_plot::text_table::TextTable;
use indicatif::{ProgressBar, ProgressStyle};

use crate::hints::advice;

/// A spinner for work of unknown length; hidden if there is no terminal.
pub(crate) fn spinner(quiet: bool) -> ProgressBar {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_style(ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a template of ours"))
}

/// Done, but a check failed.
#[derive(Debug)]
pub(crate) struct CheckFailed(pub(crate) String);

impl fmt::Display for CheckFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckFailed {}

/// Refused by the program itself, with a way out.
#[derive(Debug)]
pub(crate) struct Advised {
    pub(crate) message: String,
    pub(crate) advice: String,
}

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Advised {}

/// What went wrong after learning had begun, and what became of the model.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) problems: Vec<anyhow::Error>,
    pub(crate) model: Option<String>,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.problems.iter().map(with_causes).collect();
        f.write_str(&all.join("; "))
    }
}

impl std::error::Error for Ended {}

/// Done, but the check failed.
const FAILED: u8 = 1;
/// Bad usage, config or data.
const BAD: u8 = 2;
/// Exit code that shells give a program ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Reports an error, if there is one, and turns the result into an exit code.
pub(crate) fn exit_code(done: anyhow::Result<()>) -> ExitCode {
    let Err(error) = done else {
        return ExitCode::SUCCESS;
    };
    if is_closed_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    if error.is::<Interrupted>() {
        return ExitCode::from(INTERRUPTED);
    }
    if let Some(Ended { problems, model }) = error.downcast_ref() {
        problems.iter().for_each(report);
        model.iter().for_each(|model| say(model));
        return ExitCode::from(BAD);
    }
    report(&error);
    ExitCode::from(if error.is::<CheckFailed>() { FAILED } else { BAD })
}

/// Whether the reader of the output has closed it, which is no error.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io_error = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    let json_error = error.chain().find_map(|cause| cause.downcast_ref::<serde_json::Error>());
    io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        || json_error.is_some_and(|error| error.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
}

/// An error and its causes, each printed once: some errors have their cause in their own text.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &cause;
    }
    text
}

fn report(error: &anyhow::Error) {
    let mut text = format!("{RED}error:{RED:#} {}\n", readable_lines(&with_causes(error)));
    let stream = error.chain().find_map(stream_error);
    if let Some(StreamError::Bad { place, excerpt, .. }) = stream {
        let number = place.line.to_string();
        let blank = " ".repeat(number.len());
        text += &format!("  {number} | {}\n  {blank} | {}^\n", excerpt.text, " ".repeat(excerpt.caret));
    }
    if let Some(advice) = error.chain().find_map(hint).and_then(advice) {
        text += &format!("  hint: {advice}\n");
    }
    if let Some(Advised { advice, .. }) = error.downcast_ref() {
        text += &format!("  hint: {}\n", readable_lines(advice));
    }
    match stream {
        // Nothing below a bad header can be read.
        Some(StreamError::Bad { problem, .. }) if problem.is_of_header() => {}
        Some(StreamError::Bad { skipped: 0, .. }) => {
            text += "  (--skip-bad N skips and counts up to N bad lines)\n";
        }
        Some(StreamError::Bad { skipped, .. }) => {
            let lines = if *skipped == 1 { "bad line was" } else { "bad lines were" };
            text += &format!("  ({skipped} {lines} skipped before this one; --skip-bad N allows N)\n");
        }
        _ => {}
    }
    write_line(text.trim_end());
}

/// The error of a stream, on its own or as what ended a run.
fn stream_error<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a StreamError> {
    let of_run = cause.downcast_ref::<RunError>().and_then(|error| match error {
        RunError::Stream(error) => Some(error),
        _ => None,
    });
    let of_opening = cause.downcast_ref::<OpenError>().and_then(|error| match error {
        OpenError::Stream(error) => Some(error),
        _ => None,
    });
    of_run.or(of_opening).or_else(|| cause.downcast_ref())
}

/// The way out of an error of the library.
fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<Hint> {
    let of_run = cause.downcast_ref::<RunError>().and_then(RunError::hint);
    let of_fit = cause.downcast_ref::<FitError>().and_then(FitError::hint);
    let of_model = cause.downcast_ref::<SnapshotError>().and_then(SnapshotError::hint);
    let of_export = cause.downcast_ref::<ExportError>().and_then(ExportError::hint);
    of_run.or(of_fit).or(of_model).or(of_export).or_else(|| stream_error(cause)?.hint())
}

const RED: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// Writes a line to standard error, with everything escaped that would do more than show.
pub(crate) fn say(line: &str) {
    write_line(&readable_lines(line));
}

/// Writes a line as it is to standard error; a closed one is ignored.
fn write_line(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Standard output in messages.
pub(crate) const STDOUT: &str = "standard output";

/// Standard output, buffered.
pub(crate) fn stdout() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Fails once nobody reads what is written to a pipe any more: with nothing to write, writing does not tell.
#[cfg(unix)]
pub(crate) fn check_stdout_is_read() -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let out = io::stdout();
    let mut watched = [PollFd::new(&out, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // Where nothing can be found out, the next line tells.
    let told = poll(&mut watched, Some(&now)).is_ok();
    let is_closed = told && watched[0].revents().contains(PollFlags::ERR);
    if is_closed { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
}

/// Elsewhere the next line tells.
#[cfg(not(unix))]
pub(crate) fn check_stdout_is_read() -> io::Result<()> {
    Ok(())
}

/// Writes to standard output, and flushes; an error names it.
pub(crate) fn to_stdout<E: Into<anyhow::Error>>(
    write: impl FnOnce(&mut BufWriter<io::StdoutLock<'static>>) -> Result<(), E>,
) -> anyhow::Result<()> {
    let mut out = stdout();
    let written = write(&mut out).map_err(Into::into).and_then(|()| Ok(out.flush()?));
    written.context(STDOUT)
}

/// Writes a file that a command makes at its end: at every moment it is the old one or the new one, whole. An error names it
/// by its flag.
pub(crate) fn write_file(flag: &str, path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let written = replace_file(path, |out| out.write_all(content.as_ref()));
    written.with_context(|| format!("{flag} {}", path.display()))
}

/// Prints a result that people read, and flushes.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    // Pages have no-break spaces between numbers and units; a terminal needs plain ones.
    let text = readable_lines(&text.replace(['\u{a0}', '\u{202f}'], " "));
    to_stdout(|out| {
        out.write_all(text.as_bytes())?;
        if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") }
    })
}

/// Prints a result as [`print()`] does, to standard error: standard output carries something else.
pub(crate) fn print_aside(text: &str) {
    say(text.replace(['\u{a0}', '\u{202f}'], " ").trim_end());
}

/// Prints a result as one line of JSON.
pub(crate) fn print_json_line(value: &impl serde::Serialize) -> anyhow::Result<()> {
    to_stdout(|out| {
        serde_json::to_writer(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Prints a result as indented JSON, without building it in memory.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    to_stdout(|out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// A table: the first column is text, the rest numbers.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> TextTable {
    TextTable::new(header, rows)
}

/// A name as a terminal can show it: nothing that controls or hides, no endless length.
pub(crate) fn shown_name(name: &str) -> String {
    const LONGEST: usize = 40;
    let mut text = readable(&name.chars().take(LONGEST).collect::<String>());
    if name.chars().count() > LONGEST {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_not_bad_input() {
        let code = |error: anyhow::Error| format!("{:?}", exit_code(Err(error)));
        assert_eq!(code(CheckFailed("violated".to_owned()).into()), format!("{:?}", ExitCode::from(FAILED)));
        assert_eq!(code(anyhow::anyhow!("no such file")), format!("{:?}", ExitCode::from(BAD)));
    }

    #[test]
    fn names_read_well() {
        assert_eq!(shown_name("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(shown_name(&"x".repeat(50)).chars().count(), 41);
    }
}
