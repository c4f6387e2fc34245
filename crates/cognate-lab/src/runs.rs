//! One pass of a learner over a stream, and what is kept of it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use cognate::metrics::{Metrics, Tally};
use cognate::run::{Observer, Progress, RoundReport, RunOptions, Serve};
use cognate::stream::{Memory, Order};
use cognate::{Model, RunConfig, TaskId, Tasks};
use rand::seq::SliceRandom as _;
use serde_json::{Value, json};

use crate::Lab;
use crate::parallel::Interrupted;

/// How a stream is learnt.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) learner: Value,
    /// Which labels are asked for.
    pub(crate) query: Value,
    pub(crate) simultaneous: bool,
    pub(crate) serve: Serve,
    /// Names of the tasks, for learners that must know them all from the start.
    pub(crate) tasks: Option<Vec<String>>,
}

impl Way {
    /// One example per round, every label.
    pub(crate) fn new(learner: Value) -> Self {
        Self { learner, query: json!("all"), simultaneous: false, serve: Serve::All, tasks: None }
    }

    /// The multitask Perceptron with coupling strength b.
    pub(crate) fn coupled(b: f64) -> Self {
        Self::new(json!({ "perceptron": { "interaction": { "coupled": { "b": b } } } }))
    }
}

/// The result of a pass.
pub(crate) struct Passed {
    pub(crate) model: Model,
    /// For each example, in the order of the stream, the number of its task and whether it was a mistake.
    pub(crate) mistakes: Vec<(u32, bool)>,
    /// Examples labelled +1 that were not mistaken.
    pub(crate) hits: u64,
}

impl Passed {
    /// Error of each of this many equal parts of the stream.
    pub(crate) fn parts(&self, parts: usize) -> Vec<f64> {
        let length = self.mistakes.len();
        let part = |at: usize| {
            let rounds = &self.mistakes[at * length / parts..(at + 1) * length / parts];
            rounds.iter().filter(|(_, mistake)| *mistake).count() as f64 / rounds.len() as f64
        };
        (0..parts).map(part).collect()
    }

    pub(crate) fn total(&self) -> &Tally {
        self.model.metrics().total()
    }

    pub(crate) fn error(&self) -> f64 {
        self.total().error()
    }

    /// Error of each task, by name.
    pub(crate) fn by_task(&self) -> BTreeMap<String, f64> {
        let tasks = self.model.tasks();
        let error = |task| (tasks.name(task).to_owned(), self.model.metrics().task(task).error());
        tasks.sorted().into_iter().map(error).collect()
    }

    /// Share of wrong signs on test examples, which are not learnt.
    pub(crate) fn test_error(&self, test: &Memory) -> f64 {
        let learner = self.model.learner().as_predict();
        let mut wrong = 0_usize;
        for (task, example) in test.examples() {
            let margin =
                self.model.tasks().find(task).map_or(0.0, |task| learner.margin(task, example.features));
            wrong += usize::from(example.label * margin <= 0.0);
        }
        wrong as f64 / test.len() as f64
    }
}

/// The configuration of a pass over a stream.
fn configured(way: &Way, stream: &Memory) -> anyhow::Result<RunConfig> {
    let mut config = json!({
        "learner": way.learner, "query": way.query, "stream": { "simultaneous": way.simultaneous },
    });
    if let Some(tasks) = &way.tasks {
        config["tasks"] = json!(tasks);
    }
    let mut config: RunConfig = serde_json::from_value(config)?;
    // A simultaneous round takes one example of every task.
    let in_a_round = if way.simultaneous { crate::data::task_names(stream).len().max(1) } else { 1 };
    config.learner.set_rounds((stream.len() / in_a_round) as u64);
    Ok(config)
}

/// One pass over a stream in its order.
pub(crate) fn pass(lab: &Lab, way: &Way, stream: Memory) -> anyhow::Result<Passed> {
    let mut model = Model::new(&configured(way, &stream)?)?;
    let mut stream = stream.numbered_as(model.tasks());
    let mut watch = Watch { lab, mistakes: Vec::with_capacity(stream.len()), hits: 0 };
    let options = RunOptions { serve: way.serve, ..RunOptions::default() };
    model.learn(&mut stream, &options, &mut watch)?;
    if lab.pool.asked() {
        return Err(Interrupted.into());
    }
    Ok(Passed { model, mistakes: watch.mistakes, hits: watch.hits })
}

/// How long the step of each round's task is in a pass of `relation-perceptron`: R_ii over its start, as of the last
/// batch of a few hundred examples.
pub(crate) fn steps(lab: &Lab, way: &Way, stream: Memory) -> anyhow::Result<Vec<f64>> {
    let mut model = Model::new(&configured(way, &stream)?)?;
    let start = way.learner["relation-perceptron"]["start"].as_f64().unwrap_or(1.0);
    let mut stream = stream.numbered_as(model.tasks());
    let mut pace = Pace { lab, start, current: Vec::new(), steps: Vec::with_capacity(stream.len()) };
    model.learn(&mut stream, &RunOptions::default(), &mut pace)?;
    if lab.pool.asked() { Err(Interrupted.into()) } else { Ok(pace.steps) }
}

struct Pace<'a> {
    lab: &'a Lab,
    start: f64,
    /// Of each task.
    current: Vec<f64>,
    steps: Vec<f64>,
}

impl Observer for Pace<'_> {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.steps.push(self.current.get(report.task.index()).copied().unwrap_or(1.0));
    }

    fn batch_done(&mut self, _: Progress, model: &Model) -> ControlFlow<()> {
        let learner = model.learner().as_inspect();
        let step = |task: u32| learner.relation(TaskId(task), TaskId(task)) / self.start;
        self.current = (0..model.tasks().len() as u32).map(step).collect();
        if self.lab.pool.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A shuffle of a stream.
pub(crate) fn shuffled(stream: &Memory, seed: u64) -> Memory {
    stream.clone().ordered(Order::Shuffle, seed, false)
}

/// The same shuffle as a stream of its own, whose examples are in that order.
pub(crate) fn rearranged(stream: &Memory, seed: u64) -> Memory {
    let mut sequence: Vec<usize> = (0..stream.len()).collect();
    sequence.shuffle(&mut cognate::internal::generator(seed, 0));
    let examples: Vec<(&str, cognate::Example<'_>)> = stream.examples().collect();
    let mut rearranged = Memory::new();
    sequence.into_iter().for_each(|at| rearranged.push(examples[at].0, examples[at].1));
    rearranged
}

struct Watch<'a> {
    lab: &'a Lab,
    mistakes: Vec<(u32, bool)>,
    hits: u64,
}

impl Observer for Watch<'_> {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.mistakes.push((report.task.0, report.mistake));
        self.hits += u64::from(!report.mistake && report.label > 0.0);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        if self.lab.pool.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The mistakes of each way on a stream; the largest number if a run diverges.
pub(crate) fn mistakes(lab: &Lab, what: &str, ways: &[Way], stream: &Memory) -> anyhow::Result<Vec<u64>> {
    lab.pool.all(what, ways, |way| match pass(lab, way, stream.clone()) {
        Ok(passed) => Ok(passed.total().mistakes),
        Err(error) if error.is::<cognate::RunError>() => Ok(u64::MAX),
        Err(error) => Err(error),
    })
}

/// The way with the fewest mistakes on a stream, which is how the papers tune; the first of equals.
pub(crate) fn tuned(lab: &Lab, what: &str, ways: &[Way], stream: &Memory) -> anyhow::Result<usize> {
    let mistakes = mistakes(lab, what, ways, stream)?;
    Ok((0..ways.len()).min_by_key(|at| mistakes[*at]).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cognate::stream::synthetic::random_walk;

    use super::*;
    use crate::parallel::Pool;

    #[test]
    fn a_rearranged_stream_is_that_shuffle() -> anyhow::Result<()> {
        let lab = Lab::new("data".into(), true, Pool::new(None, Arc::default(), true));
        let (stream, way) = (random_walk(1.0, 100, 1).stream, Way::coupled(1.0));
        let now = |seed| -> anyhow::Result<f64> { Ok(pass(&lab, &way, rearranged(&stream, seed))?.error()) };
        let served = |seed| -> anyhow::Result<f64> { Ok(pass(&lab, &way, shuffled(&stream, seed))?.error()) };
        assert_eq!((now(1)?, now(2)?), (served(1)?, served(2)?));
        assert_ne!(now(1)?, now(2)?);
        Ok(())
    }

    #[test]
    fn steps_are_1_until_the_relation_moves_and_then_those_of_its_task() -> anyhow::Result<()> {
        let lab = Lab::new("data".into(), true, Pool::new(None, Arc::default(), true));
        let stream = random_walk(1.0, 2000, 1).stream;
        let parameters =
            json!({ "relation": "covariance", "trace": "none", "shrink": 0, "start": 4, "priming": "50%" });
        let steps = steps(&lab, &Way::new(json!({ "relation-perceptron": parameters })), stream.clone())?;
        assert_eq!(steps.len(), stream.len());
        assert!(steps[..stream.len() / 2].iter().all(|step| *step == 1.0));
        assert!(steps[steps.len() - 1] != 1.0 && steps.iter().all(|step| step.is_finite()));
        Ok(())
    }
}
