//! `cognate export`: the weights of a model, to be used elsewhere; docs/formats.md describes the files.

use std::io::Write;

use anyhow::{Context, bail};
use cognate::internal::replace_file;
use cognate::model::Export;
use cognate::{BIAS_FEATURE, Model, TaskId};
use serde_json::{Map, Value, json};

use super::load_model;
use super::predict::write_csv_field;
use crate::args::ExportArgs;
use crate::output::Advised;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let path = &args.to;
    let kind = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let write: fn(&mut Out<'_>, &Model, &Export<'_>) -> anyhow::Result<()> = match kind {
        "csv" => write_csv,
        "jsonl" => write_jsonl,
        "safetensors" => write_safetensors,
        _ => bail!("--to {}: expected a name that ends in .csv, .jsonl or .safetensors", path.display()),
    };
    // An empty file holds nothing that could be lost, and what is no file, as /dev/null, nothing at all.
    if !args.overwrite && std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0) {
        let message = format!("--to {}: the file exists, and what it holds would be lost", path.display());
        let advice = "--overwrite replaces it; or name another file".to_owned();
        return Err(Advised { message, advice }.into());
    }
    let model = load_model(&args.model)?;
    let export = model.export()?;
    let written = replace_file(path, |out| write(out, &model, &export));
    written.with_context(|| format!("--to {}", path.display()))
}

type Out<'o> = dyn Write + 'o;

/// Columns `task,feature,part,value`. Rows without a task are of a shared vector, those without a feature of the one that is
/// always 1.
fn write_csv(out: &mut Out<'_>, model: &Model, export: &Export<'_>) -> anyhow::Result<()> {
    let labels = model.feature_labels();
    let label = |feature| if feature == BIAS_FEATURE { String::new() } else { labels.label(feature) };
    out.write_all(b"task,feature,part,value\n")?;
    let mut row = |task: &str, feature: &str, part: &str, value: f64| -> std::io::Result<()> {
        for field in [task, feature, part] {
            write_csv_field(out, field)?;
            out.write_all(b",")?;
        }
        writeln!(out, "{value:?}")
    };
    for vector in export.shared() {
        for (feature, weight) in &vector.weights {
            row("", &label(*feature), &vector.name, *weight)?;
        }
    }
    for task in model.tasks().sorted() {
        let (name, weights) = (model.tasks().name(task), export.task(task));
        for (factor, vector) in weights.factors.iter().zip(export.shared()) {
            row(name, "", &format!("factor {}", vector.name), *factor)?;
        }
        for (feature, weight) in weights.own {
            row(name, &label(feature), "own", weight)?;
        }
    }
    Ok(())
}

/// A line per shared vector, then a line per task.
fn write_jsonl(out: &mut Out<'_>, model: &Model, export: &Export<'_>) -> anyhow::Result<()> {
    let labels = model.feature_labels();
    let by_name = |weights: &[(u32, f64)]| -> Map<String, Value> {
        let others = weights.iter().filter(|(feature, _)| *feature != BIAS_FEATURE);
        others.map(|(feature, weight)| (labels.label(*feature), json!(weight))).collect()
    };
    for vector in export.shared() {
        let (bias, weights) = (bias(&vector.weights), by_name(&vector.weights));
        writeln!(out, "{}", json!({ "shared": vector.name, "bias": bias, "weights": weights }))?;
    }
    for task in model.tasks().sorted() {
        let weights = export.task(task);
        let factors = export.shared().iter().zip(&weights.factors);
        let factors: Map<String, Value> =
            factors.map(|(vector, factor)| (vector.name.clone(), json!(factor))).collect();
        let (name, own) = (model.tasks().name(task), by_name(&weights.own));
        let line = json!({ "task": name, "factors": factors, "bias": bias(&weights.own), "own": own });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The weight of the feature that is always 1, which is the last.
fn bias(weights: &[(u32, f64)]) -> f64 {
    match weights.last() {
        Some((BIAS_FEATURE, weight)) => *weight,
        _ => 0.0,
    }
}

/// Sparse rows: where each ends, the features and the values of all.
#[derive(Default)]
struct Rows {
    ends: Vec<i64>,
    features: Vec<i64>,
    values: Vec<f64>,
}

impl Rows {
    fn push(&mut self, weights: &[(u32, f64)]) {
        let number = |feature: u32| if feature == BIAS_FEATURE { -1 } else { i64::from(feature) };
        self.features.extend(weights.iter().map(|(feature, _)| number(*feature)));
        self.values.extend(weights.iter().map(|(_, weight)| *weight));
        self.ends.push(i64::try_from(self.features.len()).expect("there is memory for so many"));
    }

    /// The three tensors.
    fn tensors(self, name: &str) -> [Tensor; 3] {
        let tensor = |what: &str, kind: &'static str, bytes: Vec<u8>| {
            let shape = vec![bytes.len() / 8];
            Tensor { name: format!("{name}.{what}"), kind, shape, bytes }
        };
        let whole = |numbers: Vec<i64>| numbers.into_iter().flat_map(i64::to_le_bytes).collect();
        [
            tensor("ends", "I64", whole(self.ends)),
            tensor("features", "I64", whole(self.features)),
            tensor("values", "F64", self.values.into_iter().flat_map(f64::to_le_bytes).collect()),
        ]
    }
}

/// An array of a `.safetensors` file.
struct Tensor {
    name: String,
    kind: &'static str,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// A little-endian length, a JSON header with types, shapes and places, and the arrays.
fn write_safetensors(out: &mut Out<'_>, model: &Model, export: &Export<'_>) -> anyhow::Result<()> {
    let (mut own, mut shared, mut factors) = (Rows::default(), Rows::default(), Vec::new());
    export.shared().iter().for_each(|vector| shared.push(&vector.weights));
    let tasks: Vec<TaskId> = model.tasks().sorted();
    for task in &tasks {
        let weights = export.task(*task);
        own.push(&weights.own);
        factors.extend(weights.factors.into_iter().flat_map(f64::to_le_bytes));
    }
    let mut features: Vec<u32> = own
        .features
        .iter()
        .chain(&shared.features)
        .filter_map(|feature| u32::try_from(*feature).ok())
        .collect();
    features.sort_unstable();
    features.dedup();
    let shape = vec![tasks.len(), export.shared().len()];
    let factors = Tensor { name: "factors".to_owned(), kind: "F64", shape, bytes: factors };
    let tensors: Vec<Tensor> =
        own.tensors("own").into_iter().chain(shared.tensors("shared")).chain([factors]).collect();
    let labels = model.feature_labels();
    // Values of the metadata must be texts.
    let text = |names: Vec<String>| Value::String(json!(names).to_string());
    let mut header = Map::new();
    header.insert(
        "__metadata__".to_owned(),
        json!({
            "learner": model.config().learner.id(),
            "tasks": text(tasks.iter().map(|task| model.tasks().name(*task).to_owned()).collect()),
            "shared": text(export.shared().iter().map(|vector| vector.name.clone()).collect()),
            "features": json!(features).to_string(),
            "feature_names": text(features.iter().map(|feature| labels.label(*feature)).collect()),
        }),
    );
    let mut at = 0;
    for tensor in &tensors {
        let end = at + tensor.bytes.len();
        let place = json!({ "dtype": tensor.kind, "shape": tensor.shape, "data_offsets": [at, end] });
        header.insert(tensor.name.clone(), place);
        at = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    // Spaces, so that the numbers lie where processors like them.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    tensors.iter().try_for_each(|tensor| out.write_all(&tensor.bytes))?;
    Ok(())
}
