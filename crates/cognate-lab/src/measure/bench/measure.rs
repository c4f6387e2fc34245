//! What a child process costs: CPU, wall time and peak memory, through `measure.py`.
//!
//! The standard library reports no rusage and this workspace has no unsafe code; Python, which the peers
//! need anyway, has wait4.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::files::Folders;

/// What one run of a program cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// User and system seconds of all threads.
    pub(super) cpu: f64,
    /// Seconds from start to end.
    pub(super) wall: f64,
    /// Largest resident memory in bytes.
    pub(super) peak: f64,
}

/// Runs a command to its end; returns its cost and what it printed.
pub(super) fn measure(folders: &Folders, command: &[OsString]) -> Result<(Cost, String)> {
    let output = Command::new("python3")
        .args(["-I", "-S"])
        .arg(folders.script("measure.py"))
        .args(command)
        .output()
        .context("python3 is needed to measure")?;
    let shown = || command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let (printed, cost, status) = split(&stdout)
        .with_context(|| format!("{}\n{}", shown(), String::from_utf8_lossy(&output.stderr)))?;
    if status != 0 {
        bail!("exit code {status}: {}\n{}", shown(), String::from_utf8_lossy(&output.stderr));
    }
    Ok((cost, printed))
}

/// What the child printed, its cost and its exit code, from the output of `measure.py`.
fn split(stdout: &str) -> Result<(String, Cost, i64)> {
    let (printed, report) = stdout.trim_end().rsplit_once('\n').context("measure.py reported nothing")?;
    let report: Value = serde_json::from_str(report).context("measure.py's report")?;
    let number = |name: &str| report[name].as_f64().with_context(|| format!("no {name} in {report}"));
    let cost =
        Cost { cpu: number("user")? + number("system")?, wall: number("wall")?, peak: number("peak")? };
    Ok((printed.trim_end().to_owned(), cost, number("status")? as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_report_and_the_rest_the_childs() {
        let text =
            "{\"error\":1}\n\n{\"status\":3,\"user\":1.5,\"system\":0.25,\"wall\":2.0,\"peak\":4096}\n";
        let (printed, cost, status) = split(text).unwrap();
        assert_eq!(printed, "{\"error\":1}");
        assert_eq!((cost, status), (Cost { cpu: 1.75, wall: 2.0, peak: 4096.0 }, 3));
        assert!(split("nothing").is_err());
    }
}
