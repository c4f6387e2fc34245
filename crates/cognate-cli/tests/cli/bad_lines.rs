//! Lines that must be refused with their place, and odd ones that must not be.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::support::{Folder, cognate, number};

const EXPECTED_LABEL: &str = "expected -1 or +1, or 0 or 1";

/// Learns one line, which must succeed; returns the summary.
fn learns(content: impl AsRef<[u8]>, examples: u32) -> serde_json::Value {
    let summary = Folder::with("odd.svm", content).summary("odd.svm");
    assert_eq!(summary["examples"], examples, "{summary}");
    summary
}

#[test]
fn an_empty_file_is_learnt_with_a_warning() {
    for content in ["", "\n\n", "# nothing\n", "   \t\n"] {
        let folder = Folder::with("empty.svm", content);
        let ran = folder.run("learn empty.svm --quiet --json");
        ran.assert_done();
        assert_eq!(ran.stderr, "warning: empty.svm holds no examples\n", "{content:?}");
        assert!(ran.stdout.contains("\"examples\": 0"), "{}", ran.stdout);
        let ran = folder.run("learn empty.svm --quiet --json --model m.cog");
        ran.assert_refused(&[]);
        let told = "error: empty.svm holds no example, and nothing was learnt; no model is saved\n";
        assert_eq!(ran.stderr, told, "{content:?}");
        assert_eq!(folder.names(), ["empty.svm"]);
    }
}

#[test]
fn a_missing_last_newline_loses_no_example() {
    learns("+1 qid:1 1:1\n-1 qid:1 2:1", 2);
    learns("+1 qid:1", 1);
}

#[test]
fn windows_line_ends_learn_the_same_bytes_as_unix_ones() {
    let text = super::support::related(3, 60);
    let folder = Folder::with("unix.svm", &text);
    folder.write("windows.svm", text.replace('\n', "\r\n"));
    folder.output("learn unix.svm --quiet --model unix.cog");
    folder.output("learn windows.svm --quiet --model windows.cog");
    assert_eq!(folder.read("unix.cog"), folder.read("windows.cog"));
}

#[test]
fn nul_bytes_are_refused_in_their_place() {
    Folder::refuses_line(
        b"+1 qid:1 1:1\n+1 qid:1 1:1\0 2:1\n",
        "2:12",
        &[r#"found value "1\u{0}"; expected a finite number of at most 1e150"#],
    );
    Folder::refuses_line(b"\0\0\0\n", "1:1", &[r#"found label "\u{0}\u{0}\u{0}""#, EXPECTED_LABEL]);
    Folder::refuses_line(
        b"+1 task:a\0b 1:1\n",
        "1:4",
        &[r#"found "task:a\u{0}b"; expected qid:<number> or task:<name>"#],
    );
}

#[test]
fn invalid_utf8_is_refused_in_a_task_name() {
    Folder::refuses_line(
        b"+1 task:a\xffb 1:1\n",
        "1:4",
        &[r#"found "task:a\xffb"; expected qid:<number> or task:<name>"#],
    );
}

#[test]
fn invalid_utf8_is_refused_in_a_token() {
    Folder::refuses_line(
        b"+1 task:a 1:\xff1\n",
        "1:13",
        &[r#"found value "\xff1"; expected a finite number of at most 1e150"#],
    );
    Folder::refuses_line(b"\xff\xfe1 1:1\n", "1:1", &[r#"found label "\xff\xfe1""#, EXPECTED_LABEL]);
    Folder::refuses_line(b"+1 \xff:1\n", "1:4", &[r#"found "\xff:1"; expected <index>:<value>"#]);
}

#[test]
fn invalid_utf8_is_nobodys_business_in_a_comment() {
    learns(b"# \xff\xfe\n+1 task:a 1:1 # \xff\xfe\0\n", 1);
}

#[test]
fn names_in_any_language_are_kept() {
    let summary = learns("+1 task:größe 1:1\n-1 task:品質 1:1\n", 2);
    assert_eq!(summary.pointer("/tasks/0/task").unwrap(), "größe");
    assert_eq!(summary.pointer("/tasks/1/task").unwrap(), "品質");
}

#[test]
fn index_zero_is_refused_with_a_hint() {
    Folder::refuses_line(
        "+1 qid:1 0:1\n",
        "1:10",
        &["found feature index 0; expected 1 to 4294967294", "hint: indices count from 1"],
    );
}

#[test]
fn repeated_and_descending_indices_are_refused() {
    Folder::refuses_line("+1 1:1 1:2\n", "1:8", &["feature index 1 after 1; indices must increase"]);
    Folder::refuses_line(
        "+1 qid:3 57:1 40:2\n",
        "1:15",
        &[
            "feature index 40 after 57; indices must increase",
            "  1 | +1 qid:3 57:1 40:2\n    |               ^\n",
            "--skip-bad N",
        ],
    );
    let long = "+1 4000000000:1 3000000000:1\n";
    Folder::refuses_line(long, "1:17", &["feature index 3000000000 after 4000000000; indices must increase"]);
}

#[test]
fn an_index_beyond_the_largest_is_refused() {
    for index in ["4294967295", "4294967296", "99999999999999999999999999", "-3"] {
        let message = format!("found feature index {index}; expected 1 to 4294967294");
        Folder::refuses_line(format!("+1 qid:1 {index}:1\n"), "1:10", &[&message]);
    }
}

#[test]
fn the_largest_index_alone_takes_no_memory() {
    let folder = Folder::with("one.svm", "+1 qid:1 4294967294:1\n-1 qid:2 4294967294:1\n");
    for interaction in ["=coupled", "=pairwise", "=independent", "=pooled", ".graph.edges=complete"] {
        let summary =
            folder.summary(&format!("--learner perceptron one.svm --tasks 2 --set interaction{interaction}"));
        assert_eq!(summary["examples"], 2, "{interaction}");
        assert!(number(&summary, "/peak_memory_bytes") < 1e8, "{interaction}: {summary}");
    }
}

#[test]
fn values_that_are_no_finite_numbers_are_refused() {
    for value in ["NaN", "nan", "inf", "-inf", "infinity", "1e400", "-1e400", "", "0x10", "1,5", "1e", "--1"]
    {
        let message = format!("found value {value:?}; expected a finite number of at most 1e150");
        Folder::refuses_line(format!("+1 qid:1 1:1 2:{value}\n"), "1:16", &[&message]);
    }
}

#[test]
fn a_value_too_small_for_a_number_is_zero() {
    let folder = Folder::with("tiny.svm", "+1 qid:1 1:1e-400 2:3\n");
    folder.output("learn --learner perceptron tiny.svm --quiet --model m.cog --set interaction=independent");
    assert_eq!(folder.output("inspect m.cog --weights"), "task,feature,value\n1,2,3.0\n");
}

#[test]
fn values_as_programs_write_them_are_read_exactly() {
    let line = "+1 qid:1 1:0.1 2:1e-3 3:+5 4:.5 5:5. 6:1E2 7:123456789.12345679 8:-0.30000000000000004\n";
    let folder = Folder::with("values.svm", line);
    folder
        .output("learn --learner perceptron values.svm --quiet --model m.cog --set interaction=independent");
    let weights = folder.output("inspect m.cog --weights");
    let values: Vec<f64> =
        weights.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(values, [0.1, 1e-3, 5.0, 0.5, 5.0, 100.0, 123_456_789.123_456_79, -0.300_000_000_000_000_04]);
}

#[test]
fn a_label_that_is_none_is_refused() {
    for label in ["7", "2", "-2", "0.5", "yes", "NaN", "+", "1e400"] {
        let message = format!("found label {label:?}; {EXPECTED_LABEL}");
        Folder::refuses_line(format!("{label} qid:1 1:1\n"), "1:1", &[&message]);
    }
    Folder::refuses_line("x:1 1:1\n", "1:1", &[r#"found "x:1"; expected a label, -1 or +1, or 0 or 1"#]);
    Folder::refuses_line("?? qid:1 1:1\n", "1:1", &[r#"found label "??""#, EXPECTED_LABEL]);
    Folder::refuses_line(
        "? qid:1 qid:2 1:1\n",
        "1:9",
        &["task, weight and id come once each, between label and features"],
    );
}

#[test]
fn labels_zero_and_minus_one_in_one_stream_are_refused() {
    let both = "a stream has labels -1/+1 or 0/1, not both";
    Folder::refuses_line("1 1:1\n0 1:1\n-1 1:1\n", "3:1", &["found label -1 after label 0", both]);
    Folder::refuses_line("1 1:1\n-1 1:1\n0 1:1\n", "3:1", &["found label 0 after label -1", both]);
    let folder = Folder::with("a.svm", "0 1:1\n");
    folder.write("b.svm", "-1 1:1\n");
    folder.refused("learn a.svm b.svm --quiet", &["error: b.svm:1:1: found label -1 after label 0"]);
}

#[test]
fn labels_zero_and_one_mean_minus_and_plus() {
    let text = super::support::related(2, 40);
    let folder = Folder::with("signs.svm", &text);
    folder.write("bits.svm", text.replace("-1 qid", "0 qid").replace("+1 qid", "1 qid"));
    folder.output("learn signs.svm --quiet --model signs.cog");
    folder.output("learn bits.svm --quiet --model bits.cog");
    assert_eq!(folder.output("inspect signs.cog --weights"), folder.output("inspect bits.cog --weights"));
    let margins = |model: &str| {
        let csv = folder.output(&format!("predict signs.svm --model {model}"));
        csv.lines().map(|row| row.rsplit(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(margins("signs.cog"), margins("bits.cog"));
}

#[test]
fn what_is_no_task_is_refused() {
    let expected = "expected qid:<number> or task:<name>";
    Folder::refuses_line("+1 qid:x 1:1\n", "1:4", &[r#"found "qid:x""#, expected]);
    Folder::refuses_line("+1 qid: 1:1\n", "1:4", &[r#"found "qid:""#, expected]);
    Folder::refuses_line("+1 qid:-1 1:1\n", "1:4", &[r#"found "qid:-1""#, expected]);
    Folder::refuses_line("+1 task: 1:1\n", "1:4", &[r#"found "task:""#, expected]);
    let again = "task, weight and id come once each, between label and features";
    Folder::refuses_line("+1 qid:1 task:a 1:1\n", "1:10", &[r#"found "task:a""#, again]);
    Folder::refuses_line("+1 1:1 qid:1\n", "1:8", &[r#"found "qid:1""#, again]);
}

#[test]
fn what_is_no_feature_is_refused() {
    for token in ["x:1", ":1", "5", "1.5:2", "a=b", "3 :1"] {
        let found = token.split(' ').next().unwrap();
        let message = format!("found {found:?}; expected <index>:<value>");
        Folder::refuses_line(format!("+1 qid:1 {token}\n"), "1:10", &[&message]);
    }
}

#[test]
fn a_task_of_ten_thousand_characters_is_learnt_and_shown_cut() {
    let name = "n".repeat(10_000);
    let folder = Folder::with("long.svm", format!("+1 task:{name} 1:1\n-1 task:b 1:1\n"));
    let ran = folder.run("learn long.svm --quiet --model m.cog");
    ran.assert_done();
    assert!(ran.stdout.lines().all(|line| line.chars().count() < 120), "{}", ran.stdout);
    let told: serde_json::Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    assert_eq!(told["tasks"][1], name.as_str());
    assert!(folder.output("predict long.svm --model m.cog").contains(&format!("\n1,,{name},1,")));
    let wrong = format!("learn long.svm --quiet --tasks {name}");
    folder.refused(&wrong, &["long.svm:2:4: task \"b\" is not one of the 1 declared tasks"]);
}

#[test]
fn numbers_of_tasks_do_not_collide() {
    let text = "+1 qid:7 1:1\n-1 qid:007 1:1\n+1 task:7 1:1\n+1 qid:4294967303 1:1\n+1 qid:18446744073709551623 1:1\n";
    let summary = learns(text, 5);
    let tasks: Vec<&str> =
        summary["tasks"].as_array().unwrap().iter().map(|row| row["task"].as_str().unwrap()).collect();
    assert_eq!(tasks, ["7", "007", "4294967303", "18446744073709551623"], "names are as they are written");
}

#[test]
fn a_valid_line_of_100_megabytes_is_learnt() {
    // Long values keep the number of features low, and with it the time of a debug build.
    let value = "0.".to_owned() + &"25".repeat(500);
    let mut line = String::from("+1 qid:1");
    while line.len() < 100_000_000 {
        let next = line.len();
        write!(line, " {next}:{value}").unwrap();
    }
    line.push_str("\n-1 qid:1 1:1\n");
    let folder = Folder::with("long.svm", line);
    let summary = folder.summary("long.svm");
    assert_eq!(summary["examples"], 2);
    assert!(number(&summary, "/peak_memory_bytes") < 6e8, "{summary}");
}

#[test]
fn a_line_of_100_megabytes_of_garbage_is_refused_at_once() {
    let folder = Folder::with("garbage.svm", vec![b'x'; 100_000_000]);
    let started = Instant::now();
    let ran =
        folder.refused("learn garbage.svm --quiet", &["garbage.svm:1:1: found label \"xxxx", EXPECTED_LABEL]);
    assert!(started.elapsed() < Duration::from_secs(30), "took {:?}", started.elapsed());
    assert!(ran.stderr.len() < 1000, "the message is cut: {}", ran.stderr.len());
}

#[test]
fn a_million_tasks_are_learnt_and_all_are_listed() {
    const TASKS: usize = 1_000_000;
    let folder = Folder::new();
    let mut out = BufWriter::new(std::fs::File::create(folder.path("tasks.svm")).unwrap());
    for task in 0..TASKS {
        let label = if task % 3 == 0 { "-1" } else { "+1" };
        writeln!(out, "{label} qid:{task} {}:1", task % 9 + 1).unwrap();
    }
    out.into_inner().unwrap().sync_data().unwrap();
    let started = Instant::now();
    let mut child = cognate()
        .args(["learn", "tasks.svm", "--learner", "perceptron", "--json", "--quiet", "--model", "m.cog"])
        .current_dir(folder.path(""))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut listed, mut peak) = (0, 0.0);
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        listed += usize::from(line.trim_start().starts_with("\"task\": "));
        if let Some(bytes) = line.trim_start().strip_prefix("\"peak_memory_bytes\": ") {
            peak = bytes.parse().unwrap();
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(listed, TASKS);
    assert!(peak > 0.0 && peak < 6.5e8, "{peak} bytes for a million tasks");
    assert!(started.elapsed() < Duration::from_secs(100), "took {:?}", started.elapsed());
    assert!(folder.output("inspect m.cog").contains("tasks     1,000,000 (0, 1, 2,"));
}
