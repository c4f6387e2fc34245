//! What people said survives a crash as learning does, and what they took back is as if it had never been said.

use std::path::Path;

use cognate::{Model, RunConfig};
use cognate_server::examples::{Examples, Row, RowFeatures};
use cognate_server::failure::Failure;
use cognate_server::live::{Done, Engine, EngineOptions, Job, Outcome, Wish};
use cognate_server::queue_entry::ItemId;
use cognate_store::StoreOptions;
use cognate_store::world::{Trouble, World};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::oneshot;

const DATA: &str = "data";

/// What is done, as often as it is needed.
#[derive(Debug, Clone)]
enum Deed {
    Learn(Vec<(u8, u8, Option<bool>)>),
    Act(Wish),
    Forget(u8),
    Release(u64),
}

fn examples(rows: &[(u8, u8, Option<bool>)]) -> Examples {
    let mut examples = Examples::default();
    for (task, feature, label) in rows {
        let (task, name) = (format!("t{task}"), format!("f{feature}"));
        let features = RowFeatures::Named(vec![(&name, 1.0), ("all", 0.5)]);
        let label = label.map(|label| if label { 1.0 } else { -1.0 });
        let beside = cognate::model::Beside::default();
        examples.push(&Row { task: Some(&task), label, id: None, beside, features });
    }
    examples
}

fn options() -> EngineOptions {
    let store = StoreOptions { segment_bytes: 3000 };
    EngineOptions { store, max_queue: 12, ..EngineOptions::default() }
}

fn create(world: World) -> Engine<World> {
    Engine::create(world, Path::new(DATA), Model::new(&RunConfig::default()).unwrap(), options()).unwrap()
}

/// All of a state that is saved.
fn bytes(engine: &Engine<World>) -> [Vec<u8>; 3] {
    let state = engine.state();
    let state = state.read();
    let [queue, activity] = [rmp_serde::to_vec_named(&state.queue), rmp_serde::to_vec_named(&state.activity)];
    [state.model.to_bytes(), queue.unwrap(), activity.unwrap()]
}

fn wish(engine: &mut Engine<World>, wish: Wish, time: u64) -> Result<Done, Failure> {
    let (reply, mut answer) = oneshot::channel();
    engine.run([Job::Queue { wish, by: "anna".to_owned(), time, reply }]);
    answer.try_recv().unwrap()
}

fn learn(engine: &mut Engine<World>, rows: &[(u8, u8, Option<bool>)], time: u64) {
    let (reply, mut answer) = oneshot::channel();
    engine.run([Job::Learn { examples: examples(rows), key: None, time, reply }]);
    drop(answer.try_recv().unwrap());
}

/// Does something; whether it is an entry of the log now, as far as anyone was told.
fn execute(engine: &mut Engine<World>, deed: &Deed, time: u64) -> bool {
    let before = engine.seq();
    match deed {
        Deed::Learn(rows) => learn(engine, rows, time),
        Deed::Act(act) => {
            let _ = wish(engine, *act, time);
        }
        Deed::Forget(task) => {
            let (reply, mut answer) = oneshot::channel();
            engine.run([Job::Forget { task: format!("t{task}"), time, reply }]);
            drop(answer.try_recv().unwrap());
        }
        Deed::Release(now) => engine.release_due(*now),
    }
    engine.seq() == before + 1
}

/// An item that waits, or was answered.
fn some_item(engine: &Engine<World>, rng: &mut SmallRng) -> Option<ItemId> {
    let state = engine.state();
    let state = state.read();
    let queue = &state.queue;
    let said = queue.held().iter().chain(queue.said()).map(|said| said.id);
    let known: Vec<ItemId> = queue.items().keys().copied().chain(said).collect();
    (!known.is_empty()).then(|| known[rng.random_range(0..known.len())])
}

fn draw(engine: &Engine<World>, rng: &mut SmallRng, time: u64) -> Deed {
    let item = some_item(engine, rng);
    match (rng.random_range(0..14), item) {
        (0..5, Some(id)) => Deed::Act(Wish::Answer { id, label: if rng.random() { 1.0 } else { -1.0 } }),
        (5..7, Some(id)) => Deed::Act(Wish::Undo(id)),
        (7, Some(id)) => Deed::Act(Wish::Skip(id)),
        (8 | 9, _) => Deed::Release(time + rng.random_range(0..60_000)),
        (10, _) if rng.random_range(0..4) == 0 => Deed::Forget(rng.random_range(0..4)),
        _ => {
            let row = |rng: &mut SmallRng| {
                (rng.random_range(0..4), rng.random_range(0..9), rng.random_bool(0.5).then(|| rng.random()))
            };
            Deed::Learn((0..rng.random_range(1..4)).map(|_| row(rng)).collect())
        }
    }
}

/// Lives that end in trouble; after each, the state is what its entries make of it from the beginning.
fn lives(seed: u64, trouble: impl Fn(u64) -> Trouble) -> usize {
    let (mut rng, world) = (SmallRng::seed_from_u64(seed), World::new(seed));
    let (mut engine, mut done, mut retracted) = (create(world.clone()), Vec::new(), 0);
    for _ in 0..3 {
        let mut acknowledged = done.len();
        world.trouble(trouble(world.calls() + rng.random_range(1..160)));
        for _ in 0..80 {
            let time = 1_000_000 + 1000 * (done.len() as u64);
            if rng.random_range(0..12) == 0 && engine.save_snapshot().is_err() {
                break;
            }
            let deed = draw(&engine, &mut rng, time);
            let logged = execute(&mut engine, &deed, time);
            if logged || engine.stopped().is_some() {
                done.push((deed, time));
            }
            if engine.stopped().is_some() {
                break;
            }
            acknowledged = done.len();
        }
        drop(engine);
        world.restart();
        (engine, _) = Engine::open(world.clone(), Path::new(DATA), options()).unwrap();
        let there = engine.seq() as usize;
        assert!((acknowledged..=done.len()).contains(&there), "{there}: {acknowledged} to {}", done.len());
        done.truncate(there);
        let mut replayed = create(World::new(0));
        for (deed, time) in &done {
            let was_learnt = matches!(deed, Deed::Act(Wish::Undo(id)) if {
                let state = replayed.state();
                let state = state.read();
                state.queue.said().iter().any(|said| said.id == *id)
            });
            retracted += usize::from(was_learnt);
            assert!(execute(&mut replayed, deed, *time), "{deed:?}");
        }
        assert!(
            bytes(&engine) == bytes(&replayed),
            "seed {seed}: the state is not what its entries make of it"
        );
    }
    retracted
}

#[test]
fn what_people_said_survives_crashes() {
    let retracted: usize = (0..60).map(|seed| lives(seed, Trouble::Crash)).sum();
    assert!(retracted > 50, "{retracted} answers that were learnt were taken back");
}

#[test]
fn what_people_said_survives_calls_that_fail() {
    for seed in 100..140 {
        lives(seed, Trouble::Fail);
    }
}

/// The items that wait, in order.
fn waiting(engine: &Engine<World>) -> Vec<ItemId> {
    engine.state().read().queue.items().keys().copied().collect()
}

#[test]
fn an_answer_that_was_taken_back_leaves_no_trace() {
    let rows = [(0, 1, None), (1, 2, None), (2, 3, Some(true)), (0, 4, Some(false)), (3, 5, None)];
    let yes = |id| Wish::Answer { id, label: 1.0 };
    let mut with = create(World::new(1));
    learn(&mut with, &rows, 5);
    let ids = waiting(&with);
    assert_eq!(ids.len(), 3);
    let mut without = create(World::new(2));
    learn(&mut without, &rows, 5);
    // Held back, and undone: nothing has changed but the number of the entry.
    let before = bytes(&with);
    assert_eq!(wish(&mut with, yes(ids[0]), 10).unwrap().outcome, Outcome::Answered);
    assert_eq!(wish(&mut with, yes(ids[0]), 11).unwrap().outcome, Outcome::Again);
    assert!(wish(&mut with, Wish::Answer { id: ids[0], label: -1.0 }, 11).is_err(), "said in another way");
    assert_eq!(with.until_release(10), Some(30_000));
    assert_eq!(wish(&mut with, Wish::Undo(ids[0]), 12).unwrap().outcome, Outcome::Undone);
    assert!(bytes(&with) == before);
    // Learnt, and taken back: the model is the one that was never told.
    for id in [ids[0], ids[1]] {
        wish(&mut with, yes(id), 20).unwrap();
    }
    wish(&mut without, yes(ids[1]), 20).unwrap();
    for engine in [&mut with, &mut without] {
        engine.release_due(20 + 30_000);
    }
    assert_eq!(with.state().read().queue.learnt, 2);
    assert!(bytes(&with)[0] != bytes(&without)[0]);
    assert_eq!(wish(&mut with, Wish::Undo(ids[0]), 40_000).unwrap().outcome, Outcome::Retracted);
    assert!(bytes(&with)[0] == bytes(&without)[0], "what was taken back is not learnt");
    assert_eq!(waiting(&with), [ids[0], ids[2]], "and asked for again");
    // What is part of a snapshot stays.
    with.save_snapshot().unwrap();
    assert!(wish(&mut with, Wish::Undo(ids[1]), 50_000).is_err());
}

#[test]
fn ten_more_answers_release_one() {
    let mut engine = create(World::new(3));
    let rows: Vec<_> = (0..12).map(|at| (at % 4, at, None)).collect();
    for row in rows.chunks(3) {
        learn(&mut engine, row, 5);
    }
    for (at, id) in waiting(&engine).into_iter().enumerate() {
        wish(&mut engine, Wish::Answer { id, label: 1.0 }, 10).unwrap();
        engine.release_due(10);
        let learnt = engine.state().read().queue.learnt;
        assert_eq!(learnt, (at as u64 + 1).saturating_sub(10));
    }
}
