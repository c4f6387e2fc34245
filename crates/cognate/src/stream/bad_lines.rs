//! Bad lines as whoever reads wants to keep them: where, why, and what they say.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Input, Place, Problem};

/// Bytes of a bad line that are kept; the rest of a longer one is left out.
pub const LONGEST_KEPT_LINE: usize = 4096;

/// A line that is not an example, though it should be one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BadLine {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub problem: Problem,
    /// The line, with U+FFFD in place of what is not UTF-8; one of more than [`LONGEST_KEPT_LINE`] bytes is cut there, and
    /// ends with `…`.
    pub text: String,
}

/// Is told every bad line when it is met, those that are skipped and the one that ends the stream; by default nobody is.
///
/// It is called on the thread that reads, which may be ahead of what has been learnt. Further passes tell nothing: they meet
/// the same lines.
#[derive(Clone, Default)]
pub struct BadLines(Option<Arc<Mutex<Keep>>>);

type Keep = dyn FnMut(BadLine) + Send;

impl BadLines {
    /// Hands bad lines to a function.
    pub fn to(keep: impl FnMut(BadLine) + Send + 'static) -> Self {
        Self(Some(Arc::new(Mutex::new(keep))))
    }

    /// Hands a bad line over, if someone wants it.
    #[cold]
    pub(crate) fn tell(&self, input: &Input, line: u64, column: usize, problem: &Problem, text: &[u8]) {
        let Some(keep) = &self.0 else { return };
        let place = Place { file: input.name(), line, column };
        let told = BadLine { place, problem: problem.clone(), text: kept_text(text) };
        let mut keep = keep.lock().unwrap_or_else(PoisonError::into_inner);
        keep(told);
    }
}

impl fmt::Debug for BadLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "BadLines(told)" } else { "BadLines(not told)" })
    }
}

fn kept_text(line: &[u8]) -> String {
    if line.len() <= LONGEST_KEPT_LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    // A character that begins before the cut and ends behind it is left out, not damaged.
    let mut end = LONGEST_KEPT_LINE;
    while end > LONGEST_KEPT_LINE - 4 && line[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    String::from_utf8_lossy(&line[..end]).into_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(kept_text(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(kept_text(&[b'x'; LONGEST_KEPT_LINE]), "x".repeat(LONGEST_KEPT_LINE));
        let cut = kept_text(&[b'x'; LONGEST_KEPT_LINE + 1]);
        assert_eq!(cut, "x".repeat(LONGEST_KEPT_LINE) + "…");
        for before in 0..4 {
            let text = "x".repeat(LONGEST_KEPT_LINE - before) + "\u{1f4a7}y";
            let kept = kept_text(text.as_bytes());
            assert_eq!(kept, "x".repeat(LONGEST_KEPT_LINE - before) + "…", "{before}");
        }
        let whole = "x".repeat(LONGEST_KEPT_LINE - 4) + "\u{1f4a7}y";
        assert_eq!(kept_text(whole.as_bytes()), whole.replace('y', "…"));
    }
}
