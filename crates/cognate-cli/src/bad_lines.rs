//! `--bad-lines`: bad lines with their places and reasons, one JSON line each, as they are met.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, bail};
use cognate::stream::{BadLine, BadLines};
use serde::Serialize;

use crate::output::{Ended, say};

/// The output file, if one is wanted; an error is kept until the end, since readers do not know of it.
pub(crate) struct BadLineFile {
    path: Option<PathBuf>,
    opened: bool,
    out: Arc<Mutex<Out>>,
}

#[derive(Default)]
struct Out {
    file: Option<File>,
    failed: Option<io::Error>,
}

#[derive(Serialize)]
struct Kept<'a> {
    file: &'a str,
    line: u64,
    column: usize,
    reason: String,
    text: &'a str,
}

impl BadLineFile {
    /// Nothing is written yet.
    pub(crate) fn new(path: Option<&Path>) -> anyhow::Result<Self> {
        if path == Some(Path::new("-")) {
            bail!("--bad-lines -: standard output carries the result; name a file");
        }
        Ok(Self { path: path.map(Path::to_owned), opened: false, out: Arc::default() })
    }

    /// Creates the file, for the first reader; another one that reads the same lines again tells nobody.
    pub(crate) fn for_reader(&mut self) -> anyhow::Result<BadLines> {
        let Some(path) = self.path.as_ref().filter(|_| !self.opened) else {
            return Ok(BadLines::default());
        };
        let file = File::create(path).with_context(|| format!("--bad-lines {}", path.display()))?;
        self.opened = true;
        self.out().file = Some(file);
        let out = Arc::clone(&self.out);
        Ok(BadLines::to(move |bad| lock(&out).write(&bad)))
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        lock(&self.out)
    }

    /// Whether nothing more can be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.out().failed.is_some()
    }

    /// Reports the first error.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        match (&self.path, self.out().failed.take()) {
            // As text: whoever closes this pipe does not end the program well.
            (Some(path), Some(error)) => bail!("--bad-lines {}: {error}", path.display()),
            _ => Ok(()),
        }
    }

    /// What was read, unless that failed, or keeping the bad lines did; both are told.
    pub(crate) fn finish_with<T>(&self, read: Result<T, impl Into<anyhow::Error>>) -> anyhow::Result<T> {
        match (read, self.finish()) {
            (Ok(read), kept) => kept.map(|()| read),
            (Err(error), Ok(())) => Err(error.into()),
            (Err(error), Err(kept)) => Err(Ended { problems: vec![error.into(), kept], model: None }.into()),
        }
    }

    /// Warns of the lines that were skipped, and says where they are.
    pub(crate) fn warn(&self, skipped: u64) {
        if skipped > 0 {
            let kept = self.path.as_ref().map_or(String::new(), |path| format!("; see {}", path.display()));
            say(&format!("warning: skipped {skipped} bad lines{kept}"));
        }
    }
}

fn lock(out: &Mutex<Out>) -> MutexGuard<'_, Out> {
    out.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Out {
    /// Writes a line at once: bad lines are few, and somebody may watch the file.
    fn write(&mut self, bad: &BadLine) {
        let place = &bad.place;
        let line = Kept {
            file: &place.file,
            line: place.line,
            column: place.column,
            reason: bad.problem.to_string(),
            text: &bad.text,
        };
        let Some(file) = self.file.as_mut().filter(|_| self.failed.is_none()) else { return };
        let written = serde_json::to_vec(&line).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            file.write_all(&text)
        });
        self.failed = written.err();
    }
}
