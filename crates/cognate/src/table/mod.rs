//! Tables from numbers to small values, which every set of weights stands on.
//!
//! | file | question it answers |
//! |---|---|
//! | `index_map` | what is the value of a key? An array for low keys, buckets of one cache line for the rest; few keys may be a list |
//! | `table_value` | what can a table hold? |
//! | `cache_line` | what are arrays and buckets made of? |
//! | `search` | where are many keys at once? |
//! | `ahead` | how are the weights of the next examples found while one is being learnt? |
//! | `secret` | what decides where keys and names lie, so that nobody can choose some that crowd? |
//! | `prefetch` | how is the processor asked for memory? One `unsafe` instruction |

pub(crate) mod ahead;
pub(crate) mod cache_line;
pub(crate) mod index_map;
pub(crate) mod prefetch;
pub(crate) mod search;
pub(crate) mod secret;
mod table_value;

pub(crate) use ahead::{AHEAD, Locate};
pub(crate) use index_map::IndexMap;
pub(crate) use search::Search;
pub(crate) use secret::SecretState;
