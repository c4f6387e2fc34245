//! One line of the `svm` format: `<label> [qid:<task> | task:<name>] [weight:<w>] [id:<id>] <index>:<value> … [# comment]`.
//!
//! Names of tasks are taken as they are written: `qid:007` and `task:007` are the task `007`, not `7`.

use std::io::{self, Write};

use super::batch::{Batch, NO_LABEL};
use super::error::{Problem, shown};
use super::extras;
use super::labels::{LabelRule, UNNAMED_TASK, class_name, is_task_name, meet_class};
use super::lines::Line;
use super::number::{SEEN_BEFORE_BLANK, before_blank, common_feature, digits, parse_f64, short_decimal};
use super::reader::LineParser;
use crate::example::{BIAS_FEATURE, Example, TaskId, is_valid};
use crate::feature_names::FeatureNames;
use crate::tasks::Tasks;

/// Parses lines; remembers which labels the stream uses.
#[derive(Debug, Clone)]
pub(crate) struct SvmParser {
    rule: LabelRule,
    /// Largest index a feature may have, from 1.
    largest_index: u32,
    /// Whether a line has named its task.
    names_tasks: bool,
}

/// Parses lines whose labels are classes, which are the tasks.
#[derive(Debug, Clone)]
pub(crate) struct SvmClassParser(SvmParser);

/// What is wrong, and the byte of the buffer where.
pub(crate) type Bad = (usize, Problem);

/// What a line held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Parsed {
    /// Features of one example are in the batch, which is to be closed with these.
    Example { task: TaskId, label: f64 },
    /// The same, of an example of every class; its own may not be known.
    Classes { own: Option<TaskId> },
    /// Blank, or a comment.
    Nothing,
}

/// The task as a line names it.
#[derive(Clone, Copy)]
enum Named<'a> {
    Number(u32),
    Name(&'a str),
    Nobody,
}

pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Whether a token with a colon is a task, a weight, an id or a feature, with which a line without a label begins.
fn begins_unlabelled(token: &[u8]) -> bool {
    is_named(token) || token[0].is_ascii_digit()
}

/// Whether a token is a task, a weight or an id.
fn is_named(token: &[u8]) -> bool {
    [&b"qid:"[..], b"task:", b"weight:", b"id:"].iter().any(|name| token.starts_with(name))
}

/// End of the token that begins at `at`.
pub(crate) fn token_end(buffer: &[u8], at: usize, end: usize) -> usize {
    buffer[at..end].iter().position(|byte| is_blank(*byte)).map_or(end, |length| at + length)
}

pub(crate) fn skip_blanks(buffer: &[u8], mut at: usize, end: usize) -> usize {
    while at < end && is_blank(buffer[at]) {
        at += 1;
    }
    at
}

impl SvmParser {
    pub(crate) fn new(rule: LabelRule, features: Option<u32>) -> Self {
        // The last two numbers are the constant feature and "no feature".
        let largest_index = features.unwrap_or(u32::MAX).min(BIAS_FEATURE);
        Self { rule, largest_index, names_tasks: false }
    }

    /// Whether a line has named its task.
    pub(crate) fn names_tasks(&self) -> bool {
        self.names_tasks
    }

    /// The label: -1, 0, +1, any number where labels are real, or NaN for none.
    #[inline]
    fn label(&self, buffer: &[u8], at: usize, end: usize) -> Result<(f64, usize), Bad> {
        let stop = token_end(buffer, at, end);
        let token = &buffer[at..stop];
        if !matches!(token, b"+1" | b"1" | b"-1" | b"0") && token.contains(&b':') {
            if self.rule.may_miss() && begins_unlabelled(token) {
                return Ok((NO_LABEL, at));
            }
            return Err((at, Problem::NoLabel { found: shown(token) }));
        }
        let label = self.rule.read(token).map_err(|problem| (at, problem))?;
        Ok((label, stop))
    }

    /// The features from `at` to the end of the line.
    #[inline(never)] // on its own, the loop keeps what it needs in registers
    fn features(&self, buffer: &[u8], mut at: usize, end: usize, batch: &mut Batch) -> Result<(), Bad> {
        let mut previous = 0;
        at = skip_blanks(buffer, at, end);
        while at < end {
            let window = buffer[at..].first_chunk().expect("the buffer goes on behind the line");
            let token = before_blank(window).min(end - at);
            match common_feature(window) {
                Some((index, value, length))
                    if length == token
                        && length < SEEN_BEFORE_BLANK
                        && index > previous
                        && index <= self.largest_index =>
                {
                    batch.indices.push(index - 1);
                    batch.values.push(value);
                    previous = index;
                    at += token + 1;
                }
                _ => (previous, at) = self.other_feature(buffer, at, end, previous, batch)?,
            }
        }
        Ok(())
    }

    /// What is written in a less common way: blanks, a comment, another form of number, or no feature at all.
    fn other_feature(
        &self,
        buffer: &[u8],
        at: usize,
        end: usize,
        previous: u32,
        batch: &mut Batch,
    ) -> Result<(u32, usize), Bad> {
        let at = skip_blanks(buffer, at, end);
        if at >= end || buffer[at] == b'#' {
            return Ok((previous, end));
        }
        let (index, count) = digits(buffer, at);
        let colon = at + count;
        if count == 0 || colon >= end || buffer[colon] != b':' {
            return self.uncommon_feature(buffer, at, end, previous, batch);
        }
        let index = index as u32;
        if index <= previous || index > self.largest_index {
            return Err(self.bad_index(buffer, at, end, previous));
        }
        let (value, stop) = match short_decimal(buffer, colon + 1) {
            Some((value, stop)) if stop == end || (stop < end && is_blank(buffer[stop])) => (value, stop),
            _ => uncommon_value(buffer, colon + 1, end)?,
        };
        batch.indices.push(index - 1);
        batch.values.push(value);
        Ok((index, stop + 1))
    }

    /// A feature whose index is long, or that is no feature at all.
    #[cold]
    fn uncommon_feature(
        &self,
        buffer: &[u8],
        at: usize,
        end: usize,
        previous: u32,
        batch: &mut Batch,
    ) -> Result<(u32, usize), Bad> {
        let stop = token_end(buffer, at, end);
        let token = &buffer[at..stop];
        if is_named(token) {
            return Err((at, Problem::TaskAgain { found: shown(token) }));
        }
        let Some(colon) = token.iter().position(|byte| *byte == b':') else {
            return Err((at, Problem::Feature { found: shown(token) }));
        };
        let number = &token[..colon];
        let whole = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        let negative = number.starts_with(b"-") && parse_f64(number).is_some();
        if !whole && !negative {
            return Err((at, Problem::Feature { found: shown(token) }));
        }
        let index = std::str::from_utf8(number).ok().and_then(|number| number.parse::<u32>().ok());
        match index.filter(|index| *index > previous && *index <= self.largest_index) {
            None => Err(self.bad_index(buffer, at, end, previous)),
            Some(index) => {
                let (value, stop) = uncommon_value(buffer, at + colon + 1, end)?;
                batch.indices.push(index - 1);
                batch.values.push(value);
                Ok((index, stop))
            }
        }
    }

    #[cold]
    fn bad_index(&self, buffer: &[u8], at: usize, end: usize, previous: u32) -> Bad {
        let token = &buffer[at..token_end(buffer, at, end)];
        let number = &token[..token.iter().position(|byte| *byte == b':').unwrap_or(token.len())];
        let index = std::str::from_utf8(number).ok().and_then(|number| number.parse::<u32>().ok());
        match index {
            Some(index) if index <= previous && index > 0 => (at, Problem::Order { previous, index }),
            _ => {
                let found = shown(number).trim_matches('"').to_owned();
                (at, Problem::Index { found, largest: self.largest_index })
            }
        }
    }
}

impl LineParser for SvmParser {
    #[inline]
    fn parse(
        &mut self,
        buffer: &[u8],
        line: Line,
        batch: &mut Batch,
        tasks: &mut Tasks,
        _: &mut FeatureNames,
    ) -> Result<Parsed, Bad> {
        let Line { start, end } = line;
        let at = skip_blanks(buffer, start, end);
        if at == end || buffer[at] == b'#' {
            return Ok(Parsed::Nothing);
        }
        let label_at = at;
        let (label, at) = self.label(buffer, at, end)?;
        let token = &buffer[label_at..at];
        let task_at = skip_blanks(buffer, at, end);
        let (named, at) = named_task(buffer, task_at, end)?;
        let at = extras(buffer, at, end, batch)?;
        if let Named::Number(number) = named {
            tasks.prefetch_number(number);
        }
        self.features(buffer, at, end, batch)?;
        let label = self.rule.accept(label, token).map_err(|problem| (label_at, problem))?;
        self.names_tasks |= !matches!(named, Named::Nobody);
        // Last, so that a bad line leaves no task behind.
        let task = match named {
            Named::Number(number) => tasks.meet_number(number),
            Named::Name(name) => tasks.meet(name),
            Named::Nobody => tasks.meet(UNNAMED_TASK),
        };
        match task {
            Ok(task) => Ok(Parsed::Example { task, label }),
            Err(limit) => {
                let name = match named {
                    Named::Number(number) => number.to_string(),
                    Named::Name(name) => shown(name.as_bytes()),
                    Named::Nobody => UNNAMED_TASK.to_owned(),
                };
                let known = tasks.names().take(8).map(str::to_owned).collect();
                Err((task_at, Problem::UnknownTask { name, declared: limit.declared, known }))
            }
        }
    }

    fn rule(&mut self) -> &mut LabelRule {
        &mut self.rule
    }

    fn restart(&mut self) {
        self.rule.restart();
    }
}

impl SvmClassParser {
    pub(crate) fn new(rule: LabelRule, features: Option<u32>) -> Self {
        Self(SvmParser::new(rule, features))
    }
}

impl LineParser for SvmClassParser {
    fn parse(
        &mut self,
        buffer: &[u8],
        line: Line,
        batch: &mut Batch,
        tasks: &mut Tasks,
        _: &mut FeatureNames,
    ) -> Result<Parsed, Bad> {
        let Line { start, end } = line;
        let at = skip_blanks(buffer, start, end);
        if at == end || buffer[at] == b'#' {
            return Ok(Parsed::Nothing);
        }
        let stop = token_end(buffer, at, end);
        let token = &buffer[at..stop];
        let may_miss = self.0.rule.may_miss();
        let (class, features_at) = match token {
            b"?" if may_miss => (None, stop),
            token if token.contains(&b':') && begins_unlabelled(token) => {
                if !may_miss {
                    return Err((at, Problem::NoLabel { found: shown(token) }));
                }
                (None, at)
            }
            token => match std::str::from_utf8(token).ok().filter(|class| is_task_name(class)) {
                Some(class) => (Some(class_name(class)), stop),
                None => return Err((at, Problem::TaskName { found: shown(token) })),
            },
        };
        let task_at = skip_blanks(buffer, features_at, end);
        let rest = &buffer[task_at..token_end(buffer, task_at, end)];
        if rest.starts_with(b"qid:") || rest.starts_with(b"task:") {
            return Err((task_at, Problem::ClassTask { found: shown(rest) }));
        }
        let features_at = extras(buffer, features_at, end, batch)?;
        self.0.features(buffer, features_at, end, batch)?;
        let own = class.map(|class| meet_class(tasks, &class)).transpose();
        Ok(Parsed::Classes { own: own.map_err(|problem| (at, problem))? })
    }

    fn rule(&mut self) -> &mut LabelRule {
        &mut self.0.rule
    }

    fn restart(&mut self) {}
}

/// `weight:<w>` and `id:<id>`, in any order, if that is what comes next; gives the place behind them.
#[inline]
fn extras(buffer: &[u8], at: usize, end: usize, batch: &mut Batch) -> Result<usize, Bad> {
    let at = skip_blanks(buffer, at, end);
    if at < end && matches!(buffer[at], b'w' | b'i') { named_extras(buffer, at, end, batch) } else { Ok(at) }
}

#[cold]
fn named_extras(buffer: &[u8], mut at: usize, end: usize, batch: &mut Batch) -> Result<usize, Bad> {
    let mut seen = [false; 2];
    while at < end {
        let stop = token_end(buffer, at, end);
        let token = &buffer[at..stop];
        let which = if let Some(weight) = token.strip_prefix(b"weight:") {
            batch.set_weight(extras::weight(weight).map_err(|problem| (at, problem))?);
            0
        } else if let Some(id) = token.strip_prefix(b"id:") {
            batch.set_id(extras::id(id).map_err(|problem| (at, problem))?);
            1
        } else {
            break;
        };
        if std::mem::replace(&mut seen[which], true) {
            return Err((at, Problem::TaskAgain { found: shown(token) }));
        }
        at = skip_blanks(buffer, stop, end);
    }
    Ok(at)
}

/// A value off the fast path: many digits, an exponent, a plus sign, or not a number.
#[cold]
fn uncommon_value(buffer: &[u8], at: usize, end: usize) -> Result<(f64, usize), Bad> {
    let stop = token_end(buffer, at, end);
    let token = &buffer[at..stop];
    match parse_f64(token) {
        Some(value) if is_valid(value) => Ok((value, stop)),
        _ => Err((at, Problem::Value { found: shown(token) })),
    }
}

/// `qid:<number>` or `task:<name>` at `at`, if that is what stands there.
#[inline]
fn named_task(buffer: &[u8], at: usize, end: usize) -> Result<(Named<'_>, usize), Bad> {
    if end - at > 4 && buffer[at..at + 4] == *b"qid:" {
        let (number, count) = digits(buffer, at + 4);
        let stop = at + 4 + count;
        // A name with zeros before it is another one.
        let plain = count == 1 || buffer[at + 4] != b'0';
        if count > 0 && plain && (stop == end || (stop < end && is_blank(buffer[stop]))) {
            return Ok((Named::Number(number as u32), stop));
        }
    }
    let stop = token_end(buffer, at, end);
    let token = &buffer[at..stop];
    let bad = || (at, Problem::Task { found: shown(token) });
    if let Some(number) = token.strip_prefix(b"qid:") {
        let digits = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        let name = if digits {
            std::str::from_utf8(number).map_err(|_| bad())?
        } else {
            return Err(bad());
        };
        return Ok((Named::Name(name), stop));
    }
    match token.strip_prefix(b"task:") {
        None => Ok((Named::Nobody, at)),
        // A carriage return in a name would be taken for a line end, and others upset terminals.
        Some(name) if name.is_empty() || name.iter().any(u8::is_ascii_control) => Err(bad()),
        Some(name) => Ok((Named::Name(std::str::from_utf8(name).map_err(|_| bad())?), stop)),
    }
}

/// Writes an example as a line; parsing it gives the same example back, to the last bit, but for an offset and a time. A
/// NaN label is no label; labels other than -1 and 1 are real numbers.
///
/// The name must be one that a line can hold: not empty, without blanks and control characters.
///
/// # Errors
/// When the writer fails.
pub fn write_example(out: &mut impl Write, task: &str, example: Example<'_>) -> io::Result<()> {
    match example.label {
        label if label.is_nan() => write!(out, "?")?,
        label if label.abs() == 1.0 => write!(out, "{label:+}")?,
        label => write!(out, "{label}")?,
    }
    write!(out, " task:{task}")?;
    if example.weight != 1.0 {
        write!(out, " weight:{}", example.weight)?;
    }
    for (feature, value) in example.features.iter() {
        write!(out, " {}:{value}", feature + 1)?;
    }
    writeln!(out)
}
