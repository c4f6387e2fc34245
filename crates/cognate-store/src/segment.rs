//! What is a file of the log, and where does it end?
//!
//! A segment begins with a page of 4096 bytes, little-endian, the rest of which is 0:
//!
//! ```text
//! magic     8 bytes   "cognlog\n"
//! version   u32       1
//! mark      u32       that its frames begin with
//! first     u64       the number of its first entry
//! before    u32       checksum of the last frame of the segment before it; 0 if there is none
//! checksum  u32       CRC-32 of the above
//! ```
//!
//! Frames follow, one behind the other, and zeros up to the end. A segment is written in full, zeros and all, and synced with its
//! folder before its first frame is: so appending changes no size, and a sync has nothing but the frame to write.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, read_all};
use crate::error::StoreError;
use crate::frame::{self, Expected, Frame};

/// Bytes before the first frame.
pub(crate) const PAGE: usize = 4096;
const MAGIC: [u8; 8] = *b"cognlog\n";
/// The version of the format that is written.
pub(crate) const VERSION: u32 = 1;
/// Bytes of the page that are used.
const USED: usize = 32;
/// Zeros that are written at once.
const CHUNK: usize = 1 << 20;

/// What the first page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) mark: u32,
    pub(crate) first: u64,
    pub(crate) before: u32,
}

impl Page {
    /// For a new segment; nobody can guess its mark, and none is 0.
    pub(crate) fn new(first: u64, before: u32) -> Self {
        let mark = RandomState::new().build_hasher().finish() as u32;
        Self { mark: mark.max(1), first, before }
    }

    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PAGE);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.mark.to_le_bytes());
        bytes.extend(self.first.to_le_bytes());
        bytes.extend(self.before.to_le_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.resize(PAGE, 0);
        bytes
    }

    /// None where these bytes begin with no whole page.
    fn from_bytes(bytes: &[u8], path: &Path) -> Result<Option<Self>, StoreError> {
        let Some(used) = bytes.first_chunk::<USED>() else { return Ok(None) };
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| used[at + byte]));
        if used[..8] != MAGIC || number(28) != crc32fast::hash(&used[..28]) || bytes.len() < PAGE {
            return Ok(None);
        }
        if number(8) != VERSION {
            return Err(StoreError::Version { path: path.to_owned(), found: number(8), known: VERSION });
        }
        let first = u64::from_le_bytes(std::array::from_fn(|byte| used[16 + byte]));
        Ok(Some(Self { mark: number(12), first, before: number(24) }))
    }

    /// The first frame of the segment.
    pub(crate) fn expected(self) -> Expected {
        Expected { mark: self.mark, first: self.first, before: self.before }
    }
}

/// The name of a segment by its first entry; names are in the order of entries.
pub(crate) fn name(first: u64) -> String {
    format!("log-{first:020}.seg")
}

/// The first entry of a segment by its name.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?.strip_suffix(".seg")?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

/// A segment that frames are appended to.
#[derive(Debug)]
pub(crate) struct Segment<F> {
    pub(crate) file: F,
    pub(crate) path: PathBuf,
    pub(crate) mark: u32,
    /// Where the next frame goes.
    pub(crate) at: u64,
    /// Where the zeros end.
    pub(crate) end: u64,
}

/// Makes a segment with room for so many bytes of frames; it is whole on disk when this returns.
pub(crate) fn create<D: Disk>(
    disk: &D,
    folder: &Path,
    page: Page,
    room: u64,
) -> Result<Segment<D::File>, StoreError> {
    let path = folder.join(name(page.first));
    let mut file = disk.create(&path).map_err(StoreError::io("cannot make a segment of the log", &path))?;
    let end = PAGE as u64 + room;
    fill(&mut file, page, end).map_err(StoreError::io("cannot fill a segment of the log", &path))?;
    disk.sync_folder(folder).map_err(StoreError::io("cannot sync the folder", folder))?;
    Ok(Segment { file, path, mark: page.mark, at: PAGE as u64, end })
}

fn fill(file: &mut impl DiskFile, page: Page, end: u64) -> io::Result<()> {
    file.write_at(&page.to_bytes(), 0)?;
    zero(file, PAGE as u64, end)?;
    file.sync()
}

/// Writes zeros.
pub(crate) fn zero(file: &mut impl DiskFile, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0; CHUNK.min(to.saturating_sub(from) as usize)];
    let mut at = from;
    while at < to {
        let chunk = (zeros.len() as u64).min(to - at);
        file.write_at(&zeros[..chunk as usize], at)?;
        at += chunk;
    }
    Ok(())
}

/// A segment as it was found.
#[derive(Debug)]
pub(crate) struct Found<F> {
    pub(crate) file: F,
    pub(crate) path: PathBuf,
    bytes: Vec<u8>,
    /// None where the page is not whole and nothing follows it: it was never used.
    pub(crate) page: Option<Page>,
}

/// Where the frames of a segment end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) at: usize,
    /// The frame that comes next.
    pub(crate) expected: Expected,
    /// Whether nothing but zeros follows.
    pub(crate) clean: bool,
}

impl<F: DiskFile> Found<F> {
    /// Reads a segment.
    pub(crate) fn read<D: Disk<File = F>>(disk: &D, path: PathBuf) -> Result<Self, StoreError> {
        let file = disk.open(&path).map_err(StoreError::io("cannot open the log", &path))?;
        let bytes = read_all(&file).map_err(StoreError::io("cannot read the log", &path))?;
        let page = Page::from_bytes(&bytes, &path)?;
        if page.is_none() && bytes.iter().skip(PAGE).any(|byte| *byte != 0) {
            return Err(StoreError::Damaged {
                path,
                offset: 0,
                what: "the first page of this segment of the log is not whole, and entries follow it",
            });
        }
        Ok(Self { file, path, bytes, page })
    }

    /// Shows every frame; where they end.
    pub(crate) fn frames(
        &self,
        page: Page,
        mut see: impl FnMut(u64, &Frame<'_>) -> Result<(), StoreError>,
    ) -> Result<End, StoreError> {
        let (mut at, mut expected) = (PAGE, page.expected());
        while let Some(frame) = frame::read(&self.bytes[at..], expected) {
            see(expected.first, &frame)?;
            at += frame.len();
            expected.first += u64::from(frame.count);
            expected.before = frame.checksum;
        }
        let rest = &self.bytes[at..];
        if let Some(later) = frame::find_later(rest, expected) {
            return Err(self.damaged(
                at,
                if later > 0 {
                    "no whole frame begins here, and one that was written later follows"
                } else {
                    "the frame that begins here belongs further back"
                },
            ));
        }
        Ok(End { at, expected, clean: rest.iter().all(|byte| *byte == 0) })
    }

    /// Says where it is damaged.
    pub(crate) fn damaged(&self, offset: usize, what: &'static str) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), offset: offset as u64, what }
    }

    /// Goes on where the frames end.
    pub(crate) fn go_on(self, page: Page, end: End) -> Segment<F> {
        let Self { file, path, bytes, .. } = self;
        Segment { file, path, mark: page.mark, at: end.at as u64, end: bytes.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_entries() {
        assert_eq!(name(42), "log-00000000000000000042.seg");
        assert_eq!(first_of(&name(u64::MAX)), Some(u64::MAX));
        assert!(name(9) < name(10) && name(99) < name(100));
        for other in
            ["log-42.seg", "log-00000000000000000042.tmp", "snapshot.tmp", "log-0000000000000000004x.seg"]
        {
            assert_eq!(first_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_page_is_read_back_or_refused() {
        let path = Path::new("log");
        let page = Page::new(17, 4);
        let bytes = page.to_bytes();
        assert_eq!(Page::from_bytes(&bytes, path).unwrap(), Some(page));
        assert_eq!(Page::from_bytes(&bytes[..100], path).unwrap(), None);
        for at in 0..USED {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(Page::from_bytes(&changed, path).unwrap(), None, "byte {at}");
        }
        let mut newer = bytes;
        newer[8..12].copy_from_slice(&2_u32.to_le_bytes());
        let checksum = crc32fast::hash(&newer[..28]);
        newer[28..32].copy_from_slice(&checksum.to_le_bytes());
        let refused = Page::from_bytes(&newer, path).unwrap_err().to_string();
        assert_eq!(refused, "log: log format 2; this program reads up to 1");
    }
}
