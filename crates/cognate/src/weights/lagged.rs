//! What each task holds of a vector that all tasks move: a running mean of it, taken at the task's own rounds.
//!
//! g is moved by every task; task k holds h_k, and at each of its own rounds h_k = a h_k + (1 - a) g, on all features.
//! To walk over all features is what must not happen, so a weight h_k\[f\] is brought up to date when it is looked at:
//! from the round on which it was last, over the task's rounds since, each with the value that g\[f\] had then. Of g\[f\] the
//! values and the rounds on which they came are kept, of a task the times of its rounds, as long as a^n is more than a
//! rounding error. A feature with more values than there are tasks is brought up to date for all of them, and keeps
//! its last value only.
//!
//! Cost of a weight: a search for each value of g\[f\] that the task has met since it last looked, at most as many as it
//! had rounds since, or as matter. Memory: as many values per feature as there are tasks, or as it had changes.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::error::StateError;

/// Rounds whose weight a^n is below this do not matter.
const NEGLIGIBLE: f64 = f64::EPSILON / 2.0;

/// Values that a feature may have even if tasks are fewer.
const LEAST_VALUES: usize = 4;

/// A value of g\[f\], and the time when it came.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Value {
    time: u64,
    value: f64,
}

/// Rounds of a task.
#[derive(Debug, Clone, Default, PartialEq)]
struct Rounds {
    count: u64,
    /// Times of the last ones.
    times: Vec<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Lagged {
    /// a.
    keep: f64,
    /// Rounds that matter.
    horizon: usize,
    now: u64,
    /// By slot.
    values: Vec<Vec<Value>>,
    tasks: Vec<Rounds>,
}

/// h_k\[f\] as it was after so many rounds of its task.
pub(crate) type Held = [f64; 2];

impl Lagged {
    /// For a in \[0, 1\].
    pub(crate) fn new(keep: f64) -> Self {
        let horizon = if keep < 1.0 { (NEGLIGIBLE.ln() / keep.ln()).ceil().max(1.0) as usize } else { 0 };
        Self { keep, horizon, now: 0, values: vec![Vec::new()], tasks: Vec::new() }
    }

    /// The weight of a task as it is after its last round.
    pub(crate) fn current(&self, task: usize, slot: u32, [weight, after]: Held) -> f64 {
        let Some(rounds) = self.tasks.get(task) else { return 0.0 };
        let since = (rounds.count - after as u64) as usize;
        let values = self.values.get(slot as usize).map_or(&[][..], Vec::as_slice);
        if since == 0 || self.horizon == 0 {
            return weight;
        }
        let first = rounds.times.len().saturating_sub(since);
        // From the last round backwards, all rounds that saw the same value at once.
        let (mut end, mut factor, mut sum) = (rounds.times.len(), 1.0, 0.0);
        while end > first && factor > NEGLIGIBLE {
            let last = rounds.times[end - 1];
            let seen = values.partition_point(|value| value.time <= last);
            let Some(Value { time, value }) = seen.checked_sub(1).map(|at| values[at]) else {
                // Before its first value g was 0.
                break;
            };
            let start = first + rounds.times[first..end].partition_point(|round| *round < time);
            let power = self.power(end - start);
            sum += factor * (1.0 - power) * value;
            factor *= power;
            end = start;
        }
        sum + self.power(since) * weight
    }

    /// What is left after so many rounds.
    fn power(&self, rounds: usize) -> f64 {
        self.keep.powi(i32::try_from(rounds).unwrap_or(i32::MAX))
    }

    /// How many rounds the task has had.
    pub(crate) fn rounds(&self, task: usize) -> u64 {
        self.tasks.get(task).map_or(0, |rounds| rounds.count)
    }

    /// A round of the task begins; values that g takes from now on are seen by it.
    pub(crate) fn begin(&mut self, task: usize) {
        self.now += 1;
        if self.tasks.len() <= task {
            self.tasks.resize_with(task + 1, Rounds::default);
        }
        let rounds = &mut self.tasks[task];
        if self.horizon > 0 && rounds.times.len() >= self.horizon + self.horizon / 4 {
            rounds.times.drain(..rounds.times.len() - self.horizon);
        }
        rounds.count += 1;
        if self.horizon > 0 {
            push(&mut rounds.times, self.now, self.horizon + self.horizon / 4);
        }
    }

    /// g\[f\] has a new value; whether there are so many that all tasks should catch up.
    pub(crate) fn moved(&mut self, slot: u32, value: f64) -> bool {
        if self.horizon == 0 {
            return false;
        }
        if self.values.len() <= slot as usize {
            self.values.resize_with(slot as usize + 1, Vec::new);
        }
        let values = &mut self.values[slot as usize];
        let most = LEAST_VALUES.max(self.tasks.len());
        push(values, Value { time: self.now, value }, most + 1);
        values.len() > most
    }

    /// All tasks have caught up with a feature.
    pub(crate) fn forget(&mut self, slot: u32) {
        let values = &mut self.values[slot as usize];
        values.drain(..values.len() - 1);
    }

    /// Tasks up to the last one that has had a round.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Vec<Value>>()
            + self.values.iter().map(|values| values.capacity() * size_of::<Value>()).sum::<usize>()
            + self.tasks.capacity() * size_of::<Rounds>()
            + self.tasks.iter().map(|rounds| rounds.times.capacity() * size_of::<u64>()).sum::<usize>()
    }

    pub(crate) fn state(&self, slots: usize) -> LaggedState {
        let values = |slot: usize| self.values.get(slot).map_or(&[][..], Vec::as_slice);
        let all = (1..slots).flat_map(values);
        LaggedState {
            now: self.now,
            value_counts: Block((1..slots).map(|slot| values(slot).len() as u64).collect()),
            value_times: Block(all.clone().map(|value| value.time).collect()),
            values: Block(all.map(|value| value.value).collect()),
            rounds: Block(self.tasks.iter().map(|rounds| rounds.count).collect()),
            time_counts: Block(self.tasks.iter().map(|rounds| rounds.times.len() as u64).collect()),
            times: Block(self.tasks.iter().flat_map(|rounds| rounds.times.iter().copied()).collect()),
        }
    }

    /// Takes a saved form, checking everything that later code trusts.
    pub(crate) fn restore(
        keep: f64,
        tasks: usize,
        slots: usize,
        state: LaggedState,
    ) -> Result<Self, StateError> {
        let mut lagged = Self::new(keep);
        let wrong = || StateError::new("the values of the global model and their times disagree");
        let LaggedState { now, value_counts, value_times, values, rounds, time_counts, times } = state;
        lagged.now = now;
        let increasing = |times: &[u64]| {
            times.windows(2).all(|pair| pair[0] < pair[1]) && times.last().is_none_or(|last| *last <= now)
        };
        if value_counts.0.len() != slots - 1
            || value_times.0.len() != values.0.len()
            || rounds.0.len() > tasks
            || rounds.0.len() != time_counts.0.len()
            || !values.0.iter().all(|value| value.is_finite())
        {
            return Err(wrong());
        }
        let mut pieces = Pieces { numbers: &value_times.0, at: 0 };
        for count in value_counts.0 {
            let start = pieces.at;
            let times = pieces.next(count).filter(|times| increasing(times)).ok_or_else(wrong)?;
            let values = times.iter().zip(&values.0[start..]);
            lagged.values.push(values.map(|(time, value)| Value { time: *time, value: *value }).collect());
        }
        if pieces.at != value_times.0.len() {
            return Err(wrong());
        }
        let mut pieces = Pieces { numbers: &times.0, at: 0 };
        for (count, kept) in rounds.0.into_iter().zip(time_counts.0) {
            let times = pieces.next(kept).filter(|times| increasing(times)).ok_or_else(wrong)?;
            let expected = if lagged.horizon == 0 { 0 } else { count.min(lagged.horizon as u64) };
            if kept < expected || kept > count || count > now {
                return Err(wrong());
            }
            lagged.tasks.push(Rounds { count, times: times.to_vec() });
        }
        if pieces.at == times.0.len() { Ok(lagged) } else { Err(wrong()) }
    }
}

/// Adds to a list that will not become longer than this, without more room than that.
fn push<T>(list: &mut Vec<T>, item: T, most: usize) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().max(4).min(most.saturating_sub(list.len())).max(1));
    }
    list.push(item);
}

/// Numbers handed out piece by piece.
struct Pieces<'a> {
    numbers: &'a [u64],
    at: usize,
}

impl<'a> Pieces<'a> {
    fn next(&mut self, count: u64) -> Option<&'a [u64]> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count))?;
        let piece = self.numbers.get(self.at..end)?;
        self.at = end;
        Some(piece)
    }
}

/// Saved form of [`Lagged`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LaggedState {
    #[serde(deserialize_with = "crate::count::saved")]
    now: u64,
    /// Values of each slot, from 1; their times; the values.
    value_counts: Block<u64>,
    value_times: Block<u64>,
    values: Block<f64>,
    /// Rounds of each task; how many of their times are kept; the times.
    rounds: Block<u64>,
    time_counts: Block<u64>,
    times: Block<u64>,
}

impl LaggedState {
    /// Takes out the rounds of a task, where there are some; tasks after it come one number earlier.
    pub(crate) fn remove_task(&mut self, task: usize) {
        let Some(kept) = self.time_counts.0.get(task).copied() else { return };
        let start: u64 = self.time_counts.0[..task].iter().sum();
        self.times.0.drain(start as usize..(start + kept) as usize);
        self.time_counts.remove_row(task, 1);
        self.rounds.remove_row(task, 1);
    }
}
