//! Examples held in memory and served in any order.

use rand::seq::SliceRandom;

use super::rounds::Grouper;
use super::{Batch, ColumnKind, LabelNames, Order, ReadRemarks, Stream, StreamError};
use crate::example::{Example, TaskId};
use crate::feature_names::{NameList, Naming};
use crate::hint::Hint;
use crate::readable::readable;
use crate::rng::generator;
use crate::tasks::Tasks;

/// A stream in memory; tasks are numbered in the order in which they are served.
#[derive(Debug, Clone)]
pub struct Memory {
    examples: Batch,
    /// Tasks by the numbers that `examples` uses.
    tasks: Tasks,
    order: Order,
    seed: u64,
    simultaneous: bool,
    /// Most examples that a pass serves.
    limit: usize,
    pass: u64,
    /// Examples in the order of this pass; made when the pass begins.
    sequence: Option<Vec<u32>>,
    next: usize,
    /// Number of a task in `examples` to the number it goes out with.
    outgoing: Vec<Option<TaskId>>,
    met: usize,
    /// Names of features that the stream met, until they have gone out.
    names: NameList,
    naming: Naming,
    /// What columns of `csv` hold, until that has gone out.
    columns: Vec<(String, ColumnKind)>,
    labels: LabelNames,
    remarks: ReadRemarks,
}

/// Examples handed over at a time.
const BATCH_EXAMPLES: usize = 256;

impl Memory {
    /// An empty stream in file order, to be filled with [`Self::push`].
    pub fn new() -> Self {
        Self::with(Batch::default(), Tasks::open(), 0)
    }

    fn with(examples: Batch, tasks: Tasks, known: usize) -> Self {
        let outgoing = (0..known as u32).map(|task| Some(TaskId(task))).collect();
        Self {
            examples,
            tasks,
            order: Order::File,
            seed: 1,
            simultaneous: false,
            limit: usize::MAX,
            pass: 0,
            sequence: None,
            next: 0,
            outgoing,
            met: known,
            names: NameList::default(),
            naming: Naming::Numbered,
            columns: Vec::new(),
            labels: LabelNames::default(),
            remarks: ReadRemarks::default(),
        }
    }

    /// Reads a whole stream that knows no tasks before it starts, such as another one in memory.
    ///
    /// # Errors
    /// Those of the stream; when it knows tasks already, use [`super::Reader::into_memory`].
    pub fn load(stream: &mut dyn Stream) -> Result<Self, StreamError> {
        Self::load_with(stream, &Tasks::open())
    }

    /// Reads a whole stream; `tasks` are those known before it starts.
    pub(crate) fn load_with(stream: &mut dyn Stream, tasks: &Tasks) -> Result<Self, StreamError> {
        let mut memory = Self::with(Batch::default(), tasks.clone(), tasks.len());
        memory.naming = stream.naming();
        let mut batch = Batch::default();
        loop {
            stream.fill(&mut batch)?;
            memory.examples.skipped += batch.skipped;
            memory.examples.position = batch.position;
            if batch.is_empty() {
                memory.remarks = stream.remarks();
                return Ok(memory);
            }
            batch.new_names.iter().for_each(|(name, feature)| memory.names.push(name, feature));
            memory.columns.append(&mut batch.new_columns);
            batch.introduce_tasks(&mut memory.tasks)?;
            memory.labels.adopt(&batch.new_labels);
            for (at, example) in batch.examples().enumerate() {
                memory.examples.push_from(&batch, at, example.task);
            }
        }
    }

    /// Bad lines skipped while it was read, until it has been served.
    pub fn skipped(&self) -> u64 {
        self.examples.skipped
    }

    /// The same examples in another order; `simultaneous` rounds stay together when shuffled.
    #[must_use]
    pub fn ordered(mut self, order: Order, seed: u64, simultaneous: bool) -> Self {
        (self.order, self.seed, self.simultaneous) = (order, seed, simultaneous);
        self.sequence = None;
        self
    }

    /// Serves only so many examples in every pass: the first of its order.
    #[must_use]
    pub fn up_to(mut self, examples: usize) -> Self {
        self.limit = examples;
        self.sequence = None;
        self
    }

    /// The same examples for a model that knows these tasks already: they are served with its numbers.
    #[must_use]
    pub fn numbered_as(mut self, known: &Tasks) -> Self {
        self.outgoing = self.tasks.names().map(|name| known.find(name)).collect();
        self.met = known.len();
        self.sequence = None;
        self
    }

    /// Adds an example of a task by name.
    pub fn push(&mut self, task: &str, mut example: Example<'_>) {
        example.task = self.tasks.meet_any(task);
        self.examples.push(example);
        self.sequence = None;
    }

    /// What the stream called its labels.
    pub fn label_names(&self) -> &LabelNames {
        &self.labels
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.examples.len()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }

    /// Task names and examples, in the order they were added.
    pub fn examples(&self) -> impl Iterator<Item = (&str, Example<'_>)> {
        self.examples.examples().map(|example| (self.tasks.name(example.task), example))
    }

    /// Positions of the examples in the order of the present pass.
    fn sequence(&self) -> Result<Vec<u32>, StreamError> {
        let mut rng = generator(self.seed, self.pass);
        let file_order = || (0..self.len() as u32).collect::<Vec<_>>();
        match (self.order, self.simultaneous) {
            // Who is served of a round depends on the learner: the run chooses.
            (Order::File | Order::Adversarial, _) => Ok(file_order()),
            (Order::Shuffle, false) => {
                let mut sequence = file_order();
                sequence.shuffle(&mut rng);
                Ok(sequence)
            }
            (Order::Shuffle, true) => {
                let mut rounds = self.rounds()?;
                rounds.shuffle(&mut rng);
                Ok(rounds.concat())
            }
            (Order::Interleave, _) => self.interleaved(),
        }
    }

    /// Consecutive examples cut into rounds of one per task.
    fn rounds(&self) -> Result<Vec<Vec<u32>>, StreamError> {
        let mut grouper = Grouper::new(self.tasks.limit(), vec!["the stream".to_owned()]);
        let mut rounds = Vec::new();
        let mut start = 0;
        let mut cut = |grouper: &mut Grouper| {
            let end = start + grouper.round().len() as u32;
            rounds.push((start..end).collect());
            start = end;
            grouper.next_round();
        };
        for example in self.examples.examples() {
            if grouper.ends_before(example, (0, 0), &self.tasks)? {
                cut(&mut grouper);
            }
            if grouper.push(example, (0, 0), &self.tasks)? {
                cut(&mut grouper);
            }
        }
        if grouper.finish(&self.tasks)? {
            cut(&mut grouper);
        }
        Ok(rounds)
    }

    /// The first example of every task, then the second, ….
    fn interleaved(&self) -> Result<Vec<u32>, StreamError> {
        let mut queues: Vec<Vec<u32>> = vec![Vec::new(); self.tasks.len()];
        for (at, example) in self.examples.examples().enumerate() {
            queues[example.task.index()].push(at as u32);
        }
        queues.retain(|queue| !queue.is_empty());
        if self.simultaneous {
            let shortest = queues.iter().min_by_key(|queue| queue.len());
            let longest = queues.iter().max_by_key(|queue| queue.len());
            if let (Some(short), Some(long)) = (shortest, longest)
                && short.len() != long.len()
            {
                let name =
                    |queue: &[u32]| readable(self.tasks.name(self.examples.example(queue[0] as usize).task));
                let message = format!(
                    "task {} has {} examples but task {} has {}; a simultaneous stream needs equally many of each",
                    name(short),
                    short.len(),
                    name(long),
                    long.len(),
                );
                return Err(StreamError::Ungrouped {
                    place: "the stream".to_owned(),
                    message,
                    hint: Hint::NotSimultaneous,
                });
            }
        }
        let longest = queues.iter().map(Vec::len).max().unwrap_or(0);
        Ok((0..longest)
            .flat_map(|turn| queues.iter().filter_map(move |queue| queue.get(turn).copied()))
            .collect())
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Stream for Memory {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        batch.clear();
        std::mem::swap(&mut batch.new_names, &mut self.names);
        batch.new_columns.append(&mut self.columns);
        batch.new_labels.clone_from(&self.labels);
        if self.sequence.is_none() {
            let mut sequence = self.sequence()?;
            sequence.truncate(self.limit);
            self.sequence = Some(sequence);
            self.next = 0;
            self.outgoing.resize(self.tasks.len(), None);
        }
        // Reported once, with the first batch of the first pass.
        batch.skipped = std::mem::take(&mut self.examples.skipped);
        batch.position = self.examples.position;
        let sequence = self.sequence.as_deref().unwrap_or_default();
        let end = sequence.len().min(self.next + BATCH_EXAMPLES);
        for at in &sequence[self.next..end] {
            let known = self.examples.example(*at as usize).task;
            let task = *self.outgoing[known.index()].get_or_insert_with(|| {
                let task = TaskId(self.met as u32);
                batch.push_task(task, self.tasks.name(known));
                self.met += 1;
                task
            });
            batch.push_from(&self.examples, *at as usize, task);
        }
        self.next = end;
        Ok(())
    }

    fn naming(&self) -> Naming {
        self.naming
    }

    fn remarks(&self) -> ReadRemarks {
        self.remarks.clone()
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        self.pass += 1;
        self.sequence = None;
        Ok(())
    }
}
