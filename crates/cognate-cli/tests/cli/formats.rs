//! `--format`, names of features, `--one-vs-all`: as a user meets them.

use super::support::{Folder, redacted};

const CSV: &str = "\
user,label,size,colour
ann,1,2.5,red
bob,-1,0.5,blue
ann,-1,,blue
bob,1,3,red
ann,1,2,red
bob,-1,1,green
";

const CSV_FLAGS: &str = "--format csv --task-column user";

const JSONL: &str = "\
{\"task\":\"ann\",\"label\":1,\"features\":{\"size\":2.5,\"colour\":\"red\"}}
{\"task\":\"bob\",\"label\":-1,\"features\":{\"size\":0.5,\"colour\":\"blue\"}}
{\"task\":\"ann\",\"label\":-1,\"features\":{\"colour\":\"blue\"}}
{\"task\":\"bob\",\"label\":1,\"features\":{\"size\":3,\"colour\":\"red\"}}
{\"task\":\"ann\",\"label\":1,\"features\":{\"size\":2,\"colour\":\"red\"}}
{\"task\":\"bob\",\"label\":-1,\"features\":{\"size\":1,\"colour\":\"green\"}}
";

const VW: &str = "\
1 'ann | size:2.5 colour=red
-1 'bob | size:0.5 colour=blue
-1 'ann | colour=blue
1 bob| size:3 colour=red
1 ann| size:2 colour=red
-1 bob| size:1 colour=green
";

/// What was predicted, without the places of the examples.
fn answers(csv: &str) -> Vec<String> {
    csv.lines().skip(1).map(|row| row.splitn(3, ',').nth(2).unwrap().to_owned()).collect()
}

fn folder() -> Folder {
    let folder = Folder::with("a.csv", CSV);
    folder.write("a.jsonl", JSONL);
    folder.write("a.vw", VW);
    folder
}

#[test]
fn the_three_formats_learn_the_same_and_explain_it_by_name() {
    let folder = folder();
    folder.output(&format!("learn a.csv {CSV_FLAGS} --quiet --learner perceptron --model csv.cog"));
    folder.output("learn a.jsonl --format jsonl --quiet --learner perceptron --model jsonl.cog");
    folder.output("learn a.vw --format vw --quiet --learner perceptron --model vw.cog");
    let weights = folder.output("inspect csv.cog --weights");
    assert!(weights.contains("\nann,colour=red,"), "{weights}");
    for other in ["jsonl", "vw"] {
        assert_eq!(folder.output(&format!("inspect {other}.cog --weights")), weights, "{other}");
    }
    insta::assert_snapshot!("explain_names", folder.output("inspect csv.cog --explain ann"));
    insta::assert_snapshot!("inspect_names", redacted(&folder.output("inspect csv.cog")));
    let margins = answers(&folder.output("predict a.csv --model csv.cog"));
    // A model predicts every format that gives its features, whichever it was learnt from.
    for file in ["csv", "jsonl", "vw"] {
        for model in ["csv", "jsonl", "vw"] {
            let flags = if file == "csv" && model != "csv" { "--task-column user" } else { "" };
            let found = folder.output(&format!("predict a.{file} --model {model}.cog {flags}"));
            assert_eq!(answers(&found), margins, "{file} by {model}");
        }
    }
}

#[test]
fn a_resumed_run_with_names_equals_the_unbroken_one() {
    let folder = folder();
    let lines: Vec<&str> = CSV.lines().collect();
    folder.write("1.csv", lines[..3].join("\n"));
    folder.write("2.csv", format!("{}\n{}", lines[0], lines[3..].join("\n")));
    for flags in ["", "--bits 3", "--bits 3 --no-names", "--normalize l2 --bias"] {
        folder.output(&format!("learn a.csv {CSV_FLAGS} {flags} --quiet --overwrite --model all.cog"));
        folder.output(&format!("learn 1.csv {CSV_FLAGS} {flags} --quiet --overwrite --model 1.cog"));
        folder.output("learn 2.csv --quiet --resume 1.cog --overwrite --model 2.cog");
        assert_eq!(folder.read("all.cog"), folder.read("2.cog"), "{flags}");
    }
    folder.refused(
        "learn a.csv --bits 4 --quiet --resume 1.cog",
        &["error: --resume 1.cog: the model was learnt with ", "leave them out, or start a new model"],
    );
}

#[test]
fn predicting_needs_neither_the_column_of_labels_nor_known_names() {
    let folder = folder();
    folder.output(&format!("learn a.csv {CSV_FLAGS} --quiet --model m.cog"));
    folder.write("new.csv", "colour,user,extra,size\nred,ann,,2.5\nred,ann,new,2.5\nred,eve,,1\n");
    let rows = folder.output("predict new.csv --model m.cog");
    let rows = answers(&rows);
    let first = folder.output("predict a.csv --model m.cog");
    assert_eq!((rows.len(), &rows[0]), (3, &answers(&first)[0]));
    assert_eq!(rows[0], rows[1], "a name never seen weighs nothing");
}

#[test]
fn hashed_names_are_asked_for_and_told() {
    let folder = folder();
    let ran = folder.run(&format!("learn a.csv {CSV_FLAGS} --bits 1 --quiet --overwrite --model m.cog"));
    ran.assert_done();
    assert!(ran.stderr.contains("of the slots of 4 feature names are shared (--bits)"), "{}", ran.stderr);
    assert!(folder.output("inspect m.cog").contains("4 names hashed to 2^1 slots, of which "));
    folder.write("five.jsonl", r#"{"task":"bob","label":1,"features":{"a":1,"b":1,"c":1,"d":1,"e":1}}"#);
    folder.output(
        "learn five.jsonl --format jsonl --learner perceptron --bits 1 --quiet --overwrite --model m.cog",
    );
    let explained = folder.output("inspect m.cog --explain bob");
    assert!(explained.contains(" | "), "names that share a slot are listed: {explained}");
    folder.output(&format!("learn a.csv {CSV_FLAGS} --bits 1 --no-names --quiet --overwrite --model m.cog"));
    let explained = folder.output("inspect m.cog --explain bob");
    assert!(explained.contains("slot ") && !explained.contains("colour"), "{explained}");
}

#[test]
fn flags_of_one_format_are_refused_for_another() {
    let folder = folder();
    for (flags, message) in [
        ("--task-column user", "--task-column: is a parameter of the format `csv`; add --format csv"),
        ("--task-namespace u", "--task-namespace: is a parameter of the format `vw`; add --format vw"),
        ("--bits 18", "stream.naming: features of `svm` have numbers, and nothing is named or hashed"),
        ("--format vw --bits 32", "stream.naming.hashed.bits: must be from 1 to 31, got 32"),
        (
            "--format vw --no-names",
            "--no-names: names can be forgotten only where they are hashed; add --bits",
        ),
        (
            "--format vw --bits 8 --features 9",
            "features: `stream.naming.hashed.bits` says how many there are",
        ),
        ("--format csv --one-vs-all --task-column user", "stream.one-vs-all: classes are the tasks"),
        ("--format xml", "--format xml: unknown variant `xml`, expected one of `"),
        ("--format csv --ask q.csv", "--ask: rows of CSV mean nothing without their header"),
    ] {
        let format = if flags.contains("--format") { "" } else { "--format svm" };
        folder.refused(&format!("learn a.vw --quiet {format} {flags}"), &[message]);
    }
}

#[test]
fn a_bad_cell_is_shown_in_its_place_with_the_way_out() {
    let folder = Folder::with("bad.csv", "label,x\n1,2\n1,n/a\n-1,3\n");
    let ran = folder.refused("learn bad.csv --format csv --quiet", &["hint: leave a missing cell empty"]);
    insta::assert_snapshot!("bad_cell", ran.stderr);
    let summary = folder.summary("bad.csv --format csv --skip-bad 1");
    assert_eq!((summary["examples"].as_u64(), summary["skipped"].as_u64()), (Some(2), Some(1)));
    let summary = folder.summary("bad.csv --format csv --categorical x");
    assert_eq!(summary["examples"], 3);
}

#[test]
fn other_formats_are_recognised_and_named() {
    let folder = folder();
    for format in ["csv", "jsonl", "vw"] {
        let line = format!("learn a.{format} --format svm --quiet");
        folder.refused(&line, &[&format!("--format {format}; `svm` lines read: +1 qid:7 3:0.5 8:1")]);
    }
}

#[test]
fn every_class_is_a_task_and_a_line_is_answered_by_the_best() {
    let text: String = (0..90)
        .map(|at| {
            let class = ["cat", "dog", "3"][at % 3];
            format!("{class} {}:1 {}:{}\n", at % 3 + 1, 4 + at % 5, at % 4)
        })
        .collect();
    let folder = Folder::with("a.svm", &text);
    let summary = folder.summary("a.svm --one-vs-all --passes 3 --model m.cog");
    // In the first pass, the first two lines are examples only of the classes met so far.
    assert_eq!(summary["examples"], 3 * 90 * 3 - 3);
    let tasks: Vec<_> = summary["tasks"].as_array().unwrap().iter().map(|row| row["task"].clone()).collect();
    assert_eq!(tasks, ["3", "cat", "dog"]);
    let predicted = folder.output("predict a.svm --model m.cog");
    let answers: Vec<&str> = predicted.lines().skip(1).map(|row| row.split(',').nth(2).unwrap()).collect();
    let right = answers.iter().zip(text.lines()).filter(|(class, line)| line.starts_with(**class)).count();
    assert_eq!((answers.len(), right), (90, 90));
    folder.write(
        "unlabelled.svm",
        text.lines().map(|line| format!("? {}\n", line.split_once(' ').unwrap().1)).collect::<String>(),
    );
    assert_eq!(folder.output("predict unlabelled.svm --model m.cog"), predicted);
    folder.write("strange.svm", "bird 1:1\n");
    assert_eq!(folder.output("predict strange.svm --model m.cog").lines().count(), 2);
    folder.refused(
        "learn a.svm --quiet",
        &["hint: if labels are two names, --positive NAME says which of them is +1"],
    );
}

#[test]
fn the_batch_solver_reads_names_too() {
    let folder = folder();
    folder.output(&format!("fit a.csv {CSV_FLAGS} --quiet --model m.cog"));
    let explained = folder.output("inspect m.cog --explain ann");
    assert!(explained.contains("colour=red"), "{explained}");
    assert_eq!(folder.output("predict a.csv --model m.cog").lines().count(), 7);
}

#[test]
fn a_task_namespace_that_is_empty_or_missing_is_a_bad_line() {
    let folder = Folder::with("a.vw", "1 |u ann |f a\n-1 'i |f b\n1 |u |f a\n1 |f a |u\n-1 |u bob |f b\n");
    let flags = "a.vw --task-namespace u";
    folder.refused(
        &format!("learn {flags} --quiet"),
        &["error: a.vw:2:7: found no namespace \"u\"; expected the name of a task"],
    );
    folder.refused(
        &format!("learn {flags} --quiet --skip-bad 1"),
        &["error: a.vw:3:4: found nothing in namespace \"u\"; expected the name of a task"],
    );
    let summary = folder.summary(&format!("{flags} --skip-bad 3 --model m.cog"));
    let tasks: Vec<_> = summary["tasks"].as_array().unwrap().iter().map(|row| row["task"].clone()).collect();
    assert_eq!((tasks, &summary["skipped"]), (vec!["ann".into(), "bob".into()], &3.into()));
    let ran = folder.run("predict a.vw --model m.cog");
    assert!(ran.code == Some(2) && ran.stderr.contains("found no namespace"), "{ran:?}");
}

#[test]
fn a_mark_before_a_text_is_skipped_in_every_format() {
    let folder = folder();
    folder.write("a.svm", "+1 qid:1 1:1\n-1 qid:2 2:1\n");
    for (file, flags) in [("a.svm", ""), ("a.vw", ""), ("a.jsonl", ""), ("a.csv", CSV_FLAGS)] {
        let marked = format!("marked.{}", file.split_once('.').unwrap().1);
        folder.write(&marked, ["\u{feff}".as_bytes(), &folder.read(file)].concat());
        folder.output(&format!("learn {file} --quiet {flags} --overwrite --model plain.cog"));
        folder.output(&format!("learn {marked} --quiet {flags} --overwrite --model marked.cog"));
        assert!(folder.read("plain.cog") == folder.read("marked.cog"), "{file}");
    }
    folder.write("late.svm", "+1 1:1\n\u{feff}+1 1:1\n");
    folder.refused("learn late.svm --quiet", &["error: late.svm:2:1: found label"]);
}

#[test]
fn predicting_another_format_or_separator_hints_at_the_flag() {
    let folder = Folder::with("a.csv", "label;x;y\n1;2;3\n0;3;1\n");
    folder.output("learn a.csv --separator ; --quiet --model m.cog");
    let ran = folder.run_with_input("predict - --model m.cog", r#"{"label":1,"features":{"x":2}}"#);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("hint: this looks like JSON: --format jsonl\n"),
        "{ran:?}"
    );
    folder.write("b.csv", "label,x,y\n1,2,3\n");
    let ran = folder.run("predict b.csv --model m.cog");
    let hint = "hint: something else seems to separate the columns than was said, or than in the data that the model";
    assert!(ran.code == Some(2) && ran.stderr.contains(hint), "{ran:?}");
    folder.output("predict b.csv --model m.cog --separator ,");
}
