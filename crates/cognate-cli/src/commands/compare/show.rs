//! The comparison as a table for people, and as JSON.

use std::collections::BTreeMap;

use cognate::fit::Kind;
use cognate_lab::statistics::mean;
use cognate_plot::numbers::{count, percent};
use serde_json::{Map, Value, json};

use super::command::{learn_command, parameters};
use super::contest::{Contest, Passed, Results};
use super::entries::Family;
use super::forms::Form;
use super::metric::{Guess, Metric};
use super::ranking::{Ranking, chance_text};
use crate::judging::{dominates, learnt_before, sorted_labels};
use crate::output::{bytes, table};

/// A row of the table: a learner, its forms, and who stands for it in the further columns.
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) shared: Option<usize>,
    pub(super) independent: Option<usize>,
    pub(super) pooled: Option<usize>,
    /// The learner with sharing; where it has no such form, the better of the others.
    pub(super) main: usize,
}

/// The constant guess and every learner.
pub(super) fn rows<'a>(ranking: &Ranking<'a>) -> Vec<Row<'a>> {
    let metric = ranking.contest.metric;
    let better = |one: usize, other: usize| {
        let (a, b) = (ranking.results[one].value(metric), ranking.results[other].value(metric));
        if (a <= b) == metric.rises() { other } else { one }
    };
    let row = |family: &&'a Family| {
        let form = |form: Form| ranking.form(family, form);
        let (shared, independent, pooled) = (form(Form::Shared), form(Form::Independent), form(Form::Pooled));
        let main = shared.or_else(|| [independent, pooled].into_iter().flatten().reduce(better))?;
        Some(Row { name: family.learner, shared, independent, pooled, main })
    };
    let constant = Row {
        name: ranking.results[0].name.as_str(),
        shared: Some(0),
        independent: None,
        pooled: None,
        main: 0,
    };
    std::iter::once(constant).chain(ranking.families.iter().filter_map(row)).collect()
}

/// The metrics beside the one that judges.
pub(super) fn further(metric: Metric) -> Vec<Metric> {
    let all = match metric.kind() {
        Kind::Classification => vec![Metric::Error, Metric::Auc, Metric::LogLoss],
        Kind::Regression => vec![Metric::Rmse, Metric::Mae],
    };
    all.into_iter().filter(|other| *other != metric).collect()
}

/// How much the form of a learner that shares differs from its own independent one; none where no form shares in part: one
/// model for all is another thing, with a column of its own.
pub(super) fn sharing(ranking: &Ranking<'_>, row: &Row<'_>) -> Option<(String, f64)> {
    let metric = ranking.contest.metric;
    let who = row.shared?;
    let gain = ranking.gains[who]?;
    let value = |who: usize| ranking.results[who].value(metric);
    Some((metric.show_change(value(who), value(gain.of)), gain.chance))
}

/// What was compared, and by what it is judged.
pub(super) fn heading(ranking: &Ranking<'_>, is_chosen: bool) -> Vec<String> {
    let contest = ranking.contest;
    let (metric, runs) = (contest.metric, ranking.results[0].runs.len());
    let labels = match contest.kind {
        Kind::Classification => {
            format!(", {} of them {}", percent(ranking.positives, 1), contest.label(true))
        }
        Kind::Regression => String::new(),
    };
    let mut lines = vec![format!(
        "{} examples of {} tasks{labels}; {runs} {}, judged by {}",
        count(contest.memory.len() as u64),
        count(contest.tasks as u64),
        if runs == 1 { "run" } else { "shuffles" },
        metric.name(),
    )];
    if is_chosen && ranking.is_uneven() {
        let rare = contest.label(ranking.positives < 0.5);
        lines.push(format!(
            "So few labels are {rare} that {} seldom errs: not mistakes judge, but AUC, which tells how well the labels are told \
             apart (--metric)",
            ranking.always(),
        ));
    }
    if contest.kind == Kind::Classification && [0.0, 1.0].contains(&ranking.positives) {
        let only = contest.label(ranking.positives > 0.0);
        lines.push(format!("Every label is {only}: there is nothing to tell apart, and no AUC"));
    }
    if let Some(place) = &contest.real_label {
        lines.push(format!(
            "Labels are real numbers: {place}, which is no class; with --metric error such a line is an error"
        ));
    }
    if contest.stream.one_vs_all {
        let more = if ranking.multiclass_error(1).is_some() {
            ""
        } else {
            "; --order file has the multiclass error, too"
        };
        lines.push(format!(
            "Every line is one example of each class, and numbers are of these examples{more}"
        ));
    }
    lines.extend(misleading(ranking));
    if contest.runs == 1 {
        lines.push(
            "One run: without several shuffles, uncertainty is that of the paired test over the examples alone".to_owned(),
        );
    }
    if contest.stream.passes > 1 {
        lines
            .push(format!("{} passes: all but the first are of examples seen before", contest.stream.passes));
    }
    lines
}

/// What misleads about the examples or their order.
fn misleading(ranking: &Ranking<'_>) -> Vec<String> {
    let contest = ranking.contest;
    let mut lines = Vec::new();
    if let Some(run) = ranking.results.get(1).and_then(|results| results.runs.first()) {
        lines.extend(sorted_labels(&run.label_runs));
        lines.extend(learnt_before(run.repeated));
    }
    lines.extend(dominant_task(contest));
    lines.iter().map(|line| capitalized(line)).collect()
}

/// Says that one task has nearly all of the squared deviation of real labels, as one in other units does.
fn dominant_task(contest: &Contest) -> Option<String> {
    if contest.kind != Kind::Regression {
        return None;
    }
    let mut tasks: BTreeMap<&str, [f64; 3]> = BTreeMap::new();
    for (task, example) in contest.memory.examples() {
        let [weights, labels, squares] = tasks.entry(task).or_default();
        *weights += example.weight;
        *labels += example.weight * example.label;
        *squares += example.weight * example.label * example.label;
    }
    let of_tasks = tasks
        .iter()
        .map(|(name, [weight, labels, squares])| (*name, squares - labels * labels / weight, *weight));
    dominates(of_tasks).map(|(name, share)| {
        format!("task {name} has {share} of the squared deviation of all labels: it decides who is best, whatever the others say")
    })
}

fn capitalized(line: &str) -> String {
    let mut signs = line.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

/// The table, what was chosen, and the conclusion.
pub(super) fn as_text(ranking: &Ranking<'_>, is_chosen: bool) -> String {
    let (contest, results) = (ranking.contest, ranking.results);
    let metric = contest.metric;
    let with_labels = !contest.query.is_null();
    let cell = |who: Option<usize>, none: &str| {
        who.map_or_else(
            || none.to_owned(),
            |who| format!("{}{}", ranking.mark(who), metric.show(results[who].value(metric))),
        )
    };
    let lines = rows(ranking).into_iter().map(|row| {
        let main = &results[row.main];
        let is_constant = row.main == 0;
        let none = if is_constant { "" } else { "none" };
        let shared = row.shared.map_or_else(
            || none.to_owned(),
            |who| format!("{}{}", ranking.mark(who), results[who].shown(metric)),
        );
        let gain = sharing(ranking, &row);
        let mut cells =
            vec![row.name.to_owned(), shared, cell(row.independent, none), cell(row.pooled, none)];
        cells.extend(match gain {
            Some((change, chance)) => [change, chance_text(chance)],
            None => [String::new(), String::new()],
        });
        cells.extend(further(metric).into_iter().map(|other| other.show(main.value(other))));
        cells.extend(ranking.multiclass_error(row.main).map(|error| percent(error, 2)));
        if with_labels {
            cells.push(count(main.mean_of(|run| run.total.queries as f64).round() as u64));
        }
        cells.push(if is_constant {
            String::new()
        } else {
            bytes(main.mean_of(|run| run.bytes as f64) as u64)
        });
        cells.push(if is_constant { String::new() } else { count(main.rate() as u64) });
        cells
    });
    let mut header = vec!["learner", metric.name(), "independent", "pooled", "sharing", "by chance"];
    header.extend(further(metric).into_iter().map(Metric::name));
    header.extend(ranking.multiclass_error(1).map(|_| "multiclass"));
    header.extend(with_labels.then_some("labels"));
    header.extend(["memory", "examples/s"]);
    let table = table(&header, lines).trim_fmt();
    let mut parts = vec![heading(ranking, is_chosen).join("\n"), table];
    parts.push(format!("* the best, = no difference to it beyond chance{}", tried(ranking)));
    parts.push(ranking.verdict().join("\n"));
    parts.push(format!("  {}", learn_command(&results[ranking.best].learner, ranking.contest.stream.order)));
    parts.join("\n\n")
}

/// What was chosen of how many, for every learner.
pub(super) fn tried(ranking: &Ranking<'_>) -> String {
    let chosen: Vec<String> = rows(ranking)
        .into_iter()
        .map(|row| &ranking.results[row.main])
        .filter(|results| results.candidates > 1)
        .map(|results| {
            let parameters = parameters(&results.learner).join(" ");
            let parameters = if parameters.is_empty() { "defaults" } else { &parameters };
            format!("{} {parameters} (of {})", results.name, results.candidates)
        })
        .collect();
    if chosen.is_empty() {
        return String::new();
    }
    format!("\nChosen on {} examples: {}", count(ranking.contest.prefix() as u64), chosen.join("; "))
}

/// Everything, one row per form of a learner.
pub(super) fn as_json(ranking: &Ranking<'_>, is_chosen: bool) -> Value {
    let (contest, metric) = (ranking.contest, ranking.contest.metric);
    let row = |who: usize| {
        let results = &ranking.results[who];
        let mut row = Map::new();
        let mut put = |name: &str, value: Value| drop(row.insert(name.to_owned(), value));
        put("name", json!(results.name));
        put("learner", results.learner.clone());
        put("form", json!(ranking.form_of(who).map_or("constant", Form::name)));
        put("value", json!(results.value(metric)));
        put("values", json!(results.values(metric)));
        for (name, _) in results.runs[0].measures.entries() {
            put(name, json!(results.measure(name)));
        }
        if contest.kind == Kind::Classification {
            put("errors", json!(results.values(Metric::Error)));
            let within = |run: &Passed| run.areas.within_tasks().map(|auc| auc.value);
            let within: Option<Vec<f64>> = results.runs.iter().map(within).collect();
            put("auc_within_tasks", json!(within.map(|values| mean(&values))));
        }
        if let Some(error) = ranking.multiclass_error(who) {
            put("multiclass_error", json!(error));
        }
        put("updates", json!(results.mean_of(|run| run.total.updates as f64)));
        put("queries", json!(results.mean_of(|run| run.total.queries as f64)));
        put("model_bytes", json!(results.mean_of(|run| run.bytes as f64)));
        put("examples_per_second", json!(results.rate()));
        put("candidates", json!(results.candidates));
        put("chance_to_best", json!(ranking.to_best[who]));
        put("chance_to_constant", json!(ranking.to_constant[who]));
        let gain = ranking.gains[who];
        put("independent", json!(gain.map(|gain| &ranking.results[gain.of].name)));
        put("chance_to_independent", json!(gain.map(|gain| gain.chance)));
        let change =
            gain.map(|gain| metric.change(results.value(metric), ranking.results[gain.of].value(metric)));
        put("change_to_independent", json!(change));
        Value::Object(row)
    };
    let guess = |(guess, results): &(Guess, Results)| {
        json!({
            "guess": guess.id(),
            "what": ranking.guess_name(*guess, metric),
            "value": results.value(metric),
            "values": results.values(metric),
            "chance_to_best": ranking.chance_beside(ranking.best, results),
        })
    };
    json!({
        "examples": contest.memory.len(),
        "tasks": contest.tasks,
        "positives": (contest.kind == Kind::Classification).then_some(ranking.positives),
        "runs": ranking.results[0].runs.len(),
        "metric": metric.flag(),
        "notes": heading(ranking, is_chosen)[1..],
        "best": ranking.results[ranking.best].name,
        "verdict": ranking.verdict().join(" ").replace(['\u{a0}', '\u{202f}'], " "),
        "command": learn_command(&ranking.results[ranking.best].learner, contest.stream.order),
        "guesses": ranking.guesses.iter().map(guess).collect::<Vec<_>>(),
        "learners": (0..ranking.results.len()).map(row).collect::<Vec<_>>(),
    })
}
