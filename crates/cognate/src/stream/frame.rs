//! Columns with names in borrowed memory, of numbers or of texts: a table whose features have names.
//!
//! A column of numbers is the feature called as it is; a text is the feature `<column>=<text>`, with value 1, as in a file of
//! `csv`. A missing cell is no feature. What columns there are stays with the model: others are refused, and their order does not matter.

use std::collections::BTreeSet;

use super::columns::{ColumnKind, ColumnKinds};
use super::error::{Problem, shown};
use super::feature_hash::feature_hash;
use super::table::{Indices, Sink, TableError, Values};
use crate::example::is_valid;
use crate::feature_names::{FeatureLimit, FeatureNames, NameList, Naming};

/// One column of a frame.
#[derive(Debug, Clone)]
pub enum Column<'a> {
    /// One number per row; NaN where it is missing.
    Numbers(Values<'a>),
    /// One text per row.
    Texts {
        /// The position of each row's text among `texts`; negative where it is missing.
        codes: Indices<'a>,
        /// The texts that occur.
        texts: Vec<String>,
    },
}

/// Columns with their names.
#[derive(Debug, Clone)]
pub struct Frame<'a> {
    /// Each with its name.
    pub columns: Vec<(String, Column<'a>)>,
    /// Number of rows.
    pub rows: usize,
}

/// A frame whose columns have the numbers of features.
#[derive(Debug, Clone)]
pub struct PlacedFrame<'a> {
    columns: Vec<Placed<'a>>,
    pub(super) rows: usize,
    pub(super) naming: Naming,
    /// Names that the model does not know, and columns.
    pub(super) new_names: NameList,
    pub(super) new_columns: Vec<(String, ColumnKind)>,
}

#[derive(Debug, Clone)]
struct Placed<'a> {
    name: String,
    cells: Cells<'a>,
}

#[derive(Debug, Clone)]
enum Cells<'a> {
    Numbers { feature: u32, values: Values<'a> },
    Texts { features: Vec<u32>, codes: Indices<'a> },
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Texts { codes, .. } => codes.len(),
        }
    }

    /// What it holds; a column in which every text is missing says nothing.
    fn kind(&self) -> Option<ColumnKind> {
        match self {
            Self::Numbers(_) => Some(ColumnKind::Number),
            Self::Texts { texts, .. } => (!texts.is_empty()).then_some(ColumnKind::Text),
        }
    }
}

/// Numbers of names as a model that learns the frame will give them.
struct Numbering<'n> {
    names: &'n FeatureNames,
    new: NameList,
    news: std::collections::BTreeMap<String, u32>,
}

impl Numbering<'_> {
    fn number(&mut self, name: &str) -> Result<u32, FeatureLimit> {
        let hash = || feature_hash(name.as_bytes(), 0);
        let remembers = match self.names.naming() {
            Naming::Hashed { names, .. } => names,
            Naming::Kept | Naming::Numbered => true,
        };
        let found = self.names.look(name, hash);
        if let Some(feature) = found.filter(|_| !remembers || self.names.known(name).is_some()) {
            return Ok(feature);
        }
        if let Some(feature) = self.news.get(name) {
            return Ok(*feature);
        }
        let feature = found.map_or_else(|| self.names.next_number(self.news.len()), Ok)?;
        self.new.push(name, feature);
        self.news.insert(name.to_owned(), feature);
        Ok(feature)
    }
}

impl<'a> Frame<'a> {
    /// Gives the columns the numbers of their features: those that are known, and new ones.
    pub(crate) fn place(
        self,
        names: &FeatureNames,
        known: &ColumnKinds,
    ) -> Result<PlacedFrame<'a>, TableError> {
        let Self { mut columns, rows } = self;
        check_columns(&columns, rows, known)?;
        // Numbers first, so that rows come in order of their features, or nearly.
        columns.sort_by_key(|(_, column)| matches!(column, Column::Texts { .. }));
        let mut numbering =
            Numbering { names, new: NameList::default(), news: std::collections::BTreeMap::new() };
        let (mut placed, mut new_columns) = (Vec::with_capacity(columns.len()), Vec::new());
        for (name, column) in columns {
            if known.kind(&name).is_none() {
                new_columns.push((name.clone(), column.kind().unwrap_or(ColumnKind::Number)));
            }
            let mut number =
                |feature: &str| numbering.number(feature).map_err(|limit| too_many(feature, limit));
            let cells = match column {
                Column::Numbers(values) => Cells::Numbers { feature: number(&name)?, values },
                Column::Texts { codes, texts } => {
                    if name.contains('=') {
                        let problem = Problem::ColumnOfTexts { column: shown(name.as_bytes()) };
                        return Err(TableError::Row { row: 0, problem });
                    }
                    let features = texts.iter().map(|text| number(&format!("{name}={text}")));
                    Cells::Texts { features: features.collect::<Result<_, _>>()?, codes }
                }
            };
            placed.push(Placed { name, cells });
        }
        placed.sort_by_key(|column| match &column.cells {
            Cells::Numbers { feature, .. } => (false, *feature),
            Cells::Texts { features, .. } => (true, features.iter().min().copied().unwrap_or_default()),
        });
        Ok(PlacedFrame {
            columns: placed,
            rows,
            naming: names.naming(),
            new_names: numbering.new,
            new_columns,
        })
    }
}

fn too_many(name: &str, limit: FeatureLimit) -> TableError {
    let problem = Problem::UnknownFeature { name: shown(name.as_bytes()), declared: limit.declared };
    TableError::Row { row: 0, problem }
}

/// Checks that columns are those that the model has learnt, if it has learnt some, and hold what they held.
fn check_columns(
    columns: &[(String, Column<'_>)],
    rows: usize,
    known: &ColumnKinds,
) -> Result<(), TableError> {
    let mut found = BTreeSet::new();
    for (at, (name, column)) in columns.iter().enumerate() {
        if !found.insert(name.as_str()) {
            let before = columns.iter().position(|(other, _)| other == name).unwrap_or(at) + 1;
            let problem = Problem::ColumnTwice { name: shown(name.as_bytes()), before };
            return Err(TableError::Row { row: 0, problem });
        }
        if column.len() != rows {
            let found = column.len();
            return Err(TableError::Length { what: "values in a column", found, expected: rows });
        }
    }
    if !known.is_empty() {
        let expected: BTreeSet<&str> = known.names().collect();
        let listed = |names: std::collections::btree_set::Difference<'_, &str>| {
            names.map(|name| (*name).to_owned()).collect::<Vec<_>>()
        };
        let (missing, unknown) = (listed(expected.difference(&found)), listed(found.difference(&expected)));
        if !(missing.is_empty() && unknown.is_empty()) {
            return Err(TableError::Columns { missing, unknown });
        }
    }
    for (name, column) in columns {
        if let (Some(learnt), Some(kind)) = (known.kind(name), column.kind())
            && learnt != kind
        {
            return Err(TableError::ColumnKind {
                column: name.clone(),
                found: kind.words(),
                expected: learnt.words(),
            });
        }
    }
    Ok(())
}

impl<'a> PlacedFrame<'a> {
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The columns with their features in order, if all hold numbers and none shares its feature.
    pub(crate) fn numbers(&self) -> Option<Vec<(u32, Values<'a>)>> {
        let number = |column: &Placed<'a>| match column.cells {
            Cells::Numbers { feature, values } => Some((feature, values)),
            Cells::Texts { .. } => None,
        };
        let found: Vec<_> = self.columns.iter().map(number).collect::<Option<_>>()?;
        found.is_sorted_by(|(one, _), (other, _)| one < other).then_some(found)
    }

    /// Checks a row and hands it over.
    pub(super) fn row(&self, row: usize, sink: &mut impl Sink) -> Result<(), TableError> {
        for column in &self.columns {
            match &column.cells {
                Cells::Numbers { feature, values } => {
                    let value = values.get(row);
                    if value != 0.0 && !value.is_nan() {
                        if !is_valid(value) {
                            let (found, column) = (value.to_string(), shown(column.name.as_bytes()));
                            let problem = Problem::ColumnValue { found, column };
                            return Err(TableError::Row { row, problem });
                        }
                        sink.put(*feature, value);
                    }
                }
                Cells::Texts { features, codes } => {
                    let code = codes.get(row);
                    if let Ok(code) = usize::try_from(code) {
                        let Some(feature) = features.get(code) else {
                            return Err(TableError::Changed { row });
                        };
                        sink.put(*feature, 1.0);
                    }
                }
            }
        }
        sink.put_in_order();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<'a>(name: &str, values: &'a [f64]) -> (String, Column<'a>) {
        (name.to_owned(), Column::Numbers(Values::F64(values)))
    }

    fn texts<'a>(name: &str, codes: &'a [i32], texts: &[&str]) -> (String, Column<'a>) {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        (name.to_owned(), Column::Texts { codes: Indices::I32(codes), texts })
    }

    struct Seen(Vec<(u32, f64)>);

    impl Sink for Seen {
        fn take<I: Copy + Into<i64>, V: Copy + Into<f64>>(&mut self, _: &[I], _: &[V]) {}
        fn put(&mut self, index: u32, value: f64) {
            self.0.push((index, value));
        }
        fn put_row<V: Copy + Into<f64>>(&mut self, _: &[V]) {}
    }

    #[test]
    fn numbers_come_first_and_missing_cells_are_no_features() {
        let names = FeatureNames::new(Naming::Kept, None);
        let columns = vec![
            texts("colour", &[1, -1], &["red", "blue"]),
            numbers("a", &[f64::NAN, 2.0]),
            numbers("b", &[3.0, 0.0]),
        ];
        let placed = Frame { columns, rows: 2 }.place(&names, &ColumnKinds::default()).unwrap();
        let found: Vec<_> = placed.new_names.iter().collect();
        assert_eq!(found, [("a", 0), ("b", 1), ("colour=red", 2), ("colour=blue", 3)]);
        let row = |at| {
            let mut seen = Seen(Vec::new());
            placed.row(at, &mut seen).unwrap();
            seen.0
        };
        assert_eq!(row(0), [(1, 3.0), (3, 1.0)]);
        assert_eq!(row(1), [(0, 2.0)]);
    }

    #[test]
    fn columns_must_be_those_that_were_learnt() {
        let names = FeatureNames::new(Naming::Kept, None);
        let mut known = ColumnKinds::default();
        known.insert("a".to_owned(), ColumnKind::Number);
        known.insert("b".to_owned(), ColumnKind::Text);
        let refused = |columns| Frame { columns, rows: 1 }.place(&names, &known).unwrap_err().to_string();
        assert_eq!(
            refused(vec![numbers("a", &[1.0]), numbers("c", &[1.0])]),
            "columns are not those that were learnt: \"b\" is missing, \"c\" is new"
        );
        assert_eq!(
            refused(vec![numbers("a", &[1.0]), numbers("b", &[1.0])]),
            "column \"b\" holds numbers; expected texts, as it held when it was learnt"
        );
        let gone = vec![texts("b", &[-1], &[]), numbers("a", &[1.0])];
        assert!(Frame { columns: gone, rows: 1 }.place(&names, &known).is_ok());
        assert!(refused(vec![numbers("a", &[1.0]), numbers("a", &[1.0])]).contains("a second time"));
    }
}
