//! What an experiment finds: tables with the paper's numbers beside ours, figures, claims; as text, Markdown and CSV.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use cognate::internal::replace_file;
use cognate_plot::lines::{Detail, LineChart};
use cognate_plot::text_table::TextTable;

use crate::Experiment;
use crate::record::Record;
use crate::statistics::{deviation, mean};
use crate::verdict::{Claim, Verdict};

/// The findings of an experiment.
#[derive(Default)]
pub struct Findings {
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    /// What the paper claims, each with its tests.
    pub(crate) claims: Vec<Claim>,
    /// How it was run, and which parameters were chosen.
    pub(crate) notes: Vec<String>,
}

/// A table: names of rows and columns, and cells.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<Cell>)>,
}

/// Ours and the paper's.
#[derive(Clone)]
pub(crate) struct Cell {
    ours: Option<f64>,
    deviation: Option<f64>,
    paper: Option<f64>,
    places: usize,
}

impl Cell {
    /// The mean of some runs, and their deviation where there are several.
    pub(crate) fn of(runs: &[f64], paper: Option<f64>, places: usize) -> Self {
        Self { ours: Some(mean(runs)), deviation: (runs.len() > 1).then(|| deviation(runs)), paper, places }
    }

    /// A single number.
    pub(crate) fn number(ours: f64, paper: Option<f64>, places: usize) -> Self {
        Self::of(&[ours], paper, places)
    }

    fn text(&self) -> String {
        let places = self.places;
        let mut text = self.ours.map_or_else(|| "–".to_owned(), |ours| format!("{ours:.places$}"));
        if let Some(deviation) = self.deviation {
            let _ = write!(text, " ± {deviation:.places$}");
        }
        if let Some(paper) = self.paper {
            let _ = write!(text, " ({paper:.places$})");
        }
        text
    }
}

/// A picture and its file name beside the experiment's id.
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) chart: LineChart,
}

impl Findings {
    /// How far the paper's claims come out together.
    pub fn verdict(&self) -> Verdict {
        Verdict::of_parts(self.claims.iter().filter(|claim| !claim.is_ours()).map(Claim::verdict))
    }

    /// What a terminal shows.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            let head: Vec<&str> =
                std::iter::once("").chain(table.columns.iter().map(String::as_str)).collect();
            let rows = table.rows.iter().map(|(name, cells)| {
                std::iter::once(name.clone()).chain(cells.iter().map(Cell::text)).collect()
            });
            let _ = writeln!(text, "{}\n\n{}\n", table.title, TextTable::new(&head, rows).trim_fmt());
        }
        self.notes.iter().for_each(|note| {
            let _ = writeln!(text, "{note}");
        });
        for claim in &self.claims {
            let (claimed, tests) = claim.lines();
            let _ = writeln!(text, "{}: {claimed}", claim.verdict());
            tests.iter().for_each(|test| {
                let _ = writeln!(text, "  {test}");
            });
        }
        text
    }

    /// The experiment's part of a page.
    pub(crate) fn markdown(&self, experiment: &Experiment, mode: &str) -> String {
        let mut text = format!(
            "## {}: {}\n\nClaim: {}\n\n{mode}. Our figures, with their deviation over runs; the paper's in brackets.\n\n",
            experiment.id, experiment.place, experiment.claim
        );
        for table in &self.tables {
            let _ = writeln!(text, "**{}**\n\n| | {} |", table.title, table.columns.join(" | "));
            let _ = writeln!(text, "|---|{}", "---|".repeat(table.columns.len()));
            for (name, cells) in &table.rows {
                let cells: Vec<String> = cells.iter().map(Cell::text).collect();
                let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
            }
            text.push('\n');
        }
        for figure in &self.figures {
            let _ = writeln!(text, "![{}]({}-{}.svg)\n", figure.chart.title, experiment.id, figure.name);
        }
        for claim in &self.claims {
            let (claimed, tests) = claim.lines();
            let _ = writeln!(text, "- **{}**: {claimed}", claim.verdict());
            tests.iter().for_each(|test| {
                let _ = writeln!(text, "  - {test}");
            });
        }
        if !self.claims.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}\n");
        }
        let all = self.claims.iter().all(|claim| claim.verdict() == Verdict::Reproduced);
        if !all && !experiment.explains.is_empty() {
            let _ = writeln!(text, "Why not all of it: {}\n", experiment.explains);
        }
        let _ = writeln!(text, "Departures from the paper: {}", experiment.deviates);
        text
    }

    /// Every number: table, row, column, ours, deviation, the paper's.
    fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let mut text = "table,row,column,ours,deviation,paper\n".to_owned();
        for table in &self.tables {
            for (row, cells) in &table.rows {
                for (column, cell) in table.columns.iter().zip(cells) {
                    let names = [&table.title, row, column].map(|name| quoted(name)).join(",");
                    let numbers = [cell.ours, cell.deviation, cell.paper].map(number).join(",");
                    let _ = writeln!(text, "{names},{numbers}");
                }
            }
        }
        text
    }

    /// Writes Markdown, CSV, figures and verdicts into a folder.
    ///
    /// # Errors
    /// The file that cannot be written.
    pub fn write(&self, experiment: &Experiment, quick: bool, out: &Path) -> anyhow::Result<()> {
        let write = |name: String, content: String| {
            let path = out.join(name);
            replace_file(&path, |out| out.write_all(content.as_bytes()))
                .with_context(|| path.display().to_string())
        };
        let id = experiment.id;
        let mode = if quick { "Run with --quick: fewer runs, smaller grids" } else { "Run in full" };
        write(format!("{id}.json"), Record::of(id, quick, self).text())?;
        write(format!("{id}.md"), self.markdown(experiment, mode))?;
        write(format!("{id}.csv"), self.csv())?;
        for figure in &self.figures {
            let picture = figure.chart.draw(760.0, 340.0, Detail::Full).standalone();
            write(format!("{id}-{}.svg", figure.name), picture)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_ours_then_theirs() {
        assert_eq!(Cell::of(&[1.0, 3.0], Some(2.5), 1).text(), "2.0 ± 1.4 (2.5)");
        assert_eq!(Cell::number(0.123, None, 2).text(), "0.12");
    }
}
