//! Who takes part: the learners, each in all its forms, with the parameters to choose from.

use anyhow::{Context, bail};
use cognate::algorithms::{About, Protocol};
use cognate::fit::Kind;
use cognate::internal::nearest_names;
use cognate::stream::Memory;
use cognate::{LearnerConfig, REGISTRY, RunConfig, Tasks};
use serde_json::{Map, Value, json};

use super::contest::Results;
use super::forms::{Form, shape};
use super::metric::Metric;
use crate::args::CompareArgs;
use crate::output::say;
use crate::schema::{Choice, Place};
use crate::settings::{lay, lay_set};

/// Compared by default: from those that are told how much tasks share to those that find out.
const DEFAULT: [&str; 6] =
    ["adaptive", "perceptron", "relation-perceptron", "passive-aggressive", "collaborative", "rom-pgd"];

/// From this many tasks on, `adaptive` is tried with groups of tasks, too.
const ENOUGH_FOR_GROUPS: usize = 8;

/// One that takes part: a learner in one of its forms.
pub(super) struct Entry {
    /// What it is called: the learner, and its form unless it shares in part.
    pub(super) name: String,
    /// Configs of the learner to choose from.
    pub(super) candidates: Vec<Value>,
}

/// A learner and the entries that are its forms.
pub(super) struct Family {
    pub(super) learner: &'static str,
    pub(super) shared: Option<String>,
    pub(super) independent: Option<String>,
    pub(super) pooled: Option<String>,
}

impl Family {
    /// The entry of a form.
    pub(super) fn entry(&self, form: Form) -> Option<&str> {
        match form {
            Form::Shared => self.shared.as_deref(),
            Form::Independent => self.independent.as_deref(),
            Form::Pooled => self.pooled.as_deref(),
        }
    }

    /// Whether an entry of this name is one of its forms.
    pub(super) fn has(&self, name: &str) -> bool {
        [Form::Shared, Form::Independent, Form::Pooled].iter().any(|form| self.entry(*form) == Some(name))
    }
}

/// What examples have that not every learner takes.
#[derive(Clone, Copy, Default)]
pub(super) struct Extras {
    /// Where weights come from, if there are some.
    pub(super) weights: Option<&'static str>,
    pub(super) offsets: bool,
}

impl Extras {
    /// Those of examples, and of classes if these have weights.
    pub(super) fn of(memory: &Memory, has_class_weights: bool) -> Self {
        #[expect(clippy::float_cmp, reason = "weights and offsets that were not given are exactly 1 and 0")]
        let (weights, offsets) =
            memory.examples().fold((false, false), |(weights, offsets), (_, example)| {
                (weights || example.weight != 1.0, offsets || example.offset != 0.0)
            });
        let weights = match (weights, has_class_weights) {
            (true, _) => Some("and examples have some"),
            (false, true) => Some("which --class-weight gives"),
            (false, false) => None,
        };
        Self { weights, offsets }
    }

    /// Why a learner does not take them, if so.
    fn refused(self, about: &About) -> Option<String> {
        match self {
            Self { weights: Some(source), .. } if !about.weights => {
                Some(format!("it knows nothing of weights, {source}"))
            }
            Self { offsets: true, .. } if !about.offsets => {
                Some("it knows nothing of offsets, and examples have some".to_owned())
            }
            _ => None,
        }
    }
}

/// All who take part.
pub(super) struct Lineup {
    pub(super) entries: Vec<Entry>,
    pub(super) families: Vec<Family>,
    /// What labels are; as long as nothing says so, classes.
    pub(super) kind: Kind,
    /// Whether a metric or a setting says so.
    pub(super) is_said: bool,
    /// What is laid upon the query.
    pub(super) query: Value,
    /// Whether a learner forgets by time.
    pub(super) by_time: bool,
}

/// One `--set LEARNER.KEY=VALUE`.
struct Setting<'a> {
    learner: &'a str,
    key: &'a str,
    value: &'a str,
    text: &'a str,
}

impl Lineup {
    /// What the command line asks for.
    pub(super) fn of(args: &CompareArgs) -> anyhow::Result<Self> {
        let learners = learners(&args.learners)?;
        let settings = settings(&args.sets, &learners)?;
        let said = kind(&learners, &settings, args.metric)?;
        let kind = said.unwrap_or(Kind::Classification);
        let query = query(args.query.as_deref(), &settings)?;
        let mut lineup = Self {
            entries: Vec::new(),
            families: Vec::new(),
            kind,
            is_said: said.is_some(),
            query,
            by_time: false,
        };
        lineup.families = learners
            .iter()
            .map(|learner| Family { learner, shared: None, independent: None, pooled: None })
            .collect();
        // Until it is known how many tasks there are, only what is wrong can be told.
        for learner in learners {
            for candidate in lineup.candidates(learner, &settings, 1)? {
                lineup.by_time |= resolved(&candidate)?.needs_times();
            }
        }
        Ok(lineup)
    }

    /// A learner for whose labels the examples are read; none where labels are classes.
    pub(super) fn reads_with(&self) -> anyhow::Result<Option<LearnerConfig>> {
        if self.kind == Kind::Classification {
            return Ok(None);
        }
        let takes_real =
            |family: &Family| Some((family.learner, real_losses(family.learner).into_iter().next()?));
        let Some((learner, loss)) = self.families.iter().find_map(takes_real) else {
            bail!("none of the learners takes real labels; {}", takers());
        };
        Ok(Some(resolved(&json!({ learner: { "loss": loss } }))?))
    }

    /// Makes the entries, once it is known how many tasks there are and by what they are judged.
    pub(super) fn fill(
        &mut self,
        args: &CompareArgs,
        (tasks, extras): (usize, Extras),
        metric: Metric,
    ) -> anyhow::Result<()> {
        let learners: Vec<&'static str> = self.families.iter().map(|family| family.learner).collect();
        let settings = settings(&args.sets, &learners)?;
        let named = |learner: &str| args.learners.iter().any(|name| name == learner);
        let mut is_for_others = false;
        for learner in learners {
            let candidates = self.candidates(learner, &settings, tasks)?;
            let refused = LearnerConfig::from_id(learner).and_then(|config| extras.refused(config.about()));
            if let Some(reason) = refused.filter(|_| !candidates.is_empty()) {
                is_for_others = true;
                say(&format!("{learner} is left out: {reason}"));
                self.families.retain(|family| family.learner != learner);
                continue;
            }
            let reason = match candidates.first() {
                None => Some("it takes labels -1 and +1 only".to_owned()),
                Some(first) if metric == Metric::LogLoss && !gives_probabilities(first)? => {
                    Some("its margins are no probabilities, which --metric log-loss needs".to_owned())
                }
                Some(_) => None,
            };
            if let Some(reason) = reason {
                if named(learner) {
                    say(&format!("{learner} is left out: {reason}"));
                }
                self.families.retain(|family| family.learner != learner);
                continue;
            }
            self.add_forms(learner, &candidates)?;
        }
        if self.entries.is_empty() {
            match self.kind {
                _ if is_for_others => {
                    bail!("none of the learners can learn these examples; there is nothing to compare")
                }
                Kind::Classification => {
                    bail!("--metric {}: none of the learners can be judged by it", metric.flag())
                }
                Kind::Regression => bail!("none of the learners takes real labels; {}", takers()),
            }
        }
        Ok(())
    }

    /// The families whose own learner has results: a form that is another learner is no result of theirs.
    pub(super) fn living(&self, results: &[Results]) -> Vec<&Family> {
        let lives = |family: &&Family| {
            let is_own = |one: &Results| one.learner.get(family.learner).is_some() && family.has(&one.name);
            results.iter().any(is_own)
        };
        self.families.iter().filter(lives).collect()
    }

    /// The candidates of a learner as it is, settings laid upon each; none if it cannot learn such labels.
    fn candidates(
        &self,
        learner: &'static str,
        settings: &[Setting<'_>],
        tasks: usize,
    ) -> anyhow::Result<Vec<Value>> {
        let mut found: Vec<Value> = Vec::new();
        let mut problem = None;
        for parameters in grid(learner, tasks) {
            let mut tree = json!({ "learner": { learner: parameters } });
            for Setting { key, value, text, .. } in settings.iter().filter(|set| set.learner == learner) {
                lay_set(&mut tree, learner, (key, value), text)?;
            }
            if self.kind == Kind::Regression && resolved(&tree["learner"])?.kind() != Kind::Regression {
                let Some(loss) = real_losses(learner).into_iter().next() else { return Ok(Vec::new()) };
                lay(&mut tree, json!({ "learner": { learner: { "loss": loss } } }));
            }
            match valid(&tree) {
                Ok(()) => push_new(&mut found, tree["learner"].take())?,
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        match problem {
            // A few candidates may not go with what is set; if none does, it is wrong.
            Some(error) if found.is_empty() => Err(error),
            _ => Ok(found),
        }
    }

    /// Adds the forms of a learner that are not there yet.
    fn add_forms(&mut self, learner: &'static str, candidates: &[Value]) -> anyhow::Result<()> {
        let (mut names, mut usual) = ([None, None, None], Vec::new());
        for (at, form) in [Form::Independent, Form::Pooled, Form::Shared].into_iter().enumerate() {
            let Some(shape) = shape(learner, form) else { continue };
            let mut of_form: Vec<Value> = Vec::new();
            for candidate in candidates {
                // The form of another learner has none of this one's parameters.
                let start = if shape.learner == learner { candidate.clone() } else { json!({}) };
                let mut tree = json!({ "learner": start });
                lay(&mut tree, json!({ "learner": { shape.learner: shape.parameters.clone() } }));
                if valid(&tree).is_ok() {
                    push_new(&mut of_form, tree["learner"].take())?;
                }
            }
            // What is set may leave nothing to share, or share all.
            of_form.retain(|candidate| form != Form::Shared || !usual.contains(candidate));
            if of_form.is_empty() {
                continue;
            }
            let name = match form {
                Form::Shared => shape.learner.to_owned(),
                other => format!("{} {}", shape.learner, other.name()),
            };
            usual.extend(of_form.iter().cloned());
            names[at] = Some(self.add(name, of_form)?);
        }
        if let Some(family) = self.families.iter_mut().find(|family| family.learner == learner) {
            let [independent, pooled, shared] = names;
            (family.shared, family.independent, family.pooled) = (shared, independent, pooled);
        }
        Ok(())
    }

    /// Adds an entry unless the same is there; returns its name.
    fn add(&mut self, name: String, candidates: Vec<Value>) -> anyhow::Result<String> {
        let all = |candidates: &[Value]| candidates.iter().map(resolved).collect::<anyhow::Result<Vec<_>>>();
        let wanted = all(&candidates)?;
        for entry in &self.entries {
            if all(&entry.candidates)? == wanted {
                return Ok(entry.name.clone());
            }
        }
        self.entries.push(Entry { name: name.clone(), candidates });
        Ok(name)
    }
}

/// The learners to compare, each once.
fn learners(wanted: &[String]) -> anyhow::Result<Vec<&'static str>> {
    let mut learners = Vec::new();
    for name in wanted {
        // Forms that everyone is in anyway.
        if [Form::Independent, Form::Pooled].iter().any(|form| form.name() == name) {
            continue;
        }
        let Some(config) = LearnerConfig::from_id(name) else {
            bail!("--learners: unknown learner {name:?}; known: {}", known(name));
        };
        if config.about().protocol == Protocol::Batch {
            bail!("--learners {name}: it does not learn from streams; see `cognate fit`");
        }
        if !learners.contains(&config.id()) {
            learners.push(config.id());
        }
    }
    Ok(if learners.is_empty() { DEFAULT.to_vec() } else { learners })
}

/// The learners that learn from streams, nearest to a name first.
fn known(name: &str) -> String {
    let streams = REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch).map(|about| about.id);
    nearest_names(name, streams).join(", ")
}

fn settings<'a>(sets: &'a [String], learners: &[&str]) -> anyhow::Result<Vec<Setting<'a>>> {
    let parse = |text: &'a String| -> anyhow::Result<Setting<'a>> {
        let parts = text.split_once('=').and_then(|(path, value)| {
            let (learner, key) = path.split_once('.').filter(|(_, key)| !key.is_empty())?;
            Some(Setting { learner, key, value, text })
        });
        let Some(setting) = parts else {
            bail!("--set {text}: expected LEARNER.KEY=VALUE, e.g. adaptive.groups=4");
        };
        let Setting { learner, key, .. } = setting;
        if learner != "query" && LearnerConfig::from_id(learner).is_none() {
            bail!("--set {text}: unknown learner {learner:?}; known: {}", known(learner));
        }
        if learner != "query" && !learners.contains(&learner) {
            let compared = learners.join(", ");
            bail!("--set {text}: {learner} is not compared, only {compared}; --learners names others");
        }
        if learner == "passive-aggressive" && key == "scope" {
            bail!("--set {text}: {learner} is compared with every scope");
        }
        Ok(setting)
    };
    sets.iter().map(parse).collect()
}

/// What labels are, if a metric or a setting says so: real numbers if it is for such.
fn kind(
    learners: &[&'static str],
    settings: &[Setting<'_>],
    metric: Option<Metric>,
) -> anyhow::Result<Option<Kind>> {
    for learner in learners {
        let mut tree = json!({ "learner": { *learner: {} } });
        for Setting { key, value, text, .. } in settings.iter().filter(|set| set.learner == *learner) {
            lay_set(&mut tree, learner, (key, value), text)?;
            let real = resolved(&tree["learner"])?.kind() == Kind::Regression;
            match metric {
                Some(metric) if real && metric.kind() == Kind::Classification => bail!(
                    "--set {text}: predicts real labels, which --metric {} does not judge; expected rmse or mae",
                    metric.flag()
                ),
                _ if real => return Ok(Some(Kind::Regression)),
                _ => {}
            }
        }
    }
    Ok(metric.map(Metric::kind))
}

/// The query, by name and by `--set query.KEY=VALUE`.
fn query(name: Option<&str>, settings: &[Setting<'_>]) -> anyhow::Result<Value> {
    let mut tree = json!({});
    if let Some(name) = name {
        tree["query"] = json!({ name: {} });
        serde_json::from_value::<RunConfig>(tree.clone()).with_context(|| format!("--query {name}"))?;
    }
    for Setting { key, value, text, .. } in settings.iter().filter(|set| set.learner == "query") {
        let learner = LearnerConfig::default().id();
        lay_set(&mut tree, learner, (&format!("query.{key}"), value), text)?;
    }
    Ok(tree["query"].take())
}

/// The parameters that are tried.
fn grid(learner: &str, tasks: usize) -> Vec<Value> {
    let coupled = |b: Value| json!({ "interaction": { "coupled": { "b": b } } });
    match learner {
        "adaptive" if tasks >= ENOUGH_FOR_GROUPS => vec![json!({}), json!({ "groups": 4 })],
        "perceptron" => {
            let strengths = [json!(1), json!(4), json!(16), json!(tasks.max(2)), json!("auto")];
            strengths.into_iter().map(coupled).collect()
        }
        "relation-perceptron" => {
            ["log-det", "scale-free"].map(|relation| json!({ "relation": relation })).to_vec()
        }
        "passive-aggressive" => [0.01, 0.1, 1.0].map(|c| json!({ "c": c })).to_vec(),
        "collaborative" => std::iter::once(json!({}))
            .chain([0.3, 3.0, 30.0].into_iter().flat_map(|own| {
                [0.1, 1.0].map(|c| json!({ "own": own, "global": 1.0, "c": c, "c-global": 1.0 }))
            }))
            .collect(),
        _ => vec![json!({})],
    }
}

/// The losses of a learner that take real labels, the squared one first.
fn real_losses(learner: &str) -> Vec<&'static str> {
    let losses = Place::config().below("learner").below(learner).below("loss");
    let takes_real = |choice: &Choice| {
        // A loss with a parameter that must be given; any value tells its kind.
        let given: Map<String, Value> =
            choice.parameters.parameters().map(|(name, _)| (name.to_owned(), json!(0.5))).collect();
        let loss = if given.is_empty() { json!(choice.name) } else { json!({ choice.name: given }) };
        let config = serde_json::from_value::<LearnerConfig>(json!({ learner: { "loss": loss } }));
        config.is_ok_and(|config| config.kind() == Kind::Regression)
    };
    let mut names: Vec<&str> = losses.choices().filter(takes_real).map(|choice| choice.name).collect();
    names.sort_by_key(|name| *name != "squares");
    names
}

/// Who takes real labels, and how that is said.
pub(super) fn takers() -> String {
    let streams = REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch);
    let takers: Vec<String> = streams
        .filter_map(|about| {
            let losses = real_losses(about.id);
            let (first, others) = losses.split_first()?;
            let or = if others.is_empty() { String::new() } else { format!(" (or {})", others.join(", ")) };
            Some(format!("--set {}.loss={first}{or}", about.id))
        })
        .collect();
    if takers.is_empty() {
        "real labels are learnt by `cognate fit` alone".to_owned()
    } else {
        format!("real labels are learnt with {}", takers.join("; "))
    }
}

/// Whether margins of a learner are probabilities.
fn gives_probabilities(candidate: &Value) -> anyhow::Result<bool> {
    Ok(resolved(candidate)?.build(&Tasks::open())?.as_inspect().probability(0.0).is_some())
}

/// A config with its defaults filled in.
pub(super) fn resolved(learner: &Value) -> anyhow::Result<LearnerConfig> {
    Ok(serde_json::from_value(learner.clone())?)
}

fn valid(tree: &Value) -> anyhow::Result<()> {
    let mut config: RunConfig = serde_json::from_value(tree.clone())?;
    config.read_files()?;
    Ok(config.validate()?)
}

/// Adds a candidate unless one of them comes to the same.
fn push_new(candidates: &mut Vec<Value>, candidate: Value) -> anyhow::Result<()> {
    let config = resolved(&candidate)?;
    for known in candidates.iter() {
        if resolved(known)? == config {
            return Ok(());
        }
    }
    candidates.push(candidate);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn lineup(line: &str, tasks: usize) -> anyhow::Result<Lineup> {
        let arguments =
            crate::args::Arguments::parse_from(format!("cognate compare a.svm {line}").split_whitespace());
        let crate::args::Command::Compare(args) = arguments.command else { panic!("another command") };
        let mut lineup = Lineup::of(&args)?;
        lineup.fill(&args, (tasks, Extras::default()), args.metric.unwrap_or(Metric::Error))?;
        Ok(lineup)
    }

    fn names(lineup: &Lineup) -> Vec<&str> {
        lineup.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    #[test]
    fn every_learner_comes_with_its_forms_and_none_comes_twice() -> anyhow::Result<()> {
        let found =
            lineup("--learners perceptron,relation-perceptron,passive-aggressive,perceptron,pooled", 4)?;
        assert_eq!(
            names(&found),
            [
                "perceptron independent",
                "perceptron pooled",
                "perceptron",
                "relation-perceptron",
                "passive-aggressive independent",
                "passive-aggressive pooled",
            ]
        );
        let forms = |family: &Family| {
            [Form::Shared, Form::Independent, Form::Pooled]
                .map(|form| family.entry(form).unwrap_or("none").to_owned())
        };
        assert_eq!(
            forms(&found.families[1]),
            ["relation-perceptron", "perceptron independent", "perceptron pooled"]
        );
        assert_eq!(forms(&found.families[2])[0], "none");
        // The strengths 4 and K are one.
        assert_eq!(found.entries[2].candidates.len(), 4);
        assert_eq!(found.entries[0].candidates, [json!({ "perceptron": { "interaction": "independent" } })]);
        Ok(())
    }

    #[test]
    fn what_is_set_holds_for_every_form() -> anyhow::Result<()> {
        let found = lineup("--learners adaptive --set adaptive.rate=0.5", 12)?;
        assert_eq!(names(&found), ["adaptive independent", "adaptive pooled", "adaptive"]);
        assert!(
            found
                .entries
                .iter()
                .flat_map(|entry| &entry.candidates)
                .all(|one| one["adaptive"]["rate"] == 0.5)
        );
        assert_eq!(found.entries[2].candidates.len(), 2, "with groups and without");
        let found = lineup("--learners adaptive --set adaptive.groups=2", 12)?;
        assert_eq!(found.entries[2].candidates, [json!({ "adaptive": { "groups": 2 } })]);
        let found = lineup("--learners adaptive --set adaptive.interaction=pooled", 12)?;
        assert_eq!(names(&found), ["adaptive independent", "adaptive pooled"], "nothing is shared in part");
        Ok(())
    }

    #[test]
    fn settings_that_name_nothing_are_refused() {
        for (line, message) in [
            ("--set groups=4", "--set groups=4: expected LEARNER.KEY=VALUE, e.g. adaptive.groups=4"),
            (
                "--set adaptve.groups=4",
                "--set adaptve.groups=4: unknown learner \"adaptve\"; known: adaptive, ",
            ),
            (
                "--set adaptive.group=4",
                "--set adaptive.group=4: unknown field `group`, expected one of `groups`",
            ),
            ("--set adaptive.rate=-1", "learner.adaptive.rate: must be positive"),
            ("--set rom-rda.alpha=1", "rom-rda is not compared, only adaptive, perceptron"),
            ("--set passive-aggressive.scope=global", "is compared with every scope"),
        ] {
            let error = lineup(line, 12).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(message), "{line}: {error}");
        }
    }
}
