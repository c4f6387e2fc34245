//! No keys, whoever chose them, cost much more than random ones.

use rand::RngExt;

use super::*;
use crate::rng::generator;

/// Keys whose products with the golden ratio all begin alike, as the table's factor once was; random ones; and some
/// that are close under many factors: neighbours, strides, neighbours of strides.
fn sets_of_keys(count: u32) -> [(&'static str, Vec<u32>); 6] {
    let golden = 0x9E37_79B1_u32;
    // Turns products into the keys that they are products of.
    let inverse = (0..5).fold(1_u32, |x, _| x.wrapping_mul(2_u32.wrapping_sub(golden.wrapping_mul(x))));
    let mut rng = generator(1, 0);
    let keys = |key: &mut dyn FnMut(u32) -> u32| (1..=count).map(key).collect();
    [
        ("random", keys(&mut |_| rng.random_range(0..EMPTY))),
        ("crowded", keys(&mut |at| at.wrapping_mul(inverse))),
        ("neighbours", keys(&mut |at| 3_000_000_000 + at)),
        ("strides", keys(&mut |at| at.wrapping_mul(12_289))),
        ("neighbours of strides", keys(&mut |at| (at / 64).wrapping_mul(2_654_435) + at % 64)),
        ("strides of strides", keys(&mut |at| (at % 100) * 19_088_743 + at / 100 * 65_536)),
    ]
}

/// Buckets crossed by a search for each key, and for as many that are not there.
fn crossed<V: TableValue>(map: &IndexMap<V>, keys: &[u32]) -> usize {
    let tail = keys.iter().filter(|key| **key as usize >= map.head);
    let searched = |key: u32| {
        let (first, end) = (map.head_lines, map.lines.len());
        let mut visited = (map.bucket(key)..end).chain((first..end).cycle());
        let ends = |at: usize| filled::<V>(&map.lines[at]) < V::LANES || V::lane_of(&map.lines[at], key) != 0;
        visited.position(ends).expect("a lane is free somewhere")
    };
    tail.map(|key| searched(*key) + searched(key.wrapping_add(1).min(EMPTY - 1))).sum()
}

/// Factors over which a mean is taken: each secret is luckier with some keys than with others.
const FACTORS: usize = 8;

/// Work is counted, not timed: buckets visited by all searches, and keys moved by rebuilding.
fn no_keys_crowd<V: TableValue>(value: V) {
    for count in [500, 5_000, 100_000] {
        for (name, keys) in sets_of_keys(count) {
            let mut map = IndexMap::<V>::default();
            for key in &keys {
                *map.entry(*key) = value;
            }
            assert!(map.draws < 12, "{name}, {count} keys: {} factors", map.draws);
            let mut searched = crossed(&map, &keys);
            for _ in 1..FACTORS {
                if !map.buckets().is_empty() {
                    map.draw_again();
                }
                searched += crossed(&map, &keys);
            }
            let crossed = searched as f64 / (2 * FACTORS * keys.len()) as f64;
            assert!(crossed < 0.5, "{name}, {count} keys: {crossed} buckets crossed per search");
            assert!(keys.iter().all(|key| map.get(*key) == value), "{name}");
        }
    }
}

#[test]
fn no_keys_crowd_in_tables_of_words() {
    no_keys_crowd(7_u32);
}

#[test]
fn no_keys_crowd_in_tables_of_numbers() {
    no_keys_crowd(7.0_f64);
}

#[test]
fn no_keys_crowd_in_tables_of_short_rows() {
    no_keys_crowd([7_u32; 3]);
}

#[test]
fn sizes_do_not_depend_on_the_secret() {
    for (name, keys) in sets_of_keys(20_000) {
        let [mut one, mut other] = [(); 2].map(|()| IndexMap::<f64>::default());
        for (at, key) in keys.iter().enumerate() {
            *one.entry(*key) = 1.0;
            *other.entry(*key) = 1.0;
            if at % 1000 == 7 && !other.buckets().is_empty() {
                other.draw_again();
            }
            assert_eq!(one.lines.len(), other.lines.len(), "{name}, {at}");
        }
        assert!(other.draws > one.draws && one.sorted() == other.sorted(), "{name}");
    }
}
