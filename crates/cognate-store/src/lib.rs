//! What is kept on disk of a model that learns live: a log of entries, and snapshots.
//!
//! An *entry* is what one request changes, as bytes; it has a number, *seq*, from 1 on. A *group* of entries is written as one frame
//! and synced once. Only then are its entries applied to the state in memory, and acknowledged. A *snapshot* is the state after an
//! entry; what the log holds up to it is then no longer needed.
//!
//! ```text
//! append   frame -> write -> sync -> apply -> acknowledge
//! snapshot state -> temporary file -> sync -> rename -> sync folder -> old segments and snapshots go
//! open     latest snapshot -> entries of the log after it, in order -> state as it was
//! ```
//!
//! What a crash may leave, and what is made of it:
//!
//! - the last frame is not whole: it was never acknowledged, and is cut off; said once, in [`Recovered`];
//! - a frame that is not whole has a whole one behind it, or anything but zeros before a later segment: since a frame is written only
//!   after the one before it was synced, that is damage, and opening is refused with its place;
//! - entries are missing between snapshot and log: refused.
//!
//! A write or a sync that failed ends learning until the store is opened again: trying again may succeed although what was written
//! before is lost.
//!
//! | file | question it answers |
//! |---|---|
//! | `disk` | how are files touched? one small trait, so that tests can stop the world between any two steps |
//! | `frame` | what is a group of entries, byte by byte? |
//! | `segment` | what is a file of the log, and where does it end? |
//! | `log` | how is a group appended, and what is left after a crash? |
//! | `store` | how do snapshots and the log make one state that survives? |
//! | `salvage` | what is left of a log that was damaged? |
//! | `error` | what can go wrong? |
//! | `world` | for tests: a file system that keeps, at a crash, a random part of what was not synced, and fails any call |

mod disk;
mod error;
mod frame;
mod log;
mod salvage;
mod segment;
mod store;
#[cfg(feature = "testing")]
pub mod world;

pub use disk::{Disk, DiskFile, RealDisk};
pub use error::StoreError;
pub use log::{Group, Recovered};
pub use salvage::{Salvaged, salvage};
pub use store::{Opening, Snapshot, Store, StoreOptions, Unwritten};
