//! A learner whose margins are inner products with one shared vector and one per task, by the schedule.

use std::num::NonZeroUsize;

use super::ShardReport;
use super::config::ShardsConfig;
use super::schedule::Schedule;
use super::side_by_side::Segment;
use super::weights::Weights;
use crate::example::{Example, SparseView, TaskId};
use crate::interaction::Scales;
use crate::learner::{Outcome, OwnWeights, SharedVector};
use crate::stream::Batch;
use crate::tasks::Tasks;
use crate::weights::shared_own::{Dots, KeptParts};

/// What a learner makes of the inner products of an example, when it knows so many tasks.
pub(crate) trait Rule: Sync {
    /// What own and shared weights count.
    fn scales(&self, tasks: usize) -> Scales;

    /// How much of the features is added to the weights, if the example changes any.
    fn step(&self, tasks: usize, example: Example<'_>, margin: f64) -> Option<f64>;

    /// The margin, without the offset of the example.
    #[inline]
    fn margin(&self, tasks: usize, dots: Dots) -> f64 {
        let Scales { own, shared } = self.scales(tasks);
        own * dots.own + shared * dots.shared
    }
}

/// See the head of the module.
#[derive(Debug, Clone)]
pub(crate) struct Sharded {
    pub(super) schedule: Schedule,
    pub(super) weights: Weights,
    /// How many threads may take shards; not state.
    threads: NonZeroUsize,
    /// Scratch, not state.
    segment: Segment,
}

impl Sharded {
    pub(crate) fn new(config: ShardsConfig, kept: KeptParts, tasks: &Tasks) -> Self {
        let schedule = Schedule::new(config, tasks);
        let weights = Weights::new(kept, config.count as usize);
        Self { schedule, weights, threads: NonZeroUsize::MIN, segment: Segment::default() }
    }

    /// Is told the names of tasks, of which so many are known to stay.
    pub(crate) fn meet(&mut self, tasks: &Tasks, learnt: usize) {
        self.schedule.meet(tasks, learnt);
    }

    /// May use so many threads.
    pub(crate) fn use_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads;
    }

    pub(crate) fn margin(&self, rule: &impl Rule, task: TaskId, x: SparseView<'_>) -> f64 {
        rule.margin(self.schedule.tasks_seen(task), self.weights.dots(self.schedule.shard(task), task, x))
    }

    /// Learns an example whose margin is known; `tasks` is K as the learner counts it.
    pub(crate) fn update(
        &mut self,
        rule: &impl Rule,
        tasks: &mut usize,
        example: Example<'_>,
        margin: f64,
    ) -> bool {
        let Example { task, features, .. } = example;
        let shard = self.shard_of(task);
        let seen = self.schedule.see(task);
        let step = rule.step(seen, example, margin);
        match step {
            Some(step) => self.weights.add(shard, task, features, step),
            // Features have slots in the order in which they occur.
            None => {
                let mut slots = std::mem::take(&mut self.weights.places);
                slots.clear();
                self.weights.number(features, &mut slots);
                self.weights.places = slots;
            }
        }
        self.count(1, task.index() + 1, tasks);
        step.is_some()
    }

    /// Counts an example that is not learnt, and meets its task.
    pub(crate) fn skip(&mut self, tasks: &mut usize, task: TaskId) {
        self.schedule.see(task);
        self.count(1, task.index() + 1, tasks);
    }

    /// Learns a batch in order, or shard by shard, with the same result.
    pub(crate) fn learn_batch(
        &mut self,
        rule: &impl Rule,
        tasks: &mut usize,
        batch: &Batch,
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.clear();
        while outcomes.len() < batch.len() {
            let start = outcomes.len();
            let left = usize::try_from(self.schedule.left()).unwrap_or(usize::MAX);
            let range = start..batch.len().min(start.saturating_add(left));
            let Self { schedule, weights, segment, threads } = self;
            let met = segment.prepare(schedule, weights, batch, range);
            segment.learn(rule, weights, batch, *threads, outcomes);
            self.count((outcomes.len() - start) as u64, met, tasks);
        }
    }

    /// Counts examples of a round, after which so many tasks have been met, and mixes where it is over.
    fn count(&mut self, examples: u64, met: usize, tasks: &mut usize) {
        *tasks = (*tasks).max(met);
        self.schedule.learnt += examples;
        if self.schedule.left() == 0 {
            self.end_round(*tasks);
        }
    }

    /// Adds up what shards have changed, and begins the next round, which knows so many tasks.
    pub(crate) fn end_round(&mut self, tasks: usize) {
        self.schedule.scaled += u64::from(self.weights.mix());
        self.schedule.begin(tasks);
    }

    /// The shard of a task to be learnt. A run has told the names of all of them.
    fn shard_of(&self, task: TaskId) -> usize {
        self.schedule.shard(task).expect("tasks are named before they are learnt")
    }

    /// What own and shared weights of a task count.
    fn factors(&self, rule: &impl Rule, task: TaskId) -> Dots {
        let Scales { own, shared } = rule.scales(self.schedule.tasks_seen(task));
        Dots { shared, own }
    }

    pub(crate) fn weights(&self, rule: &impl Rule, task: TaskId) -> Vec<(u32, f64)> {
        self.weights.weights(self.schedule.shard(task), task, self.factors(rule, task))
    }

    pub(crate) fn shared_vectors(&self) -> Vec<SharedVector> {
        vec![SharedVector { name: "shared".to_owned(), weights: self.weights.block_weights() }]
    }

    pub(crate) fn own_weights(&self, rule: &impl Rule, task: TaskId) -> OwnWeights {
        let factors = self.factors(rule, task);
        let own = self.weights.own_weights(self.schedule.shard(task), task, factors);
        OwnWeights { factors: vec![factors.shared], own }
    }

    pub(crate) fn report(&self) -> ShardReport {
        let Schedule { count, rounds, scaled, .. } = self.schedule;
        ShardReport { count, occupied: self.schedule.occupied(), rounds, scaled }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes() + self.schedule.heap_bytes()
    }
}
