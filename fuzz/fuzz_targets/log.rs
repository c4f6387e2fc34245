//! A log that is written, damaged and opened again, on a disk in memory.
//!
//! The first byte chooses: entries that are shown back, one burst of damage, a cut; or arbitrary entries of a model that lives. Nothing
//! may panic. What opens shows a prefix of what was written, or all of it if nothing was damaged, and takes more.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cognate::{Model, RunConfig};
use cognate_server::live::{Engine, EngineOptions};
use cognate_store::{Disk, DiskFile, Group, Opening, Store, StoreError, StoreOptions};
use libfuzzer_sys::fuzz_target;

/// Files by path; nothing is ever lost.
#[derive(Debug, Clone, Default)]
struct Memory(Rc<RefCell<BTreeMap<PathBuf, Vec<u8>>>>);

#[derive(Debug)]
struct Open(Memory, PathBuf);

impl Open {
    fn with<T>(&self, what: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        self.0.0.borrow_mut().get_mut(&self.1).map(what).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for Memory {
    type File = Open;

    fn list(&self, _: &Path) -> io::Result<Vec<String>> {
        Ok(self.0.borrow().keys().map(|path| path.display().to_string()).collect())
    }

    fn create(&self, path: &Path) -> io::Result<Open> {
        self.0.borrow_mut().insert(path.to_owned(), Vec::new());
        Ok(Open(self.clone(), path.to_owned()))
    }

    fn open(&self, path: &Path) -> io::Result<Open> {
        let open = Open(self.clone(), path.to_owned());
        open.with(|_| ()).map(|()| open)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.0.borrow_mut();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.borrow_mut().remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for Open {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|file| {
            let rest = file.get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(bytes.len());
            bytes[..count].copy_from_slice(&rest[..count]);
            count
        })
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.with(|file| {
            let end = offset as usize + bytes.len();
            file.resize(file.len().max(end), 0);
            file[offset as usize..end].copy_from_slice(bytes);
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|file| file.len() as u64)
    }
}

const OPTIONS: StoreOptions = StoreOptions { segment_bytes: 512 };

/// Opens the store; what it shows.
fn open(disk: &Memory) -> Result<(Store<Memory>, Vec<Vec<u8>>), StoreError> {
    let mut shown = Vec::new();
    let opening = Opening::new(disk.clone(), Path::new(""), OPTIONS)?;
    let (store, _) = opening.replay(|_, entry| {
        shown.push(entry.to_vec());
        Ok(())
    })?;
    Ok((store, shown))
}

/// Groups of entries, cut out of the data: a byte for the length of an entry, and every fourth length ends a group.
fn groups(mut data: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut groups = vec![Vec::new()];
    while let Some((length, rest)) = data.split_first() {
        let (entry, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        if let Some(group) = groups.last_mut() {
            group.push(entry);
        }
        if length & 3 == 0 {
            groups.push(Vec::new());
        }
        data = rest;
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Damages one place of a segment, within what a CRC-32 is sure to notice; whether anything changed.
fn damage(disk: &Memory, [which, high, low, bits]: [u8; 4], cut: bool) -> bool {
    let mut files = disk.0.borrow_mut();
    let mut segments: Vec<&mut Vec<u8>> =
        files.iter_mut().filter(|(path, _)| path.extension().is_some_and(|end| end == "seg")).map(|(_, file)| file).collect();
    if segments.is_empty() {
        return false;
    }
    let which = usize::from(which) % segments.len();
    let file = &mut segments[which];
    if file.is_empty() {
        return false;
    }
    let at = usize::from(u16::from_be_bytes([high, low])) % file.len();
    if cut {
        file.truncate(at);
    } else {
        file[at] ^= bits.max(1);
    }
    true
}

fn written_and_damaged(choice: u8, place: [u8; 4], data: &[u8]) {
    let disk = Memory::default();
    let (mut store, _) = open(&disk).expect("an empty folder opens");
    let (mut written, mut group) = (Vec::new(), Group::default());
    for entries in groups(data) {
        entries.iter().for_each(|entry| group.push(entry));
        store.append(&mut group).expect("the disk takes all");
        group.clear();
        written.extend(entries);
        if choice & 8 != 0 && written.len() % 3 == 0 {
            store.save_snapshot(b"state", b"beside").expect("the disk takes all");
            written.clear();
        }
    }
    drop(store);
    let damaged = choice & 2 != 0 && damage(&disk, place, choice & 4 != 0);
    match open(&disk) {
        Err(error) => assert!(damaged && !error.to_string().is_empty(), "{error}"),
        Ok((mut store, shown)) => {
            assert!(shown.iter().zip(&written).all(|(one, other)| one == other), "other entries than were written");
            assert!(shown.len() <= written.len() && (damaged || shown.len() == written.len()));
            group.push(b"more");
            store.append(&mut group).expect("the disk takes all");
            drop(store);
            let (_, again) = open(&disk).expect("what was opened opens again");
            assert!(again.len() == shown.len() + 1 && again[..shown.len()] == shown[..]);
        }
    }
}

/// Entries of any bytes, as a later or a mistaken version may have written them.
fn replayed_by_a_model(data: &[u8]) {
    let disk = Memory::default();
    let options = EngineOptions { store: OPTIONS, ..EngineOptions::default() };
    let model = Model::new(&RunConfig::default()).expect("the default config is valid");
    drop(Engine::create(disk.clone(), Path::new(""), model, options).expect("an empty folder takes a model"));
    let (mut store, _) = open(&disk).expect("it opens");
    let mut group = Group::default();
    for entries in groups(data) {
        entries.iter().for_each(|entry| group.push(entry));
        store.append(&mut group).expect("the disk takes all");
        group.clear();
    }
    drop(store);
    let seen = |opened: Result<(Engine<Memory>, _), StoreError>| match opened {
        Ok((engine, _)) => Ok(engine.state().read().model.to_bytes()),
        Err(error) => Err(error.to_string()),
    };
    let first = seen(Engine::open(disk.clone(), Path::new(""), options));
    assert!(first == seen(Engine::open(disk, Path::new(""), options)), "a replay is always the same");
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    let Some((place, rest)) = rest.split_first_chunk::<4>() else { return };
    if choice & 1 == 0 {
        written_and_damaged(choice, *place, rest);
    } else {
        replayed_by_a_model(rest);
    }
});
