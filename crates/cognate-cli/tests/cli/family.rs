//! The other Perceptrons: `learn` on one-task and simultaneous streams, saved and resumed, and bad parameters.

use serde_json::Value;

use super::support::{Folder, related};

const LEARNERS: [&str; 5] = [
    "kernel-perceptron",
    "p-norm-perceptron",
    "second-order-perceptron",
    "schatten-perceptron",
    "shared-loss-perceptron",
];

/// A stream of rounds: tasks 1 to 3 in turn.
fn rounds() -> String {
    let lines: Vec<String> = related(3, 240).lines().map(str::to_owned).collect();
    let of = |task: usize| lines.iter().filter(move |line| line.contains(&format!(" qid:{task} ")));
    let (one, two, three) = (of(1), of(2), of(3));
    one.zip(two).zip(three).map(|((a, b), c)| format!("{a}\n{b}\n{c}\n")).collect()
}

#[test]
fn every_learner_learns_saves_and_resumes() {
    let folder = Folder::with("a.svm", rounds());
    let text = folder.text("a.svm");
    // Whole rounds.
    let half = text.lines().count() / 6 * 3;
    folder.write("first.svm", text.lines().take(half).map(|line| format!("{line}\n")).collect::<String>());
    folder.write("second.svm", text.lines().skip(half).map(|line| format!("{line}\n")).collect::<String>());
    for learner in LEARNERS {
        for stream in ["", "--simultaneous"] {
            let learn = format!("--learner {learner} {stream}");
            let whole = folder
                .summary(&format!("a.svm {learn} --tasks 3 --features 20 --overwrite --model whole.cog"));
            folder.output(&format!(
                "learn first.svm --quiet {learn} --tasks 3 --features 20 --overwrite --model m.cog"
            ));
            let resumed = folder.summary("second.svm --resume m.cog --model m.cog");
            assert!(folder.read("m.cog") == folder.read("whole.cog"), "{learn}");
            for key in ["examples", "mistakes", "updates"] {
                assert_eq!(whole[key], resumed[key], "{learn}");
            }
            assert!(
                whole["mistakes"].as_u64() < whole["examples"].as_u64().map(|n| n / 2),
                "{learn}: {whole}"
            );
            assert_eq!(
                whole["learner"].as_object().unwrap().keys().next().map(String::as_str),
                Some(learner)
            );
            let rows = folder.output("predict a.svm --model m.cog").lines().count();
            assert_eq!(rows, text.lines().count() + 1);
        }
    }
}

#[test]
fn supports_are_listed() {
    let folder =
        Folder::with("a.svm", "+1 task:ann 1:1\n-1 task:bob 1:1\n+1 task:ann 1:1\n-1 task:bob 2:1\n");
    folder.output(
        "learn a.svm --quiet --learner kernel-perceptron --set interaction=independent --model m.cog",
    );
    assert_eq!(
        folder.output("inspect m.cog --supports"),
        "round,task,coefficient\n1,ann,1.0\n2,bob,-1.0\n4,bob,-1.0\n"
    );
}

#[test]
fn bad_parameters_are_refused_by_name_with_their_range() {
    let folder = Folder::with("a.svm", "+1 qid:1 1:1\n");
    for (learner, set, message) in [
        (
            "kernel-perceptron",
            "kernel.gaussian.gamma=0",
            "kernel.gaussian.gamma: must be positive and finite, got 0",
        ),
        (
            "kernel-perceptron",
            "kernel.polynomial.degree=0",
            "kernel.polynomial.degree: must be a whole number from 1 to 64, got 0",
        ),
        (
            "kernel-perceptron",
            "kernel.polynomial.degree=2.5",
            "kernel.polynomial.degree: must be a whole number from 1 to 64, got 2.5",
        ),
        ("schatten-perceptron", "p=1.5", "p: must be a whole number from 1 to 50, got 1.5"),
        (
            "schatten-perceptron",
            "kernel.polynomial.gamma=-1",
            "kernel.polynomial.gamma: must be positive and finite, got -1",
        ),
        ("shared-loss-perceptron", "c=0", "c: must be positive and finite, got 0"),
        ("second-order-perceptron", "a=-2", "a: must be positive and finite, got -2"),
        (
            "second-order-perceptron",
            "interaction.matrix.rows=[[1,0],[0,1]]",
            "interaction.matrix.rows: 2 rows, but 3 tasks are declared",
        ),
    ] {
        let line = format!("learn a.svm --tasks 3 --learner {learner} --set {set}");
        folder.refused(&line, &[&format!("error: learner.{learner}.{message}")]);
    }
}

#[test]
fn a_run_that_runs_away_stops_and_leaves_the_old_model_whole() {
    let folder = Folder::with("good.svm", "+1 qid:7 1:1\n-1 qid:7 2:1\n");
    folder.output(
        "learn good.svm --quiet --learner kernel-perceptron --set kernel.polynomial.degree=8 --model m.cog",
    );
    let before = folder.read("m.cog");
    folder.write("wild.svm", "-1 qid:7 1:1e30\n+1 qid:7 1:1e30\n");
    folder.refused(
        "learn wild.svm --quiet --resume m.cog --model m.cog",
        &["error: round 4: the margin of task 7 is -inf; the learner has diverged"],
    );
    assert!(folder.read("m.cog") == before);
    let kept: Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    assert_eq!(kept["examples"], 2);
}
