//! The cargo that started this command.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Cargo in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the workspace").to_owned()
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}
