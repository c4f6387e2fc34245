//! How is the server asked? Routes decode, call and encode; models live in `live`.
//!
//! | file | question it answers |
//! |---|---|
//! | `listen` | who may connect, and how does it all end? |
//! | `pace` | how long may a client keep a connection without saying or taking anything? |
//! | `routes` | which routes are there? one list, from which the router and the description follow |
//! | `call` | what is known of a request: who asks, the model, the body within its limits |
//! | `answers`, `bodies`, `openapi` | what is sent and taken, and what does its schema say? |
//! | `page` | the dashboard |
//! | `models`, `learning`, `tasks`, `map`, `queue`, `alerts`, `events` | what does each route do? |

mod alerts;
mod answers;
mod bodies;
mod call;
mod events;
mod learning;
mod listen;
mod map;
mod models;
mod openapi;
mod pace;
mod page;
mod queue;
mod routes;
mod tasks;

pub use listen::{Bound, serve};
pub(crate) use map::Drawn;
