//! `cargo xtask bench --accuracy`: does `adaptive` make the fewest mistakes, with no parameter given?
//!
//! Every classification set (unit rows, shuffled with one seed) and every stream is learnt once by every learner and by
//! Vowpal Wabbit, each with its defaults, on the same examples in the same order. VW gets shared features (`f`), per-task
//! features (`-q tf` without `f`), and both; with the logistic loss, and for comparison with its default, the squared one.
//! Every number follows from the predictions before learning: VW's by `-p`, ours by an observer.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cognate::algorithms::{About, CostClass, Protocol};
use cognate::stream::{Batch, Input, Memory, Order, ReadOptions, Stream as _};
use cognate::{REGISTRY, RunConfig};
use serde_json::json;

use super::figures::{Figures, our_figures, vw_figures};
use super::files::{Folders, generated};
use super::peers::{Peer, Peers};
use super::presets::PRESETS;
use super::probabilities::Probabilities;
use crate::measure::sets::{self, run_once, task_count};

/// Shared features, per-task features, both.
pub(super) const FORMS: [(&str, &[&str]); 3] =
    [("shared", &["--ignore", "t"]), ("own", &["-q", "tf", "--ignore_linear", "f"]), ("both", &["-q", "tf"])];

/// Longer streams are only for learners whose round takes O(s).
const LONG: usize = 100_000;

/// The promises: on this share of the sets, an error of at most that of VW with both, and near the best of our own;
/// nowhere farther above the best form of VW than this. The last is what counts as near.
const MOSTLY: f64 = 0.8;
const ABOVE_VW: f64 = 0.03;
const ABOVE_OURS: f64 = 0.02;

#[derive(Default)]
struct Tally {
    sets: usize,
    at_most_both: usize,
    near_ours: usize,
    worst: f64,
    /// Where `adaptive` errs more often, those not counted among them.
    behind_vw: Vec<String>,
    behind_ours: Vec<String>,
}

impl Tally {
    fn losses(&self) -> String {
        let shown = |behind: &[String]| {
            if behind.is_empty() { "nowhere".to_owned() } else { format!("on {}", behind.join(", ")) }
        };
        format!(
            "A form of VW, with either loss, errs less often than `adaptive` {}. Another of our learners errs less often {}.",
            shown(&self.behind_vw),
            shown(&self.behind_ours),
        )
    }
}

/// Measures; returns the table, and whether the promises are kept.
pub(super) fn measure(
    folders: &Folders,
    peers: &Peers,
    only: &str,
    from: Option<&Path>,
) -> Result<(String, bool)> {
    ensure!(peers.has(Peer::VowpalWabbit), "--accuracy: Vowpal Wabbit is not installed");
    let mut text = String::new();
    say(
        &mut text,
        "| set | K | n | VW shared | own | both | squared, best | adaptive | best other | | to VW both | to VW's best | to our best |",
    );
    say(&mut text, &format!("|{}", "---|".repeat(13)));
    let (mut tally, mut probabilities) = (Tally::default(), Probabilities::default());
    let options = sets::Options { data: folders.root.join("../shared/data"), only: String::new() };
    sets::for_each(&options, |name, stream| {
        if !name.contains(only) {
            return Ok(());
        }
        let mut shuffled = stream.clone().ordered(Order::Shuffle, 1, false);
        let stream = Memory::load(&mut shuffled)?;
        let vw = folders.bench.join("accuracy.vw");
        write_vw(&stream, &vw)?;
        let set = Set { name, stream: &stream, vw: &vw };
        row(folders, peers, &set, (&mut tally, true), &mut probabilities, &mut text)
    })?;
    let mut settings = Vec::new();
    for preset in PRESETS.iter().filter(|preset| preset.name.contains(only)) {
        let svm = match from {
            Some(folder) => folder.join(format!("{}.svm", preset.name)),
            None => generated(folders, preset, preset.rows)?,
        };
        let input = Input::File(svm.clone());
        let stream = RunConfig::default().reader(vec![input], ReadOptions::default())?.into_memory()?;
        let vw = folders.bench.join("accuracy.vw");
        write_vw(&stream, &vw)?;
        let name = format!("{} {}", preset.letter, preset.name);
        // The promises hold where all tasks form one group; the other stream is shown but not counted.
        let counted = preset.groups == 1;
        let set = Set { name: &name, stream: &stream, vw: &vw };
        row(folders, peers, &set, (&mut tally, counted), &mut probabilities, &mut text)?;
        settings.push((name, SETTINGS.iter().find(|setting| setting.stream == preset.letter), stream));
    }
    let share = |count: usize| count as f64 / tally.sets.max(1) as f64;
    let kept =
        share(tally.at_most_both) >= MOSTLY && tally.worst <= ABOVE_VW && share(tally.near_ours) >= MOSTLY;
    say(
        &mut text,
        &format!(
            "\nOf {} sets and streams, D not counted, `adaptive` errs at most as often as VW with both on {}, is at worst {:+.1} % from the \
             best form of VW with the logistic loss, and within {:.0} % of the best of our learners on {}.",
            tally.sets,
            tally.at_most_both,
            100.0 * tally.worst,
            100.0 * ABOVE_OURS,
            tally.near_ours,
        ),
    );
    say(&mut text, &format!("\n{}\n", tally.losses()));
    say(&mut text, &probabilities.table());
    println!("{}", if kept { "The promises are kept." } else { "A promise is broken." });
    let kept = with_settings(settings, &mut text)? && kept;
    Ok((text, kept))
}

/// What is tried on a stream, and what the best value must reach.
struct Setting {
    stream: char,
    parameter: &'static str,
    values: &'static [f64],
    /// Error in %, to one decimal: that of the best tuned peer on A, B and C, or less than this on D.
    at_most: f64,
}

const RATES: &[f64] = &[0.1, 0.3, 1.0, 3.0];
const SETTINGS: [Setting; 4] = [
    Setting { stream: 'A', parameter: "rate", values: RATES, at_most: 16.8 },
    Setting { stream: 'B', parameter: "rate", values: RATES, at_most: 18.9 },
    Setting { stream: 'C', parameter: "rate", values: RATES, at_most: 8.6 },
    Setting { stream: 'D', parameter: "groups", values: &[1.0, 2.0, 4.0, 8.0, 16.0], at_most: 20.9 },
];

/// Measures the streams with one parameter set; returns whether the best values reach what they must.
fn with_settings(streams: Vec<(String, Option<&Setting>, Memory)>, text: &mut String) -> Result<bool> {
    say(text, "\n| stream | set | error % | best |");
    say(text, "|---|---|---|---|");
    let mut kept = true;
    let mut verdicts = Vec::new();
    for (name, setting, stream) in streams {
        let Some(Setting { parameter, values, at_most, .. }) = setting else { continue };
        let mut errors = Vec::new();
        for value in *values {
            let value = if *parameter == "groups" { json!(*value as u64) } else { json!(value) };
            let learner = json!({ "adaptive": { *parameter: value } });
            let error = 100.0 * run_once(&learner, stream.clone())?.metrics().total().error();
            errors.push((value, error));
        }
        let best = errors.iter().map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
        // Rounded, since the peers' figures are known to one decimal.
        let reached = (10.0 * best).round() <= (10.0 * at_most).round();
        kept &= reached;
        let shown: Vec<String> = errors.iter().map(|(value, error)| format!("{value}: {error:.2}")).collect();
        say(text, &format!("| {name} | `{parameter}` | {} | {best:.2} |", shown.join(", ")));
        let verdict = if reached { "PASS" } else { "FAIL" };
        verdicts.push(format!("{name}: best {best:.2}, at most {at_most}: {verdict}"));
    }
    verdicts.iter().for_each(|verdict| println!("{verdict}"));
    Ok(kept)
}

fn say(text: &mut String, line: &str) {
    println!("{line}");
    let _ = writeln!(text, "{line}");
}

/// What is learnt: examples in memory, and the same in VW's form.
struct Set<'a> {
    name: &'a str,
    stream: &'a Memory,
    vw: &'a Path,
}

fn row(
    folders: &Folders,
    peers: &Peers,
    set: &Set<'_>,
    (tally, counted): (&mut Tally, bool),
    probabilities: &mut Probabilities,
    text: &mut String,
) -> Result<()> {
    let Set { name, stream, vw } = *set;
    let tasks = task_count(stream);
    let labels: Vec<f64> = stream.examples().map(|(_, example)| example.label).collect();
    let of_vw = |loss: &str| {
        FORMS
            .iter()
            .map(|(_, form)| vw_figures(folders, peers, vw, form, loss, &labels))
            .collect::<Result<Vec<Figures>>>()
    };
    let (of_logistic, of_squared) = (of_vw("logistic")?, of_vw("squared")?);
    let errors = |figures: &[Figures]| figures.iter().map(|one| one.error).collect::<Vec<f64>>();
    let (logistic, squared) = (errors(&of_logistic), errors(&of_squared));
    let least = |errors: &[f64]| errors.iter().copied().fold(f64::INFINITY, f64::min);
    let of_adaptive = our_figures("adaptive", stream)?;
    let adaptive = of_adaptive.error;
    let others = others(stream, tasks)?;
    let other = others.iter().min_by(|(a, _), (b, _)| a.error.total_cmp(&b.error));
    let other = other.map_or((f64::INFINITY, ""), |(figures, id)| (figures.error, *id));
    probabilities.add(name, &labels, &of_logistic, of_adaptive, &others);
    let best = least(&logistic);
    let to = |error: f64| format!("{:+.1} %", 100.0 * (adaptive / error - 1.0));
    let best_vw = best.min(least(&squared));
    tally.behind_vw.extend((best_vw < adaptive).then(|| format!("{name} ({})", to(best_vw))));
    tally.behind_ours.extend((other.0 < adaptive).then(|| format!("{name} ({}, {})", other.1, to(other.0))));
    if counted {
        tally.sets += 1;
        tally.at_most_both += usize::from(adaptive <= logistic[2]);
        tally.near_ours += usize::from(adaptive <= (1.0 + ABOVE_OURS) * other.0);
        tally.worst = tally.worst.max(adaptive / best - 1.0);
    }
    let percent = |error: f64| format!("{:.2}", 100.0 * error);
    let errors = [&logistic[..], &[least(&squared), adaptive, other.0]].concat();
    // The winner of the row is bold, and so are those shown as equal.
    let winner = percent(least(&errors));
    let bold = |shown: String| if shown == winner { format!("**{shown}**") } else { shown };
    let shown: Vec<String> = errors.iter().map(|error| bold(percent(*error))).collect();
    say(
        text,
        &format!(
            "| {name} | {tasks} | {} | {} | {} | {} | {} | {} |",
            stream.len(),
            shown.join(" | "),
            other.1,
            to(logistic[2]),
            to(best),
            to(other.0),
        ),
    );
    Ok(())
}

/// The figures of our other learners, those left out whose cost is too high.
fn others(stream: &Memory, tasks: usize) -> Result<Vec<(Figures, &'static str)>> {
    let mut others = Vec::new();
    let online = |about: &&About| about.id != "adaptive" && about.protocol != Protocol::Batch;
    for about in REGISTRY.iter().filter(online) {
        // The cost of keeping examples grows with the mistakes; learners of simultaneous rounds take O(K^2 s) for a round
        // of one example.
        let dear = about.keeps_examples
            || about.protocol == Protocol::AllTasks
            || about.most_tasks.is_some_and(|most| tasks > most)
            || (stream.len() > LONG && about.cost_class != CostClass::PerFeature);
        if !dear {
            others.push((our_figures(about.id, stream)?, about.id));
        }
    }
    Ok(others)
}

/// The examples in the order of the stream, in VW's form.
pub(super) fn write_vw(stream: &Memory, path: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(path).with_context(|| path.display().to_string())?);
    let (mut stream, mut batch) = (stream.clone(), Batch::default());
    loop {
        stream.fill(&mut batch)?;
        if batch.is_empty() {
            return Ok(out.flush()?);
        }
        for example in batch.examples() {
            write!(out, "{} |t u{} |f", if example.label > 0.0 { 1 } else { -1 }, example.task.index())?;
            for (feature, value) in example.features.iter() {
                write!(out, " {}:{value}", feature + 1)?;
            }
            writeln!(out)?;
        }
    }
}
