//! `--query` and `--ask`: labels that are asked for, and lines that have none.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::support::{Folder, number, redacted, related};

/// Lines of a trace.
fn trace(folder: &Folder, name: &str) -> Vec<Value> {
    folder.text(name).lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

/// The same lines without their labels, which are `?` or left out.
fn unlabelled(text: &str) -> String {
    let line = |(at, line): (usize, &str)| {
        let rest = line.split_once(' ').unwrap().1;
        if at % 2 == 0 { format!("? {rest}\n") } else { format!("{rest}\n") }
    };
    text.lines().enumerate().map(line).collect()
}

/// The lines asked about, with labels from the known lines.
fn answered(asked: &str, known: &str) -> String {
    let answer = |line: &str| {
        let rest = line.strip_prefix("? ").expect("an open question");
        let full =
            known.lines().find(|full| full.split_once(' ').unwrap().1 == rest).expect("a line of ours");
        format!("{full}\n")
    };
    asked.lines().map(answer).collect()
}

#[test]
fn the_tables_have_a_column_of_labels() {
    let folder = Folder::with("a.svm", related(3, 100));
    let ran = folder.run("learn --learner perceptron a.svm --query margin --set query.margin.b=0.5");
    ran.assert_done();
    assert_snapshot!("query_stderr", redacted(&ran.stderr));
    assert_snapshot!("query_stdout", redacted(&ran.stdout));
}

#[test]
fn labels_are_counted_in_summary_trace_and_report() {
    let folder = Folder::with("a.svm", related(4, 1000));
    let flags = "--query margin --set query.margin.b=0.2 --trace t.jsonl --report r.html --model m.cog";
    let summary = folder.summary(&format!("a.svm {flags}"));
    let lines = trace(&folder, "t.jsonl");
    assert_eq!(lines.len(), 1000, "every round is in the trace");
    let asked = |task: Option<&Value>| {
        let own = lines.iter().filter(|line| task.is_none_or(|task| line["task"] == *task));
        own.filter(|line| line["queried"] == true).count() as f64
    };
    assert_eq!(number(&summary, "/queries"), asked(None));
    assert!((10.0..900.0).contains(&asked(None)), "{} of 1000 labels", asked(None));
    for row in summary["tasks"].as_array().unwrap() {
        assert_eq!(number(row, "/queries"), asked(Some(&row["task"])));
    }
    assert!(lines.iter().all(|line| line["queried"] == true || line["updated"] == false));
    assert!(lines.iter().any(|line| line["queried"] == false && line["mistake"] == true));
    let mistakes = lines.iter().filter(|line| line["mistake"] == true).count();
    assert_eq!(summary["mistakes"], mistakes, "mistakes count on every round");
    assert_eq!(summary["query"], json!({ "margin": { "b": 0.2 } }));
    assert_eq!((&summary["unlabelled"], &summary["asked"]), (&json!(0), &json!(0)));
    let page = folder.text("r.html");
    assert!(page.contains("Error so far against labels asked for") && page.contains("labels asked for</"));
    let inspected: Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    assert_eq!(inspected["queries"], summary["queries"]);
    assert_eq!(inspected["config"]["query"], summary["query"]);
    assert!(folder.output("inspect m.cog").contains(" asked for\n"));
}

#[test]
fn a_run_that_asks_for_all_says_nothing_of_labels() {
    let folder = Folder::with("a.svm", related(3, 200));
    let plain = folder.run("learn a.svm --report r.html --model m.cog");
    assert!(!plain.stdout.contains("labels") && !plain.stderr.contains("labels"));
    assert!(!folder.text("r.html").contains("abels asked for"));
    folder.output("learn a.svm --quiet --query all --seed 5 --model all.cog");
    assert_eq!(folder.read("m.cog"), folder.read("all.cog"));
    assert!(!folder.output("inspect m.cog").contains("query"));
}

#[test]
fn a_query_is_a_flag_a_parameter_or_a_table() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.write("q.toml", "[query.margin]\nb = 0.25\n");
    folder.write("bare.toml", "query = \"relation\"\n");
    for (flags, expected) in [
        ("--query margin", json!({ "margin": { "b": 1.0 } })),
        ("--query relation", json!({ "relation": { "scale": 1.0 } })),
        ("--query margin --set query.margin.b=2", json!({ "margin": { "b": 2.0 } })),
        ("--set query.relation.scale=0.5", json!({ "relation": { "scale": 0.5 } })),
        ("--set query=margin", json!({ "margin": { "b": 1.0 } })),
        ("--config q.toml", json!({ "margin": { "b": 0.25 } })),
        ("--config q.toml --query margin", json!({ "margin": { "b": 0.25 } })),
        ("--config q.toml --query relation", json!({ "relation": { "scale": 1.0 } })),
        ("--config q.toml --query all", json!({ "all": {} })),
        ("--config bare.toml", json!({ "relation": { "scale": 1.0 } })),
        ("", json!({ "all": {} })),
    ] {
        assert_eq!(folder.summary(&format!("a.svm {flags}"))["query"], expected, "{flags}");
    }
}

#[test]
fn a_query_that_cannot_be_is_refused() {
    let folder = Folder::with("a.svm", related(3, 30));
    for (flags, message) in [
        ("--query margins", "--query margins: unknown variant `margins`, expected one of `margin`, "),
        ("--query margin --set query.margin.b=0", "query.margin.b: must be positive and finite, got 0"),
        ("--set query.margin.b=-1", "query.margin.b: must be positive and finite, got -1"),
        ("--set query.relation.scale=inf", "--set query.relation.scale=inf: must be a finite number"),
        ("--set query.margin.c=1", "--set query.margin.c=1: unknown field `c`, expected `b`"),
        (
            "--learner schatten-perceptron --query margin",
            "query: must be `all`: `schatten-perceptron` learns from all tasks of a round at once",
        ),
        (
            "--learner shared-loss-perceptron --simultaneous --query relation",
            "query: must be `all`: `shared-loss-perceptron` learns from all tasks of a round at once",
        ),
    ] {
        folder.refused(&format!("learn a.svm --quiet --model m.cog {flags}"), &[message]);
        assert_eq!(folder.names(), ["a.svm"]);
    }
}

#[test]
fn threads_change_nothing_and_a_resumed_run_is_the_unbroken_one() {
    let text = related(5, 3000);
    let (first, second) = text.split_at(text[..text.len() / 3].rfind('\n').unwrap() + 1);
    let folder = Folder::with("all.svm", &text);
    folder.write("a.svm", first);
    folder.write("b.svm", second);
    for flags in [
        "--query margin",
        "--query margin --set query.margin.b=0.1 --seed 7",
        "--query relation --set interaction=pairwise --normalize l2",
        "--query relation --set interaction.coupled.b=auto --tasks 5",
        "--query margin --simultaneous",
    ] {
        folder.output(&format!(
            "learn all.svm --quiet {flags} --threads 1 --overwrite --model one.cog --trace one.jsonl"
        ));
        folder.output(&format!("learn all.svm --quiet {flags} --threads 2 --overwrite --model two.cog"));
        assert_eq!(folder.read("one.cog"), folder.read("two.cog"), "{flags}");
        folder.output(&format!("learn a.svm --quiet {flags} --overwrite --model a.cog --trace a.jsonl"));
        // Neither the query nor its seed need be given again.
        folder.output("learn b.svm --quiet --resume a.cog --overwrite --model b.cog --trace b.jsonl");
        assert_eq!(folder.read("one.cog"), folder.read("b.cog"), "{flags}");
        let parts = [folder.read("a.jsonl"), folder.read("b.jsonl")].concat();
        assert_eq!(folder.read("one.jsonl"), parts, "{flags}");
    }
}

#[test]
fn a_resumed_model_keeps_its_query_until_another_is_named() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output(
        "learn a.svm --quiet --query margin --set query.margin.b=0.5 --seed 3 --overwrite --model m.cog",
    );
    let query = |flags: &str| {
        folder.summary(&format!("a.svm --resume m.cog --overwrite --model n.cog {flags}"))["query"].clone()
    };
    assert_eq!(query(""), json!({ "margin": { "b": 0.5 } }));
    assert_eq!(query("--query margin"), json!({ "margin": { "b": 0.5 } }), "the same, with its parameters");
    assert_eq!(query("--query relation"), json!({ "relation": { "scale": 1.0 } }));
    let summary = folder.summary("a.svm --resume m.cog --overwrite --model n.cog --query all");
    assert_eq!(summary["query"], json!({ "all": {} }));
    assert_eq!(summary["config"].get("seed"), None, "nothing is drawn, so there is no seed");
    let learnt = folder.summary("a.svm --resume n.cog --query margin --seed 4");
    assert_eq!(learnt["config"]["seed"], 4, "what is learnt does not depend on how labels are asked for");
    folder.refused(
        "learn a.svm --quiet --resume m.cog --query margin --set query.margin.b=0",
        &["query.margin.b: must be positive and finite, got 0"],
    );
}

#[test]
fn every_unlabelled_line_is_asked_for_without_a_query() {
    let text = related(3, 40);
    let folder = Folder::with("a.svm", &text);
    folder.write("u.svm", unlabelled(&text));
    folder.output("learn a.svm --quiet --model m.cog");
    let ran =
        folder.run("learn u.svm --quiet --resume m.cog --model n.cog --ask ask.svm --trace t.jsonl --json");
    ran.assert_done();
    assert_eq!(ran.stderr, "ask: ask.svm holds 40 of 40 lines without a label\n");
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    for (field, expected) in [("examples", 40), ("run_examples", 0), ("unlabelled", 40), ("asked", 40)] {
        assert_eq!(summary[field], expected, "{field}");
    }
    let expected: String =
        text.lines().map(|line| format!("? {}\n", line.split_once(' ').unwrap().1)).collect();
    assert_eq!(folder.text("ask.svm"), expected);
    let lines = trace(&folder, "t.jsonl");
    assert_eq!((lines.len(), &lines[0]["t"]), (40, &json!(41)));
    for line in lines {
        assert!(line["label"].is_null() && line["mistake"].is_null() && line["margin"].is_number());
        assert!(line["updated"] == false && line["queried"] == true);
    }
    let weights = |model: &str| folder.output(&format!("inspect {model} --weights"));
    assert_eq!(weights("m.cog"), weights("n.cog"), "nothing was learnt");
    assert!(folder.output("inspect n.cog").contains("unlabelled  40 (40 asked for)"));
}

#[test]
fn unlabelled_lines_are_told_of_when_nobody_lists_them() {
    let folder = Folder::with("u.svm", "+1 qid:1 1:1\n? qid:1 1:1\nqid:2 2:1\n");
    let ran = folder.run("learn u.svm --quiet");
    ran.assert_done();
    assert_eq!(
        ran.stderr,
        "warning: 2 lines without a label were predicted only; --ask FILE lists them to be labelled\n"
    );
    assert!(ran.stdout.contains("\n1 examples and 2 lines without a label in "), "{}", ran.stdout);
    folder.write("only.svm", "qid:1 1:1\n");
    let ran = folder.run("learn only.svm --quiet --ask ask.svm");
    assert_eq!(ran.stderr, "ask: ask.svm holds 1 of 1 lines without a label\n");
    folder.output("learn u.svm --quiet --query margin --report r.html");
    assert!(folder.text("r.html").contains("without a label"));
}

#[test]
fn a_query_chooses_among_unlabelled_lines() {
    let text = related(3, 600);
    let folder = Folder::with("a.svm", text.split_inclusive('\n').take(300).collect::<String>());
    folder.write("u.svm", unlabelled(&text));
    folder.output("learn a.svm --quiet --query margin --set query.margin.b=0.1 --model m.cog");
    let summary = folder.summary("u.svm --resume m.cog --ask ask.svm --trace t.jsonl");
    let asked = folder.text("ask.svm").lines().count();
    assert_eq!((&summary["asked"], &summary["unlabelled"]), (&json!(asked), &json!(600)));
    assert!((10..500).contains(&asked), "{asked} of 600");
    let lines = trace(&folder, "t.jsonl");
    let margin = |queried: bool| {
        let margins = lines.iter().filter(|line| line["queried"] == queried);
        let margins: Vec<f64> = margins.map(|line| line["margin"].as_f64().unwrap().abs()).collect();
        margins.iter().sum::<f64>() / margins.len() as f64
    };
    assert!(margin(true) < margin(false), "the unsure ones are asked for");
}

/// Lines are written as they were read, so that scaling them on their return gives the same as the first time.
#[test]
fn answers_teach_what_labelled_lines_would_have_taught() {
    let text = related(3, 200);
    let (first, second) = text.split_at(text[..text.len() / 2].rfind('\n').unwrap() + 1);
    let folder = Folder::with("a.svm", first);
    folder.write("b.svm", second);
    folder.write("u.svm", unlabelled(second));
    for flags in ["", "--normalize l2 --bias", "--clip 0.5 --learner kernel-perceptron"] {
        folder.output(&format!("learn a.svm --quiet {flags} --overwrite --model m.cog"));
        folder.output("learn b.svm --quiet --resume m.cog --overwrite --model direct.cog");
        folder.output("learn u.svm --quiet --resume m.cog --overwrite --model waiting.cog --ask ask.svm");
        folder.write("answers.svm", answered(&folder.text("ask.svm"), second));
        folder.output(
            "learn answers.svm --quiet --resume waiting.cog --query all --overwrite --model answered.cog",
        );
        let weights = |model: &str| folder.output(&format!("inspect {model} --weights"));
        assert_eq!(weights("direct.cog"), weights("answered.cog"), "{flags}");
        assert_ne!(weights("waiting.cog"), weights("answered.cog"), "{flags}");
    }
}

#[test]
fn comments_tasks_and_odd_numbers_come_back_as_they_were() {
    let lines = "  ? task:größe 1:1e-3 2:+5 # id 17 \u{7f}\nqid:007 1:0.10\n1:1 3:2   # no task\n?\n";
    let folder = Folder::with("u.svm", lines.replace('\n', "\r\n"));
    folder.output("learn u.svm --quiet --normalize l2 --bias --ask ask.svm --order shuffle --seed 1");
    let mut asked: Vec<String> = folder.text("ask.svm").lines().map(str::to_owned).collect();
    asked.sort();
    let mut expected =
        ["? task:größe 1:1e-3 2:+5 # id 17 \u{7f}", "? qid:007 1:0.10", "? 1:1 3:2   # no task", "?"];
    expected.sort_unstable();
    assert_eq!(asked, expected);
    folder.output("learn u.svm --quiet --model m.cog");
    let predicted = folder.output("predict ask.svm --model m.cog");
    assert_eq!(predicted.lines().count(), 5, "what is asked can be read: {predicted}");
}

/// Nothing waits for a label: a line that still has none is predicted again, and teaches nothing.
#[test]
fn a_label_that_never_comes_is_never_learnt() {
    let folder = Folder::with("u.svm", "qid:1 1:1\nqid:1 2:1\nqid:2 3:1\n");
    folder.output("learn u.svm --quiet --model m.cog --ask ask.svm");
    assert_eq!(folder.text("ask.svm"), "? qid:1 1:1\n? qid:1 2:1\n? qid:2 3:1\n");
    folder.write("half.svm", folder.text("ask.svm").replacen("? qid:1 2:1", "-1 qid:1 2:1", 1));
    let summary = folder.summary("half.svm --resume m.cog --query all --model n.cog --ask again.svm");
    for (field, expected) in [("examples", 1), ("updates", 1), ("unlabelled", 5), ("asked", 5)] {
        assert_eq!(summary[field], expected, "{field}");
    }
    assert_eq!(folder.text("again.svm"), "? qid:1 1:1\n? qid:2 3:1\n", "what is open may be asked again");
    let weights = folder.output("inspect n.cog --weights");
    assert!(weights.contains(",2,-") && !weights.contains(",1,") && !weights.contains(",3,"), "{weights}");
}

/// Lines are not recognised: the same answer given twice is two examples.
#[test]
fn a_line_labelled_twice_is_learnt_twice() {
    let folder = Folder::with("a.svm", "+1 1:10\n");
    folder.write("u.svm", "1:1\n");
    folder.output("learn a.svm --quiet --model m.cog");
    folder.output("learn u.svm --quiet --resume m.cog --model m.cog --ask ask.svm");
    folder.write("answers.svm", folder.text("ask.svm").replace('?', "-1"));
    let twice = folder.summary("answers.svm answers.svm --resume m.cog --query all");
    assert_eq!(
        (&twice["run_examples"], &twice["updates"]),
        (&json!(2), &json!(3)),
        "both answers were mistakes"
    );
}

#[test]
fn an_ask_file_that_cannot_be_written_is_refused_first() {
    let folder = Folder::with("a.svm", "+1 1:1\n1:1\n");
    folder.write("t.jsonl", "kept\n");
    for (path, message) in [
        ("none/ask.svm", "error: --ask none/ask.svm: "),
        (".", "error: --ask .: "),
        ("-", "error: --ask -: standard output carries the summary; name a file"),
        ("a.svm", "error: --ask a.svm: is one of the files to learn from"),
    ] {
        folder
            .refused(&format!("learn a.svm --quiet --model m.cog --trace t.jsonl --ask {path}"), &[message]);
        assert_eq!(folder.names(), ["a.svm", "t.jsonl"], "{path}");
        assert_eq!(folder.text("t.jsonl"), "kept\n", "nothing is overwritten");
    }
    assert_eq!(folder.text("a.svm"), "+1 1:1\n1:1\n");
    if std::path::Path::new("/dev/full").exists() {
        folder.refused(
            "learn a.svm --quiet --model m.cog --ask /dev/full",
            &["error: --ask /dev/full: No space"],
        );
    }
    folder.output("learn a.svm --quiet --ask b.svm");
    folder.write("c.svm", "+1 1:1\n");
    folder.output("learn c.svm --quiet --ask b.svm");
    assert_eq!(folder.text("b.svm"), "", "a run that asks for nothing leaves an empty list");
}

#[test]
fn rounds_need_all_their_labels() {
    let folder = Folder::with("u.svm", "+1 qid:1 1:1\n-1 qid:2 1:1\n? qid:1 1:1\n+1 qid:2 1:1\n");
    for (flags, what) in
        [("--simultaneous", "a simultaneous stream"), ("--order adversarial", "a stream in adversarial")]
    {
        let message = format!("error: u.svm:3: round 2 has no label for task 1; {what}");
        folder.refused(
            &format!("learn u.svm --quiet --ask ask.svm --overwrite --model m.cog {flags}"),
            &[&message, "hint: label it, or learn one example per round"],
        );
    }
}

#[test]
fn bounds_need_every_label() {
    let folder = Folder::with("u.svm", "+1 qid:1 1:1\n? qid:1 1:1\n");
    folder.write("a.svm", related(3, 60));
    folder.output("learn --learner perceptron u.svm --quiet --model u.cog");
    let expected = "expected -1 or +1, or 0 or 1";
    folder.refused("bound u.svm --model u.cog", &["error: u.svm:2:1: found label \"?\"", expected]);
    folder.write("u.svm", "+1 qid:1 1:1\nqid:1 1:1\n");
    folder.refused("bound u.svm --model u.cog", &["error: u.svm:2:1: found \"qid:1\"; expected a label"]);
    folder.output("learn --learner perceptron a.svm --quiet --query margin --model a.cog");
    folder.refused("bound a.svm --model a.cog", &["error: a.cog: not every label was asked for"]);
}
