//! `--ask`: the lines without a label whose labels are wanted, ready to be labelled.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, bail};
use cognate::Tasks;
use cognate::run::UnlabelledReport;
use cognate::stream::{Format, write_example};

/// The output file; an error is kept until the end, since observers cannot fail.
pub(crate) struct Ask {
    out: BufWriter<File>,
    failed: Option<io::Error>,
    /// Whether a `?` stands where the label is to go.
    marked: bool,
}

impl Ask {
    /// Creates the file.
    pub(crate) fn create(path: &Path, format: &Format) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("--ask {}", path.display()))?;
        Ok(Self {
            out: BufWriter::with_capacity(1 << 16, file),
            failed: None,
            marked: !matches!(format, Format::Jsonl(_)),
        })
    }

    /// Writes the line of an example, as it was read but for the `?`.
    pub(crate) fn write(&mut self, report: &UnlabelledReport<'_>, tasks: &Tasks) {
        if self.failed.is_none() {
            self.failed = self.write_line(report, tasks).err();
        }
    }

    fn write_line(&mut self, report: &UnlabelledReport<'_>, tasks: &Tasks) -> io::Result<()> {
        match report.text {
            // A stream that was not read from text has not been scaled either.
            None => write_example(&mut self.out, tasks.name(report.example.task), report.example),
            Some(line) => {
                if self.marked && !line.starts_with(b"?") {
                    self.out.write_all(b"? ")?;
                }
                self.out.write_all(line)?;
                self.out.write_all(b"\n")
            }
        }
    }

    /// Flushes: somebody may be labelling while the stream goes on.
    pub(crate) fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
    }

    /// Whether nothing more can be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Flushes, and reports the first error.
    pub(crate) fn finish(mut self, path: &Path) -> anyhow::Result<()> {
        self.flush();
        // As text: whoever closes this pipe does not end the program well.
        self.failed.map_or(Ok(()), |error| bail!("--ask {}: {error}", path.display()))
    }
}
