//! Who is asked: servers in child processes on free ports of this machine, ended when they are dropped.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// A server has to listen within this time.
const START: Duration = Duration::from_mins(1);
/// And to end within this one.
const END: Duration = Duration::from_mins(1);

/// A server that runs.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
}

/// What a server holds at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Resident memory in MB.
    pub(super) memory: f64,
    /// Open files and connections.
    pub(super) handles: usize,
}

impl Server {
    /// Starts `cognate serve` on a folder.
    pub(super) fn cognate(program: &Path, folder: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg("serve").arg(folder).args(["--listen", "127.0.0.1:0", "--log-level", "warn"]);
        let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().context("cognate serve")?;
        let mut first = String::new();
        let out = child.stdout.take().context("no standard output")?;
        let read = BufReader::new(out).read_line(&mut first).context("cognate serve");
        let address = first.trim().strip_prefix("listening on http://").and_then(|text| text.parse().ok());
        match (read, address) {
            (Ok(_), Some(address)) => Ok(Self { child, address }),
            (read, _) => {
                let _ = child.kill();
                read?;
                bail!("cognate serve does not say where it listens: {first:?}")
            }
        }
    }

    /// Starts another server, told a port that is free now, and waits until it listens.
    pub(super) fn other<S: AsRef<OsStr>>(
        program: &Path,
        arguments: impl FnOnce(u16) -> Vec<S>,
    ) -> Result<Self> {
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let mut command = Command::new(program);
        command.args(arguments(address.port())).stdout(Stdio::null()).stderr(Stdio::null());
        // Its children end with it.
        let child = command.process_group(0).spawn().with_context(|| program.display().to_string())?;
        let mut server = Self { child, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!("it ended instead of listening: {status}");
            }
            ensure!(began.elapsed() < START, "it does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// What it holds now.
    pub(super) fn held(&self) -> Result<Held> {
        let process = Path::new("/proc").join(self.child.id().to_string());
        let status = fs::read_to_string(process.join("status")).context("no /proc to read memory from")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident: f64 =
            resident.and_then(|text| text.split_whitespace().next()?.parse().ok()).context("VmRSS")?;
        let handles = fs::read_dir(process.join("fd"))?.count();
        Ok(Held { memory: resident / 1024.0, handles })
    }

    /// CPU seconds that it and its children have spent, in user mode and in the kernel.
    pub(super) fn cpu(&self) -> Result<f64> {
        let mut seconds = 0.0;
        for entry in fs::read_dir("/proc").context("no /proc to read CPU times from")? {
            // A process may have ended meanwhile.
            let Ok(stat) = fs::read_to_string(entry?.path().join("stat")) else { continue };
            let fields = Fields::of(&stat);
            if fields.number(GROUP) == f64::from(self.child.id()) {
                seconds += fields.seconds(TIMES);
            }
        }
        Ok(seconds)
    }

    /// Ends it as an operator would; it must end by itself and without an error.
    pub(super) fn stop(mut self) -> Result<()> {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        ensure!(asked.context("kill")?.success(), "the server had ended already");
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the server ended with {status}");
                return Ok(());
            }
            ensure!(began.elapsed() < END, "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, and have no group of its own.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Places in `/proc/PID/stat`, counted from the state: group, CPU times of the process, and of its children that have ended.
const GROUP: usize = 2;
const TIMES: usize = 11;
const CHILDREN: usize = 13;

/// What `/proc/PID/stat` says after the name, which may hold blanks.
struct Fields<'a>(Vec<&'a str>);

impl<'a> Fields<'a> {
    fn of(stat: &'a str) -> Self {
        Self(stat.rsplit_once(')').map_or(Vec::new(), |(_, rest)| rest.split_whitespace().collect()))
    }

    fn number(&self, at: usize) -> f64 {
        self.0.get(at).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    }

    /// User and system time, which are in hundredths.
    fn seconds(&self, at: usize) -> f64 {
        (self.number(at) + self.number(at + 1)) / 100.0
    }
}

/// CPU seconds of all programs so far, and of this one with its children that have ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processor {
    all: f64,
    ours: f64,
    at: Instant,
}

impl Processor {
    /// Now.
    pub(super) fn now() -> Result<Self> {
        let machine = fs::read_to_string("/proc/stat").context("no /proc to read CPU times from")?;
        let times: Vec<f64> = machine
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|text| text.parse().ok())
            .collect();
        // User, nice, system; then idle and waiting.
        let all = times.iter().take(3).chain(times.iter().skip(5).take(2)).sum::<f64>() / 100.0;
        let own = fs::read_to_string("/proc/self/stat")?;
        let own = Fields::of(&own);
        Ok(Self { all, ours: own.seconds(TIMES) + own.seconds(CHILDREN), at: Instant::now() })
    }

    /// How many cores other programs have kept busy since.
    pub(super) fn others(self) -> Result<f64> {
        let now = Self::now()?;
        let others = (now.all - self.all) - (now.ours - self.ours);
        Ok(others.max(0.0) / self.at.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_after_a_name_with_blanks() {
        let stat = "17 (a b) c) S 1 42 42 0 -1 0 1 2 3 4 150 50 7 3 20 0";
        let fields = Fields::of(stat);
        assert_eq!(fields.number(GROUP), 42.0);
        assert_eq!((fields.seconds(TIMES), fields.seconds(CHILDREN)), (2.0, 0.1));
        assert!(Fields::of("").number(GROUP).is_nan());
    }
}
