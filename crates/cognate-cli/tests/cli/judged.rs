//! What a run is judged by, and what misleads: `learn`, `predict`.

use serde_json::Value;

use super::support::{Folder, number, related};

/// Labels +1 first, within every task.
fn sorted_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.starts_with('-'));
    lines.join("\n") + "\n"
}

#[test]
fn the_summary_has_every_measure_in_total_and_per_task() {
    let folder = Folder::with("a.svm", related(3, 600));
    let summary = folder.summary("a.svm");
    let tasks = summary["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 3);
    for row in tasks.iter().chain([&summary]) {
        for name in
            ["error", "constant_error", "log_loss", "brier", "precision", "recall", "f1", "balanced_error"]
        {
            assert!((0.0..2.0).contains(&number(row, &format!("/{name}"))), "{name}");
        }
        assert!(number(row, "/auc") > 0.8 && number(row, "/error") < number(row, "/constant_error"));
        assert!(row.get("rmse").is_none());
    }
    assert!(summary.get("passes").is_none());
    let plain = folder.summary("a.svm --learner perceptron");
    assert_eq!((&plain["log_loss"], &plain["tasks"][0]["brier"]), (&Value::Null, &Value::Null));
    assert!(number(&plain, "/auc") > 0.8);
}

#[test]
fn every_pass_has_its_numbers_and_only_the_first_is_of_unseen_examples() {
    let folder = Folder::with("a.svm", related(3, 300));
    let ran = folder.run("learn a.svm --passes 3");
    ran.assert_done();
    let note = "note: from pass 2 on, examples have been seen before: only pass 1 predicts unseen ones\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("\npass 1: error ")
            && ran.stdout.contains("\npass 3, of examples seen before: error ")
    );
    let summary = folder.summary("a.svm --passes 3");
    let passes = summary["passes"].as_array().unwrap();
    let seen: Vec<&Value> = passes.iter().map(|pass| &pass["seen_before"]).collect();
    assert_eq!(seen, [false, true, true]);
    let sum = |name: &str| passes.iter().map(|pass| number(pass, &format!("/{name}"))).sum::<f64>();
    assert_eq!((sum("examples"), sum("mistakes")), (900.0, number(&summary, "/mistakes")));
    let once = folder.summary("a.svm");
    for name in ["mistakes", "auc", "log_loss"] {
        assert_eq!(passes[0][name], once[name], "{name}");
    }
}

#[test]
fn sorted_labels_are_said() {
    let folder = Folder::with("a.svm", related(3, 600));
    folder.write("sorted.svm", sorted_lines(&related(3, 600)));
    let warning = "warning: labels come in long runs (";
    let sorted = folder.run("learn sorted.svm");
    assert!(
        sorted.stderr.contains(warning) && sorted.stderr.contains("--order shuffle"),
        "{}",
        sorted.stderr
    );
    assert!(!folder.run("learn a.svm").stderr.contains(warning));
    assert!(!folder.run("learn sorted.svm --order shuffle").stderr.contains(warning));
    // A warning is said all the same.
    assert!(folder.run("learn sorted.svm --quiet").stderr.contains(warning));
}

#[test]
fn one_class_has_no_area_and_that_is_said_once() {
    let lines: String = related(2, 40).lines().map(|line| format!("+1{}\n", &line[2..])).collect();
    let folder = Folder::with("a.svm", lines);
    let ran = folder.run("learn a.svm --model m.cog");
    ran.assert_done();
    let note = "note: every label is +1: AUC and balanced error need both, and are shown as -\n";
    assert_eq!(ran.stderr.matches(note).count(), 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("balanced error -, AUC -, log loss 0."), "{}", ran.stdout);
    let summary = folder.summary("a.svm");
    assert_eq!((&summary["auc"], &summary["balanced_error"]), (&Value::Null, &Value::Null));
    assert_eq!(summary["tasks"][1]["auc"], Value::Null);
    let predicted = folder.run("predict a.svm --model m.cog");
    assert!(predicted.stderr.contains(note) && predicted.stderr.contains("AUC -, "), "{}", predicted.stderr);
}

#[test]
fn predictions_of_labelled_lines_are_judged() {
    let folder = Folder::with("a.svm", related(3, 600));
    let all = related(3, 1200);
    let new: String = all.lines().skip(600).map(|line| format!("{line}\n")).collect();
    folder.write("new.svm", new);
    for learner in ["adaptive", "perceptron"] {
        folder.run(&format!("learn a.svm --learner {learner} --model {learner}.cog")).assert_done();
        let seen = folder.run(&format!("predict a.svm --model {learner}.cog"));
        assert!(seen.stderr.starts_with("600 labelled examples: error "), "{}", seen.stderr);
        assert!(
            seen.stderr.contains(" (constant guess ") && seen.stderr.contains(", AUC 0.9"),
            "{}",
            seen.stderr
        );
        let note = "note: the model has learnt about 600 of these examples (estimated): ";
        assert!(seen.stderr.contains(note), "{}", seen.stderr);
        let unseen = folder.run(&format!("predict new.svm --model {learner}.cog"));
        assert!(!unseen.stderr.contains("note: the model has learnt"), "{}", unseen.stderr);
        let calibration = unseen.stderr.contains("reliability on 600 labelled examples: log loss ");
        assert_eq!(calibration, learner == "adaptive", "{}", unseen.stderr);
    }
}

#[test]
fn a_file_learnt_twice_is_said() {
    let folder = Folder::with("a.svm", related(3, 600));
    let first = folder.run("learn a.svm --model m.cog");
    assert!(!first.stderr.contains("learnt before"), "{}", first.stderr);
    let again = folder.run("learn a.svm --resume m.cog --model m.cog");
    let note = "note: about 100 % of these examples had been learnt before (same task, same features)";
    assert!(again.stderr.contains(note), "{}", again.stderr);
}

#[test]
fn traces_have_real_labels_as_they_are() {
    let folder = Folder::with("real.svm", "34.83 task:a 1:1\n-1234.5 task:a 1:2\n1 task:b 1:1\n");
    folder.output("learn real.svm --set loss=squares --quiet --trace t.jsonl");
    let labels: Vec<f64> = (folder.text("t.jsonl").lines())
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["label"].as_f64().unwrap())
        .collect();
    assert_eq!(labels, [34.83, -1234.5, 1.0]);
}
