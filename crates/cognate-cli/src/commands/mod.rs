//! One file per command: arguments in, result out.

pub(crate) mod algorithms;
pub(crate) mod bound;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod forget;
pub(crate) mod inspect;
pub(crate) mod lab;
pub(crate) mod learn;
pub(crate) mod parse;
pub(crate) mod predict;
pub(crate) mod recover;
pub(crate) mod relations;
pub(crate) mod serve;
pub(crate) mod token;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cognate::internal::check_replaceable;
use cognate::stream::{Input, LabelNames};
use cognate::{Model, StreamError};

use crate::args::remote::Source;
use crate::output::{say, shown_name};
use crate::remote;

/// Inputs as the user named them.
fn inputs(data: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    let dashes = data.iter().filter(|path| path.as_os_str() == "-").count();
    if dashes > 1 {
        bail!("`-` is given {dashes} times; standard input can be read only once");
    }
    let input = |path: &PathBuf| {
        if path.as_os_str() == "-" { Input::Stdin } else { Input::File(path.clone()) }
    };
    Ok(data.iter().map(input).collect())
}

/// Fails now rather than after an hour, and before anything is overwritten; outputs are named by their flags.
fn check_outputs(outputs: &[(&str, &Option<PathBuf>)]) -> anyhow::Result<()> {
    for (flag, path) in outputs.iter().filter_map(|(flag, path)| Some((*flag, path.as_ref()?))) {
        let tried = match flag {
            // The trace is written as the run goes, from its first example on.
            "trace" => Ok(()),
            "ask" => try_to_write(path),
            _ => check_replaceable(path),
        };
        tried.with_context(|| format!("--{flag} {}", path.display()))?;
    }
    Ok(())
}

/// Checks that files can be read, before a file that is written as a run goes loses what an earlier run put there. What is no
/// regular file is not opened: who writes into a pipe would be disturbed.
fn check_inputs(inputs: &[Input]) -> Result<(), StreamError> {
    let open = |path: &PathBuf| {
        let kind = std::fs::metadata(path)?;
        if kind.is_file() { File::open(path).map(drop) } else { Ok(()) }
    };
    inputs.iter().try_for_each(|input| match input {
        Input::File(path) => {
            open(path).map_err(|source| StreamError::Io { file: path.display().to_string(), source })
        }
        _ => Ok(()),
    })
}

/// Checks that a file can be written, without leaving a new one behind.
fn try_to_write(path: &Path) -> std::io::Result<()> {
    let existed = path.exists();
    std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    if !existed {
        // Only tried: a run that fails leaves no empty page.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Says so where no line has had the label that was said to be the positive one.
fn note_positive(positive: Option<&str>, names: &LabelNames) {
    if let Some(positive) = positive.filter(|_| names.positive().is_none()) {
        say(&format!("warning: --positive {}: no line has this label", shown_name(positive)));
    }
}

/// A model of a file or of a server.
fn model_of(source: Source<'_>) -> anyhow::Result<Model> {
    match source {
        Source::File(path) => load_model(path),
        Source::Server(..) => Ok(model_and_bytes(source)?.0),
    }
}

/// The same with its bytes, and where they are from.
fn model_and_bytes(source: Source<'_>) -> anyhow::Result<(Model, Vec<u8>, String)> {
    match source {
        Source::File(path) => {
            let place = path.display().to_string();
            let model = load_model(path)?;
            let bytes = std::fs::read(path).with_context(|| place.clone())?;
            Ok((model, bytes, place))
        }
        Source::Server(name, server) => {
            let place = format!("model {}", name.display());
            let bytes = remote::model_bytes(&name.to_string_lossy(), server)?;
            let model = Model::from_bytes(&bytes).with_context(|| place.clone())?;
            Ok((model, bytes, place))
        }
    }
}

/// Reads a model; an error names the file.
fn load_model(path: &Path) -> anyhow::Result<Model> {
    Model::load(path).map_err(|error| match error {
        cognate::SnapshotError::Io { .. } => anyhow::Error::new(error),
        other => anyhow::Error::new(other).context(path.display().to_string()),
    })
}
