//! Tables from numbers to small values, which every set of weights stands on.
//!
//! | file | question it answers |
//! |---|---|
//! | `index_map` | what is the value of a key? An array for low keys, buckets of one cache line for the rest |
//! | `cache_line` | what are arrays and buckets made of? |
//! | `search` | where are many keys at once? |
//! | `ahead` | how are the weights of the next examples found while one is being learnt? |
//! | `prefetch` | how is the processor asked for memory? One `unsafe` instruction |

pub(crate) mod ahead;
pub(crate) mod cache_line;
pub(crate) mod index_map;
pub(crate) mod prefetch;
pub(crate) mod search;

pub(crate) use ahead::{AHEAD, Locate};
pub(crate) use index_map::IndexMap;
pub(crate) use search::Search;
