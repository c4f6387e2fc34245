//! `cognate predict`: margins of a saved model.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::support::{Folder, cognate, related};

/// A folder with a stream and its model.
fn folder() -> Folder {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --quiet --model m.cog");
    folder
}

#[test]
fn a_line_an_example_as_csv_and_as_json() {
    let folder = folder();
    let csv = folder.output("predict a.svm --model m.cog");
    let json = folder.output("predict a.svm --model m.cog --json");
    let mut rows = csv.lines();
    assert_eq!(rows.next(), Some("line,id,task,label,margin"));
    let stream = related(3, 300);
    assert_eq!((csv.lines().count(), json.lines().count()), (301, 300));
    let mut right = 0;
    for ((row, line), example) in rows.zip(json.lines()).zip(stream.lines()) {
        let value: Value = serde_json::from_str(line).unwrap();
        let parts: Vec<&str> = row.split(',').collect();
        assert_eq!((value["line"].to_string().as_str(), parts[1]), (parts[0], ""), "no line has an id");
        assert_eq!(value["task"], parts[2]);
        assert_eq!(value["label"].to_string(), parts[3]);
        let margin: f64 = parts[4].parse().unwrap();
        assert_eq!(value["margin"].as_f64().unwrap().to_bits(), margin.to_bits());
        assert_eq!(parts[3], if margin >= 0.0 { "1" } else { "-1" });
        assert!(example.contains(&format!("qid:{} ", parts[2])));
        right += u32::from(example.starts_with('-') == (parts[3] == "-1"));
    }
    assert!(right > 240, "{right} of 300 learnt examples are predicted right");
}

#[test]
fn probabilities_come_from_learners_that_have_them() {
    let folder = folder();
    folder.output("learn a.svm --quiet --learner adaptive --model adaptive.cog");
    folder.output("learn a.svm --quiet --learner perceptron --model perceptron.cog");
    let csv = folder.output("predict a.svm --model adaptive.cog --probability");
    let json = folder.output("predict a.svm --model adaptive.cog --probability --json");
    assert_eq!(csv.lines().next(), Some("line,id,task,label,margin,probability"));
    for (row, line) in csv.lines().skip(1).zip(json.lines()) {
        let value: Value = serde_json::from_str(line).unwrap();
        let parts: Vec<&str> = row.split(',').collect();
        let [margin, probability] = [4, 5].map(|at| parts[at].parse::<f64>().unwrap());
        assert_eq!(value["probability"].as_f64().unwrap().to_bits(), probability.to_bits());
        assert!((probability - 1.0 / (1.0 + (-margin).exp())).abs() < 1e-12);
    }
    let said = folder.run("predict a.svm --model adaptive.cog --probability").stderr;
    assert!(said.starts_with("300 labelled examples: error "), "{said}");
    assert!(said.contains("\nreliability on 300 labelled examples: log loss 0."), "{said}");
    assert!(said.contains("90 to 100 %"), "{said}");
    // Without labels there is nothing to compare with.
    folder.write("unlabelled.svm", "? qid:1 1:1\n");
    assert_eq!(folder.run("predict unlabelled.svm --model adaptive.cog --probability").stderr, "");
    let refused = folder.run("predict a.svm --model perceptron.cog --probability");
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("margins of this perceptron are not probabilities"),
        "{}",
        refused.stderr
    );
    folder.write("counts.svm", "1 qid:1 1:1\n0 qid:1 1:2\n");
    for (set, loss) in [("loss=poisson", "poisson"), ("loss.quantile.q=0.9", "quantile")] {
        folder.output(&format!("learn counts.svm --quiet --set {set} --model other.cog --overwrite"));
        let message = format!(
            "with the loss `{loss}` margins of adaptive are not probabilities; with `logistic` they are"
        );
        folder.refused("predict counts.svm --model other.cog --probability", &[&message]);
    }
}

#[test]
fn labels_are_not_needed_and_change_nothing() {
    let folder = folder();
    let labelled = folder.output("predict a.svm --model m.cog");
    for without in ["? ", ""] {
        let text: String = related(3, 300)
            .lines()
            .map(|line| format!("{without}{}\n", line.split_once(' ').unwrap().1))
            .collect();
        folder.write("unlabelled.svm", text);
        assert_eq!(folder.output("predict unlabelled.svm --model m.cog"), labelled, "{without:?}");
    }
    let ran = folder.run_with_input("predict - --model m.cog", related(3, 300));
    assert_eq!(ran.stdout, labelled);
}

#[test]
fn predicting_changes_neither_the_model_nor_the_folder() {
    let folder = folder();
    let before = folder.read("m.cog");
    folder.output("predict a.svm --model m.cog");
    assert_eq!(folder.read("m.cog"), before);
    assert_eq!(folder.names(), ["a.svm", "m.cog"]);
}

#[test]
fn an_unknown_task_is_predicted_by_what_all_share() {
    let folder = folder();
    folder.write("new.svm", "? task:new 1:1\n? task:other 1:1\n1:1\n");
    let csv = folder.output("predict new.svm --model m.cog");
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    let margin = |row: &str| row.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    assert!(
        rows[0].starts_with("1,,new,1,")
            && rows[1].starts_with("2,,other,1,")
            && rows[2].starts_with("3,,default,1,")
    );
    assert!(margin(rows[0]) > 0.0, "feature 1 carries the label of every task");
    assert_eq!(margin(rows[0]).to_bits(), margin(rows[1]).to_bits());
    folder.output("learn a.svm --quiet --set interaction=independent --model own.cog");
    assert!(
        folder.output("predict new.svm --model own.cog").contains("\n1,,new,1,0.0\n"),
        "nothing is shared"
    );
}

#[test]
fn an_unknown_task_is_refused_where_tasks_were_declared() {
    let folder = folder();
    folder.output("learn a.svm --quiet --tasks 3 --overwrite --model m.cog");
    folder.write("new.svm", "? qid:9 1:1\n");
    let ran = folder.run("predict new.svm --model m.cog");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("error: new.svm:1:3: task 9 is not one of the 3 declared tasks"),
        "{}",
        ran.stderr
    );
}

#[test]
fn names_with_commas_and_quotes_are_quoted() {
    let folder = Folder::with("a.svm", "+1 task:a,\"b\" 1:2\n");
    folder.output("learn --learner perceptron a.svm --quiet --set interaction=independent --model m.cog");
    let csv = folder.output("predict a.svm --model m.cog");
    assert_eq!(csv, "line,id,task,label,margin\n1,,\"a,\"\"b\"\"\",1,4.0\n");
    assert!(folder.output("inspect m.cog --weights").ends_with("\n\"a,\"\"b\"\"\",1,2.0\n"));
}

#[test]
fn the_scaling_of_the_model_is_applied() {
    let folder = Folder::with("a.svm", "+1 1:3 2:4\n");
    folder
        .output("learn --learner perceptron a.svm --quiet --normalize l2 --bias=0.5 --set interaction=independent --model m.cog");
    let csv = folder.output("predict a.svm --model m.cog");
    let margin: f64 = csv.trim_end().rsplit(',').next().unwrap().parse().unwrap();
    assert!((margin - 1.25).abs() < 1e-15, "{csv}");
}

#[test]
fn bad_lines_are_refused_or_skipped_as_when_learning() {
    let folder = folder();
    folder.write("bad.svm", "? qid:1 1:1\n? qid:1 2:1 1:1\n-1 qid:1 3:1\n");
    let ran = folder.run("predict bad.svm --model m.cog");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("error: bad.svm:2:13: feature index 1 after 2; indices must increase"),
        "{}",
        ran.stderr
    );
    let ran = folder.run("predict bad.svm --model m.cog --skip-bad 1");
    ran.assert_done();
    assert_eq!(ran.stdout.lines().count(), 4);
    assert!(ran.stderr.starts_with("warning: skipped 1 bad lines\n1 labelled example: "), "{}", ran.stderr);
}

#[test]
fn one_thread_and_two_print_the_same() {
    let folder = folder();
    folder.write("many.svm", related(7, 5000));
    let [one, two] =
        ["1", "2"].map(|n| folder.output(&format!("predict many.svm --model m.cog --threads {n}")));
    assert_eq!(one, two);
}

/// A line sent through a pipe is answered before the next one comes.
#[test]
fn an_answer_does_not_wait_for_the_next_question() {
    let folder = folder();
    let mut child = cognate()
        .args(["predict", "-", "--model", "m.cog"])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let (mut questions, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(answers).lines() {
            let _ = sender.send(line.unwrap());
        }
    });
    let patience = Duration::from_secs(20);
    for at in 0..3 {
        questions.write_all(b"? qid:1 1:1\n").unwrap();
        if at == 0 {
            assert_eq!(lines.recv_timeout(patience).as_deref(), Ok("line,id,task,label,margin"));
        }
        assert!(lines.recv_timeout(patience).expect("an answer").starts_with(&format!("{},,1,", at + 1)));
    }
    drop(questions);
    assert!(child.wait().unwrap().success());
}

/// An infinite margin is no answer: the error says which line has it, and what to do.
#[test]
fn a_margin_that_is_not_finite_is_an_error() {
    let folder = Folder::with("a.svm", "+1 task:ann 1:1e100\n");
    folder.output("learn a.svm --quiet --learner kernel-perceptron --set kernel=polynomial --model m.cog");
    folder.write("far.svm", "? task:ann 1:1e-100\n? task:bob 1:1e100\n");
    for flags in ["", " --json"] {
        let ran = folder.run(&format!("predict far.svm --model m.cog{flags}"));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let message = "error: far.svm:2: the margin of task bob is inf; expected a finite number\n  hint: learn a model with --normalize l2";
        assert!(ran.stderr.starts_with(message), "{}", ran.stderr);
        assert!(!ran.stdout.contains("inf"), "{}", ran.stdout);
    }
    folder.output("learn a.svm --quiet --learner kernel-perceptron --set kernel=polynomial --normalize l2 --model scaled.cog");
    assert_eq!(folder.output("predict far.svm --model scaled.cog").lines().count(), 3);
}

#[test]
fn how_sure_margins_are() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --quiet --model m.cog");
    let lines = folder.output("predict a.svm --model m.cog --probability --uncertainty");
    let mut lines = lines.lines();
    assert_eq!(lines.next(), Some("line,id,task,label,margin,probability,uncertainty"));
    let deviations: Vec<f64> = lines.map(|line| line.split(',').nth(6).unwrap().parse().unwrap()).collect();
    assert!(
        deviations.len() == 300
            && deviations.iter().all(|deviation| *deviation > 0.0 && deviation.is_finite())
    );
    let json = folder.output("predict a.svm --model m.cog --uncertainty --json");
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["uncertainty"].as_f64(), Some(deviations[0]));
    folder.output("learn a.svm --quiet --learner perceptron --model p.cog");
    folder.refused(
        "predict a.svm --model p.cog --uncertainty",
        &["--uncertainty: this perceptron does not know how sure its margins are; `adaptive`"],
    );
    folder.refused(
        "learn a.svm --learner perceptron --query uncertainty",
        &["query: must not be `uncertainty`: this `perceptron` does not know how sure its margins are"],
    );
    let asked = folder.summary("a.svm --query uncertainty");
    assert!(asked["queries"].as_u64().unwrap() < 300 && asked["query"]["uncertainty"]["b"] == 0.5, "{asked}");
}
