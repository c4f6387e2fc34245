//! `cognate fit`: all examples at once, and the other commands on the fitted model.

use std::fmt::Write as _;

use serde_json::Value;

use super::support::{Folder, related};

/// Four tasks with real labels, each 2 x1 - x2 plus something of its own.
fn real_labels() -> String {
    let mut text = String::new();
    for at in 0..120_u32 {
        let task = at % 4;
        // Three sequences with different periods.
        let x = [13, 29, 47].map(|step| f64::from((at + 1) * step % 101) / 50.0 - 1.0);
        let y = 2.0 * x[0] - x[1] + f64::from(task) * 0.2 * x[2] + f64::from(task);
        let _ = writeln!(text, "{y:.6} qid:{} 1:{} 2:{} 3:{}", task + 1, x[0], x[1], x[2]);
    }
    text
}

/// Runs `fit … --json`, which must succeed; returns the summary.
fn summary(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.output(&format!("fit {line} --json --quiet"))).expect("one JSON value")
}

#[test]
fn a_fit_converges_and_its_model_predicts() {
    let folder = Folder::with("a.svm", real_labels());
    let found = summary(&folder, "a.svm --set lambda=0.01 --model m.cog");
    assert_eq!((found["status"].as_str(), found["kind"].as_str()), (Some("converged"), Some("regression")));
    assert_eq!((found["examples"].as_u64(), found["tasks"].as_array().unwrap().len()), (Some(120), 4));
    assert!(found["explained"].as_f64().unwrap() > 0.99, "{found}");
    assert!(found["gap"].as_f64().unwrap() <= 1e-6 * found["objective"].as_f64().unwrap());
    // A model of real labels predicts real labels, whether or not the input has labels.
    let csv = folder.output("predict a.svm --model m.cog");
    let first: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    let label: f64 = real_labels().split_whitespace().next().unwrap().parse().unwrap();
    assert!((first[4].parse::<f64>().unwrap() - label).abs() < 0.2, "{first:?} is not {label}");
    assert_eq!(first[3].parse::<f64>().unwrap(), first[4].parse::<f64>().unwrap());
    folder.write("b.svm", "qid:1 1:0.5\n");
    assert_eq!(folder.output("predict b.svm --model m.cog").lines().count(), 2);
    let weights = folder.output("inspect m.cog --weights");
    assert!(weights.contains("\n1,1,") && weights.contains("\n1,bias,"), "{weights}");
    let seen = folder.output("inspect m.cog");
    assert!(seen.contains("converged after") && seen.contains("convex"), "{seen}");
    let relations: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    assert_eq!(relations["tasks"].as_array().unwrap().len(), 4);
    assert!(relations["correlation"][0][1].as_f64().unwrap() > 0.5);
}

#[test]
fn the_same_fit_has_the_same_bytes_however_many_threads() {
    let folder = Folder::with("a.svm", real_labels());
    for (model, threads) in [("one.cog", 1), ("two.cog", 2)] {
        let grid = "--grid penalty=none,trace-one --grid lambda=0.01,1";
        summary(&folder, &format!("a.svm --cross-validate 3 {grid} --threads {threads} --model {model}"));
    }
    assert!(folder.read("one.cog") == folder.read("two.cog"));
}

#[test]
fn cross_validation_shows_what_it_tried_and_takes_the_best() {
    let folder = Folder::with("a.svm", real_labels());
    let ran = folder.run("fit a.svm --cross-validate 5 --grid lambda=0.001,1,1000 --report r.html");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("<- chosen") && ran.stdout.contains("converged after"), "{}", ran.stdout);
    assert!(ran.stderr.contains("report: r.html"));
    let page = folder.text("r.html");
    assert!(page.contains("Cross-validation") && page.contains("A, as learned"));
    let found = summary(&folder, "a.svm --cross-validate 5 --grid lambda=0.001,1,1000");
    let tried = found["cross_validation"]["candidates"].as_array().unwrap();
    let lambda = |at: usize| tried[at]["learner"]["convex"]["lambda"].as_f64().unwrap();
    // From large to small: each fit starts where the last one ended.
    assert_eq!([lambda(0), lambda(1), lambda(2)], [1000.0, 1.0, 0.001]);
    let best = found["cross_validation"]["best"].as_u64().unwrap() as usize;
    assert!(best > 0, "{found}");
    assert_eq!(found["learner"]["convex"]["lambda"].as_f64().unwrap(), lambda(best));
    // Without a grid, a path is made.
    let path = summary(&folder, "a.svm --cross-validate 4");
    assert_eq!(path["cross_validation"]["candidates"].as_array().unwrap().len(), 13);
}

#[test]
fn classes_are_counted() {
    let folder = Folder::with("a.svm", related(3, 300));
    for loss in ["squares", "logistic", "hinge"] {
        let found = summary(
            &folder,
            &format!("a.svm --set loss={loss} --set tolerance=1e-4 --overwrite --model m.cog"),
        );
        assert_eq!(found["kind"], "classification", "{loss}");
        assert!(found["error"].as_f64().unwrap() < 0.2, "{loss}: {found}");
    }
    let label = folder.output("predict a.svm --model m.cog");
    let label = label.lines().nth(1).unwrap().split(',').nth(3).unwrap();
    assert!(label == "1" || label == "-1", "{label}");
}

/// All data are there: a class met late has the lines before as its negatives.
#[test]
fn the_order_of_lines_makes_no_difference_to_classes() {
    let mut lines: Vec<String> = Vec::new();
    for at in 0..60_u32 {
        let class = ["ape", "bee", "cat"][at as usize / 20];
        let x = [13, 29, 47].map(|step| f64::from((at + 1) * step % 101) / 50.0 - 1.0);
        lines.push(format!("{class} 1:{} 2:{} 3:{}\n", x[0] + f64::from(at / 20), x[1], x[2]));
    }
    let folder = Folder::with("sorted.svm", lines.concat());
    lines.reverse();
    folder.write("reversed.svm", lines.concat());
    let mut found = Vec::new();
    for (name, options) in [("sorted", ""), ("reversed", ""), ("sorted", "--tasks ape,bee,cat")] {
        let line = format!("{name}.svm --one-vs-all {options} --set lambda=0.1 --set tolerance=1e-10");
        let summary = summary(&folder, &line);
        assert_eq!(
            (summary["examples"].as_u64(), summary["inputs"].as_u64()),
            (Some(180), Some(60)),
            "{line}"
        );
        found.push(summary["objective"].as_f64().unwrap());
    }
    for objective in &found {
        assert!((objective - found[2]).abs() <= 1e-7 * found[2], "{found:?}");
    }
}

#[test]
fn a_stream_learner_and_a_batch_learner_are_not_mixed_up() {
    let folder = Folder::with("a.svm", related(3, 30));
    folder.refused("learn a.svm --learner convex", &["`convex` does not learn from streams", "cognate fit"]);
    folder.write("c.toml", "[learner.perceptron]\n");
    folder.refused("fit a.svm --config c.toml", &["`perceptron` learns from streams", "cognate learn"]);
    summary(&folder, "a.svm --model m.cog --set tolerance=0.01");
    folder.refused("learn a.svm --resume m.cog", &["`convex` does not learn from streams"]);
}

#[test]
fn bad_input_has_a_way_out() {
    let folder = Folder::with("a.svm", real_labels());
    for (line, message) in [
        ("--set lambda=0", "learner.convex.lambda: must be positive and finite, got 0"),
        (
            "--set penalty.schatten.p=0.5",
            "learner.convex.penalty.schatten.p: must be finite and at least 1, got 0.5",
        ),
        ("--set penalty.cluster.clusters=9", "9 clusters of 4 tasks"),
        ("--set loss=logistic", "real labels need \"squares\""),
        ("--set penalty=rows --set kernel=gaussian", "`rows` chooses features"),
        ("--cross-validate 31", "task \"1\" has 30 examples, fewer than 31 folds"),
        ("--cross-validate 1", "at least 2 are needed"),
        ("--grid lambda=1,2", "--cross-validate"),
        (
            "--cross-validate 3 --grid lambda=1,-2",
            "--grid lambda=-2: learner.convex.lambda: must be positive",
        ),
        ("--cross-validate 3 --grid lambda", "expected KEY=V,V"),
        ("--tasks 1,2,3,4,5", "task \"5\" has no labelled examples"),
        ("--set kernel.gaussian.gamma=x", "--set kernel.gaussian.gamma=x: invalid type"),
    ] {
        folder.refused(&format!("fit a.svm {line}"), &[message]);
    }
    folder.write("same.svm", "2.5 qid:1 1:1\n2.5 qid:1 1:2\n");
    folder.refused("fit same.svm", &["every label is 2.5; there is nothing to learn"]);
    folder.write("none.svm", "qid:1 1:1\n");
    folder.refused("fit none.svm", &["there are no labelled examples to fit"]);
    folder.write("nan.svm", "1.5 qid:1 1:nan\n");
    folder.refused("fit nan.svm", &["nan.svm:1:"]);
}
