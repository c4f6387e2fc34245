//! Which shard does a task live in, which round is it, and how many tasks does a shard know of?

use super::config::{Mix, ShardsConfig};
use crate::example::TaskId;
use crate::stream::feature_hash::murmur3;
use crate::tasks::Tasks;

/// The shortest round that `mix = "auto"` makes.
const FLOOR: u64 = 64;

/// The longest: where tasks are as many as examples, rounds of 10,000 cost many points of error, since the first ones find nothing shared.
const CEILING: u64 = 256;

/// Rounds, and where tasks live; see the head of the module.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(super) count: u32,
    mix: Mix,
    /// The shard of each task that has a name.
    shard_of: Vec<u32>,
    /// Examples of this round so far, and until it ends.
    pub(super) learnt: u64,
    pub(super) length: u64,
    /// K: the tasks declared or met when the round began.
    pub(super) known: usize,
    /// For each shard, the highest number of a task that it has met in this round, counted from 1.
    pub(super) reach: Vec<u32>,
    /// Rounds that have ended.
    pub(super) rounds: u64,
    /// Rounds whose changes the guard scaled down.
    pub(super) scaled: u64,
}

impl Schedule {
    pub(super) fn new(config: ShardsConfig, tasks: &Tasks) -> Self {
        let mut schedule = Self {
            count: config.count,
            mix: config.mix,
            shard_of: Vec::new(),
            learnt: 0,
            length: 0,
            known: tasks.count(),
            reach: vec![0; config.count as usize],
            rounds: 0,
            scaled: 0,
        };
        schedule.length = schedule.next_length();
        schedule.meet(tasks, 0);
        schedule
    }

    /// How long a round is that begins now.
    fn next_length(&self) -> u64 {
        match self.mix {
            Mix::Every(examples) => examples,
            Mix::Auto => (self.known as u64).clamp(FLOOR, CEILING),
        }
    }

    /// Learns the names of tasks; those of the first `learnt` are known to stay.
    ///
    /// Others may have been named for a round that never came, and named anew since.
    pub(super) fn meet(&mut self, tasks: &Tasks, learnt: usize) {
        self.shard_of.truncate(learnt);
        for task in self.shard_of.len()..tasks.len() {
            let hash = murmur3(tasks.name(TaskId(task as u32)).as_bytes(), 0);
            self.shard_of.push(hash % self.count);
        }
    }

    /// The shard of a task; none if it has no name yet.
    #[inline]
    pub(super) fn shard(&self, task: TaskId) -> Option<usize> {
        self.shard_of.get(task.index()).map(|shard| *shard as usize)
    }

    /// How many shards have a task.
    pub(super) fn occupied(&self) -> u32 {
        let mut has_task = vec![false; self.count as usize];
        self.shard_of.iter().for_each(|shard| has_task[*shard as usize] = true);
        has_task.into_iter().map(u32::from).sum()
    }

    /// The number of tasks as the shard of a task sees it once it has met it: K'.
    #[inline]
    pub(super) fn tasks_seen(&self, task: TaskId) -> usize {
        let reach = self.shard(task).map_or(0, |shard| self.reach[shard] as usize);
        self.known.max(reach).max(task.index() + 1)
    }

    /// A task is met; gives K'.
    #[inline]
    pub(super) fn see(&mut self, task: TaskId) -> usize {
        if let Some(shard) = self.shard(task) {
            self.reach[shard] = self.reach[shard].max(task.0 + 1);
        }
        self.tasks_seen(task)
    }

    /// Bytes held.
    pub(super) fn heap_bytes(&self) -> usize {
        (self.shard_of.capacity() + self.reach.capacity()) * size_of::<u32>()
    }

    /// Examples until the round ends, at least 1.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.length - self.learnt
    }

    /// The next round begins, with so many tasks.
    pub(super) fn begin(&mut self, known: usize) {
        self.known = known;
        self.reach.fill(0);
        self.learnt = 0;
        self.rounds += 1;
        self.length = self.next_length();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(count: u32, mix: Mix, tasks: &Tasks) -> Schedule {
        Schedule::new(ShardsConfig { count, mix }, tasks)
    }

    #[test]
    fn a_task_lives_where_the_hash_of_its_name_says() {
        let tasks =
            Tasks::named(["", "test", "Hello, world!"].iter().copied().filter(|name| !name.is_empty()));
        let schedule = schedule(16, Mix::Auto, &tasks.unwrap());
        // 0xba6bd213 and 0xc0363e43.
        assert_eq!([0, 1, 2].map(|task| schedule.shard(TaskId(task))), [Some(3), Some(3), None]);
        assert_eq!(schedule.occupied(), 1);
    }

    #[test]
    fn names_that_never_came_are_hashed_anew() {
        let (one, other) =
            (Tasks::named(["a", "b", "c"]).unwrap(), Tasks::named(["a", "x", "yy", "zzz"]).unwrap());
        let mut schedule = schedule(1 << 16, Mix::Auto, &one);
        schedule.meet(&other, 1);
        let fresh = Schedule::new(ShardsConfig { count: 1 << 16, mix: Mix::Auto }, &other);
        assert_eq!(schedule.shard_of, fresh.shard_of);
    }

    #[test]
    fn rounds_follow_the_number_of_tasks() {
        let mut schedule = schedule(4, Mix::Auto, &Tasks::open());
        assert_eq!((schedule.length, schedule.known), (FLOOR, 0));
        schedule.begin(100);
        assert_eq!((schedule.left(), schedule.rounds), (100, 1));
        schedule.begin(1000);
        assert_eq!((schedule.left(), schedule.rounds), (CEILING, 2));
        let declared = Schedule::new(ShardsConfig { count: 4, mix: Mix::Auto }, &Tasks::counted(500));
        assert_eq!((declared.length, declared.known), (CEILING, 500));
        assert_eq!(Schedule::new(ShardsConfig { count: 4, mix: Mix::Every(7) }, &Tasks::open()).length, 7);
    }

    #[test]
    fn a_shard_knows_the_tasks_that_there_were_and_its_own() {
        let mut tasks = Tasks::open();
        let mut schedule = schedule(2, Mix::Auto, &tasks);
        for name in 0..20 {
            tasks.meet(&name.to_string()).unwrap();
        }
        schedule.meet(&tasks, 0);
        let (here, there): (Vec<TaskId>, Vec<TaskId>) =
            (0..20).map(TaskId).partition(|task| schedule.shard(*task) == Some(0));
        assert_eq!(schedule.see(here[3]), here[3].index() + 1);
        assert_eq!(schedule.tasks_seen(here[0]), here[3].index() + 1);
        assert_eq!(schedule.tasks_seen(there[0]), there[0].index() + 1);
        schedule.begin(20);
        assert_eq!((schedule.tasks_seen(there[0]), schedule.tasks_seen(TaskId(30))), (20, 31));
    }
}
