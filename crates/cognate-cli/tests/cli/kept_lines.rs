//! `--bad-lines`: is every bad line kept, with its place and its reason?

use serde_json::{Value, json};

use super::outputs::bash;
use super::support::{Folder, related};

/// The lines that were kept.
fn kept(folder: &Folder) -> Vec<Value> {
    folder
        .text("bad.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("one value per line"))
        .collect()
}

/// Good lines among two bad ones, the second of which is not UTF-8.
fn mixed() -> Vec<u8> {
    [b"+1 qid:1 1:1\n+1 qid:1 2:x\n-1 qid:1 2:1\n".as_slice(), b"-1 qid:\xff 1:1\r\n", b"+1 qid:2 1:1\n"]
        .concat()
}

fn expected() -> Vec<Value> {
    vec![
        json!({
            "file": "a.svm", "line": 2, "column": 12,
            "reason": "found value \"x\"; expected a finite number of at most 1e150", "text": "+1 qid:1 2:x",
        }),
        json!({
            "file": "a.svm", "line": 4, "column": 4,
            "reason": "found \"qid:\\xff\"; expected qid:<number> or task:<name>", "text": "-1 qid:\u{fffd} 1:1",
        }),
    ]
}

#[test]
fn lines_that_are_skipped_are_kept_with_place_and_reason() {
    let folder = Folder::with("a.svm", mixed());
    for flags in ["", "--threads 1", "--passes 3", "--order shuffle"] {
        let ran = folder.run(&format!("learn a.svm --quiet --skip-bad 2 --bad-lines bad.jsonl {flags}"));
        ran.assert_done();
        assert!(ran.stderr.contains("warning: skipped 2 bad lines; see bad.jsonl\n"), "{}", ran.stderr);
        assert_eq!(kept(&folder), expected(), "{flags}: once, and nothing of the file before");
    }
    let text = folder.text("bad.jsonl");
    assert!(text.starts_with(r#"{"file":"a.svm","line":2,"column":12,"reason":"#), "{text}");
}

#[test]
fn every_command_that_skips_lines_keeps_them() {
    let folder = Folder::with("a.svm", mixed());
    folder.write("good.svm", "+1 qid:1 1:1\n-1 qid:1 2:1\n+1 qid:2 1:1\n");
    folder.output("learn good.svm --quiet --learner perceptron --model m.cog");
    for command in [
        "predict a.svm --model m.cog",
        "fit a.svm --quiet",
        "compare a.svm --quiet --runs 1 --learners perceptron",
        "bound a.svm --model m.cog --quiet",
    ] {
        folder.output(&format!("{command} --skip-bad 2 --bad-lines bad.jsonl"));
        assert_eq!(kept(&folder), expected(), "{command}");
    }
}

#[test]
fn the_line_that_ends_the_run_is_kept_too() {
    let folder = Folder::with("a.svm", mixed());
    folder.write("m.svm", related(2, 20));
    folder.output("learn m.svm --quiet --model m.cog");
    for command in ["learn a.svm", "predict a.svm --model m.cog", "fit a.svm", "compare a.svm"] {
        let ran = folder.run(&format!("{command} --bad-lines bad.jsonl"));
        assert!(ran.code == Some(2) && ran.stderr.contains("error: a.svm:2:12: found value"), "{ran:?}");
        assert_eq!(kept(&folder), expected()[..1], "{command}");
    }
    folder.refused(
        "learn a.svm --quiet --skip-bad 1 --bad-lines bad.jsonl",
        &["error: a.svm:4:4: found ", "(1 bad line was skipped before this one; --skip-bad N allows N)"],
    );
    assert_eq!(kept(&folder), expected());
    // A stream that is read twice, first to count its rounds.
    let counted = "learn a.svm --quiet --learner relation-perceptron --set priming=50% --bad-lines bad.jsonl";
    folder.refused(counted, &["error: a.svm:2:12: found value"]);
    assert_eq!(kept(&folder), expected()[..1]);
    folder.output(&format!("{counted} --skip-bad 2"));
    assert_eq!(kept(&folder), expected(), "once");
}

#[test]
fn lines_of_every_format_are_kept() {
    for (format, text, line, reason) in [
        ("csv", "label,x\n1,2\n1,2,3\n", 3, "found 3 fields"),
        ("csv", "label,x,x\n1,2,3\n", 1, "found column"),
        ("jsonl", "{\"label\":1,\"features\":{\"a\":1}}\n{\"label\":1\n", 2, "expected {\"task\""),
        ("vw", "1 | a\n1 a\n", 2, "expected"),
    ] {
        let folder = Folder::with("a.txt", text);
        let ran = folder.run(&format!("learn a.txt --quiet --format {format} --bad-lines bad.jsonl"));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let kept = kept(&folder);
        assert_eq!((kept.len(), kept[0]["line"].as_u64()), (1, Some(line)), "{kept:?}");
        assert!(kept[0]["reason"].as_str().unwrap().contains(reason), "{kept:?}");
        assert_eq!(kept[0]["text"], *text.lines().nth(line as usize - 1).unwrap());
    }
}

#[test]
fn long_lines_are_cut() {
    let long = format!("+1 qid:1 1:{}", "9".repeat(5000));
    let folder = Folder::with("a.svm", format!("{long}\n"));
    folder.refused("learn a.svm --quiet --bad-lines bad.jsonl", &["a.svm:1:12"]);
    assert_eq!(kept(&folder)[0]["text"], format!("{}…", &long[..4096]));
}

#[test]
fn a_run_without_bad_lines_leaves_an_empty_file() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.write("bad.jsonl", "of another run\n");
    folder.output("learn a.svm --quiet --bad-lines bad.jsonl");
    assert_eq!(folder.text("bad.jsonl"), "");
}

#[test]
fn a_full_disk_for_bad_lines_does_not_lose_the_model() {
    let mut text = related(3, 3000);
    text.insert_str(0, "+1 qid:1 1:x\n");
    let folder = Folder::with("a.svm", text);
    let full = "error: --bad-lines /dev/full: No space left on device";
    folder.refused(
        "learn a.svm --quiet --model m.cog --skip-bad 1 --bad-lines /dev/full",
        &[full, "the model is saved in m.cog, with the "],
    );
    folder.output("inspect m.cog");
    folder.refused("fit a.svm --quiet --skip-bad 1 --bad-lines /dev/full", &[full]);
    folder.refused("fit a.svm --quiet --bad-lines /dev/full", &["error: a.svm:1:12: ", full]);
    let ran = folder.run("predict a.svm --model m.cog --skip-bad 1 --bad-lines /dev/full");
    assert!(ran.code == Some(2) && ran.stderr.contains(full), "{ran:?}");
}

#[test]
fn bad_lines_have_a_file_of_their_own() {
    let folder = Folder::with("a.svm", mixed());
    folder
        .refused("learn a.svm --quiet --bad-lines -", &["--bad-lines -: standard output carries the result"]);
    folder.refused("learn a.svm --quiet --bad-lines a.svm", &["is one of the files to learn from"]);
    folder.refused("learn a.svm --quiet --bad-lines t --trace t", &["is also written by --"]);
    folder.refused("learn a.svm --quiet --bad-lines no/t", &["error: --bad-lines no/t: No such file"]);
    assert_eq!(folder.names(), ["a.svm"]);
}

#[test]
fn a_bad_line_of_a_pipe_is_kept_at_once() {
    let folder = Folder::new();
    let line = "{ echo '+1 1:x'; until grep -q reason bad.jsonl; do sleep 0.02; done; echo '+1 1:1'; } | \
                $cognate learn - --quiet --skip-bad 1 --bad-lines bad.jsonl";
    bash(&folder, line).assert_done();
    assert_eq!((&kept(&folder)[0]["file"], &kept(&folder)[0]["line"]), (&json!("<stdin>"), &json!(1)));
}

#[test]
fn a_row_over_several_lines_is_kept_whole() {
    let row = "1,\"one\ntwo\nthree\",x,\"four\nfive\"";
    let folder = Folder::with("a.csv", format!("label,a,b\n1,u,2\n{row}\n0,v,3\n"));
    let ran = folder.run("learn a.csv --quiet --skip-bad 1 --bad-lines bad.jsonl");
    ran.assert_done();
    let kept = kept(&folder);
    assert_eq!((kept.len(), &kept[0]["line"], &kept[0]["text"]), (1, &json!(5), &json!(row)), "{kept:?}");
}

#[test]
fn a_name_that_is_mistyped_leaves_what_an_earlier_run_wrote() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --learner perceptron --model m.cog");
    let outputs = ["bad.jsonl", "t.jsonl", "ask.svm"];
    let learn = "--quiet --bad-lines bad.jsonl --trace t.jsonl --ask ask.svm";
    for line in [
        format!("learn gone.svm {learn}"),
        format!("learn gone.svm a.svm {learn} --threads 1"),
        format!("learn a.svm gone.svm {learn} --order shuffle"),
        "learn gone.svm --quiet --learner relation-perceptron --set priming=50% --bad-lines bad.jsonl"
            .to_owned(),
        "predict gone.svm --model m.cog --bad-lines bad.jsonl".to_owned(),
        "fit a.svm gone.svm --quiet --bad-lines bad.jsonl".to_owned(),
        "compare gone.svm --quiet --bad-lines bad.jsonl".to_owned(),
        "bound gone.svm --quiet --model m.cog --bad-lines bad.jsonl".to_owned(),
    ] {
        outputs.iter().for_each(|output| folder.write(output, "of another run\n"));
        folder.refused(&line, &["error: gone.svm: No such file"]);
        outputs.iter().for_each(|output| assert_eq!(folder.text(output), "of another run\n", "{line}"));
    }
}
