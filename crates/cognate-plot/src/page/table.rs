//! Tables with the best value of a column marked in words as well as in weight.

use super::sideways_hint;
use crate::svg::{bold_width, escape, shorten, text_width};

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
#[derive(Clone)]
pub enum Cell {
    /// A name; long ones are cut.
    Text(String),
    /// Words that may take several lines.
    Words(String),
    /// A number and how it is written; one that is not finite is never the best.
    Number(f64, String),
    /// How the best number of the whole table is written; marked whatever its column holds.
    Best(String),
}

/// A table.
#[derive(Clone)]
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
/// Longest name.
const NAME: usize = 32;
/// From so many columns on, they stand closer together.
const DENSE: usize = 9;
/// On a wide screen: the room of words, which wrap; of the mark of the best; and the space behind a column, or a dense one.
const WORDS: f64 = 192.0;
const SLOT: f64 = 36.0;
const WIDE_SPACE: (f64, f64) = (25.6, 16.0);
/// On a narrow screen: the room of a first column, which wraps, and the space behind a column.
const FIRST: f64 = 104.0;
const SPACE: f64 = 13.0;

impl Table {
    /// The table as HTML, in a box that scrolls when the table is wide or long.
    pub fn html(&self) -> String {
        let long = if self.rows.len() > OPEN_ROWS { " long" } else { "" };
        let dense = if self.is_dense() { " class=\"dense\"" } else { "" };
        let hint = sideways_hint(self.least_width(), self.wide_width());
        let mut out = format!(
            "<div class=\"sideways\">{hint}<div class=\"rows{long}\" tabindex=\"0\"><table{dense}>\n<thead><tr>"
        );
        let slots: Vec<bool> = (0..self.columns.len()).map(|column| self.has_slot(column)).collect();
        for ((name, kind), slot) in self.columns.iter().zip(&slots) {
            let slot = if *slot { NO_MARK } else { "" };
            out.extend(["<th", align(*kind), ">", &escape(name), slot, "</th>"]);
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        let best: Vec<Option<&str>> = (0..self.columns.len()).map(|c| self.best(c)).collect();
        for (i, row) in self.rows.iter().enumerate() {
            out.push_str(if self.strong == Some(i) { "<tr class=\"strong\">" } else { "<tr>" });
            for (column, (cell, (_, kind))) in row.iter().zip(&self.columns).enumerate() {
                out.extend(["<td", align(*kind), ">", &content(cell, slots[column], best[column]), "</td>"]);
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div></div>\n");
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

    /// Whether a column has room for the mark of the best.
    fn has_slot(&self, column: usize) -> bool {
        self.columns[column].1 == Kind::LowestBest
            || self.rows.iter().any(|row| matches!(row[column], Cell::Best(_)))
    }

    fn is_dense(&self) -> bool {
        self.columns.len() >= DENSE
    }

    /// About how wide the table is on a wide screen, where only words wrap.
    fn wide_width(&self) -> f64 {
        let space = if self.is_dense() { WIDE_SPACE.1 } else { WIDE_SPACE.0 };
        let width = |column: usize| {
            let heading = self.columns[column].0;
            let slot = if self.has_slot(column) { SLOT } else { 0.0 };
            let cells = self.rows.iter().enumerate().map(|(at, row)| match &row[column] {
                Cell::Text(text) if self.strong == Some(at) => bold_width(&shorten(text, NAME), 15.0),
                Cell::Text(text) => text_width(&shorten(text, NAME), 15.0),
                Cell::Number(_, text) => slot + text_width(text, 15.0),
                Cell::Best(text) => slot + bold_width(text, 15.0),
                Cell::Words(_) => WORDS,
            });
            space + cells.fold(slot + text_width(heading, 12.8), f64::max)
        };
        (0..self.columns.len()).map(width).sum()
    }

    /// About how wide the table is on a narrow screen, where headings and the first column wrap.
    fn least_width(&self) -> f64 {
        let width = |column: usize| {
            let words = self.columns[column].0.split(' ').map(|word| text_width(word, 12.0));
            let cells = self.rows.iter().map(|row| match &row[column] {
                Cell::Text(text) => text_width(&shorten(text, NAME), 13.0),
                Cell::Number(_, text) => text_width(text, 13.0),
                Cell::Best(text) => bold_width(text, 13.0),
                // They wrap.
                Cell::Words(_) => FIRST,
            });
            SPACE + words.chain(cells).fold(0.0, f64::max)
        };
        FIRST + SPACE + (1..self.columns.len()).map(width).sum::<f64>()
    }
}

fn align(kind: Kind) -> &'static str {
    if kind == Kind::Text { "" } else { " class=\"r\"" }
}

/// Stands in the place of the mark, so that the numbers of a column stay below each other.
const NO_MARK: &str = "<span class=\"slot\"></span>";

fn content(cell: &Cell, slot: bool, best: Option<&str>) -> String {
    let marked =
        |text: &str| format!("<b>{}</b><span class=\"slot\"><small>best</small></span>", escape(text));
    match cell {
        Cell::Text(text) => escape(&shorten(text, NAME)),
        Cell::Words(text) => format!("<span class=\"words\">{}</span>", escape(text)),
        Cell::Best(text) => marked(text),
        // Rows that show the same value share the mark: readers cannot see a difference that is not shown.
        Cell::Number(v, text) if v.is_finite() && best == Some(text) => marked(text),
        Cell::Number(_, text) if slot => format!("{}{NO_MARK}", escape(text)),
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
    fn the_best_of_all_columns_is_marked_where_it_stands() {
        let number = |v: f64| Cell::Number(v, v.to_string());
        let rows = vec![vec![number(0.3), number(0.1)], vec![number(0.2), Cell::Best("0.05".to_owned())]];
        let columns = vec![("shared", Kind::Number), ("independent", Kind::Number)];
        let html = Table { columns, rows, strong: None }.html();
        assert_eq!(html.matches("<small>best</small>").count(), 1, "{html}");
        assert!(html.contains("<b>0.05</b>"), "{html}");
        // Every cell of that column has the room of the mark, and no other has.
        assert!(html.contains(">0.1<span class=\"slot\"></span></td>"), "{html}");
        assert_eq!(html.matches("class=\"slot\"").count(), 3, "{html}");
    }

    #[test]
    fn a_table_wider_than_a_phone_says_that_it_scrolls() {
        let wide = |columns: usize| {
            let columns = vec![("a-long-heading", Kind::Number); columns];
            Table { columns, rows: Vec::new(), strong: None }.html()
        };
        assert!(!wide(2).contains("class=\"hint"));
        assert!(wide(6).contains("class=\"hint\"") && wide(6).contains("tabindex"), "{}", wide(6));
        assert!(wide(6).contains("class=\"sideways\"><p"), "in the box whose width it is compared with");
        let needs = |html: &str, word: &str| -> f64 {
            let rest = html.split(word).nth(1).and_then(|rest| rest.split("px").next());
            rest.and_then(|number| number.parse().ok()).expect("a width")
        };
        // Six headings of 14 letters; the first column may wrap on a telephone.
        assert!((500.0..700.0).contains(&needs(&wide(6), "--narrow:")), "{}", wide(6));
        assert!(needs(&wide(6), "--wide:") > needs(&wide(6), "--narrow:"));
        // However wide the table is, the hint knows it, also beyond the column of the page.
        let twenty = needs(&wide(20), "--wide:");
        assert!(twenty > crate::page::COLUMN && twenty > 2.0 * needs(&wide(8), "--wide:"), "{twenty}");
    }

    #[test]
    fn many_columns_stand_closer_together() {
        let of = |columns: usize| {
            let columns = vec![("n", Kind::Number); columns];
            Table { columns, rows: Vec::new(), strong: None }
        };
        assert!(
            !of(DENSE - 1).html().contains("dense") && of(DENSE).html().contains("<table class=\"dense\">")
        );
        assert!(of(DENSE).wide_width() < of(DENSE - 1).wide_width());
    }

    #[test]
    fn ties_share_the_mark_and_a_tie_of_all_has_none() {
        assert_eq!(table(&[0.11, 0.12, 0.5]).matches("best").count(), 2);
        assert_eq!(table(&[0.1, 0.1]).matches("best").count(), 0);
        assert_eq!(table(&[]).matches("best").count(), 0);
    }
}
