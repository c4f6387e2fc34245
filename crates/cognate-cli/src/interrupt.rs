//! Ctrl-C, and requests to end: what was learnt is written first.
//!
//! The first signal asks the loop to stop at the next batch. A second one soon after it changes nothing, also while files
//! are written: people and process managers send several. A third, or any that comes later, ends the program at once; a
//! file is then the old one or the new one, never a part.
//!
//! SIGUSR1 asks a run to save its model and go on; commands that do not save as they go do not mind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::output::say;

/// For so long a second signal changes nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// What signals are answered with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    /// The first, before it is told what others do.
    pub(crate) first: &'static str,
    /// The second.
    pub(crate) second: &'static str,
}

/// Of a run that writes its model at the end.
const WRITING: Said = Said {
    first: "interrupted: stopping, and writing what there is",
    second: "interrupted again: still stopping and writing; one more signal ends the program at once, and what is not yet \
             written is lost",
};

/// Whether someone asked to stop, or to save.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
    save: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts listening to what ends a program.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Self::listen_to(vec![SIGINT, SIGTERM], WRITING)
    }

    /// The same, with other words.
    pub(crate) fn listen_saying(said: Said) -> anyhow::Result<Self> {
        Self::listen_to(vec![SIGINT, SIGTERM], said)
    }

    /// As [`Self::listen`], and to requests to save.
    pub(crate) fn listen_for_saves() -> anyhow::Result<Self> {
        Self::listen_to(vec![SIGINT, SIGTERM, SIGUSR1], WRITING)
    }

    fn listen_to(mut listened: Vec<i32>, said: Said) -> anyhow::Result<Self> {
        let asked = Self { stop: Arc::default(), save: Arc::default() };
        let flags = asked.clone();
        // `nohup` means it.
        listened.extend((!is_ignored(SIGHUP)).then_some(SIGHUP));
        let mut signals = Signals::new(listened)?;
        let listen = move || {
            let mut heard = Heard::default();
            for signal in signals.forever() {
                if signal == SIGUSR1 {
                    flags.save.store(true, Ordering::Relaxed);
                    continue;
                }
                flags.stop.store(true, Ordering::Relaxed);
                match heard.next(Instant::now()) {
                    Answer::Stop => say(&format!(
                        "{}; a second signal changes nothing, a third, or one after {} s, ends the program at once",
                        said.first,
                        PATIENCE.as_secs()
                    )),
                    Answer::Wait => say(said.second),
                    Answer::End => std::process::exit(128 + signal),
                }
            }
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(listen)
            .context("cannot listen to signals")?;
        Ok(asked)
    }

    /// The flag itself, for a stream that waits for input.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether someone asked to stop.
    pub(crate) fn asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether someone asked to save since this was asked last.
    pub(crate) fn take_save(&self) -> bool {
        self.save.swap(false, Ordering::Relaxed)
    }

    /// Ends a stream that waits for input, as a signal does.
    pub(crate) fn end_reading(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Ends no command that has nothing to save as it goes: SIGUSR1 would by default.
pub(crate) fn survive_saves() -> anyhow::Result<()> {
    signal_hook::flag::register(SIGUSR1, Arc::default()).map(drop).context("cannot listen to signals")
}

/// What a signal does.
#[derive(Debug, PartialEq)]
enum Answer {
    Stop,
    Wait,
    End,
}

/// The signals so far.
#[derive(Default)]
struct Heard {
    first: Option<Instant>,
    second: bool,
}

impl Heard {
    fn next(&mut self, now: Instant) -> Answer {
        match self.first {
            None => {
                self.first = Some(now);
                Answer::Stop
            }
            Some(first) if !self.second && now.duration_since(first) < PATIENCE => {
                self.second = true;
                Answer::Wait
            }
            Some(_) => Answer::End,
        }
    }
}

/// Whether the program was started so that it does not hear a signal; not known everywhere.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_signal_waits_and_a_third_or_a_late_one_ends() {
        let start = Instant::now();
        let answers = |times: &[u64]| {
            let mut heard = Heard::default();
            let at = |millis: &u64| heard.next(start + Duration::from_millis(*millis));
            times.iter().map(at).collect::<Vec<_>>()
        };
        assert_eq!(answers(&[0, 1, 2]), [Answer::Stop, Answer::Wait, Answer::End]);
        assert_eq!(answers(&[0, 9999, 10_001]), [Answer::Stop, Answer::Wait, Answer::End]);
        assert_eq!(answers(&[0, 10_000]), [Answer::Stop, Answer::End]);
    }
}
