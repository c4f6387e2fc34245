//! Who else is asked: Vowpal Wabbit's daemon, and a server of FastAPI and River as people write it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::client::{Load, Protocol};
use super::requests::{Form, Request, Verb, requests};
use super::servers::Server;
use super::table::{self, Row};
use super::{Asked, BATCH, BATCHES, SINGLES, load, timed};
use crate::measure::bench;
use crate::measure::root;

/// Connections; the daemon of Vowpal Wabbit serves ten at a time.
const CONNECTIONS: [usize; 2] = [1, 8];

/// Measures all that can be started; the others are named on standard error.
pub(super) fn measure(seconds: u64, asked: &Asked) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, python, measure) in [
        (table::VW, bench::vowpal_wabbit(), vowpal_wabbit as fn(&Path, u64, &Asked) -> Result<Vec<Row>>),
        (table::RIVER, bench::river_server(), river),
    ] {
        let Some(python) = python else {
            eprintln!("{name} is left out: it cannot be installed");
            continue;
        };
        match measure(&python, seconds, asked) {
            Ok(more) => rows.extend(more),
            Err(error) => eprintln!("{name} is left out: {error:#}"),
        }
    }
    rows
}

fn script(name: &str) -> PathBuf {
    root().join("crates/cognate-lab/src/measure/load").join(name)
}

fn start(python: &Path, name: &str) -> Result<Server> {
    Server::other(python, |port| vec![script(name).into_os_string(), port.to_string().into()])
}

fn river(python: &Path, seconds: u64, asked: &Asked) -> Result<Vec<Row>> {
    let server = start(python, "river_server.py")?;
    let mut rows = Vec::new();
    // Predictions are of models that have learnt.
    for (what, requests, examples) in [
        (table::JSON, &asked.json, BATCH),
        (table::LEARN, &asked.learn, 1),
        (table::PREDICT, &asked.predict, 1),
    ] {
        for connections in CONNECTIONS {
            let (measured, cpu) = timed(&server, &load(requests, connections, seconds))?;
            rows.push(Row::new(table::RIVER, what, connections, examples, &measured, cpu));
        }
    }
    Ok(rows)
}

fn vowpal_wabbit(python: &Path, seconds: u64, _: &Asked) -> Result<Vec<Row>> {
    let server = start(python, "vw_daemon.py")?;
    let (form, batch) = (Form::VowpalWabbit, BATCH as u64);
    let mut rows = Vec::new();
    let asked: [(&'static str, Vec<Request>, usize); 3] = [
        (table::LINES, requests(form, Verb::Learn, BATCHES, batch, 2_000_000), BATCH),
        (table::LEARN, requests(form, Verb::Learn, SINGLES, 1, 0), 1),
        (table::PREDICT, requests(form, Verb::Predict, SINGLES, 1, 1_000_000), 1),
    ];
    for (what, requests, examples) in &asked {
        for connections in CONNECTIONS {
            let load = Load { protocol: Protocol::Lines(*examples), ..load(requests, connections, seconds) };
            let (measured, cpu) = timed(&server, &load)?;
            rows.push(Row::new(table::VW, what, connections, *examples, &measured, cpu));
            // Its children take the next connections when those before are closed.
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    Ok(rows)
}
