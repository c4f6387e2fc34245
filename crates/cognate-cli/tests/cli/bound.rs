//! `cognate bound`: mistakes beside the number that the theorems allow.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::support::{Folder, number, redacted, related};

/// A folder with a stream of three tasks and a model learnt from it.
fn folder(flags: &str) -> Folder {
    let folder = Folder::with("a.svm", related(3, 400));
    folder.output(&format!(
        "learn a.svm --learner perceptron --quiet --normalize l2 --overwrite --model m.cog {flags}"
    ));
    folder
}

fn certificates(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.output(&format!("bound {line} --model m.cog --json")))
        .expect("one JSON value")
}

#[test]
fn the_table() {
    let folder = folder("--tasks 3 --set interaction.coupled.b=2");
    assert_snapshot!("bound", redacted(&folder.output("bound a.svm --model m.cog")));
    assert_snapshot!("bound_met_on_the_way", {
        let folder = self::folder("--set interaction=pairwise");
        redacted(&folder.output("bound a.svm --model m.cog"))
    });
}

#[test]
fn the_table_as_json() {
    let folder = folder("--tasks 3 --set interaction.coupled.b=2");
    let found = certificates(&folder, "a.svm");
    let summary =
        folder.summary("--learner perceptron a.svm --normalize l2 --tasks 3 --set interaction.coupled.b=2");
    assert_eq!((&found["examples"], &found["mistakes"]), (&summary["examples"], &summary["mistakes"]));
    assert_eq!(found["comparator"], "hindsight");
    let names: Vec<&str> =
        found["certificates"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Theorem 1", "Corollary 4"]);
    let one = &found["certificates"][0];
    assert_eq!((&one["holds"], &one["counted"]), (&json!(true), &json!("mistakes")));
    let (l, d) = (number(one, "/loss"), number(one, "/complexity"));
    assert!((number(one, "/bound") - (l + d + (l * d).sqrt())).abs() < 1e-9);
    assert!(number(one, "/found") <= number(one, "/bound"));
    // Not vacuous: the bound known in advance is below the number of examples.
    assert!(number(one, "/in_advance") < 400.0, "{one}");
    assert!(number(&found, "/best_coupling/b") > 0.0);
}

#[test]
fn graphs_and_passes_and_shuffles() {
    let flags = "--order shuffle --seed 7 --passes 2";
    let folder = folder(&format!("{flags} --set interaction.graph.edges=[[\"1\",\"2\"],[\"2\",\"3\"]]"));
    let found = certificates(&folder, &format!("a.svm {flags}"));
    assert_eq!(found["examples"], 800);
    assert_eq!(found["certificates"].as_array().unwrap().last().unwrap()["name"], "Corollary 5");
    folder.refused("bound a.svm --model m.cog", &["mistakes on 800 examples, this stream gives", "on 400: "]);
}

#[test]
fn simultaneous_rounds() {
    let text: Vec<_> = related(3, 399).lines().map(str::to_owned).collect();
    let folder = Folder::with("a.svm", text.join("\n"));
    folder.output(
        "learn --learner perceptron a.svm --quiet --simultaneous --set interaction=pairwise --model m.cog",
    );
    let found = certificates(&folder, "a.svm");
    let rows = found["certificates"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["holds"] == true), "{found}");
    assert_eq!(found["best_coupling"], Value::Null);
}

#[test]
fn another_stream_is_refused() {
    let folder = folder("");
    let other: String = related(3, 500).lines().skip(100).map(|line| format!("{line}\n")).collect();
    folder.write("b.svm", other);
    let ran = folder.refused("bound b.svm --model m.cog", &["it is not the stream it was learnt from"]);
    assert!(ran.stderr.starts_with("error: the model counts "), "{}", ran.stderr);
    let flags = "bound a.svm --model m.cog --normalize none";
    folder.refused(flags, &["the model was learnt with {", "\"normalize\":\"l2\"", "leave them out"]);
    folder.refused("bound a.svm --model m.cog --order up", &["error: --order up: "]);
    folder.refused("bound a.svm b.svm --model m.cog", &["on 800: "]);
}

#[test]
fn a_models_own_weights_are_a_comparator() {
    let folder = folder("--bias --tasks 3");
    folder.write("u.csv", folder.output("inspect m.cog --weights"));
    let given = certificates(&folder, "a.svm --comparator u.csv");
    assert_eq!(given["comparator"], "u.csv");
    assert_eq!(given["certificates"][0]["holds"], true);
    // The comparator found in hindsight promises fewer mistakes than the learner's last weights.
    let found = certificates(&folder, "a.svm");
    let advance = |value: &Value| number(value, "/certificates/0/in_advance");
    assert!(advance(&found) < advance(&given));
    // u = (2, 0, …) for every task, and with the constant feature: u'Au = sum of squares for equal tasks.
    folder.write("u.csv", "1,1,2\n2,1,2\n3,1,2\n1,bias,1\n2,bias,1\n3,bias,1\n");
    let given = certificates(&folder, "a.svm --comparator u.csv");
    let parts = given["certificates"][0]["parts"].as_array().unwrap();
    let quadratic = parts.iter().find(|part| part["name"] == "u'Au").unwrap();
    assert!((number(quadratic, "/value") - 15.0).abs() < 1e-9, "{quadratic}");
    // A task whose name has commas and quotes.
    folder.write("b.svm", "+1 task:a,\"b 1:1\n-1 task:a,\"b 1:-1\n");
    folder.output("learn --learner perceptron b.svm --quiet --overwrite --model m.cog");
    folder.write("u.csv", folder.output("inspect m.cog --weights"));
    assert!(folder.text("u.csv").contains("\"a,\"\"b\",1,"), "{}", folder.text("u.csv"));
    assert_eq!(certificates(&folder, "b.svm --comparator u.csv")["certificates"][0]["loss"], 0.0);
}

/// MB12's Theorem 1 is for comparators that move, too.
#[test]
fn vectors_may_move_where_the_theorem_lets_them() {
    let folder = Folder::with("a.svm", related(3, 400));
    let learn = "learn a.svm --quiet --normalize l2 --tasks 3 --model m.cog --overwrite";
    folder.output(&format!("{learn} --learner budget-random --set budget=200"));
    folder.write("u.csv", "from,task,feature,value\n1,1,1,0.2\n1,2,1,0.2\n201,1,1,0.2\n201,2,1,0.1\n");
    let found = certificates(&folder, "a.svm --comparator u.csv");
    let parts = found["certificates"][0]["parts"].as_array().unwrap();
    // (u - u')'A (u - u'), with A = I + L of the complete graph: 3 * 0.01.
    let shift = parts.iter().find(|part| part["name"] == "S").unwrap();
    assert!((number(shift, "/value") - 0.03_f64.sqrt()).abs() < 1e-9, "{shift}");
    for (content, message) in [
        (
            "from,task,feature,value\n5,1,1,2\n4,1,1,2\n",
            "u.csv:3: from \"4\"; expected the number of an example, 5 or more",
        ),
        (
            "from,task,feature,value\n0,1,1,2\n",
            "u.csv:2: from \"0\"; expected the number of an example, 1 or more",
        ),
        ("from,task,feature,value\n", "u.csv:1: no vector"),
    ] {
        folder.write("u.csv", content);
        folder.refused("bound a.svm --model m.cog --comparator u.csv", &[&format!("error: {message}")]);
    }
    folder.output(&format!("{learn} --learner perceptron"));
    folder.write("u.csv", "from,task,feature,value\n1,1,1,0.2\n9,1,1,0.1\n");
    folder.refused("bound a.svm --model m.cog --comparator u.csv", &["is for vectors that do not move"]);
}

#[test]
fn a_bad_comparator_is_refused_with_its_line() {
    let folder = folder("");
    for (content, message) in [
        ("task,feature,value\n1,1,2\n9,1,2\n", "u.csv:3: no task is called \"9\"; nearest: "),
        ("1,0,2\n", "u.csv:1: feature \"0\"; expected a number from 1, or bias"),
        ("1,1,2\n1,x,2\n", "u.csv:2: feature \"x\"; expected a number from 1, or bias"),
        ("1,1,nan\n", "u.csv:1: value \"nan\"; expected a finite number"),
        ("1,1\n", "u.csv:1: \"1,1\"; expected task,feature,value"),
        ("1,1,2\n1,1,3\n", "u.csv:2: the feature comes twice for this task"),
        ("task,feature,value\n", "u.csv:1: no vector; expected lines task,feature,value"),
    ] {
        folder.write("u.csv", content);
        folder.refused("bound a.svm --model m.cog --comparator u.csv", &[&format!("error: {message}")]);
    }
    folder.refused("bound a.svm --model m.cog --comparator none.csv", &["error: none.csv: "]);
}
