//! `cognate forget`: a model without some of its tasks.

use serde_json::{Value, json};

use super::support::{Folder, related};

/// A folder with a model of tasks with names.
fn folder() -> Folder {
    let text = related(3, 300).replace("qid:1 ", "task:anna ").replace("qid:2 ", "task:berta ");
    let folder = Folder::with("a.svm", text.replace("qid:3 ", "task:clara "));
    folder.output("learn a.svm --quiet --model m.cog");
    folder
}

fn inside(folder: &Folder, model: &str) -> Value {
    serde_json::from_str(&folder.output(&format!("inspect {model} --json"))).unwrap()
}

#[test]
fn nothing_of_the_task_is_in_the_file() {
    let folder = folder();
    let said = folder.output("forget m.cog --task berta --model n.cog");
    assert_eq!(said, "forgot task berta: 100 examples\n2 tasks are left\n");
    let has = |file: &str| folder.read(file).windows(5).any(|part| part == b"berta");
    assert!(has("m.cog") && !has("n.cog"));
    let left = inside(&folder, "n.cog");
    assert_eq!((&left["tasks"], &left["examples"]), (&json!(["anna", "clara"]), &json!(200)));
    let weights = folder.output("inspect n.cog --weights");
    assert!(weights.contains("clara,") && !weights.contains("berta,"));
}

#[test]
fn a_model_is_replaced_in_place_and_others_when_told() {
    let folder = folder();
    folder.output("forget m.cog --task berta --task anna --model m.cog");
    assert_eq!(inside(&folder, "m.cog")["tasks"], json!(["clara"]));
    folder.output("learn a.svm --quiet --model n.cog");
    let before = folder.read("n.cog");
    folder.refused(
        "forget m.cog --task clara --model n.cog",
        &["--model n.cog: the file exists, and what it holds would be lost"],
    );
    assert_eq!(folder.read("n.cog"), before);
    let said = folder.output("forget m.cog --task clara --model n.cog --overwrite");
    assert!(said.ends_with("0 tasks are left\n"), "{said}");
    assert_eq!(inside(&folder, "n.cog")["tasks"], json!([]));
    // It learns on.
    folder.output("learn a.svm --quiet --resume n.cog --model n.cog");
    assert_eq!(inside(&folder, "n.cog")["examples"], json!(300));
}

#[test]
fn what_cannot_be_forgotten_is_refused_and_nothing_is_written() {
    let folder = folder();
    folder.refused(
        "forget m.cog --task brta --task anna --model n.cog",
        &["no task is called \"brta\"; nearest: berta"],
    );
    folder.output("learn a.svm --quiet --learner relation-perceptron --tasks 3 --model r.cog");
    folder.refused("forget r.cog --task anna --model n.cog", &["task \"anna\" was declared"]);
    folder.output("learn a.svm --quiet --learner kernel-perceptron --model k.cog");
    folder.refused(
        "forget k.cog --task anna --model n.cog",
        &["`kernel-perceptron` does not keep tasks apart, and cannot forget one"],
    );
    assert_eq!(folder.names(), ["a.svm", "k.cog", "m.cog", "r.cog"]);
}
