//! Does a server stay as it was under half of the load that it can bear? Memory, latency and handles at the beginning and the end.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::client::{Load, Protocol, drive};
use super::disk::Disk;
use super::servers::{Held, Processor, Server};
use super::{Asked, WARM, load};

/// Connections that learn, and as many that predict.
const CONNECTIONS: usize = 32;
/// Seconds of the run that finds out how much the server can bear.
const PROBE: u64 = 10;
/// Waited until connections that were closed are seen to be.
const SETTLE: Duration = Duration::from_millis(500);
/// Parts of the time whose figures are shown.
const PARTS: usize = 5;
/// What memory may grow from the second part to the last: what is learnt anew is bounded.
const GROWTH: f64 = 1.1;

/// Figures of a part of the time.
struct Part {
    held: Held,
    learn: [f64; 2],
    predict: [f64; 2],
}

/// Measures; whether memory is flat and no handle is left open.
pub(super) fn measure(
    program: &Path,
    data: &Path,
    asked: &Asked,
    minutes: f64,
    disk: Disk,
) -> Result<(String, bool)> {
    ensure!(
        minutes.is_finite() && (0.2..=24.0 * 60.0).contains(&minutes),
        "--soak: expected minutes from 0.2 on"
    );
    let server = Server::cognate(program, data)?;
    let rates = probe(&server, asked)?;
    std::thread::sleep(SETTLE);
    let (before, cpu, processor) = (server.held()?, server.cpu()?, Processor::now()?);
    eprintln!(
        "soak: {:.0} learn and {:.0} predict requests a second for {minutes} minutes",
        rates[0], rates[1]
    );
    let seconds = minutes * 60.0 / PARTS as f64;
    let mut parts = Vec::new();
    for at in 0..PARTS {
        let (learn, predict) = both(&server, asked, rates.map(Some), seconds)?;
        // The clients' connections are closed; the server sees that a moment later.
        std::thread::sleep(SETTLE);
        let part = Part { held: server.held()?, learn, predict };
        eprintln!("soak: {}", line(at, minutes, &part));
        parts.push(part);
    }
    let spent = server.cpu()? - cpu;
    let (second, after) = (parts[1].held, parts[PARTS - 1].held);
    let mut text = format!(
        "{:.0} learn and {:.0} predict requests a second, {CONNECTIONS} connections each, for {minutes} minutes: half of what the server bore \
         before. Before, {disk}.\n\n",
        rates[0], rates[1]
    );
    text += "| until minute | learn p50 ms | learn p99 ms | predict p50 ms | predict p99 ms | memory MB | handles |\n|---|---|---|---|---|---|---|\n";
    for (at, part) in parts.iter().enumerate() {
        writeln!(text, "{}", line(at, minutes, part))?;
    }
    writeln!(
        text,
        "\nBefore: {:.1} MB and {} handles. CPU of the server: {:.0} % of a core. Other programs, the client not counted, kept {:.1} cores busy.",
        before.memory,
        before.handles,
        100.0 * spent / (minutes * 60.0),
        processor.others()? - spent / (minutes * 60.0)
    )?;
    let flat = after.memory <= GROWTH * second.memory && after.handles <= before.handles;
    server.stop()?;
    Ok((text, flat))
}

fn line(at: usize, minutes: f64, Part { held, learn, predict }: &Part) -> String {
    let until = minutes * (at + 1) as f64 / PARTS as f64;
    let ([l50, l99], [p50, p99]) = (learn, predict);
    format!(
        "| {until:.1} | {l50:.2} | {l99:.2} | {p50:.2} | {p99:.2} | {:.1} | {} |",
        held.memory, held.handles
    )
}

/// Half of the requests a second that are answered when both kinds are asked as fast as answers come.
fn probe(server: &Server, asked: &Asked) -> Result<[f64; 2]> {
    let run = |requests| {
        Ok::<f64, anyhow::Error>(drive(server.address, &load(requests, CONNECTIONS, PROBE))?.rate())
    };
    std::thread::scope(|scope| {
        let learner = scope.spawn(|| run(&asked.learn));
        let predicted = run(&asked.predict);
        let learned = learner.join().expect("the learning client does not panic");
        Ok([learned? / 2.0, predicted? / 2.0])
    })
}

/// Learning and predicting side by side; half and 99 of 100 of each are answered within these milliseconds.
fn both(
    server: &Server,
    asked: &Asked,
    rates: [Option<f64>; 2],
    seconds: f64,
) -> Result<([f64; 2], [f64; 2])> {
    let run = |requests, rate| {
        let load = Load {
            protocol: Protocol::Http,
            requests,
            connections: CONNECTIONS,
            rate,
            warm: WARM.min(Duration::from_secs_f64(seconds / 2.0)),
            measured: Duration::from_secs_f64(seconds).saturating_sub(WARM),
            stop: None,
        };
        let measured = drive(server.address, &load)?;
        Ok::<_, anyhow::Error>([0.5, 0.99].map(|share| measured.quantile(share)))
    };
    std::thread::scope(|scope| {
        let learner = scope.spawn(|| run(&asked.learn, rates[0]));
        let predicted = run(&asked.predict, rates[1]);
        let learned = learner.join().expect("the learning client does not panic");
        Ok((learned?, predicted?))
    })
}
