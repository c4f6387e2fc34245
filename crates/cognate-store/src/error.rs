//! What can go wrong?

use std::io;
use std::path::PathBuf;

/// Why a store cannot be opened, or cannot take an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused something.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What was synced is no longer as it was written.
    #[error("{}: damaged at byte {offset}: {what}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where it begins to be wrong.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Entries are missing.
    #[error("{}: entries {from} to {to} are missing", path.display())]
    Gap {
        /// Where they should be.
        path: PathBuf,
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// It was written by a later program.
    #[error("{}: log format {found}; this program reads up to {known}", path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest that is known.
        known: u32,
    },
    /// A write or a sync has failed before.
    #[error("learning has stopped since the log could not be written: {cause}")]
    Poisoned {
        /// What failed.
        cause: String,
    },
    /// One group is more than a frame can hold.
    #[error("a group of {bytes} bytes; at most {most} fit in a frame")]
    TooLarge {
        /// How many bytes it has.
        bytes: usize,
        /// How many there may be.
        most: usize,
    },
    /// The state does not take an entry.
    #[error("{}: entry {seq}: {message}", folder.display())]
    Entry {
        /// Where the log is.
        folder: PathBuf,
        /// The number of the entry.
        seq: u64,
        /// Why not.
        message: String,
    },
}

impl StoreError {
    /// Says which file an error is about, and what was being done.
    pub(crate) fn io(doing: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
