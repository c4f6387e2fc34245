//! Models that learn live: HTTP in front of a log in front of [`cognate::Model`].
//!
//! ```text
//! client -> route -> queue -> log (group commit, synced) -> learner -> answer
//!                    predict: route -> shared read of the model -> answer
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `body` | what do the bodies of requests say? JSON straight into the form of the log |
//! | `examples`, `entry`, `queue_entry` | what is in the log, byte by byte? |
//! | `live/` | how does a model learn live, and survive a crash? |
//! | `folder` | what is in a data folder, and who may use it? |
//! | `tokens` | who may do what? |
//! | `layout` | where is each task in the plane? |
//! | `failure`, `hints` | why is a request refused, and what is the way out? |
//! | `metrics` | what can be watched from outside? |
//! | `app` | what does a server hold? |
//! | `background` | how is work done that takes its time, so that others are answered meanwhile? |
//! | `http/` | how is the server asked? |
//! | `drill` | for tests and tools: a client, and a program that is killed again and again |

pub mod app;
mod background;
pub mod body;
#[cfg(feature = "drill")]
pub mod drill;
pub mod entry;
pub mod examples;
pub mod failure;
pub mod folder;
mod hints;
pub mod http;
pub mod layout;
pub mod live;
pub mod metrics;
pub mod queue_entry;
pub mod tokens;

pub use app::{ServeError, ServeOptions};
pub use http::{Bound, serve};
