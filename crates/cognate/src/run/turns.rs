//! A run turn by turn: whoever lends the model may let others look at it in between.

use std::ops::ControlFlow;

use super::{Observer, Progress, Run, RunError, RunOptions, introduce};
use crate::feature_names::Naming;
use crate::model::Model;
use crate::stream::pipeline::for_each_batch;
use crate::stream::{ColumnKinds, LabelNames, Stream};

/// A model that is learnt into turn by turn, so that others may look at it in between.
pub trait Turns {
    /// Hands model and observer over for a turn.
    fn turn(&mut self, work: &mut dyn FnMut(&mut Model, &mut dyn Observer));
}

/// All turns without a break.
struct Whole<'a>(&'a mut Model, &'a mut dyn Observer);

impl Turns for Whole<'_> {
    fn turn(&mut self, work: &mut dyn FnMut(&mut Model, &mut dyn Observer)) {
        work(self.0, self.1);
    }
}

/// Learns a stream to its end, or until the observer breaks: [`Model::learn`].
pub(crate) fn learn(
    model: &mut Model,
    stream: &mut dyn Stream,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Progress, RunError> {
    learn_in_turns(&mut Whole(model, observer), stream, options)
}

/// As [`Model::learn`], a batch of a few hundred examples per turn, with the same result. Nobody else may change the model
/// between two turns.
///
/// # Errors
/// As [`Model::learn`].
pub fn learn_in_turns(
    turns: &mut dyn Turns,
    stream: &mut dyn Stream,
    options: &RunOptions,
) -> Result<Progress, RunError> {
    let before = taken(turns, |model, _| begin(model, stream.naming()))?;
    let learnt = learn_stream(turns, stream, options);
    turns.turn(&mut |model, _| end(model, &before, learnt.as_ref().err()));
    learnt
}

/// A turn whose work gives something.
fn taken<T>(
    turns: &mut dyn Turns,
    mut work: impl FnMut(&mut Model, &mut dyn Observer) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let mut done = None;
    turns.turn(&mut |model, observer| done = Some(work(model, observer)));
    done.expect("a turn does its work")
}

/// What a model was before a run from which nothing was learnt.
struct Before {
    was_undecided: bool,
    rounds: u64,
    columns: ColumnKinds,
    labels: LabelNames,
}

fn begin(model: &mut Model, naming: Naming) -> Result<Before, RunError> {
    if model.learner.as_online().is_none() {
        return Err(RunError::Batch { learner: model.learner.about().id });
    }
    let (was_undecided, rounds) = (model.is_undecided(), model.rounds);
    let (columns, labels) = (model.columns.clone(), model.labels.clone());
    model.agree_on_naming(naming)?;
    model.metrics.begin_run();
    Ok(Before { was_undecided, rounds, columns, labels })
}

fn end(model: &mut Model, before: &Before, failed: Option<&RunError>) {
    // Tasks of a round that did not come to its end were named, but not met.
    model.tasks.keep_first(model.learner.as_inspect().tasks());
    if model.rounds > before.rounds || failed.is_some_and(RunError::has_learnt) {
        model.settle_format();
    } else {
        (model.columns, model.labels) = (before.columns.clone(), before.labels.clone());
        if before.was_undecided {
            model.undecide();
        }
    }
}

fn learn_stream(
    turns: &mut dyn Turns,
    stream: &mut dyn Stream,
    options: &RunOptions,
) -> Result<Progress, RunError> {
    let mut progress = Progress::default();
    let inputs = stream.input_names();
    let (mut run, rounds) = taken(turns, |model, observer| {
        model.learner.as_learn_one().use_threads(options.threads);
        Ok((Run::new(model, inputs.clone(), options, observer), model.rounds))
    })?;
    let (mut failed, mut stopped) = (None, false);
    for_each_batch(stream, options.passes, options.threads, |batch| {
        progress.position = batch.position();
        progress.skipped += batch.skipped();
        progress.passes += u32::from(batch.ends_pass);
        let learnt = taken(turns, |model, observer| {
            introduce(model, batch).and_then(|()| run.learn(model, batch, observer))?;
            if model.rounds > rounds {
                model.settle_format();
            }
            Ok(observer.batch_done(progress, model))
        });
        match learnt {
            Ok(flow) => {
                stopped = flow.is_break();
                flow
            }
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    // A run may be stopped in the middle of a round, which is then left out.
    if !stopped {
        taken(turns, |model, observer| run.finish(model, observer))?;
    }
    Ok(progress)
}
