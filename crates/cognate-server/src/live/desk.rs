//! Who is shown what? Leases and the order of the queue; in memory alone, since a restart ends all leases.
//!
//! The most uncertain item first, by the model as it is now: a worth that was found some entries ago is found again before its item is
//! shown. Every tenth item is one that was drawn at random. A task with more than its quota of the last items shown waits, and so
//! does an item that is nearly one that was shown lately; both are shown when nothing else is left.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use super::State;
use super::asking::worth;
use super::queue::Item;
use crate::examples::{ExampleReader, RowFeatures};
use crate::queue_entry::ItemId;

/// One of so many items that are shown was drawn at random.
const RANDOM: u64 = 10;
/// Items that were shown last, and how many of them may be of one task.
const LATELY: usize = 20;
const QUOTA: usize = 5;
/// Items of the same task that a new one is compared with.
const COMPARED: usize = 16;
/// Two examples are nearly the same if so little of their values differs.
const NEARLY: f64 = 0.05;
/// Items whose worth is found anew for one that is shown, at most.
const LOOKED_AT: usize = 200;
/// Leases of one model at a time.
const LEASES: usize = 1000;

/// Who holds items: a name that only they know, and their token's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lessee(pub String);

/// An item that someone is shown.
#[derive(Debug, Clone)]
pub struct Leased {
    /// Which.
    pub id: ItemId,
    /// The item.
    pub item: Item,
}

/// An item that someone else holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

#[derive(Debug)]
struct Lease {
    lessee: Lessee,
    until: Instant,
}

/// The leases of a model.
#[derive(Debug, Default)]
pub struct Desk {
    leases: BTreeMap<ItemId, Lease>,
    /// What items are worth, and after which entry that was found.
    worth: BTreeMap<ItemId, (f64, u64)>,
    /// Tasks and features of what was shown last.
    shown: VecDeque<(String, Vec<(String, f64)>)>,
    count: u64,
}

/// Values by name, in order.
fn values(item: &Item) -> Vec<(String, f64)> {
    let Some(Ok(row)) = ExampleReader::new(&item.example).next() else { return Vec::new() };
    let mut values: Vec<(String, f64)> = match row.features {
        RowFeatures::Numbered(pairs) => pairs.iter().map(|(at, value)| (at.to_string(), *value)).collect(),
        RowFeatures::Named(pairs) => pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        RowFeatures::Mixed(pairs) => {
            let pair = |(name, value): &(&str, cognate::FeatureValue<'_>)| match value {
                cognate::FeatureValue::Text(text) => (format!("{name}={text}"), 1.0),
                cognate::FeatureValue::Number(value) => ((*name).to_owned(), *value),
                _ => ((*name).to_owned(), 0.0),
            };
            pairs.iter().map(pair).collect()
        }
    };
    values.sort_by(|one, other| one.0.cmp(&other.0));
    values
}

/// How much of two examples differs, as a part of the larger one.
fn difference(one: &[(String, f64)], other: &[(String, f64)]) -> f64 {
    let size = |values: &[(String, f64)]| values.iter().map(|(_, value)| value.abs()).sum::<f64>();
    let (mut at, mut differs) = (0, 0.0);
    for (name, value) in one {
        while other.get(at).is_some_and(|(known, _)| known < name) {
            differs += other[at].1.abs();
            at += 1;
        }
        match other.get(at) {
            Some((known, theirs)) if known == name => {
                differs += (value - theirs).abs();
                at += 1;
            }
            _ => differs += value.abs(),
        }
    }
    differs += size(&other[at..]);
    let largest = size(one).max(size(other));
    if largest > 0.0 { differs / largest } else { 0.0 }
}

impl Desk {
    /// A name for someone who has none yet.
    pub fn newcomer() -> Lessee {
        let draw = || RandomState::new().hash_one(Instant::now());
        Lessee(format!("{:016x}{:016x}", draw(), draw()))
    }

    /// Ends leases that have run out, and forgets what no longer waits; how many ran out.
    pub fn sweep(&mut self, state: &State, now: Instant) -> u64 {
        let items = state.queue.items();
        self.worth.retain(|id, _| items.contains_key(id));
        self.leases.retain(|id, _| items.contains_key(id));
        let before = self.leases.len();
        self.leases.retain(|_, lease| lease.until > now);
        (before - self.leases.len()) as u64
    }

    /// Items that are leased.
    pub fn leased(&self) -> usize {
        self.leases.len()
    }

    /// Whether someone may answer or skip an item.
    ///
    /// # Errors
    /// When someone else holds it.
    pub fn check(&self, id: ItemId, lessee: Option<&Lessee>, now: Instant) -> Result<(), Lost> {
        match self.leases.get(&id) {
            Some(lease) if lease.until > now && Some(&lease.lessee) != lessee => Err(Lost),
            _ => Ok(()),
        }
    }

    /// The item is not shown any longer.
    pub fn give_back(&mut self, id: ItemId) {
        self.leases.remove(&id);
    }

    /// Someone is shown an item again that they had before.
    pub fn hold(&mut self, id: ItemId, lessee: Lessee, until: Instant) {
        self.leases.insert(id, Lease { lessee, until });
    }

    /// Up to so many items for someone: those that they hold, for a longer time, and new ones.
    pub fn lease(
        &mut self,
        state: &State,
        sees: impl Fn(&str) -> bool,
        lessee: &Lessee,
        count: usize,
        (now, time): (Instant, Duration),
    ) -> Vec<Leased> {
        let until = now + time;
        let mut leased = Vec::new();
        for (id, lease) in &mut self.leases {
            if lease.lessee == *lessee
                && let Some(item) = state.queue.items().get(id).filter(|item| sees(&item.task))
            {
                lease.until = until;
                leased.push(Leased { id: *id, item: item.clone() });
            }
        }
        while leased.len() < count && self.leases.len() < LEASES {
            let Some(id) = self.next(state, &sees) else { break };
            let item = state.queue.items()[&id].clone();
            self.hold(id, lessee.clone(), until);
            self.count += 1;
            self.shown.push_back((item.task.clone(), values(&item)));
            if self.shown.len() > LATELY {
                self.shown.pop_front();
            }
            leased.push(Leased { id, item });
        }
        leased
    }

    /// The item that is to be shown next.
    fn next(&mut self, state: &State, sees: &impl Fn(&str) -> bool) -> Option<ItemId> {
        let free = |id: &ItemId, item: &Item| !self.leases.contains_key(id) && sees(&item.task);
        let waiting: Vec<(ItemId, &Item)> = state
            .queue
            .items()
            .iter()
            .filter(|(id, item)| free(id, item))
            .map(|(id, item)| (*id, item))
            .collect();
        let is_random_turn = self.count % RANDOM == RANDOM / 2;
        let random = waiting.iter().filter(|(_, item)| item.random && item.skips == 0);
        // The one that came first: which one that is says nothing about its label.
        if let Some((id, _)) = random.min_by_key(|(id, _)| *id).filter(|_| is_random_turn) {
            return Some(*id);
        }
        let asked: Vec<(ItemId, &Item)> = waiting.iter().filter(|(_, item)| !item.random).copied().collect();
        let found = self.most_uncertain(state, &asked);
        found.or_else(|| waiting.iter().min_by_key(|(id, item)| (item.skips, *id)).map(|(id, _)| *id))
    }

    /// The item that is worth most now, of those that may come next.
    fn most_uncertain(&mut self, state: &State, waiting: &[(ItemId, &Item)]) -> Option<ItemId> {
        let known = |id: &ItemId, item: &Item| self.worth.get(id).map_or(item.worth, |known| known.0);
        let mut order: Vec<(u8, f64, ItemId, &Item)> =
            waiting.iter().map(|(id, item)| (item.skips, known(id, item), *id, *item)).collect();
        let compare = |one: &(u8, f64, ItemId, &Item), other: &(u8, f64, ItemId, &Item)| {
            one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)).then(one.2.cmp(&other.2))
        };
        if order.len() > LOOKED_AT {
            order.select_nth_unstable_by(LOOKED_AT, compare);
            order.truncate(LOOKED_AT);
        }
        // What was found some entries ago is found again.
        for (_, found, id, item) in &mut order {
            let fresh = self.worth.get(id).is_some_and(|known| known.1 == state.seq);
            if !fresh && let Some(Ok(row)) = ExampleReader::new(&item.example).next() {
                *found = worth(&state.model, &row).unwrap_or(1.0);
                self.worth.insert(*id, (*found, state.seq));
            }
        }
        order.sort_by(compare);
        let first = order.first()?.0;
        let fits = |(skips, _, _, item): &&(u8, f64, ItemId, &Item)| {
            let of_task = self.shown.iter().filter(|(task, _)| *task == item.task);
            let mine = values(item);
            *skips == first
                && of_task.clone().count() < QUOTA
                && of_task.take(COMPARED).all(|(_, theirs)| difference(&mine, theirs) > NEARLY)
        };
        order.iter().find(fits).or(order.first()).map(|(_, _, id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &[(&str, f64)]) -> Vec<(String, f64)> {
        text.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn examples_differ_by_the_part_that_is_not_common() {
        let one = pairs(&[("a", 1.0), ("b", 2.0), ("d", 1.0)]);
        assert!(difference(&one, &one) == 0.0);
        assert!((difference(&one, &pairs(&[("b", 2.0), ("c", 1.0), ("d", 1.0)])) - 0.5).abs() < 1e-12);
        assert!((difference(&one, &pairs(&[("z", 4.0)])) - 2.0).abs() < 1e-12);
        assert!(difference(&[], &[]) == 0.0);
    }
}
