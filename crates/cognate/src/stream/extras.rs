//! What an example may have beside task, label and features: weight, offset, time and id, as every format writes them.

use super::error::{Problem, shown};
use super::labels::is_task_name;
use super::number::parse_f64;
use super::time::seconds;
use crate::example::is_valid;

/// An importance; 0 counts for nothing.
pub(crate) fn weight(token: &[u8]) -> Result<f64, Problem> {
    match parse_f64(token) {
        // The zero of either sign is one.
        Some(weight) if weight >= 0.0 && is_valid(weight) => Ok(weight + 0.0),
        _ => Err(Problem::Weight { found: shown(token) }),
    }
}

/// What is added to the margin.
pub(crate) fn offset(token: &[u8]) -> Result<f64, Problem> {
    let number = parse_f64(token).filter(|number| is_valid(*number));
    number.ok_or_else(|| Problem::Offset { found: shown(token) })
}

/// Seconds.
pub(crate) fn time(token: &[u8]) -> Result<f64, Problem> {
    seconds(token).ok_or_else(|| Problem::Time { found: shown(token) })
}

/// A name that is carried through; control characters upset terminals, and line ends files.
pub(crate) fn id(token: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(token).ok().filter(|id| is_task_name(id));
    text.ok_or_else(|| Problem::Id { found: shown(token) })
}

/// Whether a cell or a text stands for a value that is missing.
pub(crate) fn is_missing(text: &str) -> bool {
    matches!(text, "" | "NA" | "NaN" | "nan")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_not_negative() {
        assert_eq!(weight(b"0.5"), Ok(0.5));
        assert_eq!(weight(b"-0").map(f64::to_bits), Ok(0));
        for bad in ["-1", "NaN", "inf", "1e151", "", "x"] {
            let message = format!("found weight {bad:?}; expected a number from 0 to 1e150");
            assert_eq!(weight(bad.as_bytes()).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn ids_are_text_on_one_line() {
        assert_eq!(id("mail é 7".as_bytes()), Ok("mail é 7"));
        assert!(id(b"").is_err() && id(b"a\nb").is_err() && id(b"\xff").is_err());
    }
}
