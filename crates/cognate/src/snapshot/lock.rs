//! Who writes a model? One program at a time, for as long as it runs.
//!
//! A model file is replaced whenever it is saved, so a lock on it would not last; the lock is on an empty file beside it,
//! `.NAME.lock`. The operating system releases it when the process ends, however it ends: a file that a killed process left
//! blocks nobody. Whoever holds the lock removes the file, and whoever gets a lock looks whether its file is still there.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::file::{io_error, target_of};
use crate::error::SnapshotError;

/// Attempts at a lock file, which others may remove as they end.
const ATTEMPTS: usize = 100;

/// The right to write a model file, until it is dropped.
///
/// Saving does not ask for it: programs that may meet others take it first.
#[derive(Debug)]
pub struct ModelLock {
    path: PathBuf,
    /// Holds the lock; none where files cannot be locked.
    file: Option<File>,
}

impl ModelLock {
    /// Takes the lock of a model file, which need not be there yet. Links are followed: a model has one lock, whatever it is
    /// called. Where the file system knows no locks there is none, and that is no error.
    ///
    /// # Errors
    /// When someone else has it, or the lock file cannot be made.
    pub fn take(model: &Path) -> Result<Self, SnapshotError> {
        let target = target_of(model)?;
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(".lock");
        let path = target.with_file_name(name);
        for _ in 0..ATTEMPTS {
            let file = open(&path).map_err(|source| io_error(&path, "cannot make the lock file", source))?;
            match file.try_lock() {
                Ok(()) if is_still_there(&file, &path) => return Ok(Self { path, file: Some(file) }),
                // The one who had it has just ended, and removed the file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(SnapshotError::Locked { path: model.to_owned(), lock: path });
                }
                Err(TryLockError::Error(_)) => {
                    remove(&path);
                    return Ok(Self { path, file: None });
                }
            }
        }
        let source = io::Error::other("it is removed by others again and again");
        Err(io_error(&path, "cannot lock", source))
    }
}

impl Drop for ModelLock {
    fn drop(&mut self) {
        if self.file.is_some() {
            remove(&self.path);
        }
    }
}

/// An empty file says nothing; one that cannot be removed blocks nobody.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Makes or opens the file, and never follows a link.
fn open(path: &Path) -> io::Result<File> {
    loop {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made,
        }
        match fs::symlink_metadata(path) {
            Ok(meta) if !meta.is_file() => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        // One that another user left can perhaps only be read, which is enough for a lock.
        let opened = OpenOptions::new().write(true).open(path);
        let opened = match opened {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
            other => other,
        };
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
}

fn is_still_there(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(named)) => named.is_file() && is_same(&held, &named),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// A file that is open cannot be removed there.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_lock_is_had_once_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let lock = ModelLock::take(&at("m.cog")).unwrap();
        assert!(at(".m.cog.lock").is_file());
        let refused = ModelLock::take(&at("m.cog")).unwrap_err();
        assert!(
            matches!(&refused, SnapshotError::Locked { lock, .. } if *lock == at(".m.cog.lock")),
            "{refused}"
        );
        let other = ModelLock::take(&at("n.cog")).unwrap();
        drop((lock, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(ModelLock::take(&at("m.cog")).unwrap());
        assert!(ModelLock::take(&at("no/m.cog")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn all_names_of_a_file_have_one_lock() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink("m.cog", at("link.cog")).unwrap();
        // Whether the file is there or not.
        for _ in 0..2 {
            let lock = ModelLock::take(&at("link.cog")).unwrap();
            assert!(matches!(ModelLock::take(&at("m.cog")), Err(SnapshotError::Locked { .. })));
            drop(lock);
            fs::write(at("m.cog"), "model").unwrap();
        }
    }

    /// Files are removed and made anew all the time; nobody must hold a lock on one that is gone.
    #[test]
    fn never_two_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.cog");
        let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let Ok(lock) = ModelLock::take(&path) else { continue };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two have the lock");
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        taken.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
