//! Work that cannot stop at once is done on a thread of its own, and left to itself when Ctrl-C comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How often Python is asked for signals.
const PATIENCE: Duration = Duration::from_millis(100);

/// Does work that others wait for; `stop` is set when nobody does any more.
pub(crate) fn in_background<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, mut answer) = channel();
    let thread = std::thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = done.send(work());
    });
    loop {
        let (found, kept) = py.detach(move || (answer.recv_timeout(PATIENCE), answer));
        answer = kept;
        match found {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    stop.store(true, Ordering::SeqCst);
                    return Err(signal);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = py.detach(move || thread.join()).expect_err("it sends before it ends");
                std::panic::resume_unwind(panic)
            }
        }
    }
}

/// Asks Python for signals now and then, in the middle of work.
pub(crate) struct Patience {
    looked: Instant,
    pub(crate) interrupted: Option<PyErr>,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self { looked: Instant::now(), interrupted: None }
    }

    /// Whether to go on.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method is not general enough in its lifetime"
    )]
    pub(crate) fn go_on(&mut self) -> bool {
        if self.interrupted.is_none() && self.looked.elapsed() >= PATIENCE {
            self.looked = Instant::now();
            self.interrupted = Python::attach(|py| py.check_signals()).err();
        }
        self.interrupted.is_none()
    }

    /// The exception of the signal that stopped the work.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.interrupted.map_or(Ok(()), Err)
    }
}
