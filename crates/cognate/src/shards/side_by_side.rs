//! Examples of one round, learnt by shards side by side: any number of threads gives the same bits.
//!
//! First, in the order of the stream: features get their slots, tasks are met. Then each thread takes some shards, and learns their examples
//! in the order of the stream. What threads change is apart: own weights by task, changes by shard.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::changes::Changes;
use super::schedule::Schedule;
use super::sharded::Rule;
use super::weights::{Weights, add_changes};
use crate::example::{Example, TaskId};
use crate::learner::Outcome;
use crate::linalg::dot_at;
use crate::stream::Batch;
use crate::table::{AHEAD, IndexMap};
use crate::weights::shared_own::{Dots, add_own};
use crate::weights::{LocatedSlots, lend};

/// So many features are worth a thread, which takes some microseconds to begin.
const WORTH_A_THREAD: usize = 1 << 13;

/// Examples in a row that belong to one round; scratch.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    range: Range<usize>,
    /// Slots of all features, one example after the other, and where those of each example end.
    slots: Vec<u32>,
    ends: Vec<usize>,
    /// Shard of each example, and the number of tasks that it knows of.
    shards: Vec<u32>,
    seen: Vec<usize>,
}

/// What one thread has to do, and may change.
#[derive(Default)]
struct Share<'a> {
    features: usize,
    /// Examples by their place in the segment, in order.
    examples: Vec<usize>,
    /// Tasks, increasing, and what is their own; empty where tasks have nothing of their own.
    tasks: Vec<TaskId>,
    tables: Vec<&'a mut IndexMap<f64>>,
    /// Shards, increasing, and what they change; empty where nothing is shared.
    shards: Vec<u32>,
    changes: Vec<&'a mut Changes>,
}

impl Segment {
    /// Meets tasks and features of some examples of a batch, in order; the highest number of a task, counted from 1.
    pub(super) fn prepare(
        &mut self,
        schedule: &mut Schedule,
        weights: &mut Weights,
        batch: &Batch,
        range: Range<usize>,
    ) -> usize {
        let Self { slots, ends, shards, seen, .. } = self;
        slots.clear();
        ends.clear();
        shards.clear();
        seen.clear();
        let mut met = 0;
        for at in range.clone() {
            if at + AHEAD < range.end {
                let Example { task, features, .. } = batch.example(at + AHEAD);
                weights.tables.ask(task, features);
            }
            let Example { task, features, .. } = batch.example(at);
            weights.number(features, slots);
            ends.push(slots.len());
            shards.push(schedule.shard(task).expect("tasks are named before they are learnt") as u32);
            seen.push(schedule.see(task));
            met = met.max(task.index() + 1);
        }
        self.range = range;
        met
    }

    /// Learns the examples, which were prepared, and appends an outcome for each.
    pub(super) fn learn(
        &self,
        rule: &impl Rule,
        weights: &mut Weights,
        batch: &Batch,
        threads: NonZeroUsize,
        outcomes: &mut Vec<Outcome>,
    ) {
        let Weights { tables, block, changes, kept, .. } = weights;
        let mut shares = self.spread(batch, threads);
        if kept.own {
            let mut tasks: Vec<(TaskId, usize)> = Vec::new();
            for (share, of_share) in shares.iter().enumerate() {
                tasks.extend(of_share.examples.iter().map(|at| (self.example(batch, *at).task, share)));
            }
            tasks.sort_unstable();
            tasks.dedup();
            let (tasks, owners): (Vec<TaskId>, Vec<usize>) = tasks.into_iter().unzip();
            for ((task, share), table) in tasks.iter().zip(owners).zip(tables.lend(&tasks)) {
                shares[share].tasks.push(*task);
                shares[share].tables.push(table);
            }
        }
        if kept.shared {
            let owners: Vec<(u32, usize)> = {
                let of_share = |(at, share): (usize, &Share<'_>)| {
                    share.shards.iter().map(|shard| (*shard, at)).collect::<Vec<_>>()
                };
                let mut owners: Vec<_> = shares.iter().enumerate().flat_map(of_share).collect();
                owners.sort_unstable();
                owners
            };
            let lent = lend(changes, owners.iter().map(|(shard, _)| *shard as usize));
            owners.into_iter().zip(lent).for_each(|((_, share), own)| shares[share].changes.push(own));
        }
        let first = outcomes.len();
        outcomes.resize(first + self.range.len(), Outcome { margin: 0.0, updated: false });
        let learn = |share: Share<'_>| self.learn_share(rule, block, batch, share);
        let mut shares = shares.into_iter();
        let own = shares.next();
        std::thread::scope(|scope| {
            let others: Vec<_> = shares.map(|share| scope.spawn(move || learn(share))).collect();
            let mut keep = |learnt: Vec<(usize, Outcome)>| {
                learnt.into_iter().for_each(|(at, outcome)| outcomes[first + at] = outcome);
            };
            own.into_iter().for_each(|share| keep(learn(share)));
            for other in others {
                keep(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
        });
    }

    /// Gives shards to threads, each shard to the one with the least to do: those with most features first.
    fn spread<'a>(&self, batch: &Batch, threads: NonZeroUsize) -> Vec<Share<'a>> {
        let most = (self.slots.len() / WORTH_A_THREAD).clamp(1, threads.get());
        let mut shares: Vec<Share<'a>> = (0..most).map(|_| Share::default()).collect();
        let mut work: Vec<(u32, usize)> = (0..self.range.len())
            .map(|at| (self.shards[at], 1 + self.example(batch, at).features.len()))
            .collect();
        work.sort_unstable_by_key(|(shard, _)| *shard);
        work.dedup_by(|(shard, more), (kept, features)| {
            let same = shard == kept;
            *features += if same { *more } else { 0 };
            same
        });
        work.sort_unstable_by_key(|(shard, features)| (std::cmp::Reverse(*features), *shard));
        let mut owners: Vec<(u32, usize)> = Vec::with_capacity(work.len());
        for (shard, features) in work {
            let least = (0..most).min_by_key(|share| shares[*share].features).unwrap_or_default();
            shares[least].features += features;
            owners.push((shard, least));
        }
        owners.sort_unstable();
        for (shard, share) in &owners {
            shares[*share].shards.push(*shard);
        }
        for at in 0..self.range.len() {
            let place = owners.binary_search_by_key(&self.shards[at], |(shard, _)| *shard);
            shares[place.map_or(0, |place| owners[place].1)].examples.push(at);
        }
        shares
    }

    /// Learns the examples of some shards.
    fn learn_share(
        &self,
        rule: &impl Rule,
        block: &[f64],
        batch: &Batch,
        share: Share<'_>,
    ) -> Vec<(usize, Outcome)> {
        let Share { examples, tasks, mut tables, shards, mut changes, .. } = share;
        let table_of = |task: TaskId| tasks.binary_search(&task).unwrap_or(usize::MAX);
        let mut located: [LocatedSlots; AHEAD] = Default::default();
        let (mut places, mut outcomes) = (Vec::new(), Vec::with_capacity(examples.len()));
        for step in 0..examples.len() + AHEAD - 1 {
            if let Some(at) = examples.get(step) {
                let located = &mut located[step % AHEAD];
                located.slots.clear();
                located.slots.extend_from_slice(self.slots_of(*at));
                located.search.clear();
                if let Some(own) = tables.get(table_of(self.example(batch, *at).task)) {
                    located.search.begin(own, &located.slots);
                }
            }
            let Some(now) = (step + 1).checked_sub(AHEAD) else { continue };
            let (at, located) = (examples[now], &mut located[now % AHEAD]);
            let example = self.example(batch, at);
            let own = tables.get_mut(table_of(example.task)).map(|own| &mut **own);
            let place = shards.binary_search(&self.shards[at]).unwrap_or(usize::MAX);
            let seen = self.seen[at];
            let changes = changes.get_mut(place).map(|changes| &mut **changes);
            let outcome = learn_one(rule, block, seen, example, (own, changes), located, &mut places);
            outcomes.push((at, outcome));
        }
        outcomes
    }

    /// An example by its place in the segment.
    #[inline]
    fn example<'b>(&self, batch: &'b Batch, at: usize) -> Example<'b> {
        batch.example(self.range.start + at)
    }

    fn slots_of(&self, at: usize) -> &[u32] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.slots[start..self.ends[at]]
    }
}

/// Learns one example, whose slots are known, with what its shard may change.
#[inline]
fn learn_one(
    rule: &impl Rule,
    block: &[f64],
    seen: usize,
    example: Example<'_>,
    (mut own, mut changes): (Option<&mut IndexMap<f64>>, Option<&mut Changes>),
    located: &mut LocatedSlots,
    places: &mut Vec<u32>,
) -> Outcome {
    let values = example.features.values();
    let mut dots = Dots::default();
    if let Some(changes) = &changes {
        dots.shared = dot_at(block, &located.slots, values) + changes.dot(&located.slots, values, places);
    }
    if let Some(own) = own.as_ref().filter(|own| !own.values().is_empty()) {
        dots.own = dot_at(own.values(), located.finish(own), values);
    }
    let margin = rule.margin(seen, dots) + example.offset;
    let step = rule.step(seen, example, margin);
    if let Some(step) = step {
        if let Some(changes) = &mut changes {
            add_changes(changes, &located.slots, values, step);
        }
        if let Some(own) = &mut own {
            add_own(own, values, step, located);
        }
    }
    Outcome { margin, updated: step.is_some() }
}
