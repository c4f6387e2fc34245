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

fn class_counts(folder: &Folder, model: &str) -> Value {
    header(&folder.read(model))["class_counts"].clone()
}

/// The readable part of a model file.
fn header(bytes: &[u8]) -> Value {
    let length = u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + length]).unwrap()
}

#[test]
fn the_labels_of_the_task_no_longer_balance_the_classes() {
    let folder = Folder::with("a.svm", "+1 task:a 1:1\n-1 task:b 1:1\n-1 task:b 2:1\n+1 task:c 2:1\n");
    folder.output("learn a.svm --quiet --class-weight balanced --model m.cog");
    let counts = |positive: u64, negative: u64| json!({ "positive": positive, "negative": negative });
    let with = |positive: u64, negative: u64, tasks: Value| json!({ "positive": positive, "negative": negative, "tasks": tasks });
    let of_all = json!([counts(1, 0), counts(0, 2), counts(1, 0)]);
    assert_eq!(class_counts(&folder, "m.cog"), with(2, 2, of_all));
    let ran = folder.run("forget m.cog --task b --model n.cog");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(class_counts(&folder, "n.cog"), with(2, 0, json!([counts(1, 0), counts(1, 0)])));
    folder.output("forget n.cog --task a --task c --model n.cog");
    assert_eq!(class_counts(&folder, "n.cog"), Value::Null);
    // As an earlier version has written it.
    let mut bytes = folder.read("m.cog");
    let mut old = header(&bytes);
    let end = 20 + u64::from_le_bytes(bytes[12..20].try_into().unwrap()) as usize + 4;
    old["class_counts"].as_object_mut().unwrap().remove("tasks");
    let text = serde_json::to_vec(&old).unwrap();
    let mut head = bytes[..12].to_vec();
    head.extend((text.len() as u64).to_le_bytes());
    head.extend(&text);
    head.extend(crc32(&head).to_le_bytes());
    bytes.splice(..end, head);
    folder.write("old.cog", &bytes);
    let ran = folder.run("forget old.cog --task b --model o.cog");
    ran.assert_done();
    assert!(ran.stderr.starts_with("note: the model is of an earlier version, which "), "{}", ran.stderr);
    assert_eq!(class_counts(&folder, "o.cog"), with(2, 0, json!([counts(1, 0), counts(1, 0)])));
}

/// CRC-32, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

#[test]
fn the_other_tasks_predict_as_before() {
    let folder = folder();
    for flags in [
        "--learner perceptron",
        "--learner perceptron --set interaction.coupled.b=auto",
        "--learner perceptron --set interaction=pairwise",
        "--learner adaptive",
    ] {
        folder.output(&format!("learn a.svm --quiet {flags} --overwrite --model p.cog"));
        folder.output("forget p.cog --task berta --overwrite --model q.cog");
        let margins = |model: &str| -> Vec<f64> {
            let rows = folder.output(&format!("predict a.svm --model {model} --json"));
            let rows = rows.lines().map(|row| serde_json::from_str::<Value>(row).unwrap());
            rows.filter(|row| row["task"] != "berta").map(|row| row["margin"].as_f64().unwrap()).collect()
        };
        let (before, after) = (margins("p.cog"), margins("q.cog"));
        let close = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-12 * one.abs().max(1.0);
        assert_eq!(before.len(), 200);
        assert!(before.iter().zip(&after).all(close), "{flags}: {before:?} {after:?}");
    }
}
