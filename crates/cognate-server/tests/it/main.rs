//! The server, asked as clients ask it, and its engine on a file system that crashes.

mod bad_input;
mod crashes;
mod durability;
mod folders;
mod limits;
mod page;
mod queue;
mod queue_crashes;
mod routes;
mod support;
mod who_may;
