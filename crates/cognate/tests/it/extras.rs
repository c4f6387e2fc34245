//! What examples have beside task, label and features: weights, offsets, times and ids, in every format and on every way.

use crate::support::readers::{config, input, labels};
use cognate::stream::{Batch, Labels, Memory, Order, ReadOptions};
use cognate::{Model, RunConfig, Stream};
use serde_json::{Value, json};

/// Of each example: line, id, weight, offset, time and how many features; or the error.
fn read(stream: &Value, text: &str) -> Result<Vec<String>, String> {
    let reader = config(stream).reader(vec![input(text)], labels(Labels::Optional)).unwrap();
    all(reader)
}

fn all(mut stream: impl Stream) -> Result<Vec<String>, String> {
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    loop {
        stream.fill(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok(found);
        }
        for (at, example) in batch.examples().enumerate() {
            let id = batch.id(at).unwrap_or("-");
            let time = example.time.map_or("-".to_owned(), |time| time.to_string());
            let (line, features) = (batch.line(at), example.features.len());
            found.push(format!("{line} {id} {} {} {time} {features}", example.weight, example.offset));
        }
    }
}

#[test]
fn svm_has_weights_and_ids_behind_the_task() {
    let text = "+1 qid:1 weight:2.5 id:mail-7 1:1 2:1\n-1 task:a id:é 1:1 # weight:3\n+1 weight:0 1:1\n-1 1:1\n\
                weight:3 id:x 1:1\n? id:w weight:1e3\n";
    let expected =
        ["1 mail-7 2.5 0 - 2", "2 é 1 0 - 1", "3 - 0 0 - 1", "4 - 1 0 - 1", "5 x 3 0 - 1", "6 w 1000 0 - 0"];
    assert_eq!(read(&json!({}), text).unwrap(), expected);
}

#[test]
fn tasks_are_called_as_they_are_written() {
    let tasks = |text: &str| {
        let mut reader = config(&json!({})).reader(vec![input(text)], ReadOptions::default()).unwrap();
        let mut batch = Batch::default();
        reader.fill(&mut batch).unwrap();
        batch.new_tasks().to_vec()
    };
    assert_eq!(
        tasks("+1 qid:007 1:1\n+1 task:007 1:1\n+1 qid:7 1:1\n+1 task:7 1:1\n+1 qid:0 1:1\n"),
        ["007", "7", "0"]
    );
    assert_eq!(
        tasks("+1 qid:00 1:1\n+1 qid:0000000001 1:1\n+1 qid:10000000001 1:1\n"),
        ["00", "0000000001", "10000000001"]
    );
}

#[test]
fn vw_has_importances_bases_and_tags() {
    let text = "1 2 'a |f x\n-1 0.5 -1 'b |f x y\n1 |f x\n1 0 c|f x\n";
    let by_tag = ["1 - 2 0 - 1", "2 - 0.5 -1 - 2", "3 - 1 0 - 1", "4 - 0 0 - 1"];
    assert_eq!(read(&json!({ "format": "vw" }), text).unwrap(), by_tag);
    let by_namespace = json!({ "format": { "vw": { "task-namespace": "u" } } });
    assert_eq!(
        read(&by_namespace, "1 2 'a |u ann |f x\n-1 ' |u ann |f x\n").unwrap(),
        ["1 a 2 0 - 1", "2 - 1 0 - 1"]
    );
}

#[test]
fn csv_has_columns_for_all_of_them() {
    let columns = json!({
        "weight-column": "w", "id-column": "mail", "time-column": "when", "offset-column": "prior", "ignore": ["junk"],
        "separator": ";",
    });
    let csv = json!({ "format": { "csv": columns } });
    let text = "label;x;w;mail;when;prior;junk\n1;0.5;2;m1;1970-01-01T00:01:00Z;-0.5;nonsense\n0;NA;NA;;NaN;;7\n\
                1;true;0;m1;12.5;1;\n";
    assert_eq!(
        read(&csv, text).unwrap(),
        ["2 m1 2 -0.5 60 1", "3 - 1 0 - 0", "4 m1 0 1 12.5 1"],
        "an id may come twice"
    );
    for (row, message) in [
        ("1;1;-1;;;;", "in:2:5: found weight \"-1\"; expected a number from 0 to 1e150"),
        (
            "1;1;1;;yesterday;;",
            "in:2:8: found time \"yesterday\"; expected seconds, or a date and time like 2026-01-31T12:00:00Z",
        ),
        ("1;1;NaN;;;;", "in:2:5: found weight \"NaN\"; expected a number from 0 to 1e150"),
        ("1;1;1;;;x;", "in:2:9: found offset \"x\"; expected a finite number of at most 1e150"),
        (
            "1;1;1;\"a\u{7}\";;;",
            "in:2:8: found id \"a\\u{7}\"; expected text in UTF-8, without control characters",
        ),
    ] {
        assert_eq!(read(&csv, &format!("label;x;w;mail;when;prior;junk\n{row}\n")).unwrap_err(), message);
    }
    assert_eq!(
        read(&csv, "label;x;w;mail;when;prior\n").unwrap_err(),
        "in:1:1: no column is called \"junk\"; the header has (x, w, mail, when, label, prior)"
    );
    let twice = json!({ "format": { "csv": { "weight-column": "w", "ignore": ["w"] } } });
    assert_eq!(
        read(&twice, "label,w\n").unwrap_err(),
        "in:1:1: column \"w\" is given two roles; expected one"
    );
}

#[test]
fn an_unnamed_first_column_is_the_id() {
    let csv = json!({ "format": "csv" });
    assert_eq!(read(&csv, ",label,x\n0,1,2\n1,0,3\n").unwrap(), ["2 0 1 0 - 1", "3 1 1 0 - 1"]);
    let named = json!({ "format": { "csv": { "id-column": "x" } } });
    assert_eq!(read(&named, ",label,x\n0,1,2\n").unwrap(), ["2 2 1 0 - 0"]);
    assert_eq!(read(&csv, "label,,x\n").unwrap_err(), "in:1:7: column 2 has no name; expected a header");
}

#[test]
fn cells_in_quotes_go_over_line_ends() {
    let csv = json!({ "format": "csv" });
    let text = "label,\"a\nb\",c\n1,2,\"x\r\n\"\"y\"\",\n\nz\"\n0,3,\"u\"\n";
    assert_eq!(read(&csv, text).unwrap(), ["3 - 1 0 - 2", "7 - 1 0 - 2"]);
    let bad = "label,a,c\n1,1,\"x\ny\"z,\n1,2,q\n";
    assert_eq!(
        read(&csv, bad).unwrap_err(),
        "in:3:3: found \"z\" after a closing quote; expected a separator or the end of the line"
    );
    // A quote that nothing closes spoils its own line alone.
    let open = "label,a\n1,\"x\n1,y\n1,\"z\"\n";
    assert_eq!(
        read(&csv, open).unwrap_err(),
        "in:2:3: found a quote that is not closed; expected a second one"
    );
    let skipping = labels(Labels::Optional).skip_bad(1);
    let reader = config(&csv).reader(vec![input(open)], skipping).unwrap();
    assert_eq!(all(reader).unwrap(), ["3 - 1 0 - 1", "4 - 1 0 - 1"]);
}

#[test]
fn many_open_quotes_take_no_more_time_than_lines() {
    // The first is searched to the end; if each were, this would take hours.
    let text = format!("label,a,b\n{}", "1,x\"y,\"z\n".repeat(300_000));
    let skipping = labels(Labels::Optional).skip_bad(u64::MAX);
    let reader = config(&json!({ "format": "csv" })).reader(vec![input(text)], skipping).unwrap();
    assert_eq!(all(reader).unwrap(), Vec::<String>::new());
}

#[test]
fn json_has_keys_for_all_of_them_and_lists_of_tokens() {
    let jsonl = json!({ "format": "jsonl" });
    let text = r#"{"label":1,"weight":2,"id":"m1","time":"1970-01-01T00:00:05Z","offset":-1,"features":{"a":1,"b":null}}
{"label":0,"id":17,"time":3,"weight":null,"features":["to","be","or","not","to","be"]}
{"features":[]}"#;
    assert_eq!(read(&jsonl, text).unwrap(), ["1 m1 2 -1 5 1", "2 17 1 0 3 4", "3 - 1 0 - 0"]);
    let keys = json!({
        "task-key": "user", "label-key": "spam", "features-key": "words", "weight-key": "w", "id-key": "mail",
        "time-key": "t", "offset-key": "o", "ignore": ["subject", "raw"],
    });
    let other = json!({ "format": { "jsonl": keys } });
    let line = r#"{"user":"a","raw":{"x":[1]},"spam":true,"words":["b"],"w":3,"mail":"x","t":1,"o":2,"subject":"s"}"#;
    assert_eq!(read(&other, line).unwrap(), ["1 x 3 2 1 1"]);
    for (line, message) in [
        (r#"{"features":{},"weight":-1}"#, "in:1:16: found weight \"-1\"; expected a number from 0 to 1e150"),
        (r#"{"features":{},"weight":true}"#, "in:1:16: found weight true; expected a number from 0 to 1e150"),
        (
            r#"{"features":{},"id":1.5}"#,
            "in:1:16: found id 1.5; expected text in UTF-8, without control characters",
        ),
        (
            r#"{"features":{},"time":"soon"}"#,
            "in:1:16: found time \"soon\"; expected seconds, or a date and time like 2026-01-31T12:00:00Z",
        ),
        (
            r#"{"features":["a",3]}"#,
            "in:1:2: found 3 in the list of features; expected texts, each a feature of value 1",
        ),
    ] {
        assert_eq!(read(&jsonl, line).unwrap_err(), message);
    }
}

#[test]
fn repeated_tokens_are_counted() {
    let text = r#"{"label":1,"features":["to","be","to"]}"#;
    let mut reader =
        config(&json!({ "format": "jsonl" })).reader(vec![input(text)], ReadOptions::default()).unwrap();
    let mut batch = Batch::default();
    reader.fill(&mut batch).unwrap();
    assert_eq!(batch.example(0).features.values(), [2.0, 1.0]);
}

#[test]
fn another_order_keeps_all_of_them() {
    let text: String = (1..=40).map(|at| format!("+1 qid:{} weight:{at} id:m{at} 1:1\n", at % 3)).collect();
    let reader = config(&json!({})).reader(vec![input(&text)], ReadOptions::default()).unwrap();
    let straight =
        all(config(&json!({})).reader(vec![input(&text)], ReadOptions::default()).unwrap()).unwrap();
    let shuffled = all(reader.into_memory().unwrap().ordered(Order::Shuffle, 1, false)).unwrap();
    assert_ne!(shuffled, straight);
    let mut sorted = shuffled;
    sorted.sort_by_key(|row| row.split(' ').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(sorted, straight);
    let again =
        Memory::load(&mut config(&json!({})).reader(vec![input(&text)], ReadOptions::default()).unwrap());
    assert_eq!(all(again.unwrap()).unwrap(), straight);
}

#[test]
fn every_class_has_what_its_line_has() {
    let stream = json!({ "one-vs-all": true, "format": "jsonl" });
    let text = "{\"label\":\"a\",\"weight\":2,\"id\":\"x\",\"time\":5,\"features\":{\"f\":1}}\n{\"label\":\"b\",\"features\":{}}\n";
    assert_eq!(read(&stream, text).unwrap(), ["1 x 2 0 5 1", "2 - 1 0 - 0", "2 - 1 0 - 0"]);
    let svm = "a weight:2 id:x 1:1\nb 1:1\n";
    assert_eq!(
        read(&json!({ "one-vs-all": true }), svm).unwrap(),
        ["1 x 2 0 - 1", "2 - 1 0 - 1", "2 - 1 0 - 1"]
    );
}

#[test]
fn true_and_false_are_numbers_in_cells_unless_the_column_holds_texts() {
    let model = |text: &str| {
        let config: RunConfig = config(&json!({ "format": "csv" }));
        let mut model = Model::new(&config).unwrap();
        let mut reader = model.reader(vec![input(text)], ReadOptions::default()).unwrap();
        model.learn(&mut reader, &cognate::RunOptions::default(), &mut ()).unwrap();
        model.names().iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(model("label,x\n1,True\n0,False\n1,2\n"), ["x"]);
    assert_eq!(model("label,x\n1,maybe\n0,true\n"), ["x=maybe", "x=true"]);
}

#[test]
fn predictions_know_the_lines_that_were_skipped() {
    let model = Model::new(&RunConfig::default()).unwrap();
    let text = "bad\n+1 1:1\nbad\n\nbad\n+1 1:1\nbad\n";
    let mut reader = model.prediction_reader(vec![input(text)], ReadOptions::default().skip_bad(9)).unwrap();
    let mut batch = Batch::default();
    reader.fill(&mut batch).unwrap();
    assert_eq!(batch.skipped_lines(), [(0, 1), (1, 3), (1, 5), (2, 7)]);
    assert_eq!((batch.len(), batch.line(1)), (2, 6));
}
