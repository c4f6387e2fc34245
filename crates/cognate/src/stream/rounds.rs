//! Rounds, simultaneous or adversarial: consecutive examples, one of every task.

use super::{Batch, StreamError};
use crate::example::{Example, TaskId};
use crate::hint::Hint;
use crate::readable::readable;
use crate::tasks::Tasks;

/// Collects examples until every task has one.
#[derive(Debug)]
pub(crate) struct Grouper {
    /// K: declared, or the length of the first round once a task comes again.
    size: Option<usize>,
    /// The tasks of the first round, where nothing was declared. Others may have numbers too, which a graph gave them.
    members: Option<Vec<bool>>,
    round: Round,
    /// Whether a task is in the round.
    present: Vec<bool>,
    /// Names of the inputs, for messages.
    inputs: Vec<String>,
    /// Who needs rounds, for messages, and the way out.
    stream: &'static str,
    hint: Hint,
    finished: u64,
}

/// Why examples are no round.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The task comes twice.
    Again(TaskId),
    /// The task was in no round before.
    Stranger(TaskId),
    /// The task's example has no label.
    Unlabelled(TaskId),
    /// The stream ends in the midst of the round.
    Ends,
}

/// The examples of one round in the order of the stream.
pub(crate) type Round = Batch;

/// Where an example came from: input and line, 0 where there is none.
pub(crate) type Origin = (u32, u64);

/// An input by its name, and a line of it if there is one.
pub(crate) fn place_of(inputs: &[String], input: u32, line: u64) -> String {
    let name = inputs.get(input as usize).map_or("the stream", String::as_str);
    if line == 0 { name.to_owned() } else { format!("{name}:{line}") }
}

impl Grouper {
    pub(crate) fn new(size: Option<usize>, inputs: Vec<String>) -> Self {
        Self {
            size,
            members: None,
            round: Batch::default(),
            present: Vec::new(),
            inputs,
            stream: "a simultaneous stream",
            hint: Hint::NotSimultaneous,
            finished: 0,
        }
    }

    /// For a stream that goes on: rounds are of these tasks, those of the rounds before.
    pub(crate) fn of_members(members: Vec<bool>, inputs: Vec<String>) -> Self {
        let size = members.iter().filter(|member| **member).count();
        let present = vec![false; members.len()];
        Self { members: Some(members), present, ..Self::new(Some(size), inputs) }
    }

    /// The same, with messages about an adversarial order.
    pub(crate) fn for_adversary(self) -> Self {
        Self { stream: "a stream in adversarial order", hint: Hint::NotAdversarial, ..self }
    }

    /// Whether an example begins the next round, so that [`Self::round`] is whole without it.
    ///
    /// # Errors
    /// When it cannot: rounds are known to have another size.
    pub(crate) fn ends_before(
        &mut self,
        example: Example<'_>,
        origin: Origin,
        tasks: &Tasks,
    ) -> Result<bool, StreamError> {
        if self.present.get(example.task.index()) != Some(&true) {
            return Ok(false);
        }
        if self.size.is_some() {
            return Err(self.error(origin, tasks, Fault::Again(example.task)));
        }
        // The first task to come again tells what a round is.
        self.size = Some(self.round.len());
        self.members = Some(self.present.clone());
        Ok(true)
    }

    /// Adds an example; says whether [`Self::round`] is whole with it.
    ///
    /// # Errors
    /// When it cannot be in this round.
    pub(crate) fn push(
        &mut self,
        example: Example<'_>,
        origin: Origin,
        tasks: &Tasks,
    ) -> Result<bool, StreamError> {
        if self.present.len() <= example.task.index() {
            self.present.resize(example.task.index() + 1, false);
        }
        if !self.belongs(example.task) {
            return Err(self.error(origin, tasks, Fault::Stranger(example.task)));
        }
        if example.label.is_nan() {
            return Err(self.error(origin, tasks, Fault::Unlabelled(example.task)));
        }
        self.present[example.task.index()] = true;
        self.round.push(example);
        Ok(self.size == Some(self.round.len()))
    }

    /// The stream has ended; says whether [`Self::round`] is a last one.
    ///
    /// # Errors
    /// When it is not whole.
    pub(crate) fn finish(&self, tasks: &Tasks) -> Result<bool, StreamError> {
        match self.size {
            _ if self.round.is_empty() => Ok(false),
            None => Ok(true),
            Some(_) => Err(self.error((self.inputs.len().saturating_sub(1) as u32, 0), tasks, Fault::Ends)),
        }
    }

    /// The round under way, whole where a method has said so.
    pub(crate) fn round(&self) -> &Round {
        &self.round
    }

    /// Begins the next round.
    pub(crate) fn next_round(&mut self) {
        self.finished += 1;
        self.round.clear();
        self.present.fill(false);
    }

    /// Whether a round has an example of the task.
    fn belongs(&self, task: TaskId) -> bool {
        match &self.members {
            Some(members) => members.get(task.index()) == Some(&true),
            None => self.size.is_none_or(|size| task.index() < size),
        }
    }

    #[cold]
    fn error(&self, (input, line): Origin, tasks: &Tasks, fault: Fault) -> StreamError {
        let size = self.size.unwrap_or(0);
        let missing: Vec<String> = (0..size.max(self.present.len()) as u32)
            .map(TaskId)
            .filter(|task| self.belongs(*task) && self.present.get(task.index()) != Some(&true))
            .map(|task| match tasks.name(task) {
                "" => "one not met yet".to_owned(),
                name => readable(name),
            })
            .collect();
        let lacks = match &missing[..] {
            few if few.len() <= 8 => few.join(", "),
            many => format!("{} and {} more", many[..8].join(", "), many.len() - 8),
        };
        let what = match fault {
            Fault::Again(task) => format!("has task {} twice and lacks {lacks}", readable(tasks.name(task))),
            Fault::Stranger(task) => {
                format!("has task {}, which the rounds before it lack", readable(tasks.name(task)))
            }
            Fault::Unlabelled(task) => format!("has no label for task {}", readable(tasks.name(task))),
            Fault::Ends => format!("ends after {} of {size} tasks and lacks {lacks}", self.round.len()),
        };
        let place = place_of(&self.inputs, input, line);
        let (rule, hint) = match fault {
            Fault::Unlabelled(_) => ("needs the labels of all its examples", Hint::LabelRounds),
            _ => ("has one example of every task per round", self.hint),
        };
        let message = format!("round {} {what}; {} {rule}", self.finished + 1, self.stream);
        StreamError::Ungrouped { place, message, hint }
    }
}
