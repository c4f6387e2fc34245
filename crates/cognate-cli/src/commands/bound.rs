//! `cognate bound`: the mistakes of a model beside those that the theorems allow.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cognate::bounds::{BestCoupling, Certificate, Comparator, Counted, DualComparator, Theorems, Transcript};
use cognate::model::ModelConfig;
use cognate::run::RunOptions;
use cognate::stream::{Order, ReadOptions, StreamConfig};
use cognate::{Model, RunConfig};
use serde_json::json;

use super::{check_inputs, inputs, load_model};
use crate::args::{BoundArgs, StreamArgs};
use crate::bad_lines::BadLineFile;
use crate::output::{self, CheckFailed, spinner, table};
use crate::settings::{differences, stream_config};
use cognate_plot::numbers::count;

/// Runs the command.
pub(crate) fn run(args: &BoundArgs, quiet: bool) -> anyhow::Result<()> {
    let model = load_model(&args.model)?;
    let config = &model.config();
    if !config.query.is_all() {
        bail!(
            "{}: not every label was asked for; the theorems are about learners that see every label",
            args.model.display()
        );
    }
    let theorems = Theorems::of(&config.learner, model.tasks(), config.features)?;
    let given = args.comparator.as_deref().map(|path| read_comparator(path, &model)).transpose()?;
    if let (Some(Given::Vectors(_)), Some(path), true) = (&given, &args.comparator, theorems.needs_dual()) {
        bail!(
            "{}: vectors; under this kernel comparators are dual coefficients: {DUAL}, as `cognate inspect --supports` \
             prints them",
            path.display()
        );
    }
    let bar = spinner(quiet).with_message("learning the stream again");
    let transcript = replay(args, &model)?;
    bar.set_message("computing the bounds");
    let (certificates, coupling) = match &given {
        Some(Given::Dual(comparator)) => (theorems.certify_dual(&transcript, comparator)?, None),
        Some(Given::Vectors(sequence)) => match &sequence[..] {
            [(_, comparator)] => certified(&theorems, &transcript, comparator)?,
            sequence => (theorems.certify_moving(&transcript, sequence)?, None),
        },
        None if theorems.needs_dual() => {
            (theorems.certify_dual(&transcript, &theorems.hindsight_dual(&transcript)?)?, None)
        }
        None => certified(&theorems, &transcript, &theorems.hindsight(&transcript)?)?,
    };
    bar.finish_and_clear();
    if args.json {
        output::print_json(&json!({
            "examples": transcript.len(),
            "mistakes": transcript.mistakes(),
            "comparator": args.comparator.as_ref().map_or("hindsight".into(), |path| path.display().to_string()),
            "certificates": certificates,
            "best_coupling": coupling,
        }))?;
    } else {
        output::print(&as_text(args, &transcript, &certificates, coupling))?;
    }
    let violated: Vec<&str> = certificates
        .iter()
        .filter(|certificate| !certificate.holds)
        .map(|certificate| certificate.name)
        .collect();
    if violated.is_empty() {
        Ok(())
    } else {
        Err(CheckFailed(format!("violated: {}", violated.join(", "))).into())
    }
}

fn certified(
    theorems: &Theorems,
    transcript: &Transcript,
    comparator: &Comparator,
) -> anyhow::Result<(Vec<Certificate>, Option<BestCoupling>)> {
    let certificates = theorems.certify(transcript, comparator)?;
    Ok((certificates, theorems.best_coupling(transcript, comparator)))
}

/// Learns the stream again from the start; it must be the one that the model was learnt from.
fn replay(args: &BoundArgs, model: &Model) -> anyhow::Result<Transcript> {
    let config = stream_of(model, &args.stream, &args.data)?;
    if config.order == Order::Adversarial {
        bail!("--order adversarial: bounds are computed for streams of which every example is served");
    }
    let sources = inputs(&args.data)?;
    check_inputs(&sources)?;
    let mut fresh = model.unlearnt()?;
    let mut bad_lines = BadLineFile::new(args.stream.bad_lines.as_deref())?;
    let read = ReadOptions::default().skip_bad(args.stream.skip_bad).bad_lines(bad_lines.for_reader()?);
    let memory = bad_lines.finish_with(fresh.reader(sources, read)?.into_memory())?;
    let mut stream = memory.ordered(config.order, config.seed, config.simultaneous);
    let options = RunOptions::of(&config);
    let transcript = Transcript::record(&mut fresh, &mut stream, &options)?;
    let (learnt, found) = (model.metrics().total(), fresh.metrics().total());
    if (learnt.mistakes, learnt.examples) != (found.mistakes, found.examples) {
        bail!(
            "the model counts {} mistakes on {} examples, this stream gives {} on {}: it is not the stream it was \
             learnt from, or not in its order (--order, --seed, --passes)",
            learnt.mistakes,
            learnt.examples,
            found.mistakes,
            found.examples,
        );
    }
    Ok(transcript)
}

/// How the model's stream was read: what the model keeps, and the flags for the rest.
fn stream_of(model: &Model, flags: &StreamArgs, data: &[PathBuf]) -> anyhow::Result<StreamConfig> {
    let base = model.run_config();
    let stream = stream_config(flags, data, json!({ "stream": base.stream }))?;
    let asked = ModelConfig::of(&RunConfig { stream: stream.clone(), ..base });
    let mut known = model.config().clone();
    known.seed = asked.seed;
    if asked != known {
        let (known, asked) = differences(&json!(known), &json!(asked));
        bail!("the model was learnt with {known}, but the flags say {asked}; leave them out");
    }
    Ok(stream)
}

/// The first line of vectors that move, and of dual coefficients.
const MOVING: &str = "from,task,feature,value";
const DUAL: &str = "round,task,coefficient";

/// What is compared with.
enum Given {
    /// Vectors, and the examples from which on they hold.
    Vectors(Vec<(usize, Comparator)>),
    Dual(DualComparator),
}

/// A comparator from CSV.
fn read_comparator(path: &Path, model: &Model) -> anyhow::Result<Given> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let header = text.lines().next().map(|line| line.trim_start_matches('\u{feff}').trim());
    match header {
        Some(DUAL) => Ok(Given::Dual(read_dual(path, &text)?)),
        _ => Ok(Given::Vectors(read_vectors(path, &text, header == Some(MOVING), model)?)),
    }
}

/// Dual coefficients: the number of an example, its task, a coefficient.
fn read_dual(path: &Path, text: &str) -> anyhow::Result<DualComparator> {
    let mut coefficients = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let at = || format!("{}:{}: {line:?}; expected {DUAL}", path.display(), number + 1);
        let (rest, coefficient) = line.rsplit_once(',').with_context(at)?;
        let (round, _) = rest.split_once(',').with_context(at)?;
        let round = round.trim().parse::<usize>().ok().filter(|round| *round > 0).with_context(at)?;
        let coefficient = coefficient.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        coefficients.push((round - 1, coefficient.with_context(at)?));
    }
    if coefficients.is_empty() {
        bail!("{}: no coefficient; expected lines {DUAL}", path.display());
    }
    Ok(DualComparator::new(coefficients))
}

/// Vectors: task, feature, value; or, in parts of increasing `from`, the example from which on they hold.
fn read_vectors(
    path: &Path,
    text: &str,
    moving: bool,
    model: &Model,
) -> anyhow::Result<Vec<(usize, Comparator)>> {
    let nothing = || vec![BTreeMap::new(); model.tasks().len()];
    let (mut parts, mut vectors, mut from): (Vec<(usize, Comparator)>, _, usize) = (Vec::new(), nothing(), 1);
    let mut place = 1;
    for (number, line) in text.lines().enumerate() {
        let at = || format!("{}:{}", path.display(), number + 1);
        place = number + 1;
        if line.trim().is_empty()
            || (number == 0 && (moving || line.trim_start_matches('\u{feff}') == "task,feature,value"))
        {
            continue;
        }
        let line = match line.split_once(',').filter(|_| moving) {
            None => line,
            Some((start, rest)) => {
                let start = start.trim().parse::<usize>().ok().filter(|start| *start >= from);
                let Some(start) = start else {
                    bail!(
                        "{}: from {:?}; expected the number of an example, {from} or more",
                        at(),
                        line.split(',').next().unwrap_or_default()
                    );
                };
                if start > from {
                    let before = std::mem::replace(&mut vectors, nothing());
                    parts.push((from - 1, Comparator::new(before)));
                    from = start;
                }
                rest
            }
        };
        let (task, feature, value) =
            split_row(line).with_context(|| format!("{}: {line:?}; expected task,feature,value", at()))?;
        let task = model.task(&task).with_context(at)?;
        let Some(feature) = model.feature(feature) else {
            let expected =
                if model.names().is_empty() { "a number from 1" } else { "a name that the model knows" };
            bail!("{}: feature {feature:?}; expected {expected}, or bias", at());
        };
        let number = value.parse::<f64>().ok().filter(|value| value.is_finite());
        let Some(number) = number else {
            bail!("{}: value {value:?}; expected a finite number", at());
        };
        if vectors[task.index()].insert(feature, number).is_some() {
            bail!("{}: the feature comes twice for this task", at());
        }
    }
    if parts.is_empty() && vectors.iter().all(BTreeMap::is_empty) {
        bail!("{}:{place}: no vector; expected lines task,feature,value", path.display());
    }
    parts.push((from - 1, Comparator::new(vectors)));
    Ok(parts)
}

/// Task, feature and value of a line; a task name may be quoted, and hold commas.
fn split_row(line: &str) -> Option<(String, &str, &str)> {
    let (rest, value) = line.rsplit_once(',')?;
    let (task, feature) = rest.rsplit_once(',')?;
    let task = match task.strip_prefix('"') {
        None => task.to_owned(),
        Some(quoted) => quoted.strip_suffix('"')?.replace("\"\"", "\""),
    };
    Some((task, feature.trim(), value.trim()))
}

fn as_text(
    args: &BoundArgs,
    transcript: &Transcript,
    certificates: &[Certificate],
    coupling: Option<BestCoupling>,
) -> String {
    let counted = match certificates.first().map(|certificate| certificate.counted) {
        Some(Counted::SharedLoss) => "shared loss",
        Some(Counted::PenalisedLoss) => "losses and penalties",
        _ => "mistakes",
    };
    let header = ["theorem", counted, "bound", "holds", "L", "D", "in advance", "right-hand side"];
    let rows = certificates.iter().map(|certificate| {
        let found = match certificate.counted {
            Counted::Mistakes => count(certificate.found as u64),
            _ => number(certificate.found),
        };
        vec![
            certificate.name.to_owned(),
            found,
            number(certificate.bound),
            match certificate {
                Certificate { holds: false, .. } => "NO",
                Certificate { vacuous: true, .. } => "vacuously",
                _ => "yes",
            }
            .to_owned(),
            number(certificate.loss),
            number(certificate.complexity),
            number(certificate.in_advance),
            certificate.formula.to_owned(),
        ]
    });
    let compared = match &args.comparator {
        Some(path) => format!("the vectors of {}", path.display()),
        None => "vectors found in hindsight".to_owned(),
    };
    let mut text = format!(
        "{} examples of {} tasks, compared with {compared}\n\n{}\n",
        count(transcript.len() as u64),
        count(transcript.tasks() as u64),
        table(&header, rows).trim_fmt(),
    );
    for certificate in certificates {
        let parts: Vec<String> =
            certificate.parts.iter().map(|part| format!("{} = {}", part.name, number(part.value))).collect();
        text += &format!("\n{}: {}", certificate.name, parts.join(", "));
        if certificate.counted == Counted::PenalisedLoss {
            let regret = certificate.found - certificate.loss;
            text += &format!("\nregret {}, at most {}", number(regret), number(certificate.complexity));
        }
    }
    if certificates.iter().any(|certificate| certificate.vacuous) {
        let examples = count(transcript.len() as u64);
        text += &format!(
            "\n\nvacuous bounds say nothing of this learner: {}",
            if certificates.iter().all(|certificate| certificate.complexity == 0.0) {
                format!(
                    "u = 0 loses 1 per mistake, and no vectors were found that promise fewer than {examples}"
                )
            } else {
                format!("they allow what is lost by a margin of 0 on all of {examples} examples, or more")
            }
        );
    }
    if let Some(BestCoupling { b, complexity, in_advance }) = coupling {
        text += &format!(
            "\n\nCorollary 4 with the best b for this comparator, b = {}: D = {}, in advance {}",
            number(b),
            number(complexity),
            number(in_advance),
        );
    }
    text
}

/// A number of any size with its significant digits.
fn number(value: f64) -> String {
    match value.abs() {
        _ if value.is_infinite() => "infinite".to_owned(),
        size if size == 0.0 || (0.001..1e7).contains(&size) => {
            let digits = if size < 1.0 {
                4
            } else if size < 100.0 {
                2
            } else {
                1
            };
            format!("{value:.digits$}")
        }
        _ => format!("{value:.3e}"),
    }
}
