//! Tables for a terminal: columns of equal width, without lines.

use std::fmt::{self, Display, Write};

use unicode_width::UnicodeWidthStr;

/// A table whose first column is text, the rest numbers.
pub struct TextTable {
    /// The heading first; every row has equally many cells.
    rows: Vec<Vec<String>>,
    /// Which columns are aligned left.
    left: Vec<bool>,
}

impl TextTable {
    /// A table; cells that a row lacks are empty.
    pub fn new(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let columns = header.len();
        let mut all = vec![header.iter().map(ToString::to_string).collect::<Vec<_>>()];
        all.extend(rows);
        all.iter_mut().for_each(|row| row.resize(columns, String::new()));
        Self { rows: all, left: (0..columns).map(|column| column == 0).collect() }
    }

    /// The same with a further column of text.
    #[must_use]
    pub fn left(mut self, column: usize) -> Self {
        self.left[column] = true;
        self
    }

    /// The same with nothing but text.
    #[must_use]
    pub fn all_left(mut self) -> Self {
        self.left.fill(true);
        self
    }

    /// The table without spaces at the ends of its lines.
    pub fn trim_fmt(&self) -> String {
        self.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

impl Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.left.len()).map(width).collect();
        for (at, row) in self.rows.iter().enumerate() {
            if at > 0 {
                f.write_char('\n')?;
            }
            for (column, cell) in row.iter().enumerate() {
                let space = " ".repeat(widths[column] - cell.width());
                let between = if column > 0 { " " } else { "" };
                if self.left[column] {
                    write!(f, "{between}{cell}{space} ")?;
                } else {
                    write!(f, "{between}{space}{cell} ")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = || [vec!["naïve".to_owned(), "1".to_owned()], vec!["日本".to_owned(), "23456".to_owned()]];
        let table = TextTable::new(&["task", "n", ""], rows());
        assert_eq!(table.to_string(), "task       n   \nnaïve      1   \n日本   23456   ");
        assert_eq!(table.trim_fmt(), "task       n\nnaïve      1\n日本   23456");
        let table = TextTable::new(&["task", "n"], rows()).left(1);
        assert_eq!(table.trim_fmt(), "task   n\nnaïve  1\n日本   23456");
        assert_eq!(TextTable::new(&["task", "n"], []).trim_fmt(), "task  n");
    }
}
