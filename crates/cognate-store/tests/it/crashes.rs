//! Stories of stores: groups are appended, snapshots made, folders opened again, and at some call the world stops or something
//! fails. Afterwards all that was acknowledged is there, in order, and nothing that was never asked for.

use std::path::Path;

use cognate_store::{Group, Opening, Store, StoreError, StoreOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use cognate_store::world::{Trouble, World};

const FOLDER: &str = "data";

/// A state that depends on every byte of every entry and on their order: the entries themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Diary(Vec<Vec<u8>>);

impl Diary {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|entry| [&(entry.len() as u32).to_le_bytes()[..], entry].concat()).collect()
    }

    fn from_bytes(mut bytes: &[u8]) -> Self {
        let mut entries = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let (entry, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
            entries.push(entry.to_vec());
            bytes = rest;
        }
        Self(entries)
    }
}

/// Small segments, so that every story has several.
const OPTIONS: StoreOptions = StoreOptions { segment_bytes: 9000 };

fn open(world: &World) -> Result<(Store<World>, Diary), StoreError> {
    let opening = Opening::new(world.clone(), Path::new(FOLDER), OPTIONS)?;
    let mut diary = opening.snapshot().map_or_else(Diary::default, |saved| {
        assert_eq!(saved.beside, saved.seq.to_le_bytes());
        Diary::from_bytes(&saved.state)
    });
    let (store, recovered) = opening.replay(|seq, entry| {
        assert_eq!(seq, diary.0.len() as u64 + 1, "numbers go on without a gap");
        diary.0.push(entry.to_vec());
        Ok(())
    })?;
    assert_eq!(recovered.snapshot + recovered.replayed, store.last());
    Ok((store, diary))
}

/// What was asked for, and how much of it was acknowledged.
#[derive(Debug, Default)]
struct Story {
    asked: Vec<Vec<u8>>,
    acknowledged: usize,
    /// Of entries that were refused: they may be there or not.
    steps: usize,
}

impl Story {
    /// Lives until something goes wrong, or to the end.
    fn live(&mut self, world: &World, rng: &mut SmallRng, steps: usize) -> Result<(), StoreError> {
        let (mut store, mut diary) = open(world)?;
        self.check(&diary);
        let mut group = Group::default();
        for _ in 0..steps {
            self.steps += 1;
            match rng.random_range(0..20) {
                0 => store.save_snapshot(&diary.to_bytes(), &store.last().to_le_bytes())?,
                1 => {
                    drop(store);
                    (store, diary) = open(world)?;
                    self.check(&diary);
                }
                _ => {
                    let entries: Vec<Vec<u8>> = (0..rng.random_range(1..5)).map(|_| entry(rng)).collect();
                    group.clear();
                    entries.iter().for_each(|entry| group.push(entry));
                    // What had been asked for before and is not there was refused.
                    self.asked.truncate(diary.0.len());
                    self.asked.extend(entries.iter().cloned());
                    let last = store.append(&mut group)?;
                    diary.0.extend(entries);
                    assert_eq!(last, diary.0.len() as u64);
                    self.acknowledged = diary.0.len();
                }
            }
        }
        Ok(())
    }

    /// All that was acknowledged is there, and nothing that was not asked for.
    fn check(&mut self, diary: &Diary) {
        assert!(diary.0.len() >= self.acknowledged, "{} of {} left", diary.0.len(), self.acknowledged);
        assert!(self.asked.starts_with(&diary.0), "what is there was asked for, in this order");
        // Who asked has had no answer, but from now on it is there.
        self.acknowledged = diary.0.len();
    }
}

fn entry(rng: &mut SmallRng) -> Vec<u8> {
    let length = if rng.random_bool(0.05) { rng.random_range(0..12_000) } else { rng.random_range(0..300) };
    (0..length).map(|_| rng.random()).collect()
}

/// Lives a story with trouble at one call, then restarts and lives on, several times.
fn survives(seed: u64, world: &World, trouble: impl Fn(u64) -> Trouble) -> Story {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut story = Story::default();
    for _ in 0..4 {
        world.trouble(trouble(world.calls() + rng.random_range(1..150)));
        let ended = story.live(world, &mut rng, 30);
        if let Err(error) = ended {
            assert!(
                matches!(error, StoreError::Io { .. } | StoreError::Poisoned { .. }),
                "nothing looks damaged: {error}"
            );
        }
        world.restart();
    }
    let (_, diary) = open(world).unwrap();
    story.check(&diary);
    // Opened again, it is the same.
    assert_eq!(open(world).unwrap().1, diary);
    story
}

#[test]
#[expect(clippy::print_stdout, reason = "how much was tried is worth reading, too")]
fn whatever_was_acknowledged_survives_a_crash_at_any_call() {
    let mut acknowledged = 0;
    for seed in 0..3000 {
        acknowledged += survives(seed, &World::new(seed), Trouble::Crash).acknowledged;
    }
    println!("12,000 crashes, {acknowledged} entries, none lost");
    assert!(acknowledged > 100_000, "{acknowledged}");
}

#[test]
fn a_call_that_fails_loses_nothing_whichever_it_is() {
    for seed in 0..1500 {
        survives(seed, &World::new(!seed), Trouble::Fail);
    }
}

/// Every call of one story fails in turn.
#[test]
fn every_call_fails_in_turn() {
    let mut failed = 0;
    for call in 1..2000 {
        let world = World::new(call);
        world.trouble(Trouble::Fail(call));
        let mut story = Story::default();
        let mut rng = SmallRng::seed_from_u64(5);
        let ended = story.live(&world, &mut rng, 120);
        if world.calls() < call {
            break;
        }
        failed += usize::from(ended.is_err());
        world.restart();
        let (_, diary) = open(&world).unwrap();
        story.check(&diary);
    }
    assert!(failed > 200, "{failed} calls failed");
}

/// After a call failed, the store takes nothing more, and says why; the snapshot that failed stops nobody.
#[test]
fn a_store_that_failed_says_so() {
    let world = World::new(1);
    let (mut store, _) = open(&world).unwrap();
    let mut group = Group::default();
    group.push(b"one");
    store.append(&mut group).unwrap();
    world.trouble(Trouble::Fail(world.calls() + 1));
    let refused = store.save_snapshot(b"", b"").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "data/snapshot-00000000000000000001.side: cannot write the snapshot: it failed"
    );
    assert_eq!((store.poisoned(), store.snapshot_seq()), (None, 0));
    group.clear();
    group.push(b"two");
    world.trouble(Trouble::Fail(world.calls() + 2));
    let refused = store.append(&mut group).unwrap_err();
    assert_eq!(refused.to_string(), "data/log-00000000000000000001.seg: cannot write the log: it failed");
    let again = store.append(&mut group).unwrap_err();
    assert!(matches!(again, StoreError::Poisoned { .. }), "{again}");
    assert_eq!(store.poisoned(), Some(&*refused.to_string()));
    assert_eq!(store.last(), 1);
}

/// Whoever acknowledges before it is on disk is found out by these very stories.
#[test]
fn syncs_that_lie_are_found_out() {
    let lost = (0..60).filter(|seed| {
        let world = World::that_lies(*seed);
        let story = std::panic::AssertUnwindSafe(|| survives(*seed, &world, Trouble::Crash));
        std::panic::catch_unwind(story).is_err()
    });
    assert!(lost.count() > 50);
}

/// Old segments and snapshots go, and the folder stays small.
#[test]
fn what_a_snapshot_stands_for_is_removed() {
    let world = World::new(3);
    let mut story = Story::default();
    story.live(&world, &mut SmallRng::seed_from_u64(9), 400).unwrap();
    let (mut store, diary) = open(&world).unwrap();
    store.save_snapshot(&diary.to_bytes(), &store.last().to_le_bytes()).unwrap();
    let names = world.file_names();
    assert_eq!(names.len(), 3, "one snapshot, what is beside it, and the segment that is written: {names:?}");
    assert_eq!(store.segments(), 1);
    drop(store);
    assert_eq!(open(&world).unwrap().1, diary);
}
