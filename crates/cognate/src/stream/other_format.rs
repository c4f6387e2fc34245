//! Which format, or which separator, may a line be of that is refused?

use super::{Format, Place, Problem};
use crate::hint::Hint;

/// The way out where a line that one format refuses looks like one of another.
pub(super) fn other_format(format: &Format, place: &Place, problem: &Problem, text: &str) -> Option<Hint> {
    if looks_like_vw(format, problem, text) {
        return Some(Hint::LooksLikeVw);
    }
    let Format::Csv(csv) = format else { return None };
    if place.line == 1 && text.trim_start().starts_with('{') {
        return Some(Hint::JsonlForCsv);
    }
    let separator = csv.separator_byte().map_or(',', char::from);
    (separator != ',' && is_cut_elsewhere(separator, problem)).then_some(Hint::OtherSeparator)
}

/// Whether a line that another format refuses may be Vowpal Wabbit's.
fn looks_like_vw(format: &Format, problem: &Problem, text: &str) -> bool {
    let refused = match format {
        Format::Svm(_) => matches!(
            problem,
            Problem::Label { .. }
                | Problem::NoLabel { .. }
                | Problem::Feature { .. }
                | Problem::RealLabel { .. }
        ),
        Format::Csv(_) => matches!(problem, Problem::NoColumn { .. }),
        Format::Jsonl(_) => matches!(problem, Problem::Json { .. }) && !text.trim_start().starts_with('{'),
        Format::Vw(_) => false,
    };
    refused && (text.starts_with('|') || text.contains(" |"))
}

/// Whether the cells of a header may be separated by something else than this.
fn is_cut_elsewhere(separator: char, problem: &Problem) -> bool {
    let (Problem::NoColumn { known: columns, .. } | Problem::NoKnownColumn { found: columns, .. }) = problem
    else {
        return false;
    };
    let is_other = |c: char| c != separator && matches!(c, ',' | ';' | '\t');
    matches!(&columns[..], [only] if only.contains(is_other))
}
