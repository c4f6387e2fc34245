//! Damage is refused with its place; what a crash leaves is repaired and said once.

use std::path::{Path, PathBuf};

use cognate_store::{Group, Opening, Recovered, Store, StoreError, StoreOptions};

use cognate_store::world::World;

const PAGE: usize = 4096;
const OPTIONS: StoreOptions = StoreOptions { segment_bytes: 2000 };

fn folder() -> &'static Path {
    Path::new("data")
}

fn segment(first: u64) -> PathBuf {
    folder().join(format!("log-{first:020}.seg"))
}

fn open(world: &World) -> Result<(Store<World>, Recovered, Vec<u64>), StoreError> {
    let mut seen = Vec::new();
    let opening = Opening::new(world.clone(), folder(), OPTIONS)?;
    let (store, recovered) = opening.replay(|seq, _| {
        seen.push(seq);
        Ok(())
    })?;
    Ok((store, recovered, seen))
}

/// Twelve groups of one entry of 468 bytes: four frames of 504 bytes would be too long for a segment, so there are three in each.
fn written() -> World {
    let world = World::new(0);
    let (mut store, ..) = open(&world).unwrap();
    let mut group = Group::default();
    for at in 0..12_u8 {
        group.clear();
        group.push(&[at + 1; 468]);
        store.append(&mut group).unwrap();
    }
    assert_eq!(store.segments(), 4);
    world
}

fn refused(world: &World) -> String {
    open(world).unwrap_err().to_string()
}

#[test]
fn a_bad_frame_with_a_good_one_behind_it_is_damage() {
    for (frame, byte) in [(0, 3), (0, 100), (1, 17), (1, 503)] {
        let world = written();
        let at = PAGE + 504 * frame;
        world.tamper(&segment(10), |bytes| bytes[at + byte] ^= 0x40);
        assert_eq!(
            refused(&world),
            format!(
                "data/log-00000000000000000010.seg: damaged at byte {at}: no whole frame begins here, and one that was written \
                 later follows"
            )
        );
    }
}

#[test]
fn the_last_frame_of_a_segment_is_damaged_if_another_segment_follows() {
    let world = written();
    world.tamper(&segment(4), |bytes| bytes[PAGE + 2 * 504 + 40] ^= 1);
    assert_eq!(
        refused(&world),
        "data/log-00000000000000000004.seg: damaged at byte 5104: no whole frame begins here, and another segment follows"
    );
}

#[test]
fn a_torn_tail_is_cut_and_said_once() {
    for cut_at in [5, 31, 40, 503] {
        let world = written();
        let at = PAGE + 2 * 504;
        world.tamper(&segment(10), |bytes| bytes[at + cut_at..].fill(0));
        let (store, recovered, seen) = open(&world).unwrap();
        assert_eq!((recovered.cut, store.last()), (Some((segment(10), at as u64)), 11), "{cut_at}");
        assert_eq!(seen, (1..=11).collect::<Vec<_>>());
        drop(store);
        assert_eq!(open(&world).unwrap().1, Recovered { snapshot: 0, replayed: 11, cut: None });
    }
}

/// The store goes on after a cut, and what was cut never comes back.
#[test]
fn a_cut_log_goes_on() {
    let world = written();
    world.tamper(&segment(10), |bytes| bytes[PAGE + 2 * 504 + 50] ^= 1);
    let (mut store, ..) = open(&world).unwrap();
    let mut group = Group::default();
    group.push(b"short");
    assert_eq!(store.append(&mut group).unwrap(), 12);
    drop(store);
    let (_, recovered, seen) = open(&world).unwrap();
    assert_eq!((recovered.cut, seen.len()), (None, 12));
}

#[test]
fn a_first_page_that_is_not_whole() {
    let world = written();
    world.tamper(&segment(10), |bytes| bytes[9] ^= 1);
    assert_eq!(
        refused(&world),
        "data/log-00000000000000000010.seg: damaged at byte 0: the first page of this segment of the log is not whole, and \
         entries follow it"
    );
    // Nothing was written to it: it was being made.
    world.tamper(&segment(10), |bytes| bytes[PAGE..].fill(0));
    let (mut store, recovered, seen) = open(&world).unwrap();
    assert_eq!((recovered.cut, seen.len(), store.last()), (None, 9, 9));
    let mut group = Group::default();
    group.push(b"again");
    assert_eq!(store.append(&mut group).unwrap(), 10);
}

#[test]
fn missing_segments_are_missed() {
    use cognate_store::Disk;
    let world = written();
    world.remove(&segment(4)).unwrap();
    assert_eq!(refused(&world), "data: entries 4 to 6 are missing");
    let world = written();
    world.remove(&segment(1)).unwrap();
    assert_eq!(refused(&world), "data: entries 1 to 3 are missing");
}

#[test]
fn a_log_that_ends_before_its_snapshot_is_missed_and_a_snapshot_alone_is_a_beginning() {
    use cognate_store::Disk;
    let world = written();
    let (mut store, ..) = open(&world).unwrap();
    let early = world.copy();
    store.save_snapshot(b"state", b"").unwrap();
    drop(store);
    // As if the snapshot had been put beside an older log.
    let snapshot = folder().join("snapshot-00000000000000000012.cog");
    early.remove(&segment(10)).unwrap();
    early.create(&snapshot).unwrap();
    assert_eq!(refused(&early), "data: entries 10 to 12 are missing");
    // As when it is restored.
    world.remove(&segment(10)).unwrap();
    let (store, recovered, seen) = open(&world).unwrap();
    assert_eq!((recovered.snapshot, seen.len(), store.last()), (12, 0, 12));
}

#[test]
fn a_later_format_is_refused_by_its_number() {
    let world = written();
    world.tamper(&segment(1), |bytes| {
        bytes[8] = 2;
        let checksum = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&checksum.to_le_bytes());
    });
    assert_eq!(
        refused(&world),
        "data/log-00000000000000000001.seg: log format 2; this program reads up to 1"
    );
}

/// Files that are cut, swapped or renamed end in an error or in fewer entries at the end, and never in a panic.
#[test]
fn any_cut_and_any_flip_is_refused_or_repaired() {
    let whole = written();
    let length = whole.bytes(&segment(10)).len();
    for at in (0..length).step_by(7) {
        let world = whole.copy();
        world.tamper(&segment(10), |bytes| bytes.truncate(at));
        if let Ok((store, ..)) = open(&world) {
            assert!(store.last() >= 9, "cut at {at}");
        }
        for first in [1, 10] {
            let world = whole.copy();
            world.tamper(&segment(first), |bytes| bytes[at] ^= 0x10);
            match open(&world) {
                // Zeros at the end mean nothing, and the last frame may have been torn.
                Ok((store, _, seen)) => {
                    assert!(store.last() >= 11 - 2 * u64::from(at < PAGE), "{first}: flip at {at}");
                    assert_eq!(seen.len() as u64, store.last());
                }
                Err(error) => assert!(
                    matches!(error, StoreError::Damaged { .. } | StoreError::Gap { .. }),
                    "{first}: flip at {at}: {error}"
                ),
            }
        }
    }
}
