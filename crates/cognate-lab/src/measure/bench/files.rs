//! Where the benchmark keeps its files, and which of them are ready.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::presets::Preset;
use super::{convert, streams};

const BUFFER: usize = 1 << 20;

/// Examples of the prefix on which slow peers run and instructions are counted.
pub(super) const PREFIX: u64 = 20_000;

/// The folders the benchmark works in.
pub(super) struct Folders {
    /// The workspace.
    pub(super) root: PathBuf,
    /// Cargo's target folder.
    pub(super) target: PathBuf,
    /// The benchmark's own folder under it: streams, peers.
    pub(super) bench: PathBuf,
}

impl Folders {
    /// The folders of this workspace; makes the benchmark's own.
    pub(super) fn open() -> Result<Self> {
        let root = crate::measure::root();
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
        let target = root.join(target);
        let bench = target.join("bench");
        fs::create_dir_all(&bench).with_context(|| bench.display().to_string())?;
        Ok(Self { root, target, bench })
    }

    /// A Python script that lies beside this file.
    pub(super) fn script(&self, name: &str) -> PathBuf {
        self.root.join("crates/cognate-lab/src/measure/bench").join(name)
    }
}

/// A stream on disk, in every form a contestant reads.
pub(super) struct Stream {
    /// What it is.
    pub(super) preset: &'static Preset,
    /// Number of examples.
    pub(super) rows: u64,
    /// Size of `svm` in bytes.
    pub(super) bytes: u64,
    /// svmlight with `qid:`.
    pub(super) svm: PathBuf,
    /// Vowpal Wabbit's form.
    pub(super) vw: PathBuf,
    /// The first [`PREFIX`] examples as svmlight.
    pub(super) svm_prefix: PathBuf,
    /// The first [`PREFIX`] examples in Vowpal Wabbit's form.
    pub(super) vw_prefix: PathBuf,
    /// Examples in the prefixes.
    pub(super) prefix_rows: u64,
}

impl Stream {
    /// Generates or finds the stream, a share `scale` of its examples, and converts it.
    pub(super) fn prepare(
        folders: &Folders,
        preset: &'static Preset,
        scale: f64,
        from: Option<&Path>,
    ) -> Result<Self> {
        let wanted = ((preset.rows as f64 * scale) as u64).max(1);
        let svm = match from {
            Some(folder) => taken_over(folders, preset, wanted, folder)?,
            None => generated(folders, preset, wanted)?,
        };
        let vw = svm.with_extension("vw");
        let newer_than_svm = |path: &Path| -> Result<bool> {
            Ok(path.exists() && path.metadata()?.modified()? >= svm.metadata()?.modified()?)
        };
        if !newer_than_svm(&vw)? {
            eprintln!("{}: converting to Vowpal Wabbit's form", preset.name);
            whole(&vw, |out| convert::to_vw(&mut reader(&svm)?, out))?;
        }
        // Counting also brings both files into the page cache, so that no contestant pays for the disk.
        let rows = count(&svm)?;
        let bytes = svm.metadata()?.len();
        ensure!(count(&vw)? == rows, "{}: not as many examples as {}", vw.display(), svm.display());
        let [svm_prefix, vw_prefix] = [&svm, &vw].map(|path| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            path.with_extension(format!("prefix.{extension}"))
        });
        for (source, prefix) in [(&svm, &svm_prefix), (&vw, &vw_prefix)] {
            whole(prefix, |out| convert::head(&mut reader(source)?, out, PREFIX))?;
        }
        let prefix_rows = rows.min(PREFIX);
        Ok(Self { preset, rows, bytes, svm, vw, svm_prefix, vw_prefix, prefix_rows })
    }
}

/// The generated stream, from an earlier run if it is there.
pub(super) fn generated(folders: &Folders, preset: &Preset, rows: u64) -> Result<PathBuf> {
    let path = folders.bench.join(format!("{}-{rows}-v{}.svm", preset.name, streams::GENERATION));
    if !path.exists() {
        eprintln!("{}: generating {rows} examples", preset.name);
        let summary = whole(&path, |out| Ok(streams::write(preset, rows, out)?))?;
        let share = |count: u64| count as f64 / rows as f64;
        eprintln!(
            "{}: {:.1} non-zeros per example, {:.2} % positive, {:.2} % flipped",
            preset.name,
            share(summary.nonzeros),
            100.0 * share(summary.positives),
            100.0 * share(summary.flipped),
        );
    }
    Ok(path)
}

/// The head of a ready file of another generator, copied so that `folder` is only read.
fn taken_over(folders: &Folders, preset: &Preset, rows: u64, folder: &Path) -> Result<PathBuf> {
    let source = folder.join(format!("{}.svm", preset.name));
    let path = folders.bench.join(format!("{}-from.svm", preset.name));
    eprintln!("{}: taking {}", preset.name, source.display());
    whole(&path, |out| convert::head(&mut reader(&source)?, out, rows))?;
    Ok(path)
}

fn reader(path: &Path) -> Result<BufReader<File>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(BufReader::with_capacity(BUFFER, file))
}

/// Writes a file under another name first, so that an interrupted run does not leave half of it behind.
fn whole<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let part = path.with_extension("part");
    let named = || path.display().to_string();
    let mut out = BufWriter::with_capacity(BUFFER, File::create(&part).with_context(named)?);
    let result = write(&mut out).with_context(named)?;
    out.flush().with_context(named)?;
    fs::rename(&part, path).with_context(named)?;
    Ok(result)
}

/// Number of lines of a file.
fn count(path: &Path) -> Result<u64> {
    convert::head(&mut reader(path)?, &mut io::sink(), u64::MAX)
}
