//! `cognate algorithms`: every learner, its parameters, defaults, cost and paper.

use anyhow::bail;
use cognate::algorithms::{About, Protocol};
use cognate::internal::nearest_names;
use cognate::{LearnerConfig, REGISTRY};
use serde_json::{Value, json};

use crate::args::AlgorithmsArgs;
use crate::output::{self, table};
use crate::schema::{Choice, Place};

/// Runs the command.
pub(crate) fn run(args: &AlgorithmsArgs) -> anyhow::Result<()> {
    let chosen: Vec<&About> = match &args.id {
        None => REGISTRY.iter().collect(),
        Some(id) => REGISTRY.iter().filter(|about| about.id == id).collect(),
    };
    if let (Some(id), []) = (&args.id, &chosen[..]) {
        let names = nearest_names(id, REGISTRY.iter().map(|about| about.id));
        bail!("unknown learner {id:?}; known: {}", names.join(", "));
    }
    if args.json {
        return output::print_json(&chosen.iter().map(|about| as_json(about)).collect::<Vec<_>>());
    }
    match (&args.id, &chosen[..]) {
        (Some(_), [about]) => output::print(&explained(about)),
        _ => {
            let rows = chosen.iter().map(|about| {
                let words =
                    [about.id, about.title, about.paper, about.predict_cost, about.update_cost, about.memory];
                words.map(str::to_owned).to_vec()
            });
            let table = table(&["id", "what", "paper", "predict", "update", "memory"], rows).all_left();
            let weighing: Vec<&str> =
                REGISTRY.iter().filter(|about| about.weights).map(|about| about.id).collect();
            let weighing = format!("examples may have weights with {}", weighing.join(", "));
            let legend = "s non-zeros, K tasks, d features, m mistakes; `cognate algorithms ID` explains one and its parameters";
            output::print(&format!("{}\n\n{weighing}\n{legend}", table.trim_fmt()))
        }
    }
}

fn as_json(about: &About) -> Value {
    json!({
        "id": about.id,
        "title": about.title,
        "paper": about.paper,
        "protocol": about.protocol,
        "rounds": rounds(about.protocol),
        "most_tasks": about.most_tasks,
        "cost": { "predict": about.predict_cost, "update": about.update_cost, "memory": about.memory },
        "cost_class": about.cost_class,
        "keeps_examples": about.keeps_examples,
        "probabilities": about.probabilities,
        "weights": about.weights,
        "offsets": about.offsets,
        "shardable": about.shardable,
        "theorems": about.theorems,
        "defaults": LearnerConfig::from_id(about.id),
        "parameters": parameters(about.id),
    })
}

/// Name, meaning, default and choices of each parameter, from the schema.
fn parameters(id: &str) -> Vec<Value> {
    let defaults = json!(LearnerConfig::from_id(id));
    let field = |(name, place): (&str, Place)| json!({ "name": name, "meaning": place.meaning(), "default": place.default() });
    let choice = |choice: Choice| {
        let fields: Vec<Value> = choice.parameters.parameters().map(field).collect();
        json!({ "name": choice.name, "meaning": choice.meaning, "parameters": fields })
    };
    let parameter = |(name, place): (&str, Place)| {
        json!({
            "name": name,
            "meaning": place.meaning(),
            "default": defaults[id][name],
            "choices": place.choices().map(choice).collect::<Vec<_>>(),
        })
    };
    Place::config().below("learner").below(id).parameters().map(parameter).collect()
}

/// What a round of the learner is.
fn rounds(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::OneTask => "one task; on simultaneous streams all margins, then updates in task order",
        Protocol::AllTasks => "all tasks (--simultaneous); on other streams a round has one example",
        Protocol::Batch => "none: all examples at once (`cognate fit`)",
        _ => "",
    }
}

/// What it takes beside features and labels.
fn takes(about: &About) -> String {
    let what = [("weights", about.weights), ("offsets", about.offsets)];
    let taken: Vec<&str> = what.into_iter().filter_map(|(name, takes)| takes.then_some(name)).collect();
    if taken.is_empty() { "neither weights nor offsets".to_owned() } else { taken.join(", ") }
}

/// The theorems that bound its mistakes.
fn bounds(about: &About) -> String {
    if about.theorems.is_empty() {
        return "none known".to_owned();
    }
    let names: Vec<&str> = about.theorems.iter().map(|theorem| theorem.name()).collect();
    format!("{} (`cognate bound`)", names.join(", "))
}

fn explained(about: &About) -> String {
    let mut text = format!(
        "{}: {}\n\npaper    {}\nrounds   {}\npredict  {}\nupdate   {}\nmemory   {}\ntakes    {}\nbounds   {}\n\nparameters\n",
        about.id,
        about.title,
        about.paper,
        rounds(about.protocol),
        about.predict_cost,
        about.update_cost,
        about.memory,
        takes(about),
        bounds(about),
    );
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for parameter in parameters(about.id) {
        let default = match &parameter["default"] {
            Value::Null => "left out by default".to_owned(),
            default => format!("default {default}"),
        };
        text +=
            &format!("  {} ({default})\n      {}\n", word(&parameter["name"]), word(&parameter["meaning"]));
        for choice in parameter["choices"].as_array().into_iter().flatten() {
            text += &format!("      {:<13} {}\n", word(&choice["name"]), word(&choice["meaning"]));
            for field in choice["parameters"].as_array().into_iter().flatten() {
                let default = if field["default"].is_null() {
                    String::new()
                } else {
                    format!(" (default {})", field["default"])
                };
                text += &format!(
                    "      {:<13}   {}: {}{default}\n",
                    "",
                    word(&field["name"]),
                    word(&field["meaning"])
                );
            }
        }
    }
    let example = match about.protocol {
        Protocol::Batch => "cognate fit DATA --cross-validate 5 --model m.cog".to_owned(),
        _ => format!("cognate learn DATA --learner {} --model m.cog", about.id),
    };
    text + &format!("\nexample\n  {example}")
}
