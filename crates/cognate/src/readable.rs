//! Which characters may a terminal be shown? Names come from data: they must not move the cursor, change colours, hide
//! what stands beside them or turn its order around.

use std::fmt::Write;

/// Whether a character shows as itself: no control character, no mark of direction, nothing invisible.
pub(crate) fn is_readable(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{ad}' // soft hyphen
            | '\u{34f}' // joins what is written apart
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // directions
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // letters without ink
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' // no width
            | '\u{2028}' | '\u{2029}' // lines and paragraphs
            | '\u{fff9}'..='\u{fffb}' // notes between lines
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' // tags
        )
}

/// A text with everything escaped that a terminal would not show as itself.
pub fn readable(text: &str) -> String {
    escaped(text, |_| false)
}

/// The same for a text of several lines.
pub fn readable_lines(text: &str) -> String {
    escaped(text, |c| c == '\n')
}

fn escaped(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_readable(c) || kept(c) {
            out.push(c);
        } else {
            // Writing to a text cannot fail.
            let _ = write!(out, "{}", c.escape_default());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_language_stay_and_what_deceives_does_not() {
        for name in ["größe", "品質", "हिन्दी", "naïve café", "🙂", "a\u{a0}b", "x=\"y\"\\z"]
        {
            assert_eq!(readable(name), name);
        }
        assert_eq!(readable("a\u{1b}[2Jb\r\n\t\0"), r"a\u{1b}[2Jb\r\n\t\u{0}");
        assert_eq!(readable("\u{202e}gnp.exe\u{2066}"), r"\u{202e}gnp.exe\u{2066}");
        assert_eq!(readable("ad\u{200b}min\u{feff}\u{9b}31m"), r"ad\u{200b}min\u{feff}\u{9b}31m");
        assert_eq!(readable_lines("a\n\u{7}b\n"), "a\n\\u{7}b\n");
    }

    #[test]
    fn nothing_that_is_shown_controls() {
        let shown = (0..=0x0010_ffff).filter_map(char::from_u32).filter(|c| is_readable(*c));
        for c in shown {
            assert!(!c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c), "{c:?}");
        }
    }
}
