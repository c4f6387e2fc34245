//! The format of data: what flags say, else a config or a model, else the names of the files.

use std::path::{Path, PathBuf};

use anyhow::bail;
use cognate::Model;
use cognate::internal::nearest_first;
use cognate::stream::Format;
use serde_json::{Value, json};

use crate::args::TextArgs;
use crate::settings::{chosen, lay};

/// Lays the format upon a tree, with the flags that belong to one; names of files tell it where nothing else does.
pub(crate) fn lay_format(tree: &mut Value, flags: &TextArgs, data: &[PathBuf]) -> anyhow::Result<()> {
    if let Some(format) = &flags.format {
        serde_json::from_value::<Format>(json!(format))
            .map_err(|error| anyhow::anyhow!("--format {format}: {}", nearest_first(&error.to_string())))?;
        lay(tree, json!({ "stream": { "format": { format: {} } } }));
    } else if tree["stream"]["format"].is_null()
        && let Some(format) = told_by_names(data)?
    {
        lay(tree, json!({ "stream": { "format": format } }));
    }
    if chosen(&tree["stream"]["format"]) == Some("csv") && flags.format.is_some() && are_tabbed(data) {
        lay(tree, json!({ "stream": { "format": { "csv": { "separator": "tab" } } } }));
    }
    lay_parameters(tree, flags)
}

/// The format in which data for a model are read: its own, unless the names of the files or flags say otherwise.
pub(crate) fn prediction_format(model: &Model, flags: &TextArgs, data: &[PathBuf]) -> anyhow::Result<Format> {
    let known = &model.config().format;
    let mut tree = json!({ "stream": { "format": known } });
    if flags.format.is_none()
        && let Some(format) = told_by_names(data)?
        && (format.id() != known.id() || are_tabbed(data))
    {
        lay(&mut tree, json!({ "stream": { "format": format } }));
    }
    lay_format(&mut tree, flags, data)?;
    Ok(serde_json::from_value(tree["stream"]["format"].take())?)
}

/// The format that the names of files tell, if they tell one.
pub(crate) fn told_by_names(data: &[PathBuf]) -> anyhow::Result<Option<Format>> {
    let mut told: Option<(Format, &Path)> = None;
    for path in data {
        let Some(format) = Format::of_file_name(path) else { continue };
        match &told {
            None => told = Some((format, path)),
            Some((before, _)) if *before == format => {}
            Some((_, first)) => bail!(
                "{} and {} are of different formats by their names; read them one after the other, or say with --format \
                 which they are",
                first.display(),
                path.display()
            ),
        }
    }
    Ok(told.map(|(format, _)| format))
}

/// Whether the names of all files say that a tab separates cells.
fn are_tabbed(data: &[PathBuf]) -> bool {
    let is_tabbed = |path: &PathBuf| match Format::of_file_name(path) {
        Some(Format::Csv(csv)) => csv.separator.is_some(),
        _ => false,
    };
    !data.is_empty() && data.iter().all(is_tabbed)
}

/// Lays the parameters of the chosen format upon a tree.
fn lay_parameters(tree: &mut Value, flags: &TextArgs) -> anyhow::Result<()> {
    let name = |flag: &Option<String>| flag.as_ref().map(|name| json!(name));
    let names = |flag: &[String]| (!flag.is_empty()).then(|| json!(flag));
    let (csv, jsonl) = (&["csv"][..], &["jsonl"][..]);
    let parameters = [
        (&["vw"][..], "task-namespace", name(&flags.task_namespace)),
        (csv, "task-column", name(&flags.task_column)),
        (csv, "label-column", name(&flags.label_column)),
        (csv, "weight-column", name(&flags.weight_column)),
        (csv, "id-column", name(&flags.id_column)),
        (csv, "time-column", name(&flags.time_column)),
        (csv, "offset-column", name(&flags.offset_column)),
        (csv, "categorical", names(&flags.categorical)),
        (csv, "separator", name(&flags.separator)),
        (jsonl, "task-key", name(&flags.task_key)),
        (jsonl, "label-key", name(&flags.label_key)),
        (jsonl, "features-key", name(&flags.features_key)),
        (jsonl, "weight-key", name(&flags.weight_key)),
        (jsonl, "id-key", name(&flags.id_key)),
        (jsonl, "time-key", name(&flags.time_key)),
        (jsonl, "offset-key", name(&flags.offset_key)),
        (&["csv", "jsonl"], "ignore", names(&flags.ignore)),
    ];
    for (formats, name, value) in parameters {
        let Some(value) = value else { continue };
        let format = chosen(&tree["stream"]["format"]).unwrap_or_default().to_owned();
        if !formats.contains(&&*format) {
            match formats {
                [format] => bail!("--{name}: is a parameter of the format `{format}`; add --format {format}"),
                _ => bail!("--{name}: is a parameter of the formats `{}`", formats.join("` and `")),
            }
        }
        lay(tree, json!({ "stream": { "format": { format: { name: value } } } }));
    }
    Ok(())
}
