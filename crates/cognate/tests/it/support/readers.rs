//! Texts as inputs, and readers of them.

use cognate::stream::{Input, Labels, ReadOptions, Reader};
use cognate::{Model, RunConfig};
use serde_json::{Value, json};

pub(crate) fn input(text: impl AsRef<[u8]>) -> Input {
    Input::Bytes { name: "in".to_owned(), bytes: text.as_ref().into() }
}

/// The config of a run with this stream, the rest at its defaults.
pub(crate) fn config(stream: &Value) -> RunConfig {
    serde_json::from_value(json!({ "stream": stream })).unwrap()
}

pub(crate) fn labels(labels: Labels) -> ReadOptions {
    ReadOptions::default().labels(labels)
}

/// A reader of files or texts for the default config.
pub(crate) fn plain_reader(inputs: Vec<Input>) -> Reader {
    RunConfig::default().reader(inputs, ReadOptions::default()).unwrap()
}

/// A reader of files or texts for a model.
pub(crate) fn reader_for(model: &Model, inputs: Vec<Input>) -> Reader {
    model.reader(inputs, ReadOptions::default()).unwrap()
}
