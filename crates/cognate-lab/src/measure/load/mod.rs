//! `cargo xtask load`: how many requests does `cognate serve` answer, and how fast, beside Vowpal Wabbit's daemon and a server of
//! FastAPI and River?
//!
//! servers (started here, on this machine alone) -> client (all connections on one thread) -> figures -> docs/benchmarks.md
//!
//! Aims, on two cores that client and server share: batches of 100 at least 100,000 durable examples a second; single durable examples
//! of 256 connections at least 10,000 a second, with p99 below 50 ms where the disk takes about 4 ms; predictions at least 20,000 a
//! second with p99 below 10 ms, and at most twice that p99 while learning runs at full speed. Exits 1 with `--check` if one is missed.

mod client;
mod disk;
mod peers;
mod requests;
mod servers;
mod soak;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use self::client::{Load, Measured, Protocol, drive};
use self::disk::Disk;
use self::requests::{Form, Request, Verb, requests};
use self::servers::{Processor, Server};
use self::table::Row;
use crate::measure::{bench, page, root};

/// What is measured.
#[derive(clap::Args)]
pub struct Options {
    /// Seconds of each measurement
    #[arg(long, value_name = "N", default_value_t = 5)]
    seconds: u64,
    /// Use this `cognate` program instead of building it
    #[arg(long, value_name = "FILE")]
    cognate: Option<PathBuf>,
    /// Leave Vowpal Wabbit and FastAPI with River out
    #[arg(long)]
    alone: bool,
    /// Minutes at half of the load that the server can bear: is memory flat, and are handles closed?
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, default_missing_value = "15")]
    soak: Option<f64>,
    /// Exit with code 1 unless every aim is reached
    #[arg(long)]
    check: bool,
    /// Put what was measured into docs/benchmarks.md
    #[arg(long)]
    write: bool,
}

/// Connections that learn.
const LEARNING: [usize; 4] = [1, 16, 64, 256];
/// Connections that predict.
const PREDICTING: [usize; 4] = [1, 16, 64, 256];
/// Connections of the measurement of both at once.
const BOTH: usize = 16;
/// Examples of a batch.
const BATCH: usize = 100;
/// Asked before anything is measured.
const WARM: Duration = Duration::from_secs(1);
/// Different requests of one example, and of a batch.
const SINGLES: u64 = 4096;
const BATCHES: u64 = 128;

/// The same requests for every server.
struct Asked {
    learn: Vec<Request>,
    predict: Vec<Request>,
    json: Vec<Request>,
    lines: Vec<Request>,
}

impl Asked {
    fn new() -> Self {
        let batch = BATCH as u64;
        Self {
            learn: requests(Form::Json, Verb::Learn, SINGLES, 1, 0),
            predict: requests(Form::Json, Verb::Predict, SINGLES, 1, 1_000_000),
            json: requests(Form::Json, Verb::Learn, BATCHES, batch, 2_000_000),
            lines: requests(Form::Lines, Verb::Learn, BATCHES, batch, 3_000_000),
        }
    }
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let program = match &options.cognate {
        Some(program) => program.clone(),
        None => bench::program()?,
    };
    let folder = tempfile::tempdir_in(bench::folder()?).context("a folder for what is learnt")?;
    let (before, asked) = (Disk::measure(folder.path())?, Asked::new());
    eprintln!("disk: {before}");
    if let Some(minutes) = options.soak {
        let data = folder.path().join("soak");
        let (text, flat) = soak::measure(&program, &data, &asked, minutes, before)?;
        return answer(options, "soak", &text, flat);
    }
    let processor = Processor::now()?;
    let rows = ours(options, &program, &folder.path().join("data"), &asked)?;
    let disk = [before, Disk::measure(folder.path())?];
    let busy = processor.others()?;
    let others = if options.alone { Vec::new() } else { peers::measure(options.seconds, &asked) };
    let text = table::page(&rows, &others, disk, busy, options.seconds);
    let reached = table::aims(&rows);
    answer(options, "load", &text, reached)
}

fn answer(options: &Options, name: &str, text: &str, reached: bool) -> Result<bool> {
    println!("{text}");
    if options.write {
        page::publish(&root().join("docs/benchmarks.md"), name, text)?;
    }
    Ok(reached || !options.check)
}

/// A load of so many connections for so long, as fast as answers come.
fn load(requests: &[Request], connections: usize, seconds: u64) -> Load<'_> {
    Load {
        protocol: Protocol::Http,
        requests,
        connections,
        rate: None,
        warm: WARM,
        measured: Duration::from_secs(seconds),
        stop: None,
    }
}

/// Asks, and says how many CPU seconds the server has spent on it.
fn timed(server: &Server, load: &Load<'_>) -> Result<(Measured, f64)> {
    let before = server.cpu()?;
    let measured = drive(server.address, load)?;
    Ok((measured, server.cpu()? - before))
}

/// Measures `cognate serve`, with durability as it is by default: an answer to learning means that it is on disk.
fn ours(options: &Options, program: &Path, data: &Path, asked: &Asked) -> Result<Vec<Row>> {
    let server = Server::cognate(program, data)?;
    let mut rows = Vec::new();
    let mut measure = |what: &'static str, requests: &[Request], connections: usize, examples: usize| {
        let (measured, cpu) = timed(&server, &load(requests, connections, options.seconds))
            .with_context(|| format!("{what}, {connections} connections"))?;
        rows.push(Row::new("cognate serve", what, connections, examples, &measured, cpu));
        anyhow::Ok(())
    };
    // Predictions are of a model that has learnt.
    drive(server.address, &load(&asked.json, 1, options.seconds.min(2)))?;
    for connections in PREDICTING {
        measure(table::PREDICT, &asked.predict, connections, 1)?;
    }
    for connections in LEARNING {
        measure(table::LEARN, &asked.learn, connections, 1)?;
    }
    for (what, requests) in [(table::JSON, &asked.json), (table::LINES, &asked.lines)] {
        for connections in LEARNING {
            measure(what, requests, connections, BATCH)?;
        }
    }
    let (predicted, learned) = both(&server, asked, options.seconds)?;
    // Whose CPU it was is not known.
    rows.push(Row::new("cognate serve", table::MEANWHILE, BOTH, 1, &predicted, f64::NAN));
    rows.push(Row::new("cognate serve", table::BESIDE, BOTH, BATCH, &learned, f64::NAN));
    server.stop()?;
    Ok(rows)
}

/// Predictions while learning runs at full speed, in batches.
fn both(server: &Server, asked: &Asked, seconds: u64) -> Result<(Measured, Measured)> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let learner = scope.spawn(|| {
            let endless = Load { stop: Some(&over), ..load(&asked.json, BOTH, seconds + 60) };
            drive(server.address, &endless)
        });
        let predicted = drive(server.address, &load(&asked.predict, BOTH, seconds));
        over.store(true, Ordering::Relaxed);
        let learned = learner.join().expect("the learning client does not panic");
        Ok((predicted?, learned?))
    })
}
