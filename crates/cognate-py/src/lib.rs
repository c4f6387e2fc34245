//! The native half of the Python package `cognate`: it only translates.
//!
//! `model` is the class that Python wraps, `held` what it holds and who may use it when, `tables` what it does with whole
//! tables, `arrays` turns NumPy arrays into tables without copying them, `labels` knows what users call labels, `watch` counts,
//! `background` hears Ctrl-C, `errors` turns errors into exceptions. Parameters cross as JSON text, arrays as views, pickles as model files; whatever takes long
//! lets other Python threads run, and hears Ctrl-C.

mod arrays;
mod background;
mod errors;
mod held;
mod labels;
mod model;
mod tables;
mod watch;

use pyo3::prelude::*;

/// The contents of the module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::model::{Counts, Model};
    #[pymodule_export]
    use super::{algorithms, default_learner, schema, version};
}

/// The registry of learners, as JSON.
#[pyfunction]
fn algorithms() -> String {
    let about = cognate::REGISTRY.iter().map(|about| {
        let config = cognate::LearnerConfig::from_id(about.id);
        let mut facts = serde_json::json!(about);
        facts["parameters"] = serde_json::json!(config)[about.id].take();
        facts
    });
    serde_json::Value::Array(about.collect()).to_string()
}

/// The JSON schema of a config.
#[pyfunction]
fn schema() -> String {
    cognate::config::schema().to_string()
}

/// Id of the default learner.
#[pyfunction]
fn default_learner() -> &'static str {
    cognate::LearnerConfig::default().id()
}

/// The version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
