//! What a run is judged by beside its counts: areas under ROC curves, single passes, and what misleads.

use cognate::fit::Kind;
use cognate::metrics::{Areas, Auc, LabelRuns, Metrics, Overlap, Ranking, Tally};
use cognate::run::{ClassReport, Progress, RoundReport};
use cognate::stream::{Format, LabelNames, Order, ReadRemarks};
use cognate::{Model, TaskId};

use crate::output::shown_name;
use crate::strangers::column_warnings;
use cognate_plot::numbers::{NO_VALUE, count};

/// Share of examples learnt before from which on a run says so.
const MANY: f64 = 0.2;
/// A share of fewer examples says little.
const FEW: u64 = 10;

/// Lines by the class that was predicted, where labels are classes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClassTally {
    pub(crate) lines: u64,
    pub(crate) mistakes: u64,
    weight: f64,
    wrong: f64,
    /// Weight of the lines that the constant guess has wrong.
    constant: f64,
}

/// The class that most lines had so far, by weight; the one met first, if equal.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassGuess {
    weights: Vec<f64>,
    most: Option<usize>,
}

impl ClassGuess {
    /// What a model has learnt so far tells how frequent its classes are.
    pub(crate) fn of(model: &Model) -> Self {
        let mut guess = Self::default();
        for class in (0..model.tasks().len() as u32).map(TaskId) {
            guess.add(class, model.metrics().task(class).positive_weight());
        }
        guess
    }

    fn add(&mut self, class: TaskId, weight: f64) {
        let at = class.index();
        if self.weights.len() <= at {
            self.weights.resize(at + 1, 0.0);
        }
        self.weights[at] += weight;
        // Only the class that has grown can overtake. Sums of decimal weights that are equal may differ by rounding.
        let leads = |most: usize| {
            let (own, other) = (self.weights[at], self.weights[most]);
            own > other * (1.0 + 1e-9) || (at < most && own >= other * (1.0 - 1e-9))
        };
        if self.weights[at] > 0.0 && self.most.is_none_or(leads) {
            self.most = Some(at);
        }
    }

    /// Whether it is wrong about a line, whose class it then knows; before the first line there is nothing to guess from. A
    /// class that nobody knows has no number.
    pub(crate) fn is_mistaken(&mut self, class: Option<TaskId>, weight: f64) -> bool {
        let is_mistaken = class.is_none_or(|class| self.most != Some(class.index()));
        class.into_iter().for_each(|class| self.add(class, weight));
        is_mistaken
    }
}

impl ClassTally {
    /// Counts a line: whether it was given another class, and whether the constant guess would have been.
    pub(crate) fn count(&mut self, is_mistake: bool, is_mistaken_guess: bool, weight: f64) {
        self.lines += 1;
        self.mistakes += u64::from(is_mistake);
        self.weight += weight;
        self.wrong += if is_mistake { weight } else { 0.0 };
        self.constant += if is_mistaken_guess { weight } else { 0.0 };
    }

    /// The share that the constant guess has wrong, by weight; none before the first line.
    pub(crate) fn constant_error(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.constant / self.weight)
    }

    /// The share of mistakes, by weight; none before the first line.
    pub(crate) fn error(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.wrong / self.weight)
    }

    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let error = shown(self.error(), |error| share_text(error, 2));
        let lines = if self.lines == 1 { "line" } else { "lines" };
        format!(
            "multiclass error {error} ({} of {} {lines}), constant guess (the most frequent class so far) {}",
            count(self.mistakes),
            count(self.lines),
            shown(self.constant_error(), |error| share_text(error, 2)),
        )
    }
}

/// Follows a run.
pub(crate) struct Judge {
    is_class: bool,
    ranking: Ranking,
    /// That of the pass alone, where there are several.
    of_pass: Option<Ranking>,
    /// Examples when the run began.
    before: u64,
    /// Counts when the pass began.
    began: Tally,
    ended: u32,
    passes: Vec<Pass>,
    /// Where labels are classes: whether they can be followed, and what came of it, in all and in the pass.
    are_classes: bool,
    follows_classes: bool,
    guess: ClassGuess,
    classes: ClassTally,
    classes_of_pass: ClassTally,
}

/// One of several passes.
pub(crate) struct Pass {
    pub(crate) tally: Tally,
    pub(crate) auc: Option<f64>,
    /// Where labels are classes.
    pub(crate) classes: Option<ClassTally>,
    /// Which share of its examples had been learnt before, if it is large.
    pub(crate) seen_before: Option<f64>,
}

/// What a judge has found.
pub(crate) struct Judged {
    pub(crate) areas: Areas,
    /// The passes, where there were several.
    pub(crate) passes: Vec<Pass>,
    pub(crate) runs: LabelRuns,
    /// Where labels are classes, and the examples of a line came together.
    pub(crate) classes: Option<ClassTally>,
    /// Whether they did not.
    lines_apart: bool,
    /// What misleads about the order of times.
    times: Option<String>,
    /// Examples that the model had seen before the run.
    before: u64,
    /// What the text turned out to be.
    remarks: ReadRemarks,
    /// Where tasks would be named, if the text names none.
    task_place: &'static str,
}

impl Judge {
    /// Begins with a run of so many passes, in this order.
    pub(crate) fn new(model: &Model, passes: u32, order: Order) -> Self {
        let are_classes = model.config().one_vs_all;
        Self {
            are_classes,
            follows_classes: are_classes && order.is_as_read(),
            guess: if are_classes { ClassGuess::of(model) } else { ClassGuess::default() },
            classes: ClassTally::default(),
            classes_of_pass: ClassTally::default(),
            is_class: model.kind() == Some(Kind::Classification),
            ranking: Ranking::default(),
            of_pass: (passes > 1).then(Ranking::default),
            before: model.metrics().total().examples,
            began: *model.metrics().total(),
            ended: 0,
            passes: Vec::new(),
        }
    }

    /// After every labelled example.
    #[inline]
    pub(crate) fn observe(&mut self, report: &RoundReport) {
        if self.is_class {
            let RoundReport { task, label, weight, margin, .. } = *report;
            self.ranking.count(task, label, weight, margin);
            if let Some(of_pass) = &mut self.of_pass {
                of_pass.count(task, label, weight, margin);
            }
        }
    }

    /// Whether it wants to see lines by their classes.
    pub(crate) fn follows_classes(&self) -> bool {
        self.follows_classes
    }

    /// After every labelled line, where labels are classes.
    pub(crate) fn observe_class(&mut self, report: &ClassReport) {
        let is_mistaken_guess = self.guess.is_mistaken(Some(report.class), report.weight);
        for tally in [&mut self.classes, &mut self.classes_of_pass] {
            tally.count(report.is_mistake(), is_mistaken_guess, report.weight);
        }
    }

    /// After every batch.
    pub(crate) fn batch_done(&mut self, progress: Progress, metrics: &Metrics) {
        if progress.passes > self.ended {
            self.ended = progress.passes;
            self.end_pass(metrics);
        }
    }

    fn end_pass(&mut self, metrics: &Metrics) {
        let Some(of_pass) = &mut self.of_pass else { return };
        let (now, ranking) = (*metrics.total(), std::mem::take(of_pass));
        let (tally, classes) = (now.since(&self.began), std::mem::take(&mut self.classes_of_pass));
        if tally.examples > 0 {
            let classes = self.follows_classes.then_some(classes);
            // All examples of later passes have been seen, in the first one at least.
            let learnt = metrics.learnt();
            let seen_before = match self.passes.len() {
                0 => large_share(learnt.seen_before()),
                _ => Some(1.0),
            };
            self.passes.push(Pass { tally, auc: ranking.auc().map(|auc| auc.value), classes, seen_before });
        }
        self.began = now;
    }

    /// The run is over.
    pub(crate) fn finish(mut self, metrics: &Metrics) -> Judged {
        // What a last pass that was not finished has seen, and the last round of one that was.
        self.end_pass(metrics);
        Judged {
            areas: self.ranking.areas(),
            passes: self.passes,
            runs: self.ranking.label_runs(),
            classes: self.follows_classes.then_some(self.classes),
            lines_apart: self.are_classes && !self.follows_classes,
            times: None,
            before: self.before,
            remarks: ReadRemarks::default(),
            task_place: "",
        }
    }
}

impl Judged {
    /// The area under the curve of a task.
    pub(crate) fn task(&self, task: TaskId) -> Option<f64> {
        self.areas.task(task).map(|auc| auc.value)
    }

    /// The area under the curve of all examples.
    pub(crate) fn total(&self) -> Option<f64> {
        self.areas.total().map(|auc| auc.value)
    }

    /// That of pairs within tasks.
    pub(crate) fn within_tasks(&self) -> Option<f64> {
        self.areas.within_tasks().map(|auc| auc.value)
    }

    /// The most by which binning can have changed the area of a task; none where it is exact.
    pub(crate) fn task_error(&self, task: TaskId) -> Option<f64> {
        self.areas.task(task).map(|auc| auc.error).filter(|error| *error > 0.0)
    }

    /// The same of all examples.
    pub(crate) fn total_error(&self) -> Option<f64> {
        self.areas.total().map(|auc| auc.error).filter(|error| *error > 0.0)
    }

    /// The same, of a text in this format.
    pub(crate) fn read_from(self, format: &Format, remarks: ReadRemarks) -> Self {
        let task_place = match format {
            Format::Svm(_) => "a line names its task by qid:7 or task:NAME",
            Format::Vw(_) => "a line names its task by its tag, or in the namespace of --task-namespace",
            Format::Csv(_) => "--task-column says which column names it",
            _ => "--task-key says which key names it",
        };
        Self { remarks, task_place, ..self }
    }

    /// The same, with what misleads about the order of times.
    pub(crate) fn timed(self, times: Option<String>) -> Self {
        Self { times, ..self }
    }

    /// What misleads about the numbers unless it is known, a line each.
    pub(crate) fn notes(&self, model: &Model) -> Vec<String> {
        let mut notes: Vec<String> =
            column_warnings(&self.remarks.columns, "columns are new to the model").collect();
        notes.extend(self.times.clone());
        let total = model.metrics().total();
        notes.extend(sorted_labels(&self.runs).map(|note| format!("warning: {note}")));
        let learnt = model.metrics().learnt();
        if let [first, _, ..] = &self.passes[..] {
            let of_first = first.seen_before.map(|share| {
                format!(
                    "note: about {} of the examples of pass 1 had been learnt before (same task, same features): \
                     no pass predicts unseen ones alone",
                    share_text(share, 0)
                )
            });
            let only = if of_first.is_some() { "" } else { ": only pass 1 predicts unseen ones" };
            notes.push(format!("note: from pass 2 on, examples have been seen before{only}"));
            notes.extend(of_first);
        } else if let Some(note) = learnt_before(learnt.seen_before()) {
            notes.push(format!("note: {note}"));
        }
        notes.extend(dominant_task(model).map(|note| format!("note: {note}")));
        if total.kind() == Some(Kind::Classification) {
            if self.before > 0 && self.areas.total().is_some() {
                // Margins are not saved with a model.
                notes.push(format!(
                    "note: AUC is of the {} examples of this run, the other numbers of all {} that the model has seen",
                    count(total.examples - self.before),
                    count(total.examples),
                ));
            }
            if let Some(classes) = self.classes.filter(|classes| self.before > 0 && classes.lines > 0) {
                notes.push(format!(
                    "note: the multiclass error is of the {} lines of this run",
                    count(classes.lines)
                ));
            }
            notes.extend(tells_tasks_apart(&self.areas).map(|note| format!("note: {note}")));
            notes.extend(self.areas.total().filter(|auc| auc.error > 0.0).map(|auc| {
                let of_tasks = self.areas.largest_task_error();
                let of_tasks = of_tasks
                    .map_or_else(String::new, |error| format!(", and that of every task within {error:.1e}"));
                format!(
                    "note: AUC of more than a million examples, in bins: within {:.1e}{of_tasks}",
                    auc.error
                )
            }));
        }
        notes
    }

    /// What all lines have in common, and why a number has no value, a line each: nothing that could mislead.
    pub(crate) fn gaps(&self, model: &Model) -> Vec<String> {
        let total = model.metrics().total();
        let mut gaps = Vec::new();
        if !self.remarks.names_tasks && total.examples + model.metrics().unlabelled() > 0 {
            gaps.push(format!("note: no line names a task, so all are of one, default; {}", self.task_place));
        }
        if self.lines_apart {
            gaps.push(
                "note: no multiclass error: in this order the examples of a line, one of every class, are not together"
                    .to_owned(),
            );
        }
        if total.kind() != Some(Kind::Classification) {
            return gaps;
        }
        // Of no weight there are no rates at all.
        let is_unknown = total.constant_error().is_none() && total.weight() > 0.0;
        let unknown = is_unknown.then(|| {
            format!(
                "note: of what was learnt before this run, the cost of the constant guess is unknown, and shown as \
                 {NO_VALUE} (an earlier version saved the model, or a task was forgotten)"
            )
        });
        gaps.extend(one_class(total, model.label_names()).into_iter().chain(unknown));
        gaps
    }

    /// All of them without saying how grave each is.
    pub(crate) fn plain_notes(&self, model: &Model) -> Vec<String> {
        let plain =
            |note: &String| note.split_once(": ").map_or_else(|| note.clone(), |(_, rest)| rest.to_owned());
        self.notes(model).iter().chain(&self.gaps(model)).map(plain).collect()
    }
}

/// Says that labels come sorted, if they do.
pub(crate) fn sorted_labels(runs: &LabelRuns) -> Option<String> {
    runs.are_sorted().then(|| {
        format!(
            "labels come in long runs ({} of one label, by chance about {}): numbers of such an order \
             say little of others; --order shuffle, or check the order of the lines",
            count(runs.longest),
            count(runs.by_chance.round() as u64),
        )
    })
}

/// Says that the area of all examples is of tasks rather than of their examples, where it is.
pub(crate) fn tells_tasks_apart(areas: &Areas) -> Option<String> {
    let (Auc { value: within, .. }, total) = (areas.below_total()?, areas.total()?);
    Some(format!(
        "AUC of all, {}, is above that of nearly every task: of pairs within tasks it is {}; what is above tells tasks apart \
         rather than examples",
        digits(total.value),
        digits(within),
    ))
}

/// The share of examples that had been learnt before, if it is large and known of enough of them.
fn large_share(overlap: Overlap) -> Option<f64> {
    overlap.share().filter(|share| *share >= MANY && overlap.sampled >= FEW)
}

/// Says that examples had been learnt before, if they are many.
pub(crate) fn learnt_before(overlap: Overlap) -> Option<String> {
    let share = large_share(overlap)?;
    Some(format!(
        "about {} of these examples had been learnt before (same task, same features): \
         they were not unseen when predicted",
        share_text(share, 0),
    ))
}

/// Says that one task makes nearly all of the squared error, as one in other units does.
fn dominant_task(model: &Model) -> Option<String> {
    let metrics = model.metrics();
    let squares = |tally: &Tally| tally.rmse().map_or(0.0, |rmse| rmse * rmse * tally.weight());
    let tasks = (0..model.tasks().len() as u32).map(TaskId).map(|task| {
        let tally = metrics.task(task);
        (model.tasks().name(task), squares(&tally), tally.weight())
    });
    dominates(tasks).map(|(name, share)| {
        format!("task {name} makes {share} of the squared error: RMSE and the like of all tasks say little of the others")
    })
}

/// Share of the squared error above which the other tasks do not show in that of all.
const NEARLY_ALL: f64 = 0.9;

/// The task that makes nearly all of a sum though it has less than half of the weight, and its share; of names, sums and
/// weights.
pub(crate) fn dominates<'a>(
    tasks: impl Iterator<Item = (&'a str, f64, f64)> + Clone,
) -> Option<(String, String)> {
    let (all, weight) =
        tasks.clone().fold((0.0, 0.0), |(sums, weights), (_, sum, weight)| (sums + sum, weights + weight));
    let (name, sum, own) = tasks.max_by(|one, other| one.1.total_cmp(&other.1))?;
    (sum > NEARLY_ALL * all && own < 0.5 * weight).then(|| (shown_name(name), share_text(sum / all, 0)))
}

/// What a label is called.
pub(crate) fn label_name(names: &LabelNames, positive: bool) -> String {
    match positive {
        _ if names.is_empty() => if positive { "+1" } else { "-1" }.to_owned(),
        true => shown_name(names.name(1.0)),
        false => shown_name(names.name(-1.0)),
    }
}

/// Says that there is one class only.
pub(crate) fn one_class(total: &Tally, names: &LabelNames) -> Option<String> {
    if total.kind() != Some(Kind::Classification) {
        return None;
    }
    let positive = match (total.positives(), total.negatives()) {
        (0, 0) => return None,
        (_, 0) => true,
        (0, _) => false,
        _ => return None,
    };
    let label = label_name(names, positive);
    Some(format!(
        "note: every label is {label}: AUC and balanced error need both, and are shown as {NO_VALUE}"
    ))
}

/// A number that may be unknown.
pub(crate) fn shown(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NO_VALUE.to_owned(), text)
}

/// A number with some digits, whatever its size.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || (1e-3..1e5).contains(&size) => format!("{value:.4}"),
        _ => format!("{value:.3e}"),
    }
}

/// A share in percent, with plain spaces.
fn share_text(value: f64, places: usize) -> String {
    format!("{:.places$} %", 100.0 * value)
}

/// The numbers of all examples in a sentence.
pub(crate) fn sentence(tally: &Tally, auc: Option<f64>) -> String {
    let share = |value: f64| share_text(value, 2);
    let measures = tally.measures(auc);
    if tally.kind() == Some(Kind::Regression) {
        return format!(
            "RMSE {} (mean so far {}), MAE {}, R2 {}, loss {}",
            shown(tally.rmse(), digits),
            shown(tally.constant_rmse(), digits),
            shown(tally.mae(), digits),
            shown(tally.r2(), |r2| format!("{r2:.4}")),
            shown(tally.loss(), digits),
        );
    }
    format!(
        "error {} (constant guess {}), balanced error {}, AUC {}, log loss {}",
        shown(measures.error, share),
        shown(measures.constant_error, share),
        shown(measures.balanced_error, share),
        shown(measures.auc, digits),
        shown(measures.log_loss, digits),
    )
}

/// What a second line has to say, of classes.
pub(crate) fn second_sentence(tally: &Tally) -> Option<String> {
    let share = |value: f64| share_text(value, 2);
    let measures = tally.measures(None);
    (tally.kind() == Some(Kind::Classification)).then(|| {
        format!(
            "precision {}, recall {}, F1 {}, Brier score {}",
            shown(measures.precision, share),
            shown(measures.recall, share),
            shown(measures.f1, share),
            shown(measures.brier, digits),
        )
    })
}
