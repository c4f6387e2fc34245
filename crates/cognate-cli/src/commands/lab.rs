//! `cognate lab`: the papers' tables and figures, ours beside theirs.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use cognate::internal::nearest_names;
use serde_json::json;

use crate::args::{LabArgs, LabCommand, LabListArgs, LabRunArgs};
use crate::interrupt::Interrupt;
use crate::output::{self, CheckFailed, Interrupted, say};
use cognate_lab::parallel::Pool;
use cognate_lab::{Experiment, Findings, Lab, Record, Verdict, experiments};
use cognate_plot::numbers::duration;

/// Runs the command.
pub(crate) fn run(args: &LabArgs, quiet: bool) -> anyhow::Result<()> {
    match &args.command {
        LabCommand::List(args) => list(args),
        LabCommand::Run(args) => run_some(args, quiet),
    }
}

fn list(args: &LabListArgs) -> anyhow::Result<()> {
    let all = experiments();
    let record = Record::built_in();
    let verdict = |experiment: &Experiment| record.verdict(experiment.id, false);
    if args.json {
        let row = |experiment: &&Experiment| {
            json!({
                "id": experiment.id,
                "place": experiment.place,
                "claim": experiment.claim,
                "deviates": experiment.deviates,
                "verdict": verdict(experiment).map(|(verdict, ..)| verdict.to_string()),
                "explains": experiment.explains,
                "data": experiment.needs.iter().map(|set| set.name).collect::<Vec<_>>(),
                "missing": experiment.missing(&args.data).iter().map(|(_, file)| *file).collect::<Vec<_>>(),
                "minutes": { "quick": experiment.minutes.0, "full": experiment.minutes.1 },
            })
        };
        return output::print_json(&all.iter().map(row).collect::<Vec<_>>());
    }
    let mut text = String::new();
    for experiment in &all {
        let missing = experiment.missing(&args.data);
        let names: Vec<&str> = experiment.needs.iter().map(|set| set.name).collect();
        let data = match (names.is_empty(), missing.is_empty()) {
            (true, _) => "made up".to_owned(),
            (false, true) => format!("{}: here", names.join(", ")),
            (false, false) => format!("{}: not all here", names.join(", ")),
        };
        let (quick, full) = experiment.minutes;
        text += &format!(
            "{}\n  {}\n  {}\n{}  data {data}; about {quick} min with --quick, {full} min without\n\n",
            experiment.id,
            experiment.place,
            experiment.claim,
            on_record(experiment, &record),
        );
    }
    let known: Vec<_> = all.iter().filter_map(|experiment| verdict(experiment)).collect();
    let verdicts: Vec<Verdict> = known.iter().map(|(verdict, ..)| *verdict).collect();
    let claims: usize = known.iter().map(|(_, claims, _)| claims).sum();
    let less: usize = known.iter().map(|(.., less)| less.len()).sum();
    text += &format!("On record: {}; {} of {claims} claims reproduced\n", summary(&verdicts), claims - less);
    let here = all.iter().filter(|experiment| experiment.missing(&args.data).is_empty()).count();
    text += &format!(
        "{here} of {} can be run with the data in {folder}: cognate lab run ID --data {folder}",
        all.len(),
        folder = args.data.display(),
    );
    output::print(&text)
}

/// The verdict on record, and why not every claim came out.
fn on_record(experiment: &Experiment, record: &Record) -> String {
    let Some((verdict, claims, less)) = record.verdict(experiment.id, false) else {
        return "  no full run on record\n".to_owned();
    };
    let mut text = format!("  {verdict}: {} of {claims} claims\n", claims - less.len());
    for (claim, verdict) in &less {
        text += &format!("    {verdict}: {claim}\n");
    }
    if !less.is_empty() {
        text += &format!("  why: {}\n", experiment.explains);
    }
    text
}

/// How many there are of each verdict.
fn summary(verdicts: &[Verdict]) -> String {
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let counts: Vec<String> =
        Verdict::ALL.iter().map(|verdict| format!("{} {verdict}", count(*verdict))).collect();
    format!("{} of {} experiments", counts.join(", "), verdicts.len())
}

/// The name of all experiments together.
const ALL: &str = "all";

/// The experiments of these names, each once.
fn chosen(ids: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    let all = experiments();
    for id in ids {
        if id != ALL && all.iter().all(|experiment| experiment.id != id) {
            let known = nearest_names(id, all.iter().map(|experiment| experiment.id).chain([ALL]));
            bail!("no experiment is called {id:?}; known: {}", known.join(", "));
        }
    }
    let wanted = |experiment: &&Experiment| ids.iter().any(|id| id == ALL || id == experiment.id);
    Ok(all.into_iter().filter(wanted).collect())
}

fn run_some(args: &LabRunArgs, quiet: bool) -> anyhow::Result<()> {
    let chosen = chosen(&args.ids)?;
    if !args.ids.iter().any(|id| id == ALL) {
        chosen.iter().try_for_each(|experiment| refuse_without_data(experiment, &args.data))?;
    }
    std::fs::create_dir_all(&args.out).with_context(|| format!("--out {}", args.out.display()))?;
    let pool = Pool::new(args.threads, Interrupt::listen()?.flag(), quiet);
    let lab = Lab::new(args.data.clone(), args.quick, pool);
    let record = args.record.as_deref().map_or_else(|| Ok(Record::built_in()), Record::read)?;
    let (mut verdicts, mut worse, mut skipped) = (Vec::new(), Vec::new(), 0);
    for experiment in chosen {
        if !experiment.missing(&args.data).is_empty() {
            say(&format!("{}: skipped, not all of its data are in {}", experiment.id, args.data.display()));
            skipped += 1;
            continue;
        }
        let findings = run_one(experiment, args, &lab)?;
        verdicts.push(findings.verdict());
        let lost = record.worse(experiment.id, args.quick, &findings);
        worse.extend(lost.iter().map(|what| format!("{}: {what}", experiment.id)));
    }
    if skipped > 0 {
        say(&format!(
            "{skipped} experiments were skipped; `cognate lab list --data DIR` says which data they need"
        ));
    }
    if verdicts.len() > 1 {
        say(&summary(&verdicts));
    }
    if worse.is_empty() {
        return Ok(());
    }
    Err(CheckFailed(format!("verdicts worse than on record:\n  {}", worse.join("\n  "))).into())
}

/// Runs an experiment, writes what it finds into the folder, and prints it.
fn run_one(experiment: &Experiment, args: &LabRunArgs, lab: &Lab) -> anyhow::Result<Findings> {
    let started = Instant::now();
    let findings = match (experiment.run)(lab) {
        Err(error) if error.is::<Interrupted>() => {
            say(&format!(
                "interrupted in {}: what was finished before is in {}",
                experiment.id,
                args.out.display()
            ));
            return Err(error);
        }
        done => done.with_context(|| experiment.id.to_owned())?,
    };
    findings.write(experiment, args.quick, &args.out)?;
    output::print(&format!(
        "{}: {}\n{}\n\n{}\n",
        experiment.id,
        experiment.place,
        experiment.claim,
        findings.text().trim_end(),
    ))?;
    let time = duration(started.elapsed().as_secs_f64());
    say(&format!("{}: {}, {time}, written to {}", experiment.id, findings.verdict(), args.out.display()));
    Ok(findings)
}

fn refuse_without_data(experiment: &Experiment, data: &Path) -> anyhow::Result<()> {
    let missing = experiment.missing(data);
    if missing.is_empty() {
        return Ok(());
    }
    let mut wanted = String::new();
    for set in experiment.needs {
        let files: Vec<String> = (missing.iter())
            .filter(|(of, _)| of.name == set.name)
            .map(|(_, file)| format!("\n  {}", data.join(file).display()))
            .collect();
        if !files.is_empty() {
            wanted += &format!("{}\n    {}", files.concat(), set.source);
        }
    }
    wanted += "\n  *.svm.gz are lines `label qid:task index:value …`, compressed by gzip";
    bail!("{} needs files that are missing (--data DIR):{wanted}", experiment.id);
}
