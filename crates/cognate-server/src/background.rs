//! Work that takes its time: never more at once than there are cores, in the order in which it came, behind those who answer others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::failure::{Code, Failure};

/// How far threads step back, of 19: where both want a core, those who answer get three quarters of it.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 5;

/// Lets other threads go first, from here on.
pub(crate) fn step_back() {
    // Elsewhere it would be the whole program; and where it is not allowed, all are served alike.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, BEHIND);
}

type Task = Box<dyn FnOnce() + Send>;

/// Threads for work that takes its time. They end with it, when they have done what waits.
#[derive(Debug)]
pub(crate) struct Background {
    tasks: Sender<Task>,
}

impl Background {
    /// As many threads as there are cores.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (tasks, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores {
            let waiting = Arc::clone(&waiting);
            std::thread::Builder::new().name("background".to_owned()).spawn(move || work(&waiting))?;
        }
        Ok(Self { tasks })
    }

    /// Does something when its turn has come.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        // Who does not wait any more, because the connection is gone, costs nothing.
        let task = move || {
            if !reply.is_closed() {
                drop(reply.send(work()));
            }
        };
        let failed = || Failure::new(Code::Internal, "a thread has panicked");
        self.tasks.send(Box::new(task)).map_err(|_| failed())?;
        answer.await.map_err(|_| failed())
    }
}

fn work(waiting: &Mutex<Receiver<Task>>) {
    step_back();
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = next else { return };
        // A panic has been told already; the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_and_a_panic_takes_no_thread_away() {
        let background = Background::start().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..2 * cores {
            assert!(runtime.block_on(background.run(|| panic!("as asked"))).is_err());
        }
        assert_eq!(runtime.block_on(background.run(|| 7)).unwrap(), 7);
    }
}
