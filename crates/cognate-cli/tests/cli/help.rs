//! What the program says about itself.

use insta::assert_snapshot;

use super::support::{Folder, redacted};

fn output(line: &str) -> String {
    redacted(&Folder::new().output(line))
}

#[test]
fn help_of_the_program() {
    assert_snapshot!("help", output("--help"));
}

#[test]
fn help_of_every_command() {
    for command in [
        "learn",
        "compare",
        "fit",
        "predict",
        "inspect",
        "forget",
        "export",
        "relations",
        "bound",
        "algorithms",
        "lab",
        "demo",
        "serve",
        "recover",
        "token",
    ] {
        assert_snapshot!(format!("help_{command}"), output(&format!("{command} --help")));
    }
}

#[test]
fn every_command_is_in_the_help_and_has_a_snapshot() {
    let help = output("--help");
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        names,
        [
            "learn",
            "compare",
            "fit",
            "predict",
            "inspect",
            "forget",
            "export",
            "relations",
            "bound",
            "algorithms",
            "lab",
            "demo",
            "serve",
            "recover",
            "token",
            "help"
        ]
    );
}

#[test]
fn the_version_is_that_of_the_package() {
    let expected = format!("cognate {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(output("--version"), expected);
    assert_eq!(output("-V"), expected);
}

#[test]
fn the_learners() {
    assert_snapshot!("algorithms", output("algorithms"));
    assert_snapshot!("algorithms_perceptron", output("algorithms perceptron"));
    assert_snapshot!("algorithms_adaptive", output("algorithms adaptive"));
}

#[test]
fn the_learners_as_json() {
    let listed: serde_json::Value = serde_json::from_str(&output("algorithms --json")).unwrap();
    assert_eq!((&listed[0]["id"], &listed[1]["id"]), (&"adaptive".into(), &"perceptron".into()));
    let defaults = serde_json::json!({ "perceptron": { "interaction": { "coupled": { "b": 1.0 } } } });
    assert_eq!(listed[1]["defaults"], defaults);
    let choices = listed[1]["parameters"][0]["choices"].as_array().unwrap();
    let names: Vec<&str> = choices.iter().map(|choice| choice["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["independent", "pooled", "pairwise", "coupled", "graph", "matrix"]);
    let facts = ["protocol", "cost_class", "keeps_examples", "probabilities", "shardable"];
    let told = serde_json::json!(facts.map(|fact| &listed[1][fact]));
    assert_eq!(told, serde_json::json!(["one-task", "per-feature", false, false, true]));
    let theorems = serde_json::json!(["Theorem 1", "Corollary 3", "Corollary 4", "Corollary 5"]);
    assert_eq!(listed[1]["theorems"], theorems);
    let one: serde_json::Value = serde_json::from_str(&output("algorithms perceptron --json")).unwrap();
    assert_eq!(one[0], listed[1]);
}

#[test]
fn nothing_to_do_is_bad_usage() {
    let ran = Folder::new().run("");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stdout.is_empty() && ran.stderr.contains("Usage: cognate"), "{}", ran.stderr);
}
