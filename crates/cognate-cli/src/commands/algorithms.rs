//! `cognate algorithms`: every learner, its parameters, defaults, cost and paper.

use anyhow::bail;
use cognate::algorithms::{About, Protocol};
use cognate::{LearnerConfig, REGISTRY, nearest_names};
use serde_json::{Value, json};

use crate::args::AlgorithmsArgs;
use crate::output::{self, table};

/// Runs the command.
pub(crate) fn run(args: &AlgorithmsArgs) -> anyhow::Result<()> {
    let chosen: Vec<&About> = match &args.id {
        None => REGISTRY.iter().collect(),
        Some(id) => REGISTRY.iter().filter(|about| about.id == id).collect(),
    };
    if let (Some(id), []) = (&args.id, &chosen[..]) {
        let names = nearest_names(id, REGISTRY.iter().map(|about| about.id));
        bail!("no learner is called {id:?}; known: {}", names.join(", "));
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
            let legend = "s non-zeros, K tasks, d features, m mistakes; `cognate algorithms ID` explains one and its parameters";
            output::print(&format!("{}\n\n{legend}", table.trim_fmt()))
        }
    }
}

fn as_json(about: &About) -> Value {
    json!({
        "id": about.id,
        "title": about.title,
        "paper": about.paper,
        "rounds": rounds(about.protocol),
        "most_tasks": about.most_tasks,
        "cost": { "predict": about.predict_cost, "update": about.update_cost, "memory": about.memory },
        "defaults": LearnerConfig::from_id(about.id),
        "parameters": parameters(about.id),
    })
}

/// Name, meaning, default and choices of each parameter, from the schema.
fn parameters(id: &str) -> Vec<Value> {
    let schema = cognate::config::schema();
    let choices = variants(&schema, &schema["properties"]["learner"]);
    let Some((_, _, config)) = choices.into_iter().find(|(name, ..)| name == id) else {
        return Vec::new();
    };
    let defaults = json!(LearnerConfig::from_id(id));
    let properties = config["properties"].as_object().cloned().unwrap_or_default();
    properties
        .iter()
        .map(|(name, property)| {
            let choices: Vec<Value> = variants(&schema, property)
                .into_iter()
                .map(|(choice, meaning, fields)| {
                    let fields = fields["properties"].as_object().cloned().unwrap_or_default();
                    let fields: Vec<Value> = fields.iter().map(|(field, property)| {
                json!({ "name": field, "meaning": property["description"], "default": property["default"] })
            }).collect();
                    json!({ "name": choice, "meaning": meaning, "parameters": fields })
                })
                .collect();
            json!({
                "name": name,
                "meaning": property["description"],
                "default": defaults[id][name],
                "choices": choices,
            })
        })
        .collect()
}

/// Follows a reference, if it is one.
fn resolved<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let path = node["$ref"].as_str().or(node["allOf"][0]["$ref"].as_str());
    path.and_then(|path| schema.pointer(path.trim_start_matches('#'))).unwrap_or(node)
}

/// The variants of a choice, tagged or plain names: name, meaning, schema of the parameters.
fn variants<'a>(schema: &'a Value, node: &'a Value) -> Vec<(String, String, &'a Value)> {
    let all = resolved(schema, node)["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let tagged = all.iter().filter_map(|variant| {
        let name = variant["required"][0].as_str().or(variant["const"].as_str())?;
        let meaning = variant["description"].as_str().unwrap_or_default();
        Some((name.to_owned(), meaning.to_owned(), resolved(schema, &variant["properties"][name])))
    });
    tagged.collect()
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

fn explained(about: &About) -> String {
    let mut text = format!(
        "{}: {}\n\npaper    {}\nrounds   {}\npredict  {}\nupdate   {}\nmemory   {}\n\nparameters\n",
        about.id,
        about.title,
        about.paper,
        rounds(about.protocol),
        about.predict_cost,
        about.update_cost,
        about.memory,
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
