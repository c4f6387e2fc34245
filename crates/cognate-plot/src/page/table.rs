//! Tables with the best value of a column marked in words as well as in weight.

use crate::svg::{escape, shorten};

/// What a column holds.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// Words.
    Text,
    /// Numbers without an order of merit.
    Number,
    /// Numbers of which the lowest is best.
    LowestBest,
}

/// One entry.
pub enum Cell {
    /// Words; long ones are cut.
    Text(String),
    /// A number and how it is written; one that is not finite is never the best.
    Number(f64, String),
}

/// A table.
pub struct Table {
    /// Heading and kind of each column.
    pub columns: Vec<(&'static str, Kind)>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Index of the row to look at first.
    pub strong: Option<usize>,
}

/// Most rows shown at once; a longer table scrolls in a box.
const OPEN_ROWS: usize = 20;

impl Table {
    /// The table as HTML, in a box that scrolls when the table is wide or long.
    pub fn html(&self) -> String {
        let long = if self.rows.len() > OPEN_ROWS { " long" } else { "" };
        let mut out = format!("<div class=\"rows{long}\"><table>\n<thead><tr>");
        for (name, kind) in &self.columns {
            let slot = if *kind == Kind::LowestBest { "<span class=\"slot\"></span>" } else { "" };
            out.extend(["<th", align(*kind), ">", &escape(name), slot, "</th>"]);
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        let best: Vec<Option<&str>> = (0..self.columns.len()).map(|c| self.best(c)).collect();
        for (i, row) in self.rows.iter().enumerate() {
            out.push_str(if self.strong == Some(i) { "<tr class=\"strong\">" } else { "<tr>" });
            for ((cell, best), (_, kind)) in row.iter().zip(&best).zip(&self.columns) {
                out.extend(["<td", align(*kind), ">", &content(cell, *kind, *best), "</td>"]);
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }

    /// The best value of a column as it is written; none if all rows show the same.
    fn best(&self, column: usize) -> Option<&str> {
        if self.columns[column].1 != Kind::LowestBest {
            return None;
        }
        let numbers = self.rows.iter().filter_map(|row| match &row[column] {
            Cell::Number(v, text) if v.is_finite() => Some((*v, text.as_str())),
            _ => None,
        });
        let (_, best) = numbers.clone().min_by(|a, b| a.0.total_cmp(&b.0))?;
        numbers.into_iter().any(|(_, text)| text != best).then_some(best)
    }
}

fn align(kind: Kind) -> &'static str {
    if kind == Kind::Text { "" } else { " class=\"r\"" }
}

fn content(cell: &Cell, kind: Kind, best: Option<&str>) -> String {
    match cell {
        Cell::Text(text) => escape(&shorten(text, 32)),
        // Rows that show the same value share the mark: readers cannot see a difference that is not shown.
        Cell::Number(v, text) if v.is_finite() && best == Some(text) => {
            format!("<b>{}</b><span class=\"slot\"><small>best</small></span>", escape(text))
        }
        Cell::Number(_, text) if kind == Kind::LowestBest => {
            format!("{}<span class=\"slot\"></span>", escape(text))
        }
        Cell::Number(_, text) => escape(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(values: &[f64]) -> String {
        let row = |v: &f64| vec![Cell::Text("<i>".to_owned()), Cell::Number(*v, format!("{v:.1}"))];
        let columns = vec![("learner", Kind::Text), ("error", Kind::LowestBest)];
        Table { columns, rows: values.iter().map(row).collect(), strong: Some(0) }.html()
    }

    #[test]
    fn the_best_is_said_in_words() {
        let html = table(&[0.3, 0.1, f64::NAN]);
        assert_eq!(html.matches("best").count(), 1);
        assert!(html.contains("<b>0.1</b>") && html.contains("&lt;i&gt;"));
        assert!(html.contains("<td class=\"r\">0.3"));
    }

    #[test]
    fn ties_share_the_mark_and_a_tie_of_all_has_none() {
        assert_eq!(table(&[0.11, 0.12, 0.5]).matches("best").count(), 2);
        assert_eq!(table(&[0.1, 0.1]).matches("best").count(), 0);
        assert_eq!(table(&[]).matches("best").count(), 0);
    }
}
