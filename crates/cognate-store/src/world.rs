//! A file system that crashes, for tests.
//!
//! What was written and not synced is on disk or not, page by page, as chance has it; so are new names of files, up to some moment.
//! Calls fail where a test says so. A sync that failed leaves pages that were not written, and that no later sync writes either, as
//! Linux does.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::disk::{Disk, DiskFile};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;

/// A file's bytes as programs see them, and as they are on disk.
#[derive(Debug, Clone, Default)]
struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
    /// Pages that a sync would write.
    dirty: BTreeSet<usize>,
}

impl Content {
    /// Takes pages over to the disk.
    fn persist(&mut self, pages: impl Iterator<Item = usize>) {
        for page in pages {
            let (from, to) = (page * PAGE, ((page + 1) * PAGE).min(self.seen.len()));
            if from < to {
                self.durable.resize(self.durable.len().max(to), 0);
                self.durable[from..to].copy_from_slice(&self.seen[from..to]);
            }
        }
    }
}

/// A change of names.
#[derive(Debug, Clone)]
enum Change {
    Add(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// What may go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trouble {
    /// Nothing.
    #[default]
    None,
    /// The world stops at this call.
    Crash(u64),
    /// This call fails, and no other.
    Fail(u64),
}

#[derive(Debug)]
struct Inner {
    files: Vec<Content>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    /// Since the folder was synced.
    changes: Vec<Change>,
    calls: u64,
    trouble: Trouble,
    /// Syncs return before anything is on disk.
    syncs_lie: bool,
    rng: SmallRng,
}

/// The file system; clones are the same one.
#[derive(Debug, Clone)]
pub struct World(Arc<Mutex<Inner>>);

fn apply(names: &mut BTreeMap<PathBuf, usize>, change: &Change) {
    match change {
        Change::Add(path, file) => {
            names.insert(path.clone(), *file);
        }
        Change::Rename(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Change::Remove(path) => {
            names.remove(path);
        }
    }
}

impl Inner {
    /// Counts a call; whether it fails.
    fn call(&mut self) -> Result<(), io::Error> {
        self.calls += 1;
        match self.trouble {
            Trouble::Crash(at) if self.calls >= at => Err(io::Error::other("the world has stopped")),
            Trouble::Fail(at) if self.calls == at => Err(io::Error::other("it failed")),
            _ => Ok(()),
        }
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.names, &change);
        self.changes.push(change);
    }
}

impl World {
    /// An empty one; what chance does follows from the seed.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            files: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            changes: Vec::new(),
            calls: 0,
            trouble: Trouble::None,
            syncs_lie: false,
            rng: SmallRng::seed_from_u64(seed),
        })))
    }

    /// One where syncs return before anything is on disk.
    pub fn that_lies(seed: u64) -> Self {
        let world = Self::new(seed);
        world.inner().syncs_lie = true;
        world
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.inner().calls
    }

    /// What will go wrong.
    pub fn trouble(&self, trouble: Trouble) {
        self.inner().trouble = trouble;
    }

    /// The machine starts again: all that was not synced is on disk or not, as chance has it.
    pub fn restart(&self) {
        let mut inner = self.inner();
        let Inner { files, names, durable_names, changes, rng, trouble, .. } = &mut *inner;
        let kept = rng.random_range(0..=changes.len());
        changes.drain(..).take(kept).for_each(|change| apply(durable_names, &change));
        for content in files.iter_mut() {
            let dirty = std::mem::take(&mut content.dirty);
            // All, none, or some pages.
            let share = [0.0, 1.0, 0.5, rng.random::<f64>()][rng.random_range(0..4)];
            let lucky: Vec<usize> = dirty.into_iter().filter(|_| rng.random_bool(share)).collect();
            content.persist(lucky.into_iter());
            if rng.random_bool(0.5) && content.durable.len() < content.seen.len() {
                content.durable.resize(content.seen.len(), 0);
            }
            content.seen.clone_from(&content.durable);
        }
        names.clone_from(durable_names);
        *trouble = Trouble::None;
    }

    /// Changes the bytes of a file behind everybody's back.
    pub fn tamper(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut inner = self.inner();
        let file = inner.names[path];
        let content = &mut inner.files[file];
        change(&mut content.seen);
        content.durable.clone_from(&content.seen);
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &Path) -> Vec<u8> {
        let inner = self.inner();
        inner.files[inner.names[path]].seen.clone()
    }

    /// The same world in another place, as it is.
    #[must_use]
    pub fn copy(&self) -> Self {
        let inner = self.inner();
        Self(Arc::new(Mutex::new(Inner {
            files: inner.files.clone(),
            names: inner.names.clone(),
            durable_names: inner.durable_names.clone(),
            changes: inner.changes.clone(),
            rng: inner.rng.clone(),
            ..*inner
        })))
    }

    /// All files, by name.
    pub fn file_names(&self) -> Vec<PathBuf> {
        self.inner().names.keys().cloned().collect()
    }
}

/// A file of a world.
#[derive(Debug)]
pub struct WorldFile {
    world: World,
    file: usize,
}

impl Disk for World {
    type File = WorldFile;

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut inner = self.inner();
        inner.call()?;
        let within = inner.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(within.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
    }

    fn create(&self, path: &Path) -> io::Result<WorldFile> {
        let mut inner = self.inner();
        inner.call()?;
        if inner.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = inner.files.len();
        inner.files.push(Content::default());
        inner.change(Change::Add(path.to_owned(), file));
        Ok(WorldFile { world: self.clone(), file })
    }

    fn open(&self, path: &Path) -> io::Result<WorldFile> {
        let mut inner = self.inner();
        inner.call()?;
        let file = *inner.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(WorldFile { world: self.clone(), file })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inner = self.inner();
        inner.call()?;
        inner.change(Change::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut inner = self.inner();
        inner.call()?;
        inner.change(Change::Remove(path.to_owned()));
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        let mut inner = self.inner();
        inner.call()?;
        if !inner.syncs_lie {
            let changes = std::mem::take(&mut inner.changes);
            changes.iter().for_each(|change| apply(&mut inner.durable_names, change));
        }
        Ok(())
    }
}

impl DiskFile for WorldFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.world.inner();
        inner.call()?;
        let seen = &inner.files[self.file].seen;
        let rest = seen.get(offset as usize..).unwrap_or_default();
        let read = rest.len().min(bytes.len());
        bytes[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut inner = self.world.inner();
        let outcome = inner.call();
        // A write that fails has written some of it.
        let written = if outcome.is_ok() { bytes.len() } else { inner.rng.random_range(0..=bytes.len()) };
        let (from, to) = (offset as usize, offset as usize + written);
        let content = &mut inner.files[self.file];
        if written > 0 {
            content.seen.resize(content.seen.len().max(to), 0);
            content.seen[from..to].copy_from_slice(&bytes[..written]);
            content.dirty.extend(from / PAGE..to.div_ceil(PAGE));
        }
        outcome
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut inner = self.world.inner();
        let outcome = inner.call();
        let crashes = matches!(inner.trouble, Trouble::Crash(_));
        if inner.syncs_lie {
            return outcome;
        }
        let content = &mut inner.files[self.file];
        match &outcome {
            Ok(()) => {
                let dirty = std::mem::take(&mut content.dirty);
                content.persist(dirty.into_iter());
                content.durable.resize(content.seen.len(), 0);
            }
            // Stopped on the way, everything is as likely as before; failed, what was to be written is forgotten.
            Err(_) if crashes => {}
            Err(_) => content.dirty.clear(),
        }
        outcome
    }

    fn len(&self) -> io::Result<u64> {
        let mut inner = self.world.inner();
        inner.call()?;
        Ok(inner.files[self.file].seen.len() as u64)
    }
}
