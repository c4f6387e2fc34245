//! One file a command: arguments in, result out.

pub(crate) mod algorithms;
pub(crate) mod bound;
pub(crate) mod demo;
pub(crate) mod inspect;
pub(crate) mod learn;
pub(crate) mod parse;
pub(crate) mod predict;
pub(crate) mod relations;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cognate::example::BIAS_FEATURE;
use cognate::stream::Input;
use cognate::{Model, TaskId, nearest_names};

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

/// Reads a model; an error names the file.
fn load_model(path: &Path) -> anyhow::Result<Model> {
    Model::load(path).map_err(|error| match error {
        cognate::SnapshotError::Io { .. } => anyhow::Error::new(error),
        other => anyhow::Error::new(other).context(path.display().to_string()),
    })
}

/// A task by name; an error lists the nearest names.
fn find_task(model: &Model, name: &str) -> anyhow::Result<TaskId> {
    model.tasks().find(name).with_context(|| {
        let near = nearest_names(name, model.tasks().names());
        format!("no task is called {name:?}; nearest: {}", near[..near.len().min(5)].join(", "))
    })
}

/// A feature as users number it.
fn feature_name(feature: u32) -> String {
    if feature == BIAS_FEATURE { "bias".to_owned() } else { (u64::from(feature) + 1).to_string() }
}

/// The feature that users call so.
fn feature_of_name(name: &str) -> Option<u32> {
    if name == "bias" {
        return Some(BIAS_FEATURE);
    }
    name.parse::<u32>().ok()?.checked_sub(1).filter(|feature| *feature < BIAS_FEATURE)
}
