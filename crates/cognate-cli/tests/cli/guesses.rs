//! What learning must beat, and what must not be taken for learning.

use std::fmt::Write as _;

use serde_json::Value;

use super::support::{Folder, number, related};

/// Numbers from 0 to 1, always the same.
fn draws(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Examples whose features tell nothing; the share of +1 is that of the task.
fn useless(shares: &[f64], examples: usize, seed: u64) -> String {
    let (mut text, mut draw) = (String::new(), draws(seed));
    for at in 0..examples * shares.len() {
        let task = at % shares.len();
        let label = if draw() < shares[task] { "+1" } else { "-1" };
        write!(text, "{label} task:t{task}").expect("memory");
        for feature in 1..=5 {
            // The sum of three even draws is nearly normal.
            write!(text, " {feature}:{:.4}", 2.0 * (draw() + draw() + draw() - 1.5)).expect("memory");
        }
        text.push('\n');
    }
    text
}

fn compared(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.output(&format!("compare {line} --json --quiet"))).expect("one JSON value")
}

fn verdict(value: &Value) -> &str {
    value["verdict"].as_str().expect("a sentence")
}

/// The guess of this name.
fn guess<'a>(value: &'a Value, name: &str) -> &'a Value {
    let mut guesses = value["guesses"].as_array().expect("guesses").iter();
    guesses.find(|guess| guess["guess"] == name).unwrap_or_else(|| panic!("no {name} in {value}"))
}

#[test]
fn noise_has_no_f1_to_recommend() {
    let folder = Folder::with("noise.svm", useless(&[0.06; 10], 200, 3));
    let value = compared(&folder, "noise.svm --metric f1 --runs 2");
    let all = value["examples"].as_f64().expect("a count");
    let positives = number(&value, "/positives");
    assert!(all > 0.0 && !verdict(&value).contains("Use "), "{value}");
    assert!(verdict(&value).contains("no better than always answering +1: F1 "), "{}", verdict(&value));
    let always = number(guess(&value, "always-positive"), "/value");
    assert!((always - 2.0 * positives / (1.0 + positives)).abs() < 1e-12, "{value}");
    assert_eq!(number(guess(&value, "always-negative"), "/value"), 0.0);
}

#[test]
fn the_guess_to_beat_is_the_best_and_is_called_what_it_is() {
    // Labels alternate: the most frequent so far is always wrong, one of them half right.
    let text: String = (0..1000)
        .zip(useless(&[0.5], 1000, 5).lines())
        .map(|(at, line)| format!("{}{}\n", ["-1", "+1"][at % 2], &line[2..]))
        .collect();
    let folder = Folder::with("alternating.svm", &text);
    let value = compared(&folder, "alternating.svm --order file --learners adaptive,perceptron");
    assert_eq!(number(guess(&value, "so-far"), "/value"), 1.0);
    assert_eq!(number(guess(&value, "always-positive"), "/value"), 0.5);
    assert!(verdict(&value).contains("always answering "), "{value}");
    assert!(!verdict(&value).contains("100.00"), "{value}");
    // In the words of the data.
    let folder =
        Folder::with("names.svm", useless(&[0.1], 500, 7).replace("+1 ", "yes ").replace("-1 ", "no "));
    let value = compared(&folder, "names.svm --positive yes --metric error --runs 2 --learners perceptron");
    assert!(verdict(&value).contains("no better than always answering no: error "), "{value}");
}

#[test]
fn tasks_of_different_shares_and_useless_features_are_not_learnt() {
    let shares: Vec<f64> = (0..10).map(|task| if task < 5 { 0.05 } else { 0.95 }).collect();
    let folder = Folder::with("shares.svm", useless(&shares, 300, 11));
    for metric in ["error", "log-loss", "f1"] {
        let value = compared(&folder, &format!("shares.svm --runs 2 --metric {metric}"));
        assert!(verdict(&value).contains("no better than answering "), "{metric}: {}", verdict(&value));
        assert!(verdict(&value).contains("task"), "{metric}: {}", verdict(&value));
    }
    let value = compared(&folder, "shares.svm --runs 2 --metric auc");
    assert!(verdict(&value).contains("it tells tasks apart, not their examples"), "{}", verdict(&value));
    let best = value["learners"].as_array().expect("rows").iter().find(|row| row["name"] == value["best"]);
    let best = best.expect("the best");
    assert!(number(best, "/auc") > 0.85 && (number(best, "/auc_within_tasks") - 0.5).abs() < 0.08, "{best}");
    // Learn says it too, and so does a report.
    let ran = folder.run("learn shares.svm --quiet --order shuffle --model m.cog");
    assert!(ran.stderr.contains("note: AUC of all, 0.9"), "{}", ran.stderr);
    assert!(ran.stderr.contains("tells tasks apart rather than examples"), "{}", ran.stderr);
    let summary = folder.summary("shares.svm --order shuffle");
    assert!((number(&summary, "/auc_within_tasks") - 0.5).abs() < 0.08, "{summary}");
    assert!(folder.run("predict shares.svm --model m.cog").stderr.contains("tells tasks apart"));
    // Where every task has one label, nothing but tasks can be told apart.
    let text: String = useless(&[0.5; 6], 100, 13)
        .lines()
        .map(|line| {
            let label = if line.contains("task:t0") || line.contains("task:t1") { "+1" } else { "-1" };
            format!("{label}{}\n", &line[2..])
        })
        .collect();
    folder.write("one.svm", text);
    let value = compared(&folder, "one.svm --runs 2 --metric auc");
    assert!(!verdict(&value).contains("Use "), "{}", verdict(&value));
    // Features that tell something still win, by every metric.
    folder.write("good.svm", related(5, 1500));
    for metric in ["error", "log-loss", "f1", "auc"] {
        let value = compared(&folder, &format!("good.svm --runs 1 --metric {metric} --learners adaptive"));
        assert!(verdict(&value).starts_with("Use adaptive"), "{metric}: {}", verdict(&value));
        assert!(!verdict(&value).contains("tasks apart"), "{metric}: {}", verdict(&value));
    }
    assert_eq!(folder.summary("good.svm")["notes"], serde_json::json!([]));
}

#[test]
fn passes_over_examples_learnt_before_are_not_called_unseen() {
    let text = related(3, 300);
    let folder = Folder::with("a.svm", &text);
    folder.write("twice.svm", format!("{text}{text}"));
    folder.output("learn a.svm --quiet --model m.cog");
    let seen = |summary: &Value| -> Vec<bool> {
        let passes = summary["passes"].as_array().expect("passes").iter();
        passes.map(|pass| pass["seen_before"].as_bool().expect("a truth")).collect()
    };
    for (line, share) in [("a.svm --resume m.cog --passes 2", 100), ("twice.svm --passes 2", 50)] {
        let ran = folder.run(&format!("learn {line}"));
        assert!(!ran.stderr.contains("only pass 1 predicts unseen ones"), "{}", ran.stderr);
        let note = format!("note: about {share} % of the examples of pass 1 had been learnt before");
        assert!(ran.stderr.contains(&note), "{line}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("note: from pass 2 on, examples have been seen before"),
            "{}",
            ran.stderr
        );
        assert!(!ran.stdout.contains("\npass 1: "), "{}", ran.stdout);
        assert_eq!(seen(&folder.summary(line)), [true, true], "{line}");
    }
    let fresh = folder.summary("a.svm --passes 2");
    assert_eq!(seen(&fresh), [false, true]);
}

#[test]
fn without_weight_there_are_no_rates() {
    let text = related(3, 60).replace(" 1:", " weight:0 1:");
    let folder = Folder::with("w0.svm", &text);
    let summary = folder.summary("w0.svm --model m.cog");
    for row in [&summary, &summary["tasks"][0]] {
        for name in ["error", "constant_error", "f1", "precision", "recall", "log_loss", "auc"] {
            assert_eq!(row[name], Value::Null, "{name} of {row}");
        }
    }
    let ran = folder.run("learn w0.svm");
    assert!(!ran.stderr.contains("earlier version") && !ran.stderr.contains("0.00%"), "{}", ran.stderr);
    assert!(
        !ran.stdout.contains("0.00\u{202f}%") && ran.stdout.contains("error – (constant guess –)"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("precision –, recall –, F1 –"), "{}", ran.stdout);
    assert!(!folder.output("inspect m.cog").contains("0.00\u{202f}%"), "{}", folder.output("inspect m.cog"));
    let predicted = folder.run("predict w0.svm --model m.cog").stderr;
    assert!(predicted.contains("60 labelled examples: error –"), "{predicted}");
    folder.refused("compare w0.svm", &["every example has weight 0"]);
}

#[test]
fn the_multiclass_error_stands_beside_the_most_frequent_class() {
    // a, b, a, a, c, …: three of five lines are a.
    let class = |at: usize| ["a", "b", "a", "a", "c"][at % 5];
    let text: String =
        (0..100).map(|at| format!("{} {}:1 9:{}\n", class(at), at * 7 % 6 + 1, at % 3)).collect();
    let folder = Folder::with("classes.svm", &text);
    let summary = folder.summary("classes.svm --one-vs-all --model m.cog --report r.html");
    // The first line has nothing to guess from; from then on a leads, and 40 lines are others.
    assert_eq!(number(&summary, "/multiclass_constant_error"), 41.0 / 100.0, "{summary}");
    let said = "constant guess (the most frequent class so far) 41.00 %";
    assert!(folder.output("learn classes.svm --one-vs-all").contains(said));
    assert!(folder.text("r.html").contains("multiclass error of the constant guess"));
    let predicted = folder.run("predict classes.svm --model m.cog").stderr;
    assert!(predicted.contains(said), "{predicted}");
    // A resumed run knows which class was most frequent before.
    let resumed = folder.summary("classes.svm --one-vs-all --resume m.cog");
    assert_eq!(number(&resumed, "/multiclass_constant_error"), 0.4, "{resumed}");
    let passes = folder.summary("classes.svm --one-vs-all --passes 2");
    assert_eq!(number(&passes, "/passes/1/multiclass_constant_error"), 0.4, "{passes}");
    // Compare has both in the order of the file, where the examples of a line are together.
    let line = "classes.svm --one-vs-all --learners perceptron";
    let value = compared(&folder, &format!("{line} --order file"));
    let alone = folder.summary("classes.svm --one-vs-all --learner perceptron --set interaction=independent");
    let rows = value["learners"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).expect("a row");
    assert_eq!(
        number(row("perceptron independent"), "/multiclass_error"),
        number(&alone, "/multiclass_error")
    );
    assert_eq!(number(row("constant"), "/multiclass_error"), 0.41);
    assert!(folder.output(&format!("compare {line} --order file --quiet")).contains("multiclass"));
    let text = folder.output(&format!("compare {line} --runs 1 --quiet"));
    assert!(
        text.contains("Every line is one example of each class") && text.contains("--order file"),
        "{text}"
    );
}

#[test]
fn learners_that_know_no_weights_are_left_out_of_a_comparison() {
    let folder = Folder::with("a.svm", related(4, 400));
    let weighted: String = related(4, 400).replace(" 1:", " weight:2 1:");
    folder.write("weights.svm", weighted);
    for line in ["a.svm --class-weight balanced", "weights.svm"] {
        let ran = folder.run(&format!("compare {line} --runs 1 --quiet"));
        ran.assert_done();
        assert!(
            ran.stderr.contains("relation-perceptron is left out: it knows nothing of weights"),
            "{}",
            ran.stderr
        );
        assert!(!ran.stdout.contains("relation-perceptron"), "{}", ran.stdout);
        assert!(ran.stdout.contains("\nperceptron ") && ran.stdout.contains("\nadaptive "), "{}", ran.stdout);
        let named = "--learners relation-perceptron";
        folder.refused(
            &format!("compare {line} {named}"),
            &["relation-perceptron is left out", "none of the learners"],
        );
    }
    let text = folder.output("compare weights.svm --runs 1 --quiet --learners relation-perceptron,adaptive");
    assert!(!text.contains("perceptron"), "{text}");
}

#[test]
fn real_labels_are_compared_as_they_are() {
    let text = related(3, 300).replace("+1 ", "2.5 ").replace("-1 ", "-0.5 ");
    let folder = Folder::with("real.svm", &text);
    let value = compared(&folder, "real.svm --runs 2");
    assert_eq!(value["metric"], "rmse");
    let names: Vec<&str> =
        value["learners"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert!(names.contains(&"adaptive") && names.contains(&"passive-aggressive pooled"), "{names:?}");
    let losses = value.to_string();
    assert!(losses.contains("squares") && losses.contains("epsilon-insensitive"), "{losses}");
    assert!(verdict(&value).starts_with("Use adaptive"), "{}", verdict(&value));
    assert_eq!(guess(&value, "so-far")["value"], value["learners"][0]["value"]);
    // The same as if it had been said, also from a pipe, in other formats, and late.
    let same = |other: &Value| assert_eq!(other["learners"][1]["values"], value["learners"][1]["values"]);
    same(&compared(&folder, "real.svm --runs 2 --metric rmse"));
    let piped = folder.run_with_input("compare - --runs 2 --json --quiet", text.clone());
    piped.assert_done();
    same(&serde_json::from_str(&piped.stdout).expect("one JSON value"));
    let notes = value["notes"].to_string();
    assert!(notes.contains("Labels are real numbers: real.svm:1:1 has 2.5"), "{notes}");
    folder.write("late.svm", format!("1 task:1 1:1\n1 task:2 1:1\n-1 task:1 2:1\n{text}"));
    let notes = compared(&folder, "late.svm --runs 1")["notes"].to_string();
    assert!(notes.contains("late.svm:4:1 has "), "{notes}");
    // What says that labels are classes is believed, and bad lines are bad.
    folder.refused("compare real.svm --metric error", &["real.svm:1:1: found label"]);
    folder.refused("compare real.svm --class-weight balanced", &["real.svm:1:1: found label"]);
    folder.refused("compare real.svm --learners perceptron", &["none of the learners takes real labels"]);
    folder.write("bad.svm", format!("{text}what 1:1\n"));
    let ran = folder.refused("compare bad.svm --bad-lines bad.jsonl", &["bad.svm:301:1"]);
    assert!(ran.stderr.contains("--skip-bad"), "{}", ran.stderr);
    assert_eq!(folder.text("bad.jsonl").lines().count(), 1, "{}", folder.text("bad.jsonl"));
    compared(&folder, "bad.svm --skip-bad 1 --runs 1");
}
