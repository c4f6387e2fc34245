//! Labels by name, ids, formats by file name, other columns and keys: data as users have them.

use super::support::Folder;

const MAIL: &str = "\
mail;user;verdict;size;subject
m1;ann;ham;1;hello
m2;bob;spam;2;offer
m3;ann;spam;3;offer
m3;bob;ham;-1;re: hello
";

const FLAGS: &str = "--separator ; --task-column user --label-column verdict --id-column mail";

fn folder() -> Folder {
    Folder::with("a.csv", MAIL)
}

#[test]
fn names_and_ids_come_back() {
    let folder = folder();
    folder.output(&format!("learn a.csv {FLAGS} --positive spam --passes 20 --quiet --model m.cog"));
    let csv = folder.output("predict a.csv --model m.cog");
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').take(4).collect()).collect();
    assert_eq!(rows[0], ["line", "id", "task", "label"]);
    assert_eq!(rows[1], ["2", "m1", "ann", "ham"]);
    assert_eq!(rows[2], ["3", "m2", "bob", "spam"]);
    assert_eq!((rows[3][1], rows[4][1]), ("m3", "m3"), "an id may come twice");
    let json = folder.output("predict a.csv --model m.cog --json");
    assert!(json.lines().next().unwrap().contains("\"id\":\"m1\",\"label\":\"ham\",\"line\":2"), "{json}");
    // A fit and a stream agree about names.
    folder.output(&format!("fit a.csv {FLAGS} --positive spam --quiet --model f.cog"));
    assert!(folder.output("predict a.csv --model f.cog").contains("\n3,m2,bob,spam,"));
}

#[test]
fn labels_come_back_in_the_words_of_the_data() {
    for (negative, positive, json) in
        [("-1", "+1", ["-1", "1"]), ("0", "1", ["0", "1"]), ("false", "true", ["false", "true"])]
    {
        let folder = Folder::with("a.svm", format!("{positive} 1:1\n{negative} 2:1\n"));
        folder.output("learn a.svm --passes 5 --quiet --model m.cog");
        let csv = folder.output("predict a.svm --model m.cog");
        let words: Vec<&str> = csv.lines().skip(1).map(|row| row.split(',').nth(3).unwrap()).collect();
        assert_eq!(words, [json[1], json[0]]);
        let lines = folder.output("predict a.svm --model m.cog --json");
        assert!(lines.contains(&format!("\"label\":{},", json[0])), "{lines}");
    }
}

#[test]
fn names_without_a_positive_one_are_refused_with_the_way_out() {
    let folder = folder();
    let ran = folder.refused(
        &format!("learn a.csv {FLAGS} --quiet"),
        &[
            "a.csv:2:8: found label \"ham\"",
            "hint: if labels are two names, --positive NAME says which of them is +1",
        ],
    );
    assert!(!ran.stderr.contains("one-vs-all"), "{}", ran.stderr);
    folder.write("b.csv", format!("{MAIL}m5;ann;eggs;1;x\n"));
    folder.refused(
        &format!("learn b.csv {FLAGS} --positive spam --quiet"),
        &[
            "b.csv:6:8: found a third label name, \"eggs\"; expected \"spam\" (+1) or \"ham\" (-1)",
            "--one-vs-all",
        ],
    );
    folder.write("r.svm", "1.5 1:1\n");
    folder.refused(
        "learn r.svm --quiet",
        &["--set loss=squares, absolute, quantile or poisson; or `cognate fit`"],
    );
}

#[test]
fn a_positive_label_that_never_comes_is_told() {
    let folder = Folder::with("a.svm", "ham 1:1\nham 2:1\n");
    for command in ["learn a.svm --model m.cog", "compare a.svm --runs 1"] {
        let ran = folder.run(&format!("{command} --positive Spam --quiet"));
        ran.assert_done();
        assert!(ran.stderr.contains("warning: --positive Spam: no line has this label"), "{}", ran.stderr);
    }
}

#[test]
fn skipped_lines_keep_their_rows() {
    let folder = Folder::with("a.svm", "+1 1:1\n-1 2:1\n");
    folder.output("learn a.svm --quiet --model m.cog");
    folder.write("b.svm", "bad\n? id:x 1:1\n\nbad\n? 2:1\nbad\n");
    let csv = folder.output("predict b.svm --model m.cog --skip-bad 9");
    let starts: Vec<String> =
        csv.lines().map(|row| row.split(',').take(3).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(starts, ["line,id,task", "1,,", "2,x,default", "4,,", "5,,default", "6,,"]);
    assert!(csv.contains("\n1,,,,\n") && csv.ends_with("\n6,,,,\n"), "{csv}");
    let with = folder.output("predict b.svm --model m.cog --skip-bad 9 --probability");
    assert!(with.contains("\n1,,,,,\n"), "{with}");
    let json = folder.output("predict b.svm --model m.cog --skip-bad 9 --json");
    assert_eq!(json.lines().next(), Some("{\"label\":null,\"line\":1,\"margin\":null,\"task\":null}"));
}

#[test]
fn names_of_files_tell_the_format() {
    let folder = folder();
    let tabs = MAIL.replace(';', "\t");
    folder.write("a.tsv", &tabs);
    let flags = FLAGS.replace("--separator ; ", "");
    let weights = |data: &str, flags: &str| {
        folder.output(&format!("learn {data} {flags} --positive spam --quiet --overwrite --model m.cog"));
        folder.output("inspect m.cog --weights")
    };
    let expected = weights("a.csv", FLAGS);
    assert_eq!(weights("a.tsv", &flags), expected);
    assert_eq!(weights("a.tsv", &format!("{flags} --format csv")), expected);
    folder.write(
        "b.ndjson",
        "{\"label\":true,\"features\":[\"a\",\"b\",\"a\"]}\n{\"label\":false,\"features\":[\"b\"]}\n",
    );
    folder.output("learn b.ndjson --quiet --model j.cog");
    assert!(folder.output("predict b.ndjson --model j.cog").contains("\n1,,default,"));
    folder.refused(
        "learn a.tsv b.ndjson --quiet",
        &["error: a.tsv and b.ndjson are of different formats by their names"],
    );
    folder.write("n.svm", "+1 1:1\n");
    folder.output("learn n.svm --quiet --model n.cog");
    folder
        .refused("predict a.csv --model n.cog", &["features of `csv` are names, those of the model numbers"]);
}

#[test]
fn other_keys_are_named_or_ignored() {
    let folder = Folder::with(
        "a.jsonl",
        "{\"who\":\"ann\",\"spam\":true,\"words\":[\"offer\"],\"raw\":\"x\"}\n{\"who\":\"bob\",\"spam\":false,\"words\":[\"hi\"],\"raw\":null}\n",
    );
    let keys = "--task-key who --label-key spam --features-key words";
    folder.refused(
        &format!("learn a.jsonl {keys} --quiet"),
        &["found key \"raw\"", "hint: --ignore leaves keys out"],
    );
    let summary = folder.summary(&format!("a.jsonl {keys} --ignore raw"));
    assert_eq!(summary["examples"], 2);
    folder.refused(
        "learn a.jsonl --format svm --ignore raw",
        &["--ignore: is a parameter of the formats `csv` and `jsonl`"],
    );
}

/// What is said about a file that cannot be predicted; the header of predictions is there by then.
fn bad_prediction(folder: &Folder, file: &str, message: &[&str]) -> String {
    let run = folder.run(&format!("predict {file} --model m.cog"));
    assert_eq!((run.stdout.lines().count(), run.code), (1, Some(2)), "{}", run.stdout);
    for part in message {
        assert!(run.stderr.contains(part), "{part:?} is not in\n{}", run.stderr);
    }
    run.stderr
}

/// Columns that are called or separated otherwise give answers that look like all others.
#[test]
fn what_the_model_does_not_know_is_told_or_refused() {
    let folder = Folder::with("a.csv", "task,label,p,q\na,1,1,2\nb,0,-1,0.5\n");
    folder.output("learn a.csv --quiet --model m.cog");
    for (file, text, message, hint) in [
        (
            "renamed.csv",
            "task,label,P,Q\na,1,1,2\n",
            "renamed.csv:1:1: no column is one that the model knows (p, q); the header has (task, label, P, Q)",
            "columns are called as in the data that the model was learnt from",
        ),
        (
            "semicolons.csv",
            "task;label;p;q\na;1;1;2\n",
            "semicolons.csv:1:1: no column is one that the model knows (p, q)",
            "--separator ';' or --separator tab",
        ),
    ] {
        folder.write(file, text);
        let said = bad_prediction(&folder, file, &[message, hint]);
        assert!(!said.contains("--skip-bad"), "nothing below a header can be read: {said}");
    }
    folder.write("b.csv", "q,new,task,label\n2,1,a,1\n0.5,1,zoe,0\n");
    let run = folder.run("predict b.csv --model m.cog");
    for said in [
        "warning: columns of the model are missing: p\n",
        "warning: columns are new to the model, and ignored: new\n",
        "note: 1 of 2 lines are of tasks that the model has not met: zoe\n",
    ] {
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
    }
    folder.write("c.vw", "1 a| p:1\n1 a| x:1 y:2\n1 a|\n");
    let run = folder.run("predict c.vw --model m.cog");
    assert!(
        run.stderr.contains("warning: 1 of 3 lines have no feature that the model knows\n"),
        "{}",
        run.stderr
    );
    let run = folder.run("predict a.csv --model m.cog");
    assert!(!run.stderr.contains("warning") && !run.stderr.contains("not met"), "{}", run.stderr);
}

#[test]
fn numbers_with_commas_are_no_texts() {
    let folder = Folder::with("a.csv", "label;x\n1;0,5\n0;1,5\n");
    let hint = "--categorical NAMES if texts are meant";
    let message = "a.csv:2:3: found \"0,5\" in column \"x\"; expected a number without commas, or a text";
    folder.refused("learn a.csv --separator ;", &[message, hint]);
    folder.output("learn a.csv --separator ; --categorical x --quiet");
    folder.write("b.csv", "label,x\n1,\"-1,234.5\"\n");
    folder.refused("learn b.csv", &["found \"-1,234.5\" in column \"x\"", hint]);
    folder.write("c.csv", "label,x\n1,\"red, 5\"\n0,\",5\"\n");
    folder.output("learn c.csv --quiet");
}

#[test]
fn labels_that_are_wrong_have_a_way_out() {
    let folder = Folder::with("a.svm", "ham 1:1\nspam 1:2\n");
    folder.refused(
        "learn a.svm --positive spma",
        &[
            "a.svm:2:1: found label \"spam\" after \"ham\", and none so far is \"spma\", the label that is +1",
            "--positive NAME is spelt as in the data",
        ],
    );
    folder.refused("learn a.svm --set loss=squares", &["a.svm:1:1: found label \"ham\"", "--positive NAME"]);
    folder.output("learn a.svm --positive spam --quiet --model m.cog");
    folder.write("b.svm", "1 1:1\n");
    let hint = "labels are called as in the data that the model was learnt from";
    let said = bad_prediction(&folder, "b.svm", &["b.svm:1:1: found a third label name", hint]);
    assert!(!said.contains("--one-vs-all"), "{said}");
}

/// One bad count after a week must neither end the run without a place nor be in the way of `--skip-bad`.
#[test]
fn examples_that_the_learner_cannot_learn_are_bad_lines() {
    let folder = Folder::with("a.svm", "3 task:a 1:1\n-1 task:b 1:1\n2 task:a 1:2\n");
    let learn = "learn a.svm --set loss=poisson --quiet";
    let message = "a.svm:2:1: the label -1 is no count: with the loss `poisson` labels are 0 or more";
    folder
        .refused(&format!("{learn} --model m.cog"), &[message, "m.cog, with the 1 example that was learnt"]);
    let run = folder.run(&format!("{learn} --skip-bad 1 --bad-lines bad.jsonl --json"));
    let summary: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&summary["examples"], summary["tasks"].as_array().unwrap().len()), (&2.into(), 1));
    assert!(folder.text("bad.jsonl").contains("is no count"));
    folder.write("huge.svm", "1 1:1\n1e101 1:1\n1e308 1:1\n");
    folder.refused("learn huge.svm --set loss=squares", &["huge.svm:2:1: the label 1e101 is too large"]);
    folder
        .refused("learn huge.svm --set loss=squares --skip-bad 1", &["huge.svm:3:1: found label \"1e308\""]);
}

#[test]
fn a_time_that_is_missing_is_a_bad_line_and_one_that_goes_back_forgets_nothing() {
    let folder = Folder::with("a.csv", "label,x,when\n1,1,5\n0,2,\n,3,\n0,2,7\n");
    let learn = "learn a.csv --time-column when --set forget=7d --quiet";
    let message = "a.csv:3:5: the example has no time, and `forget` is a time";
    folder.refused(learn, &[message, "--time-column (csv) or --time-key (jsonl)"]);
    let run = folder.run(&format!("{learn} --skip-bad 1 --json"));
    let summary: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&summary["examples"], &summary["unlabelled"]), (&2.into(), &1.into()));
    folder.write("b.jsonl", "{\"label\":1,\"features\":{\"x\":1}}\n");
    folder.refused("learn b.jsonl --set forget=7d", &["b.jsonl:1:1: the example has no time", "--time-key"]);
    folder.write("c.svm", "1 1:1\n");
    folder.refused("learn c.svm --set forget=7d", &["the example has no time", "--set forget=N"]);
    // What came before is as if it had come at the same time.
    let margins = |times: [&str; 3]| {
        let rows: String =
            times.iter().enumerate().map(|(at, time)| format!("{},{},{time}\n", at % 2, at + 1)).collect();
        folder.write("t.csv", format!("label,x,when\n{rows}"));
        let run = folder.run("learn t.csv --time-column when --set forget=1s --quiet --trace -");
        run.stdout
    };
    assert_eq!(margins(["100", "50", "100"]), margins(["100", "100", "100"]));
    assert_ne!(margins(["100", "150", "200"]), margins(["100", "100", "100"]));
}

/// A stream without tasks is learnt as one, which is said.
#[test]
fn a_stream_that_names_no_task_is_told() {
    let folder = Folder::new();
    folder.write("a.svm", "1 1:1\n-1 2:1\n");
    folder.write("a.vw", "1 |f a\n-1 |f b\n");
    folder.write("a.csv", "label,x\n1,1\n0,2\n");
    folder.write("a.jsonl", "{\"label\":1,\"features\":{\"a\":1}}\n{\"label\":0,\"features\":{}}\n");
    let said = "note: no line names a task, so all are of one, default; ";
    for (name, way_out) in [
        ("a.svm", "a line names its task by qid:7 or task:NAME"),
        ("a.vw", "a line names its task by its tag, or in the namespace of --task-namespace"),
        ("a.csv", "--task-column says which column names it"),
        ("a.jsonl", "--task-key says which key names it"),
    ] {
        for more in ["", " --order shuffle", " --threads 2"] {
            let ran = folder.run(&format!("learn {name}{more}"));
            assert!(ran.stderr.contains(&format!("{said}{way_out}\n")), "{name}: {}", ran.stderr);
        }
        let notes = folder.summary(name)["notes"].to_string();
        assert!(notes.contains("no line names a task"), "{name}: {notes}");
        assert!(!folder.run(&format!("learn {name} --quiet")).stderr.contains("names a task"), "{name}");
    }
    // One line with a task is enough, even where the task is called as that of lines without one.
    folder.write("b.svm", "1 1:1\n-1 task:default 2:1\n");
    folder.write("b.vw", "1 |f a\n-1 default|f b\n");
    folder.write("b.csv", "label,task,x\n1,default,1\n0,default,2\n");
    folder.write("b.jsonl", "{\"label\":1,\"task\":\"default\",\"features\":{\"a\":1}}\n");
    for name in ["b.svm", "b.vw", "b.csv", "b.jsonl", "a.svm b.svm"] {
        let ran = folder.run(&format!("learn {name} --json"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!(ran.stderr + &ran.stdout).contains("names a task"), "{name}");
    }
    let classes = folder.run("learn a.svm --one-vs-all");
    assert!(!classes.stderr.contains("names a task"), "{}", classes.stderr);
}
