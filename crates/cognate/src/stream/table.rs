//! Rows in borrowed memory: sparse, row by row, or column by column, of 32-bit or 64-bit numbers.
//!
//! Only the few hundred rows of the current batch are ever copied, and they are checked again then: the owner of the
//! memory may have changed it since [`Table::check`].

use super::batch::{Batch, NO_LABEL};
use super::error::{Problem, shown};
use super::frame::PlacedFrame;
use super::labels::LabelRule;
use super::{Labels, Preprocess, RowTasks, Stream, StreamError};
use crate::example::{BIAS_FEATURE, TaskId, is_valid, is_weight};
use crate::feature_names::Naming;
use crate::fit::Kind;

/// Whole numbers in borrowed memory.
#[derive(Debug, Clone, Copy)]
pub enum Indices<'a> {
    /// Of 32 bits.
    I32(&'a [i32]),
    /// Of 64 bits.
    I64(&'a [i64]),
}

/// Real numbers in borrowed memory.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Of 32 bits.
    F32(&'a [f32]),
    /// Of 64 bits.
    F64(&'a [f64]),
}

/// Examples without task and label, one per row; features are columns, counted from 0.
#[derive(Debug, Clone)]
pub enum Table<'a> {
    /// Compressed sparse rows: row r has the entries from `starts[r]` to `starts[r + 1]`.
    Sparse {
        /// Where each row begins, and where the last one ends.
        starts: Indices<'a>,
        /// The column of each entry, increasing within a row.
        indices: Indices<'a>,
        /// The value of each entry.
        values: Values<'a>,
        /// Number of columns.
        columns: usize,
    },
    /// Dense, row after row; zeros are not stored as features.
    Rows {
        /// All values.
        values: Values<'a>,
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// Dense columns, each with one value per row; zeros are not stored as features.
    Columns {
        /// The columns.
        columns: Vec<Values<'a>>,
        /// Number of rows.
        rows: usize,
    },
    /// Columns with names; see [`crate::Model::frame`].
    Named(PlacedFrame<'a>),
}

/// What is wrong with a table, its labels or its tasks.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Two parts that belong together have different lengths.
    #[error("there are {found} {what}; expected {expected}")]
    Length {
        /// What there are too many or too few of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The starts of sparse rows are out of order or out of range.
    #[error("row {row} begins at entry {found}; expected {least} to {most}")]
    Start {
        /// The row.
        row: usize,
        /// Where it begins.
        found: i64,
        /// The end of the row before.
        least: i64,
        /// Number of entries.
        most: usize,
    },
    /// An index that is not a column.
    #[error("row {row}: feature index {index}; expected 0 to {largest}")]
    Index {
        /// The row.
        row: usize,
        /// The index.
        index: i64,
        /// The largest there may be.
        largest: u32,
    },
    /// An index that does not exceed the one before it.
    #[error("row {row}: feature index {index} after {previous}; indices must increase")]
    Order {
        /// The row.
        row: usize,
        /// The index before.
        previous: i64,
        /// This one.
        index: i64,
    },
    /// An invalid value, label, task or name.
    #[error("row {row}: {problem}")]
    Row {
        /// The row.
        row: usize,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Columns of a frame are others than those that the model has learnt.
    #[error("columns are not those that were learnt: {}", apart(missing, unknown))]
    Columns {
        /// Learnt, and not there.
        missing: Vec<String>,
        /// There, and not learnt.
        unknown: Vec<String>,
    },
    /// A column of a frame holds something else than it held.
    #[error("column {column:?} holds {found}; expected {expected}, as it held when it was learnt")]
    ColumnKind {
        /// The column.
        column: String,
        /// What it holds.
        found: &'static str,
        /// What it held.
        expected: &'static str,
    },
    /// A row that was bad at first and good when it was looked at again.
    #[error("row {row} changed while it was being read")]
    Changed {
        /// The row.
        row: usize,
    },
}

/// Rows that are checked between two questions whether to go on.
const ROWS_BETWEEN: usize = 4096;

/// How columns differ, with the first few names.
fn apart(missing: &[String], unknown: &[String]) -> String {
    let listed = |names: &[String], one: &str, many: &str| {
        let shown: Vec<String> = names.iter().take(MOST_COLUMNS).map(|name| shown(name.as_bytes())).collect();
        let more = if names.len() > MOST_COLUMNS { ", …" } else { "" };
        let are = if names.len() == 1 { one } else { many };
        (!names.is_empty()).then(|| format!("{}{more} {are}", shown.join(", ")))
    };
    let parts = [listed(missing, "is missing", "are missing"), listed(unknown, "is new", "are new")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Columns that a message lists.
const MOST_COLUMNS: usize = 5;

impl Indices<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::I32(indices) => indices.len(),
            Self::I64(indices) => indices.len(),
        }
    }

    /// One of them; 0 beyond the end.
    pub(super) fn get(self, at: usize) -> i64 {
        match self {
            Self::I32(indices) => indices.get(at).copied().unwrap_or_default().into(),
            Self::I64(indices) => indices.get(at).copied().unwrap_or_default(),
        }
    }
}

impl Values<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    pub(crate) fn get(self, at: usize) -> f64 {
        match self {
            Self::F32(values) => values[at].into(),
            Self::F64(values) => values[at],
        }
    }
}

/// Where rows go: into a batch, or nowhere.
pub(super) trait Sink {
    fn take<I: Copy + Into<i64>, V: Copy + Into<f64>>(&mut self, indices: &[I], values: &[V]);
    fn put(&mut self, index: u32, value: f64);

    /// Takes a row of a value per feature, of which zeros are none.
    fn put_row<V: Copy + Into<f64>>(&mut self, values: &[V]);

    /// Brings the features of a row into the order of their numbers, and adds up those of one number.
    fn put_in_order(&mut self) {}
}

struct Nowhere;

impl Sink for Nowhere {
    fn take<I: Copy + Into<i64>, V: Copy + Into<f64>>(&mut self, _: &[I], _: &[V]) {}
    fn put(&mut self, _: u32, _: f64) {}
    fn put_row<V: Copy + Into<f64>>(&mut self, _: &[V]) {}
}

impl Sink for Batch {
    fn take<I: Copy + Into<i64>, V: Copy + Into<f64>>(&mut self, indices: &[I], values: &[V]) {
        self.indices.extend(indices.iter().map(|index| {
            let wide: i64 = (*index).into();
            wide as u32
        }));
        self.values.extend(values.iter().map(|value| (*value).into()));
    }

    fn put(&mut self, index: u32, value: f64) {
        self.indices.push(index);
        self.values.push(value);
    }

    fn put_row<V: Copy + Into<f64>>(&mut self, values: &[V]) {
        let zero = |value: &V| -> bool {
            let value: f64 = (*value).into();
            value == 0.0
        };
        if values.iter().fold(false, |any, value| any | zero(value)) {
            for (index, value) in (0..).zip(values) {
                if !zero(value) {
                    self.put(index, (*value).into());
                }
            }
        } else {
            self.indices.extend(0..values.len() as u32);
            self.values.extend(values.iter().map(|value| -> f64 { (*value).into() }));
        }
    }

    fn put_in_order(&mut self) {
        self.sort_open();
    }
}

impl Table<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Sparse { starts, .. } => starts.len().saturating_sub(1),
            Self::Rows { rows, .. } | Self::Columns { rows, .. } => *rows,
            Self::Named(frame) => frame.rows,
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        match self {
            Self::Sparse { columns, .. } | Self::Rows { columns, .. } => *columns,
            Self::Columns { columns, .. } => columns.len(),
            Self::Named(frame) => frame.columns(),
        }
    }

    /// What its features are.
    fn naming(&self) -> Naming {
        match self {
            Self::Named(frame) => frame.naming,
            Self::Sparse { .. } | Self::Rows { .. } | Self::Columns { .. } => Naming::Numbered,
        }
    }

    /// Checks the whole table, so that nothing is learnt from one with an error further down.
    ///
    /// # Errors
    /// When lengths differ, indices are out of range or do not increase, or values are not finite; the first of these.
    pub fn check(&self, features: Option<u32>) -> Result<(), TableError> {
        self.check_while(features, &mut || true)
    }

    /// As [`Self::check`], until `go_on` says no, which it is asked now and then.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_while(
        &self,
        features: Option<u32>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), TableError> {
        let expect = |what: &'static str, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(TableError::Length { what, found, expected }) }
        };
        match self {
            Self::Sparse { starts, indices, values, .. } => {
                if starts.len() == 0 {
                    return Err(TableError::Length { what: "starts of rows", found: 0, expected: 1 });
                }
                expect("values", values.len(), indices.len())?;
            }
            Self::Rows { values, rows, columns } => {
                expect("values", values.len(), rows.saturating_mul(*columns))?;
            }
            Self::Columns { columns, rows } => {
                columns.iter().try_for_each(|column| expect("values in a column", column.len(), *rows))?;
            }
            // It was checked when its columns got their numbers.
            Self::Named(_) => {}
        }
        let largest = self.largest(features);
        for row in 0..self.rows() {
            if row % ROWS_BETWEEN == ROWS_BETWEEN - 1 && !go_on() {
                break;
            }
            self.row(row, largest, &mut Nowhere)?;
        }
        Ok(())
    }

    /// The largest index of a feature: that of the last column, or of the last feature declared.
    fn largest(&self, features: Option<u32>) -> u32 {
        let declared = features.unwrap_or(BIAS_FEATURE).min(BIAS_FEATURE);
        u32::try_from(self.columns()).unwrap_or(u32::MAX).min(declared).saturating_sub(1)
    }

    /// Checks a row and hands it over.
    fn row(&self, row: usize, largest: u32, sink: &mut impl Sink) -> Result<(), TableError> {
        match self {
            Self::Sparse { starts, indices, values, .. } => {
                let (from, to) = (starts.get(row), starts.get(row + 1));
                let most = indices.len().min(values.len());
                if row == 0 && from != 0 {
                    return Err(TableError::Start { row, found: from, least: 0, most: 0 });
                }
                if from < 0 || to < from || to as usize > most {
                    return Err(TableError::Start { row: row + 1, found: to, least: from, most });
                }
                let range = from as usize..to as usize;
                match (indices, values) {
                    (Indices::I32(i), Values::F32(v)) => {
                        sparse_row(&i[range.clone()], &v[range], row, largest, sink)
                    }
                    (Indices::I32(i), Values::F64(v)) => {
                        sparse_row(&i[range.clone()], &v[range], row, largest, sink)
                    }
                    (Indices::I64(i), Values::F32(v)) => {
                        sparse_row(&i[range.clone()], &v[range], row, largest, sink)
                    }
                    (Indices::I64(i), Values::F64(v)) => {
                        sparse_row(&i[range.clone()], &v[range], row, largest, sink)
                    }
                }
            }
            Self::Rows { values, columns, .. } => {
                let range = row * columns..(row + 1) * columns;
                match values {
                    Values::F32(values) => whole_row(&values[range], row, largest, sink),
                    Values::F64(values) => whole_row(&values[range], row, largest, sink),
                }
            }
            Self::Columns { columns, .. } => {
                dense_row(columns.iter().map(|column| column.get(row)), row, largest, sink)
            }
            Self::Named(frame) => frame.row(row, sink),
        }
    }
}

fn sparse_row<I: Copy + Into<i64>, V: Copy + Into<f64>>(
    indices: &[I],
    values: &[V],
    row: usize,
    largest: u32,
    sink: &mut impl Sink,
) -> Result<(), TableError> {
    // No branch per entry; the bad one is searched only where there is one.
    let (mut increasing, mut previous) = (true, -1);
    for index in indices {
        let index: i64 = (*index).into();
        increasing &= index > previous;
        previous = index;
    }
    let valid = values.iter().fold(true, |valid, value| valid & is_valid((*value).into()));
    if !increasing || previous > i64::from(largest) || !valid {
        return Err(culprit(indices, values, row, largest));
    }
    sink.take(indices, values);
    Ok(())
}

/// The first entry of a bad row that is bad.
#[cold]
fn culprit<I: Copy + Into<i64>, V: Copy + Into<f64>>(
    indices: &[I],
    values: &[V],
    row: usize,
    largest: u32,
) -> TableError {
    let mut previous = -1;
    for (index, value) in indices.iter().zip(values) {
        let (index, value): (i64, f64) = ((*index).into(), (*value).into());
        if index < 0 || index > i64::from(largest) {
            return TableError::Index { row, index, largest };
        }
        if index <= previous {
            return TableError::Order { row, previous, index };
        }
        if !is_valid(value) {
            return bad_value(row, &index, value);
        }
        previous = index;
    }
    // The owner of the memory changed it between the two looks at it.
    TableError::Changed { row }
}

fn bad_value(row: usize, column: &impl std::fmt::Display, value: f64) -> TableError {
    let problem = Problem::ColumnValue { found: value.to_string(), column: column.to_string() };
    TableError::Row { row, problem }
}

/// A row in one piece, which is looked at without a branch per value; whatever is odd about it is found one by one.
fn whole_row<V: Copy + Into<f64>>(
    values: &[V],
    row: usize,
    largest: u32,
    sink: &mut impl Sink,
) -> Result<(), TableError> {
    let valid = values.iter().fold(true, |valid, value| valid & is_valid((*value).into()));
    if !valid || values.len() > largest as usize + 1 {
        return dense_row(values.iter().map(|value| (*value).into()), row, largest, sink);
    }
    sink.put_row(values);
    Ok(())
}

fn dense_row(
    values: impl Iterator<Item = f64>,
    row: usize,
    largest: u32,
    sink: &mut impl Sink,
) -> Result<(), TableError> {
    for (column, value) in values.enumerate() {
        if !is_valid(value) {
            return Err(bad_value(row, &column, value));
        }
        if value != 0.0 {
            // No memory holds more columns than there are 32-bit numbers.
            let index = u32::try_from(column).unwrap_or(u32::MAX);
            if index > largest {
                return Err(TableError::Index { row, index: index.into(), largest });
            }
            sink.put(index, value);
        }
    }
    Ok(())
}

/// A table as a stream of examples.
#[derive(Debug)]
pub struct TableStream<'a> {
    table: &'a Table<'a>,
    tasks: &'a RowTasks,
    labels: Option<Values<'a>>,
    /// What labels are.
    kind: Kind,
    weights: Option<Values<'a>>,
    rule: LabelRule,
    order: Option<&'a [i64]>,
    preprocess: Preprocess,
    largest: u32,
    next: usize,
    /// Numbers that new tasks go out with: those of the order in which they come out.
    outgoing: Vec<Option<TaskId>>,
    met: usize,
    /// Whether the names of a frame have gone out.
    introduced: bool,
}

/// A batch ends here: small enough to stay in cache.
const BATCH_ROWS: usize = 256;
const BATCH_FEATURES: usize = 1 << 17;

impl<'a> TableStream<'a> {
    /// Rows with one task each, or one for all; `features` is their number, if declared, `kind` what labels are.
    ///
    /// # Errors
    /// When there is neither one task per row nor one for all.
    pub(crate) fn new(
        table: &'a Table<'a>,
        tasks: &'a RowTasks,
        preprocess: Preprocess,
        features: Option<u32>,
        kind: Kind,
    ) -> Result<Self, TableError> {
        if tasks.len() != 1 && tasks.len() != table.rows() {
            return Err(TableError::Length { what: "tasks", found: tasks.len(), expected: table.rows() });
        }
        Ok(Self {
            table,
            tasks,
            labels: None,
            weights: None,
            kind,
            rule: LabelRule::new(Labels::Optional, kind),
            order: None,
            preprocess,
            largest: table.largest(features),
            next: 0,
            outgoing: vec![None; tasks.new.len()],
            met: 0,
            introduced: false,
        })
    }

    /// The same rows with labels: -1 and +1 or 0 and 1, or any number with [`Labels::Real`] and for learners of real labels.
    ///
    /// # Errors
    /// When there is not one label per row, or one is invalid; all are checked.
    pub fn labelled(mut self, labels: Values<'a>, which: Labels) -> Result<Self, TableError> {
        if labels.len() != self.table.rows() {
            let (found, expected) = (labels.len(), self.table.rows());
            return Err(TableError::Length { what: "labels", found, expected });
        }
        (self.labels, self.rule) = (Some(labels), LabelRule::new(which, self.kind));
        (0..labels.len()).try_for_each(|row| self.label(row).map(drop))?;
        self.rule.restart();
        Ok(self)
    }

    /// The same rows with weights, each at least 0.
    ///
    /// # Errors
    /// When there is not one weight per row, or one is invalid; all are checked.
    pub fn weighted(mut self, weights: Values<'a>) -> Result<Self, TableError> {
        if weights.len() != self.table.rows() {
            let (found, expected) = (weights.len(), self.table.rows());
            return Err(TableError::Length { what: "weights", found, expected });
        }
        self.weights = Some(weights);
        (0..weights.len()).try_for_each(|row| self.weight(row).map(drop))?;
        Ok(self)
    }

    /// The weight of a row, if it is not 1.
    fn weight(&self, row: usize) -> Result<Option<f64>, TableError> {
        match self.weights.map(|weights| weights.get(row)) {
            None | Some(1.0) => Ok(None),
            Some(weight) if is_weight(weight) => Ok(Some(weight)),
            Some(weight) => {
                Err(TableError::Row { row, problem: Problem::Weight { found: weight.to_string() } })
            }
        }
    }

    /// The same rows in this order.
    ///
    /// # Errors
    /// When a row is out of range.
    pub fn ordered(mut self, order: &'a [i64]) -> Result<Self, TableError> {
        let rows = self.table.rows();
        let is_row = |row: i64| usize::try_from(row).is_ok_and(|row| row < rows);
        match order.iter().find(|row| !is_row(**row)) {
            Some(row) => {
                Err(TableError::Index { row: 0, index: *row, largest: rows.saturating_sub(1) as u32 })
            }
            None => {
                self.order = Some(order);
                Ok(self)
            }
        }
    }

    fn label(&mut self, row: usize) -> Result<f64, TableError> {
        let Some(labels) = self.labels else { return Ok(NO_LABEL) };
        self.rule.take(labels.get(row)).map_err(|problem| TableError::Row { row, problem })
    }

    /// The number with which the task of a row is served.
    fn task(&mut self, row: usize, batch: &mut Batch) -> TaskId {
        let id = self.tasks.ids[if self.tasks.len() == 1 { 0 } else { row }];
        let Some(at) = id.index().checked_sub(self.tasks.known) else { return id };
        *self.outgoing[at].get_or_insert_with(|| {
            let task = TaskId((self.tasks.known + self.met) as u32);
            batch.push_task(task, self.tasks.new.name(TaskId(at as u32)));
            self.met += 1;
            task
        })
    }

    fn push_row(&mut self, row: usize, batch: &mut Batch) -> Result<(), TableError> {
        let (label, weight) = (self.label(row)?, self.weight(row)?);
        if let Err(error) = self.table.row(row, self.largest, batch) {
            batch.abandon();
            return Err(error);
        }
        batch.preprocess(&self.preprocess);
        if let Some(weight) = weight {
            batch.set_weight(weight);
        }
        let task = self.task(row, batch);
        batch.close(task, label, row as u64 + 1);
        Ok(())
    }
}

impl Stream for TableStream<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        batch.clear();
        if let Table::Named(frame) = self.table
            && !self.introduced
        {
            frame.new_names.iter().for_each(|(name, feature)| batch.new_names.push(name, feature));
            batch.new_columns.extend(frame.new_columns.iter().cloned());
            self.introduced = true;
        }
        let rows = self.order.map_or(self.table.rows(), <[i64]>::len);
        while self.next < rows && batch.len() < BATCH_ROWS && batch.indices.len() < BATCH_FEATURES {
            let row = self.order.map_or(self.next, |order| order[self.next] as usize);
            self.push_row(row, batch)?;
            self.next += 1;
        }
        Ok(())
    }

    fn naming(&self) -> Naming {
        self.table.naming()
    }

    fn input_names(&self) -> Vec<String> {
        vec!["rows".to_owned()]
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        self.next = 0;
        self.rule.restart();
        Ok(())
    }
}
