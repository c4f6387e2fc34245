//! The learners of ROM17: their parts in `relations` and reports, and bad parameters.

use cognate::stream::synthetic::random_walk;
use cognate::stream::write_example;
use insta::assert_snapshot;
use serde_json::Value;

use super::support::{Folder, related};

/// ROM17's random walk in a file; the last task is an outlier.
fn walk() -> Folder {
    let mut text = Vec::new();
    for (task, example) in random_walk(12.25, 1000, 1).stream.examples() {
        write_example(&mut text, task, example).unwrap();
    }
    Folder::with("walk.svm", text)
}

#[test]
fn every_learner_learns_saves_and_resumes() {
    let folder = Folder::with("a.svm", related(3, 240));
    let text = folder.text("a.svm");
    folder.write("first.svm", text.lines().take(90).map(|line| format!("{line}\n")).collect::<String>());
    folder.write("second.svm", text.lines().skip(90).map(|line| format!("{line}\n")).collect::<String>());
    for learner in [
        "passive-aggressive",
        "passive-aggressive --set scope=global --set variant=pa2",
        "collaborative",
        "rom-pgd",
        "rom-pgd --set eta=0.1 --set beta=0.1 --set u-step=mean",
        "rom-rda",
    ] {
        folder.output(&format!("learn a.svm --quiet --learner {learner} --overwrite --model whole.cog"));
        folder.output(&format!("learn first.svm --quiet --learner {learner} --overwrite --model m.cog"));
        folder.output("learn second.svm --quiet --resume m.cog --model m.cog");
        assert!(folder.read("m.cog") == folder.read("whole.cog"), "{learner}");
        assert!(folder.output("predict a.svm --model m.cog").lines().count() == text.lines().count() + 1);
    }
}

#[test]
fn relations_and_the_report_mark_the_outlier() {
    let folder = walk();
    for (learner, sets) in [("rom-pgd", ""), ("rom-rda", "--set kappa=1 --set beta=0.1 --set gamma=0.2")] {
        folder.output(&format!(
            "learn walk.svm --quiet --simultaneous --learner {learner} {sets} --model {learner}.cog \
             --report {learner}.html"
        ));
        let found: Value =
            serde_json::from_str(&folder.output(&format!("relations {learner}.cog --json"))).unwrap();
        let marked: Vec<&str> = found["parts"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["outlier_active"].as_bool().unwrap())
            .map(|row| row["task"].as_str().unwrap())
            .collect();
        assert_eq!(marked, ["5"], "{learner}");
        let page = folder.text(&format!("{learner}.html"));
        assert!(page.contains("What the tasks are made of") && page.contains(">outlier</td>"), "{learner}");
    }
    assert_snapshot!("parts", folder.output("relations rom-rda.cog"));
    // Nothing is printed for a learner without parts.
    folder.output("learn walk.svm --quiet --model m.cog --report m.html");
    assert!(!folder.output("relations m.cog").contains("individual"));
    assert!(!folder.text("m.html").contains("What the tasks are made of"));
}

#[test]
fn bad_parameters_are_refused_by_name_with_their_range() {
    let folder = Folder::with("a.svm", "+1 qid:1 1:1\n");
    for (learner, set, message) in [
        ("rom-pgd", "eta=0", "eta: must be positive and finite, got 0"),
        ("rom-pgd", "eta=-1", "eta: must be positive and finite, got -1"),
        ("rom-pgd", "beta=-0.5", "beta: must be finite and at least 0, got -0.5"),
        (
            "rom-rda",
            "kappa=0",
            "kappa: must be at least 0.000001, so that theta = kappa sqrt(t) grows with the rounds, got 0",
        ),
        ("rom-rda", "gamma=-1", "gamma: must be finite and at least 0, got -1"),
        ("passive-aggressive", "c=-1", "c: must be positive and finite, got -1"),
        (
            "collaborative",
            "global=1e-9",
            "global: must be 0 or at least a thousandth of own = 1, got 0.000000001",
        ),
    ] {
        let line = format!("learn a.svm --learner {learner} --set {set}");
        folder.refused(&line, &[&format!("error: learner.{learner}.{message}")]);
    }
    folder.refused("learn a.svm --learner rom-pgd --set eta=fast", &["expected a number or \"auto\""]);
    folder.refused(
        "learn a.svm --learner passive-aggressive --set variant=pa3",
        &["unknown variant `pa3`, expected one of `pa`, `pa1`, `pa2`"],
    );
}
