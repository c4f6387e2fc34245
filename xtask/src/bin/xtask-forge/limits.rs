//! Limits of time and memory per case: a case that passes one ends the run, with its number.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Longest time for a case, in looks of the watch; a look is a tenth of a second.
const LOOKS: u64 = 50;
/// Most memory of the whole process, asked for or used.
const MEMORY: u64 = 2 << 30;

/// Looks after the threads that work.
pub(crate) struct Watch {
    /// Case + 1 of every thread; 0 between cases.
    cases: Arc<Vec<AtomicU64>>,
}

impl Watch {
    /// Begins to look after so many threads.
    pub(crate) fn start(threads: usize) -> Self {
        let cases: Arc<Vec<AtomicU64>> = Arc::new((0..threads).map(|_| AtomicU64::new(0)).collect());
        let watched = Arc::clone(&cases);
        thread::spawn(move || look(&watched));
        Self { cases }
    }

    pub(crate) fn begin(&self, thread: usize, case: u64) {
        self.cases[thread].store(case + 1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self, thread: usize) {
        self.cases[thread].store(0, Ordering::Relaxed);
    }
}

fn look(cases: &[AtomicU64]) {
    let mut since: Vec<(u64, u64)> = vec![(0, 0); cases.len()];
    loop {
        thread::sleep(Duration::from_millis(100));
        let now: Vec<u64> = cases.iter().map(|case| case.load(Ordering::Relaxed)).collect();
        for (case, (last, looks)) in now.iter().zip(&mut since) {
            *looks = if case == last && *case != 0 { *looks + 1 } else { 0 };
            *last = *case;
            if *looks > LOOKS {
                give_up(&format!("case {} takes more than {} seconds", case - 1, LOOKS / 10));
            }
        }
        if most_memory().is_some_and(|bytes| bytes > MEMORY) {
            let running: Vec<String> =
                now.iter().filter_map(|case| case.checked_sub(1)).map(|case| case.to_string()).collect();
            let limit = MEMORY >> 20;
            give_up(&format!("more than {limit} MB; running, or just done: cases {}", running.join(", ")));
        }
    }
}

fn give_up(why: &str) -> ! {
    eprintln!("forge: {why}");
    process::exit(1);
}

/// The most memory that the process has had, where the system tells.
pub(crate) fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
