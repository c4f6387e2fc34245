//! `--trace`: one JSON line per example, in a file or on standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, bail};
use cognate::Tasks;
use cognate::run::{RoundReport, UnlabelledReport};
use serde::Serialize;

use crate::output::check_stdout_is_read;

/// The output file; an error is kept until the end, since observers cannot fail.
pub(crate) struct Trace {
    out: BufWriter<Box<dyn Write>>,
    failed: Option<io::Error>,
    on_stdout: bool,
}

/// Room for the lines of a batch of usual size, so that it is written at once.
const BUFFER: usize = 1 << 17;

/// Whether a trace goes to standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A label as it is written: a side is a whole number.
#[derive(Serialize)]
#[serde(untagged)]
enum Label {
    Side(i8),
    Real(f64),
}

impl Label {
    fn of(label: f64) -> Self {
        if label.abs() == 1.0 { Self::Side(label as i8) } else { Self::Real(label) }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    t: u64,
    task: &'a str,
    label: Option<Label>,
    margin: f64,
    mistake: Option<bool>,
    updated: bool,
    queried: bool,
}

impl Trace {
    /// Creates the file, unless it is standard output.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let on_stdout = is_stdout(path);
        let out: Box<dyn Write> = if on_stdout {
            Box::new(io::stdout().lock())
        } else {
            Box::new(File::create(path).with_context(|| format!("--trace {}", path.display()))?)
        };
        Ok(Self { out: BufWriter::with_capacity(BUFFER, out), failed: None, on_stdout })
    }

    /// Writes the line of an example.
    pub(crate) fn write(&mut self, report: &RoundReport, tasks: &Tasks) {
        self.write_line(&Line {
            t: report.round,
            task: tasks.name(report.task),
            label: Some(Label::of(report.label)),
            margin: report.margin,
            mistake: Some(report.mistake),
            updated: report.updated,
            queried: report.queried,
        });
    }

    /// Writes the line of an example without a label, for which a mistake cannot be told.
    pub(crate) fn write_unlabelled(&mut self, report: &UnlabelledReport<'_>, tasks: &Tasks) {
        self.write_line(&Line {
            t: report.round,
            task: tasks.name(report.example.task),
            label: None,
            margin: report.margin,
            mistake: None,
            updated: false,
            queried: report.queried,
        });
    }

    fn write_line(&mut self, line: &Line<'_>) {
        if self.failed.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, line);
        let ended = written.map_err(io::Error::from).and_then(|()| self.out.write_all(b"\n"));
        self.failed = ended.err();
    }

    /// Flushes after a batch: the sender of a line through a pipe may wait for its answer before sending the next.
    pub(crate) fn flush(&mut self) {
        if self.failed.is_none() {
            let flushed = self.out.flush();
            let read = if self.on_stdout { check_stdout_is_read() } else { Ok(()) };
            self.failed = flushed.and(read).err();
        }
    }

    /// Whether the reader of standard output has closed it, which is no error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let is_broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        self.on_stdout && self.failed.as_ref().is_some_and(is_broken)
    }

    /// Whether nothing more can be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Flushes, and reports the first error.
    pub(crate) fn finish(&mut self, path: &Path) -> anyhow::Result<()> {
        self.flush();
        if self.is_closed_pipe() {
            return Ok(());
        }
        // As text: whoever closes this pipe does not end the program well.
        self.failed.take().map_or(Ok(()), |error| bail!("--trace {}: {error}", path.display()))
    }
}
