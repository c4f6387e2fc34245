//! Where examples come from: files, pipes, memory, generators; all deliver flat batches.
//!
//! `input` opens and decompresses, `lines` finds line ends, `svm`, `vw`, `csv_rows` or `jsonl` parses a line, `reader`
//! puts them together into a [`Stream`]. `labels` says what labels may be in all of them and `label_names` what they are
//! called, `extras` what else an example may have, with `time` for times; `named` gives named features their numbers, by
//! `feature_hash` if hashing is set. `file_names` tells formats by the names of files. `memory` holds examples and reorders them, `synthetic` generates
//! them. `pipeline` reads on one thread while another learns; `rounds` groups examples into simultaneous rounds.

mod bad_lines;
mod batch;
mod columns;
mod config;
mod csv_rows;
mod error;
mod extras;
pub(crate) mod feature_hash;
mod file_names;
mod frame;
mod given;
mod input;
mod jsonl;
mod label_names;
mod labels;
mod lines;
mod memory;
mod named;
mod number;
mod other_format;
pub(crate) mod pipeline;
mod reader;
pub(crate) mod rounds;
mod row_tasks;
mod svm;
pub mod synthetic;
mod table;
mod time;
mod vw;

pub use bad_lines::{BadLine, BadLines, LONGEST_KEPT_LINE};
pub use batch::Batch;
pub(crate) use columns::{ColumnKind, ColumnKinds};
pub use columns::{ColumnsApart, ReadRemarks};
pub use config::{
    CsvConfig, Format, HashedConfig, JsonlConfig, NamingConfig, Normalize, Order, Preprocess, StreamConfig,
    VwConfig,
};
pub(crate) use config::{class_problem, naming_problem};
pub use error::{Excerpt, Place, Problem, StreamError};
pub use frame::{Column, Frame, PlacedFrame};
pub use given::{FeatureValue, Features};
pub(crate) use given::{Given, NameSource, task_name};
pub use input::Input;
pub use label_names::LabelNames;
pub(crate) use labels::{UNNAMED_TASK, meet_task, unknown_task};
pub use memory::Memory;
pub(crate) use reader::ReaderPlan;
pub use reader::{Labels, ReadOptions, Reader};
pub(crate) use rounds::place_of;
pub use row_tasks::RowTasks;
pub use svm::write_example;
pub use table::{Indices, Table, TableError, TableStream, Values};

use crate::feature_names::Naming;

/// Examples in order, a batch at a time; may be started again.
pub trait Stream: Send {
    /// Replaces the batch's contents by the next examples; none are left when the batch stays empty.
    ///
    /// # Errors
    /// When the input cannot be read or a line is bad; examples before it are delivered first.
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError>;

    /// As [`Self::fill`]; a stream that keeps the lines it skips ([`Batch::skipped_lines`]) may also leave the batch empty but
    /// for them, so that they are known before the next line comes. Says whether more may come.
    ///
    /// # Errors
    /// As [`Self::fill`].
    fn fill_promptly(&mut self, batch: &mut Batch) -> Result<bool, StreamError> {
        self.fill(batch)?;
        Ok(!batch.is_empty())
    }

    /// Goes back to the start.
    ///
    /// # Errors
    /// When the input cannot be read twice, or is gone.
    fn rewind(&mut self) -> Result<(), StreamError>;

    /// What the numbers of its features stand for: names, or the numbers themselves.
    fn naming(&self) -> Naming {
        Naming::Numbered
    }

    /// Names of its inputs, for messages.
    fn input_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the text read so far turned out to be.
    fn remarks(&self) -> ReadRemarks {
        ReadRemarks::default()
    }
}

impl<S: Stream + ?Sized> Stream for Box<S> {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        (**self).fill(batch)
    }

    fn fill_promptly(&mut self, batch: &mut Batch) -> Result<bool, StreamError> {
        (**self).fill_promptly(batch)
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        (**self).rewind()
    }

    fn naming(&self) -> Naming {
        (**self).naming()
    }

    fn input_names(&self) -> Vec<String> {
        (**self).input_names()
    }

    fn remarks(&self) -> ReadRemarks {
        (**self).remarks()
    }
}
