//! Rows of cells under a header: a task column, a label column, others with a role, and features.
//!
//! A cell that is a number is the value of the feature called as its column, and true and false are 1 and 0; a text is the
//! feature `<column>=<text>` of value 1; an empty cell, `NA` or `NaN` is no feature. So a cell alone decides what it means, whatever came before. A column must
//! keep to numbers or to texts all the same, in every file and for the model's whole life, unless it is said to be
//! categorical: a slip must not pass for a category.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::batch::{Batch, NO_LABEL};
use super::error::{Problem, shown};
use super::extras::{self, is_missing};
use super::label_names::truth;
use super::labels::{LabelRule, UNNAMED_TASK, class_name, is_task_name};
use super::lines::Line;
use super::named::{NamedLine, Repeats, Target};
use super::number::parse_f64;
use super::reader::LineParser;
use super::svm::{Bad, Parsed};
use super::{ColumnKind, ColumnKinds, ColumnsApart, CsvConfig};
use crate::example::is_valid;
use crate::feature_names::FeatureNames;
use crate::hint::NamedColumn;
use crate::nearest::nearest_names;
use crate::tasks::Tasks;

/// Parses rows; the first of every input is its header.
#[derive(Debug, Clone)]
pub(crate) struct CsvParser {
    rule: LabelRule,
    config: CsvConfig,
    separator: u8,
    one_vs_all: bool,
    /// Whether rows are to be predicted: columns that only learning needs may be missing.
    predicts: bool,
    /// What columns are known to hold, whichever input said so.
    known: ColumnKinds,
    /// Columns of the present input; none before its header.
    columns: Vec<Column>,
    fields: Vec<Field>,
    /// Kinds of columns that the present row shows first.
    kinds: Vec<(usize, ColumnKind)>,
    features: NamedLine,
    /// What the model knew before the first input.
    model: ColumnKinds,
    /// How the columns differ from those that the model knew.
    apart: ColumnsApart,
    /// Whether an input has a column of tasks.
    names_tasks: bool,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    role: Role,
    kind: Option<ColumnKind>,
    /// Whether the kind was known before this input.
    remembered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Task,
    Label,
    Weight,
    Id,
    Time,
    Offset,
    Ignored,
    Feature,
    /// A feature whose cells are texts, whatever they look like.
    Categorical,
}

impl Role {
    /// For the way out of a missing column.
    fn named(self) -> Option<NamedColumn> {
        match self {
            Self::Task | Self::Label | Self::Feature => None,
            Self::Weight => Some(NamedColumn::Weight),
            Self::Id => Some(NamedColumn::Id),
            Self::Time => Some(NamedColumn::Time),
            Self::Offset => Some(NamedColumn::Offset),
            Self::Ignored => Some(NamedColumn::Ignored),
            Self::Categorical => Some(NamedColumn::Categorical),
        }
    }
}

/// A cell in the buffer, without its quotes and the blanks around it.
#[derive(Debug, Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    /// Whether quotes in it are doubled.
    doubled: bool,
}

impl CsvParser {
    pub(crate) fn new(
        rule: LabelRule,
        config: &CsvConfig,
        known: ColumnKinds,
        one_vs_all: bool,
        predicts: bool,
    ) -> Self {
        Self {
            rule,
            // A config is checked before it is used.
            separator: config.separator_byte().unwrap_or(b','),
            config: config.clone(),
            one_vs_all,
            predicts,
            model: known.clone(),
            known,
            columns: Vec::new(),
            fields: Vec::new(),
            kinds: Vec::new(),
            features: NamedLine::new(Repeats::Refused),
            apart: ColumnsApart::default(),
            names_tasks: false,
        }
    }

    /// Whether an input has a column of tasks.
    pub(crate) fn names_tasks(&self) -> bool {
        self.names_tasks
    }

    /// How the columns differ from those that the model knew.
    pub(crate) fn apart(&self) -> &ColumnsApart {
        &self.apart
    }

    /// Reads the names of the columns.
    fn header(&mut self, buffer: &[u8], line: Line) -> Result<(), Bad> {
        let mut columns: Vec<Column> = Vec::with_capacity(self.fields.len());
        let mut places = BTreeMap::new();
        for (at, field) in self.fields.iter().enumerate() {
            let name = field.text(buffer)?.into_owned();
            // The numbers of rows that some programs write first.
            let unnamed = name.is_empty() && at == 0 && self.fields.len() > 1;
            if name.is_empty() && !unnamed {
                return Err((field.start, Problem::ColumnName { column: at + 1 }));
            }
            if let Some(before) = places.insert(name.clone(), at + 1) {
                let name = shown(name.as_bytes());
                return Err((field.start, Problem::ColumnTwice { name, before }));
            }
            let kind = self.known.kind(&name);
            let role = match &self.config.id_column {
                None if unnamed => Role::Id,
                Some(_) if unnamed => Role::Ignored,
                _ => Role::Feature,
            };
            columns.push(Column { name, role, kind, remembered: kind.is_some() });
        }
        for (name, role, needed) in self.roles() {
            match places.get(name) {
                Some(at) if columns[at - 1].role == Role::Feature => columns[at - 1].role = role,
                Some(_) => return Err((line.start, Problem::ColumnRoles { name: shown(name.as_bytes()) })),
                None if needed => {
                    let known = nearest_names(name, columns.iter().map(|column| column.name.as_str()));
                    let known = known.iter().take(8).map(|known| (*known).to_owned()).collect();
                    let (name, role) = (name.to_owned(), role.named());
                    return Err((line.start, Problem::NoColumn { name, known, role }));
                }
                None => {}
            }
        }
        self.check_known(&columns).map_err(|problem| (line.start, problem))?;
        self.names_tasks |= columns.iter().any(|column| column.role == Role::Task);
        self.columns = columns;
        Ok(())
    }

    /// Columns that are not plain features, and whether a file must have them.
    fn roles(&self) -> impl Iterator<Item = (&str, Role, bool)> {
        let (config, learns) = (&self.config, !self.predicts);
        let task = match &config.task_column {
            Some(name) => Some((name.as_str(), Role::Task, true)),
            None => (!self.one_vs_all).then_some(("task", Role::Task, false)),
        };
        let named = [
            Some((config.label_column.as_deref().unwrap_or("label"), Role::Label, learns)),
            task,
            config.weight_column.as_deref().map(|name| (name, Role::Weight, learns)),
            config.id_column.as_deref().map(|name| (name, Role::Id, learns)),
            config.time_column.as_deref().map(|name| (name, Role::Time, learns)),
            // A prediction without it would be another.
            config.offset_column.as_deref().map(|name| (name, Role::Offset, true)),
        ];
        let ignored = config.ignore.iter().map(move |name| (name.as_str(), Role::Ignored, learns));
        let categorical = config.categorical.iter().map(|name| (name.as_str(), Role::Categorical, true));
        named.into_iter().flatten().chain(ignored).chain(categorical)
    }

    /// Checks that a file has something that the model knows: nothing else would tell that its columns are called otherwise,
    /// or separated otherwise.
    fn check_known(&mut self, columns: &[Column]) -> Result<(), Problem> {
        if self.model.is_empty() {
            return Ok(());
        }
        let feature = |column: &&Column| matches!(column.role, Role::Feature | Role::Categorical);
        let known =
            |column: &Column| self.model.kind(&column.name).is_some() || column.role == Role::Categorical;
        if columns.iter().filter(feature).any(known) {
            let there: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let missing = self.model.names().filter(|name| !there.contains(name)).map(str::to_owned);
            self.apart.missing.extend(missing);
            let unknown = columns.iter().filter(feature).filter(|column| !known(column));
            self.apart.unknown.extend(unknown.map(|column| column.name.clone()));
            return Ok(());
        }
        Err(Problem::NoKnownColumn {
            known: self.model.names().take(8).map(str::to_owned).collect(),
            found: columns.iter().take(8).map(|column| column.name.clone()).collect(),
        })
    }

    /// Where the cell of a role is in the present row, or where the row begins.
    fn place_of(&self, role: Role, line: Line) -> usize {
        let at = self.columns.iter().position(|column| column.role == role);
        at.map_or(line.start, |at| self.fields[at].start)
    }

    /// A cell of a feature column.
    fn feature(&mut self, buffer: &[u8], at: usize, text: &str) -> Result<(), Bad> {
        let (column, place) = (&self.columns[at], self.fields[at].start);
        let number = match column.kind {
            _ if column.role == Role::Categorical => None,
            // A column of texts may hold these two as well.
            Some(ColumnKind::Text) => parse_f64(text.as_bytes()),
            _ => number(text),
        };
        let kind = if number.is_some() { ColumnKind::Number } else { ColumnKind::Text };
        let found = || shown(&buffer[self.fields[at].start..self.fields[at].end]);
        match column.kind {
            _ if column.role == Role::Categorical => {}
            // Taken for a text, every number of the column would be a feature of its own.
            None if has_decimal_comma(text) => {
                let (found, column) = (found(), shown(column.name.as_bytes()));
                return Err((place, Problem::DecimalComma { found, column }));
            }
            None => self.kinds.push((at, kind)),
            Some(before) if before == kind => {}
            Some(before) => {
                let expected = expected(before, column.remembered);
                let (found, column) = (found(), shown(column.name.as_bytes()));
                return Err((place, Problem::Cell { found, column, expected }));
            }
        }
        match number {
            Some(number) if is_valid(number) => {
                self.features.push(&[], &[&column.name], 0, place, number);
            }
            Some(_) => return Err((place, Problem::Value { found: found() })),
            // Two features may not share a name.
            None if column.name.contains('=') => {
                return Err((place, Problem::ColumnOfTexts { column: shown(column.name.as_bytes()) }));
            }
            None => self.features.push(&[], &[&column.name, "=", text], 0, place, 1.0),
        }
        Ok(())
    }

    fn row(
        &mut self,
        buffer: &[u8],
        line: Line,
        batch: &mut Batch,
        tasks: &mut Tasks,
        names: &mut FeatureNames,
    ) -> Result<Parsed, Bad> {
        if self.fields.len() != self.columns.len() {
            let (found, expected) = (self.fields.len(), self.columns.len());
            let at = self.fields.get(expected).map_or(line.end, |field| field.start);
            return Err((at, Problem::Fields { found, expected }));
        }
        self.features.clear();
        self.kinds.clear();
        let (mut task, mut task_at) = (UNNAMED_TASK.to_owned(), line.start);
        let (mut label, mut label_at) = (None, line.start);
        for at in 0..self.columns.len() {
            let field = self.fields[at];
            let text = field.text(buffer)?;
            match self.columns[at].role {
                Role::Task if is_task_name(&text) => (task, task_at) = (text.into_owned(), field.start),
                Role::Task => return Err((field.start, Problem::TaskName { found: shown(text.as_bytes()) })),
                Role::Label => {
                    label_at = field.start;
                    label = (!is_missing(&text) && text != "?").then(|| text.into_owned());
                }
                Role::Feature | Role::Categorical if is_missing(&text) => {}
                Role::Feature | Role::Categorical => self.feature(buffer, at, &text)?,
                role => extra(role, &text, batch).map_err(|problem| (field.start, problem))?,
            }
        }
        if label.is_none() && !self.rule.may_miss() {
            return Err((label_at, Problem::NoLabel { found: "an empty cell".to_owned() }));
        }
        let timed = self.rule.check_time(batch.has_open_time(), label.is_some());
        timed.map_err(|problem| (self.place_of(Role::Time, line), problem))?;
        let target = if self.one_vs_all {
            if let Some(class) = label.as_ref().filter(|class| !is_task_name(class)) {
                return Err((label_at, Problem::TaskName { found: shown(class.as_bytes()) }));
            }
            label = label.as_deref().map(class_name);
            Target::Class { name: label.as_deref(), at: label_at }
        } else {
            let read = label.as_ref().map_or(Ok(NO_LABEL), |label| {
                self.rule.read(label.as_bytes()).and_then(|number| self.rule.accept(number, label.as_bytes()))
            });
            Target::Task { name: &task, at: task_at, label: read.map_err(|problem| (label_at, problem))? }
        };
        let parsed = self.features.finish(&target, batch, tasks, names)?;
        for (at, kind) in &self.kinds {
            let column = &mut self.columns[*at];
            column.kind = Some(*kind);
            self.known.insert(column.name.clone(), *kind);
            batch.new_columns.push((column.name.clone(), *kind));
        }
        Ok(parsed)
    }
}

impl LineParser for CsvParser {
    fn parse(
        &mut self,
        buffer: &[u8],
        line: Line,
        batch: &mut Batch,
        tasks: &mut Tasks,
        names: &mut FeatureNames,
    ) -> Result<Parsed, Bad> {
        if buffer[line.start..line.end].trim_ascii().is_empty() {
            return Ok(Parsed::Nothing);
        }
        split(buffer, line, self.separator, &mut self.fields)?;
        if self.columns.is_empty() {
            return self.header(buffer, line).map(|()| Parsed::Nothing);
        }
        self.row(buffer, line, batch, tasks, names)
    }

    fn rule(&mut self) -> &mut LabelRule {
        &mut self.rule
    }

    fn joins_lines(&self) -> bool {
        true
    }

    fn begin_input(&mut self) {
        self.columns.clear();
    }

    fn restart(&mut self) {
        self.rule.restart();
    }

    fn can_go_on(&self) -> bool {
        !self.columns.is_empty()
    }
}

impl Field {
    fn text<'a>(&self, buffer: &'a [u8]) -> Result<Cow<'a, str>, Bad> {
        let bytes = &buffer[self.start..self.end];
        let text =
            std::str::from_utf8(bytes).map_err(|_| (self.start, Problem::Name { found: shown(bytes) }))?;
        Ok(if self.doubled { text.replace("\"\"", "\"").into() } else { text.into() })
    }
}

/// A cell of a column that is neither task nor label nor feature.
fn extra(role: Role, text: &str, batch: &mut Batch) -> Result<(), Problem> {
    match role {
        // What is missing is 1, nothing, unknown, and none; a weight or an offset that is no number is a slip.
        Role::Weight | Role::Offset if matches!(text, "" | "NA") => {}
        Role::Weight => batch.set_weight(extras::weight(text.as_bytes())?),
        Role::Offset => batch.set_offset(extras::offset(text.as_bytes())?),
        Role::Time if !is_missing(text) => batch.set_time(extras::time(text.as_bytes())?),
        Role::Id if !text.is_empty() => batch.set_id(extras::id(text.as_bytes())?),
        _ => {}
    }
    Ok(())
}

/// The number that a cell is; true and false are two.
fn number(text: &str) -> Option<f64> {
    parse_f64(text.as_bytes()).or_else(|| truth(text.as_bytes()).map(|(truth, _)| f64::from(truth)))
}

/// Whether a text is a number with a comma in place of the point, or between its thousands.
fn has_decimal_comma(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let parts = || digits.split([',', '.']);
    digits.contains(',')
        && parts().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What a column holds, and since when, for messages.
fn expected(kind: ColumnKind, remembered: bool) -> &'static str {
    match (kind, remembered) {
        (ColumnKind::Number, false) => "a number, as in the rows before",
        (ColumnKind::Text, false) => "a text, as in the rows before",
        (ColumnKind::Number, true) => "a number, as in what was read before this file",
        (ColumnKind::Text, true) => "a text, as in what was read before this file",
    }
}

/// Cuts a line into cells. A cell in quotes may hold separators, line ends, and quotes that are doubled.
fn split(buffer: &[u8], line: Line, separator: u8, fields: &mut Vec<Field>) -> Result<(), Bad> {
    fields.clear();
    let is_blank = |at: usize| matches!(buffer[at], b' ' | b'\t') && buffer[at] != separator;
    let mut at = line.start;
    loop {
        while at < line.end && is_blank(at) {
            at += 1;
        }
        if at < line.end && buffer[at] == b'"' {
            let (start, mut doubled) = (at + 1, false);
            let mut end = start;
            loop {
                let Some(quote) = memchr::memchr(b'"', &buffer[end..line.end]) else {
                    return Err((at, Problem::OpenQuote));
                };
                end += quote;
                if end + 1 >= line.end || buffer[end + 1] != b'"' {
                    break;
                }
                (end, doubled) = (end + 2, true);
            }
            fields.push(Field { start, end, doubled });
            at = end + 1;
            while at < line.end && is_blank(at) {
                at += 1;
            }
            if at < line.end && buffer[at] != separator {
                let stop =
                    memchr::memchr(separator, &buffer[at..line.end]).map_or(line.end, |comma| at + comma);
                return Err((at, Problem::AfterQuote { found: shown(&buffer[at..stop]) }));
            }
        } else {
            let start = at;
            at = memchr::memchr(separator, &buffer[at..line.end]).map_or(line.end, |comma| at + comma);
            let mut end = at;
            while end > start && is_blank(end - 1) {
                end -= 1;
            }
            fields.push(Field { start, end, doubled: false });
        }
        if at == line.end {
            return Ok(());
        }
        at += 1;
    }
}
