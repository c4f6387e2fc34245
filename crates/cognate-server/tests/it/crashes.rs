//! What was acknowledged is there after a crash, whatever the disk has kept; and it is what learning it from the beginning gives.

use std::path::Path;

use cognate::{Model, RunConfig};
use cognate_server::entry::Key;
use cognate_server::examples::{Examples, Row, RowFeatures};
use cognate_server::failure::Code;
use cognate_server::live::{Answer, Durability, Engine, EngineOptions, Job, write_snapshot};
use cognate_store::world::{Trouble, World};
use cognate_store::{StoreError, StoreOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::oneshot;

/// A request, as often as it is needed.
#[derive(Debug, Clone)]
enum Request {
    Learn { rows: Vec<(u8, u8, bool)>, key: Option<u32> },
    Remember { id: u32, row: (u8, u8) },
    Label { id: u32, label: bool },
    Forget { task: u8 },
}

/// What came of a request.
enum Fate {
    Logged(Option<Answer>),
    Refused,
    Unknown,
}

type Waiting = (
    Request,
    Option<oneshot::Receiver<Result<Answer, cognate_server::failure::Failure>>>,
    Option<oneshot::Receiver<Result<u64, cognate_server::failure::Failure>>>,
);

fn examples(rows: &[(u8, u8, Option<bool>)], id: Option<&str>) -> Examples {
    let mut examples = Examples::default();
    for (task, feature, label) in rows {
        let (task, name) = (format!("t{task}"), format!("f{feature}"));
        let features = RowFeatures::Named(vec![(&name, 1.0), ("all", 0.5)]);
        let label = label.map(|label| if label { 1.0 } else { -1.0 });
        let beside = cognate::model::Beside::default();
        examples.push(&Row { task: Some(&task), label, id, beside, features });
    }
    examples
}

fn key(number: u32) -> Key {
    let mut key = Key { key: [0; 16], body: [1; 8] };
    key.key[..4].copy_from_slice(&number.to_le_bytes());
    key
}

impl Request {
    fn draw(rng: &mut SmallRng, next: &mut u32) -> Self {
        *next += 1;
        match rng.random_range(0..12) {
            0 | 1 => Self::Remember { id: *next, row: (rng.random_range(0..5), rng.random_range(0..9)) },
            2 | 3 => {
                Self::Label { id: rng.random_range(next.saturating_sub(12)..=*next), label: rng.random() }
            }
            4 => Self::Forget { task: rng.random_range(0..5) },
            _ => {
                let row = |rng: &mut SmallRng| (rng.random_range(0..5), rng.random_range(0..9), rng.random());
                let rows = (0..rng.random_range(1..4)).map(|_| row(rng)).collect();
                Self::Learn { rows, key: rng.random_bool(0.4).then_some(*next) }
            }
        }
    }

    fn job(self) -> (Job, Waiting) {
        let (reply, answer) = oneshot::channel();
        let (whose, time) = (String::new(), 7);
        match &self {
            Self::Learn { rows, key: number } => {
                let rows: Vec<_> =
                    rows.iter().map(|(task, feature, label)| (*task, *feature, Some(*label))).collect();
                let job = Job::Learn { examples: examples(&rows, None), key: number.map(key), time, reply };
                (job, (self, Some(answer), None))
            }
            Self::Remember { id, row } => {
                let examples = examples(&[(row.0, row.1, None)], Some(&id.to_string()));
                (Job::Remember { whose, examples, time }, (self, None, None))
            }
            Self::Label { id, label } => {
                let labels = vec![(id.to_string(), if *label { 1.0 } else { -1.0 })];
                (Job::Label { whose, labels, key: None, time, reply }, (self, Some(answer), None))
            }
            Self::Forget { task } => {
                let (reply, answer) = oneshot::channel();
                (Job::Forget { task: format!("t{task}"), time, reply }, (self, None, Some(answer)))
            }
        }
    }
}

/// Runs a group; what came of each request.
fn run(engine: &mut Engine<World>, group: Vec<Request>) -> Vec<(Request, Fate)> {
    let (jobs, waiting): (Vec<Job>, Vec<Waiting>) = group.into_iter().map(Request::job).unzip();
    engine.run(jobs);
    let alive = engine.stopped().is_none();
    let fate = |(request, answer, forgotten): Waiting| {
        let fate = match (answer, forgotten) {
            (Some(mut answer), _) => match answer.try_recv().unwrap() {
                Ok(told) if told.margins.is_empty() => Fate::Refused,
                Ok(told) => Fate::Logged(Some(told)),
                Err(failure) if failure.code == Code::Unavailable => Fate::Unknown,
                Err(_) => Fate::Refused,
            },
            (_, Some(mut answer)) => match answer.try_recv().unwrap() {
                Ok(_) => Fate::Logged(None),
                Err(failure) if failure.code == Code::Unavailable => Fate::Unknown,
                Err(_) => Fate::Refused,
            },
            _ if alive => Fate::Logged(None),
            _ => Fate::Unknown,
        };
        (request, fate)
    };
    waiting.into_iter().map(fate).collect()
}

fn options(durability: Durability) -> EngineOptions {
    let store = StoreOptions { segment_bytes: 3000 };
    EngineOptions { durability, store, max_pending: 8, ..EngineOptions::default() }
}

fn model() -> Model {
    Model::new(&RunConfig::default()).unwrap()
}

const DATA: &str = "data";

fn bytes(engine: &Engine<World>) -> Vec<u8> {
    engine.state().read().model.to_bytes()
}

/// What clients know.
#[derive(Default)]
struct Known {
    /// Requests in the order of the log; the last ones may not be in it.
    asked: Vec<Request>,
    /// How many of them were acknowledged.
    acknowledged: usize,
    /// Answers to requests with keys.
    answers: Vec<(Request, Answer)>,
}

/// Asks until something goes wrong, or enough was asked.
fn live(engine: &mut Engine<World>, rng: &mut SmallRng, next: &mut u32, known: &mut Known, groups: u32) {
    let mut unwritten = None;
    for _ in 0..groups {
        // A snapshot is written while learning goes on.
        if let Some(begun) = unwritten.take_if(|_| rng.random_bool(0.3)) {
            if write_snapshot(&begun).and_then(|seq| engine.finish_snapshot(seq)).is_err() {
                return;
            }
        } else if unwritten.is_none() && rng.random_range(0..8) == 0 {
            match engine.begin_snapshot() {
                Ok(begun) => unwritten = begun,
                Err(_) => return,
            }
        }
        if unwritten.is_none() && rng.random_range(0..10) == 0 && engine.save_snapshot().is_err() {
            return;
        }
        let group = (0..rng.random_range(1..5)).map(|_| Request::draw(rng, next)).collect();
        for (request, fate) in run(engine, group) {
            match fate {
                Fate::Refused => {}
                Fate::Unknown => known.asked.push(request),
                Fate::Logged(answer) => {
                    known.asked.push(request.clone());
                    known.acknowledged = known.asked.len();
                    if let (Request::Learn { key: Some(_), .. }, Some(answer)) = (&request, answer) {
                        known.answers.push((request, answer));
                    }
                }
            }
        }
        if engine.stopped().is_some() {
            return;
        }
    }
}

/// Opens the folder again, and holds what is there against what clients know; how many acknowledged requests were lost.
fn recover(world: &World, known: &mut Known, durability: Durability) -> (Engine<World>, usize) {
    let (mut engine, _) = Engine::open(world.clone(), Path::new(DATA), options(durability)).unwrap();
    let there = engine.seq() as usize;
    assert!(there <= known.asked.len(), "{there} entries of {}", known.asked.len());
    let lost = known.acknowledged.saturating_sub(there);
    known.asked.truncate(there);
    known.acknowledged = there;
    known.answers.retain(|(_, answer)| answer.seq <= there as u64);
    let fresh = World::new(0);
    let mut replayed = Engine::create(fresh, Path::new(DATA), model(), options(Durability::Always)).unwrap();
    for request in &known.asked {
        let fates = run(&mut replayed, vec![request.clone()]);
        assert!(matches!(fates[0].1, Fate::Logged(_)), "{request:?}");
    }
    assert!(bytes(&engine) == bytes(&replayed), "the model is not what its entries make of it");
    assert_eq!(engine.pending(), replayed.pending());
    // A request that comes again is answered as the first time, and teaches nothing.
    for (request, answer) in known.answers.iter().rev().take(3) {
        let (before, fates) = (bytes(&engine), run(&mut engine, vec![request.clone()]));
        assert!(matches!(&fates[0].1, Fate::Logged(Some(again)) if again == answer), "{request:?}");
        assert!(bytes(&engine) == before && engine.seq() == there as u64);
    }
    (engine, lost)
}

/// Several lives, each of which ends in trouble; acknowledged requests that were lost.
fn lives(world: &World, seed: u64, durability: Durability, trouble: impl Fn(u64, u64) -> Trouble) -> usize {
    let (mut rng, mut known, mut next) = (SmallRng::seed_from_u64(seed), Known::default(), 0);
    let created: Result<Engine<World>, StoreError> =
        Engine::create(world.clone(), Path::new(DATA), model(), options(durability));
    let mut engine = created.unwrap();
    let mut lost = 0;
    for _ in 0..3 {
        world.trouble(trouble(world.calls(), rng.random_range(1..160)));
        live(&mut engine, &mut rng, &mut next, &mut known, 25);
        drop(engine);
        world.restart();
        let (recovered, gone) = recover(world, &mut known, durability);
        (engine, lost) = (recovered, lost + gone);
    }
    lost
}

#[test]
fn nothing_acknowledged_is_lost_in_a_crash() {
    for seed in 0..60 {
        let lost =
            lives(&World::new(seed), seed, Durability::Always, |calls, after| Trouble::Crash(calls + after));
        assert_eq!(lost, 0, "seed {seed}");
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_a_call_fails() {
    for seed in 0..60 {
        let lost =
            lives(&World::new(seed), seed, Durability::Always, |calls, after| Trouble::Fail(calls + after));
        assert_eq!(lost, 0, "seed {seed}");
    }
}

/// The test would notice a log that acknowledges before it syncs.
#[test]
fn syncs_that_lie_are_caught() {
    let caught = (0..20).filter(|seed| {
        let world = World::that_lies(*seed);
        let tried = std::panic::catch_unwind(|| {
            lives(&world, *seed, Durability::Always, |calls, after| Trouble::Crash(calls + after))
        });
        tried.map_or(true, |lost| lost > 0)
    });
    assert!(caught.count() >= 15);
}

/// Answers that come before the disk may be lost, but what is there is a beginning of what was asked.
#[test]
fn what_is_not_durable_is_lost_from_the_end() {
    for durability in [Durability::Interval, Durability::None] {
        let lost: usize = (0..20)
            .map(|seed| {
                lives(&World::new(seed), seed, durability, |calls, after| Trouble::Crash(calls + after))
            })
            .sum();
        assert!(lost > 0, "{durability:?} promises less, and is tested so");
    }
}
