//! Examples of a batch: every input once, with the outputs of the tasks for it.
//!
//! Examples with equal features are one input with several outputs, so that tasks may share their inputs, with some
//! outputs missing, or have inputs of their own. A task that has two examples with equal features has two inputs.
//!
//! An example of weight w counts as w examples, in the losses and wherever examples are counted: fits of whole weights are
//! those of repeated examples. One of weight 0 is left out.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::FitError;
use super::loss::Loss;
use crate::class_weight::ClassWeightConfig;
use crate::example::{Example, SparseView, TaskId};
use crate::feature_names::{NameList, Naming};
use crate::run::Rare;
use crate::stream::{Batch, ColumnKind, LabelNames, Stream};
use crate::tasks::Tasks;

/// Labelled examples, to be fitted all at once.
#[derive(Debug, Clone)]
pub struct Examples {
    tasks: Tasks,
    batch: Batch,
    /// The input of every example.
    input_of: Vec<u32>,
    /// The first example of every input.
    inputs: Vec<u32>,
    /// The first input whose features equal those of every input.
    equals: Vec<u32>,
    /// As how many examples every example counts: its weight times that of its class.
    counts: Vec<f64>,
    /// How classes were weighed.
    class_weight: ClassWeightConfig,
    kind: Kind,
    unlabelled: u64,
    skipped: u64,
    /// Names of features that the stream met, where they have names.
    names: NameList,
    naming: Naming,
    /// What columns of `csv` hold.
    columns: Vec<(String, ColumnKind)>,
    /// What the stream calls its labels.
    labels: LabelNames,
}

/// Kind of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// -1 and +1; 0 and 1 were read as these.
    Classification,
    /// Real numbers.
    Regression,
}

/// Refuses what the fit would take no notice of.
fn check_rare(batch: &Batch) -> Result<(), FitError> {
    if batch.has_offsets() { Err(FitError::NotHonoured { what: Rare::Offsets }) } else { Ok(()) }
}

/// Beyond this, a sum of a million squared labels would overflow.
const LARGEST_LABEL: f64 = 1e100;

impl Examples {
    /// Reads a whole stream whose labels are as they were written; `tasks` are those known before it starts. Examples
    /// without a label are counted and left out, those of weight 0 just left out.
    ///
    /// # Errors
    /// Those of the stream; when no example has a label, a declared task has none, or all labels are equal.
    pub fn read(stream: &mut dyn Stream, tasks: &Tasks) -> Result<Self, FitError> {
        Self::read_as(stream, tasks, None)
    }

    /// The same of a stream of `one-vs-all`: every line is an example of every class, of those first met on later lines
    /// too, so that the order of lines does not matter.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_classes(stream: &mut dyn Stream, tasks: &Tasks) -> Result<Self, FitError> {
        Self::read_with(stream, tasks, Some(Kind::Classification), Some(with_all_classes))
    }

    /// The same with the kind of the labels given: numbers that happen to be 0 and 1 stay as they are in
    /// [`Kind::Regression`].
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_as(stream: &mut dyn Stream, tasks: &Tasks, kind: Option<Kind>) -> Result<Self, FitError> {
        Self::read_with(stream, tasks, kind, None)
    }

    /// Reads all, and where there is such a function makes of the examples and the number of tasks those that are fitted.
    fn read_with(
        stream: &mut dyn Stream,
        tasks: &Tasks,
        kind: Option<Kind>,
        complete: Option<fn(&Batch, usize) -> Batch>,
    ) -> Result<Self, FitError> {
        let (mut tasks, mut batch, mut all) = (tasks.clone(), Batch::default(), Batch::default());
        let (mut unlabelled, mut skipped, mut names, mut columns) = (0, 0, NameList::default(), Vec::new());
        let mut labels = LabelNames::default();
        loop {
            stream.fill(&mut batch)?;
            skipped += batch.skipped();
            if batch.is_empty() {
                break;
            }
            batch.introduce_tasks(&mut tasks)?;
            check_rare(&batch)?;
            batch.new_names.iter().for_each(|(name, feature)| names.push(name, feature));
            columns.append(&mut batch.new_columns);
            labels.adopt(&batch.new_labels);
            for example in batch.examples() {
                if example.label.is_nan() {
                    unlabelled += 1;
                } else if example.weight > 0.0 {
                    all.push(example);
                }
            }
        }
        let (naming, completed) = (stream.naming(), complete.map(|complete| complete(&all, tasks.len())));
        let all = completed.unwrap_or(all);
        Ok(Self { names, naming, columns, labels, ..Self::collect(tasks, all, unlabelled, skipped, kind)? })
    }

    fn collect(
        tasks: Tasks,
        batch: Batch,
        unlabelled: u64,
        skipped: u64,
        known: Option<Kind>,
    ) -> Result<Self, FitError> {
        if batch.is_empty() {
            return Err(FitError::Empty);
        }
        for example in batch.examples() {
            if example.label.abs() > LARGEST_LABEL {
                return Err(FitError::Label {
                    task: tasks.name(example.task).to_owned(),
                    label: example.label,
                });
            }
        }
        let first = batch.example(0).label;
        if batch.examples().all(|example| example.label == first) {
            return Err(FitError::Constant { label: first });
        }
        let all_in = |classes: [f64; 2]| batch.examples().all(|example| classes.contains(&example.label));
        let real = known == Some(Kind::Regression);
        let zero_one = !real && all_in([0.0, 1.0]);
        let kind =
            if zero_one || (!real && all_in([-1.0, 1.0])) { Kind::Classification } else { Kind::Regression };
        let batch = if zero_one { with_labels(&batch, |label| 2.0 * label - 1.0) } else { batch };
        let examples = Self::grouped(tasks, batch, kind, unlabelled, skipped);
        examples.check_tasks()?;
        Ok(examples)
    }

    /// Finds equal inputs.
    fn grouped(tasks: Tasks, batch: Batch, kind: Kind, unlabelled: u64, skipped: u64) -> Self {
        let mut order: Vec<u32> = (0..batch.len() as u32).collect();
        let features = |at: u32| batch.example(at as usize).features;
        order.sort_by(|one, other| compare(features(*one), features(*other)).then(one.cmp(other)));
        // The first example of the input that each example is of.
        let mut leader: Vec<u32> = (0..batch.len() as u32).collect();
        for group in order.chunk_by(|one, other| compare(features(*one), features(*other)).is_eq()) {
            // The k-th example of a task goes to the k-th input of the group.
            let mut members: Vec<(u32, u32)> =
                group.iter().map(|at| (batch.example(*at as usize).task.0, *at)).collect();
            members.sort_unstable();
            let mut leaders: Vec<u32> = Vec::new();
            for of_task in members.chunk_by(|one, other| one.0 == other.0) {
                for (turn, (_, at)) in of_task.iter().enumerate() {
                    match leaders.get_mut(turn) {
                        None => leaders.push(*at),
                        Some(found) => *found = (*found).min(*at),
                    }
                }
            }
            for of_task in members.chunk_by(|one, other| one.0 == other.0) {
                for (turn, (_, at)) in of_task.iter().enumerate() {
                    leader[*at as usize] = leaders[turn];
                }
            }
        }
        let mut inputs: Vec<u32> = leader.clone();
        inputs.sort_unstable();
        inputs.dedup();
        let number = |leader: &u32| inputs.binary_search(leader).expect("every leader is an input") as u32;
        let input_of: Vec<u32> = leader.iter().map(number).collect();
        let mut equals: Vec<u32> = (0..inputs.len() as u32).collect();
        for group in order.chunk_by(|one, other| compare(features(*one), features(*other)).is_eq()) {
            let first = input_of[group[0] as usize];
            group.iter().for_each(|at| equals[input_of[*at as usize] as usize] = first);
        }
        let counts = batch.examples().map(|example| example.weight).collect();
        let (names, naming) = (NameList::default(), Naming::Numbered);
        let (columns, labels) = (Vec::new(), LabelNames::default());
        Self {
            tasks,
            batch,
            input_of,
            inputs,
            equals,
            counts,
            class_weight: ClassWeightConfig::default(),
            kind,
            unlabelled,
            skipped,
            names,
            naming,
            columns,
            labels,
        }
    }

    /// Has the examples of each class count as much as this says, beside their own weights. What is measured, such as
    /// mistakes, goes by their own.
    ///
    /// `balanced` gives both classes the same say: n / (2 n_c) for an example of class c, n_c of n being of its class.
    ///
    /// # Errors
    /// When labels are real numbers, which have no classes.
    pub fn weigh_classes(&mut self, given: &ClassWeightConfig) -> Result<(), FitError> {
        let of_class = match given {
            ClassWeightConfig::None(_) => return Ok(()),
            ClassWeightConfig::Given(given) => [given.negative, given.positive],
            ClassWeightConfig::Balanced(_) => {
                let mut sums = [0.0, 0.0];
                self.examples().for_each(|x| sums[usize::from(x.label > 0.0)] += x.weight);
                sums.map(|sum| (sums[0] + sums[1]) / (2.0 * sum))
            }
        };
        if self.kind == Kind::Regression {
            return Err(FitError::NoClasses);
        }
        let weighed = |x: Example<'_>| x.weight * of_class[usize::from(x.label > 0.0)];
        self.counts = self.batch.examples().map(weighed).collect();
        self.class_weight = *given;
        Ok(())
    }

    /// Checks that classes are weighed as a config says.
    pub(crate) fn check_class_weight(&self, given: &ClassWeightConfig) -> Result<(), FitError> {
        if self.class_weight == *given { Ok(()) } else { Err(FitError::Unweighed) }
    }

    /// As how many examples an example counts.
    pub(crate) fn count_of(&self, at: usize) -> f64 {
        self.counts[at]
    }

    /// How often each input would be there if every example were as often as it counts: as often as the task needs it that
    /// needs it most.
    pub(crate) fn counts_of_inputs(&self) -> Vec<f64> {
        let mut needed: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for (at, example) in self.batch.examples().enumerate() {
            let equal = self.equals[self.input_of[at] as usize];
            *needed.entry((equal, example.task.0)).or_default() += self.counts[at];
        }
        let (mut most, mut members) = (vec![0.0_f64; self.inputs.len()], vec![0.0; self.inputs.len()]);
        for ((equal, _), count) in needed {
            most[equal as usize] = most[equal as usize].max(count);
        }
        self.equals.iter().for_each(|equal| members[*equal as usize] += 1.0);
        self.equals.iter().map(|equal| most[*equal as usize] / members[*equal as usize]).collect()
    }

    fn check_tasks(&self) -> Result<(), FitError> {
        let mut seen = vec![false; self.tasks.len()];
        self.batch.examples().for_each(|example| seen[example.task.index()] = true);
        match seen.iter().position(|seen| !seen) {
            None => Ok(()),
            Some(task) => Err(FitError::EmptyTask { task: self.tasks.name(TaskId(task as u32)).to_owned() }),
        }
    }

    /// What a loss needs of the labels.
    pub(crate) fn check_loss(&self, loss: Loss) -> Result<(), FitError> {
        if loss == Loss::Squares {
            return Ok(());
        }
        if self.kind == Kind::Regression {
            let labels = self.batch.examples().map(|example| example.label);
            let mut others = labels.filter(|label| ![-1.0, 1.0].contains(label));
            let label = others.next().unwrap_or(0.0);
            return Err(FitError::NotClasses { label, loss: loss.name() });
        }
        Ok(())
    }

    /// Some of the examples, by position; tasks keep their numbers, and may be left without examples.
    #[must_use]
    pub fn subset(&self, positions: &[usize]) -> Self {
        let mut batch = Batch::default();
        positions.iter().for_each(|at| batch.push(self.batch.example(*at)));
        let (names, naming, columns) = (self.names.clone(), self.naming, self.columns.clone());
        let labels = self.labels.clone();
        let counts = positions.iter().map(|at| self.counts[*at]).collect();
        let grouped = Self::grouped(self.tasks.clone(), batch, self.kind, 0, 0);
        Self { names, naming, columns, labels, counts, class_weight: self.class_weight, ..grouped }
    }

    /// What the stream calls its labels.
    pub(crate) fn label_names(&self) -> &LabelNames {
        &self.labels
    }

    /// What columns of `csv` hold.
    pub(crate) fn columns(&self) -> &[(String, ColumnKind)] {
        &self.columns
    }

    /// What the numbers of features stand for.
    pub(crate) fn naming(&self) -> Naming {
        self.naming
    }

    /// Names of features with their numbers, in the order of the stream.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, u32)> {
        self.names.iter()
    }

    /// The tasks, met in the order of the stream.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether there are no examples; never true of examples that were read.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// One example.
    pub fn example(&self, at: usize) -> Example<'_> {
        self.batch.example(at)
    }

    /// All examples in order.
    pub fn examples(&self) -> impl ExactSizeIterator<Item = Example<'_>> {
        self.batch.examples()
    }

    /// Kind of the labels.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of lines without a label, which were left out.
    pub fn unlabelled(&self) -> u64 {
        self.unlabelled
    }

    /// Number of bad lines skipped.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Number of different inputs.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Features of an input.
    pub(crate) fn input(&self, input: usize) -> SparseView<'_> {
        self.batch.example(self.inputs[input] as usize).features
    }

    /// The input of an example.
    pub(crate) fn input_of(&self, at: usize) -> u32 {
        self.input_of[at]
    }

    /// The first example of an input.
    pub(crate) fn first_example(&self, input: usize) -> u32 {
        self.inputs[input]
    }

    /// The different features, in order.
    pub(crate) fn features(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.batch.indices.clone();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn with_labels(batch: &Batch, label: impl Fn(f64) -> f64) -> Batch {
    let mut out = Batch::default();
    for example in batch.examples() {
        out.push(Example { label: label(example.label), ..example });
    }
    out
}

/// A line gives an example of every class that has been met by then, from the first on: here it becomes a negative one of
/// all the others, too.
fn with_all_classes(batch: &Batch, classes: usize) -> Batch {
    let mut out = Batch::default();
    for at in 0..batch.len() {
        let example = batch.example(at);
        out.push(example);
        let ends_line = at + 1 == batch.len() || batch.example(at + 1).task == TaskId(0);
        if ends_line {
            let later = example.task.0 + 1..classes as u32;
            later.for_each(|class| out.push(Example { task: TaskId(class), label: -1.0, ..example }));
        }
    }
    out
}

/// By features, then by the bits of their values.
fn compare(one: SparseView<'_>, other: SparseView<'_>) -> Ordering {
    let bits = |view: SparseView<'_>| view.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    one.indices().cmp(other.indices()).then_with(|| {
        let pairs = one.values().iter().zip(other.values());
        pairs.map(|(a, b)| a.to_bits().cmp(&b.to_bits())).find(|order| order.is_ne()).unwrap_or_else(|| {
            debug_assert_eq!(bits(one), bits(other));
            Ordering::Equal
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Memory;

    fn memory(lines: &[(&str, f64, &[f64])]) -> Memory {
        let mut memory = Memory::new();
        for (task, label, values) in lines {
            let indices: Vec<u32> = (0..values.len() as u32).collect();
            let features = SparseView::try_new(&indices, values).unwrap();
            memory.push(task, Example::new(TaskId(0), features, *label));
        }
        memory
    }

    #[test]
    fn equal_inputs_are_one_unless_a_task_has_two() {
        let lines = [
            ("a", 1.0, &[1.0, 2.0][..]),
            ("b", 0.0, &[3.0]),
            ("b", 0.0, &[1.0, 2.0]),
            ("a", 0.0, &[1.0, 2.0]),
            ("b", 1.0, &[1.0, 2.0]),
        ];
        let examples = Examples::read(&mut memory(&lines), &Tasks::open()).unwrap();
        assert_eq!(examples.kind(), Kind::Classification);
        assert_eq!(examples.input_of, [0, 1, 0, 2, 2]);
        assert_eq!(
            examples.examples().map(|example| example.label).collect::<Vec<_>>(),
            [1.0, -1.0, -1.0, -1.0, 1.0]
        );
        assert_eq!((examples.inputs(), examples.input(2).len()), (3, 2));
        assert_eq!(examples.subset(&[1, 4]).inputs(), 2);
    }

    /// However lines are ordered, every class has an example of every line.
    #[test]
    fn a_class_met_late_gets_the_lines_before() {
        let lines = [
            ("a", 1.0, 1.0),
            ("a", -1.0, 2.0),
            ("b", 1.0, 2.0),
            ("a", -1.0, 3.0),
            ("b", -1.0, 3.0),
            ("c", 1.0, 3.0),
        ];
        let lines = lines.map(|(task, label, value)| (task, label, [value]));
        let lines: Vec<(&str, f64, &[f64])> =
            lines.iter().map(|(task, label, values)| (*task, *label, &values[..])).collect();
        let examples = Examples::read_classes(&mut memory(&lines), &Tasks::open()).unwrap();
        assert_eq!((examples.len(), examples.inputs()), (9, 3));
        let of_task = |task: u32| -> Vec<f64> {
            examples.examples().filter(|x| x.task == TaskId(task)).map(|x| x.label).collect()
        };
        assert_eq!(
            [of_task(0), of_task(1), of_task(2)],
            [[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
        );
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        let message = |lines: &[(&str, f64, &[f64])]| {
            Examples::read(&mut memory(lines), &Tasks::open()).unwrap_err().to_string()
        };
        assert_eq!(message(&[]), "there are no labelled examples to fit");
        assert_eq!(message(&[("a", f64::NAN, &[1.0])]), "there are no labelled examples to fit");
        assert_eq!(
            message(&[("a", 3.5, &[1.0]), ("b", 3.5, &[2.0])]),
            "every label is 3.5; there is nothing to learn"
        );
        assert!(message(&[("a", 1e200, &[1.0])]).contains("labels must be finite"));
    }
}
