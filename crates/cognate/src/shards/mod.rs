//! Learning in shards: a schedule that says which tasks live together, and when shards tell each other what they have learnt.
//!
//! The schedule is part of the model. Who carries it out, one thread or many, and in batches of which size, never changes a byte
//! of what comes out. With one shard there is no schedule: that is the learner of one stream, as ever.
//!
//! **Shards.** There are S of them. A task lives in shard h mod S, where h is the MurmurHash3 (32 bits, seed 0) of its name in
//! UTF-8. Of it the shard has all that is its own; nothing of that is ever sent anywhere.
//!
//! **Rounds.** The stream is cut into rounds of B examples, by their number over the model's life: those learnt, and those only
//! predicted because they have no label, or theirs was not asked for. B is fixed when a round begins: `mix` if that is a number; with `auto` the number of tasks
//! declared or met by then, K, but at least 64 and at most 256.
//!
//! **Within a round** all shards see the same *block*, the shared numbers as the round found them. To it a shard adds *changes* of
//! its own, which begin at 0. A shared vector u with changes c of the shard gives the margin
//!
//! own(K') v'x + shared(K') (u'x + c'x),
//!
//! v what is the task's own, and K' the larger of K and the highest number of a task that the shard has met in the round, counted from 1. Whatever the
//! learner would add to u is added to c. A task that nobody has met yet sees the block alone.
//!
//! **At its end** changes are added, not averaged: with tasks in shards an average would divide by S what only one shard has
//! seen. For each feature the sum D begins at 0, changes of shards are added to it in the order of the shards, and then u becomes u + D. Features
//! have an order of their own: that in which they first occur in the stream, in examples that are learnt. K becomes the number of tasks declared or met.
//!
//! **The guard.** Shards that see the same block repeat each other: what one mistake would have set right, S shards set right at once. Where more than one
//! shard has changes and |D| is more than the larger of |u| and (sum over the shards of |c|^2)^(1/2), the length that D would have if shards had nothing in common, D
//! is scaled down to that; [`ShardReport::scaled`] counts how often. |u|^2 is kept by adding what each changed number adds to it.
//!
//! **Bound.** With examples of length 1, a mistake moves the shared vector of `coupled` by at most b / ((1 + b) K), so that a
//! round of B examples moves no margin further than b / (1 + b) B / K from that of the serial learner.
//!
//! A model may be saved within a round: changes are saved too, so that a resumed run is the unbroken one. Forgetting a task ends the round first.
//!
//! | file | question it answers |
//! |---|---|
//! | `config` | what can be told, and which learners take it? |
//! | `schedule` | which shard, which round, how many tasks does a shard know of? |
//! | `changes` | what has a shard added to the block? |
//! | `weights` | the block, its changes, what is each task's own, and how they are mixed |
//! | `sharded` | how does a learner of weights learn by the schedule? |
//! | `side_by_side` | how do threads take shards? |
//! | `saved` | what of it is in a model file? |

mod changes;
mod config;
mod saved;
mod schedule;
mod sharded;
mod side_by_side;
mod weights;

pub(crate) use config::why_not;
pub use config::{Mix, ShardsConfig};
pub(crate) use saved::ShardedState;
pub(crate) use sharded::{Rule, Sharded};

/// What has become of the shards of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardReport {
    /// How many there are.
    pub count: u32,
    /// How many have a task.
    pub occupied: u32,
    /// Rounds that have come to their end.
    pub rounds: u64,
    /// Rounds whose summed changes the guard scaled down.
    pub scaled: u64,
}
