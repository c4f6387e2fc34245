//! Who may look at a model when? Many read it, one thread changes it, and gives way to those who wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use super::State;

/// How long readers may keep the one who writes, from one piece of work to the next: also under a flood of them it goes on.
const COURTESY: Duration = Duration::from_millis(1);

/// What readers see, and how many wait to see it.
///
/// A panic while the state was changed is a bug, after which nothing is promised but that it is told: so poison is not looked at.
#[derive(Debug)]
pub struct Shared {
    state: RwLock<State>,
    waiting: AtomicUsize,
}

impl Shared {
    pub(super) fn new(state: State) -> Self {
        Self { state: RwLock::new(state), waiting: AtomicUsize::new(0) }
    }

    /// The state, to be looked at; not for long, and never while waiting for something else.
    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        state
    }

    /// The state, to be changed.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets those read who wait to. A lock alone does not: who gives it back and asks again at once gets it before those who are
    /// woken are awake.
    pub(super) fn give_way(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let began = Instant::now();
        while self.waiting.load(Ordering::SeqCst) > 0 && began.elapsed() < COURTESY {
            std::thread::yield_now();
        }
    }
}
