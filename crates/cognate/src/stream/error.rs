//! Errors of a stream, with their places.

use std::fmt;

use super::number::parse_f64;
use super::table::TableError;
use crate::algorithms::Unfit;
use crate::example::LARGEST_VALUE;
use crate::hint::{Hint, NamedColumn};
use crate::readable::{is_readable, readable};

/// A place in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it, or `<stdin>`.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column in bytes, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The part of a bad line around the problem, made readable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// The text, with harmless characters in place of those that control or hide.
    pub text: String,
    /// Characters before the place of the problem.
    pub caret: usize,
}

impl Excerpt {
    /// What stands around a column (from 1) of a line.
    pub(crate) fn around(line: &[u8], column: usize) -> Self {
        const BEFORE: usize = 50;
        const LENGTH: usize = 90;
        let at = (column - 1).min(line.len());
        let start = at.saturating_sub(BEFORE);
        let end = line.len().min(start + LENGTH);
        let readable = |bytes: &[u8]| -> String {
            let text = String::from_utf8_lossy(bytes);
            text.chars().map(|c| if is_readable(c) { c } else { '\u{fffd}' }).collect()
        };
        let mut before = readable(&line[start..at]);
        if start > 0 {
            before.insert(0, '…');
        }
        let after = readable(&line[at..end]) + if end < line.len() { "…" } else { "" };
        Self { caret: before.chars().count(), text: before + &after }
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Not a number, or not one of the labels.
    #[error("found label {found}; expected -1 or +1, or 0 or 1")]
    Label {
        /// The token.
        found: String,
    },
    /// Not a number, where labels are real.
    #[error("found label {found}; expected a finite number of at most {LARGEST_VALUE:e}")]
    RealLabel {
        /// The token.
        found: String,
    },
    /// A label that is a number, but none that the learner can learn.
    #[error("{0}")]
    Unfit(Unfit),
    /// Nothing that a label can be called.
    #[error("found label {found}; expected the name of a label, in UTF-8")]
    LabelName {
        /// The token.
        found: String,
    },
    /// A third name of a label.
    #[error("found a third label name, {found}; expected {expected}")]
    ThirdLabel {
        /// The token.
        found: String,
        /// The two that there are.
        expected: String,
    },
    /// A second name of a label, where none was the one that is +1.
    #[error("found label {found} after {negative}, and none so far is {positive}, the label that is +1")]
    NoPositive {
        /// The token.
        found: String,
        /// The other name.
        negative: String,
        /// The name that is +1.
        positive: String,
    },
    /// A weight that is negative or no number.
    #[error("found weight {found}; expected a number from 0 to {LARGEST_VALUE:e}")]
    Weight {
        /// The token.
        found: String,
    },
    /// An offset that is no number.
    #[error("found offset {found}; expected a finite number of at most {LARGEST_VALUE:e}")]
    Offset {
        /// The token.
        found: String,
    },
    /// Neither seconds nor a date and time.
    #[error("found time {found}; expected seconds, or a date and time like 2026-01-31T12:00:00Z")]
    Time {
        /// The token.
        found: String,
    },
    /// Nothing that an id can be.
    #[error("found id {found}; expected text in UTF-8, without control characters")]
    Id {
        /// The token.
        found: String,
    },
    /// 0 among -1/+1, or -1 among 0/1.
    #[error("found label {found} after label {before}; a stream has labels -1/+1 or 0/1, not both")]
    MixedLabels {
        /// This label.
        found: &'static str,
        /// The other kind, seen before.
        before: &'static str,
    },
    /// A line without a label that needs one.
    #[error("found {found}; expected a label, -1 or +1, or 0 or 1")]
    NoLabel {
        /// What stands in its place.
        found: String,
    },
    /// `qid:` without a number, or `task:` without a name.
    #[error("found {found}; expected qid:<number> or task:<name>")]
    Task {
        /// The token.
        found: String,
    },
    /// A second `qid:`, `task:`, `weight:` or `id:`, or one after features.
    #[error("found {found}; task, weight and id come once each, between label and features")]
    TaskAgain {
        /// The token.
        found: String,
    },
    /// More tasks than were declared.
    #[error("task {name} is not one of the {declared} declared tasks{}", list(known))]
    UnknownTask {
        /// The name.
        name: String,
        /// How many were declared.
        declared: usize,
        /// Some of them.
        known: Vec<String>,
    },
    /// Not `<index>:<value>`.
    #[error("found {found}; expected <index>:<value>")]
    Feature {
        /// The token.
        found: String,
    },
    /// An index out of range.
    #[error("found feature index {found}; expected 1 to {largest}")]
    Index {
        /// The token.
        found: String,
        /// The largest index there may be.
        largest: u32,
    },
    /// An index that does not exceed the one before it.
    #[error("feature index {index} after {previous}; indices must increase")]
    Order {
        /// The index before.
        previous: u32,
        /// This one.
        index: u32,
    },
    /// Not a finite number.
    #[error("found value {found}; expected a finite number of at most {LARGEST_VALUE:e}")]
    Value {
        /// The token.
        found: String,
    },
    /// An unknown task where examples are put in another order, or in rounds of all tasks.
    #[error("the task is unknown (`?`); such lines are answered one by one, in the order of the file")]
    UnknownTaskInOrder,
    /// An unknown task where labels are real numbers.
    #[error(
        "the task is unknown (`?`); which task's margin is surest is known where labels are classes only"
    )]
    UnknownTaskOfNumbers,
    /// An invalid name of a task or a class.
    #[error("found {found}; expected the name of a task")]
    TaskName {
        /// What stands in its place.
        found: String,
    },
    /// A second name in the namespace that names the task.
    #[error("found a second task, {found}; a line has one")]
    TaskTwice {
        /// The name.
        found: String,
    },
    /// A task where classes are the tasks.
    #[error("found task {found}; the label is the class, and classes are the tasks")]
    ClassTask {
        /// The name.
        found: String,
    },
    /// A name that is not valid text.
    #[error("found {found}; expected text in UTF-8")]
    Name {
        /// The bytes.
        found: String,
    },
    /// A feature that comes twice.
    #[error("found {name} a second time; a line holds it once")]
    Repeated {
        /// The name.
        name: String,
    },
    /// More features than were declared.
    #[error("feature {name} is new; {declared} features were declared, and as many are known")]
    UnknownFeature {
        /// The name.
        name: String,
        /// How many were declared.
        declared: u32,
    },
    /// Not `<name>` or `<name>:<value>`.
    #[error("found {found}; expected <name> or <name>:<value>")]
    NamedFeature {
        /// The token.
        found: String,
    },
    /// A namespace that could be taken for a feature.
    #[error("found namespace {found}; expected one without `^`, which separates it from its features")]
    Namespace {
        /// The token.
        found: String,
    },
    /// A line of Vowpal Wabbit without features.
    #[error("found {found}; expected a line with `|` before its features")]
    NoBar {
        /// How the line begins.
        found: String,
    },
    /// More between label and features than there can be.
    #[error(
        "found {found} after the label; expected an importance, a base, a tag, or none of them, then `|`"
    )]
    Importance {
        /// The token.
        found: String,
    },
    /// A column without a name.
    #[error("column {column} has no name; expected a header")]
    ColumnName {
        /// Which, from 1.
        column: usize,
    },
    /// Two columns of one name.
    #[error("found column {name} a second time; column {before} has the same name")]
    ColumnTwice {
        /// The name.
        name: String,
        /// The first of them, from 1.
        before: usize,
    },
    /// A column that is given two roles.
    #[error("column {name} is given two roles; expected one")]
    ColumnRoles {
        /// The name.
        name: String,
    },
    /// A column that is missing.
    #[error("no column is called {name:?}; the header has{}", list(known))]
    NoColumn {
        /// The name.
        name: String,
        /// Names that are there, nearest first.
        known: Vec<String>,
        /// What the column was to be, unless it is that of labels or tasks.
        role: Option<NamedColumn>,
    },
    /// A file of other columns than those that the model was learnt from.
    #[error("no column is one that the model knows{}; the header has{}", list(known), list(found))]
    NoKnownColumn {
        /// Some that it knows.
        known: Vec<String>,
        /// Some of the header.
        found: Vec<String>,
    },
    /// A row that is longer or shorter than the header.
    #[error("found {found} fields; expected {expected}, as the header has")]
    Fields {
        /// How many there are.
        found: usize,
        /// How many the header has.
        expected: usize,
    },
    /// A quote that is not closed.
    #[error("found a quote that is not closed; expected a second one")]
    OpenQuote,
    /// Something between a quote and the next separator.
    #[error("found {found} after a closing quote; expected a separator or the end of the line")]
    AfterQuote {
        /// What.
        found: String,
    },
    /// A text among numbers, or a number among texts.
    #[error("found {found} in column {column}; expected {expected}")]
    Cell {
        /// The cell.
        found: String,
        /// The column.
        column: String,
        /// What the rows before hold, and where they are.
        expected: &'static str,
    },
    /// A number with a comma in it, which would pass for a text.
    #[error("found {found} in column {column}; expected a number without commas, or a text")]
    DecimalComma {
        /// The cell.
        found: String,
        /// The column.
        column: String,
    },
    /// A text under a name that holds the sign between name and text.
    #[error(
        "{column} holds a text, whose feature would be called <name>=<text>; expected a name without `=`"
    )]
    ColumnOfTexts {
        /// The name.
        column: String,
    },
    /// Not JSON, or not an object.
    #[error("{message}; expected {{\"task\": …, \"label\": …, \"features\": {{\"name\": 0.5, …}}}}")]
    Json {
        /// What is wrong.
        message: String,
    },
    /// An unknown key.
    #[error("found key {found}; expected one of {}", expected.join(", "))]
    Key {
        /// The key.
        found: String,
        /// Those that there may be.
        expected: Vec<String>,
    },
    /// A value that a feature cannot have.
    #[error(
        "feature {feature} is {found}; expected a finite number of at most {LARGEST_VALUE:e}, a text, true or false"
    )]
    FeatureValue {
        /// The feature.
        feature: String,
        /// Its value.
        found: String,
    },
    /// Not a finite number, in a column of a table.
    #[error("found value {found} in column {column}; expected a finite number of at most {LARGEST_VALUE:e}")]
    ColumnValue {
        /// The column: its number from 0, or its name in quotes.
        column: String,
        /// The value.
        found: String,
    },
    /// Something other than a text in a list of tokens.
    #[error("found {found} in the list of features; expected texts, each a feature of value 1")]
    Token {
        /// The value.
        found: String,
    },
    /// Names instead of numbers.
    #[error("features are given by name; those of this model have numbers")]
    Named,
    /// Numbers instead of names.
    #[error("features are given by number; those of this model have names")]
    Numbered,
    /// A number beyond those declared, counted from 0.
    #[error("feature index {index}; expected 0 to {largest}")]
    Beyond {
        /// The index.
        index: u32,
        /// The largest there may be.
        largest: u32,
    },
    /// A class beyond those that may be met on the way.
    #[error("class {name} is new; a line is an example of every class, and {limit} have been met on the way")]
    ManyClasses {
        /// The name.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// Blank lines and comments beyond the limit.
    #[error("{limit} MiB of blank lines and comments in a row; expected an example")]
    NoExample {
        /// The limit.
        limit: usize,
    },
    /// A line beyond the limit.
    #[error("the line is longer than {limit} MiB")]
    LongLine {
        /// The limit.
        limit: usize,
    },
}

fn list(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" ({})", readable(&known.join(", "))) }
}

impl Problem {
    /// A way out, if one is known.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Feature { found } if found.starts_with("\"|") || found.starts_with("\"\\'") => {
                Some(Hint::LooksLikeVw)
            }
            Self::Label { found } if found.starts_with("\"|") => Some(Hint::LooksLikeVw),
            Self::Label { found } if found.contains(',') => Some(Hint::LooksLikeCsv),
            Self::Label { found } | Self::NoLabel { found } if found.starts_with("\"{") => {
                Some(Hint::LooksLikeJsonl)
            }
            Self::Index { found, .. } if found == "0" => Some(Hint::CountFromOne),
            Self::UnknownTask { .. } => Some(Hint::DeclareTasks),
            Self::ManyClasses { .. } => Some(Hint::DeclareClasses),
            Self::Label { found } => label_hint(found.trim_matches('"')),
            Self::RealLabel { found } if label_hint(found.trim_matches('"')) == Some(Hint::NamePositive) => {
                Some(Hint::TwoLabels)
            }
            Self::Unfit(Unfit::NoTime) => Some(Hint::NameTimes),
            Self::ThirdLabel { .. } => Some(Hint::Classes),
            Self::NoPositive { .. } => Some(Hint::SpellPositive),
            Self::Key { .. } => Some(Hint::NameKeys),
            Self::NoColumn { known, .. } if known.len() == 1 && known[0].contains([';', '\t']) => {
                Some(Hint::OnlyCommas)
            }
            Self::NoKnownColumn { found, .. } if found.len() == 1 && found[0].contains([';', '\t']) => {
                Some(Hint::OnlyCommas)
            }
            Self::NoColumn { role, .. } => Some(role.map_or(Hint::NameColumns, Hint::SpellColumn)),
            Self::NoKnownColumn { .. } => Some(Hint::ModelColumns),
            Self::DecimalComma { .. } => Some(Hint::DecimalPoint),
            Self::Cell { .. } => Some(Hint::Categorical),
            Self::UnknownFeature { .. } => Some(Hint::OpenFeatures),
            Self::Repeated { .. } => Some(Hint::AddUp),
            _ => None,
        }
    }
}

impl Problem {
    /// Whether it is about what labels are, which a model knows for good.
    pub(crate) fn is_of_label(&self) -> bool {
        matches!(
            self,
            Self::Label { .. } | Self::RealLabel { .. } | Self::ThirdLabel { .. } | Self::NoPositive { .. }
        )
    }

    /// Whether it is about a header, without which nothing below it can be read.
    pub fn is_of_header(&self) -> bool {
        matches!(
            self,
            Self::ColumnName { .. }
                | Self::ColumnTwice { .. }
                | Self::ColumnRoles { .. }
                | Self::NoColumn { .. }
                | Self::NoKnownColumn { .. }
        )
    }
}

/// A way out for who has labels other than -1, 0 and 1.
fn label_hint(label: &str) -> Option<Hint> {
    match parse_f64(label.as_bytes()) {
        None => Some(Hint::NamePositive),
        Some(number) if !number.is_finite() => None,
        Some(number) if number.fract() == 0.0 => Some(Hint::WholeLabels),
        Some(_) => Some(Hint::RealLabels),
    }
}

/// Why a stream ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The input could not be opened or read.
    #[error("{file}: {source}")]
    Io {
        /// The file as the user named it.
        file: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A bad line.
    #[error("{place}: {problem}")]
    Bad {
        /// Where.
        place: Place,
        /// What.
        problem: Problem,
        /// The part of the line around it, for showing.
        excerpt: Excerpt,
        /// How many bad lines were skipped before this one.
        skipped: u64,
        /// A way out that the whole line suggests.
        hint: Option<Hint>,
    },
    /// The stream cannot be cut into rounds of one example per task.
    #[error("{place}: {message}")]
    Ungrouped {
        /// Where the round went wrong.
        place: String,
        /// What was found and what was expected.
        message: String,
        /// A way out.
        hint: Hint,
    },
    /// A table that is invalid, or does not fit its labels and tasks.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The stream was made for another model.
    #[error(
        "task {} of the stream is not the next one that the model would meet: the stream was made for another model",
        readable(task)
    )]
    ForeignTask {
        /// The task.
        task: String,
    },
    /// Names of features that another model knows.
    #[error(
        "feature {name} of the stream has another number in the model, or none: the stream was made for another model"
    )]
    ForeignFeature {
        /// The name, or the number.
        name: String,
    },
    /// The stream has names where the model has numbers, or the other way round.
    #[error("features of the stream are {found}, those of the model {expected}")]
    ForeignNaming {
        /// What features of the stream are.
        found: String,
        /// What features of the model are.
        expected: String,
    },
    /// A column that holds texts in the stream and numbers in the model, or the other way round.
    #[error(
        "column {column} of the stream does not hold what it holds in the model: the stream was made for another model"
    )]
    ForeignColumn {
        /// The name.
        column: String,
    },
    /// An example to be predicted has a margin that is infinite or not a number.
    #[error("{place}: the margin of task {} is {margin}; expected a finite number", readable(task))]
    Margin {
        /// The line or row.
        place: String,
        /// The task.
        task: String,
        /// What the margin is.
        margin: f64,
    },
    /// Standard input was to be read again.
    #[error("standard input can be read only once")]
    NotRewindable,
}

impl StreamError {
    /// The error for a name that the model numbers differently.
    pub(crate) fn foreign_feature(name: &str) -> Self {
        Self::ForeignFeature { name: shown(name.as_bytes()) }
    }

    /// A way out, if one is known.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Bad { problem, hint, .. } => hint.or_else(|| problem.hint()),
            Self::Table(TableError::Row { problem, .. }) => problem.hint(),
            Self::Ungrouped { hint, .. } => Some(*hint),
            Self::Margin { .. } => Some(Hint::LearnScaled),
            _ => None,
        }
    }
}

/// A token as it is shown: quoted, escaped, cut to a readable length.
pub(crate) fn shown(token: &[u8]) -> String {
    const LONGEST: usize = 40;
    let cut = &token[..token.len().min(LONGEST)];
    let text: String = cut
        .utf8_chunks()
        .flat_map(|chunk| {
            let valid = chunk.valid().chars().flat_map(char::escape_default);
            let invalid =
                chunk.invalid().iter().flat_map(|byte| format!("\\x{byte:02x}").into_bytes()).map(char::from);
            valid.chain(invalid).collect::<Vec<_>>()
        })
        .collect();
    format!("\"{text}{}\"", if token.len() > LONGEST { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_keep_the_place_in_sight() {
        let excerpt = Excerpt::around(b"+1 qid:3 57:1 40:2", 15);
        assert_eq!((excerpt.text.as_str(), excerpt.caret), ("+1 qid:3 57:1 40:2", 14));
        let long = Excerpt::around(&[b'7'; 1000], 500);
        assert_eq!((long.text.chars().count(), long.caret), (92, 51));
        assert_eq!(Excerpt::around(b"a\x1b\xff", 2).text, "a\u{fffd}\u{fffd}");
        assert_eq!(Excerpt::around("a\u{202e}b\u{200b}".as_bytes(), 1).text, "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn tokens_are_shown_harmlessly() {
        assert_eq!(shown(b"ab\0\xff\n"), r#""ab\u{0}\xff\n""#);
        assert_eq!(shown(&[b'x'; 100]).chars().count(), 43);
    }
}
