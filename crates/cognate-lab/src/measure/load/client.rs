//! Who asks: connections that are kept, all on one thread, each with one request under way.
//!
//! One thread, since a thread per connection would take the processor from the server that is measured. Without a rate, a
//! connection asks again as soon as it was answered. With one, requests are due at fixed times, and what a request waits until it
//! can be sent counts as its latency.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::requests::Request;

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often it is asked whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How an answer ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    /// HTTP/1.1 with `content-length`.
    Http,
    /// As many lines as there were examples.
    Lines(usize),
}

/// What is asked, how often, for how long.
pub(super) struct Load<'a> {
    pub(super) protocol: Protocol,
    pub(super) requests: &'a [Request],
    pub(super) connections: usize,
    /// Requests a second of all connections; none for as many as are answered.
    pub(super) rate: Option<f64>,
    /// Asked before anything is measured.
    pub(super) warm: Duration,
    pub(super) measured: Duration,
    /// Ends the load before its time.
    pub(super) stop: Option<&'a AtomicBool>,
}

/// How long answers took.
pub(super) struct Measured {
    /// Milliseconds until each answer.
    pub(super) answers: Vec<f32>,
    /// Requests that were sent in all, before the measurement as well.
    pub(super) asked: u64,
    /// Seconds that were measured.
    pub(super) seconds: f64,
}

impl Measured {
    /// Answers a second.
    pub(super) fn rate(&self) -> f64 {
        self.answers.len() as f64 / self.seconds
    }

    /// Milliseconds within which this share was answered.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        quantile(self.answers.clone(), share)
    }
}

/// The value that this share does not exceed; NaN if there is none.
pub(super) fn quantile(mut values: Vec<f32>, share: f64) -> f64 {
    values.sort_unstable_by(f32::total_cmp);
    let at = ((values.len() as f64 * share).ceil() as usize).max(1) - 1;
    values.get(at.min(values.len().saturating_sub(1))).map_or(f64::NAN, |value| f64::from(*value))
}

/// A connection and the request under way.
struct Connection {
    stream: TcpStream,
    out: Vec<u8>,
    written: usize,
    came: Vec<u8>,
    /// When the request under way was due; none if there is none.
    since: Option<Instant>,
    /// When it was sent, which may be later.
    sent: Instant,
    due: Instant,
    next: usize,
}

impl Connection {
    fn open(address: SocketAddr, due: Instant, next: usize) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| address.to_string())?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, out: Vec::new(), written: 0, came: Vec::new(), since: None, sent: due, due, next })
    }

    fn begin(&mut self, requests: &[Request], number: u64) -> Result<()> {
        requests[self.next % requests.len()].stamp(number, &mut self.out);
        self.next += 1;
        (self.written, self.since, self.sent) = (0, Some(self.due), Instant::now());
        self.came.clear();
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => bail!("the server takes nothing more"),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("a request could not be sent"),
            }
        }
        Ok(())
    }

    /// Reads what has come; whether the answer is whole.
    fn read(&mut self, protocol: Protocol) -> Result<bool> {
        let mut buffer = [0; 16384];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => bail!("the server closed the connection: {}", String::from_utf8_lossy(&self.came)),
                Ok(count) => {
                    self.came.extend_from_slice(&buffer[..count]);
                    if count < buffer.len() {
                        return is_whole(protocol, &self.came);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return is_whole(protocol, &self.came);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("an answer could not be read"),
            }
        }
    }
}

/// Whether an answer has come to its end; an error is no answer.
fn is_whole(protocol: Protocol, came: &[u8]) -> Result<bool> {
    match protocol {
        Protocol::Lines(lines) => Ok(came.iter().filter(|byte| **byte == b'\n').count() >= lines),
        Protocol::Http => {
            let Some(end) = came.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(false) };
            let head = String::from_utf8_lossy(&came[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.context("an answer without its length")?.trim().parse()?;
            let whole = came.len() >= end + 4 + length;
            let refused = whole && head.split_whitespace().nth(1) != Some("200");
            ensure!(!refused, "the server refused: {}", String::from_utf8_lossy(came));
            Ok(whole)
        }
    }
}

/// Asks, and measures how long answers take.
pub(super) fn drive(address: SocketAddr, load: &Load<'_>) -> Result<Measured> {
    let began = Instant::now();
    let spread = |at: usize| {
        let share = at as f64 / load.connections as f64;
        load.rate
            .map_or(Duration::ZERO, |rate| Duration::from_secs_f64(share * load.connections as f64 / rate))
    };
    let each = load.rate.map(|rate| Duration::from_secs_f64(load.connections as f64 / rate));
    let mut connections: Vec<Connection> = (0..load.connections)
        .map(|at| Connection::open(address, began + spread(at), at * load.requests.len() / load.connections))
        .collect::<Result<_>>()?;
    let (from, end) = (began + load.warm, began + load.warm + load.measured);
    let (mut answers, mut number) = (Vec::new(), 0_u64);
    let ended = loop {
        let now = Instant::now();
        if now >= end || load.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            break now.min(end);
        }
        for connection in &mut connections {
            if connection.since.is_none() && connection.due <= now {
                connection.begin(load.requests, number)?;
                number += 1;
            }
            ensure!(
                connection.since.is_none() || now.saturating_duration_since(connection.sent) < PATIENCE,
                "no answer within {} s",
                PATIENCE.as_secs()
            );
        }
        for at in ready(&connections, end)? {
            let connection = &mut connections[at];
            if connection.written < connection.out.len() {
                connection.write()?;
            }
            if !connection.read(load.protocol)? {
                continue;
            }
            let (Some(since), answered) = (connection.since.take(), Instant::now()) else { continue };
            if since >= from && answered < end {
                answers.push((answered - since).as_secs_f32() * 1e3);
            }
            connection.due = each.map_or(answered, |each| connection.due + each);
            if connection.due <= answered {
                connection.begin(load.requests, number)?;
                number += 1;
            }
        }
    };
    Ok(Measured { answers, asked: number, seconds: ended.saturating_duration_since(from).as_secs_f64() })
}

/// The connections that have something to read or can be written; waits until there is one, or a request is due.
fn ready(connections: &[Connection], end: Instant) -> Result<Vec<usize>> {
    let mut polled: Vec<PollFd<'_>> = connections
        .iter()
        .map(|connection| {
            let unwritten = connection.written < connection.out.len();
            let writable = if unwritten { PollFlags::OUT } else { PollFlags::empty() };
            PollFd::new(&connection.stream, PollFlags::IN | writable)
        })
        .collect();
    let due =
        connections.iter().filter(|connection| connection.since.is_none()).map(|connection| connection.due);
    let until = due.min().unwrap_or(end).min(end).min(Instant::now() + LOOK);
    let wait = until.saturating_duration_since(Instant::now());
    let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
    match poll(&mut polled, Some(&wait)) {
        Err(error) if io::Error::from(error).kind() == ErrorKind::Interrupted => return Ok(Vec::new()),
        other => other?,
    };
    let is_ready = |(at, polled): (usize, &PollFd<'_>)| (!polled.revents().is_empty()).then_some(at);
    Ok(polled.iter().enumerate().filter_map(is_ready).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values: Vec<f32> = (1..=1000).map(|value| value as f32).collect();
        assert_eq!(quantile(values.clone(), 0.5), 500.0);
        assert_eq!(quantile(values.clone(), 0.999), 999.0);
        assert_eq!(quantile(values, 1.0), 1000.0);
        assert_eq!(quantile(vec![3.0], 0.99), 3.0);
        assert!(quantile(Vec::new(), 0.5).is_nan());
    }

    #[test]
    fn an_answer_is_whole_when_its_length_has_come() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert!(is_whole(Protocol::Http, answer).unwrap());
        assert!(!is_whole(Protocol::Http, &answer[..answer.len() - 1]).unwrap());
        assert!(!is_whole(Protocol::Http, b"HTTP/1.1 200 OK\r\n").unwrap());
        let refused = b"HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n";
        assert!(
            is_whole(Protocol::Http, refused).unwrap_err().to_string().starts_with("the server refused: ")
        );
        assert!(is_whole(Protocol::Lines(2), b"0.1\n0.2\n").unwrap());
        assert!(!is_whole(Protocol::Lines(2), b"0.1\n0.2").unwrap());
    }
}
