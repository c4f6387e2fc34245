//! `cargo xtask bench --accuracy --groups`: are groups of tasks found, and does it matter how tasks are called or who comes first?
//!
//! Streams are the preset `cluster` with several seeds, and ready ones with the same groups; `adaptive` learns each once with
//! `groups = "auto"` and with given numbers of groups, and ten times more with tasks renamed at random and the stream begun at
//! another line. Whether the groups are the true ones is said by the adjusted Rand index, after 2,000 examples per task; tasks
//! that no strength with any other is known of are in a group of their own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cognate::stream::{Input, Memory, ReadOptions};
use cognate::{Model, RunConfig, TaskId};
use serde_json::{Value, json};

use super::files::Folders;
use super::presets::{self, Preset};
use super::random::Draws;
use super::streams;
use crate::measure::sets::run_once;

const GIVEN: [u64; 5] = [1, 2, 4, 8, 16];
/// Seeds of the streams that are learnt, of those whose groups are compared with the true ones, and of those with one group.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=4;
const COMPARED: std::ops::RangeInclusive<u64> = 1..=10;
const OF_ONE: std::ops::RangeInclusive<u64> = 1..=20;
const PERMUTATIONS: u64 = 10;
const EXAMPLES: u64 = 2000;

/// The tables.
pub(super) fn measure(folders: &Folders, ready: Option<&Path>) -> Result<String> {
    let preset = presets::named("cluster").map_err(anyhow::Error::msg)?;
    let mut text = String::new();
    say(&mut text, "| stream | auto | 1 | 2 | 4 | 8 | 16 | auto less best | renamed: mean | deviation |");
    say(&mut text, &format!("|{}", "---|".repeat(10)));
    for seed in SEEDS {
        let lines = generated(preset, seed, preset.rows)?;
        row(folders, &format!("`cluster`, seed {seed}"), &lines, &mut text)?;
    }
    let mut paths: Vec<_> = match ready {
        Some(folder) => fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "svm"));
    paths.sort();
    for path in paths {
        let lines = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        row(folders, &format!("other generator, {name}"), &lines, &mut text)?;
    }
    say(&mut text, &compared(folders, preset)?);
    say(&mut text, &of_one(folders, preset)?);
    Ok(text)
}

fn say(text: &mut String, line: &str) {
    println!("{line}");
    let _ = writeln!(text, "{line}");
}

fn generated(preset: &Preset, seed: u64, rows: u64) -> Result<String> {
    let mut bytes = Vec::new();
    streams::write_seeded(preset, seed, rows, &mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}

fn load(folders: &Folders, lines: &str) -> Result<Memory> {
    let path = folders.bench.join("groups.svm");
    fs::write(&path, lines).with_context(|| path.display().to_string())?;
    Ok(RunConfig::default().reader(vec![Input::File(path)], ReadOptions::default())?.into_memory()?)
}

fn learnt(groups: &Value, stream: &Memory) -> Result<Model> {
    run_once(&json!({ "adaptive": { "groups": groups } }), stream.clone())
}

fn error(model: &Model) -> f64 {
    100.0 * model.metrics().total().error()
}

fn row(folders: &Folders, name: &str, lines: &str, text: &mut String) -> Result<()> {
    let stream = load(folders, lines)?;
    let auto = error(&learnt(&json!("auto"), &stream)?);
    let given: Vec<f64> =
        GIVEN.iter().map(|groups| Ok(error(&learnt(&json!(groups), &stream)?))).collect::<Result<_>>()?;
    let renamed: Vec<f64> = (1..=PERMUTATIONS)
        .map(|seed| Ok(error(&learnt(&json!("auto"), &load(folders, &permuted(lines, seed))?)?)))
        .collect::<Result<_>>()?;
    let best = given.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = renamed.iter().sum::<f64>() / renamed.len() as f64;
    let square: f64 = renamed.iter().map(|error| (error - mean).powi(2)).sum();
    let deviation = (square / (renamed.len() as f64 - 1.0)).sqrt();
    let given: Vec<String> = given.iter().map(|error| format!("{error:.2}")).collect();
    say(
        text,
        &format!(
            "| {name} | {auto:.2} | {} | {:+.2} | {mean:.2} | {deviation:.2} |",
            given.join(" | "),
            auto - best
        ),
    );
    Ok(())
}

/// The same lines, with tasks renamed at random, from another line on and around.
fn permuted(lines: &str, seed: u64) -> String {
    let mut draws = Draws::new(seed, 0);
    let mut names: Vec<&str> = lines.lines().filter_map(task_of).collect();
    names.sort_unstable();
    names.dedup();
    let mut others = names.clone();
    for last in (1..others.len()).rev() {
        others.swap(last, draws.below(last as u64 + 1) as usize);
    }
    let other: BTreeMap<&str, &str> = names.into_iter().zip(others).collect();
    let all: Vec<&str> = lines.lines().collect();
    let start = draws.below(all.len().max(1) as u64) as usize;
    let mut text = String::with_capacity(lines.len());
    for line in all[start..].iter().chain(&all[..start]) {
        let mut words = line.splitn(3, ' ');
        if let (Some(label), Some(task), Some(rest)) = (words.next(), task_of(line), words.nth(1)) {
            let _ = writeln!(text, "{label} qid:{} {rest}", other[task]);
        }
    }
    text
}

fn task_of(line: &str) -> Option<&str> {
    line.split(' ').nth(1)?.strip_prefix("qid:")
}

/// How well the groups that are found are the true ones.
fn compared(folders: &Folders, preset: &Preset) -> Result<String> {
    let mut indices = Vec::new();
    for seed in COMPARED {
        let stream = load(folders, &generated(preset, seed, EXAMPLES * preset.tasks)?)?;
        let model = learnt(&json!("auto"), &stream)?;
        let truth = |task: TaskId| {
            let task: u64 = model.tasks().name(task).parse().unwrap_or(0) - 1;
            // Groups that are opposed are one group with two sides, and outliers are alone.
            if streams::is_outlier(preset, task) { preset.groups + task } else { task % (preset.groups / 2) }
        };
        let tasks = model.tasks().sorted();
        let true_groups: Vec<u64> = tasks.iter().map(|task| truth(*task)).collect();
        indices.push(adjusted_rand_index(&true_groups, &found(&model, &tasks)));
    }
    indices.sort_by(f64::total_cmp);
    let mean = indices.iter().sum::<f64>() / indices.len() as f64;
    let good = indices.iter().filter(|index| **index >= 0.9).count();
    Ok(format!(
        "\nAdjusted Rand index of the groups that `cognate relations` shows, `cluster` with seeds {} to {}, {EXAMPLES} examples per task: \
         mean {mean:.3}, least {:.3}, at least 0.9 on {good} of {}.",
        COMPARED.start(),
        COMPARED.end(),
        indices[0],
        indices.len()
    ))
}

/// How often tasks of one group stay in one group.
fn of_one(folders: &Folders, preset: &Preset) -> Result<String> {
    let one = Preset { groups: 1, outliers: 0, ..*preset };
    let mut right = 0;
    for seed in OF_ONE {
        let stream = load(folders, &generated(&one, seed, EXAMPLES * one.tasks)?)?;
        let model = learnt(&json!("auto"), &stream)?;
        let learner = model.learner().as_inspect();
        let places = model.tasks().sorted().into_iter().filter_map(|task| learner.place(task));
        right += usize::from(places.into_iter().all(|place| place.group == 0));
    }
    Ok(format!(
        "\nThe same stream with one group in place of four and no outliers, seeds {} to {}: one group on {right} of {}.",
        OF_ONE.start(),
        OF_ONE.end(),
        OF_ONE.count()
    ))
}

/// The group of each task; tasks that nothing is known of are alone.
fn found(model: &Model, tasks: &[TaskId]) -> Vec<u64> {
    let learner = model.learner().as_inspect();
    let likeness = learner.likeness(tasks);
    let is_known = |at: usize| {
        likeness
            .as_ref()
            .is_some_and(|likeness| (0..tasks.len()).any(|other| likeness.pair(at, other).is_some()))
    };
    let group = |(at, task): (usize, &TaskId)| match learner.place(*task) {
        Some(place) if is_known(at) => place.group as u64,
        _ => u64::MAX - at as u64,
    };
    tasks.iter().enumerate().map(group).collect()
}

/// 1 if two partitions are the same, 0 in the mean for those that have nothing to do with each other (Hubert and Arabie 1985).
fn adjusted_rand_index(one: &[u64], other: &[u64]) -> f64 {
    let pairs = |keys: Vec<(u64, u64)>| -> f64 {
        let mut counts: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1.0);
        counts.values().map(|count| count * (count - 1.0) / 2.0).sum()
    };
    let both = pairs(one.iter().copied().zip(other.iter().copied()).collect());
    let [first, second] = [one, other].map(|groups| pairs(groups.iter().map(|group| (*group, 0)).collect()));
    let size = one.len() as f64;
    let chance = first * second / (size * (size - 1.0) / 2.0);
    let most = f64::midpoint(first, second);
    if most == chance { 1.0 } else { (both - chance) / (most - chance) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_compared_whatever_groups_are_called() {
        assert_eq!(adjusted_rand_index(&[0, 0, 1, 1], &[7, 7, 3, 3]), 1.0);
        assert_eq!(adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 2, 3]), 0.0);
        // By hand: 3 pairs in both, 3 and 4 of 10 pairs in one: by chance 1.2.
        let found = adjusted_rand_index(&[0, 0, 0, 1, 2], &[0, 0, 0, 1, 1]);
        assert!((found - (3.0 - 1.2) / (3.5 - 1.2)).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_permuted_stream_has_the_same_examples() {
        let lines = "+1 qid:1 1:0.5\n-1 qid:2 2:0.5 3:1\n+1 qid:1 3:0.5\n";
        let sorted = |text: &str, from: usize| {
            let mut rest: Vec<String> =
                text.lines().map(|line| line.split(' ').skip(from).collect::<Vec<_>>().join(" ")).collect();
            rest.sort();
            rest
        };
        for seed in 0..5 {
            let other = permuted(lines, seed);
            assert_eq!(sorted(&other, 2), sorted(lines, 2));
            assert_eq!(other.lines().filter_map(task_of).count(), 3);
        }
    }

    /// A few seeds; the command takes more.
    #[test]
    fn seeds_are_other_streams_of_the_same_family() {
        let preset = presets::named("cluster").unwrap();
        assert_ne!(generated(preset, 1, 20).unwrap(), generated(preset, 2, 20).unwrap());
    }
}
