//! `--trace`: one JSON line per example.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, bail};
use cognate::Tasks;
use cognate::run::{RoundReport, UnlabelledReport};
use serde::Serialize;

/// The output file; an error is kept until the end, since observers cannot fail.
pub(crate) struct Trace {
    out: BufWriter<File>,
    failed: Option<serde_json::Error>,
}

#[derive(Serialize)]
struct Line<'a> {
    t: u64,
    task: &'a str,
    label: Option<i8>,
    margin: f64,
    mistake: Option<bool>,
    updated: bool,
    queried: bool,
}

impl Trace {
    /// Creates the file.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("--trace {}", path.display()))?;
        Ok(Self { out: BufWriter::with_capacity(1 << 16, file), failed: None })
    }

    /// Writes the line of an example.
    pub(crate) fn write(&mut self, report: &RoundReport, tasks: &Tasks) {
        self.write_line(&Line {
            t: report.round,
            task: tasks.name(report.task),
            label: Some(report.label as i8),
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
        let ended = written.and_then(|()| self.out.write_all(b"\n").map_err(serde_json::Error::io));
        self.failed = ended.err();
    }

    /// Whether nothing more can be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Flushes, and reports the first error.
    pub(crate) fn finish(mut self, path: &Path) -> anyhow::Result<()> {
        let failed = self.failed.take().or_else(|| self.out.flush().err().map(serde_json::Error::io));
        // As text: whoever closes this pipe does not end the program well.
        failed.map_or(Ok(()), |error| bail!("--trace {}: {error}", path.display()))
    }
}
