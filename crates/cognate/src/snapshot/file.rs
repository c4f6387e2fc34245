//! How a model file, or another output, is replaced: at every moment it is the old one or the new one, whole.
//!
//! The new one is written beside it under a name that nobody can guess, synced, given the mode and owner of the old one,
//! and renamed. While it is written it is locked, so that what a process left behind when it was killed can be told from
//! what another is writing, even where the two do not see each other.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::SnapshotError;

/// Most links that are followed to a file that is not there yet.
const MOST_LINKS: usize = 40;
/// Attempts at a temporary file; another process may take a fresh one for a leftover, but hardly twice.
const ATTEMPTS: usize = 8;

/// Checks that a model can be written there, with an empty temporary file.
pub(super) fn check_target(path: &Path) -> Result<(), SnapshotError> {
    let target = target_of(path)?;
    Temporary::create(&target).map(drop).map_err(|source| io_error(path, "cannot write the model", source))
}

/// Replaces the file: temporary file, sync, mode and owner, rename, sync of the folder.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), SnapshotError> {
    let target = target_of(path)?;
    remove_leftovers(&target);
    let temporary = Temporary::create(&target)
        .and_then(|mut temporary| temporary.write(bytes).map(|()| temporary))
        .map_err(|source| io_error(path, "cannot write the model", source))?;
    temporary
        .become_target(&target)
        .map_err(|source| io_error(path, "cannot rename the model into place", source))?;
    let synced = File::open(folder_of(&target)).and_then(|folder| folder.sync_all());
    synced.map_err(|source| io_error(path, "cannot sync the folder", source))
}

/// Replaces an output that is no model, in the same way. What is no regular file, as a device or a pipe, is written to as it
/// is; a file that may not be written is not replaced.
///
/// # Errors
/// What cannot be written, and those of `write`; the old file is then untouched.
pub fn replace_file<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let Some(target) = replaceable(path)? else {
        return write_to(&File::create(path)?, write);
    };
    remove_leftovers(&target);
    let temporary = Temporary::create(&target)?;
    write_to(&temporary.file, write)?;
    temporary.finish()?;
    temporary.become_target(&target)?;
    Ok(File::open(folder_of(&target))?.sync_all()?)
}

/// Checks that [`replace_file`] can write there, without leaving anything behind.
///
/// # Errors
/// When it cannot.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    match replaceable(path)? {
        None => OpenOptions::new().append(true).open(path).map(drop),
        Some(target) => Temporary::create(&target).map(drop),
    }
}

/// The regular file behind the path, which may be written, or is not there yet; none if there is something else.
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| end_of_links(path));
    match fs::metadata(&target) {
        Ok(meta) if meta.is_file() => {
            OpenOptions::new().append(true).open(&target)?;
            Ok(Some(target))
        }
        Ok(_) => Ok(None),
        Err(_) if target.file_name().is_none() => Ok(None),
        Err(_) => Ok(Some(target)),
    }
}

fn write_to<E: From<io::Error>>(
    file: &File,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    Ok(out.flush()?)
}

pub(super) fn io_error(path: &Path, action: &'static str, source: io::Error) -> SnapshotError {
    SnapshotError::Io { path: path.to_owned(), action, source }
}

/// The file behind the path; it need not be there yet.
pub(super) fn target_of(path: &Path) -> Result<PathBuf, SnapshotError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| end_of_links(path));
    if target.file_name().is_none() || fs::metadata(&target).is_ok_and(|meta| !meta.is_file()) {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        return Err(io_error(path, "cannot write the model", source));
    }
    Ok(target)
}

/// Where links lead that end at nothing.
fn end_of_links(path: &Path) -> PathBuf {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&at) else { break };
        at = folder_of(&at).join(next);
    }
    at
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A locked file beside the target; it is removed when dropped, unless it became the target.
struct Temporary {
    path: PathBuf,
    file: File,
    /// What the file is to have in the end.
    access: Access,
    renamed: bool,
}

impl Temporary {
    fn create(target: &Path) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let path = target.with_file_name(temporary_name(&name_of(target), std::process::id(), random()));
            let old = fs::metadata(target).ok();
            let mut options = OpenOptions::new();
            // Fails if the name is taken, be it by a link.
            options.write(true).create_new(true);
            if old.is_some() {
                for_owner_only(&mut options);
            }
            let file = options.open(&path)?;
            let mut temporary = Self { path, file, access: Access::default(), renamed: false };
            // Where files cannot be locked at all, nobody takes this one for a leftover.
            let taken = matches!(temporary.file.try_lock(), Err(TryLockError::WouldBlock));
            let made = temporary.file.metadata()?;
            if taken || is_removed(&made) {
                continue;
            }
            temporary.access = Access::of(old.as_ref(), &made);
            hide(&temporary.file)?;
            return Ok(temporary);
        }
        Err(io::Error::other("its temporary file is removed by others again and again"))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.finish()
    }

    /// What is written is whole.
    fn finish(&self) -> io::Result<()> {
        self.access.give(&self.file)?;
        self.file.sync_all()
    }

    fn become_target(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // What is left of the attempt is of no use to anyone; the error to tell is another.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn name_of(target: &Path) -> String {
    target.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// `.<name>.<process>.<sixteen digits>.tmp`
fn temporary_name(name: &str, process: u32, random: u64) -> String {
    format!(".{name}.{process}.{random:016x}.tmp")
}

/// A number that other processes cannot guess: the key of a new hasher comes from the operating system.
fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// Whether a file is called as a temporary one of the target is.
fn is_temporary_name(file: &str, target: &str) -> bool {
    let inner = file.strip_prefix('.').and_then(|rest| rest.strip_prefix(target)?.strip_prefix('.'));
    let parts = inner.and_then(|rest| rest.strip_suffix(".tmp")?.split_once('.'));
    parts.is_some_and(|(process, random)| {
        let all = |text: &str, is: fn(&char) -> bool| !text.is_empty() && text.chars().all(|c| is(&c));
        all(process, char::is_ascii_digit) && random.len() == 16 && all(random, char::is_ascii_hexdigit)
    })
}

/// Removes what processes left that were killed while they wrote this file; nothing depends on its success.
fn remove_leftovers(target: &Path) {
    let name = name_of(target);
    let Ok(entries) = fs::read_dir(folder_of(target)) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|file| is_temporary_name(file, &name));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove_if_unlocked(&entry.path());
        }
    }
}

/// The lock of a process ends with it.
fn remove_if_unlocked(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    match file.try_lock() {
        Ok(()) => {
            let _ = fs::remove_file(path);
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
    }
}

/// Mode and owner of a file.
#[derive(Debug, Default)]
struct Access {
    mode: Option<Permissions>,
    /// User and group, where they are not ours anyway.
    owner: Option<(u32, u32)>,
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};

    use super::Access;

    pub(super) fn for_owner_only(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    pub(super) fn is_removed(meta: &Metadata) -> bool {
        meta.nlink() == 0
    }

    /// Lets nobody else read what is not whole.
    pub(super) fn hide(file: &File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(0o600))
    }

    impl Access {
        /// Those of the old file, or else what a new file usually has.
        pub(super) fn of(old: Option<&Metadata>, made: &Metadata) -> Self {
            let kept = old.unwrap_or(made);
            let owner = (kept.uid(), kept.gid());
            Self {
                mode: Some(Permissions::from_mode(kept.mode() & 0o777)),
                owner: (owner != (made.uid(), made.gid())).then_some(owner),
            }
        }

        /// Owner first, where that is permitted: others must never have what the mode gives to the old owner's group.
        pub(super) fn give(&self, file: &File) -> io::Result<()> {
            let Some(mode) = &self.mode else { return Ok(()) };
            let mut mode = mode.mode();
            if let Some((user, group)) = self.owner {
                let kept = fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
                if kept.is_err() {
                    mode &= 0o707 | (mode & 0o007) << 3;
                }
            }
            file.set_permissions(Permissions::from_mode(mode))
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;

    use super::Access;

    pub(super) fn for_owner_only(_: &mut OpenOptions) {}

    pub(super) fn is_removed(_: &Metadata) -> bool {
        false
    }

    pub(super) fn hide(_: &File) -> io::Result<()> {
        Ok(())
    }

    impl Access {
        pub(super) fn of(old: Option<&Metadata>, _: &Metadata) -> Self {
            Self { mode: old.map(Metadata::permissions), owner: None }
        }

        pub(super) fn give(&self, file: &File) -> io::Result<()> {
            self.mode.clone().map_or(Ok(()), |mode| file.set_permissions(mode))
        }
    }
}

#[cfg(not(unix))]
use elsewhere::{for_owner_only, hide, is_removed};
#[cfg(unix)]
use unix::{for_owner_only, hide, is_removed};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_form_are_leftovers() {
        let made = temporary_name("m.cog", 17, 0x00ab_cdef);
        assert!(is_temporary_name(&made, "m.cog"), "{made}");
        assert!(!is_temporary_name(&made, "cog") && !is_temporary_name(&made, "n.cog"), "{made}");
        for other in [
            "m.cog",
            ".m.cog.17.tmp",
            ".m.cog..0000000000abcdef.tmp",
            ".m.cog.17.0000000000abcdeg.tmp",
            ".m.cog.17.0000000000abcdef.tmp.bak",
            ".m.cog.x7.0000000000abcdef.tmp",
            ".m.cog.17.abcdef.tmp",
        ] {
            assert!(!is_temporary_name(other, "m.cog"), "{other}");
        }
    }

    #[test]
    fn names_of_temporary_files_do_not_repeat() {
        let mut names: Vec<u64> = (0..1000).map(|_| random()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 1000);
    }
}
