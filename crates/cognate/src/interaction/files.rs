//! Interactions kept in files: edge lists, and matrices as CSV or JSON.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::config::TaskName;
use super::{Edge, Edges, GraphConfig, InteractionConfig, MatrixConfig};

/// Why a file does not hold an interaction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InteractionFileError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A line is not what was expected.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Column, from 1.
        column: usize,
        /// What was found and what was expected.
        message: String,
    },
}

/// A file's text as UTF-8, with places for errors.
struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    fn read(path: &Path) -> Result<Self, InteractionFileError> {
        let io = |source| InteractionFileError::Io { path: path.to_owned(), source };
        let bytes = std::fs::read(path).map_err(io)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            let column =
                before.len() - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) + 1;
            let message = "invalid UTF-8; expected text".to_owned();
            InteractionFileError::Bad { path: path.to_owned(), line, column, message }
        })?;
        Ok(Self { path: path.to_owned(), text: text.trim_start_matches('\u{feff}').to_owned() })
    }

    fn bad(&self, line: u64, column: usize, message: impl Into<String>) -> InteractionFileError {
        InteractionFileError::Bad { path: self.path.clone(), line, column, message: message.into() }
    }
}

impl InteractionConfig {
    /// Replaces `file` by what is in it; gives the task names that the file names in its header.
    ///
    /// Where both the header and the config name the tasks, the rows come in the config's order.
    ///
    /// # Errors
    /// When the file cannot be read or its content is invalid, with the place.
    pub(crate) fn read_file(
        &mut self,
        declared: Option<&[String]>,
    ) -> Result<Option<Vec<String>>, InteractionFileError> {
        match self {
            Self::Graph(GraphConfig { edges: edges @ None, file }) => {
                if let Some(path) = file.take() {
                    *edges = Some(Edges::List(read_edge_file(&path)?));
                }
                Ok(None)
            }
            Self::Matrix(MatrixConfig { rows: rows @ None, file }) => {
                let Some(path) = file.take() else { return Ok(None) };
                let source = Source::read(&path)?;
                let first = source.text.trim_start().chars().next();
                let table =
                    if matches!(first, Some('[' | '{')) { read_json(&source)? } else { read_csv(&source)? };
                let names: Option<Vec<String>> =
                    table.tasks.map(|names| names.into_iter().map(|name| name.0).collect());
                *rows = Some(match (&names, declared) {
                    (Some(names), Some(declared)) => in_order(&source, table.rows, names, declared)?,
                    _ => table.rows,
                });
                Ok(names)
            }
            _ => Ok(None),
        }
    }
}

/// The rows and columns of the tasks `names`, in the order of the declared ones.
fn in_order(
    source: &Source,
    rows: Vec<Vec<f64>>,
    names: &[String],
    declared: &[String],
) -> Result<Vec<Vec<f64>>, InteractionFileError> {
    let place = |name: &String| names.iter().position(|found| found == name);
    let places: Option<Vec<usize>> = declared.iter().map(place).collect();
    let Some(places) = places.filter(|_| names.len() == declared.len()) else {
        let message =
            format!("the header names {}; the declared tasks are {}", names.join(", "), declared.join(", "));
        return Err(source.bad(1, 1, message));
    };
    // What is not square is refused later, as any matrix.
    if rows.len() != names.len() || rows.iter().any(|row| row.len() != names.len()) {
        return Ok(rows);
    }
    Ok(places.iter().map(|i| places.iter().map(|j| rows[*i][*j]).collect()).collect())
}

/// The edges of a file.
pub(super) fn read_edge_file(path: &Path) -> Result<Vec<Edge>, InteractionFileError> {
    read_edges(&Source::read(path)?)
}

/// One edge per line: two names and an optional weight, between blanks or commas; `#` begins a comment.
fn read_edges(source: &Source) -> Result<Vec<Edge>, InteractionFileError> {
    let mut edges = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        let line_number = at as u64 + 1;
        let content = line.split('#').next().unwrap_or_default();
        let parts: Vec<&str> =
            content.split(|c: char| c.is_whitespace() || c == ',').filter(|part| !part.is_empty()).collect();
        let column = |part: &str| part.as_ptr() as usize - line.as_ptr() as usize + 1;
        let weight = match parts[..] {
            [] => continue,
            [_, _] => 1.0,
            [_, _, weight] => weight.parse().map_err(|_| {
                source.bad(
                    line_number,
                    column(weight),
                    format!("found {weight:?}, expected the weight of an edge"),
                )
            })?,
            _ => {
                let message =
                    format!("found {} words, expected two task names and an optional weight", parts.len());
                return Err(source.bad(line_number, column(parts[0]), message));
            }
        };
        edges.push(Edge { from: parts[0].to_owned(), to: parts[1].to_owned(), weight });
    }
    Ok(edges)
}

/// A matrix and, where the file has them, the names of its tasks.
struct Table {
    tasks: Option<Vec<TaskName>>,
    rows: Vec<Vec<f64>>,
}

/// `[[…], …]`, or `{"tasks": […], "rows": [[…], …]}`.
fn read_json(source: &Source) -> Result<Table, InteractionFileError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Named {
        tasks: Option<Vec<TaskName>>,
        rows: Vec<Vec<f64>>,
    }
    let parsed = if source.text.trim_start().starts_with('[') {
        serde_json::from_str(&source.text).map(|rows| Named { tasks: None, rows })
    } else {
        serde_json::from_str(&source.text)
    };
    let named = parsed.map_err(|error| source.bad(error.line() as u64, error.column(), error.to_string()))?;
    Ok(Table { tasks: named.tasks, rows: named.rows })
}

/// Comma-separated rows; a first row that is not all numbers names the tasks.
fn read_csv(source: &Source) -> Result<Table, InteractionFileError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(source.text.as_bytes());
    let mut table = Table { tasks: None, rows: Vec::new() };
    for record in reader.records() {
        let record = record.map_err(|error| {
            source.bad(error.position().map_or(1, csv::Position::line), 1, error.to_string())
        })?;
        let line = record.position().map_or(1, csv::Position::line);
        let numbers: Result<Vec<f64>, &str> =
            record.iter().map(|field| field.parse().map_err(|_| field)).collect();
        match numbers {
            Ok(row) => table.rows.push(row),
            Err(_) if table.rows.is_empty() && table.tasks.is_none() => {
                table.tasks = Some(record.iter().map(|name| TaskName(name.to_owned())).collect());
            }
            Err(field) => {
                let at = record.iter().position(|found| found == field).unwrap_or(0) + 1;
                return Err(source.bad(line, at, format!("field {at} is {field:?}, expected a number")));
            }
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str, text: &str) -> Result<(InteractionConfig, Option<Vec<String>>), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("interaction");
        std::fs::write(&path, text).unwrap();
        let json = format!("{{{config:?}: {{\"file\": {path:?}}}}}");
        let mut config: InteractionConfig = serde_json::from_str(&json).unwrap();
        let names = config.read_file(None);
        let shown = folder.path().display().to_string();
        names.map(|names| (config, names)).map_err(|error| error.to_string().replace(&shown, "."))
    }

    #[test]
    fn edge_lists() {
        let (config, _) = read("graph", "# who knows whom\na b\nb, c, 0.5 # weak\n\n").unwrap();
        let expected = r#"{"graph":{"edges":[["a","b"],["b","c",0.5]]}}"#;
        assert_eq!(serde_json::to_string(&config).unwrap(), expected);
        assert_eq!(
            read("graph", "a b\nb c much\n").unwrap_err(),
            "./interaction:2:5: found \"much\", expected the weight of an edge"
        );
        assert_eq!(
            read("graph", "a\n").unwrap_err(),
            "./interaction:1:1: found 1 words, expected two task names and an optional weight"
        );
    }

    #[test]
    fn matrices() {
        let rows = |text| match read("matrix", text).unwrap() {
            (InteractionConfig::Matrix(matrix), names) => (matrix.rows.unwrap(), names),
            other => panic!("{other:?}"),
        };
        let two = vec![vec![2.0, -0.5], vec![-0.5, 1.0]];
        assert_eq!(rows("2, -0.5\n-0.5, 1\n"), (two.clone(), None));
        let names = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(rows("a,b\n2,-0.5\n-0.5,1\n"), (two.clone(), names.clone()));
        assert_eq!(rows("[[2, -0.5], [-0.5, 1]]"), (two.clone(), None));
        assert_eq!(rows(r#"{"tasks": ["a", "b"], "rows": [[2, -0.5], [-0.5, 1]]}"#), (two, names));
        assert_eq!(
            read("matrix", "1,0\n0,x\n").unwrap_err(),
            "./interaction:2:2: field 2 is \"x\", expected a number"
        );
        assert!(read("matrix", "[[1, 2").unwrap_err().starts_with("./interaction:1:6: EOF"));
    }
}
