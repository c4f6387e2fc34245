//! For tests and tools: a plain client, and a program that is killed again and again.

mod client;
mod kills;

pub use client::{Answer, Client};
pub use kills::{Drill, Killed, Running};
