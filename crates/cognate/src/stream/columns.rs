//! Which columns of a table in text hold numbers, and which texts? Once known it stays, also in another file and in the
//! model: the same column must mean the same features.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::StreamError;
use super::error::shown;

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ColumnKind {
    /// Each is a number, the value of the feature called as the column.
    Number,
    /// Each is a text, one of many features.
    Text,
}

impl ColumnKind {
    /// What it holds, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Number => "numbers",
            Self::Text => "texts",
        }
    }
}

/// What a text turned out to be, which its numbers do not show.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadRemarks {
    /// How its columns differ from those that the model knew.
    pub columns: ColumnsApart,
    /// Whether a line has named its task, or none could.
    pub names_tasks: bool,
}

/// Of examples that are not text.
impl Default for ReadRemarks {
    fn default() -> Self {
        Self { columns: ColumnsApart::default(), names_tasks: true }
    }
}

/// How the columns of what was read differ from those that the model was learnt from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnsApart {
    /// Those that the model knows and a file lacks.
    pub missing: BTreeSet<String>,
    /// Those that a file has and the model does not know.
    pub unknown: BTreeSet<String>,
}

/// The kinds of columns by name, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ColumnKinds(BTreeMap<String, ColumnKind>);

impl ColumnKinds {
    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The columns that are known, by name.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What a column holds.
    pub(crate) fn kind(&self, column: &str) -> Option<ColumnKind> {
        self.0.get(column).copied()
    }

    /// Remembers what a column holds.
    pub(crate) fn insert(&mut self, column: String, kind: ColumnKind) {
        self.0.insert(column, kind);
    }

    /// Adds what a stream has found out; nothing where it contradicts.
    ///
    /// # Errors
    /// When the stream was made for another model.
    pub(crate) fn adopt(&mut self, found: &[(String, ColumnKind)]) -> Result<(), StreamError> {
        let contradicts =
            |(column, kind): &&(String, ColumnKind)| self.kind(column).is_some_and(|known| known != *kind);
        if let Some((column, _)) = found.iter().find(contradicts) {
            return Err(StreamError::ForeignColumn { column: shown(column.as_bytes()) });
        }
        self.0.extend(found.iter().cloned());
        Ok(())
    }
}
