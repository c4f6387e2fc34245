//! `cargo xtask fuzz --forge`: forged model files, one after the other, each refused or good for everything.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command of the project reports to the person who runs it"
)]

#[path = "../../../../crates/cognate/tests/it/support/forge/mod.rs"]
mod forge;
mod limits;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use forge::{Forger, Verdict, examine};
use limits::Watch;

/// Forged model files, one after the other.
#[derive(Parser)]
struct Arguments {
    /// How many
    #[arg(default_value = "1000000")]
    cases: u64,
    /// End after so many seconds, however many were tried
    #[arg(long)]
    seconds: Option<u64>,
    /// Number of the first case
    #[arg(long, default_value = "0")]
    first: u64,
    /// Write the first case to a file instead, and try it
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Threads
    #[arg(long, default_value = "2")]
    threads: u64,
}

thread_local! {
    /// Where the last panic of a thread was.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// Cases shown per message.
const SHOWN: usize = 3;

/// What was seen.
#[derive(Default)]
struct Seen {
    refused: u64,
    accepted: u64,
    overflowing: u64,
    slowest: (Duration, u64),
    /// Cases by the message of their panic.
    broken: BTreeMap<String, Vec<u64>>,
}

/// Exit codes: 0 done, 1 a promise was broken.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the workspace");
    let forger = Forger::new(&root.join("crates/cognate/tests/fixtures"));
    if let Some(path) = &arguments.write {
        std::fs::write(path, forger.forge(arguments.first)).expect("the file can be written");
        println!("{}: {:?}", path.display(), examine(&forger.forge(arguments.first)));
        return ExitCode::SUCCESS;
    }
    // Messages are told at the end, once each, with their places.
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
        PLACE.set(place.unwrap_or_default());
    }));
    let start = Instant::now();
    let next = AtomicU64::new(arguments.first);
    let end = arguments.first.saturating_add(arguments.cases);
    let watch = Watch::start(arguments.threads as usize);
    let seen: Vec<Seen> = thread::scope(|scope| {
        let worker = |thread| work(&forger, &next, end, arguments.seconds, &watch, thread);
        let workers: Vec<_> =
            (0..arguments.threads as usize).map(|thread| scope.spawn(move || worker(thread))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker catches panics")).collect()
    });
    report(&seen, &forger, start.elapsed())
}

fn work(
    forger: &Forger,
    next: &AtomicU64,
    end: u64,
    seconds: Option<u64>,
    watch: &Watch,
    thread: usize,
) -> Seen {
    let (mut seen, begun) = (Seen::default(), Instant::now());
    loop {
        let case = next.fetch_add(1, Ordering::Relaxed);
        if case >= end || seconds.is_some_and(|seconds| begun.elapsed().as_secs() >= seconds) {
            return seen;
        }
        let start = Instant::now();
        watch.begin(thread, case);
        let verdict = panic::catch_unwind(|| examine(&forger.forge(case)));
        watch.end(thread);
        seen.slowest = seen.slowest.max((start.elapsed(), case));
        match verdict {
            Ok(Verdict::Refused) => seen.refused += 1,
            Ok(Verdict::Accepted) => seen.accepted += 1,
            Ok(Verdict::Overflowing) => seen.overflowing += 1,
            Err(panic) => {
                let what = format!("{}: {}", PLACE.take(), message(&*panic));
                seen.broken.entry(what).or_default().push(case);
            }
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
}

fn report(seen: &[Seen], forger: &Forger, took: Duration) -> ExitCode {
    let (models, learners) = (forger.models(), BTreeSet::from_iter(forger.learners()).len());
    let sum = |count: fn(&Seen) -> u64| seen.iter().map(count).sum::<u64>();
    let (refused, accepted, overflowing) =
        (sum(|seen| seen.refused), sum(|seen| seen.accepted), sum(|seen| seen.overflowing));
    let mut broken = BTreeMap::<&str, Vec<u64>>::new();
    for (message, cases) in seen.iter().flat_map(|seen| &seen.broken) {
        broken.entry(message).or_default().extend(cases);
    }
    let failures: u64 = broken.values().map(|cases| cases.len() as u64).sum();
    let (slowest, case) = seen.iter().map(|seen| seen.slowest).max().unwrap_or_default();
    println!(
        "forge: {} cases of {models} models of {learners} learners in {:.0} s: {refused} refused, {accepted} accepted, \
         {overflowing} accepted with numbers so extreme that they overflow, {failures} broken; \
         the slowest took {:.0} ms (case {case}), memory at most {}",
        refused + accepted + overflowing + failures,
        took.as_secs_f64(),
        slowest.as_secs_f64() * 1e3,
        limits::most_memory().map_or_else(|| "unknown".to_owned(), |bytes| format!("{} MB", bytes >> 20)),
    );
    for (message, mut cases) in broken {
        cases.sort_unstable();
        let some: Vec<String> = cases.iter().take(SHOWN).map(u64::to_string).collect();
        eprintln!("broken {} times, cases {}, …: {message}", cases.len(), some.join(", "));
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
