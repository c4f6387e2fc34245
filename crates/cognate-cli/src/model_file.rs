//! Who may write a model file: one program at a time, and over another model only when that is asked for.

use std::path::Path;

use cognate::{Model, ModelLock};

use crate::output::Advised;

/// Takes the right to write a model until the lock is dropped; `advice` is the way out where a file is there that may not be
/// replaced.
///
/// Before anything is read: an hour of learning must not end with a refusal.
pub(crate) fn claim(model: &Path, may_replace: bool, advice: &str) -> anyhow::Result<ModelLock> {
    Model::check_target(model)?;
    let lock = ModelLock::take(model)?;
    // An empty file holds nothing that could be lost.
    if !may_replace && std::fs::metadata(model).is_ok_and(|meta| meta.len() > 0) {
        let message =
            format!("--model {}: the file exists, and what it holds would be lost", model.display());
        return Err(Advised { message, advice: advice.to_owned() }.into());
    }
    Ok(lock)
}
