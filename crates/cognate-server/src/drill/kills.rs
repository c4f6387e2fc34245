//! The real program under load, killed at random moments: nothing acknowledged may be lost, and nothing learnt twice.
//!
//! Every client has a task of its own and sends one request after the other, each with a key of its own. A request that was not
//! answered is sent again, with its key, until it is. So at the end the server must have learnt every request once, whatever
//! it was doing when it was killed.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::client::Client;

/// A program that serves.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Running {
    /// Starts `program serve folder`, with more arguments; it listens when this returns.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(program: &Path, folder: &Path, more: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg("serve").arg(folder).args(["--listen", "127.0.0.1:0", "--log-level", "warn"]).args(more);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address =
            line.trim().strip_prefix("listening on http://").and_then(|address| address.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                child.kill()?;
                child.wait()?;
                Err(io::Error::other(format!("the server did not start: {line:?}")))
            }
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it without any warning.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Waits until it has ended by itself; its exit code.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn wait(&mut self) -> io::Result<Option<i32>> {
        self.child.wait().map(|status| status.code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A drill.
#[derive(Debug, Clone, Copy)]
pub struct Drill<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its data folder.
    pub folder: &'a Path,
    /// How often it is killed.
    pub kills: u32,
    /// Clients at a time.
    pub clients: u32,
    /// Draws the moments.
    pub seed: u64,
}

/// What a drill has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Killed {
    /// Requests that were acknowledged, each of one example.
    pub acknowledged: u64,
    /// Examples that the server has learnt in the end.
    pub learnt: u64,
    /// Requests that were sent again.
    pub again: u64,
    /// Kills.
    pub kills: u32,
    /// Tasks whose count is not that of its acknowledged requests: name, acknowledged, learnt.
    pub wrong: Vec<(String, u64, u64)>,
}

/// Moments that follow from a seed.
struct Draws(u64);

impl Draws {
    fn next(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

/// What clients share.
struct Shared {
    address: Mutex<SocketAddr>,
    stop: AtomicBool,
    again: AtomicU64,
}

/// Small segments and snapshots, so that kills fall into all that is done now and then.
const OFTEN: [&str; 2] = ["--snapshot-every", "400"];

impl Drill<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// When the program does not start again, or does not answer.
    pub fn run(self) -> io::Result<Killed> {
        let mut running = Running::start(self.program, self.folder, &OFTEN)?;
        let shared = Shared {
            address: Mutex::new(running.address),
            stop: AtomicBool::new(false),
            again: AtomicU64::new(0),
        };
        let mut draws = Draws(self.seed);
        let all = &shared;
        let acknowledged = std::thread::scope(|scope| -> io::Result<Vec<u64>> {
            let clients: Vec<_> =
                (0..self.clients).map(|client| scope.spawn(move || client_loop(all, client))).collect();
            let mut outcome = Ok(());
            for _ in 0..self.kills {
                std::thread::sleep(Duration::from_millis(20 + draws.next(250)));
                let restarted =
                    running.kill().and_then(|()| Running::start(self.program, self.folder, &OFTEN));
                match restarted {
                    Ok(restarted) => running = restarted,
                    Err(error) => {
                        outcome = Err(error);
                        break;
                    }
                }
                *shared.address.lock().unwrap_or_else(PoisonError::into_inner) = running.address;
            }
            shared.stop.store(true, Ordering::Relaxed);
            let counts = clients.into_iter().map(|client| {
                client.join().map_err(|_| io::Error::other("a client has panicked")).and_then(|count| count)
            });
            let counts: io::Result<Vec<u64>> = counts.collect();
            outcome.and(counts)
        })?;
        self.compare(&running, &acknowledged, shared.again.load(Ordering::Relaxed))
    }

    fn compare(self, running: &Running, acknowledged: &[u64], again: u64) -> io::Result<Killed> {
        let mut client = Client::connect(running.address)?;
        let mut killed = Killed { again, kills: self.kills, ..Killed::default() };
        for (at, count) in acknowledged.iter().enumerate() {
            let task = client.ask("GET", &format!("/v1/models/default/tasks/client-{at}"), &[], b"")?;
            let learnt = task.json()["row"]["examples"].as_u64().unwrap_or(0);
            killed.acknowledged += count;
            killed.learnt += learnt;
            if learnt != *count {
                killed.wrong.push((format!("client-{at}"), *count, learnt));
            }
        }
        Ok(killed)
    }
}

/// Sends requests until it is to stop; how many were acknowledged. The last one is sent until it is.
fn client_loop(shared: &Shared, client: u32) -> io::Result<u64> {
    let mut connection: Option<Client> = None;
    let mut sent = 0_u64;
    while !shared.stop.load(Ordering::Relaxed) {
        let label = if sent.is_multiple_of(3) { 1 } else { -1 };
        let body = format!(
            "{{\"examples\":[{{\"task\":\"client-{client}\",\"features\":{{\"f{}\":1,\"g{}\":0.5}},\"label\":{label}}}]}}",
            sent % 17,
            sent % 5
        );
        let key = format!("idempotency-key: {client}-{sent}");
        let mut tries = 0_u64;
        while !try_once(shared, &mut connection, &key, &body)? {
            tries += 1;
            if tries > 3000 {
                return Err(io::Error::other("the server did not come back"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        shared.again.fetch_add(tries, Ordering::Relaxed);
        sent += 1;
    }
    Ok(sent)
}

/// Whether a request was acknowledged; an error if it was refused.
fn try_once(shared: &Shared, connection: &mut Option<Client>, key: &str, body: &str) -> io::Result<bool> {
    if connection.is_none() {
        let address = *shared.address.lock().unwrap_or_else(PoisonError::into_inner);
        *connection = Client::connect(address).ok();
    }
    let Some(client) = connection else { return Ok(false) };
    match client.ask("POST", "/v1/models/default/learn", &[key], body.as_bytes()) {
        Ok(answer) if answer.status == 200 => Ok(true),
        Ok(answer) if answer.status == 503 || answer.status == 429 => {
            *connection = None;
            Ok(false)
        }
        Ok(answer) => Err(io::Error::other(format!("refused: {} {}", answer.status, answer.text()))),
        Err(_) => {
            *connection = None;
            Ok(false)
        }
    }
}
