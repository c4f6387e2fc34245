//! `cognate inspect`: what is in a model.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::support::{Folder, number, redacted, related};

/// A folder with a model of three tasks.
fn folder() -> Folder {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --learner perceptron --quiet --normalize l2 --bias --set interaction.coupled.b=2 --model m.cog");
    folder
}

#[test]
fn the_overview() {
    assert_snapshot!("inspect", redacted(&folder().output("inspect m.cog")));
}

#[test]
fn the_overview_as_json_agrees_with_the_run() {
    let folder = folder();
    let inside: Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    let summary =
        folder.summary("--learner perceptron a.svm --normalize l2 --bias --set interaction.coupled.b=2");
    for field in ["examples", "mistakes", "error", "f1", "updates", "queries", "config"] {
        assert_eq!(inside[field], summary[field], "{field}");
    }
    assert_eq!(inside["learner"], "perceptron");
    assert_eq!(inside["tasks"], json!(["1", "2", "3"]));
    assert_eq!((&inside["rounds"], &inside["declared_tasks"]), (&json!(300), &Value::Null));
    assert!(number(&inside, "/memory_bytes") > 0.0);
}

#[test]
fn a_threshold_is_told() {
    let folder = Folder::with("a.svm", related(3, 300));
    for (flags, json, text) in
        [("", 0.0, None), ("--threshold -0.25", -0.25, Some("+1 from margin -0.25 on"))]
    {
        folder.output(&format!("learn a.svm --quiet {flags} --model m.cog --overwrite"));
        let inside: Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
        assert_eq!(inside["threshold"], json);
        let overview = folder.output("inspect m.cog");
        let line = overview.lines().find_map(|line| line.strip_prefix("threshold")).map(str::trim);
        assert_eq!(line, text, "{overview}");
    }
}

#[test]
fn a_strength_that_is_found_is_told() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn --learner perceptron a.svm --quiet --set interaction.coupled.b=auto --model m.cog");
    let inside: Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    assert_eq!(inside["config"]["learner"]["perceptron"]["interaction"]["coupled"]["b"], "auto");
    let strengths = inside["strengths"].as_array().unwrap();
    let b: Vec<f64> = strengths.iter().map(|one| number(one, "/b")).collect();
    assert_eq!(b, [0.0, 1.0, 3.0_f64.sqrt(), 3.0, 12.0]);
    let sum: f64 = strengths.iter().map(|one| number(one, "/weight")).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    let overview = folder.output("inspect m.cog");
    let line = overview.lines().find(|line| line.starts_with("strengths")).unwrap();
    assert!(line.contains(" leads (b = 0 ") && line.contains(", b = 1.73 "), "{line}");
    // A fixed strength is not listed.
    folder.output("learn --learner perceptron a.svm --quiet --model given.cog");
    let inside: Value = serde_json::from_str(&folder.output("inspect given.cog --json")).unwrap();
    assert_eq!(inside["strengths"], Value::Null);
}

#[test]
fn the_weights_predict_what_the_model_predicts() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn --learner perceptron a.svm --quiet --model m.cog");
    let weights = folder.output("inspect m.cog --weights");
    assert_eq!(weights.lines().next(), Some("task,feature,value"));
    folder.write("probe.svm", "? qid:2 1:0.5 4:-2\n");
    let weight = |feature: &str| -> f64 {
        let row = weights.lines().find(|row| row.starts_with(&format!("2,{feature},"))).expect("a weight");
        row.rsplit(',').next().unwrap().parse().unwrap()
    };
    let predicted = folder.output("predict probe.svm --model m.cog");
    let margin: f64 = predicted.trim_end().rsplit(',').next().unwrap().parse().unwrap();
    assert!((margin - (0.5 * weight("1") - 2.0 * weight("4"))).abs() < 1e-12);
    assert_eq!(weights.lines().count(), 1 + 3 * 6, "three tasks of six features");
}

#[test]
fn explain_lists_the_strongest_features_first() {
    let folder = Folder::with("a.svm", "+1 qid:2 1:3 2:-5 7:0\n-1 qid:1 2:1\n-1 qid:3 2:1\n");
    folder.output(
        "learn --learner perceptron a.svm --quiet --bias=4 --set interaction=independent --model m.cog",
    );
    let text = folder.output("inspect m.cog --explain 2");
    assert!(text.starts_with("task 2: 1 examples, error 100.00"), "{text}");
    assert!(text.contains("; the strongest 3 of 3 features\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().skip(3).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows, [["2", "-5.000000"], ["bias", "+4.000000"], ["1", "+3.000000"]]);
    folder.refused("inspect m.cog --explain 22", &["error: no task is called \"22\"; nearest: 2, 1, 3"]);
}

#[test]
fn supports_are_refused_for_a_learner_that_keeps_none() {
    folder().refused(
        "inspect m.cog --supports",
        &["error: --supports: `perceptron` keeps weights, not supports; use --weights"],
    );
}

/// The checksum of a model file, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let bit = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| bit(sum)))
}

#[test]
fn nothing_is_unusual_about_a_model_as_it_was_learnt() {
    assert_eq!(folder().output("inspect m.cog --strict"), "nothing unusual\n");
}

#[test]
fn whatever_is_unusual_is_told_and_fails_the_check() {
    let folder = Folder::with("a.jsonl", r#"{"task": "a", "label": 1, "features": {"x\u001b[2J": 1}}"#);
    folder.output("learn a.jsonl --format jsonl --learner perceptron --quiet --set interaction.coupled.b=1e30 --model m.cog");
    let ran = folder.run("inspect m.cog --strict");
    assert_eq!(
        ran.stdout,
        "config: learner.perceptron.interaction.coupled.b is 1e30\n\
         the name \"x\\u{1b}[2J\" has control characters\n"
    );
    assert_eq!((ran.code, ran.stderr.trim()), (Some(1), "error: m.cog: 2 findings"));
}

#[test]
fn tasks_that_strict_does_not_look_at_are_told() {
    let lines: String = (0..1001).map(|task| format!("+1 task:t{task} 1:1\n")).collect();
    let folder = Folder::with("a.svm", lines);
    folder.output("learn a.svm --learner perceptron --quiet --model m.cog");
    let ran = folder.run("inspect m.cog --strict");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "nothing unusual\n"));
    assert_eq!(ran.stderr, "note: of 1,001 tasks, the weights of the first 1,000 were looked at\n");
}

/// Readers ignore header fields that they do not know, so that later writers may add some; a stranger may as well.
#[test]
fn bytes_that_saving_would_not_write_are_unusual() {
    let folder = folder();
    let model = folder.read("m.cog");
    let length = u64::from_le_bytes(model[12..20].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&model[20..20 + length]).unwrap();
    header["smuggled"] = "x".repeat(1000).into();
    let header = serde_json::to_vec(&header).unwrap();
    let mut forged = model[..12].to_vec();
    forged.extend((header.len() as u64).to_le_bytes());
    forged.extend(header);
    forged.extend(checksum(&forged).to_le_bytes());
    forged.extend(&model[20 + length + 4..]);
    folder.write("m.cog", forged);
    assert!(folder.output("inspect m.cog").contains("perceptron"));
    let ran = folder.run("inspect m.cog --strict");
    let expected = "the file holds more than the model, or is arranged in another way than it is saved\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), expected));
}

#[test]
fn the_weights_of_one_task() {
    let folder = folder();
    let (all, some) = (
        folder.output("inspect m.cog --weights"),
        folder.output("inspect m.cog --weights --task 3 --task 1"),
    );
    let of = |task: &str| {
        let lines = all.lines().filter(|line| line.starts_with(task));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert!(of("1,").lines().count() > 3 && of("3,").lines().count() > 3, "{all}");
    assert_eq!(some, format!("task,feature,value\n{}{}", of("3,"), of("1,")));
    folder.refused("inspect m.cog --weights --task 33", &["no task is called \"33\"; nearest: 3"]);
    folder.refused("inspect m.cog --task 3", &["--weights"]);
}
