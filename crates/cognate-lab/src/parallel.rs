//! Jobs side by side: results come in the order of the jobs, so that nothing depends on the number of threads.
//!
//! Work that takes longer than two seconds shows its progress: a bar on a terminal, else a line now and then. Once `stop`
//! is set no further job begins; those under way ask [`Pool::asked`] themselves.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How long to wait before showing progress, and how often to write a line where there is no terminal.
const PATIENCE: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_secs(20);

/// Ended because `stop` was set.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// A pool of threads.
pub struct Pool {
    threads: usize,
    stop: Arc<AtomicBool>,
    quiet: bool,
}

impl Pool {
    /// A pool of this many threads, or one per processor. Setting `stop` asks it to stop.
    pub fn new(threads: Option<NonZeroUsize>, stop: Arc<AtomicBool>, quiet: bool) -> Self {
        let processors = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { threads: threads.unwrap_or_else(processors).get(), stop, quiet }
    }

    /// Whether `stop` was set.
    pub fn asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The results of all jobs.
    ///
    /// # Errors
    /// The error of the first job that fails; [`Interrupted`] if a job was not done.
    pub fn all<T: Sync, R: Send>(
        &self,
        what: &str,
        jobs: &[T],
        work: impl Fn(&T) -> anyhow::Result<R> + Sync,
    ) -> anyhow::Result<Vec<R>> {
        let done = self.some(what, jobs, work)?;
        done.into_iter().collect::<Option<Vec<R>>>().ok_or_else(|| Interrupted.into())
    }

    /// The same, with `None` for jobs that were not done because `stop` was set.
    ///
    /// # Errors
    /// The error of the first job that fails.
    pub fn some<T: Sync, R: Send>(
        &self,
        what: &str,
        jobs: &[T],
        work: impl Fn(&T) -> anyhow::Result<R> + Sync,
    ) -> anyhow::Result<Vec<Option<R>>> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (done, changed) = (Mutex::new((0, Vec::new())), Condvar::new());
        let threads = self.threads.min(jobs.len());
        let worker = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let job = jobs.get(at).filter(|_| !self.asked() && !failed.load(Ordering::Relaxed));
                let result = job.map(&work);
                if result.as_ref().is_some_and(Result::is_err) {
                    failed.store(true, Ordering::Relaxed);
                }
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                let more = result.is_some();
                match result {
                    Some(result) => done.1.push((at, result)),
                    None => done.0 += 1,
                }
                changed.notify_all();
                if !more {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            (0..threads).for_each(|_| drop(scope.spawn(worker)));
            let mut progress = Progress::new(what, jobs.len(), self.quiet);
            let mut state = done.lock().unwrap_or_else(PoisonError::into_inner);
            while state.0 < threads {
                state = changed
                    .wait_timeout(state, Duration::from_millis(200))
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                progress.show(state.1.len());
            }
        });
        let mut results: Vec<Option<R>> = jobs.iter().map(|_| None).collect();
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        done.sort_by_key(|(at, _)| *at);
        for (at, result) in done {
            match result {
                Ok(result) => results[at] = Some(result),
                Err(error) if error.is::<Interrupted>() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(results)
    }
}

/// The progress of the jobs.
struct Progress<'a> {
    what: &'a str,
    jobs: usize,
    quiet: bool,
    started: Instant,
    said: Instant,
    bar: Option<ProgressBar>,
}

impl<'a> Progress<'a> {
    fn new(what: &'a str, jobs: usize, quiet: bool) -> Self {
        let now = Instant::now();
        Self { what, jobs, quiet, started: now, said: now, bar: None }
    }

    fn show(&mut self, done: usize) {
        if self.quiet || self.started.elapsed() < PATIENCE {
            return;
        }
        if std::io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| {
                let style = ProgressStyle::with_template("{msg} {bar:30} {pos} of {len}, {eta} left")
                    .expect("a valid template");
                ProgressBar::new(self.jobs as u64).with_style(style).with_message(self.what.to_owned())
            });
            bar.set_position(done as u64);
        } else if self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            // A closed standard error is ignored.
            let _ = writeln!(std::io::stderr().lock(), "{}: {done} of {} runs", self.what, self.jobs);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs() -> anyhow::Result<()> {
        let jobs: Vec<u64> = (0..50).collect();
        let slow_first = |job: &u64| {
            std::thread::sleep(Duration::from_millis((50 - job) / 20));
            Ok(job * job)
        };
        let wanted: Vec<u64> = jobs.iter().map(|job| job * job).collect();
        for threads in [1, 2, 8] {
            let pool = Pool::new(NonZeroUsize::new(threads), Arc::default(), true);
            assert_eq!(pool.all("test", &jobs, slow_first)?, wanted);
        }
        Ok(())
    }

    #[test]
    fn one_failure_is_the_result_and_a_stop_leaves_what_was_done() -> anyhow::Result<()> {
        let pool = Pool::new(NonZeroUsize::new(2), Arc::default(), true);
        let failing = |job: &usize| if *job == 3 { anyhow::bail!("three") } else { Ok(*job) };
        let error = pool.all("test", &[1, 2, 3, 4], failing).expect_err("one job fails");
        assert_eq!(error.to_string(), "three");
        let stopping = |job: &usize| if *job == 3 { Err(Interrupted.into()) } else { Ok(*job) };
        assert_eq!(pool.some("test", &[1, 3], stopping)?, [Some(1), None]);
        assert!(pool.all("test", &[1, 3], stopping).is_err_and(|error| error.is::<Interrupted>()));
        Ok(())
    }
}
