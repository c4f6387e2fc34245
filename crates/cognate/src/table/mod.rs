//! Tables of small numbers, under every set of weights.
//!
//! `index_map` maps numbers to values: an array for low keys, buckets of one cache line (`line`) for the rest. `search`
//! looks up many keys at once, `ahead` those of the next examples while one is being learnt; `prefetch` asks the
//! processor for memory and is the only file with `unsafe`, one instruction.

pub(crate) mod ahead;
pub(crate) mod index_map;
pub(crate) mod line;
pub(crate) mod prefetch;
pub(crate) mod search;

pub(crate) use ahead::{AHEAD, Locate};
pub(crate) use index_map::IndexMap;
pub(crate) use search::Search;
