//! What is a group of entries, byte by byte?
//!
//! A frame is a head of 32 bytes and a body, little-endian:
//!
//! ```text
//! mark      u32   of this segment: drawn when it was made, so that no entry can pretend to be a frame
//! count     u32   entries
//! first     u64   the number of the first entry
//! length    u32   bytes of the body
//! before    u32   checksum of the frame before it; of the first frame of a log 0
//! reserved  u32   0
//! checksum  u32   CRC-32 of all the above and of the body
//! body            per entry: its length, u32, and its bytes
//! ```

/// Bytes of a head.
pub(crate) const HEAD: usize = 32;
/// Most bytes of a body.
pub(crate) const MOST: usize = 1 << 30;

/// What is known of a frame before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) mark: u32,
    /// The number of its first entry.
    pub(crate) first: u64,
    /// The checksum of the frame before.
    pub(crate) before: u32,
}

/// A frame that is whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) count: u32,
    pub(crate) checksum: u32,
    body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Bytes with its head.
    pub(crate) fn len(&self) -> usize {
        HEAD + self.body.len()
    }

    /// Its entries, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.body;
        std::iter::from_fn(move || {
            let (length, after) = rest.split_first_chunk()?;
            let (entry, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = after;
            Some(entry)
        })
    }
}

/// Begins a group: room for the head of its frame.
pub(crate) fn begin(frame: &mut Vec<u8>) {
    frame.clear();
    frame.resize(HEAD, 0);
}

/// Adds an entry to the frame.
pub(crate) fn push(frame: &mut Vec<u8>, entry: &[u8]) {
    frame.extend((entry.len() as u32).to_le_bytes());
    frame.extend(entry);
}

/// Completes a frame of so many entries; its checksum.
pub(crate) fn finish(frame: &mut [u8], count: u32, Expected { mark, first, before }: Expected) -> u32 {
    let length = (frame.len() - HEAD) as u32;
    frame[..4].copy_from_slice(&mark.to_le_bytes());
    frame[4..8].copy_from_slice(&count.to_le_bytes());
    frame[8..16].copy_from_slice(&first.to_le_bytes());
    frame[16..20].copy_from_slice(&length.to_le_bytes());
    frame[20..24].copy_from_slice(&before.to_le_bytes());
    frame[24..28].fill(0);
    let checksum = checksum(frame);
    frame[28..HEAD].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// Of all but the checksum itself.
fn checksum(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..HEAD - 4]);
    hasher.update(&frame[HEAD..]);
    hasher.finalize()
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|byte| bytes[at + byte])
}

/// The frame that these bytes begin with, whatever its place in the log; none if there is none, or not whole.
fn whole(bytes: &[u8], mark: u32) -> Option<(u64, u32, Frame<'_>)> {
    let head = bytes.get(..HEAD)?;
    let length = u32::from_le_bytes(number(head, 16)) as usize;
    let frame = bytes.get(..HEAD.checked_add(length)?)?;
    let stated = u32::from_le_bytes(number(head, 28));
    if u32::from_le_bytes(number(head, 0)) != mark || checksum(frame) != stated {
        return None;
    }
    let frame = Frame { count: u32::from_le_bytes(number(head, 4)), checksum: stated, body: &frame[HEAD..] };
    let holds = frame.entries().map(|entry| 4 + entry.len()).sum::<usize>() == length
        && frame.entries().count() == frame.count as usize;
    holds.then(|| (u64::from_le_bytes(number(head, 8)), u32::from_le_bytes(number(head, 20)), frame))
}

/// The frame that these bytes begin with, if it is whole and the one that is expected.
pub(crate) fn read(bytes: &[u8], expected: Expected) -> Option<Frame<'_>> {
    let (first, before, frame) = whole(bytes, expected.mark)?;
    (first == expected.first && before == expected.before && frame.count > 0).then_some(frame)
}

/// Where a whole frame of a later entry begins, if there is one.
pub(crate) fn find_later(bytes: &[u8], Expected { mark, first, .. }: Expected) -> Option<usize> {
    let mark_bytes = mark.to_le_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(4).position(|window| window == mark_bytes) {
        at += found;
        if whole(&bytes[at..], mark).is_some_and(|(later, ..)| later > first) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: Expected = Expected { mark: 0x5eed, first: 7, before: 99 };

    fn frame(entries: &[&[u8]], expected: Expected) -> Vec<u8> {
        let mut frame = Vec::new();
        begin(&mut frame);
        entries.iter().for_each(|entry| push(&mut frame, entry));
        finish(&mut frame, entries.len() as u32, expected);
        frame
    }

    #[test]
    fn what_is_written_is_read_back_and_every_bit_counts() {
        let bytes = frame(&[b"one", b"", b"three"], EXPECTED);
        let read_back = read(&bytes, EXPECTED).unwrap();
        assert_eq!(read_back.entries().collect::<Vec<_>>(), [&b"one"[..], b"", b"three"]);
        assert_eq!((read_back.count, read_back.len()), (3, bytes.len()));
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&changed, EXPECTED), None, "bit {bit}");
        }
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end], EXPECTED), None, "cut at {end}");
        }
    }

    #[test]
    fn only_the_frame_that_is_expected_is_read() {
        let bytes = frame(&[b"one"], EXPECTED);
        for other in [
            Expected { first: 8, ..EXPECTED },
            Expected { before: 98, ..EXPECTED },
            Expected { mark: 1, ..EXPECTED },
        ] {
            assert_eq!(read(&bytes, other), None);
        }
        assert_eq!(read(&frame(&[], EXPECTED), EXPECTED), None, "a group has entries");
    }

    #[test]
    fn a_later_frame_is_found_wherever_it_is_but_not_one_that_an_entry_forges() {
        let later = frame(&[b"later"], Expected { first: 9, before: 3, ..EXPECTED });
        let mut bytes = vec![1; 57];
        bytes.extend(&later);
        assert_eq!(find_later(&bytes, EXPECTED), Some(57));
        let own = frame(&[b"own"], EXPECTED);
        assert_eq!(find_later(&own, EXPECTED), None, "it is not later");
        let forged = frame(&[&frame(&[b"x"], Expected { first: 9, mark: 1, ..EXPECTED })], EXPECTED);
        assert_eq!(find_later(&forged[1..], EXPECTED), None, "its mark is another");
    }
}
