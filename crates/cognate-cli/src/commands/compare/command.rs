//! The command that learns with the winner, as it can be pasted into a shell.

use std::ffi::OsString;
use std::path::Path;

use clap::{ArgAction, ArgMatches, Command, CommandFactory};
use cognate::LearnerConfig;
use cognate::stream::Order;
use serde_json::{Value, json};

use crate::args::Arguments;
use crate::reporting::shell_word;
use crate::settings::parse_value;

/// Flags of both commands that say something else, or nothing that a single run needs.
const OWN: [&str; 8] = ["learners", "runs", "metric", "set", "report", "json", "threads", "help"];

/// `cognate learn` with this learner, the data and all flags of the stream as the process was given them.
pub(super) fn learn_command(learner: &Value, order: Order) -> String {
    let taken = |path: &str| Path::new(path).exists();
    command_of(std::env::args_os().collect(), learner, order, &taken)
}

fn command_of(words: Vec<OsString>, learner: &Value, order: Order, taken: &dyn Fn(&str) -> bool) -> String {
    let program = Arguments::command();
    let mut line: Vec<String> = vec!["cognate".to_owned(), "learn".to_owned()];
    // What was parsed once can be parsed again.
    let matches = program.clone().try_get_matches_from(words).ok();
    if let Some(given) = matches.as_ref().and_then(|matches| matches.subcommand_matches("compare")) {
        line.extend(
            given.get_raw("data").into_iter().flatten().map(|path| data_word(&path.to_string_lossy())),
        );
        line.extend(flags(&program, given));
        // What was compared unless another order was asked for.
        let is_given = given.value_source("order") == Some(clap::parser::ValueSource::CommandLine);
        if !is_given && order == Order::Shuffle {
            line.extend(["--order".to_owned(), "shuffle".to_owned()]);
        }
    }
    line.extend(learner_flags(learner));
    let model = (1..).map(|at| if at == 1 { "m.cog".to_owned() } else { format!("m{at}.cog") });
    let model = model.into_iter().find(|path| !taken(path)).unwrap_or_default();
    line.extend(["--model".to_owned(), model]);
    line.join(" ")
}

/// A file as an argument: one whose name begins like a flag is named by its folder, too.
fn data_word(path: &str) -> String {
    let is_like_a_flag = path.len() > 1 && path.starts_with('-');
    shell_word(&if is_like_a_flag { format!("./{path}") } else { path.to_owned() })
}

/// The flags that were given and that `learn` has, too.
fn flags(program: &Command, given: &ArgMatches) -> Vec<String> {
    let (Some(compare), Some(learn)) = (program.find_subcommand("compare"), program.find_subcommand("learn"))
    else {
        return Vec::new();
    };
    let mut line = Vec::new();
    for argument in compare.get_arguments() {
        let (id, Some(long)) = (argument.get_id().as_str(), argument.get_long()) else { continue };
        let is_given = given.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
        if !is_given
            || OWN.contains(&long)
            || !learn.get_arguments().any(|other| other.get_long() == Some(long))
        {
            continue;
        }
        let values: Vec<String> = given
            .get_raw(id)
            .into_iter()
            .flatten()
            .map(|value| value.to_string_lossy().into_owned())
            .collect();
        let values = match (argument.get_action(), argument.get_value_delimiter()) {
            (ArgAction::SetTrue, _) => {
                line.push(format!("--{long}"));
                continue;
            }
            (_, Some(delimiter)) => vec![values.join(&delimiter.to_string())],
            _ => values,
        };
        for value in values {
            if argument.is_require_equals_set() || value.starts_with('-') {
                line.push(shell_word(&format!("--{long}={value}")));
            } else {
                line.extend([format!("--{long}"), shell_word(&value)]);
            }
        }
    }
    // What is set of a learner is set of the one that is chosen; what is set of the query holds for all.
    let sets = given.get_raw("sets").into_iter().flatten().map(|set| set.to_string_lossy());
    for set in sets.filter(|set| set.starts_with("query.")) {
        line.extend(["--set".to_owned(), shell_word(&set)]);
    }
    line
}

/// `--learner ID --set KEY=VALUE …`.
fn learner_flags(learner: &Value) -> Vec<String> {
    let id = learner.as_object().and_then(|tree| tree.keys().next()).map_or("", String::as_str);
    let mut line = vec!["--learner".to_owned(), id.to_owned()];
    for setting in parameters(learner) {
        line.extend(["--set".to_owned(), shell_word(&setting)]);
    }
    line
}

/// The parameters of a learner that differ from its defaults, as `--set` takes them.
pub(super) fn parameters(learner: &Value) -> Vec<String> {
    let Some((id, given)) = learner.as_object().and_then(|tree| tree.iter().next()) else {
        return Vec::new();
    };
    let defaults = LearnerConfig::from_id(id).map(|config| json!(config)[id].take()).unwrap_or_default();
    let resolved = serde_json::from_value::<LearnerConfig>(learner.clone());
    let resolved = resolved.map(|config| json!(config)[id].take()).unwrap_or_default();
    let mut settings = Vec::new();
    for (name, value) in given.as_object().into_iter().flatten() {
        if resolved[name] != defaults[name] {
            flatten(name, value, &mut settings);
        }
    }
    settings
}

fn flatten(path: &str, value: &Value, settings: &mut Vec<String>) {
    match value {
        Value::Object(tree) if tree.is_empty() => {
            // A choice without parameters.
            if let Some((path, name)) = path.rsplit_once('.') {
                settings.push(format!("{path}={name}"));
            }
        }
        Value::Object(tree) => {
            tree.iter().for_each(|(key, value)| flatten(&format!("{path}.{key}"), value, settings));
        }
        // A text that would be read as something else is quoted.
        Value::String(text) if parse_value(text) != *value => settings.push(format!("{path}={value}")),
        Value::String(text) => settings.push(format!("{path}={text}")),
        Value::Null => {}
        other => settings.push(format!("{path}={other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &[&str], learner: &Value) -> String {
        let words = ["cognate", "compare"].iter().chain(line).map(Into::into).collect();
        command_of(words, learner, Order::Shuffle, &|path| path == "m.cog")
    }

    #[test]
    fn data_and_flags_of_the_stream_are_kept_and_quoted() {
        let line = [
            "my mail.csv",
            "b.csv",
            "--format",
            "csv",
            "--task-column",
            "user's",
            "--categorical",
            "a,b c",
            "--bias",
            "--normalize=l2",
            "--json",
            "--metric",
            "auc",
            "--runs",
            "3",
            "--learners",
            "adaptive",
            "--simultaneous",
            "--set",
            "adaptive.groups=4",
            "--set",
            "query.margin.b=2",
            "--threads",
            "2",
            "--quiet",
            "--seed",
            "7",
        ];
        assert_eq!(
            command(&line, &json!({ "adaptive": { "groups": 4, "rate": 1.0 } })),
            "cognate learn 'my mail.csv' b.csv --format csv --task-column 'user'\\''s' --categorical 'a,b c' \
             --normalize l2 --bias=1 --seed 7 --simultaneous --set query.margin.b=2 --order shuffle \
             --learner adaptive --set groups=4 --model m2.cog"
        );
        assert_eq!(
            command(&["--order", "file", "--", "-odd.svm", "-"], &json!({ "adaptive": {} })),
            "cognate learn ./-odd.svm - --order file --learner adaptive --model m2.cog"
        );
    }

    #[test]
    fn parameters_are_those_that_are_no_defaults() {
        let of = |learner: Value| parameters(&learner).join(" ");
        assert_eq!(
            of(json!({ "adaptive": { "groups": "auto", "interaction": "independent" } })),
            "interaction=independent"
        );
        assert_eq!(of(json!({ "adaptive": { "interaction": { "pooled": {} } } })), "interaction=pooled");
        assert_eq!(
            of(json!({ "perceptron": { "interaction": { "coupled": { "b": "auto" } } } })),
            "interaction.coupled.b=auto"
        );
        assert_eq!(of(json!({ "perceptron": { "interaction": { "coupled": { "b": 1 } } } })), "");
        assert_eq!(
            of(json!({ "relation-perceptron": { "priming": "12", "relation": "scale-free" } })),
            "priming=\"12\" relation=scale-free"
        );
    }
}
