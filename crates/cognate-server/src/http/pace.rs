//! How long may a client keep a connection without saying or taking anything?
//!
//! ```text
//! head: from the first byte, or from the connection on, until the request is known
//! busy: until all of the answer has been handed over; the body of the request has a time of its own
//! idle: until the first byte of the next request
//! ```
//!
//! An answer of which nothing is taken for as long as a body may take to come is given up.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How long each may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) head: Duration,
    pub(super) idle: Duration,
    /// Without anything that is taken of an answer.
    pub(super) answer: Duration,
}

const HEAD: u8 = 0;
const BUSY: u8 = 1;
const IDLE: u8 = 2;

/// Where a connection stands.
#[derive(Debug)]
pub(super) struct Pace(AtomicU8);

impl Pace {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU8::new(HEAD)))
    }

    /// A request is known.
    pub(super) fn asked(&self) {
        self.0.store(BUSY, Ordering::Relaxed);
    }

    fn answered(&self) {
        self.0.store(IDLE, Ordering::Relaxed);
    }

    fn phase(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection that is given up in time.
pub(super) struct Paced {
    stream: TcpStream,
    pace: Arc<Pace>,
    times: Times,
    /// When head or idle time is over, and for which of them that is.
    over: Pin<Box<Sleep>>,
    timed: u8,
    /// When an answer is given up, while nothing of it is taken.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    pub(super) fn new(stream: TcpStream, pace: Arc<Pace>, times: Times) -> Self {
        Self { stream, pace, times, over: Box::pin(sleep(times.head)), timed: HEAD, stuck: None }
    }

    /// Whether the time of what is waited for is over.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let phase = self.pace.phase();
        if phase == BUSY {
            self.timed = BUSY;
            return false;
        }
        if self.timed != phase {
            let time = if phase == HEAD { self.times.head } else { self.times.idle };
            self.over.as_mut().reset(Instant::now() + time);
            self.timed = phase;
        }
        self.over.as_mut().poll(context).is_ready()
    }

    fn written<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(self.times.answer)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the answer was not taken in time")))
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before && self.pace.phase() == IDLE {
            self.pace.0.store(HEAD, Ordering::Relaxed);
        }
        // What has come may be less than what is waited for: the timer is set in any case.
        let over = self.is_over(context);
        if read.is_pending() && over {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "no request came in time")));
        }
        read
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.written(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of an answer: when it has been handed over, the next request is waited for.
pub(super) struct Answer<B> {
    body: B,
    pace: Arc<Pace>,
}

impl<B> Answer<B> {
    pub(super) fn new(body: B, pace: Arc<Pace>) -> Self {
        Self { body, pace }
    }
}

impl<B> Drop for Answer<B> {
    fn drop(&mut self) {
        self.pace.answered();
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Answer<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
