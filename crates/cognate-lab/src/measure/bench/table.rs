//! How the figures are shown: Markdown tables and the notes that a reader needs beside them.

use std::fmt::Write;

use super::contest::{Contest, Contestant, Series};
use super::files::Stream;
use super::instructions::Counts;
use super::limits::Ratio;
use super::peers::PrefixRun;
use super::sweep::Sized;

/// The streams, what each contestant cost on them, the ratios, and notes.
pub(super) fn contests(facts: &str, contests: &[Contest], ratios: &[Ratio], rounds: usize) -> String {
    let mut text = format!("{facts}. Minimum (median) of {rounds} rounds.\n\n");
    text += &table("stream|what|examples|tasks|features|MB", contests.iter().map(|c| stream_row(c.stream)));
    text += "\n";
    let header = "stream|program|CPU s|wall s|peak MB|examples/CPU s|error %";
    text += &table(header, contests.iter().flat_map(program_rows));
    text += "\n";
    text += &table("stream|ratio|of minima|median of rounds", ratios.iter().map(ratio_row));
    text += "\n";
    if let Some(start) = contests.iter().find_map(|contest| contest.vw_start) {
        let _ = writeln!(
            text,
            "Vowpal Wabbit is started through Python; an empty run ({:.2} CPU s, {:.2} s, {} MB) is taken off its \
             figures, nothing is taken off ours. Peaks below 10 MB read as 10 MB.",
            start.cpu,
            start.wall,
            megabytes(start.peak),
        );
    }
    text
}

fn stream_row(stream: &Stream) -> Vec<String> {
    let preset = stream.preset;
    vec![
        format!("{} `{}`", preset.letter, preset.name),
        preset.about.to_owned(),
        stream.rows.to_string(),
        preset.tasks.to_string(),
        preset.features.to_string(),
        megabytes(stream.bytes as f64),
    ]
}

fn program_rows(contest: &Contest<'_>) -> Vec<Vec<String>> {
    let measured = contest.series.iter().map(|series| series_row(contest.stream, series));
    let prefixes = contest.prefixes.iter().map(|run| prefix_row(contest.stream, run));
    measured.chain(prefixes).collect()
}

fn series_row(stream: &Stream, series: &Series) -> Vec<String> {
    let bits = stream.preset.vw_bits;
    let name = match series.who {
        Contestant::Ours => "`cognate learn --learner perceptron`".to_owned(),
        Contestant::OursOneThread => "the same, `--threads 1`".to_owned(),
        Contestant::OursByDefault => "`cognate learn`: `adaptive`".to_owned(),
        Contestant::Parse => "bare parse, one thread".to_owned(),
        Contestant::Vw => format!("Vowpal Wabbit `-q tf -b {bits}`"),
        Contestant::VwSgd => format!("Vowpal Wabbit `-q tf -b {bits} --sgd`"),
        Contestant::VwStart => "Vowpal Wabbit, empty file".to_owned(),
    };
    let both = |figure| format!("{:.2} ({:.2})", series.min(figure), series.median(figure));
    vec![
        stream.preset.letter.to_string(),
        name,
        both(|c| c.cpu),
        both(|c| c.wall),
        megabytes(series.min(|c| c.peak)),
        format!("{:.0}", stream.rows as f64 / series.min(|c| c.cpu)),
        percent(series.error),
    ]
}

/// A slow peer: its rate and error are those of the prefix, its seconds are extrapolated to the whole stream.
fn prefix_row(stream: &Stream, run: &PrefixRun) -> Vec<String> {
    let share = run.reported.examples as f64 / stream.rows as f64;
    vec![
        stream.preset.letter.to_string(),
        format!("{}, first {} only", run.peer.name(), run.reported.examples),
        format!("about {:.0}", run.cost.cpu / share),
        format!("about {:.0}", run.cost.wall / share),
        megabytes(run.cost.peak),
        format!("{:.0}", run.reported.examples as f64 / run.cost.cpu),
        format!("{} there", percent(run.reported.error)),
    ]
}

fn ratio_row(ratio: &Ratio) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or("not measured".to_owned(), |value| format!("{value:.2}"));
    vec![ratio.stream.to_string(), ratio.what.to_owned(), number(ratio.of_minima), number(ratio.paired)]
}

/// Vowpal Wabbit by size of its weight table.
pub(super) fn sweeps(facts: &str, sweeps: &[(&Stream, Vec<Sized>)]) -> String {
    let rows = sweeps.iter().flat_map(|(stream, sizes)| {
        sizes.iter().map(move |size| {
            let mark = if size.bits == stream.preset.vw_bits { " (used)" } else { "" };
            vec![
                stream.preset.letter.to_string(),
                format!("{}{mark}", size.bits),
                percent(Some(size.error)),
                format!("{:.2}", size.cost.cpu),
                format!("{:.2}", size.cost.wall),
                megabytes(size.cost.peak),
            ]
        })
    });
    format!(
        "{facts}. Start of Python included.\n\n{}",
        table("stream|`-b`|error %|CPU s|wall s|peak MB", rows)
    )
}

/// Instructions per example.
pub(super) fn instructions(facts: &str, counts: &[(&Stream, Counts)]) -> String {
    let rows = counts.iter().map(|(stream, counts)| {
        let each = |count: u64| format!("{:.0}", count as f64 / counts.examples as f64);
        vec![
            stream.preset.letter.to_string(),
            counts.examples.to_string(),
            each(counts.ours),
            each(counts.parse),
            counts.vw.map_or("not measured".to_owned(), each),
        ]
    });
    let header = "stream|examples|`cognate learn --threads 1`|bare parse|Vowpal Wabbit";
    format!("{facts}.\n\n{}", table(header, rows))
}

fn percent(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!("{:.2}", 100.0 * share))
}

fn megabytes(bytes: f64) -> String {
    format!("{:.0}", bytes / 1e6)
}

/// A Markdown table; the header's cells are separated by `|`.
fn table(header: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let columns = header.split('|').count();
    let mut text = format!("| {} |\n|{}\n", header.replace('|', " | "), "---|".repeat(columns));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_markdown() {
        let rows = [vec!["1".to_owned(), "2".to_owned()]].into_iter();
        assert_eq!(table("a|b", rows), "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
