//! Lines of any length from any reader, over one reused buffer.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// Readable bytes that always follow a line in the buffer, so that number parsing may load a word at its end.
pub(crate) const SLACK: usize = 32;

/// The usual size of the buffer, which stays in cache; a longer line makes it grow, and it shrinks again afterwards.
const USUAL: usize = 1 << 18;

/// Lines beyond this are refused: memory must not follow a decompression bomb.
pub(crate) const LONGEST_LINE: usize = 128 << 20;

/// Blank lines and comments beyond this many bytes in a row are refused: neither must time.
pub(crate) const LONGEST_NOTHING: usize = 128 << 20;

pub(crate) struct Lines {
    reader: Box<dyn Read + Send>,
    /// `..filled` is input, followed by at least [`SLACK`] bytes.
    buffer: Vec<u8>,
    filled: usize,
    /// Start of what has not been given out.
    start: usize,
    /// No line end before this.
    searched: usize,
    ended: bool,
    /// Whether a quote was found that nothing closes: none is looked for again, or time would follow the square of the size.
    unclosed: bool,
}

/// A line in [`Lines::buffer`], without its end (LF or CRLF).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What some programs put before a text to say that it is UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// What is next.
pub(crate) enum Next {
    Line(Line),
    /// A line beyond [`LONGEST_LINE`], whose end has not been read.
    TooLong,
    End,
}

impl Lines {
    pub(crate) fn new(reader: Box<dyn Read + Send>) -> Self {
        Self {
            reader,
            buffer: vec![0; USUAL + SLACK],
            filled: 0,
            start: 0,
            searched: 0,
            ended: false,
            unclosed: false,
        }
    }

    /// The bytes that a [`Line`] points into.
    #[inline]
    pub(crate) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// A first line without the mark that it may begin with.
    pub(crate) fn without_mark(&self, line: Line) -> Line {
        let marked = self.buffer[line.start..line.end].starts_with(MARK);
        Line { start: line.start + if marked { MARK.len() } else { 0 }, ..line }
    }

    /// Whether the next line is here, or known to be the last: asking for it will not wait.
    pub(crate) fn has_line(&self) -> bool {
        self.ended || memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]).is_some()
    }

    /// The next line.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Next> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]) {
                let end = self.searched + at;
                let line = self.trimmed(self.start, end);
                self.start = end + 1;
                self.searched = self.start;
                return Ok(Next::Line(line));
            }
            self.searched = self.filled;
            if self.ended {
                let line = self.trimmed(self.start, self.filled);
                self.start = self.filled;
                return Ok(if line.start == self.filled { Next::End } else { Next::Line(line) });
            }
            if self.filled - self.start > LONGEST_LINE {
                return Ok(Next::TooLong);
            }
            self.read_more()?;
        }
    }

    /// What is here of the line that is under way.
    pub(crate) fn begun(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Joins the line given out last, which has a quote open, with those behind it up to the one that closes it: with which
    /// the quotes are even in number. Joins nothing if there is none before [`LONGEST_LINE`] or the end. Also how many
    /// lines were added.
    pub(crate) fn join(&mut self, line: Line) -> io::Result<(Line, u64)> {
        if self.unclosed {
            return Ok((line, 0));
        }
        let (next, length) = (self.start, line.end - line.start);
        self.start = line.start;
        // Places from the start on: reading may move it.
        let (mut end, mut joined) = (next - line.start, 0);
        let mut at = end;
        let mut open = true;
        loop {
            let rest = &self.buffer[self.start + at..self.filled];
            match memchr::memchr2(b'"', b'\n', rest) {
                Some(found) if rest[found] == b'"' => (at, open) = (at + found + 1, !open),
                Some(found) => {
                    at += found + 1;
                    (end, joined) = (at, joined + 1);
                    if !open {
                        break;
                    }
                }
                None if self.ended || self.filled - self.start > LONGEST_LINE => {
                    let last = self.filled - self.start;
                    if !self.ended || open {
                        // Nothing closes it: the line stays what it is, and so do those behind it.
                        self.unclosed = true;
                        let start = self.start;
                        self.start += next - line.start;
                        self.searched = self.start;
                        return Ok((Line { start, end: start + length }, 0));
                    }
                    if last > end {
                        (end, joined) = (last, joined + 1);
                    }
                    break;
                }
                None => {
                    at = self.filled - self.start;
                    self.searched = self.filled;
                    self.read_more()?;
                }
            }
        }
        let start = self.start;
        self.start += end;
        self.searched = self.start;
        let ends = self.buffer[self.start - 1] == b'\n';
        Ok((self.trimmed(start, self.start - usize::from(ends)), joined))
    }

    /// Leaves out a line that is too long, to its end, without keeping it; gives up once `stop` is set.
    pub(crate) fn drop_line(&mut self, stop: &AtomicBool) -> io::Result<()> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]) {
                self.start = self.searched + at + 1;
                self.searched = self.start;
                return Ok(());
            }
            (self.start, self.searched) = (self.filled, self.filled);
            if self.ended {
                return Ok(());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "stopped in an endless line"));
            }
            self.read_more()?;
        }
    }

    fn trimmed(&self, start: usize, end: usize) -> Line {
        let carriage = end > start && self.buffer[end - 1] == b'\r';
        Line { start, end: end - usize::from(carriage) }
    }

    #[cold]
    fn read_more(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.searched -= self.start;
        self.start = 0;
        if self.filled * 2 > self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        } else if self.buffer.len() > USUAL + SLACK && self.filled < USUAL / 2 {
            self.buffer.truncate(USUAL + SLACK);
            self.buffer.shrink_to_fit();
        }
        let end = self.buffer.len() - SLACK;
        let read = loop {
            match self.reader.read(&mut self.buffer[self.filled..end]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.ended = read == 0;
        self.filled += read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &'static [u8]) -> Vec<Vec<u8>> {
        split(Box::new(text))
    }

    fn split(reader: Box<dyn Read + Send>) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(reader);
        let mut found = Vec::new();
        while let Next::Line(line) = lines.next().unwrap() {
            found.push(lines.buffer()[line.start..line.end].to_vec());
        }
        found
    }

    #[test]
    fn ends_of_all_kinds() {
        assert_eq!(all(b""), Vec::<Vec<u8>>::new());
        assert_eq!(all(b"a"), [b"a"]);
        assert_eq!(all(b"a\r\nb\n\nc\r"), [&b"a"[..], b"b", b"", b"c"]);
        assert_eq!(all(b"\n"), [b""]);
    }

    #[test]
    fn a_long_line_grows_the_buffer_and_a_short_one_shrinks_it() {
        let mut text = vec![b'x'; 5 << 20];
        text.push(b'\n');
        text.extend(std::iter::repeat_n(*b"y\n", 1 << 20).flatten());
        let mut lines = Lines::new(Box::new(io::Cursor::new(text)));
        let Next::Line(line) = lines.next().unwrap() else { panic!() };
        assert_eq!(line.end - line.start, 5 << 20);
        let mut count = 0;
        while let Next::Line(line) = lines.next().unwrap() {
            assert_eq!(lines.buffer()[line.start..line.end], *b"y");
            count += 1;
        }
        assert_eq!(count, 1 << 20);
        assert!(lines.buffer.capacity() <= 4 << 20);
    }
    /// Gives its bytes in pieces of the given lengths, over and over.
    struct Pieces {
        bytes: Vec<u8>,
        at: usize,
        lengths: Vec<usize>,
        turn: usize,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.turn += 1;
            let length = self.lengths[self.turn % self.lengths.len()];
            if length == 0 && self.turn.is_multiple_of(2) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let end = self.bytes.len().min(self.at + length.clamp(1, buffer.len()));
            let piece = &self.bytes[self.at..end];
            buffer[..piece.len()].copy_from_slice(piece);
            self.at = end;
            Ok(piece.len())
        }
    }

    proptest! {
        #[test]
        fn pieces_of_any_length_give_the_same_lines(
            text in prop::collection::vec(prop::sample::select(b"ab\n\n\r1: ".to_vec()), 0..400),
            lengths in prop::collection::vec(0_usize..20, 1..9),
        ) {
            let whole = split(Box::new(io::Cursor::new(text.clone())));
            let pieces = Pieces { bytes: text.clone(), at: 0, lengths, turn: 0 };
            prop_assert_eq!(&split(Box::new(pieces)), &whole);
            let mut expected: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            if expected.last() == Some(&&b""[..]) {
                expected.pop();
            }
            let expected: Vec<&[u8]> =
                expected.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
            prop_assert_eq!(whole, expected);
        }
    }
}
