//! How do snapshots and the log make one state that survives?

use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, read_all};
use crate::error::StoreError;
use crate::log::{Group, Log, Recovered};

/// The name of a snapshot, or of what is kept beside it, while it is written.
const UNFINISHED: &str = "snapshot.tmp";

/// What can be chosen about a store.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// Bytes of entries in a file of the log; it is made in full, so that appending changes no size.
    pub segment_bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { segment_bytes: 16 << 20 }
    }
}

/// A folder that is being opened: its snapshot has been read, its log has not.
#[derive(Debug)]
pub struct Opening<D> {
    disk: D,
    folder: PathBuf,
    options: StoreOptions,
    snapshots: Vec<u64>,
    snapshot: Option<Snapshot>,
}

/// A state as it was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The entry after which it was made; 0 before the first.
    pub seq: u64,
    /// The state.
    pub state: Vec<u8>,
    /// What was saved beside it; nothing where only the state was restored.
    pub beside: Vec<u8>,
}

/// The log and the snapshots of one state.
#[derive(Debug)]
pub struct Store<D: Disk> {
    log: Log<D>,
    folder: PathBuf,
    /// The entries after which snapshots were made, in order.
    snapshots: Vec<u64>,
}

/// The name of a snapshot; names are in the order of entries.
fn name(seq: u64) -> String {
    format!("snapshot-{seq:020}.cog")
}

/// The name of what is saved beside a snapshot.
fn beside(seq: u64) -> String {
    format!("snapshot-{seq:020}.side")
}

fn seq_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("snapshot-")?.strip_suffix(".cog")?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

impl<D: Disk> Opening<D> {
    /// Opens a folder, which is there, and reads its latest snapshot.
    ///
    /// # Errors
    /// When files cannot be read.
    pub fn new(disk: D, folder: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let names = disk.list(folder).map_err(StoreError::io("cannot list the folder", folder))?;
        if names.iter().any(|name| name == UNFINISHED) {
            let path = folder.join(UNFINISHED);
            disk.remove(&path).map_err(StoreError::io("cannot remove an unfinished snapshot", &path))?;
        }
        let mut snapshots: Vec<u64> = names.iter().filter_map(|name| seq_of(name)).collect();
        snapshots.sort_unstable();
        let read = |name: String| {
            let path = folder.join(name);
            let bytes = disk.open(&path).and_then(|file| read_all(&file));
            bytes.map_err(StoreError::io("cannot read the snapshot", &path))
        };
        let snapshot = |seq: u64| {
            let beside = beside(seq);
            let beside = if names.contains(&beside) { read(beside)? } else { Vec::new() };
            Ok(Snapshot { seq, state: read(name(seq))?, beside })
        };
        let snapshot = snapshots.last().copied().map(snapshot).transpose()?;
        Ok(Self { disk, folder: folder.to_owned(), options, snapshots, snapshot })
    }

    /// The latest snapshot.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Shows the entries after the snapshot, in order, each with its number; the store goes on after them.
    ///
    /// # Errors
    /// When the log is damaged, and those of `apply`, with which an entry is refused.
    pub fn replay(
        self,
        mut apply: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<(Store<D>, Recovered), StoreError> {
        let Self { disk, folder, options, snapshots, .. } = self;
        let after = snapshots.last().copied().unwrap_or(0);
        let mut see = |seq: u64, entry: &[u8]| {
            let refused = |message| StoreError::Entry { folder: folder.clone(), seq, message };
            apply(seq, entry).map_err(refused)
        };
        let (log, recovered) = Log::open(disk, &folder, options.segment_bytes, after, &mut see)?;
        Ok((Store { log, folder, snapshots }, recovered))
    }
}

impl<D: Disk> Store<D> {
    /// Writes a group of entries and waits until it is on disk; the number of its last entry. Only then may it be applied and
    /// acknowledged.
    ///
    /// # Errors
    /// When it cannot be written or synced: the store then takes nothing more until it is opened again.
    pub fn append(&mut self, group: &mut Group) -> Result<u64, StoreError> {
        self.log.append(group)
    }

    /// The number of the last entry; the first one is 1.
    pub fn last(&self) -> u64 {
        self.log.last()
    }

    /// The entry after which the latest snapshot was made; 0 if there is none.
    pub fn snapshot_seq(&self) -> u64 {
        self.snapshots.last().copied().unwrap_or(0)
    }

    /// Why nothing can be appended any more, if so.
    pub fn poisoned(&self) -> Option<&str> {
        self.log.poisoned()
    }

    /// Files of the log.
    pub fn segments(&self) -> usize {
        self.log.segments()
    }

    /// Saves the state as it is after all entries, with something beside it, and removes what is no longer needed.
    ///
    /// # Errors
    /// When it cannot be written: the older snapshot and the log stay, and entries can still be appended.
    pub fn save_snapshot(&mut self, state: &[u8], beside_it: &[u8]) -> Result<(), StoreError> {
        let seq = self.last();
        write_snapshot(self.log.disk(), &self.folder, seq, (state, beside_it))?;
        self.finish_snapshot(seq)
    }

    /// The same in parts: this takes the state as it is after all entries, which someone else writes while entries are appended;
    /// [`Self::finish_snapshot`] is told when it is there. One at a time.
    pub fn begin_snapshot(&self, state: Vec<u8>, beside: Vec<u8>) -> Unwritten<D>
    where
        D: Clone,
    {
        let (disk, folder, seq) = (self.log.disk().clone(), self.folder.clone(), self.last());
        Unwritten { disk, folder, snapshot: Snapshot { seq, state, beside } }
    }

    /// The snapshot after this entry is on disk: what came before is removed.
    ///
    /// # Errors
    /// When it cannot be removed; nothing is lost by that.
    pub fn finish_snapshot(&mut self, seq: u64) -> Result<(), StoreError> {
        self.snapshots.retain(|older| *older != seq);
        self.snapshots.push(seq);
        while let [older, _, ..] = self.snapshots[..] {
            self.remove(&name(older))?;
            self.snapshots.remove(0);
            self.remove(&beside(older))?;
        }
        self.log.remove_up_to(seq)
    }

    /// Saves the state after an entry up to which none is logged any more, with something beside it, and removes the log: from then on
    /// there are only snapshots, until entries are appended again.
    ///
    /// # Errors
    /// As [`Self::save_snapshot`].
    pub fn save_without_log(&mut self, seq: u64, state: &[u8], beside_it: &[u8]) -> Result<(), StoreError> {
        if self.log.segments() == 0 {
            self.log.skip_to(seq);
            return self.save_snapshot(state, beside_it);
        }
        // What is still logged ends here, so that a crash before it is removed leaves log and snapshot that fit.
        self.save_snapshot(state, beside_it)?;
        self.log.remove_all()
    }

    /// Removes a file that may have gone already, with a crash on the way.
    fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        match self.log.disk().remove(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io("cannot remove an old snapshot", &path)(error))
            }
            _ => Ok(()),
        }
    }
}

/// A snapshot that is to be written, by whoever has the time.
#[derive(Debug)]
pub struct Unwritten<D> {
    disk: D,
    folder: PathBuf,
    snapshot: Snapshot,
}

impl<D: Disk> Unwritten<D> {
    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Writes it, and waits until it is on disk.
    ///
    /// # Errors
    /// When it cannot be written: the older snapshot stays.
    pub fn write(&self) -> Result<(), StoreError> {
        let Snapshot { seq, state, beside } = &self.snapshot;
        write_snapshot(&self.disk, &self.folder, *seq, (state, beside))
    }
}

/// Writes a state, and before it what is beside it.
fn write_snapshot(
    disk: &impl Disk,
    folder: &Path,
    seq: u64,
    (state, beside_it): (&[u8], &[u8]),
) -> Result<(), StoreError> {
    replace(disk, folder, &beside(seq), beside_it)?;
    replace(disk, folder, &name(seq), state)
}

/// Writes a file under another name, syncs and renames it, and reads it again: what it stands for goes only when it can be read.
fn replace(disk: &impl Disk, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let (unfinished, path) = (folder.join(UNFINISHED), folder.join(name));
    let written = write_new(disk, &unfinished, bytes).and_then(|()| disk.rename(&unfinished, &path));
    written.map_err(StoreError::io("cannot write the snapshot", &path))?;
    disk.sync_folder(folder).map_err(StoreError::io("cannot sync the folder", folder))?;
    let again = disk.open(&path).and_then(|file| read_all(&file));
    if again.map_err(StoreError::io("cannot read the snapshot", &path))? != bytes {
        let what = "the snapshot is not what was written";
        return Err(StoreError::Damaged { path, offset: 0, what });
    }
    Ok(())
}

/// Writes a file anew and waits until it is on disk.
fn write_new(disk: &impl Disk, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = match disk.create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            disk.remove(path)?;
            disk.create(path)?
        }
        other => other?,
    };
    file.write_at(bytes, 0)?;
    file.sync()
}
