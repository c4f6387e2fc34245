//! How many instructions an example takes, counted by valgrind: the same on a busy machine as on a quiet one.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::contest::{Arena, Contestant};
use super::files::Stream;
use super::peers::Peer;

/// Instructions over the prefix of one stream.
pub(super) struct Counts {
    /// Examples in the prefix.
    pub(super) examples: u64,
    /// `cognate learn --threads 1`.
    pub(super) ours: u64,
    /// `cognate parse`.
    pub(super) parse: u64,
    /// Vowpal Wabbit without its start, if it is installed.
    pub(super) vw: Option<u64>,
}

/// Whether valgrind can be run.
pub(super) fn available() -> bool {
    let version =
        Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Counts on the prefix of a stream.
pub(super) fn count(arena: &Arena, stream: &Stream) -> Result<Counts> {
    let name = stream.preset.name;
    let counted = |who: Contestant| {
        eprintln!("{name}: counting instructions of {who:?} on {} examples", stream.prefix_rows);
        let command = arena.command(who, &stream.svm_prefix, &stream.vw_prefix, stream.preset);
        callgrind(arena, &format!("{name}-{who:?}"), &command)
    };
    let vw = if arena.peers.has(Peer::VowpalWabbit) {
        let start = counted(Contestant::VwStart)?;
        Some(counted(Contestant::Vw)?.saturating_sub(start))
    } else {
        None
    };
    Ok(Counts {
        examples: stream.prefix_rows,
        ours: counted(Contestant::OursOneThread)?,
        parse: counted(Contestant::Parse)?,
        vw,
    })
}

/// Runs a command under callgrind; its profile stays in the benchmark's folder.
fn callgrind(arena: &Arena, name: &str, command: &[OsString]) -> Result<u64> {
    let mut profile = OsString::from("--callgrind-out-file=");
    profile.push(arena.folders.bench.join(format!("callgrind.{name}.out")));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--error-exitcode=0"])
        .arg(profile)
        .args(command)
        .stdin(Stdio::null())
        .output()
        .context("valgrind")?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{name} under valgrind: {}\n{log}", output.status);
    }
    collected(&log).with_context(|| format!("{name}: no count in valgrind's log\n{log}"))
}

/// The number in `==123== Collected : 456`.
fn collected(log: &str) -> Option<u64> {
    let (_, count) = log.lines().find_map(|line| line.split_once("Collected :"))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found_in_the_log() {
        let log = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n==7== I   refs:      123,456\n";
        assert_eq!(collected(log), Some(123_456));
        assert_eq!(collected("==7== nothing"), None);
    }
}
