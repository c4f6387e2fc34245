//! How is a group appended, and what is left after a crash?

use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile};
use crate::error::StoreError;
use crate::frame::{self, Expected};
use crate::segment::{self, Found, PAGE, Page, Segment};

/// Entries that are written and synced together.
#[derive(Debug, Clone, Default)]
pub struct Group {
    frame: Vec<u8>,
    count: u32,
}

impl Group {
    /// Adds an entry.
    pub fn push(&mut self, entry: &[u8]) {
        if self.count == 0 {
            frame::begin(&mut self.frame);
        }
        frame::push(&mut self.frame, entry);
        self.count += 1;
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that it takes in the log.
    pub fn bytes(&self) -> usize {
        self.frame.len()
    }

    /// Takes all entries out; its memory is used again.
    pub fn clear(&mut self) {
        self.count = 0;
        self.frame.clear();
    }
}

/// What was found when a store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The entry that the snapshot was made after; 0 if there is none.
    pub snapshot: u64,
    /// Entries of the log that came after it.
    pub replayed: u64,
    /// Where the log was cut, if its last frame was not whole: file, place, bytes that were not zero up to the end.
    pub cut: Option<(PathBuf, u64)>,
}

/// What is shown every entry with its number.
type See<'a> = dyn FnMut(u64, &[u8]) -> Result<(), StoreError> + 'a;

/// The segments of a folder, the last of which is written.
#[derive(Debug)]
pub(crate) struct Log<D: Disk> {
    disk: D,
    folder: PathBuf,
    /// Room for frames in a segment.
    room: u64,
    /// Where the next frame goes; none until the next one is written.
    active: Option<Segment<D::File>>,
    /// The first entries of all segments that are there, in order.
    segments: Vec<u64>,
    /// The number that the next entry gets, and the checksum of the last frame.
    next: u64,
    before: u32,
    poisoned: Option<String>,
}

impl<D: Disk> Log<D> {
    /// Reads the log; shows the entries after one, in order, each with its number.
    pub(crate) fn open(
        disk: D,
        folder: &Path,
        room: u64,
        after: u64,
        mut see: impl FnMut(u64, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(Self, Recovered), StoreError> {
        let mut recovered = Recovered { snapshot: after, ..Recovered::default() };
        let names = disk.list(folder).map_err(StoreError::io("cannot list the folder", folder))?;
        let mut firsts: Vec<u64> = names.iter().filter_map(|name| segment::first_of(name)).collect();
        firsts.sort_unstable();
        let mut log = Self {
            disk,
            folder: folder.to_owned(),
            room,
            active: None,
            segments: Vec::new(),
            next: after + 1,
            before: 0,
            poisoned: None,
        };
        let last = firsts.last().copied();
        for first in firsts {
            let found = Found::read(&log.disk, folder.join(segment::name(first)))?;
            log.read(found, first, Some(first) == last, &mut |seq, entry| {
                if seq > after {
                    recovered.replayed += 1;
                    see(seq, entry)?;
                }
                Ok(())
            })?;
        }
        let missing_to = log.segments.first().map_or(0, |_| after);
        if log.next <= missing_to {
            return Err(StoreError::Gap { path: folder.to_owned(), from: log.next, to: missing_to });
        }
        recovered.cut = log.cut()?;
        Ok((log, recovered))
    }

    /// Reads one segment, of which the name says which entry is the first.
    fn read(
        &mut self,
        found: Found<D::File>,
        first: u64,
        is_last: bool,
        see: &mut See<'_>,
    ) -> Result<(), StoreError> {
        let Some(page) = found.page else {
            if !is_last {
                return Err(found.damaged(
                    0,
                    "the first page of this segment of the log is not whole, and another segment follows",
                ));
            }
            // It was being made when the world stopped: nothing was ever written to it.
            return self.remove(&found.path);
        };
        if page.first != first {
            return Err(found.damaged(0, "the first page says that this is another segment of the log"));
        }
        let known = !self.segments.is_empty();
        if known && (page.first, page.before) != (self.next, self.before) {
            let damaged = "this segment does not follow the one before it";
            return Err(if page.first > self.next {
                StoreError::Gap { path: self.folder.clone(), from: self.next, to: page.first - 1 }
            } else {
                found.damaged(0, damaged)
            });
        }
        if !known && page.first > self.next {
            return Err(StoreError::Gap { path: self.folder.clone(), from: self.next, to: page.first - 1 });
        }
        let end = found.frames(page, |first, frame| {
            (first..).zip(frame.entries()).try_for_each(|(seq, entry)| see(seq, entry))
        })?;
        if !is_last && !end.clean {
            return Err(found.damaged(end.at, "no whole frame begins here, and another segment follows"));
        }
        self.segments.push(first);
        (self.next, self.before) = (end.expected.first, end.expected.before);
        self.active = Some(found.go_on(page, end));
        Ok(())
    }

    /// Cuts off what is behind the last whole frame; where, if anything was.
    fn cut(&mut self) -> Result<Option<(PathBuf, u64)>, StoreError> {
        let Some(active) = &mut self.active else { return Ok(None) };
        let (at, path) = (active.at, active.path.clone());
        let mut rest = vec![0; (active.end - at) as usize];
        let mut read = 0;
        while read < rest.len() {
            let more = active.file.read_at(&mut rest[read..], at + read as u64);
            match more.map_err(StoreError::io("cannot read the log", &path))? {
                0 => break,
                more => read += more,
            }
        }
        let torn = rest.iter().any(|byte| *byte != 0);
        if torn {
            let zeroed = segment::zero(&mut active.file, at, active.end).and_then(|()| active.file.sync());
            zeroed.map_err(StoreError::io("cannot cut the log", &path))?;
        }
        if at == PAGE as u64 {
            // A segment without entries is made anew: its end may be missing.
            self.active = None;
            self.segments.pop();
            self.remove(&path)?;
        }
        Ok(torn.then_some((path, at)))
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        self.disk.remove(path).map_err(StoreError::io("cannot remove a segment of the log", path))?;
        self.disk.sync_folder(&self.folder).map_err(StoreError::io("cannot sync the folder", &self.folder))
    }

    /// The number of the last entry.
    pub(crate) fn last(&self) -> u64 {
        self.next - 1
    }

    /// Why nothing can be appended any more, if so.
    pub(crate) fn poisoned(&self) -> Option<&str> {
        self.poisoned.as_deref()
    }

    /// Writes a group and waits until it is on disk; the number of its last entry.
    pub(crate) fn append(&mut self, group: &mut Group) -> Result<u64, StoreError> {
        if let Some(cause) = &self.poisoned {
            return Err(StoreError::Poisoned { cause: cause.clone() });
        }
        if group.is_empty() {
            return Ok(self.last());
        }
        if group.bytes() > frame::MOST {
            return Err(StoreError::TooLarge { bytes: group.bytes(), most: frame::MOST });
        }
        let written = self.write(group);
        if let Err(error) = &written {
            self.poisoned = Some(error.to_string());
        }
        written
    }

    fn write(&mut self, group: &mut Group) -> Result<u64, StoreError> {
        let length = group.bytes() as u64;
        if self.active.as_ref().is_none_or(|active| active.at + length > active.end) {
            let page = Page::new(self.next, self.before);
            self.active = Some(segment::create(&self.disk, &self.folder, page, self.room.max(length))?);
            self.segments.push(self.next);
        }
        let Some(active) = &mut self.active else { return Ok(self.last()) };
        let expected = Expected { mark: active.mark, first: self.next, before: self.before };
        let checksum = frame::finish(&mut group.frame, group.count, expected);
        let written = active.file.write_at(&group.frame, active.at).and_then(|()| active.file.sync());
        written.map_err(StoreError::io("cannot write the log", &active.path))?;
        active.at += length;
        self.before = checksum;
        self.next += u64::from(group.count);
        Ok(self.last())
    }

    /// Removes the segments all of whose entries are up to this one, but for the one that is written.
    pub(crate) fn remove_up_to(&mut self, seq: u64) -> Result<(), StoreError> {
        while let [first, next, ..] = self.segments[..] {
            if next > seq + 1 {
                break;
            }
            let path = self.folder.join(segment::name(first));
            self.disk.remove(&path).map_err(StoreError::io("cannot remove a segment of the log", &path))?;
            self.segments.remove(0);
        }
        Ok(())
    }

    /// Removes all segments: a snapshot holds all that they do. Entries go on where they were.
    pub(crate) fn remove_all(&mut self) -> Result<(), StoreError> {
        self.active = None;
        self.before = 0;
        while let Some(first) = self.segments.first().copied() {
            let path = self.folder.join(segment::name(first));
            self.disk.remove(&path).map_err(StoreError::io("cannot remove a segment of the log", &path))?;
            self.segments.remove(0);
        }
        self.disk.sync_folder(&self.folder).map_err(StoreError::io("cannot sync the folder", &self.folder))
    }

    /// Goes on after this entry: those before it were never logged.
    pub(crate) fn skip_to(&mut self, seq: u64) {
        debug_assert!(self.segments.is_empty(), "entries are logged without gaps");
        self.next = self.next.max(seq + 1);
    }

    /// How much of the disk the log takes, about.
    pub(crate) fn segments(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn disk(&self) -> &D {
        &self.disk
    }
}
