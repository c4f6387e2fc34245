//! What an experiment finds: tables with the paper's numbers beside ours, figures, verdicts; as text, Markdown and CSV.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use cognate::internal::replace_file;
use cognate_plot::lines::{Detail, LineChart};
use cognate_plot::text_table::TextTable;

use crate::Experiment;
use crate::statistics::{deviation, mean};

/// The findings of an experiment.
#[derive(Default)]
pub struct Findings {
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) verdicts: Vec<Verdict>,
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

/// The verdict on a claim.
pub(crate) struct Verdict {
    /// What the paper says.
    claim: String,
    /// Whether our numbers agree.
    reproduced: bool,
    /// Our figures.
    ours: String,
    /// Where a claim is known not to be reproduced, what is checked instead, and whether that holds.
    instead: Option<(String, bool)>,
}

impl Verdict {
    /// A claim that is reproduced, and must be.
    pub(crate) fn claim(claim: &str, holds: bool, ours: String) -> Self {
        Self { claim: claim.to_owned(), reproduced: holds, ours, instead: None }
    }

    /// A claim that is known not to be reproduced; what we found instead must hold.
    pub(crate) fn instead(claim: &str, reproduced: bool, ours: String, found: &str, holds: bool) -> Self {
        Self { claim: claim.to_owned(), reproduced, ours, instead: Some((found.to_owned(), holds)) }
    }

    /// Whether what is checked holds.
    pub(crate) fn holds(&self) -> bool {
        self.instead.as_ref().map_or(self.reproduced, |(_, holds)| *holds)
    }

    fn lines(&self) -> Vec<String> {
        let word = match (&self.instead, self.reproduced) {
            (_, true) => "reproduced",
            (Some(_), false) => "not reproduced",
            (None, false) => "BROKEN",
        };
        let mut lines = vec![format!("{word}: {} ({})", self.claim, self.ours)];
        if let Some((found, holds)) = &self.instead {
            lines.push(format!("{}: {found}", if *holds { "holds" } else { "BROKEN" }));
        }
        lines
    }
}

impl Findings {
    /// Whether everything that is checked holds.
    pub fn hold(&self) -> bool {
        self.verdicts.iter().all(Verdict::holds)
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
        for line in self.verdicts.iter().flat_map(Verdict::lines) {
            let _ = writeln!(text, "{line}");
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
        for line in self.verdicts.iter().flat_map(Verdict::lines) {
            let (word, rest) = line.split_once(": ").unwrap_or((&line, ""));
            let _ = writeln!(text, "- **{word}**: {rest}");
        }
        if !self.verdicts.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "{note}\n");
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

    /// Writes Markdown, CSV and figures into a folder; `mode` says how the experiment was run.
    ///
    /// # Errors
    /// The file that cannot be written.
    pub fn write(&self, experiment: &Experiment, mode: &str, out: &Path) -> anyhow::Result<()> {
        let write = |name: String, content: String| {
            let path = out.join(name);
            replace_file(&path, |out| out.write_all(content.as_bytes()))
                .with_context(|| path.display().to_string())
        };
        let id = experiment.id;
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
    fn a_claim_that_does_not_come_out_is_said_and_what_we_found_is_checked() {
        let held = Verdict::instead("gains of five", false, "gains of one".to_owned(), "gains above 0", true);
        assert!(held.holds());
        assert_eq!(held.lines(), ["not reproduced: gains of five (gains of one)", "holds: gains above 0"]);
        let broken = Verdict::claim("b beats a", false, "2 and 1".to_owned());
        assert!(!broken.holds() && broken.lines()[0].starts_with("BROKEN: b beats a"));
    }

    #[test]
    fn cells_show_ours_then_theirs() {
        assert_eq!(Cell::of(&[1.0, 3.0], Some(2.5), 1).text(), "2.0 ± 1.4 (2.5)");
        assert_eq!(Cell::number(0.123, None, 2).text(), "0.12");
    }
}
