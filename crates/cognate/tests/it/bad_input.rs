//! Is bad input refused with its place, what was found and what was expected, and odd input read?

use std::fmt::Write;
use std::fs;

use crate::support::readers::{input, labels, plain_reader, reader_for};
use cognate::run::RunOptions;
use cognate::stream::{Batch, Input, Labels, ReadOptions};
use cognate::{Model, RunConfig, Stream};
use serde_json::json;

/// Number of examples, or the message.
fn read_all(inputs: Vec<Input>, config: &RunConfig, options: ReadOptions) -> Result<usize, String> {
    let mut reader = config.reader(inputs, options).unwrap();
    let (mut batch, mut count) = (Batch::default(), 0);
    loop {
        reader.fill(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok(count);
        }
        count += batch.len();
    }
}

fn read(text: &[u8]) -> Result<usize, String> {
    read_all(vec![input(text)], &RunConfig::default(), ReadOptions::default())
}

#[test]
fn bad_lines_are_refused_with_the_place() {
    let index = "expected 1 to 4294967294";
    for (text, message) in [
        (&b"+1 0:1"[..], &format!("in:1:4: found feature index 0; {index}")[..]),
        (b"+1 4294967295:1", &format!("in:1:4: found feature index 4294967295; {index}")),
        (b"+1 4294967296:1", &format!("in:1:4: found feature index 4294967296; {index}")),
        (b"+1 99999999999999999999:1", &format!("in:1:4: found feature index 99999999999999999999; {index}")),
        (b"+1 -3:1", &format!("in:1:4: found feature index -3; {index}")),
        (b"+1 2:1 2:1", "in:1:8: feature index 2 after 2; indices must increase"),
        (b"+1 20000000:1 3:1", "in:1:15: feature index 3 after 20000000; indices must increase"),
        (
            b"+1 3:1 10000001:2 10000000:1",
            "in:1:19: feature index 10000000 after 10000001; indices must increase",
        ),
        (b"+1 1:nan", "in:1:6: found value \"nan\"; expected a finite number of at most 1e150"),
        (b"+1 1:-inf", "in:1:6: found value \"-inf\"; expected a finite number of at most 1e150"),
        (b"+1 1:1e400", "in:1:6: found value \"1e400\"; expected a finite number of at most 1e150"),
        (b"+1 1:", "in:1:6: found value \"\"; expected a finite number of at most 1e150"),
        (b"+1 1:1#no comment", "in:1:6: found value \"1#no\"; expected a finite number of at most 1e150"),
        (b"+1 1:1x", "in:1:6: found value \"1x\"; expected a finite number of at most 1e150"),
        (b"+1 1:1\0", "in:1:6: found value \"1\\u{0}\"; expected a finite number of at most 1e150"),
        (b"+1 1:\xff", "in:1:6: found value \"\\xff\"; expected a finite number of at most 1e150"),
        (b"+1 1", "in:1:4: found \"1\"; expected <index>:<value>"),
        (b"+1 x:1", "in:1:4: found \"x:1\"; expected <index>:<value>"),
        (b"+1 \0:1", "in:1:4: found \"\\u{0}:1\"; expected <index>:<value>"),
        (b"\n\n  7 1:1", "in:3:3: found label \"7\"; expected -1 or +1, or 0 or 1"),
        (b"nan 1:1", "in:1:1: found label \"nan\"; expected -1 or +1, or 0 or 1"),
        (b"\0", "in:1:1: found label \"\\u{0}\"; expected -1 or +1, or 0 or 1"),
        (b"1:1", "in:1:1: found \"1:1\"; expected a label, -1 or +1, or 0 or 1"),
        (
            b"-1 1:1\n0 1:1",
            "in:2:1: found label 0 after label -1; a stream has labels -1/+1 or 0/1, not both",
        ),
        (
            b"0 1:1\n-1 1:1",
            "in:2:1: found label -1 after label 0; a stream has labels -1/+1 or 0/1, not both",
        ),
        (b"+1 qid:x 1:1", "in:1:4: found \"qid:x\"; expected qid:<number> or task:<name>"),
        (b"+1 task: 1:1", "in:1:4: found \"task:\"; expected qid:<number> or task:<name>"),
        (b"+1 task:\xff 1:1", "in:1:4: found \"task:\\xff\"; expected qid:<number> or task:<name>"),
        (b"+1 task:a\rb 1:1", "in:1:4: found \"task:a\\rb\"; expected qid:<number> or task:<name>"),
        (
            b"+1 1:1 qid:3",
            "in:1:8: found \"qid:3\"; task, weight and id come once each, between label and features",
        ),
        (
            b"+1 qid:1 task:a 1:1",
            "in:1:10: found \"task:a\"; task, weight and id come once each, between label and features",
        ),
        (
            b"+1 weight:1 id:a weight:1 1:1",
            "in:1:18: found \"weight:1\"; task, weight and id come once each, between label and features",
        ),
        (
            b"+1 id:a qid:1 1:1",
            "in:1:9: found \"qid:1\"; task, weight and id come once each, between label and features",
        ),
        (b"+1 weight:-1 1:1", "in:1:4: found weight \"-1\"; expected a number from 0 to 1e150"),
        (b"+1 qid:1 weight:nan 1:1", "in:1:10: found weight \"nan\"; expected a number from 0 to 1e150"),
        (b"+1 id: 1:1", "in:1:4: found id \"\"; expected text in UTF-8, without control characters"),
    ] {
        assert_eq!(read(text).unwrap_err(), message, "{}", text.escape_ascii());
        // The same after a good line, and before one.
        let behind = [b"+1 1:1\n", text].concat();
        let place = message.split(' ').next().unwrap();
        if let Some(column) = place.strip_prefix("in:1:") {
            assert!(read(&behind).unwrap_err().starts_with(&format!("in:2:{column} ")), "{message}");
        }
        assert_eq!(read(&[text, b"\r\n+1 1:1\n"].concat()).unwrap_err(), message);
    }
}

#[test]
fn odd_lines_are_read() {
    for (text, examples) in [
        (&b""[..], 0),
        (b"\n", 0),
        (b"\r\n \t\r\n# nothing\n", 0),
        (b"+1", 1),
        (b"\t+1\tqid:3\t1:1\t\n", 1),
        (b"1.0 1:1\n-1e0 1:1\n+1 1:1", 3),
        (b"0 1:1\n1 1:1\n0.0 1:1\n", 3),
        (b"1 qid:000 1:+1 2:.5 3:5. 4:-0 5:1E5 00006:1e-400 #comment\n", 1),
        (b"1 qid:99999999999999999999 1:1 #comment\0\xff\n", 1),
        (b"1 4294967294:1", 1),
    ] {
        assert_eq!(read(text), Ok(examples), "{}", text.escape_ascii());
    }
}

#[test]
fn labels_may_be_left_out_where_nobody_learns() {
    let text = b"? qid:1 1:1\nqid:2 1:1\n1:1\n+1 1:1\n?\n";
    assert_eq!(read_all(vec![input(text)], &RunConfig::default(), labels(Labels::Optional)), Ok(5));
    assert_eq!(read(text).unwrap_err(), "in:1:1: found label \"?\"; expected -1 or +1, or 0 or 1");
}

#[test]
fn undeclared_tasks_and_features_are_refused() {
    let config = serde_json::from_value(json!({"tasks": ["ann", "7"], "features": 9})).unwrap();
    let named = |text: &[u8]| read_all(vec![input(text)], &config, ReadOptions::default());
    assert_eq!(named(b"1 qid:7 9:1\n1 task:ann 1:1\n"), Ok(2));
    assert_eq!(named(b"1 qid:7 10:1").unwrap_err(), "in:1:9: found feature index 10; expected 1 to 9");
    assert_eq!(
        named(b"1 qid:8 1:1").unwrap_err(),
        "in:1:3: task 8 is not one of the 2 declared tasks (ann, 7)"
    );
    let message = named(b"1 1:1").unwrap_err();
    assert_eq!(message, "in:1:3: task default is not one of the 2 declared tasks (ann, 7)");
}

#[test]
fn huge_lines_and_names_are_read_or_refused() {
    let long = 100 << 20;
    let mut text = b"+1 1:1 # ".to_vec();
    text.resize(long, b'x');
    text.extend(b"\n+1 1:1\n");
    assert_eq!(read(&text), Ok(2));
    text[7] = b'y';
    let message = read(&text).unwrap_err();
    assert_eq!(message, "in:1:8: found \"y\"; expected <index>:<value>");
    text[8] = b'y';
    let message = read(&text).unwrap_err();
    assert!(message.starts_with("in:1:8: found \"yyxxx") && message.len() < 100, "{message}");
    let name = "n".repeat(10_000);
    assert_eq!(read(format!("+1 task:{name} 1:1\n-1 task:{name} 1:1").as_bytes()), Ok(2));
}

#[test]
fn a_million_tasks_are_learnt_saved_and_loaded() {
    let mut text = String::new();
    for task in 0..1_000_000_u64 {
        writeln!(text, "1 qid:{} 1:1", task * 4001 % 1_000_000_007).unwrap();
    }
    let mut model = Model::new(&RunConfig::default()).unwrap();
    let mut reader = reader_for(&model, vec![input(&text)]);
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
    assert_eq!(model.tasks().len(), 1_000_000);
    let bytes = model.to_bytes();
    assert!(Model::from_bytes(&bytes).unwrap().to_bytes() == bytes);
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let directory = Input::File(folder.path().to_owned());
    let message = read_all(vec![directory], &RunConfig::default(), ReadOptions::default()).unwrap_err();
    let shown = folder.path().display();
    assert_eq!(message, format!("{shown}: is a directory; expected a file of examples"));
    // A file that is gone when the second pass begins.
    let path = folder.path().join("gone");
    fs::write(&path, "+1 1:1\n").unwrap();
    let mut reader = plain_reader(vec![Input::File(path.clone())]);
    let mut batch = Batch::default();
    reader.fill(&mut batch).unwrap();
    assert_eq!(batch.len(), 1);
    fs::remove_file(&path).unwrap();
    reader.rewind().unwrap();
    let gone = reader.fill(&mut batch).unwrap_err().to_string();
    assert!(gone.starts_with(&format!("{}: ", path.display())), "{gone}");
    // A stream held in memory does not need the file.
    fs::write(&path, "+1 1:1\n").unwrap();
    let mut held = plain_reader(vec![Input::File(path.clone())]).into_memory().unwrap();
    fs::remove_file(&path).unwrap();
    held.rewind().unwrap();
    held.fill(&mut batch).unwrap();
    assert_eq!(batch.len(), 1);
}

/// A huge index costs what any index costs.
#[test]
fn memory_follows_the_file_not_its_numbers() {
    let mut model = Model::new(&RunConfig::default()).unwrap();
    let text = b"+1 qid:4294967295 4294967294:1\n-1 qid:4000000000 4000000000:1\n";
    let mut reader = reader_for(&model, vec![input(text)]);
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
    let held = model.learner().as_inspect().heap_bytes() + model.tasks().heap_bytes();
    assert!(held < 10_000, "{held} bytes for two examples");
}
