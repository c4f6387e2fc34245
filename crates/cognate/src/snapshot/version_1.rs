//! Headers of version 1, in which the format was one of the facts about reading, and said how features are named.

use serde::Deserialize;

use super::Header;
use crate::algorithms::LearnerConfig;
use crate::choice::NoParameters;
use crate::class_weight::{ClassCounts, ClassWeightConfig};
use crate::config::ShardsConfig;
use crate::model::ModelConfig;
use crate::query::QueryConfig;
use crate::stream::{
    ColumnKinds, CsvConfig, Format, HashedConfig, LabelNames, NamingConfig, Preprocess, VwConfig,
};

/// A header as version 1 wrote it.
#[derive(Deserialize)]
struct Header1 {
    min_reader: u32,
    learner: String,
    config: Config1,
    declared_tasks: Option<u64>,
    tasks: Vec<String>,
    #[serde(default)]
    feature_names: Vec<String>,
    #[serde(default)]
    feature_slots: Vec<u32>,
    #[serde(deserialize_with = "crate::count::saved")]
    rounds: u64,
}

#[derive(Deserialize)]
struct Config1 {
    features: Option<u32>,
    #[serde(default)]
    reading: Reading1,
    preprocess: Preprocess,
    simultaneous: bool,
    learner: LearnerConfig,
    #[serde(default)]
    query: QueryConfig,
    #[serde(default)]
    seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Reading1 {
    format: Format1,
    task_namespace: Option<String>,
    task_column: Option<String>,
    label_column: Option<String>,
    categorical: Vec<String>,
    bits: Option<u32>,
    names: bool,
    one_vs_all: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Format1 {
    Svm,
    Vw,
    Csv,
    Jsonl,
}

impl Default for Reading1 {
    fn default() -> Self {
        Self {
            format: Format1::Svm,
            task_namespace: None,
            task_column: None,
            label_column: None,
            categorical: Vec::new(),
            bits: None,
            names: true,
            one_vs_all: false,
        }
    }
}

/// Reads a header of version 1 as one of now.
pub(super) fn read(text: &[u8]) -> serde_json::Result<Header> {
    let Header1 { min_reader, learner, config, declared_tasks, tasks, feature_names, feature_slots, rounds } =
        serde_json::from_slice(text)?;
    let Config1 { features, reading, preprocess, simultaneous, learner: parameters, query, seed } = config;
    let naming = naming(&reading, rounds)?;
    let config = ModelConfig {
        features,
        naming,
        positive: None,
        one_vs_all: reading.one_vs_all,
        format: format(reading)?,
        preprocess,
        simultaneous,
        learner: parameters,
        query,
        seed,
        class_weight: ClassWeightConfig::default(),
        shards: ShardsConfig::default(),
    };
    Ok(Header {
        min_reader,
        learner,
        config,
        declared_tasks,
        tasks,
        columns: ColumnKinds::default(),
        labels: LabelNames::default(),
        feature_names,
        feature_slots,
        rounds,
        class_counts: ClassCounts::default(),
        threshold: None,
    })
}

/// Numbers where the format has numbers, unless nothing was learnt yet; else names, hashed where there are bits.
fn naming(reading: &Reading1, rounds: u64) -> serde_json::Result<NamingConfig> {
    match (reading.format, reading.bits) {
        (Format1::Svm, Some(_)) => refuse("bits: features of `svm` have numbers"),
        (_, None) if !reading.names => refuse("names: can be forgotten only where they are hashed"),
        (Format1::Svm, None) if rounds == 0 => Ok(NamingConfig::default()),
        (Format1::Svm, None) => Ok(NamingConfig::NUMBERED),
        (_, None) => Ok(NamingConfig::NAMED),
        (_, Some(bits)) => Ok(NamingConfig::Hashed(HashedConfig { bits, names: reading.names })),
    }
}

/// The format with what belongs to it; nothing may belong to another.
fn format(reading: Reading1) -> serde_json::Result<Format> {
    let Reading1 { format, task_namespace, task_column, label_column, categorical, .. } = reading;
    let columns = task_column.is_some() || label_column.is_some() || !categorical.is_empty();
    if columns && format != Format1::Csv || task_namespace.is_some() && format != Format1::Vw {
        return refuse("reading: a parameter of another format");
    }
    Ok(match format {
        Format1::Svm => Format::Svm(NoParameters {}),
        Format1::Vw => Format::Vw(VwConfig { task_namespace }),
        Format1::Csv => {
            Format::Csv(CsvConfig { task_column, label_column, categorical, ..CsvConfig::default() })
        }
        Format1::Jsonl => Format::jsonl(),
    })
}

fn refuse<T>(message: &str) -> serde_json::Result<T> {
    Err(serde::de::Error::custom(message))
}
