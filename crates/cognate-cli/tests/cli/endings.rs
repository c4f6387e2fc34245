//! Whatever ends a run, the model learnt so far is saved, and the exit code tells.

use std::fmt::Write as _;
use std::fs;

use super::outputs::bash;
use super::support::{Folder, PATIENCE, Ran, number, related};

const FULL: &str = "No space left on device";

/// Examples in a model.
fn examples(folder: &Folder, model: &str) -> f64 {
    let inside = serde_json::from_str(&folder.output(&format!("inspect {model} --json"))).unwrap();
    number(&inside, "/examples")
}

/// A folder with 3,000 good lines, and a model of other lines.
fn folder() -> Folder {
    let folder = Folder::with("a.svm", related(3, 3000));
    folder.write("old.svm", related(2, 20));
    folder.output("learn old.svm --quiet --model m.cog");
    folder
}

/// Lines without a label.
fn unlabelled(lines: u64) -> String {
    related(3, lines).lines().fold(String::new(), |mut text, line| {
        writeln!(text, "? {}", line.split_once(' ').unwrap().1).unwrap();
        text
    })
}

#[test]
fn a_full_disk_for_trace_ask_file_or_report_does_not_lose_the_model() {
    let unlabelled = related(3, 1) + &unlabelled(3000);
    for (flag, content, learnt) in [
        // A trace that cannot be written ends the run, at a batch.
        ("--trace", related(3, 3000), 1.0),
        ("--ask", unlabelled, 1.0),
        ("--report", related(3, 3000), 3000.0),
    ] {
        let folder = folder();
        folder.write("a.svm", content);
        let ran = folder.refused(
            &format!("learn a.svm --quiet --overwrite --model m.cog {flag} /dev/full"),
            &[
                &format!("error: {flag} /dev/full: "),
                FULL,
                "the model is saved in m.cog, with the ",
                " examples",
            ],
        );
        assert_eq!(ran.stderr.matches("saved in").count(), 1, "{}", ran.stderr);
        assert!(examples(&folder, "m.cog") >= learnt, "{flag}");
        assert_ne!(folder.text("old.svm"), "", "other files stay");
    }
}

#[test]
fn a_full_disk_for_the_report_of_a_fit_does_not_lose_the_model() {
    let folder = Folder::with("a.svm", related(2, 60));
    folder.refused(
        "fit a.svm --quiet --model m.cog --report /dev/full",
        &["error: --report /dev/full: ", FULL, "the model is saved in m.cog"],
    );
    folder.output("inspect m.cog");
}

#[test]
fn all_that_went_wrong_is_told() {
    let folder = folder();
    folder.write("bad.svm", related(3, 3000) + "+1 qid:1 1:x\n");
    let line = "learn bad.svm --quiet --overwrite --model m.cog --trace /dev/full --threads 1";
    let ran = folder.refused(line, &["error: --trace /dev/full: ", "the model is saved in m.cog"]);
    assert!(ran.stderr.matches("error: ").count() >= 1, "{}", ran.stderr);
    let ran = folder.refused(
        "learn a.svm --quiet --overwrite --model m.cog --trace /dev/full --report /dev/full",
        &[FULL],
    );
    assert!(
        ran.stderr.contains("error: --trace") && ran.stderr.contains("error: --report"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_bad_line_in_the_middle_saves_what_was_learnt_before_it() {
    let folder = folder();
    folder.write("bad.svm", related(3, 2500) + "+1 qid:1 1:x\n" + &related(3, 10));
    for flags in ["", "--threads 1"] {
        folder.refused(
            &format!("learn bad.svm --quiet --overwrite --model m.cog {flags}"),
            &["error: bad.svm:2501:12: found value \"x\"", "m.cog, with the 2,500 examples that were learnt"],
        );
        folder.write("good.svm", related(3, 2500));
        folder.output("learn good.svm --quiet --overwrite --model good.cog");
        assert_eq!(folder.read("m.cog"), folder.read("good.cog"), "as if the stream had ended there {flags}");
    }
    folder.write("two.svm", related(3, 2500) + "+1 qid:1 1:x\n+1 qid:1 1:y\n");
    folder.refused(
        "learn two.svm --quiet --skip-bad 1 --overwrite --model m.cog",
        &["error: two.svm:2502:12: found value \"y\"", "with the 2,500 examples"],
    );
    assert_eq!(folder.read("m.cog"), folder.read("good.cog"));
}

#[test]
fn a_bad_first_line_leaves_the_old_model() {
    let folder = folder();
    let before = folder.read("m.cog");
    folder.write("bad.svm", "+1 qid:1 1:x\n");
    folder.refused(
        "learn bad.svm --quiet --overwrite --model m.cog",
        &["found value \"x\"", "m.cog is left as it was"],
    );
    assert_eq!(folder.read("m.cog"), before);
}

#[test]
fn an_input_that_teaches_nothing_leaves_the_old_model() {
    let folder = folder();
    let before = folder.read("m.cog");
    let learn = "learn - --quiet --overwrite --model m.cog";
    let left = "m.cog is left as it was\n";
    for (line, input, what) in [
        (learn.to_owned(), String::new(), "example"),
        (format!("{learn} --threads 1 --report r.html"), "# nothing\n\n".to_owned(), "example"),
        (format!("{learn} --skip-bad 9"), "+1 1:x\nx\n".to_owned(), "example"),
        (format!("{learn} --format csv"), "label,x\n".to_owned(), "example"),
        (learn.to_owned(), unlabelled(20), "example with a label"),
        (format!("{learn} --save-every 1"), unlabelled(3000), "example with a label"),
        (format!("{learn} --order shuffle"), String::new(), "example"),
    ] {
        let ran = folder.run_with_input(&line, input);
        ran.assert_refused(&[]);
        let told = format!("error: standard input holds no {what}, and nothing was learnt; {left}");
        assert!(ran.stderr.ends_with(&told), "{line}: {}", ran.stderr);
        assert!(folder.read("m.cog") == before, "{line}");
    }
    let ran = folder.run_with_input(&format!("{learn} --skip-bad 9"), "+1 1:x\nx\n");
    assert!(ran.stderr.starts_with("warning: skipped 2 bad lines\n"), "{}", ran.stderr);
    folder.write("empty.svm", "");
    folder.refused(
        "learn empty.svm empty.svm --quiet --overwrite --model m.cog",
        &["error: none of the 2 files holds an example, and nothing was learnt; m.cog is left as it was"],
    );
    // A bad line behind lines without labels.
    let ran = folder.run_with_input(learn, unlabelled(20) + "+1 1:x\n");
    ran.assert_refused(&["found value \"x\"", left]);
    assert!(folder.read("m.cog") == before);
    assert_eq!(folder.names(), ["a.svm", "empty.svm", "m.cog", "old.svm"]);
}

#[test]
fn nothing_is_lost_where_a_model_goes_on_or_none_is_there() {
    let folder = folder();
    let before = folder.read("m.cog");
    for model in ["m.cog", "n.cog"] {
        let ran = folder.run_with_input(&format!("learn - --quiet --resume m.cog --model {model}"), "");
        ran.assert_done();
        assert_eq!(ran.stderr, "warning: standard input holds no examples\n");
        assert!(folder.read(model) == before, "{model}: unchanged");
    }
    folder.run_with_input("learn - --quiet --ask ask.svm --model u.cog", unlabelled(20)).assert_done();
    assert!(folder.output("inspect u.cog").contains("unlabelled  20 (20 asked for)"));
}

#[test]
fn a_bad_line_of_a_stream_that_is_put_in_order_says_that_nothing_was_learnt() {
    let folder = folder();
    let before = folder.read("m.cog");
    folder.write("bad.svm", related(3, 30) + "+1 qid:1 1:x\n");
    let all = "nothing was learnt, because all lines are read before they are put in order";
    for order in ["shuffle", "interleave"] {
        let line = format!("learn bad.svm --quiet --order {order}");
        let ran = folder.refused(&line, &["error: bad.svm:31:12: ", all, "(--skip-bad N skips"]);
        assert!(!ran.stderr.contains("m.cog"), "{}", ran.stderr);
        let told = format!("{all}; m.cog is left as it was\n");
        folder.refused(&format!("{line} --overwrite --model m.cog"), &[&told]);
        assert!(folder.read("m.cog") == before);
    }
}

#[test]
fn a_second_file_that_is_missing_saves_what_the_first_taught() {
    let folder = folder();
    folder.refused(
        "learn a.svm gone.svm --quiet --overwrite --model m.cog",
        &["error: gone.svm: No such file", "m.cog, with the 3,000 examples that were learnt"],
    );
    assert!((examples(&folder, "m.cog") - 3000.0).abs() < 0.5);
}

#[test]
fn a_broken_round_saves_the_rounds_before_it() {
    let folder = folder();
    folder.write("bad.svm", related(3, 2100) + "+1 qid:1 1:1\n+1 qid:1 1:1\n+1 qid:2 1:1\n");
    folder.refused(
        "learn bad.svm --quiet --simultaneous --overwrite --model m.cog",
        &["has task 1 twice", "with the 2,100 examples that were learnt"],
    );
    folder.write("good.svm", related(3, 2100));
    folder.output("learn good.svm --quiet --simultaneous --overwrite --model good.cog");
    assert_eq!(folder.read("m.cog"), folder.read("good.cog"));
}

#[test]
fn a_cut_archive_saves_what_came_before_the_cut() {
    let folder = folder();
    assert_eq!(bash(&folder, "gzip -c a.svm | head -c 40000 > cut.svm.gz").code, Some(0));
    folder.refused(
        "learn cut.svm.gz --quiet --overwrite --model m.cog",
        &["error: cut.svm.gz: ", "the model is saved in m.cog"],
    );
    assert!(examples(&folder, "m.cog") > 100.0);
}

#[test]
fn a_learner_that_diverges_leaves_the_old_model() {
    let folder = folder();
    let before = folder.read("m.cog");
    folder.write("huge.svm", "+1 1:1e150\n-1 2:1e150\n+1 1:1e150 2:1e150\n-1 1:1e150 2:1e150\n".repeat(20));
    let line = "learn huge.svm --quiet --overwrite --model m.cog --learner kernel-perceptron --set kernel.polynomial.degree=3";
    let ran = folder.run(line);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("m.cog is left as it was"), "{}", ran.stderr);
    assert_eq!(folder.read("m.cog"), before);
}

#[test]
fn a_closed_standard_output_does_not_lose_the_model() {
    let folder = folder();
    let ran = bash(&folder, "$cognate learn a.svm --overwrite --model m.cog --quiet | true");
    assert_eq!(ran.code, Some(0), "a closed pipe is success: {ran:?}");
    assert!((examples(&folder, "m.cog") - 3000.0).abs() < 0.5);
    let ran = bash(&folder, "$cognate learn old.svm --overwrite --model m.cog --quiet > /dev/full");
    ran.assert_refused(&[
        "error: standard output: ",
        FULL,
        "the model is saved in m.cog, with the 20 examples",
    ]);
    assert!((examples(&folder, "m.cog") - 20.0).abs() < 0.5, "the model was saved before");
}

#[test]
fn a_closed_pipe_for_the_trace_is_an_error_and_not_success() {
    let folder = folder();
    folder.write("long.svm", related(3, 60_000));
    assert_eq!(bash(&folder, "mkfifo pipe").code, Some(0));
    let ran = bash(
        &folder,
        "head -c 10 pipe > first & $cognate learn long.svm --quiet --overwrite --model m.cog --trace pipe",
    );
    ran.assert_refused(&["error: --trace pipe: Broken pipe", "the model is saved in m.cog"]);
    assert!(examples(&folder, "m.cog") > 0.0);
}

#[test]
fn a_full_disk_for_the_model_keeps_the_trace_and_says_so() {
    let features: Vec<String> = (1..3000).map(|feature| format!("{feature}:1")).collect();
    let folder = Folder::with("a.svm", format!("+1 qid:1 {}\n", features.join(" ")));
    folder.write("old.svm", related(2, 20));
    folder.output("learn old.svm --quiet --overwrite --model m.cog");
    let before = folder.read("m.cog");
    let line = "trap '' XFSZ; ulimit -f 8; exec $cognate learn a.svm --quiet --overwrite --model m.cog --trace t.jsonl";
    bash(&folder, line)
        .assert_refused(&["error: m.cog: cannot write the model: ", "m.cog is left as it was"]);
    assert_eq!(folder.read("m.cog"), before);
    assert_eq!(folder.text("t.jsonl").lines().count(), 1);
}

/// A feature and a task that would clear the screen, turn text around and hide a part of themselves.
const HOSTILE: &str = "a\u{1b}[2J\u{202e}b\u{200b}";
const TASK: &str = "a\u{9b}2J\u{202e}b\u{200b}";
const SHOWN: &str = r"a\u{9b}2J\u{202e}b\u{200b}";

#[test]
fn names_from_data_cannot_control_the_terminal() {
    let mut text = String::new();
    for at in 0..40 {
        let (task, label) = (if at % 2 == 0 { TASK } else { "plain" }, at % 3 % 2);
        let features = serde_json::json!({ HOSTILE: at % 5, format!("{HOSTILE}2"): 1 });
        let line = serde_json::json!({ "task": task, "label": label, "features": features });
        writeln!(text, "{line}").unwrap();
    }
    let folder = Folder::with("a.jsonl", &text);
    folder.write("b.jsonl", format!("{}\n", serde_json::json!({ "task": TASK, "label": 1, HOSTILE: 1 })));
    folder.write(&format!("{HOSTILE}.svm"), "+1 1:x\n");
    let clean = |text: &str| !text.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{200b}']);
    let explain = ["inspect", "m.cog", "--explain", TASK];
    let file = format!("{HOSTILE}.svm");
    for (line, code, shows) in [
        (&["learn", "a.jsonl", "--format", "jsonl", "--model", "m.cog"][..], 0, true),
        (&["inspect", "m.cog"], 0, false),
        (&explain, 0, true),
        (&["inspect", "m.cog", "--explain", "no\u{1b}body"], 2, true),
        (&["relations", "m.cog"], 0, true),
        (&["learn", "b.jsonl", "--resume", "m.cog"], 2, true),
        (&["compare", "a.jsonl", "--format", "jsonl", "--runs", "1", "--learners", "perceptron"], 0, false),
        (&["fit", "a.jsonl", "--format", "jsonl"], 0, true),
        (&["learn", "a.jsonl", "--format", "jsonl", "--tasks", "plain"], 2, false),
        (&["learn", &file], 2, true),
        (&["learn", "a.jsonl", "--format", "jsonl", "--trace", "no/\u{1b}"], 2, false),
    ] {
        let mut command = folder.command("");
        let ran = Ran::of(command.args(line).timeout(PATIENCE));
        assert_eq!(ran.code, Some(code), "{line:?}: {ran:?}");
        assert!(clean(&ran.stdout) && clean(&ran.stderr), "{line:?}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let shown = said.contains(r"\u{202e}") || said.contains(r"\u{1b}");
        assert!(shown || !shows, "{line:?}: the name is shown all the same: {ran:?}");
    }
    assert!(folder.output("relations m.cog").contains(SHOWN));
    let weights = folder.output("inspect m.cog --weights");
    assert!(weights.contains(HOSTILE), "data stay exact: {weights}");
    let json: serde_json::Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    assert!(json.to_string().contains('\u{202e}'), "{json}");
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.write("edges.csv", "1,2\n");
    folder.write("c.toml", "[learner.perceptron]\n");
    folder.write("g.toml", "[learner.perceptron.interaction.graph]\nfile = \"edges.csv\"\n");
    folder.output("learn a.svm --quiet --model m.cog");
    fs::hard_link(folder.path("a.svm"), folder.path("hard.svm")).unwrap();
    fs::hard_link(folder.path("m.cog"), folder.path("hard.cog")).unwrap();
    std::os::unix::fs::symlink("a.svm", folder.path("soft.svm")).unwrap();
    std::os::unix::fs::symlink("m.cog", folder.path("soft.cog")).unwrap();
    let before: Vec<Vec<u8>> = folder.names().iter().map(|name| folder.read(name)).collect();
    let names = folder.names();
    let data = "is one of the files to learn from";
    let both = "is also written by --";
    for (line, message) in [
        ("learn a.svm --model hard.svm", data),
        ("learn a.svm --trace hard.svm", data),
        ("learn hard.svm --ask ./a.svm", data),
        ("learn soft.svm --report hard.svm", data),
        ("learn a.svm --trace t --report t", both),
        ("learn a.svm --trace ./t --ask t", both),
        ("learn a.svm --model hard.cog --trace soft.cog", both),
        ("learn a.svm --resume m.cog --model n.cog --trace hard.cog", "is the model to resume"),
        ("learn a.svm --config c.toml --trace c.toml", "is the config file"),
        ("learn a.svm --config g.toml --report edges.csv", "is a file that a parameter names"),
        (
            "learn a.svm --learner perceptron --set interaction.graph.file=edges.csv --model edges.csv",
            "a parameter",
        ),
        ("fit a.svm --model soft.svm", data),
        ("fit a.svm --model x --report x", both),
        ("fit a.svm --config c.toml --report c.toml", "is the config file"),
        ("compare a.svm --report hard.svm", data),
        ("relations m.cog --svg soft.cog", "is the model"),
        ("relations m.cog --graph hard.cog", "is the model"),
        ("relations m.cog --graph x.svg --svg x.svg", both),
        ("demo --out x --stream x", both),
        ("demo --out x --picture ./x", both),
    ] {
        folder.refused(&format!("{line} --quiet"), &["error: --", message]);
        assert_eq!(folder.names(), names, "{line}");
    }
    for line in [
        "$cognate predict a.svm --model m.cog >> hard.svm",
        "$cognate predict - --model m.cog < a.svm >> hard.svm",
        "$cognate inspect m.cog --weights >> soft.cog",
        "$cognate relations m.cog >> hard.cog",
        "$cognate learn a.svm --quiet >> a.svm",
        "$cognate learn - --quiet --model n.cog < a.svm >> soft.svm",
    ] {
        bash(&folder, line).assert_refused(&["error: standard output: is "]);
    }
    bash(&folder, "$cognate learn - --quiet --model hard.svm < a.svm").assert_refused(&[data]);
    let after: Vec<Vec<u8>> = names.iter().map(|name| folder.read(name)).collect();
    assert!(before == after, "nothing was written");
    // What may be the same: the model that is continued, and devices.
    folder.output("learn a.svm --quiet --resume m.cog --model soft.cog");
    folder.output("learn a.svm --quiet --trace /dev/null --report /dev/null");
    assert!(fs::symlink_metadata(folder.path("soft.cog")).unwrap().is_symlink());
}
