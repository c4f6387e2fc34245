//! What a run is judged by beside its counts: areas under ROC curves, single passes, and what misleads.

use cognate::fit::Kind;
use cognate::metrics::{Areas, LabelRuns, Metrics, Overlap, Ranking, Tally};
use cognate::run::{Progress, RoundReport};
use cognate::stream::LabelNames;
use cognate::{Model, TaskId};

use crate::output::shown_name;
use cognate_plot::numbers::{NO_VALUE, count};

/// Share of examples learnt before from which on a run says so.
const MANY: f64 = 0.2;
/// A share of fewer examples says little.
const FEW: u64 = 10;

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
}

/// One of several passes.
pub(crate) struct Pass {
    pub(crate) tally: Tally,
    pub(crate) auc: Option<f64>,
}

/// What a judge has found.
pub(crate) struct Judged {
    pub(crate) areas: Areas,
    /// The passes, where there were several.
    pub(crate) passes: Vec<Pass>,
    pub(crate) runs: LabelRuns,
    /// Examples that the model had seen before the run.
    before: u64,
}

impl Judge {
    /// Begins with a run of so many passes.
    pub(crate) fn new(model: &Model, passes: u32) -> Self {
        Self {
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
        let tally = now.since(&self.began);
        if tally.examples > 0 {
            self.passes.push(Pass { tally, auc: ranking.auc().map(|auc| auc.value) });
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
            before: self.before,
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

    /// What misleads about the numbers unless it is known, a line each.
    pub(crate) fn notes(&self, model: &Model) -> Vec<String> {
        let mut notes = Vec::new();
        let total = model.metrics().total();
        notes.extend(sorted_labels(&self.runs).map(|note| format!("warning: {note}")));
        let learnt = model.metrics().learnt();
        if self.passes.len() > 1 {
            notes.push(
                "note: from pass 2 on, examples have been seen before: only pass 1 predicts unseen ones"
                    .to_owned(),
            );
        } else if let Some(note) =
            learnt_before(learnt.from_earlier_runs()).or_else(|| learnt_before(learnt.repeated()))
        {
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
            notes.extend(self.areas.total().filter(|auc| auc.error > 0.0).map(|auc| {
                format!("note: AUC of more than a million examples, in bins: within {:.1e}", auc.error)
            }));
        }
        notes
    }

    /// Why a number has no value, a line each: nothing that could mislead.
    pub(crate) fn gaps(model: &Model) -> Vec<String> {
        let total = model.metrics().total();
        if total.kind() != Some(Kind::Classification) {
            return Vec::new();
        }
        let unknown = total.constant_error().is_none().then(|| {
            format!(
                "note: of what was learnt before this run, the cost of the constant guess is unknown, and shown as \
                 {NO_VALUE} (an earlier version saved the model, or a task was forgotten)"
            )
        });
        one_class(total, model.label_names()).into_iter().chain(unknown).collect()
    }

    /// All of them without saying how grave each is.
    pub(crate) fn plain_notes(&self, model: &Model) -> Vec<String> {
        let plain =
            |note: &String| note.split_once(": ").map_or_else(|| note.clone(), |(_, rest)| rest.to_owned());
        self.notes(model).iter().chain(&Self::gaps(model)).map(plain).collect()
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

/// Says that examples had been learnt before, if they are many.
pub(crate) fn learnt_before(overlap: Overlap) -> Option<String> {
    let share = overlap.share().filter(|share| *share >= MANY && overlap.sampled >= FEW)?;
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
        share(tally.error()),
        shown(tally.constant_error(), share),
        shown(tally.balanced_error(), share),
        shown(auc, digits),
        shown(tally.log_loss(), digits),
    )
}

/// What a second line has to say, of classes.
pub(crate) fn second_sentence(tally: &Tally) -> Option<String> {
    let share = |value: f64| share_text(value, 2);
    (tally.kind() == Some(Kind::Classification)).then(|| {
        format!(
            "precision {}, recall {}, F1 {}, Brier score {}",
            share(tally.precision()),
            share(tally.recall()),
            share(tally.f1()),
            shown(tally.brier(), digits),
        )
    })
}
