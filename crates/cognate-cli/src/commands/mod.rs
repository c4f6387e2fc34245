//! One file a command: arguments in, result out.

pub(crate) mod algorithms;
pub(crate) mod bound;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod lab;
pub(crate) mod learn;
pub(crate) mod parse;
pub(crate) mod predict;
pub(crate) mod relations;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cognate::example::BIAS_FEATURE;
use cognate::feature_names::{NamesByFeature, Naming};
use cognate::model::ModelConfig;
use cognate::stream::Input;
use cognate::{Model, TaskId, nearest_names};
use serde_json::json;

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
fn check_outputs(data: &[PathBuf], outputs: &[(&str, &Option<PathBuf>)]) -> anyhow::Result<()> {
    let given = || outputs.iter().filter_map(|(flag, path)| Some((*flag, path.as_ref()?)));
    for (flag, path) in given() {
        let file = path.canonicalize().ok();
        if file.is_some() && data.iter().any(|data| data.canonicalize().ok() == file) {
            bail!("--{flag} {}: is one of the files to learn from", path.display());
        }
    }
    for (flag, path) in given() {
        match flag {
            "model" => Model::check_target(path)?,
            // Written as the run goes, from its first example on.
            "trace" => {}
            _ => try_to_write(path).with_context(|| format!("--{flag} {}", path.display()))?,
        }
    }
    Ok(())
}

/// That a file can be written, leaving none behind that was not there.
fn try_to_write(path: &Path) -> std::io::Result<()> {
    let existed = path.exists();
    std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    if !existed {
        // Only tried: a run that fails leaves no empty page.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
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

/// What a model remembers of its stream, as a config has it.
fn stream_base(known: &ModelConfig) -> serde_json::Value {
    let mut stream = json!(known.reading);
    stream["normalize"] = json!(known.preprocess.normalize);
    stream["clip"] = json!(known.preprocess.clip);
    stream["bias"] = json!(known.preprocess.bias);
    stream["simultaneous"] = json!(known.simultaneous);
    stream
}

/// What the features of a model are called.
struct FeatureLabels<'a> {
    naming: Naming,
    names: NamesByFeature<'a>,
}

impl<'a> FeatureLabels<'a> {
    fn of(model: &'a Model) -> Self {
        Self { naming: model.names().naming(), names: model.names().by_feature() }
    }

    /// A feature by its name, or all that share it, or its number.
    fn label(&self, feature: u32) -> String {
        if feature == BIAS_FEATURE {
            return "bias".to_owned();
        }
        let names: Vec<&str> = self.names.names(feature).collect();
        match self.naming {
            Naming::Numbered => (u64::from(feature) + 1).to_string(),
            Naming::Hashed { .. } if names.is_empty() => format!("slot {feature}"),
            _ => names.join(" | "),
        }
    }
}

/// The feature that users call so.
fn feature_of_name(model: &Model, name: &str) -> Option<u32> {
    if name == "bias" {
        return Some(BIAS_FEATURE);
    }
    if model.names().naming() != Naming::Numbered {
        return model.names().known(name);
    }
    name.parse::<u32>().ok()?.checked_sub(1).filter(|feature| *feature < BIAS_FEATURE)
}
