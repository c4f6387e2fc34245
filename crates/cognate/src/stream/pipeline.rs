//! Reading and learning overlap: one thread fills batches while another uses them.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::{Batch, Stream, StreamError};

/// Batches on their way; each is filled, used and filled again.
const IN_FLIGHT: usize = 4;

/// How long the reader may take before the user of its batches is called without one.
const SILENCE: Duration = Duration::from_millis(100);

/// Passes every batch of every pass to `visit` in order, until that breaks or the stream ends.
///
/// With two threads or more, one reads ahead; the examples that `visit` sees do not depend on it. The last batch of a pass
/// may be empty but for its counters, and so may one of lines that are skipped ([`Stream::fill_promptly`]). So are those with which two threads call `visit` while the reader waits for input, so
/// that what is due can be done in the meantime.
///
/// # Errors
/// Those of the stream, after the batches before.
pub fn for_each_batch(
    stream: &mut dyn Stream,
    passes: u32,
    threads: NonZeroUsize,
    mut visit: impl FnMut(&Batch) -> ControlFlow<()>,
) -> Result<(), StreamError> {
    if threads.get() == 1 {
        let mut batch = Batch::default();
        return read(stream, passes, |stream| {
            batch.ends_pass = !stream.fill_promptly(&mut batch)?;
            Ok((batch.ends_pass, visit(&batch)))
        });
    }
    let (filled, ready) = sync_channel::<Batch>(IN_FLIGHT);
    let (used, free) = sync_channel::<Batch>(IN_FLIGHT);
    for _ in 0..IN_FLIGHT {
        // The channel holds as many.
        let _ = used.send(Batch::default());
    }
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || fill_ahead(stream, passes, &filled, &free));
        use_batches(ready, &used, &mut visit);
        drop(used);
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `step` until it breaks or the last pass ends; `step` says whether the pass is over.
fn read(
    stream: &mut dyn Stream,
    passes: u32,
    mut step: impl FnMut(&mut dyn Stream) -> Result<(bool, ControlFlow<()>), StreamError>,
) -> Result<(), StreamError> {
    for pass in 0..passes {
        if pass > 0 {
            stream.rewind()?;
        }
        loop {
            let (over, flow) = step(stream)?;
            if flow.is_break() {
                return Ok(());
            }
            if over {
                break;
            }
        }
    }
    Ok(())
}

fn fill_ahead(
    stream: &mut dyn Stream,
    passes: u32,
    filled: &SyncSender<Batch>,
    free: &Receiver<Batch>,
) -> Result<(), StreamError> {
    read(stream, passes, |stream| {
        let Ok(mut batch) = free.recv() else {
            return Ok((true, ControlFlow::Break(())));
        };
        let over = !stream.fill_promptly(&mut batch)?;
        batch.ends_pass = over;
        // The other side hangs up when it has seen enough.
        let flow =
            if filled.send(batch).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        Ok((over, flow))
    })
}

fn use_batches(
    ready: Receiver<Batch>,
    used: &SyncSender<Batch>,
    visit: &mut dyn FnMut(&Batch) -> ControlFlow<()>,
) {
    let mut nothing = Batch::default();
    loop {
        let batch = match ready.recv_timeout(SILENCE) {
            Ok(batch) => batch,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if visit(&nothing).is_break() => break,
            Err(RecvTimeoutError::Timeout) => continue,
        };
        nothing.position = batch.position;
        if visit(&batch).is_break() {
            break;
        }
        // The reader may have ended already.
        let _ = used.send(batch);
    }
    drop(ready);
}
