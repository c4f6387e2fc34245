//! How one stream is measured: contestants take turns, round after round.
//!
//! A busy machine slows whichever runs at that moment; turns spread this over all, and the minimum removes it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::files::{Folders, Stream};
use super::measure::{Cost, measure};
use super::peers::{Peer, Peers, PrefixRun, Reported, run_prefixes};
use super::presets::Preset;

/// A program and the way it is run over a whole stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Contestant {
    /// `cognate learn --learner perceptron`: the cheapest learner that shares.
    Ours,
    /// `cognate learn` without further flags.
    OursByDefault,
    /// `cognate learn --threads 1`.
    OursOneThread,
    /// `cognate parse`: the same bytes, no learner.
    Parse,
    /// Vowpal Wabbit with its default update rule.
    Vw,
    /// Vowpal Wabbit with plain gradient steps: its cheapest rule, and its least accurate.
    VwSgd,
    /// Vowpal Wabbit on an empty file: Python and the engine start, nothing is learned.
    VwStart,
}

impl Contestant {
    /// The order of turns within a round.
    const TURNS: [Self; 7] = [
        Self::Ours,
        Self::Vw,
        Self::Parse,
        Self::OursOneThread,
        Self::OursByDefault,
        Self::VwSgd,
        Self::VwStart,
    ];

    fn is_vw(self) -> bool {
        matches!(self, Self::Vw | Self::VwSgd | Self::VwStart)
    }
}

/// Everything that can be run.
pub(super) struct Arena<'a> {
    /// Where files are.
    pub(super) folders: &'a Folders,
    /// The `cognate` program.
    pub(super) cognate: PathBuf,
    /// The installed peers.
    pub(super) peers: &'a Peers,
}

impl Arena<'_> {
    /// The command of a contestant on a pair of files with the same examples.
    pub(super) fn command(&self, who: Contestant, svm: &Path, vw: &Path, preset: &Preset) -> Vec<OsString> {
        let bits = preset.vw_bits;
        // b = K: a task's own mistakes and those of all tasks count equally, as in the crossed features of the others.
        let strength = format!("interaction.coupled.b={}", preset.tasks);
        let ours = |words: &[&str], after: &[&str]| {
            let mut command: Vec<OsString> = vec![self.cognate.clone().into()];
            command.extend(words.iter().map(OsString::from));
            command.push(svm.into());
            command.extend(after.iter().map(OsString::from));
            command
        };
        let learn = ["--learner", "perceptron", "--set", &strength, "--quiet", "--json"];
        match who {
            Contestant::Ours => ours(&["learn"], &learn),
            Contestant::OursOneThread => ours(&["learn", "--threads", "1"], &learn),
            Contestant::OursByDefault => ours(&["learn"], &["--quiet", "--json"]),
            Contestant::Parse => ours(&["parse"], &[]),
            Contestant::Vw => self.vw(vw, bits, &[]),
            Contestant::VwSgd => self.vw(vw, bits, &["--sgd"]),
            Contestant::VwStart => self.vw(Path::new("/dev/null"), bits, &[]),
        }
    }

    /// `-q tf` crosses the task with every feature; namespace f itself stays as the shared part.
    pub(super) fn vw(&self, data: &Path, bits: u32, more: &[&str]) -> Vec<OsString> {
        let mut words = vec![OsString::from("--data"), data.into(), "-b".into(), bits.to_string().into()];
        let usual = ["--loss_function", "logistic", "--binary", "--quiet", "-q", "tf"];
        words.extend(usual.iter().chain(more).map(OsString::from));
        self.peers.command(self.folders, Peer::VowpalWabbit, words)
    }
}

/// All runs of one contestant.
pub(super) struct Series {
    /// Who ran.
    pub(super) who: Contestant,
    /// What each run cost, in the order of rounds.
    pub(super) runs: Vec<Cost>,
    /// Progressive error, the same in every run.
    pub(super) error: Option<f64>,
}

/// Which of a cost's figures is meant.
pub(super) type Figure = fn(&Cost) -> f64;

impl Series {
    /// The smallest of the runs.
    pub(super) fn min(&self, figure: Figure) -> f64 {
        self.runs.iter().map(figure).fold(f64::INFINITY, f64::min)
    }

    /// The middle one of the runs.
    pub(crate) fn median(&self, figure: Figure) -> f64 {
        median(self.runs.iter().map(figure).collect())
    }
}

/// The middle value; of an even number, the mean of the middle two.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// What was measured on one stream.
pub(super) struct Contest<'a> {
    /// The stream.
    pub(super) stream: &'a Stream,
    /// One series per contestant that could run.
    pub(super) series: Vec<Series>,
    /// What Python and VW's engine cost before the first example; taken off VW's series.
    pub(super) vw_start: Option<Cost>,
    /// The slow peers.
    pub(super) prefixes: Vec<PrefixRun>,
}

impl<'a> Contest<'a> {
    /// Runs `rounds` rounds on a stream.
    pub(super) fn hold(arena: &Arena, stream: &'a Stream, rounds: usize) -> Result<Self> {
        let can_run = |who: &Contestant| arena.peers.has(Peer::VowpalWabbit) || !who.is_vw();
        let mut series: Vec<Series> = Contestant::TURNS
            .into_iter()
            .filter(can_run)
            .map(|who| Series { who, runs: Vec::new(), error: None })
            .collect();
        for round in 1..=rounds {
            eprintln!("{}: round {round} of {rounds}", stream.preset.name);
            for one in &mut series {
                let (cost, reported) = turn(arena, one.who, stream)?;
                one.runs.push(cost);
                one.error = reported.error;
            }
        }
        let vw_start = take_off_start(&mut series);
        let prefixes = run_prefixes(arena.folders, arena.peers, stream)?;
        Ok(Self { stream, series, vw_start, prefixes })
    }

    /// The series of a contestant, if it ran.
    pub(super) fn of(&self, who: Contestant) -> Option<&Series> {
        self.series.iter().find(|one| one.who == who)
    }
}

/// One run of one contestant. Reading fewer examples than there are is an error, not a fast run.
fn turn(arena: &Arena, who: Contestant, stream: &Stream) -> Result<(Cost, Reported)> {
    let command = arena.command(who, &stream.svm, &stream.vw, stream.preset);
    let (cost, printed) = measure(arena.folders, &command)?;
    let reported = read(who, &printed).with_context(|| format!("{who:?} printed {printed:.200}"))?;
    let expected = if who == Contestant::VwStart { 0 } else { stream.rows };
    ensure!(reported.examples == expected, "{who:?} read {} of {expected} examples", reported.examples);
    Ok((cost, reported))
}

/// What a contestant says of its run.
fn read(who: Contestant, printed: &str) -> Result<Reported> {
    if who == Contestant::Parse {
        return Ok(Reported { examples: printed.trim().parse()?, error: None });
    }
    Reported::from_json(&serde_json::from_str(printed)?)
}

/// Takes the cheapest start off every run of VW: a `vw` program would start without Python.
fn take_off_start(series: &mut Vec<Series>) -> Option<Cost> {
    let at = series.iter().position(|one| one.who == Contestant::VwStart)?;
    let starts = series.remove(at);
    let start =
        Cost { cpu: starts.min(|c| c.cpu), wall: starts.min(|c| c.wall), peak: starts.min(|c| c.peak) };
    for run in series.iter_mut().filter(|one| one.who.is_vw()).flat_map(|one| &mut one.runs) {
        run.cpu -= start.cpu;
        run.wall -= start.wall;
        run.peak -= start.peak;
    }
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_is_taken_off_vw_only() {
        let cost = |cpu| Cost { cpu, wall: cpu, peak: cpu };
        let mut series: Vec<Series> = [Contestant::Ours, Contestant::Vw, Contestant::VwStart]
            .into_iter()
            .zip([[cost(1.0), cost(3.0)], [cost(8.0), cost(9.0)], [cost(0.5), cost(0.25)]])
            .map(|(who, runs)| Series { who, runs: runs.to_vec(), error: None })
            .collect();
        assert_eq!(take_off_start(&mut series), Some(cost(0.25)));
        assert_eq!(series.len(), 2);
        assert_eq!(series[0].runs, [cost(1.0), cost(3.0)]);
        assert_eq!(series[1].runs, [cost(7.75), cost(8.75)]);
        assert!((series[1].median(|c| c.cpu) - 8.25).abs() < 1e-12);
    }
}
