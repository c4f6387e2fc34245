//! Where examples come from: files, pipes, memory, generators; one form for all, flat batches.
//!
//! `input` opens and decompresses, `lines` finds line ends, `svm`, `vw`, `csv_rows` or `jsonl` parses a line, `reader`
//! puts them together into a [`Stream`]. `labels` is what labels may be in all of them, `named` gives features that have
//! names their numbers, `feature_hash` where that is asked for. `memory` holds examples and reorders them, `synthetic` makes them up. `pipeline` reads on one
//! thread while another learns; `rounds` groups examples into simultaneous rounds.

mod batch;
mod config;
mod csv_rows;
mod error;
mod feature_hash;
mod input;
mod jsonl;
mod labels;
mod lines;
mod memory;
mod named;
mod number;
pub mod pipeline;
mod reader;
pub(crate) mod rounds;
mod row_tasks;
mod rows;
mod svm;
pub mod synthetic;
mod table;
mod vw;

pub use batch::Batch;
pub use config::{Format, Normalize, Order, Preprocess, Reading, StreamConfig};
pub use error::{Excerpt, Place, Problem, StreamError};
pub use input::Input;
pub use memory::Memory;
pub use reader::{Labels, Reader, ReaderOptions};
pub use row_tasks::RowTasks;
pub use rows::{Cell, Features, Rows};
pub use svm::write_example;
pub use table::{Indices, Table, TableError, TableStream, Values};

/// Examples in order, a batch at a time; may be started again.
pub trait Stream: Send {
    /// Replaces the batch's contents by the next examples; none are left when the batch stays empty.
    ///
    /// # Errors
    /// When the input cannot be read or a line is bad; examples before it are delivered first.
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError>;

    /// Goes back to the start.
    ///
    /// # Errors
    /// When the input cannot be read twice, or is gone.
    fn rewind(&mut self) -> Result<(), StreamError>;
}

impl<S: Stream + ?Sized> Stream for Box<S> {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        (**self).fill(batch)
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        (**self).rewind()
    }
}
