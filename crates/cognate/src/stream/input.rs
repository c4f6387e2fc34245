//! Opening inputs: files and standard input, plain, gzip or zstd by their first bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use flate2::read::MultiGzDecoder;

use super::StreamError;

/// Something to read examples from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, with a name for messages.
    Bytes {
        /// Shown in messages.
        name: String,
        /// The text.
        bytes: Arc<[u8]>,
    },
}

impl Input {
    /// The input as the user named it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "<stdin>".to_owned(),
            Self::Bytes { name, .. } => name.clone(),
        }
    }

    /// Bytes of a regular file.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::File(path) => {
                std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
            }
            Self::Stdin => None,
            Self::Bytes { bytes, .. } => Some(bytes.len() as u64),
        }
    }

    /// The same input, to be read more than once: whatever is no regular file is read to its end now, and held. Its
    /// silence gives up once `stop` is set.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn held(self, stop: &Arc<AtomicBool>) -> Result<Self, StreamError> {
        if self.size().is_some() {
            return Ok(self);
        }
        let (name, mut bytes) = (self.name(), Vec::new());
        let read = self.raw(stop)?.read_to_end(&mut bytes);
        read.map_err(|source| StreamError::Io { file: name.clone(), source })?;
        Ok(Self::Bytes { name, bytes: bytes.into() })
    }

    /// Opens and decompresses the input; `position` counts the bytes as stored on disk. A pipe that
    /// is silent gives up with [`io::ErrorKind::TimedOut`] once `stop` is set.
    pub(crate) fn open(
        &self,
        position: &Arc<AtomicU64>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Read + Send>, StreamError> {
        let inner = self.raw(stop)?;
        decompress(Counted { inner, position: Arc::clone(position) })
            .map_err(|source| StreamError::Io { file: self.name(), source })
    }

    /// Opens the input as it is stored.
    fn raw(&self, stop: &Arc<AtomicBool>) -> Result<Box<dyn Read + Send>, StreamError> {
        let failed = |source| StreamError::Io { file: self.name(), source };
        Ok(match self {
            Self::Stdin => Box::new(Interruptible::new(io::stdin(), Arc::clone(stop))),
            Self::Bytes { bytes, .. } => Box::new(io::Cursor::new(Arc::clone(bytes))),
            Self::File(path) => {
                let file = File::open(path).map_err(failed)?;
                let kind = file.metadata().map_err(failed)?;
                if kind.is_dir() {
                    let message = "is a directory; expected a file of examples";
                    return Err(failed(io::Error::new(io::ErrorKind::IsADirectory, message)));
                }
                if kind.is_file() {
                    Box::new(file)
                } else {
                    Box::new(Interruptible::new(file, Arc::clone(stop)))
                }
            }
        })
    }
}

/// Bytes read from a pipe at a time, and how many such pieces may wait.
const PIECE: usize = 1 << 16;
const PIECES: usize = 16;

/// How long a pipe may be silent before the stop flag is looked at.
const SILENCE: Duration = Duration::from_millis(100);

/// A pipe or terminal read on a thread of its own, so that its silence can be interrupted.
///
/// The thread is left behind in its read when the stream stops; it ends with the next byte, or with the program.
struct Interruptible {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: io::Cursor<Vec<u8>>,
    stop: Arc<AtomicBool>,
}

impl Interruptible {
    fn new(mut source: impl Read + Send + 'static, stop: Arc<AtomicBool>) -> Self {
        let (sender, pieces) = sync_channel(PIECES);
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = source.read(&mut piece).map(|count| {
                    piece.truncate(count);
                    piece
                });
                let over = read.as_ref().is_ok_and(Vec::is_empty);
                let retry = read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted);
                if !retry && (sender.send(read).is_err() || over) {
                    return;
                }
            }
        });
        Self { pieces, piece: io::Cursor::default(), stop }
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            match self.pieces.recv_timeout(SILENCE) {
                Ok(piece) => {
                    let piece = piece?;
                    if piece.is_empty() {
                        return Ok(0);
                    }
                    self.piece = io::Cursor::new(piece);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "stopped while it was silent"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Counts what is read.
struct Counted {
    inner: Box<dyn Read + Send>,
    position: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

fn decompress(mut raw: Counted) -> io::Result<Box<dyn Read + Send>> {
    let mut first = Vec::with_capacity(4);
    raw.by_ref().take(4).read_to_end(&mut first)?;
    let magic: &[u8] = &first;
    if magic.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(
            1 << 16,
            io::Cursor::new(first).chain(raw),
        ))));
    }
    if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return zstd_decoder(io::Cursor::new(first).chain(raw));
    }
    Ok(Box::new(io::Cursor::new(first).chain(raw)))
}

#[cfg(feature = "zstd")]
fn zstd_decoder(raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(zstd::stream::read::Decoder::new(raw)?))
}

#[cfg(not(feature = "zstd"))]
fn zstd_decoder(_raw: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "zstd input; this build has the feature `zstd` turned off",
    ))
}
