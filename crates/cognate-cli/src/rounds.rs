//! How many rounds a stream has, for parameters that are a fraction of it.

use anyhow::bail;
use cognate::RunConfig;
use cognate::stream::{Batch, Input, Order, ReadOptions, Stream as _};

use crate::interrupt::Interrupt;
use crate::output::Interrupted;

/// Reads the inputs once to count their rounds, all passes together.
pub(crate) fn count_rounds(
    config: &RunConfig,
    sources: &[Input],
    options: ReadOptions,
    interrupt: &Interrupt,
) -> anyhow::Result<u64> {
    if sources.contains(&Input::Stdin) {
        bail!(
            "a parameter of {} is a fraction of the stream, but the length of standard input is not known \
             before its end; give a number of rounds, or a file",
            config.learner.id()
        );
    }
    let mut reader = config.reader(sources.to_vec(), options)?;
    let (mut batch, mut examples, mut met) = (Batch::default(), 0_u64, config.declared_tasks()?.len());
    loop {
        reader.fill(&mut batch)?;
        if interrupt.asked() {
            return Err(Interrupted.into());
        }
        if batch.is_empty() {
            break;
        }
        examples += batch.len() as u64;
        met += batch.new_tasks().len();
    }
    let by_all = config.stream.simultaneous || config.stream.order == Order::Adversarial;
    let in_a_round = if by_all { met.max(1) as u64 } else { 1 };
    Ok(u64::from(config.stream.passes) * (examples / in_a_round))
}
