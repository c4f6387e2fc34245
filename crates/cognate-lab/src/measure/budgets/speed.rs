//! How fast are learners in fixed memory, compared with kernel blocks of the same size computed in one call?
//!
//! Only computing counts, on data in memory: for ours, one pass in which every example is predicted and learnt, on one
//! thread; for the others, one call of scikit-learn's `rbf_kernel` (on an array, or on a sparse matrix where that is
//! faster) or one product of scipy's sparse matrices, for all n rows and the first B, with their default threads. All run
//! once per round, so that what disturbs the machine disturbs all.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cognate::internal::generator;
use cognate::stream::Memory;
use cognate::{LearnerConfig, Tasks};
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};

use super::{LEARNERS, Options, Set, counts, independent, publish, share_of};
use crate::measure::bench::{self, median};
use crate::measure::root;
use crate::measure::sets::task_count;

/// The budget's share of what independent Perceptrons keep.
const SHARE: f64 = 0.05;

/// How many times as long as a block `budget-random` may take, and a projectron as long as `budget-random`.
const LIMIT: f64 = 2.0;
const PROJECTRON_LIMIT: f64 = 10.0;

/// Measures; returns whether the limits are kept.
pub(super) fn run(options: &Options) -> Result<bool> {
    let scikit_learn = bench::scikit_learn()?;
    let mut text = format!("{}. Minimum (median) of {} rounds.\n\n", scikit_learn.facts, options.runs);
    let mut kept = true;
    let contests = [("school", "`rbf_kernel`"), ("sentiment", "scipy CSR product")];
    for (name, block) in contests.into_iter().filter(|contest| contest.0.contains(&options.only)) {
        let set = Set::named(name)?;
        let contest = Contest::hold(options, &scikit_learn.python, set)?;
        let (table, fits) = contest.table(set, block);
        text += &table;
        kept &= fits;
    }
    println!("{text}");
    println!("{}", if kept { "The limits are kept." } else { "A limit is broken." });
    publish(options, "speed", &text)?;
    Ok(kept)
}

/// Seconds of one run.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
}

/// One of the two times.
type Figure = fn(&Cost) -> f64;

/// The times of all contestants on a set, one run per round.
struct Contest {
    rows: usize,
    budget: u64,
    block: Vec<Cost>,
    /// In the order of [`LEARNERS`].
    ours: Vec<Vec<Cost>>,
}

impl Contest {
    fn hold(options: &Options, python: &std::path::Path, set: &Set) -> Result<Self> {
        let (stream, kernel) = (shuffled(&set.load(options)?), set.kernel()?);
        let tasks = task_count(&stream);
        let budget = share_of(counts(&independent(&kernel), tasks, stream.clone())?.mistakes, SHARE);
        let gamma = kernel["gaussian"]["gamma"].as_f64();
        let mut peer = Peer::start(python, &set.path(options), budget, gamma)?;
        let mut contest =
            Self { rows: stream.len(), budget, block: Vec::new(), ours: vec![Vec::new(); LEARNERS.len()] };
        for round in 1..=options.runs {
            eprintln!("{}: round {round} of {}", set.name, options.runs);
            contest.block.push(peer.turn()?);
            for (id, costs) in LEARNERS.iter().zip(&mut contest.ours) {
                let learner = json!({*id: {"graph": "complete", "kernel": kernel, "budget": budget}});
                costs.push(pass(&learner, tasks, &stream)?);
            }
        }
        ensure!(peer.rows == stream.len() as u64, "{}: the peer has {} rows", set.name, peer.rows);
        Ok(contest)
    }

    /// The table of a set, and whether the limits are kept.
    fn table(&self, set: &Set, block: &str) -> (String, bool) {
        let mut text = format!(
            "**{}**, n = {}, B = {}, kernel `{}`\n\n| | wall ms | CPU ms | ratio of wall | ratio of CPU |\n\
             |---|---|---|---|---|\n",
            set.name, self.rows, self.budget, set.kernel
        );
        let (wall, cpu): (Figure, Figure) = (|cost| cost.wall, |cost| cost.cpu);
        let shown = |costs: &[Cost], figure: Figure| {
            let values: Vec<f64> = costs.iter().map(|cost| 1e3 * figure(cost)).collect();
            format!("{:.1} ({:.1})", least(costs, figure) * 1e3, median(values))
        };
        let _ =
            writeln!(text, "| {block} | {} | {} | | |", shown(&self.block, wall), shown(&self.block, cpu));
        let mut kept = true;
        for (at, (id, costs)) in LEARNERS.iter().zip(&self.ours).enumerate() {
            let (against, name) =
                if at == 0 { (&self.block, block) } else { (&self.ours[0], "`budget-random`") };
            let limit = match *id {
                "budget-random" => Some(LIMIT),
                "budget-projectron" | "budget-shared-projectron" => Some(PROJECTRON_LIMIT),
                _ => None,
            };
            let ratio = |figure: Figure| least(costs, figure) / least(against, figure);
            let fits = limit.is_none_or(|limit| ratio(wall) <= limit);
            kept &= fits;
            let _ = writeln!(
                text,
                "| `{id}` | {} | {} | {:.2} of {name} | {:.2} |",
                shown(costs, wall),
                shown(costs, cpu),
                ratio(wall),
                ratio(cpu),
            );
            if let Some(limit) = limit.filter(|_| !fits) {
                println!("FAIL: {}: `{id}` takes {:.2} of {name}, at most {limit}", set.name, ratio(wall));
            }
        }
        (text + "\n", kept)
    }
}

fn least(costs: &[Cost], figure: Figure) -> f64 {
    costs.iter().map(figure).fold(f64::INFINITY, f64::min)
}

/// The examples in another order, contiguous in memory.
fn shuffled(stream: &Memory) -> Memory {
    let mut examples: Vec<_> = stream.examples().collect();
    examples.shuffle(&mut generator(1, 0));
    let mut shuffled = Memory::new();
    examples.into_iter().for_each(|(task, example)| shuffled.push(task, example));
    shuffled
}

/// One pass of a learner over a stream in memory: every example is predicted and learnt.
fn pass(learner: &Value, tasks: usize, stream: &Memory) -> Result<Cost> {
    let config: LearnerConfig = serde_json::from_value(learner.clone())?;
    let mut learner = config.build(&Tasks::numbered(tasks))?;
    let learner = learner.as_learn_one();
    let (start, cpu) = (Instant::now(), thread_seconds()?);
    let updates = stream.examples().filter(|(_, example)| learner.learn(*example).updated).count();
    let cost = Cost { wall: start.elapsed().as_secs_f64(), cpu: thread_seconds()? - cpu };
    ensure!(updates > 0, "nothing was learnt");
    Ok(cost)
}

/// Seconds that this thread has run on a processor.
fn thread_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("the time of a thread")?;
    let nanoseconds: f64 =
        text.split(' ').next().unwrap_or_default().parse().context("the time of a thread")?;
    Ok(nanoseconds * 1e-9)
}

/// The Python process that computes one block per request.
struct Peer {
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
    rows: u64,
}

impl Peer {
    fn start(
        python: &std::path::Path,
        data: &std::path::Path,
        budget: u64,
        gamma: Option<f64>,
    ) -> Result<Self> {
        let mut command = Command::new(python);
        command
            .arg(root().join("crates/cognate-lab/src/measure/budgets/blocks.py"))
            .arg(data)
            .arg(budget.to_string());
        command.args(gamma.map(|gamma| gamma.to_string()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("python")?;
        let orders = child.stdin.take().context("python has no input")?;
        let replies = BufReader::new(child.stdout.take().context("python has no output")?);
        let mut peer = Self { child, orders, replies, rows: 0 };
        peer.rows = peer.reply()?["rows"].as_u64().context("no rows")?;
        Ok(peer)
    }

    fn reply(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        serde_json::from_str(&line).context("blocks.py has stopped")
    }

    fn turn(&mut self) -> Result<Cost> {
        writeln!(self.orders, "go").context("blocks.py has stopped")?;
        let reply = self.reply()?;
        let seconds = |name: &str| reply[name].as_f64().with_context(|| format!("no {name} in {reply}"));
        Ok(Cost { wall: seconds("wall")?, cpu: seconds("cpu")? })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It would end with its input anyway; if it cannot be killed, it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
