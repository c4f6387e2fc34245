//! Changes that a forger makes: extreme numbers, lists longer and shorter, values exchanged, words of blocks altered.

use super::draws::Draws;
use super::value::{Value, count, find_mut};

/// Numbers at which code tends to break.
const WHOLE: [u64; 16] = [
    0,
    1,
    2,
    3,
    7,
    63,
    64,
    1000,
    4001,
    65_536,
    i32::MAX as u64,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    i64::MAX as u64,
    u64::MAX,
];

const REAL: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-300,
    5e-324,
    1e-9,
    1e9,
    -1e9,
    1e100,
    1e150,
    1e155,
    1e300,
    -1e300,
    f64::MAX,
    f64::MIN,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Words that are not in any model.
const TEXT: [&str; 12] =
    ["", " ", "0", "1", "4294967295", "default", "bias", "a\u{1b}[31m", "auto", "all", "NaN", "../secret"];

fn whole(draws: &mut Draws, old: u64) -> u64 {
    match draws.below(6) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => draws.below(12),
        3 => u64::MAX - draws.below(4),
        4 => old ^ (1 << draws.below(64)),
        _ => *draws.one_of(&WHOLE),
    }
}

fn real(draws: &mut Draws, old: f64) -> f64 {
    match draws.below(7) {
        0 => -old,
        1 => old + 1.0,
        2 => old * 1e9,
        3 => f64::from_bits(old.to_bits() ^ (1 << draws.below(64))),
        4 => f64::from_bits(draws.next()),
        _ => *draws.one_of(&REAL),
    }
}

/// Changes some value of a tree; `words` are texts of other models, `others` the same section of another model.
pub(crate) fn change_somewhere(draws: &mut Draws, tree: &mut Value, words: &[String], others: &Value) {
    let mut at = draws.below(count(tree) as u64) as usize;
    if draws.below(12) == 0 {
        exchange(draws, tree);
        return;
    }
    let Some(value) = find_mut(tree, &mut at) else { return };
    if draws.below(16) == 0 {
        let mut from = draws.below(count(others) as u64) as usize;
        if let Some(other) = find_mut(&mut others.clone(), &mut from) {
            *value = other.clone();
        }
        return;
    }
    change(draws, value, words);
}

/// Two values of a tree change places, or one takes the place of the other.
fn exchange(draws: &mut Draws, tree: &mut Value) {
    let all = count(tree) as u64;
    let places = [draws.below(all) as usize, draws.below(all) as usize];
    let copies = places.map(|place| find_mut(tree, &mut place.clone()).cloned());
    let [Some(one), Some(other)] = copies else { return };
    if let Some(value) = find_mut(tree, &mut places[0].clone()) {
        *value = other;
    }
    if draws.below(2) == 0
        && let Some(value) = find_mut(tree, &mut places[1].clone())
    {
        *value = one;
    }
}

fn change(draws: &mut Draws, value: &mut Value, words: &[String]) {
    match value {
        Value::Nothing => *value = fresh(draws, words),
        Value::Truth(truth) => *truth = !*truth,
        Value::Whole(number) => match draws.below(8) {
            0 => *value = Value::Real(real(draws, *number as f64)),
            1 => *value = Value::Negative(-1),
            _ => *number = whole(draws, *number),
        },
        Value::Negative(number) => *number = -draws.below(9).cast_signed(),
        Value::Real(number) => *number = real(draws, *number),
        Value::Text(text) => *text = word(draws, words),
        Value::Bytes(bytes) => change_block(draws, bytes),
        Value::List(values) => change_list(draws, values, words),
        Value::Map(entries) => change_map(draws, entries, words),
    }
}

fn word(draws: &mut Draws, words: &[String]) -> String {
    if words.is_empty() || draws.below(3) == 0 {
        (*draws.one_of(&TEXT)).to_owned()
    } else {
        draws.one_of(words).clone()
    }
}

/// A value from nowhere.
fn fresh(draws: &mut Draws, words: &[String]) -> Value {
    match draws.below(6) {
        0 => Value::Whole(*draws.one_of(&WHOLE)),
        1 => Value::Real(*draws.one_of(&REAL)),
        2 => Value::Text(word(draws, words)),
        3 => Value::List(Vec::new()),
        4 => Value::Map(Vec::new()),
        _ => Value::Truth(draws.below(2) == 0),
    }
}

fn change_list(draws: &mut Draws, values: &mut Vec<Value>, words: &[String]) {
    let Some(last) = values.len().checked_sub(1) else {
        values.push(fresh(draws, words));
        return;
    };
    let at = draws.below(values.len() as u64) as usize;
    match draws.below(7) {
        0 => values.insert(at, values[at].clone()),
        1 => drop(values.remove(at)),
        2 => values.swap(at, last),
        3 => values.truncate(at),
        4 => values.reverse(),
        5 => (0..draws.below(40)).for_each(|_| values.push(values[at].clone())),
        _ => values.push(fresh(draws, words)),
    }
}

fn change_map(draws: &mut Draws, entries: &mut Vec<(Value, Value)>, words: &[String]) {
    if entries.is_empty() {
        entries.push((Value::Text(word(draws, words)), fresh(draws, words)));
        return;
    }
    let at = draws.below(entries.len() as u64) as usize;
    match draws.below(5) {
        0 => entries.insert(at, entries[at].clone()),
        1 => drop(entries.remove(at)),
        2 => {
            let other = draws.below(entries.len() as u64) as usize;
            let taken = entries[other].1.clone();
            entries[other].1 = std::mem::replace(&mut entries[at].1, taken);
        }
        3 => entries[at].0 = Value::Text(word(draws, words)),
        _ => entries.push((Value::Text(word(draws, words)), fresh(draws, words))),
    }
}

/// Little-endian words of four or eight bytes.
fn change_block(draws: &mut Draws, bytes: &mut Vec<u8>) {
    let width = if draws.below(3) == 0 || !bytes.len().is_multiple_of(8) { 4 } else { 8 };
    let words = bytes.len() / width;
    if words == 0 {
        bytes.extend((0..width).map(|_| draws.next() as u8));
        return;
    }
    let at = draws.below(words as u64) as usize * width;
    let old: Vec<u8> = bytes[at..at + width].to_vec();
    let new = changed_word(draws, &old);
    match draws.below(10) {
        0 => drop(bytes.drain(at..at + width)),
        1 => drop(bytes.splice(at..at, old)),
        2 => bytes.truncate(at),
        3 => {
            let other = draws.below(words as u64) as usize * width;
            let taken = bytes[other..other + width].to_vec();
            bytes[at..at + width].copy_from_slice(&taken);
            bytes[other..other + width].copy_from_slice(&old);
        }
        4 => (at..at + width).for_each(|byte| bytes[byte] = 0),
        5 => {
            let places: Vec<usize> = (0..words)
                .map(|word| word * width)
                .filter(|from| bytes[*from..from + width] == old[..])
                .collect();
            places.into_iter().for_each(|from| bytes[from..from + width].copy_from_slice(&new));
        }
        _ => bytes[at..at + width].copy_from_slice(&new),
    }
}

/// A word as a forger would have it: a number by its size, a real number only where there is room for one.
fn changed_word(draws: &mut Draws, old: &[u8]) -> Vec<u8> {
    match <[u8; 8]>::try_from(old) {
        Ok(old) if draws.below(3) > 0 => real(draws, f64::from_le_bytes(old)).to_le_bytes().to_vec(),
        Ok(old) => whole(draws, u64::from_le_bytes(old)).to_le_bytes().to_vec(),
        Err(_) => {
            let old = old.iter().rev().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
            (whole(draws, u64::from(old)) as u32).to_le_bytes().to_vec()
        }
    }
}

/// Every whole number like one that is drawn becomes another, in all parts of the file.
pub(crate) fn change_everywhere(draws: &mut Draws, parts: &mut [Value]) {
    let part = draws.below(parts.len() as u64) as usize;
    let mut numbers = Vec::new();
    each_mut(&mut parts[part], &mut |_, value| {
        if let Value::Whole(number) = value {
            numbers.push(*number);
        }
    });
    if numbers.is_empty() {
        return;
    }
    let old = *draws.one_of(&numbers);
    let new = whole(draws, old);
    for part in parts {
        each_mut(part, &mut |_, value| {
            if *value == Value::Whole(old) {
                *value = Value::Whole(new);
            }
        });
    }
}

/// The same number of tasks in all parts of the file.
pub(crate) fn declare_tasks(draws: &mut Draws, parts: &mut [Value]) {
    let drawn = 1 + draws.below(40);
    let count = if draws.below(3) == 0 { drawn } else { whole(draws, 3) };
    for part in parts {
        each_mut(part, &mut |key, value| {
            if matches!(key, "declared_tasks" | "tasks") && !matches!(value, Value::List(_)) {
                *value = Value::Whole(count);
            }
        });
    }
}

/// Shows every value of a tree with the key that it has in its map.
pub(crate) fn each_mut(value: &mut Value, see: &mut impl FnMut(&str, &mut Value)) {
    match value {
        Value::List(values) => {
            for value in values {
                see("", value);
                each_mut(value, see);
            }
        }
        Value::Map(entries) => {
            for (key, value) in entries {
                let key = if let Value::Text(key) = key { key.clone() } else { String::new() };
                see(&key, value);
                each_mut(value, see);
            }
        }
        _ => {}
    }
}
