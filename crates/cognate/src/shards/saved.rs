//! What of shards is in a model file.

use serde::{Deserialize, Serialize};

use super::changes::Changes;
use super::sharded::Sharded;
use super::weights::Weights;
use crate::block::Block;
use crate::error::StateError;
use crate::linalg::check_finite;
use crate::weights::{SlotTables, SlotTablesState};

/// Saved form of [`Sharded`]; which shard a task lives in follows from its name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ShardedState {
    /// The block, and what is each task's own.
    pub(crate) weights: SlotTablesState,
    /// Squared length of the block.
    squared: f64,
    #[serde(deserialize_with = "crate::count::saved")]
    learnt: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    length: u64,
    known: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    rounds: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    scaled: u64,
    /// For each shard, the highest number of a task met in this round; empty at its beginning.
    reach: Block<u32>,
    /// Where the changes of each shard end in the next two; empty if there are none.
    change_ends: Block<u64>,
    change_slots: Block<u32>,
    changes: Block<f64>,
}

impl ShardedState {
    /// Takes out a task's own weights; tasks after it come one number earlier. `scale` may scale what is left, and says by
    /// how much shared weights are multiplied.
    pub(crate) fn remove_task(&mut self, task: usize, scale: impl FnOnce(&mut SlotTablesState) -> f64) {
        self.weights.remove_task(task);
        let shared = scale(&mut self.weights);
        self.squared *= shared * shared;
        self.known -= 1;
    }
}

impl Sharded {
    /// The saved form once the round, of so many tasks, has come to its end.
    pub(crate) fn state_between_rounds(&self, tasks: usize) -> ShardedState {
        let mut settled = self.clone();
        if settled.schedule.learnt > 0 {
            settled.end_round(tasks);
        }
        settled.state()
    }

    /// The saved form.
    pub(crate) fn state(&self) -> ShardedState {
        let (schedule, weights) = (&self.schedule, &self.weights);
        let shared = if weights.kept.shared { weights.block[1..].to_vec() } else { Vec::new() };
        let (mut ends, mut slots, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        if weights.changes.iter().any(|changes| !changes.is_empty()) {
            for changes in &weights.changes {
                slots.extend_from_slice(changes.slots());
                numbers.extend_from_slice(changes.numbers());
                ends.push(slots.len() as u64);
            }
        }
        let is_fresh = schedule.reach.iter().all(|reach| *reach == 0);
        ShardedState {
            weights: weights.tables.state(shared, |_, weight| [weight]),
            squared: weights.squared,
            learnt: schedule.learnt,
            length: schedule.length,
            known: schedule.known as u64,
            rounds: schedule.rounds,
            scaled: schedule.scaled,
            reach: Block(if is_fresh { Vec::new() } else { schedule.reach.clone() }),
            change_ends: Block(ends),
            change_slots: Block(slots),
            changes: Block(numbers),
        }
    }

    /// Takes a saved form of so many tasks into what was just made for the same config, checking everything that later code trusts.
    pub(crate) fn restore(&mut self, tasks: usize, state: ShardedState) -> Result<(), StateError> {
        let refused = |what: &str| Err(StateError::new(what));
        let kept = self.weights.kept;
        let (tables, shared) =
            SlotTables::restore(if kept.own { tasks } else { 0 }, state.weights, |[weight]| weight)?;
        if shared.len() != if kept.shared { tables.len() - 1 } else { 0 } {
            return refused("the shared vector does not have one weight per feature");
        }
        let squares: f64 = shared.iter().map(|weight| weight * weight).sum();
        if !(state.squared >= 0.0 && (state.squared - squares).abs() <= 1e-6 * squares.max(state.squared)) {
            return refused("the squared length of the shared vector is another");
        }
        check_finite(&state.changes.0)?;
        let schedule = &mut self.schedule;
        if state.learnt >= state.length || state.known > tasks as u64 || state.scaled > state.rounds {
            return refused("the counts of rounds are impossible");
        }
        if !(state.reach.0.is_empty() || state.reach.0.len() == schedule.reach.len())
            || state.reach.0.iter().any(|reach| *reach as usize > tasks)
        {
            return refused("shards have met tasks that there are not");
        }
        let slots = tables.len();
        self.weights = Weights::new(kept, schedule.reach.len());
        (self.weights.tables, self.weights.squared) = (tables, state.squared);
        self.weights.block.extend(shared);
        restore_changes(
            &mut self.weights.changes,
            slots,
            (&state.change_ends.0, &state.change_slots.0, &state.changes.0),
        )?;
        (schedule.learnt, schedule.length, schedule.known) =
            (state.learnt, state.length, state.known as usize);
        (schedule.rounds, schedule.scaled) = (state.rounds, state.scaled);
        if !state.reach.0.is_empty() {
            schedule.reach = state.reach.0;
        }
        Ok(())
    }
}

/// Puts back what each shard has changed of so many slots.
fn restore_changes(
    changes: &mut [Changes],
    slots: usize,
    (ends, changed, numbers): (&[u64], &[u32], &[f64]),
) -> Result<(), StateError> {
    let refused = || StateError::new("the changes of shards and their ends disagree");
    let fits = ends.is_empty() || ends.len() == changes.len();
    if !fits || changed.len() != numbers.len() || ends.last().copied().unwrap_or(0) != changed.len() as u64 {
        return Err(refused());
    }
    let mut start = 0;
    for (of_shard, end) in changes.iter_mut().zip(ends) {
        let end = usize::try_from(*end).map_err(|_| refused())?;
        let own = changed.get(start..end).ok_or_else(refused)?;
        for (slot, number) in own.iter().zip(&numbers[start..end]) {
            if *slot == 0 || *slot as usize >= slots || of_shard.has(*slot) {
                return Err(StateError::new("a shard has changed a feature twice, or one that there is not"));
            }
            of_shard.add(*slot, *number);
        }
        start = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Mix, ShardsConfig};
    use crate::example::{Example, SparseView, TaskId};
    use crate::interaction::Uniform;
    use crate::tasks::Tasks;
    use crate::weights::shared_own::KeptParts;

    const CONFIG: ShardsConfig = ShardsConfig { count: 3, mix: Mix::Every(10) };
    const BOTH: KeptParts = KeptParts { shared: true, own: true };

    fn learnt() -> (Sharded, Tasks) {
        let names = Tasks::named(["a", "b", "c"]).unwrap();
        let (mut sharded, mut tasks) = (Sharded::new(CONFIG, BOTH, &names), 3);
        for (at, label) in [1.0, -1.0, 1.0, -1.0].into_iter().cycle().take(14).enumerate() {
            let feature = [at as u32 % 4];
            let example = Example::new(TaskId(at as u32 % 3), SparseView::trusted(&feature, &[1.0]), label);
            sharded.update(&Uniform::Pooled, &mut tasks, example, -label);
        }
        (sharded, names)
    }

    fn refusal(change: impl FnOnce(&mut ShardedState)) -> String {
        let (sharded, names) = learnt();
        let mut state = sharded.state();
        change(&mut state);
        Sharded::new(CONFIG, BOTH, &names).restore(3, state).unwrap_err().to_string()
    }

    #[test]
    fn what_is_saved_comes_back() {
        let (sharded, names) = learnt();
        let mut back = Sharded::new(CONFIG, BOTH, &names);
        back.restore(3, sharded.state()).unwrap();
        let bytes = |sharded: &Sharded| rmp_serde::to_vec_named(&sharded.state()).unwrap();
        assert_eq!(bytes(&back), bytes(&sharded));
        assert!(!sharded.state().changes.0.is_empty(), "it is in the middle of a round");
    }

    #[test]
    fn what_cannot_have_been_saved_is_refused() {
        let counts = "the counts of rounds are impossible";
        assert_eq!(refusal(|state| state.learnt = state.length), counts);
        assert_eq!(refusal(|state| state.known = 4), counts);
        assert_eq!(refusal(|state| state.scaled = state.rounds + 1), counts);
        let met = "shards have met tasks that there are not";
        assert_eq!(refusal(|state| state.reach.0[0] = 4), met);
        assert_eq!(refusal(|state| state.reach.0.push(0)), met);
        let squared = "the squared length of the shared vector is another";
        assert_eq!(refusal(|state| state.squared += 1.0), squared);
        assert_eq!(refusal(|state| state.squared = f64::NAN), squared);
        let ends = "the changes of shards and their ends disagree";
        assert_eq!(refusal(|state| state.change_ends.0[2] += 1), ends);
        assert_eq!(refusal(|state| state.change_ends.0.push(0)), ends);
        assert_eq!(refusal(|state| state.changes.0.push(0.0)), ends);
        let slots = "a shard has changed a feature twice, or one that there is not";
        assert_eq!(refusal(|state| state.change_slots.0[0] = 0), slots);
        assert_eq!(refusal(|state| state.change_slots.0[0] = 99), slots);
        assert!(refusal(|state| state.changes.0[0] = f64::INFINITY).contains("not finite"));
    }
}
