//! What the figures were measured on: facts about the machine, without names or paths.

use std::process::Command;

use super::peers::{Peer, Peers};

/// One line for the page, with those peers that take part.
pub(super) fn facts(peers: &Peers, who: &[Peer]) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut facts = vec![
        format!("{cores} cores"),
        processor().unwrap_or_else(|| "unknown processor".into()),
        first_line(Command::new("rustc").arg("--version")),
        first_line(Command::new("python3").arg("--version")),
    ];
    facts.extend(who.iter().map(|&peer| {
        if peers.has(peer) {
            format!("{} {}", peer.name(), peer.version())
        } else {
            format!("{} not installed", peer.name())
        }
    }));
    facts.join(", ")
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(name.trim().to_owned())
}

fn first_line(command: &mut Command) -> String {
    let printed = command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    printed.unwrap_or_default().lines().next().unwrap_or("unknown").to_owned()
}
