//! From file, `--set` and flags to one config: default, file, then the command line.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use cognate::algorithms::Protocol;
use cognate::internal::nearest_first;
use cognate::internal::nearest_names;
use cognate::stream::StreamConfig;
use cognate::{LearnerConfig, QueryConfig, REGISTRY, RunConfig};
use serde_json::{Map, Value, json};

use crate::args::{FitArgs, FormatArgs, LearnArgs, StreamArgs};
use crate::formats::lay_format;
use crate::schema::Place;
use crate::threshold::class_weight;

/// What a command line says about a config.
struct Given<'a> {
    data: &'a [PathBuf],
    config: Option<&'a Path>,
    learner: Option<&'a str>,
    query: Option<&'a str>,
    sets: &'a [String],
    tasks: Option<&'a str>,
    features: Option<u32>,
    shards: Option<u32>,
    mix: Option<&'a str>,
    stream: &'a StreamArgs,
}

/// The config of a run over a stream.
pub(crate) fn run_config(args: &LearnArgs, base: Value) -> anyhow::Result<RunConfig> {
    let given = Given {
        data: &args.data,
        config: args.config.as_deref(),
        learner: args.learner.as_deref(),
        query: args.query.as_deref(),
        sets: &args.sets,
        tasks: args.tasks.as_deref(),
        features: args.features,
        shards: args.shards,
        mix: args.mix.as_deref(),
        stream: &args.stream,
    };
    resolve(&given, base)
}

/// The config of a fit.
pub(crate) fn fit_config(args: &FitArgs) -> anyhow::Result<RunConfig> {
    let stream = StreamArgs {
        format: args.format.clone(),
        normalize: args.normalize.clone(),
        clip: args.clip,
        bias: args.bias,
        seed: args.seed,
        ..StreamArgs::default()
    };
    let given = Given {
        data: &args.data,
        config: args.config.as_deref(),
        learner: None,
        query: None,
        sets: &args.sets,
        tasks: args.tasks.as_deref(),
        features: args.features,
        shards: None,
        mix: None,
        stream: &stream,
    };
    let fitted = REGISTRY.iter().find(|about| about.protocol == Protocol::Batch);
    let usual = fitted.context("no learner is fitted to all examples at once")?.id;
    let config = resolve(&given, json!({ "learner": { usual: {} } }))?;
    if config.learner.about().protocol != Protocol::Batch {
        bail!("`{}` learns from streams (`cognate learn`); `{usual}` is fitted", config.learner.id());
    }
    Ok(config)
}

/// Every combination of the values of a grid laid upon a config; lambdas come last, from large to small, since each fit
/// starts where the one before ended.
pub(crate) fn candidates(config: &RunConfig, grid: &[String]) -> anyhow::Result<Vec<RunConfig>> {
    let mut axes: Vec<(&str, Vec<Value>)> = Vec::new();
    for axis in grid {
        let Some((key, values)) = axis.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            bail!("--grid {axis}: expected KEY=V,V,…, e.g. lambda=0.1,1,10");
        };
        if axes.iter().any(|(known, _)| *known == key) {
            bail!("--grid {axis}: {key} is given twice");
        }
        axes.push((key, grid_values(values)));
    }
    axes.sort_by_key(|(key, _)| *key == "lambda");
    if let Some((_, lambdas)) = axes.last_mut().filter(|(key, _)| *key == "lambda") {
        let size = |value: &Value| value.as_f64().unwrap_or(0.0);
        lambdas.sort_by(|a, b| size(b).total_cmp(&size(a)));
    }
    let learner = config.learner.id();
    let mut trees = vec![json!(config)];
    for (key, values) in &axes {
        let laid = |tree: &Value, value: &Value| -> anyhow::Result<Value> {
            let mut tree = tree.clone();
            let nested = key.rsplit('.').fold(value.clone(), |inner, part| json!({ part: inner }));
            lay(&mut tree, json!({ "learner": { learner: nested } }));
            let checked = serde_json::from_value::<RunConfig>(tree.clone())
                .map_err(|error| nearest_first(&error.to_string()))
                .and_then(|config| config.validate().map_err(|error| error.to_string()));
            checked.map_err(|error| anyhow::anyhow!("--grid {key}={value}: {error}"))?;
            Ok(tree)
        };
        let pairs = trees.iter().flat_map(|tree| values.iter().map(move |value| (tree, value)));
        trees = pairs.map(|(tree, value)| laid(tree, value)).collect::<anyhow::Result<_>>()?;
    }
    trees.into_iter().map(|tree| Ok(serde_json::from_value(tree)?)).collect()
}

/// `0.1,1,10` or `[0.1, 1, 10]` or bare names.
fn grid_values(text: &str) -> Vec<Value> {
    match parse_value(text) {
        Value::Array(values) => values,
        _ => match parse_value(&format!("[{text}]")) {
            Value::Array(values) => values,
            _ => text.split(',').map(|value| parse_value(value.trim())).collect(),
        },
    }
}

/// Base, file, flags, then what is set.
fn resolve(given: &Given<'_>, base: Value) -> anyhow::Result<RunConfig> {
    let mut tree = base;
    if let Some(path) = given.config {
        lay(&mut tree, read_file(path)?);
    }
    lay_stream(&mut tree, given.stream, given.data)?;
    lay(&mut tree, flags(given));
    let learner = match given.learner {
        Some(id) => {
            known_learner(id)?;
            lay(&mut tree, json!({ "learner": { id: {} } }));
            id.to_owned()
        }
        None => chosen_learner(&tree),
    };
    if let Some(name) = given.query {
        serde_json::from_value::<QueryConfig>(json!(name))
            .map_err(|error| anyhow::anyhow!("--query {name}: {}", nearest_first(&error.to_string())))?;
        lay(&mut tree, json!({ "query": { name: {} } }));
    }
    apply_sets(&mut tree, &learner, given.sets)?;
    lay_shards(&mut tree, given)?;
    let mut config: RunConfig = serde_json::from_value(tree)?;
    config.read_files()?;
    Ok(config)
}

/// Lays upon a tree over how many shards tasks are spread, and when those are mixed.
fn lay_shards(tree: &mut Value, given: &Given<'_>) -> anyhow::Result<()> {
    if let Some(count) = given.shards {
        lay(tree, json!({ "shards": { "count": count } }));
    }
    if let Some(mix) = given.mix {
        let value = parse_value(mix);
        serde_json::from_value::<RunConfig>(json!({ "shards": { "mix": value } }))
            .map_err(|error| anyhow::anyhow!("--mix {mix}: {error}"))?;
        lay(tree, json!({ "shards": { "mix": value } }));
    }
    Ok(())
}

/// A config file, checked on its own first so that errors have line and column.
fn read_file(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str::<RunConfig>(&text).map_err(|error| located(path, &text, &error))?;
    let mut tree: Value = toml::from_str(&text).map_err(|error| located(path, &text, &error))?;
    if let Some(name) = not_finite(&tree) {
        bail!("{}: {name}: must be a finite number", path.display());
    }
    // Files that a config names are looked for beside it.
    if let Some(folder) = path.parent() {
        anchor_files(&mut tree, folder);
    }
    Ok(tree)
}

/// Files that parameters name, in a config file or by --set; what is wrong with them is told elsewhere.
pub(crate) fn files_of_config(config: Option<&Path>, sets: &[String]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(tree) = config.and_then(|path| read_file(path).ok()) {
        collect_files(&tree, &mut files);
    }
    for (key, value) in sets.iter().filter_map(|set| set.split_once('=')) {
        let nested = key.rsplit('.').fold(parse_value(value), |inner, part| json!({ part: inner }));
        collect_files(&nested, &mut files);
    }
    files
}

fn collect_files(tree: &Value, files: &mut Vec<PathBuf>) {
    for (key, value) in tree.as_object().into_iter().flatten() {
        match value {
            Value::String(file) if key == "file" => files.push(PathBuf::from(file)),
            other => collect_files(other, files),
        }
    }
}

fn located(path: &Path, text: &str, error: &toml::de::Error) -> anyhow::Error {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = at - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1) + 1;
    anyhow::anyhow!("{}:{line}:{column}: {}", path.display(), nearest_first(error.message()))
}

/// The parameter that is infinite or NaN: JSON turns both into null, which TOML does not have.
fn not_finite(tree: &Value) -> Option<String> {
    let below = |name: String, value: &Value| match value {
        Value::Null => Some(name),
        other => not_finite(other).map(|inner| format!("{name}.{inner}")),
    };
    match tree {
        Value::Object(map) => map.iter().find_map(|(name, value)| below(name.clone(), value)),
        Value::Array(list) => list.iter().enumerate().find_map(|(at, value)| below(at.to_string(), value)),
        _ => None,
    }
}

fn anchor_files(tree: &mut Value, folder: &Path) {
    let Value::Object(map) = tree else { return };
    for (key, value) in map {
        match value {
            Value::String(file) if key == "file" => *file = folder.join(&*file).display().to_string(),
            other => anchor_files(other, folder),
        }
    }
}

/// The stream of a base tree with the flags laid upon it.
pub(crate) fn stream_config(
    args: &StreamArgs,
    data: &[PathBuf],
    base: Value,
) -> anyhow::Result<StreamConfig> {
    let mut tree = base;
    lay_stream(&mut tree, args, data)?;
    let config: RunConfig = serde_json::from_value(tree)?;
    config.validate()?;
    Ok(config.stream)
}

/// Lays the flags of a stream upon a tree.
fn lay_stream(tree: &mut Value, stream: &StreamArgs, data: &[PathBuf]) -> anyhow::Result<()> {
    let flags = json!({ "stream": stream_flags(stream) });
    check_flags(&flags)?;
    lay_format(tree, &stream.format.text, data)?;
    lay_naming(tree, &stream.format)?;
    lay(tree, flags);
    if let Some(text) = &stream.class_weight {
        lay(tree, json!({ "stream": { "class-weight": class_weight(text)? } }));
    }
    Ok(())
}

/// The flags of a stream whose parameters stand by themselves, as a tree.
fn stream_flags(stream: &StreamArgs) -> Map<String, Value> {
    let mut tree = Map::new();
    let mut put = |key: &str, value: Option<Value>| value.map(|value| tree.insert(key.to_owned(), value));
    put("positive", stream.format.positive.as_ref().map(|name| json!(name)));
    put("one-vs-all", stream.format.one_vs_all.then_some(json!(true)));
    put("normalize", stream.normalize.as_ref().map(|normalize| json!(normalize)));
    put("clip", stream.clip.map(|clip| json!(clip)));
    put("bias", stream.bias.map(|bias| json!(bias)));
    put("order", stream.order.as_ref().map(|order| json!(order)));
    put("seed", stream.seed.map(|seed| json!(seed)));
    put("passes", stream.passes.map(|passes| json!(passes)));
    put("simultaneous", stream.simultaneous.then_some(json!(true)));
    tree
}

/// Lays upon a tree how names are hashed.
fn lay_naming(tree: &mut Value, flags: &FormatArgs) -> anyhow::Result<()> {
    if let Some(bits) = flags.bits {
        lay(tree, json!({ "stream": { "naming": { "hashed": { "bits": bits } } } }));
    }
    if flags.no_names {
        if chosen(&tree["stream"]["naming"]) != Some("hashed") {
            bail!("--no-names: names can be forgotten only where they are hashed; add --bits");
        }
        lay(tree, json!({ "stream": { "naming": { "hashed": { "names": false } } } }));
    }
    Ok(())
}

/// The name of a choice that a tree makes, if it makes one.
pub(crate) fn chosen(choice: &Value) -> Option<&str> {
    match choice {
        Value::String(name) => Some(name),
        Value::Object(tagged) => tagged.keys().next().map(String::as_str),
        _ => None,
    }
}

/// The flags that are parameters, as a tree.
fn flags(given: &Given<'_>) -> Value {
    let mut all = json!({});
    if let Some(tasks) = given.tasks {
        all["tasks"] = match tasks.parse::<u32>() {
            Ok(count) => json!(count),
            Err(_) => json!(tasks.split(',').collect::<Vec<_>>()),
        };
    }
    if let Some(features) = given.features {
        all["features"] = json!(features);
    }
    all
}

/// Looks at each flag on its own, so that an error names it.
fn check_flags(flags: &Value) -> anyhow::Result<()> {
    for (name, value) in flags["stream"].as_object().into_iter().flatten() {
        if value.is_null() {
            bail!("--{name}: must be a finite number");
        }
        serde_json::from_value::<RunConfig>(json!({ "stream": { name: value } })).map_err(|error| {
            let given = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            anyhow::anyhow!("--{name} {given}: {}", nearest_first(&error.to_string()))
        })?;
    }
    Ok(())
}

fn known_learner(id: &str) -> anyhow::Result<()> {
    if LearnerConfig::from_id(id).is_none() {
        let names = nearest_names(id, REGISTRY.iter().map(|about| about.id));
        bail!("--learner: unknown learner {id:?}; known: {}", names.join(", "));
    }
    Ok(())
}

/// The learner that a tree names, or the default one.
fn chosen_learner(tree: &Value) -> String {
    chosen(&tree["learner"]).unwrap_or(LearnerConfig::default().id()).to_owned()
}

/// Puts each `--set KEY=VALUE` below the learner, or the query; an error names the one at fault.
fn apply_sets(tree: &mut Value, learner: &str, sets: &[String]) -> anyhow::Result<()> {
    for set in sets {
        let Some((key, value)) = set.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            bail!("--set {set}: expected KEY=VALUE, e.g. interaction.coupled.b=4");
        };
        lay_set(tree, learner, (key, value), set)?;
    }
    Ok(())
}

/// Puts a value below the learner, or the query; an error names the whole setting, as it was written.
pub(crate) fn lay_set(
    tree: &mut Value,
    learner: &str,
    (key, value): (&str, &str),
    set: &str,
) -> anyhow::Result<()> {
    let value = parse_value(value);
    if value.is_null() || not_finite(&value).is_some() {
        bail!("--set {set}: must be a finite number");
    }
    let nested = key.rsplit('.').fold(value, |inner, part| json!({ part: inner }));
    let of_query = key == "query" || key.starts_with("query.");
    lay(tree, if of_query { nested } else { json!({ "learner": { learner: nested } }) });
    serde_json::from_value::<RunConfig>(tree.clone())
        .map_err(|error| anyhow::anyhow!("--set {set}: {}", nearest_first(&error.to_string())))?;
    Ok(())
}

/// A TOML value, with numbers like `.1` and `2.` as well; anything else is text.
pub(crate) fn parse_value(text: &str) -> Value {
    let parsed = |text: &str| toml::from_str::<Value>(&format!("value = {text}")).ok();
    parsed(text)
        .or_else(|| parsed(&with_zeros(text)))
        .and_then(|mut table| table.get_mut("value").map(Value::take))
        .unwrap_or_else(|| json!(text))
}

/// With a 0 wherever a point has a digit on one side only, outside of quotes: TOML wants digits on both.
fn with_zeros(text: &str) -> String {
    let (mut filled, mut quote, mut before) = (String::new(), None, ' ');
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match quote {
            None if c == '"' || c == '\'' => quote = Some(c),
            Some(open) if c == open => quote = None,
            _ => {}
        }
        let is_point = c == '.' && quote.is_none();
        let after = rest.peek().copied().unwrap_or(' ');
        let (left, right) = (before.is_ascii_digit(), after.is_ascii_digit());
        if is_point && right && !left {
            filled.push('0');
        }
        filled.push(c);
        if is_point && left && !right {
            filled.push('0');
        }
        before = c;
    }
    filled
}

/// Two configs, each with nothing left but what is different in them; of other choices, their names.
pub(crate) fn differences(one: &Value, other: &Value) -> (Value, Value) {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        return (one.clone(), other.clone());
    };
    let only = |map: &Map<String, Value>| map.keys().next().filter(|_| map.len() == 1).cloned();
    if let (Some(one), Some(other)) = (only(one), only(other))
        && one != other
    {
        return (json!(one), json!(other));
    }
    let (mut left, mut right) = (Map::new(), Map::new());
    for name in one.keys().chain(other.keys().filter(|name| !one.contains_key(*name))) {
        let of = |map: &Map<String, Value>| map.get(name).cloned().unwrap_or_default();
        let (of_one, of_other) = (of(one), of(other));
        if of_one != of_other {
            let (of_one, of_other) = differences(&of_one, &of_other);
            left.insert(name.clone(), of_one);
            right.insert(name.clone(), of_other);
        }
    }
    (left.into(), right.into())
}

/// Lays one config upon another.
pub(crate) fn lay(under: &mut Value, over: Value) {
    merge(under, over, Place::config());
}

/// Lays `over` upon `under`: tables are merged; where the schema has a choice another one replaces, and the same one is
/// added to; anything else replaces.
fn merge(under: &mut Value, over: Value, place: Place) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            if place.is_choice() && over.keys().any(|name| !under.contains_key(name)) {
                under.clear();
            }
            for (name, value) in over {
                let below = place.below(&name);
                merge(under.entry(name).or_insert(Value::Null), value, below);
            }
        }
        (under, over) => *under = over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_choice_replaces_and_the_same_one_is_added_to() {
        let mut tree = json!({ "learner": { "perceptron": { "interaction": { "coupled": { "b": 4 } } } } });
        apply_sets(&mut tree, "perceptron", &["interaction.coupled.b=2.5".to_owned()]).unwrap();
        assert_eq!(tree["learner"]["perceptron"]["interaction"], json!({ "coupled": { "b": 2.5 } }));
        apply_sets(&mut tree, "perceptron", &["interaction=pairwise".to_owned()]).unwrap();
        assert_eq!(tree["learner"]["perceptron"]["interaction"], json!("pairwise"));
        apply_sets(&mut tree, "perceptron", &["interaction.graph.edges=[[\"a\",\"b\"]]".to_owned()]).unwrap();
        let error = apply_sets(&mut tree, "perceptron", &["interaction.coupled.c=1".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "--set interaction.coupled.c=1: unknown field `c`, expected `b`");
    }

    #[test]
    fn differences_are_all_that_is_told_of_two_configs() {
        let learner = |b: u32| json!({ "perceptron": { "interaction": { "coupled": { "b": b, "c": 1 } } } });
        let one = json!({ "learner": learner(3), "seed": 1, "clip": 2 });
        let other = json!({ "learner": learner(4), "seed": 1, "positive": "ham" });
        let (left, right) = differences(&one, &other);
        let b = |b: u32| json!({ "perceptron": { "interaction": { "coupled": { "b": b } } } });
        assert_eq!(left, json!({ "learner": b(3), "clip": 2, "positive": null }));
        assert_eq!(right, json!({ "learner": b(4), "clip": null, "positive": "ham" }));
        let other = json!({ "learner": { "adaptive": { "forget": 7 } }, "seed": 1, "clip": 2 });
        let names = (json!({ "learner": "perceptron" }), json!({ "learner": "adaptive" }));
        assert_eq!(differences(&one, &other), names);
    }

    #[test]
    fn a_key_of_the_query_goes_to_the_query() {
        let mut tree = json!({ "query": "margin" });
        apply_sets(&mut tree, "perceptron", &["query.margin.b=2.5".to_owned()]).unwrap();
        assert_eq!(tree, json!({ "query": { "margin": { "b": 2.5 } } }));
        apply_sets(&mut tree, "perceptron", &["query.relation.scale=2".to_owned()]).unwrap();
        assert_eq!(tree, json!({ "query": { "relation": { "scale": 2 } } }));
        apply_sets(&mut tree, "perceptron", &["query=all".to_owned()]).unwrap();
        assert_eq!(tree, json!({ "query": "all" }));
        let error = apply_sets(&mut tree, "perceptron", &["query.margin.c=1".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "--set query.margin.c=1: unknown field `c`, expected `b`");
    }

    #[test]
    fn numbers_may_begin_or_end_with_their_point() {
        for (text, value) in [
            (".1", json!(0.1)),
            ("-.5", json!(-0.5)),
            ("+.5e-3", json!(0.5e-3)),
            ("2.", json!(2.0)),
            ("[.1, 1., 10]", json!([0.1, 1.0, 10])),
            ("{b=.3}", json!({ "b": 0.3 })),
            (r#"[[".a", "b."], [".1"]"#, json!(r#"[[".a", "b."], [".1"]"#)),
            (r#"[".1"]"#, json!([".1"])),
            (".edges", json!(".edges")),
            ("a.1", json!("a.1")),
            ("1.2.3", json!("1.2.3")),
            ("7d", json!("7d")),
        ] {
            assert_eq!(parse_value(text), value, "{text}");
        }
        let mut tree = json!({});
        apply_sets(&mut tree, "perceptron", &["query.uncertainty.b=.1".to_owned()]).unwrap();
        assert_eq!(tree, json!({ "query": { "uncertainty": { "b": 0.1 } } }));
    }

    /// Every place of the schema that is a choice, with the names on the way to it.
    fn collect_choices(
        place: Place,
        path: &mut Vec<&'static str>,
        found: &mut Vec<(Vec<&'static str>, Place)>,
    ) {
        if place.is_choice() {
            found.push((path.clone(), place));
        }
        let choices = place.choices().map(|choice| (choice.name, choice.parameters));
        for (name, below) in choices.chain(place.parameters()) {
            path.push(name);
            collect_choices(below, path, found);
            path.pop();
        }
    }

    #[test]
    fn every_choice_of_the_schema_replaces_another_and_is_added_to() {
        let mut found = Vec::new();
        collect_choices(Place::config(), &mut Vec::new(), &mut found);
        let names: std::collections::BTreeSet<&str> =
            found.iter().map(|(path, _)| *path.last().unwrap()).collect();
        for known in ["learner", "query", "interaction", "kernel", "graph", "penalty"] {
            assert!(names.contains(known), "{known} is a choice; found {names:?}");
        }
        for (path, place) in found {
            let at = |value: Value| path.iter().rev().fold(value, |inner, name| json!({ *name: inner }));
            let mut names = place.choices().map(|choice| choice.name);
            let (one, other) = (names.next().unwrap(), names.next().unwrap());
            let mut tree = at(json!({ one: { "first": 1 } }));
            lay(&mut tree, at(json!({ one: { "second": 2 } })));
            assert_eq!(tree, at(json!({ one: { "first": 1, "second": 2 } })), "{path:?}: the same choice");
            lay(&mut tree, at(json!({ other: {} })));
            assert_eq!(tree, at(json!({ other: {} })), "{path:?}: another choice");
        }
    }
}
