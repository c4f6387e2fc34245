//! `cognate parse`: reads a stream and discards it: the least that learning it can cost.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use cognate::internal::for_each_batch;
use cognate::{ReadOptions, RunConfig};

use super::inputs;
use crate::args::ParseArgs;
use crate::formats::told_by_names;
use crate::output;

/// Runs the command.
pub(crate) fn run(args: &ParseArgs) -> anyhow::Result<()> {
    let mut config = RunConfig::default();
    config.stream.format = told_by_names(&args.data)?.unwrap_or_default();
    let mut reader = config.reader(inputs(&args.data)?, ReadOptions::default())?;
    let mut examples = 0;
    for_each_batch(&mut reader, 1, NonZeroUsize::MIN, |batch| {
        examples += batch.len();
        ControlFlow::Continue(())
    })?;
    output::print(&examples.to_string())
}
