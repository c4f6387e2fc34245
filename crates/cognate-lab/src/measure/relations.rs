//! `cargo xtask relations`: is a learned relation worth having?
//!
//! Every classification set (unit rows, shuffled), LR11's opposed triple and the benchmark's stream of opposed groups
//! are learnt by independent Perceptrons, by `coupled` with b in {1, 4, 16, K}, by LR11's four rules with a small grid
//! of eta, and by `scale-free`. A second table compares `priming = "auto"` with fixed fractions. The promises are those
//! of docs/relations.md; exits 1 when one is broken.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use cognate::stream::synthetic::opposed_triple;
use cognate::stream::{Memory, Order};
use serde_json::{Value, json};

use crate::measure::bench::cluster_stream;
use crate::measure::relation_speed::measure;
use crate::measure::sets::{self, error, load, run_once, task_count};
use crate::measure::{in_parallel, page, root};

/// What is measured.
#[derive(clap::Args)]
pub struct Options {
    /// `triple` and `groups` are the names of the generated ones
    #[command(flatten)]
    sets: sets::Options,
    /// Shuffles of every set
    #[arg(long, value_name = "N", default_value_t = 5)]
    seeds: u64,
    /// Leave the rules of LR11 out, which take most of the time
    #[arg(long)]
    quick: bool,
    /// Only measure what a round costs, in this many runs
    #[arg(long, value_name = "RUNS")]
    speed: Option<usize>,
    /// Put the tables into docs/relations.md
    #[arg(long)]
    write: bool,
}

/// The sets on which priming is compared.
const PRIMED: [&str; 5] = ["school", "spam_b", "sentiment16", "tdt2", "news20"];
const FRACTIONS: [&str; 4] = ["10%", "30%", "50%", "70%"];

/// How far `scale-free` may err above independent learners, and on most sets above the best fixed strength; and how far
/// "auto" may err above the best fraction.
const ABOVE_INDEPENDENT: f64 = 0.02;
const ABOVE_COUPLED: f64 = 0.03;
const ABOVE_FRACTION: f64 = 0.02;

/// The largest error allowed for `scale-free` on the stream of groups.
const GROUPS_LIMIT: f64 = 0.25;

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let page_path = root().join("docs/relations.md");
    if let Some(runs) = options.speed {
        let (table, kept) = measure(runs.max(1))?;
        println!("{table}");
        if options.write {
            page::publish(&page_path, "speed", &table)?;
        }
        return Ok(kept);
    }
    let mut report = Report { seeds: options.seeds, quick: options.quick, ..Report::default() };
    report.head();
    if "triple".contains(&options.sets.only) {
        report.triple()?;
    }
    if "groups".contains(&options.sets.only) {
        // In the order of the file, which is random.
        report.row("groups", &[load(&cluster_stream()?)?], true)?;
    }
    sets::for_each(&options.sets, |name, stream| {
        let shuffled: Vec<Memory> =
            (1..=options.seeds).map(|seed| stream.clone().ordered(Order::Shuffle, seed, false)).collect();
        report.row(name, &shuffled, false)?;
        if PRIMED.contains(&name) {
            report.primed(name, stream)?;
        }
        Ok(())
    })?;
    if report.sets == 0 {
        bail!("--only {}: no set has this in its name", options.sets.only);
    }
    report.finish();
    if options.write {
        page::publish(&page_path, "relations", &report.table)?;
        page::publish(&page_path, "priming", &report.priming)?;
    }
    Ok(report.broken == 0)
}

/// The learners of a row, those with a given relation first.
fn learners(tasks: usize, quick: bool) -> Vec<Value> {
    let coupled = |b: usize| json!({"perceptron": {"interaction": {"coupled": {"b": b}}}});
    let mut all: Vec<Value> = [0, 1, 4, 16, tasks].into_iter().map(coupled).collect();
    let rule = |relation: &str, eta: Option<f64>| {
        let mut parameters = json!({"relation": relation, "priming": "10%"});
        if let Some(eta) = eta {
            parameters["eta"] = json!(eta);
        }
        json!({"relation-perceptron": parameters})
    };
    if !quick {
        all.extend([1e-4, 1e-3, 1e-2].map(|eta| rule("log-det", Some(eta))));
        all.extend([1e-5, 1e-4, 1e-3].map(|eta| rule("von-neumann", Some(eta))));
        all.extend([rule("covariance", None), rule("batch-optimal", None)]);
    }
    all.push(json!("relation-perceptron"));
    all.push(json!({"relation-perceptron": {"relation": "scale-free"}}));
    all
}

/// How many learners of a row have a given relation.
const GIVEN: usize = 5;

#[derive(Default)]
struct Report {
    seeds: u64,
    quick: bool,
    table: String,
    priming: String,
    sets: usize,
    broken: usize,
    /// Real sets, and those on which `scale-free` is near the best fixed strength.
    real: usize,
    near: usize,
}

impl Report {
    fn say(table: &mut String, line: &str) {
        println!("{line}");
        let _ = writeln!(table, "{line}");
    }

    fn head(&mut self) {
        let rules = if self.quick {
            String::new()
        } else {
            " log-det 1e-4 | 1e-3 | 1e-2 | von-neumann 1e-5 | 1e-4 | 1e-3 | covariance | batch-optimal |"
                .to_owned()
        };
        let columns = GIVEN + if self.quick { 0 } else { 8 } + 6;
        Self::say(
            &mut self.table,
            &format!(
                "| set | K | b = 0 | 1 | 4 | 16 | K |{rules} log-det, auto | scale-free | to independent | to the best b |"
            ),
        );
        Self::say(&mut self.table, &format!("|{}", "---|".repeat(columns)));
        let _ = writeln!(self.priming, "| set | 10 % | 30 % | 50 % | 70 % | auto | to the best |");
        let _ = writeln!(self.priming, "|---|---|---|---|---|---|---|");
    }

    /// LR11's Synthetic, 20 streams.
    fn triple(&mut self) -> Result<()> {
        let streams: Vec<Memory> = (1..=20).map(|seed| opposed_triple(seed).stream).collect();
        self.row("triple", &streams, true)
    }

    /// Measures a set on several streams; on `related` ones, the learned relation must win.
    fn row(&mut self, name: &str, streams: &[Memory], related: bool) -> Result<()> {
        let tasks = task_count(&streams[0]);
        let learners = learners(tasks, self.quick);
        let jobs: Vec<(&Value, &Memory)> =
            learners.iter().flat_map(|learner| streams.iter().map(move |stream| (learner, stream))).collect();
        let errors = in_parallel(&jobs, |(learner, stream)| {
            Ok(run_once(learner, (*stream).clone())?.metrics().total().error())
        })?;
        let means: Vec<f64> =
            errors.chunks(streams.len()).map(|runs| runs.iter().sum::<f64>() / runs.len() as f64).collect();
        let (free, best) = (means[means.len() - 1], best(&means[..GIVEN]));
        let (to_independent, to_best) = (free / means[0] - 1.0, free / best - 1.0);
        let kept = if related {
            to_best < 0.0 && (name != "groups" || free < GROUPS_LIMIT)
        } else {
            self.real += 1;
            self.near += usize::from(to_best <= ABOVE_COUPLED);
            to_independent <= ABOVE_INDEPENDENT
        };
        self.sets += 1;
        self.broken += usize::from(!kept);
        let shown: Vec<String> = means.iter().map(|error| format!("{:.2}", 100.0 * error)).collect();
        let line = format!(
            "| {name} | {tasks} | {} | {:+.1} % | {:+.1} % |",
            shown.join(" | "),
            100.0 * to_independent,
            100.0 * to_best,
        );
        Self::say(&mut self.table, &line);
        if !kept {
            println!("BROKEN: {name}");
        }
        Ok(())
    }

    fn primed(&mut self, name: &str, stream: &Memory) -> Result<()> {
        let learner = |priming: &&str| json!({"relation-perceptron": {"priming": priming}});
        let all: Vec<Value> = FRACTIONS.iter().chain(&["auto"]).map(learner).collect();
        let means = in_parallel(&all, |learner| error(stream, learner, self.seeds))?;
        let gap = means[FRACTIONS.len()] / best(&means[..FRACTIONS.len()]) - 1.0;
        let kept = gap <= ABOVE_FRACTION;
        self.broken += usize::from(!kept);
        let shown: Vec<String> = means.iter().map(|error| format!("{:.2}", 100.0 * error)).collect();
        let _ = writeln!(self.priming, "| {name} | {} | {:+.1} % |", shown.join(" | "), 100.0 * gap);
        if !kept {
            println!("BROKEN: {name}, priming");
        }
        Ok(())
    }

    fn finish(&mut self) {
        let (near, real) = (self.near, self.real);
        let within = 100.0 * ABOVE_COUPLED;
        Self::say(
            &mut self.table,
            &format!("\n`scale-free` is within {within} % of the best b on {near} of {real} sets."),
        );
        if real > 0 && 2 * near <= real {
            self.broken += 1;
        }
        println!("\npriming (`log-det`, its default eta):\n\n{}", self.priming);
        println!("{}", if self.broken == 0 { "The promises are kept." } else { "A promise is broken." });
    }
}

fn best(errors: &[f64]) -> f64 {
    errors.iter().copied().fold(f64::INFINITY, f64::min)
}
