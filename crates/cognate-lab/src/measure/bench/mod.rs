//! `cargo xtask bench`: how fast `cognate` is, beside others, on the same streams in the same run.
//!
//! streams (generated or existing) -> contest (all take turns) -> limits -> table -> page

mod accuracy;
mod again;
mod contest;
mod convert;
mod figures;
mod files;
mod first;
mod groups;
mod instructions;
mod limits;
mod machine;
mod measure;
mod peers;
mod presets;
mod probabilities;
pub(crate) mod random;
mod rare;
mod streams;
mod sweep;
mod table;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

pub(crate) use contest::median;
use contest::{Arena, Contest};
use files::{Folders, Stream};
use peers::{Peer, Peers};
use presets::Preset;

use crate::measure::page;

/// A Python that has Vowpal Wabbit, installed if need be; none if that cannot be.
pub(crate) fn vowpal_wabbit() -> Option<PathBuf> {
    let folders = Folders::open().ok()?;
    let peers = Peers::ready(&folders, &[Peer::VowpalWabbit]);
    peers.has(Peer::VowpalWabbit).then(|| peers.python().to_owned())
}

/// The script that runs it.
pub(crate) fn vowpal_wabbit_script() -> Result<PathBuf> {
    Ok(Folders::open()?.script(Peer::VowpalWabbit.script()))
}

/// A Python that has River and what a server needs, installed if need be; none if that cannot be.
pub(crate) fn river_server() -> Option<PathBuf> {
    let folders = Folders::open().ok()?;
    let peers = Peers::ready(&folders, &[Peer::River]);
    if let Err(error) = peers.also(&folders, &peers::SERVER) {
        eprintln!("peers: {error:#}");
        return None;
    }
    peers.has(Peer::River).then(|| peers.python().to_owned())
}

/// The folder in which measurements may leave files.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(Folders::open()?.bench)
}

/// The version of Vowpal Wabbit that is installed.
pub(crate) fn vowpal_wabbit_version() -> &'static str {
    Peer::VowpalWabbit.version()
}

/// What to measure.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Options {
    /// Streams to run
    #[arg(long, value_delimiter = ',', value_parser = presets::named, default_value = "sparse,tasks,dense,cluster")]
    preset: Vec<&'static Preset>,
    /// Share of each stream's examples: 0.1 for a quick look
    #[arg(long, default_value_t = 1.0, value_parser = scale)]
    scale: f64,
    /// Take sparse.svm, tasks.svm, ... from this folder instead of generating them
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Rounds, in each of which all run once; 0 measures no times
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Use this `cognate` program instead of building it
    #[arg(long, value_name = "FILE")]
    cognate: Option<PathBuf>,
    /// Also try Vowpal Wabbit with every size of its weight table
    #[arg(long)]
    sweep: bool,
    /// Only compare errors: every data set and the streams, beside Vowpal Wabbit on the same examples in the same order
    #[arg(long)]
    accuracy: bool,
    /// With --accuracy: what it does to see examples again
    #[arg(long, requires = "accuracy")]
    again: bool,
    /// With --accuracy: AUC on small streams with a rare label
    #[arg(long, requires = "accuracy")]
    rare: bool,
    /// With --accuracy: errors on the first examples of tasks
    #[arg(long, requires = "accuracy")]
    first: bool,
    /// With --accuracy: only sets and streams whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "", requires = "accuracy")]
    only: String,
    /// With --accuracy: only whether groups of tasks are found, on `cluster` with several seeds and the .svm files of --from
    #[arg(long, requires = "accuracy")]
    groups: bool,
    /// Also count instructions with valgrind
    #[arg(long)]
    instructions: bool,
    /// Exit with code 1 unless every limit is kept
    #[arg(long)]
    check: bool,
    /// Put the tables into docs/benchmarks.md, or docs/accuracy.md with --accuracy
    #[arg(long)]
    write: bool,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(scale) if scale > 0.0 && scale <= 1.0 => Ok(scale),
        _ => Err("expected a number above 0 and at most 1".into()),
    }
}

/// The file with the stream of opposed groups, generated if it is missing.
pub(crate) fn cluster_stream() -> Result<PathBuf> {
    let preset = presets::named("cluster").map_err(anyhow::Error::msg)?;
    files::generated(&Folders::open()?, preset, preset.rows)
}

/// scikit-learn, installed beside the other peers.
pub(crate) struct ScikitLearn {
    /// The Python that has it.
    pub(crate) python: PathBuf,
    /// What figures were measured on.
    pub(crate) facts: String,
}

/// Installs scikit-learn if it is missing.
pub(crate) fn scikit_learn() -> Result<ScikitLearn> {
    let peers = Peers::ready(&Folders::open()?, &[Peer::ScikitLearn]);
    ensure!(peers.has(Peer::ScikitLearn), "scikit-learn is not installed and cannot be");
    Ok(ScikitLearn { python: peers.python().to_owned(), facts: machine::facts(&peers, &[Peer::ScikitLearn]) })
}

/// The program, built as users build it.
pub(crate) fn program() -> Result<PathBuf> {
    build(&Folders::open()?)
}

/// Measures; `false` if `--check` found a limit broken.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let folders = Folders::open()?;
    if options.groups {
        let text = groups::measure(&folders, options.from.as_deref())?;
        if options.write {
            page::publish(&folders.root.join("docs/accuracy.md"), "groups", &text)?;
        }
        return Ok(true);
    }
    if options.again || options.rare {
        return small_questions(&folders, options);
    }
    let all = if options.accuracy { &[Peer::VowpalWabbit][..] } else { &Peer::ALL };
    let peers = Peers::ready(&folders, all);
    if options.first {
        ensure!(peers.has(Peer::VowpalWabbit), "--first: Vowpal Wabbit is not installed");
        let (text, kept) = first::measure(&folders, &peers)?;
        return answer(&folders, options, "first", &text, kept);
    }
    if options.accuracy {
        let (text, kept) = accuracy::measure(&folders, &peers, &options.only, options.from.as_deref())?;
        if options.write {
            page::publish(&folders.root.join("docs/accuracy.md"), "accuracy", &text)?;
        }
        return Ok(kept || !options.check);
    }
    let cognate = match &options.cognate {
        Some(program) => program.clone(),
        None if options.runs > 0 || options.instructions => build(&folders)?,
        None => PathBuf::new(),
    };
    let arena = Arena { folders: &folders, cognate, peers: &peers };
    let facts = machine::facts(&peers, &Peer::ALL);
    let streams: Vec<Stream> =
        options.preset.iter().map(|preset| prepare(&folders, preset, options)).collect::<Result<_>>()?;
    let mut kept = true;
    if options.runs > 0 {
        let contests: Vec<Contest> = streams
            .iter()
            .map(|stream| Contest::hold(&arena, stream, options.runs))
            .collect::<Result<_>>()?;
        let ratios: Vec<_> = contests.iter().flat_map(limits::ratios).collect();
        kept = ratios.iter().all(|ratio| ratio.kept() != Some(false));
        show(&folders, options, "bench", &table::contests(&facts, &contests, &ratios, options.runs))?;
        ratios.iter().filter_map(limits::Ratio::verdict).for_each(|verdict| println!("{verdict}"));
    }
    if options.sweep {
        sweep_sizes(&arena, options, &facts, &streams)?;
    }
    if options.instructions {
        count_instructions(&arena, options, &facts, &streams)?;
    }
    Ok(kept || !options.check)
}

/// What is measured without peers.
fn small_questions(folders: &Folders, options: &Options) -> Result<bool> {
    let mut kept = true;
    if options.again {
        let (text, harmless) = again::measure(folders, &options.only)?;
        kept &= answer(folders, options, "again", &text, harmless)?;
    }
    if options.rare {
        let (text, near) = rare::measure()?;
        kept &= answer(folders, options, "rare", &text, near)?;
    }
    Ok(kept)
}

/// Puts a table on the page of accuracy if it is to be written.
fn answer(folders: &Folders, options: &Options, name: &str, text: &str, kept: bool) -> Result<bool> {
    if options.write {
        page::publish(&folders.root.join("docs/accuracy.md"), name, text)?;
    }
    Ok(kept || !options.check)
}

fn prepare(folders: &Folders, preset: &'static Preset, options: &Options) -> Result<Stream> {
    Stream::prepare(folders, preset, options.scale, options.from.as_deref())
        .with_context(|| format!("stream {}", preset.name))
}

/// Builds the program as users build it.
fn build(folders: &Folders) -> Result<PathBuf> {
    eprintln!("building cognate");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "cognate-learn"])
        .current_dir(&folders.root)
        .status()
        .context("cargo")?;
    ensure!(status.success(), "cognate does not build");
    Ok(folders.target.join("release/cognate"))
}

fn sweep_sizes(arena: &Arena, options: &Options, facts: &str, streams: &[Stream]) -> Result<()> {
    if !arena.peers.has(Peer::VowpalWabbit) {
        eprintln!("sweep: left out, Vowpal Wabbit is not installed");
        return Ok(());
    }
    let mut sweeps = Vec::new();
    for stream in streams {
        let sizes = sweep::run(arena, stream)?;
        let (chosen, used) = (sweep::choice(&sizes), stream.preset.vw_bits);
        if chosen != Some(used) {
            eprintln!("{}: the preset has -b {used}, this sweep would take {chosen:?}", stream.preset.name);
        }
        sweeps.push((stream, sizes));
    }
    show(arena.folders, options, "sweep", &table::sweeps(facts, &sweeps))
}

fn count_instructions(arena: &Arena, options: &Options, facts: &str, streams: &[Stream]) -> Result<()> {
    if !instructions::available() {
        eprintln!("instructions: left out, valgrind is not installed");
        return Ok(());
    }
    let mut counts = Vec::new();
    for stream in streams {
        counts.push((stream, instructions::count(arena, stream)?));
    }
    show(arena.folders, options, "instructions", &table::instructions(facts, &counts))
}

/// Prints a section and, if asked, puts it into the page.
fn show(folders: &Folders, options: &Options, name: &str, text: &str) -> Result<()> {
    println!("{text}");
    if options.write {
        page::publish(&folders.root.join("docs/benchmarks.md"), name, text)?;
    }
    Ok(())
}
