//! Texts as inputs, and how a reader is told to take them.

use cognate::stream::{Input, Labels, ReaderOptions, Reading, StreamConfig};
use serde_json::Value;

pub(crate) fn input(text: impl AsRef<[u8]>) -> Input {
    Input::Bytes { name: "in".to_owned(), bytes: text.as_ref().into() }
}

fn reading(stream: &Value) -> Reading {
    let config: StreamConfig = serde_json::from_value(stream.clone()).unwrap();
    config.reading()
}

pub(crate) fn options(stream: &Value, labels: Labels) -> ReaderOptions {
    ReaderOptions { reading: reading(stream), labels, ..ReaderOptions::default() }
}
