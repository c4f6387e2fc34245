//! The loop, once: examples to learner to counts to observers.

mod classes;
mod rare;
mod turns;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::algorithms::{Protocol, Unfit};
use crate::example::{Example, TaskId};
use crate::fingerprint::fingerprint;
use crate::fit::Kind;
use crate::hint::Hint;
use crate::kernel::Budget;
use crate::learner::{Outcome, in_task_order};
use crate::metrics::Metrics;
use crate::model::Model;
use crate::query::Asker;
use crate::readable::readable;
use crate::stream::rounds::{Grouper, Round};
use crate::stream::{Batch, Order, StreamConfig, StreamError};
use crate::tasks::Tasks;

pub use crate::query::Draws;
use classes::ClassLines;
pub use classes::ClassReport;
pub use rare::Rare;
use rare::{check_fit, check_rare};
pub(crate) use turns::learn;
pub use turns::{Turns, learn_in_turns};

/// What happened to one example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundReport {
    /// The round, counted from 1 over the model's life.
    pub round: u64,
    /// The example's task.
    pub task: TaskId,
    /// Its label.
    pub label: f64,
    /// Its weight, usually 1.
    pub weight: f64,
    /// When it was, in seconds since 1970, if that is known.
    pub time: Option<f64>,
    /// Its margin before learning.
    pub margin: f64,
    /// Whether the margin was a mistake; never where labels are real numbers.
    pub mistake: bool,
    /// Whether the round changed the learner.
    pub updated: bool,
    /// Whether the label was asked for.
    pub queried: bool,
}

/// What happened to an example without a label: it was predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnlabelledReport<'a> {
    /// The round, counted from 1 over the model's life.
    pub round: u64,
    /// The example; its label is NaN.
    pub example: Example<'a>,
    /// Its margin.
    pub margin: f64,
    /// Whether its label was asked for.
    pub queried: bool,
    /// By how much its task's margin is surer than that of any other, if its task is not known: it is taken for one of this.
    pub lead: Option<f64>,
    /// The line that it came from, if the stream keeps such lines.
    pub text: Option<&'a [u8]>,
}

/// How far the input has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes of input read, as stored on disk.
    pub position: u64,
    /// Bad lines skipped.
    pub skipped: u64,
    /// Passes over the stream that have come to their end.
    pub passes: u32,
}

/// Sees every example and may stop the run.
pub trait Observer {
    /// Called after an example was learnt, or its label not asked for, and it was counted.
    fn observe(&mut self, report: &RoundReport, tasks: &Tasks, metrics: &Metrics);

    /// Called after an example without a label was predicted and counted.
    fn observe_unlabelled(&mut self, _report: &UnlabelledReport<'_>, _tasks: &Tasks, _metrics: &Metrics) {}

    /// Whether it wants [`Self::observe_class`]: every line then costs the margins of all classes once more. The examples of
    /// a line must come together, as they do in the order of a file.
    fn follows_classes(&self) -> bool {
        false
    }

    /// Called after a labelled line of `one-vs-all`, when all of its examples have come.
    fn observe_class(&mut self, _report: &ClassReport) {}

    /// Called after a batch of a few hundred examples, when the model can be saved: it holds whole rounds. With two threads,
    /// also several times a second while the stream waits for input. A break ends the run as if the stream had ended.
    fn batch_done(&mut self, progress: Progress, model: &Model) -> ControlFlow<()>;
}

/// Ignores everything.
impl Observer for () {
    fn observe(&mut self, _: &RoundReport, _: &Tasks, _: &Metrics) {}

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl RunOptions {
    /// What a config says about a run: its passes, and which examples are served.
    pub fn of(config: &StreamConfig) -> Self {
        Self { passes: config.passes, serve: config.order.into(), ..Self::default() }
    }
}

/// How a run goes over its stream.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Number of passes over the stream.
    pub passes: u32,
    /// One thread, or one that reads and one that learns; the result is the same.
    pub threads: NonZeroUsize,
    /// Which examples are served.
    pub serve: Serve,
    /// Source of the draws that decide which labels to ask for, if the model's query draws.
    pub draws: Draws,
}

/// Which examples of a stream are learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Serve {
    /// All.
    #[default]
    All,
    /// Of consecutive examples, one of every task, only that with the smallest label times margin at the
    /// time; among equals that of the task met first. The others are neither learnt nor counted, and each example served
    /// is a round of its own, whatever the model says of simultaneous rounds. A task that is never served is not met.
    ///
    /// The adversarial choice of tasks in the experiments of MP10, section 7.
    Hardest,
}

impl From<Order> for Serve {
    fn from(order: Order) -> Self {
        match order {
            Order::Adversarial => Self::Hardest,
            Order::File | Order::Shuffle | Order::Interleave => Self::All,
        }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { passes: 1, threads: NonZeroUsize::MIN, serve: Serve::All, draws: Draws::Seeded }
    }
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The stream could not be read, or holds something invalid.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A margin is infinite or not a number.
    #[error("round {round}: the margin of task {} is {margin}; the learner has diverged", readable(task))]
    Diverged {
        /// The round, counted from 1 over the model's life.
        round: u64,
        /// The task.
        task: String,
        /// What the margin is.
        margin: f64,
    },
    /// Something in the learner is infinite or not a number, whatever the margins so far were.
    #[error("by round {round}, {part} is not finite; the learner has diverged")]
    Overflow {
        /// The round, counted from 1 over the model's life, after which it was noticed.
        round: u64,
        /// What is not finite.
        part: &'static str,
    },
    /// The learner is fitted to all examples at once.
    #[error("`{learner}` does not learn from streams; it is fitted to all examples at once")]
    Batch {
        /// The learner's id.
        learner: &'static str,
    },
    /// One example was given to a model that learns rounds of several.
    #[error("the example is part of an incomplete round; learn all examples of a round at once")]
    NoRound,
    /// The learner keeps something for every pair of tasks.
    #[error(
        "`{learner}` keeps a number for every pair of tasks; {tasks} tasks are too many; the most is {limit}"
    )]
    TooManyTasks {
        /// The learner's id.
        learner: &'static str,
        /// Tasks met.
        tasks: usize,
        /// The largest number it can take.
        limit: usize,
    },
    /// Examples have something that the learner does not know what to do with.
    #[error("`{learner}` knows nothing of {what}, and examples have some")]
    NotHonoured {
        /// The learner's id.
        learner: &'static str,
        /// What examples have.
        what: Rare,
    },
    /// An example is not one that the learner can learn.
    #[error("round {round}, task `{task}`: {why}")]
    Unfit {
        /// Its round, from 1.
        round: u64,
        /// Its task.
        task: String,
        /// What is wrong with it.
        why: Unfit,
    },
    /// An example of an unknown task, and no task is known.
    #[error("round {round}, line {line}: the task is unknown (`?`), and the model knows no task yet")]
    NoTask {
        /// Its round, from 1.
        round: u64,
        /// Its line.
        line: u64,
    },
    /// The learner's budget in bytes is too small for the tasks.
    #[error("`{learner}`: the budget is too small; {tasks} tasks and an example take {least}")]
    SmallBudget {
        /// The learner's id.
        learner: &'static str,
        /// Tasks met.
        tasks: usize,
        /// The least that is enough for them.
        least: Budget,
    },
}

impl RunError {
    /// A way out, if one is known.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Stream(error) => error.hint(),
            Self::Diverged { .. } | Self::Overflow { .. } => Some(Hint::Scale),
            Self::Batch { .. } => Some(Hint::Fit),
            Self::NotHonoured { what, .. } => Some(what.hint()),
            Self::Unfit { why: Unfit::NoTime, .. } => Some(Hint::NameTimes),
            Self::NoTask { .. }
            | Self::NoRound
            | Self::Unfit { .. }
            | Self::TooManyTasks { .. }
            | Self::SmallBudget { .. } => None,
        }
    }

    /// Whether the learner has changed in rounds that were not counted.
    pub(crate) fn has_learnt(&self) -> bool {
        matches!(self, Self::Diverged { .. } | Self::Overflow { .. })
    }
}

/// Learns examples whose tasks and names the model has met: [`crate::model::Rows::learn`].
pub(crate) fn learn_met(
    model: &mut Model,
    batch: &Batch,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if model.learner.as_online().is_none() {
        return Err(RunError::Batch { learner: model.learner.about().id });
    }
    let options = RunOptions::default();
    // Only rounds are told where their examples come from.
    let inputs = if model.config.simultaneous { vec!["rows".to_owned()] } else { Vec::new() };
    let mut run = Run::new(model, inputs, &options, observer);
    let learnt = run.learn(model, batch, observer).and_then(|()| run.finish(model, observer)).map(|()| {
        // There is nothing left to stop.
        let _ = observer.batch_done(Progress::default(), model);
    });
    model.tasks.keep_first(model.learner.as_inspect().tasks());
    learnt
}

/// Makes the model know the tasks and the names of features that appear for the first time.
///
/// A batch that was made for another model leaves none of them behind.
fn introduce(model: &mut Model, batch: &Batch) -> Result<(), RunError> {
    let (tasks, names) = (model.tasks.len(), model.names.len());
    let introduced = batch
        .introduce_tasks(&mut model.tasks)
        .and_then(|()| batch.introduce_names(&mut model.names))
        .and_then(|()| model.columns.adopt(&batch.new_columns))
        .inspect_err(|_| {
            model.tasks.keep_first(tasks);
            model.names.keep_first(names);
        });
    introduced?;
    if model.kind() == Some(Kind::Classification) {
        model.labels.adopt(&batch.new_labels);
    }
    Ok(())
}

/// Checks that a batch whose tasks and names the model knows can be learnt: nothing but a learner that diverges refuses it then.
pub(crate) fn check_batch(model: &Model, batch: &Batch) -> Result<(), RunError> {
    check_examples(model, model.tasks.len(), batch)
}

/// The same, where the model would know so many tasks by then.
pub(crate) fn check_examples(model: &Model, tasks: usize, batch: &Batch) -> Result<(), RunError> {
    let about = model.learner.about();
    if about.protocol == Protocol::Batch {
        return Err(RunError::Batch { learner: about.id });
    }
    if let Some(limit) = about.most_tasks.filter(|limit| tasks > *limit) {
        return Err(RunError::TooManyTasks { learner: about.id, tasks, limit });
    }
    if let Some(least) = model.learner.as_inspect().budget_for(tasks) {
        return Err(RunError::SmallBudget { learner: about.id, tasks, least });
    }
    check_rare(about, batch)?;
    check_fit(model, batch)
}

/// A run under way: how rounds are made, where examples do not come one by one, and what it keeps at hand.
struct Run {
    rounds: Option<(Grouper, LearnRound)>,
    classes: Option<ClassLines>,
    outcomes: Vec<Outcome>,
    asker: Asker,
}

/// What a run keeps at hand beside its model.
struct Aside<'a> {
    outcomes: &'a mut Vec<Outcome>,
    asker: &'a mut Asker,
    observer: &'a mut dyn Observer,
}

/// What is done with a whole round.
type LearnRound = fn(&mut Model, &Round, &mut Aside<'_>) -> Result<(), RunError>;

impl Run {
    fn new(model: &Model, inputs: Vec<String>, options: &RunOptions, observer: &dyn Observer) -> Self {
        let asker = Asker::new(model.config.query, model.config.seed.unwrap_or_default(), &options.draws);
        let rounds: Option<(Grouper, LearnRound)> = match options.serve {
            // The tasks that a model has met need not be all of a round: some may never have been served.
            Serve::Hardest => {
                Some((Grouper::new(model.tasks.limit(), inputs).for_adversary(), learn_hardest))
            }
            Serve::All if model.config.simultaneous => Some((grouper_of(model, inputs), learn_round)),
            Serve::All => None,
        };
        let follows = model.config.one_vs_all && observer.follows_classes();
        let classes = follows.then(|| ClassLines::new(model));
        Self { rounds, classes, outcomes: Vec::new(), asker }
    }

    /// Learns a batch whose tasks and names the model knows.
    fn learn(
        &mut self,
        model: &mut Model,
        batch: &Batch,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        check_batch(model, batch)?;
        model.learner.as_learn_one().meet(&model.tasks);
        let Self { rounds, classes, outcomes, asker } = self;
        let aside = &mut Aside { outcomes, asker, observer };
        let is_plain = aside.asker.asks_all() && !batch.has_unlabelled() && !batch.has_zero_weights();
        match rounds {
            // What a line is predicted as is known only before any of its examples is learnt.
            None if is_plain && classes.is_none() => {
                let weighed = model.weigh_all(batch);
                model.learner.as_learn_one().learn_batch(&weighed, aside.outcomes);
                check_finite(batch, aside.outcomes, model, |at| at as u64 + 1)?;
                check_overflow(model, batch.len() as u64)?;
                batch.examples().for_each(|example| model.metrics.prefetch(example.task));
                for (at, (example, outcome)) in batch.examples().zip(&*aside.outcomes).enumerate() {
                    model.rounds += 1;
                    let report = model.count(example, *outcome, Some(batch.fingerprint(at)));
                    aside.observer.observe(&report, &model.tasks, &model.metrics);
                }
            }
            None => {
                for at in 0..batch.len() {
                    if let Some(classes) = classes {
                        classes.follow(model, batch.example(at), &mut *aside.observer);
                    }
                    learn_where_asked(model, batch, at, aside)?;
                }
                check_overflow(model, 0)?;
            }
            Some((grouper, learn_round)) => {
                for (at, example) in batch.examples().enumerate() {
                    let origin = (batch.file, batch.line(at));
                    if grouper.ends_before(example, origin, &model.tasks)? {
                        learn_round(model, grouper.round(), aside)?;
                        grouper.next_round();
                    }
                    if let Some(classes) = classes {
                        classes.follow(model, example, &mut *aside.observer);
                    }
                    if grouper.push(example, origin, &model.tasks)? {
                        learn_round(model, grouper.round(), aside)?;
                        grouper.next_round();
                    }
                }
            }
        }
        if batch.ends_pass {
            if let Some(classes) = classes {
                classes.end(&mut *aside.observer);
            }
            model.learner.as_learn_one().end_pass();
        }
        Ok(())
    }

    /// The stream has ended: learns the last round.
    fn finish(&mut self, model: &mut Model, observer: &mut dyn Observer) -> Result<(), RunError> {
        let Self { rounds, classes, outcomes, asker } = self;
        let aside = &mut Aside { outcomes, asker, observer };
        if let Some((grouper, learn_round)) = rounds
            && grouper.finish(&model.tasks)?
        {
            learn_round(model, grouper.round(), aside)?;
        }
        if let Some(classes) = classes {
            classes.end(&mut *aside.observer);
        }
        Ok(())
    }
}

/// Rounds of all tasks that were declared, or of those that the model's rounds were of, or of whatever comes first.
///
/// A task that a graph names, but that never came, is in the model and not in its rounds.
fn grouper_of(model: &Model, inputs: Vec<String>) -> Grouper {
    let came = |task: usize| model.metrics.task(TaskId(task as u32)).examples > 0;
    let members: Vec<bool> = (0..model.tasks.len()).map(came).collect();
    if model.tasks.limit().is_some() || !members.contains(&true) {
        Grouper::new(model.tasks.limit(), inputs)
    } else {
        Grouper::of_members(members, inputs)
    }
}

/// One example, whose label may not be asked for, and may not be there.
fn learn_where_asked(
    model: &mut Model,
    batch: &Batch,
    at: usize,
    aside: &mut Aside<'_>,
) -> Result<(), RunError> {
    let mut example = batch.example(at);
    let mut lead = None;
    let margin = if example.task == TaskId::UNKNOWN {
        // A model that knows no task has nothing to say.
        let Some(surest) = model.surest_task(example.features, example.offset) else {
            return Err(no_task(model, batch, at));
        };
        (example.task, lead) = (surest.task, Some(surest.lead));
        surest.margin
    } else {
        model.learner.as_predict().margin(example.task, example.features) + example.offset
    };
    if !margin.is_finite() {
        return Err(diverged(model, model.rounds + 1, example.task, margin));
    }
    let queried = aside.asker.asks(model.metrics.seen(), &model.learner, example, lead.unwrap_or(margin));
    let unlabelled = example.label.is_nan();
    let updated = learn_or_skip(model, example, margin, queried && !unlabelled);
    model.rounds += 1;
    if unlabelled {
        model.metrics.count_unlabelled(queried);
        let text = batch.text(at);
        let report = UnlabelledReport { round: model.rounds, example, margin, queried, lead, text };
        aside.observer.observe_unlabelled(&report, &model.tasks, &model.metrics);
    } else {
        report(example, Outcome { margin, updated }, queried, model, &mut *aside.observer);
    }
    Ok(())
}

/// That an example of an unknown task came before any task was known.
#[cold]
fn no_task(model: &Model, batch: &Batch, at: usize) -> RunError {
    RunError::NoTask { round: model.rounds + 1, line: batch.line(at) }
}

/// Learns from an example of known margin, or sees it only; says whether the state changed. Weight 0 teaches nothing.
fn learn_or_skip(model: &mut Model, example: Example<'_>, margin: f64, learns: bool) -> bool {
    if learns && example.weight > 0.0 {
        let weighed = model.weigh(example);
        model.learner.as_learn_one().update(weighed, margin)
    } else {
        model.learner.as_learn_one().skip(example.task);
        false
    }
}

/// All margins first, then updates; reports in the order of the stream.
fn learn_round(model: &mut Model, round: &Round, aside: &mut Aside<'_>) -> Result<(), RunError> {
    if !aside.asker.asks_all() || round.has_zero_weights() {
        return learn_round_where_asked(model, round, aside);
    }
    let weighed = model.weigh_all(round);
    model.learner.as_learn_one().learn_round(&weighed, aside.outcomes);
    check_finite(round, aside.outcomes, model, |_| 1)?;
    check_overflow(model, 1)?;
    model.rounds += 1;
    for (example, outcome) in round.examples().zip(&*aside.outcomes) {
        report(example, *outcome, true, model, &mut *aside.observer);
    }
    Ok(())
}

/// All margins, then a round of those whose labels are asked for, and whose weights are not 0.
fn learn_round_where_asked(model: &mut Model, round: &Round, aside: &mut Aside<'_>) -> Result<(), RunError> {
    predict_round(model, round, aside.outcomes)?;
    let first = model.metrics.seen();
    let learner = &model.learner;
    let with_margins = round.examples().zip(&*aside.outcomes).enumerate();
    let queried: Vec<bool> = with_margins
        .map(|(at, (example, outcome))| aside.asker.asks(first + at as u64, learner, example, outcome.margin))
        .collect();
    let learns: Vec<bool> =
        round.examples().zip(&queried).map(|(example, queried)| *queried && example.weight > 0.0).collect();
    let mut asked = Round::default();
    round.examples().zip(&learns).filter(|(_, learns)| **learns).for_each(|(x, _)| asked.push(x));
    let (mut learnt, weighed) = (Vec::new(), model.weigh_all(&asked));
    let learner = model.learner.as_learn_one();
    // A round of which nothing was to be learnt is none.
    if !asked.is_empty() || queried.contains(&false) {
        learner.learn_round(&weighed, &mut learnt);
    }
    in_task_order(round)
        .into_iter()
        .filter(|at| !learns[*at])
        .for_each(|at| learner.skip(round.example(at).task));
    check_overflow(model, 1)?;
    model.rounds += 1;
    let mut learnt = learnt.into_iter();
    let asked = queried.into_iter().zip(learns);
    for ((example, outcome), (queried, learns)) in round.examples().zip(&*aside.outcomes).zip(asked) {
        let outcome = if learns { learnt.next().unwrap_or(*outcome) } else { *outcome };
        report(example, outcome, queried, model, &mut *aside.observer);
    }
    Ok(())
}

/// The margins of a round, none of it learnt.
fn predict_round(model: &Model, round: &Round, outcomes: &mut Vec<Outcome>) -> Result<(), RunError> {
    let learner = model.learner.as_predict();
    outcomes.clear();
    outcomes.extend(round.examples().map(|example| Outcome {
        margin: learner.margin(example.task, example.features) + example.offset,
        updated: false,
    }));
    check_finite(round, outcomes, model, |_| 1)
}

/// All margins, then only the example whose margin is the smallest for its label is learnt and counted.
fn learn_hardest(model: &mut Model, round: &Round, aside: &mut Aside<'_>) -> Result<(), RunError> {
    predict_round(model, round, aside.outcomes)?;
    let signed = round.examples().zip(&*aside.outcomes).map(|(example, outcome)| {
        // Zeros of either sign are equals.
        (example.label * outcome.margin + 0.0, example, outcome.margin)
    });
    let hardest = signed.min_by(|(one, first, _), (other, second, _)| {
        one.total_cmp(other).then(first.task.cmp(&second.task))
    });
    let Some((_, example, margin)) = hardest else { return Ok(()) };
    let queried = aside.asker.asks(model.metrics.seen(), &model.learner, example, margin);
    let updated = learn_or_skip(model, example, margin, queried);
    check_overflow(model, 1)?;
    model.rounds += 1;
    report(example, Outcome { margin, updated }, queried, model, &mut *aside.observer);
    Ok(())
}

/// Checks that the learner has not diverged; `round_of` counts rounds from the last one learnt, by example.
fn check_finite(
    examples: &Batch,
    outcomes: &[Outcome],
    model: &Model,
    round_of: impl Fn(usize) -> u64,
) -> Result<(), RunError> {
    match outcomes.iter().position(|outcome| !outcome.margin.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let round = model.rounds + round_of(at);
            Err(diverged(model, round, examples.example(at).task, outcomes[at].margin))
        }
    }
}

/// Checks what the learner itself has noticed; `learnt` rounds are not counted yet.
fn check_overflow(model: &mut Model, learnt: u64) -> Result<(), RunError> {
    let round = model.rounds + learnt;
    let part = model.learner.as_learn_one().overflow();
    part.map_or(Ok(()), |part| Err(RunError::Overflow { round, part }))
}

fn diverged(model: &Model, round: u64, task: TaskId, margin: f64) -> RunError {
    RunError::Diverged { round, task: model.tasks.name(task).to_owned(), margin }
}

#[inline]
fn report(x: Example<'_>, outcome: Outcome, queried: bool, model: &mut Model, seen_by: &mut dyn Observer) {
    let report = model.count(x, outcome, queried.then(|| fingerprint(x)));
    seen_by.observe(&report, &model.tasks, &model.metrics);
}
