//! Who else is measured: Vowpal Wabbit, scikit-learn and River, in a private Python environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::files::{Folders, Stream};
use super::measure::{Cost, measure};

/// The pinned versions, one `name==version` per line.
const PINS: &str = include_str!("peers.txt");

/// What a server of River needs besides.
pub(super) const SERVER: [&str; 2] = ["fastapi", "uvicorn"];

/// A program that learns the same streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Peer {
    /// The engine of the Python package, run by its own driver.
    VowpalWabbit,
    /// `SGDClassifier.partial_fit`, on a prefix.
    ScikitLearn,
    /// `linear_model.LogisticRegression`, on a prefix.
    River,
}

impl Peer {
    /// All peers.
    pub(super) const ALL: [Self; 3] = [Self::VowpalWabbit, Self::ScikitLearn, Self::River];

    /// The Python packages it needs; the first names the peer.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::VowpalWabbit => &["vowpalwabbit"],
            Self::ScikitLearn => &["scikit-learn", "scipy", "numpy"],
            Self::River => &["river"],
        }
    }

    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::VowpalWabbit => "Vowpal Wabbit",
            Self::ScikitLearn => "scikit-learn",
            Self::River => "River",
        }
    }

    /// The script that runs it.
    pub(super) fn script(self) -> &'static str {
        match self {
            Self::VowpalWabbit => "vw.py",
            Self::ScikitLearn => "sklearn_sgd.py",
            Self::River => "river_logistic.py",
        }
    }

    /// The version that is installed, as pinned.
    pub(super) fn version(self) -> &'static str {
        pin(self.packages()[0]).split_once("==").map_or("", |(_, version)| version)
    }
}

/// The line of `peers.txt` for a package.
fn pin(package: &str) -> &'static str {
    let is_pin = |line: &&str| line.split_once("==").is_some_and(|(name, _)| name == package);
    PINS.lines().find(is_pin).unwrap_or_default()
}

/// The environment the peers are installed in.
pub(super) struct Peers {
    python: PathBuf,
    present: Vec<Peer>,
}

impl Peers {
    /// Installs what is missing; a peer that cannot be installed is named and left out.
    pub(super) fn ready(folders: &Folders, who: &[Peer]) -> Self {
        let home = folders.bench.join("peers");
        let python = home.join("bin/python");
        if !python.exists() {
            eprintln!("peers: making a Python environment");
            let made = run(Command::new("python3").args(["-m", "venv"]).arg(&home), "python3 -m venv failed");
            if let Err(error) = made {
                eprintln!("peers: all left out: {error:#}");
                return Self { python, present: Vec::new() };
            }
        }
        let mut installed = freeze(&python);
        let mut present = Vec::new();
        for &peer in who {
            if !is_installed(peer, &installed) {
                eprintln!("peers: installing {} {}", peer.name(), peer.version());
                if let Err(error) = install(folders, &python, peer.packages()) {
                    eprintln!("peers: {} is left out: {error:#}", peer.name());
                }
                installed = freeze(&python);
            }
            if is_installed(peer, &installed) {
                present.push(peer);
            }
        }
        Self { python, present }
    }

    /// Installs what a peer needs besides, where it is missing.
    pub(super) fn also(&self, folders: &Folders, packages: &[&str]) -> Result<()> {
        if are_installed(packages, &freeze(&self.python)) {
            return Ok(());
        }
        eprintln!("peers: installing {}", packages.join(", "));
        install(folders, &self.python, packages)
    }

    /// The Python of the environment.
    pub(super) fn python(&self) -> &Path {
        &self.python
    }

    /// Whether this peer can be run.
    pub(super) fn has(&self, peer: Peer) -> bool {
        self.present.contains(&peer)
    }

    /// The command that runs a peer's script with these arguments.
    pub(super) fn command<S: Into<OsString>>(
        &self,
        folders: &Folders,
        peer: Peer,
        arguments: impl IntoIterator<Item = S>,
    ) -> Vec<OsString> {
        let script = folders.script(peer.script());
        let mut command = vec![self.python.clone().into(), script.into()];
        command.extend(arguments.into_iter().map(Into::into));
        command
    }
}

fn is_installed(peer: Peer, installed: &str) -> bool {
    are_installed(peer.packages(), installed)
}

fn are_installed(packages: &[&str], installed: &str) -> bool {
    packages.iter().all(|package| installed.lines().any(|line| line == pin(package)))
}

/// What is installed, one `name==version` per line.
fn freeze(python: &Path) -> String {
    let output = Command::new(python).args(["-m", "pip", "freeze"]).stderr(Stdio::null()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

fn install(folders: &Folders, python: &Path, packages: &[&str]) -> Result<()> {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint"]);
    command.arg(folders.script("peers.txt")).args(packages.iter().map(|package| pin(package)));
    run(&mut command, "pip install failed")
}

/// Runs a command whose output is for the person at the terminal, on standard error.
fn run(command: &mut Command, failure: &'static str) -> Result<()> {
    let output = command.stderr(Stdio::inherit()).output().context(failure)?;
    ensure!(output.status.success(), failure);
    Ok(())
}

/// What a peer's script reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported {
    /// Examples it learned from.
    pub(super) examples: u64,
    /// Progressive share of mistakes, if it is a learner.
    pub(super) error: Option<f64>,
}

impl Reported {
    /// Reads a JSON summary with `examples` and `error`.
    pub(super) fn from_json(json: &Value) -> Result<Self> {
        let examples = json["examples"].as_u64().context("no examples in the summary")?;
        Ok(Self { examples, error: Some(json["error"].as_f64().context("no error in the summary")?) })
    }
}

/// A slow peer's run over the prefix of a stream; its seconds are without the start of Python.
pub(super) struct PrefixRun {
    /// Which peer.
    pub(super) peer: Peer,
    /// What it reported.
    pub(super) reported: Reported,
    /// Seconds it took; its memory is that of the whole process.
    pub(super) cost: Cost,
}

/// Runs scikit-learn and River over the prefix, once each.
pub(super) fn run_prefixes(folders: &Folders, peers: &Peers, stream: &Stream) -> Result<Vec<PrefixRun>> {
    let mut runs = Vec::new();
    for peer in [Peer::ScikitLearn, Peer::River].into_iter().filter(|&peer| peers.has(peer)) {
        eprintln!("{}: {} on {} examples", stream.preset.name, peer.name(), stream.prefix_rows);
        let (whole, printed) = measure(folders, &peers.command(folders, peer, [&stream.svm_prefix]))?;
        let json: Value = serde_json::from_str(&printed).with_context(|| format!("{peer:?}: {printed}"))?;
        let reported = Reported::from_json(&json)?;
        ensure!(reported.examples == stream.prefix_rows, "{peer:?} read {} examples", reported.examples);
        let seconds = |name: &str| json[name].as_f64().with_context(|| format!("{peer:?}: no {name}"));
        let cost = Cost { cpu: seconds("cpu")?, wall: seconds("wall")?, peak: whole.peak };
        runs.push(PrefixRun { peer, reported, cost });
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned() {
        for peer in Peer::ALL {
            assert!(peer.packages().iter().all(|package| !pin(package).is_empty()), "{peer:?}");
            assert!(!peer.version().is_empty());
        }
        assert!(SERVER.iter().all(|package| !pin(package).is_empty()));
    }

    #[test]
    fn another_version_does_not_count_as_installed() {
        assert!(is_installed(Peer::River, PINS));
        assert!(!is_installed(Peer::River, "river==0.1\nnumpy==2.4.6\n"));
    }
}
