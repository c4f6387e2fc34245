//! `cargo xtask schema`: the schema of the config, from the doc comments of its fields.

use anyhow::Result;

use crate::generated::{Options, put};

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let text = serde_json::to_string_pretty(&cognate::config::schema())? + "\n";
    put(options, "schema/config.schema.json", &text, "schema")
}
