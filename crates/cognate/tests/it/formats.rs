//! Formats beside `svm`: what is read, what is refused and where.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::support::readers::{config, input, labels};
use cognate::run::RunOptions;
use cognate::stream::{Batch, Labels, ReadOptions, Reader};
use cognate::{Model, RunConfig, Stream, Tasks};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Task, label and features by name.
type Row = (String, f64, BTreeMap<String, f64>);

/// Every example up to the end or the first error, as read for runs of a config.
fn rows_of(texts: &[&[u8]], config: &RunConfig, options: &ReadOptions) -> (Vec<Row>, Option<String>) {
    let reader = || config.reader(texts.iter().map(input).collect(), options.clone()).unwrap();
    // A model that learns the same texts tells what the features are called.
    let mut model = Model::new(config).unwrap();
    let learnt = model.learn(&mut reader(), &RunOptions::default(), &mut ());
    let (found, error) = drain(reader(), &model);
    assert_eq!(error, learnt.err().map(|error| error.to_string()));
    (found, error)
}

/// The same for a stream, with the rest of the config at its defaults.
fn rows(texts: &[&[u8]], stream: &Value, options: &ReadOptions) -> (Vec<Row>, Option<String>) {
    rows_of(texts, &config(stream), options)
}

/// The rows of a reader, names as a model knows them.
fn drain(mut reader: Reader, model: &Model) -> (Vec<Row>, Option<String>) {
    let names = model.names().by_feature();
    let (mut tasks, mut batch, mut found) = (Tasks::open(), Batch::default(), Vec::new());
    let error = loop {
        if let Err(error) = reader.fill(&mut batch) {
            break Some(error.to_string());
        }
        if batch.is_empty() {
            break None;
        }
        for name in batch.new_tasks() {
            tasks.meet(name).unwrap();
        }
        for example in batch.examples() {
            let name = |feature| names.names(feature).collect::<Vec<_>>().join("|");
            let features = example.features.iter().map(|(feature, value)| (name(feature), value)).collect();
            found.push((tasks.name(example.task).to_owned(), example.label, features));
        }
    };
    (found, error)
}

/// The rows of a text that is good, as `task label name:value …`.
fn good(stream: &Value, text: &str) -> Vec<String> {
    let (rows, error) = rows(&[text.as_bytes()], stream, &labels(Labels::Optional));
    assert_eq!(error, None, "{text}");
    rows.iter()
        .map(|(task, label, features)| {
            let features: String = features.iter().map(|(name, value)| format!(" {name}:{value}")).collect();
            format!("{task} {label}{features}")
        })
        .collect()
}

/// Checks that a text is refused with a message, after good lines and before one, and skipped where that is asked for.
fn refused(stream: &Value, header: &str, ok: &str, bad: &[u8], message: &str) {
    let lines = header.lines().count();
    for before in 0..2 {
        let mut text = header.as_bytes().to_vec();
        text.extend(ok.repeat(before).as_bytes());
        text.extend(bad);
        text.extend(b"\r\n");
        text.extend(ok.as_bytes());
        let (found, error) = rows(&[&text], stream, &labels(Labels::Required));
        let place = format!("in:{}:", lines + before + 1);
        assert_eq!(error.as_deref(), Some(&*format!("{place}{message}")), "{}", bad.escape_ascii());
        assert_eq!(found.len(), before);
        let (found, error) = rows(&[&text], stream, &labels(Labels::Required).skip_bad(1));
        assert_eq!((found.len(), error), (before + 1, None), "{}", bad.escape_ascii());
    }
}

#[test]
fn vw_lines_are_read_as_vowpal_wabbit_does() {
    let vw = json!({ "format": "vw" });
    for (line, row) in [
        ("1 | a b:2", "default 1 a:1 b:2"),
        ("+1 1.0 'alice |f a:0.5 |g:2 a b:3", "alice 1 f^a:0.5 g^a:2 g^b:6"),
        ("-1 bob|f a", "bob -1 f^a:1"),
        ("|f a", "default NaN f^a:1"),
        ("? 'x |f a", "x NaN f^a:1"),
        ("'x|f a", "x NaN f^a:1"),
        ("1 |w the cat the", "default 1 w^cat:1 w^the:2"),
        ("1 | a^b |a b", "default 1 ^a^b:1 a^b:1"),
        ("1|f 3:4", "1 NaN f^3:4"),
        ("\t1  |f\ta|g b ", "default 1 f^a:1 g^b:1"),
        ("1 |f", "default 1"),
        ("1 |größe 品質:1e-3", "default 1 größe^品質:0.001"),
    ] {
        assert_eq!(good(&vw, line), [row], "{line}");
    }
    assert_eq!(good(&vw, "\n\n0 |f a\r\n \n1 |f a"), ["default -1 f^a:1", "default 1 f^a:1"]);
    let by_namespace = json!({ "format": { "vw": { "task-namespace": "user" } } });
    assert_eq!(good(&by_namespace, "1 'id7 |f a |user ann"), ["ann 1 f^a:1"]);
}

#[test]
fn bad_vw_lines_are_refused_with_the_place() {
    let vw = json!({ "format": "vw" });
    for (bad, message) in [
        (&b"+1 qid:3 1:1"[..], "1: found \"+1\"; expected a line with `|` before its features"),
        (b"|f a", "1: found \"|\"; expected a label, -1 or +1, or 0 or 1"),
        (b"7 |f a", "1: found label \"7\"; expected -1 or +1, or 0 or 1"),
        (b"1 -2.5 |f a", "3: found weight \"-2.5\"; expected a number from 0 to 1e150"),
        (b"1 nan 'x |f a", "3: found weight \"nan\"; expected a number from 0 to 1e150"),
        (b"1 1 x |f a", "5: found offset \"x\"; expected a finite number of at most 1e150"),
        (
            b"1 1 1 1 1 1 1 |f a",
            "9: found \"1\" after the label; expected an importance, a base, a tag, or none of them, then `|`",
        ),
        (b"1 |f a:x", "8: found value \"x\"; expected a finite number of at most 1e150"),
        (b"1 |f a:", "8: found value \"\"; expected a finite number of at most 1e150"),
        (b"1 |f a:nan", "8: found value \"nan\"; expected a finite number of at most 1e150"),
        (b"1 |f a:1e200", "8: found value \"1e200\"; expected a finite number of at most 1e150"),
        (
            b"1 |f:1e100 a:1e100",
            "12: found value \"1000000000000000000000000000000000000000…\"; expected a finite number of at most 1e150",
        ),
        (b"1 |f:x a", "6: found value \"x\"; expected a finite number of at most 1e150"),
        (b"1 |f :3", "6: found \":3\"; expected <name> or <name>:<value>"),
        (b"1 |f \xff", "6: found \"\\xff\"; expected text in UTF-8"),
        (b"1 |\xff a", "4: found \"\\xff\"; expected text in UTF-8"),
        (
            b"1 |f^g a",
            "4: found namespace \"f^g\"; expected one without `^`, which separates it from its features",
        ),
        (b"1 'a\0b |f a", "3: found \"a\\u{0}b\"; expected the name of a task"),
    ] {
        refused(&vw, "", "-1 |f a\n", bad, message);
    }
    let (_, error) = rows(&[b"-1 |f a\n 0 |f a"], &vw, &labels(Labels::Required));
    let mixed = "in:2:2: found label 0 after label -1; a stream has labels -1/+1 or 0/1, not both";
    assert_eq!(error.as_deref(), Some(mixed));
    let by_namespace = json!({ "format": { "vw": { "task-namespace": "u" } } });
    let ok = "1 |u x |f a\n";
    refused(&by_namespace, "", ok, b"1 |u ann bob |f a", "10: found a second task, \"bob\"; a line has one");
    let (none, nothing) = (
        "found no namespace \"u\"; expected the name of a task",
        "found nothing in namespace \"u\"; expected the name",
    );
    refused(&by_namespace, "", ok, b"1 'id7 |f a", &format!("8: {none}"));
    refused(&by_namespace, "", ok, b"1 |f a |u", &format!("9: {nothing} of a task"));
}

const HEADER: &str = "task,label,price,colour\n";

#[test]
fn csv_cells_are_numbers_or_categories() {
    let csv = json!({ "format": "csv" });
    let text = format!(
        "\u{feff}{HEADER}ann,1,0.5,red\n\n\"b, \"\"b\"\"\",-1, 2 ,\"a=b, c\"\r\nann,?,,\nann,,\"\",red"
    );
    assert_eq!(
        good(&csv, &text),
        [
            "ann 1 colour=red:1 price:0.5",
            "b, \"b\" -1 colour=a=b, c:1 price:2",
            "ann NaN",
            "ann NaN colour=red:1"
        ]
    );
    let columns = json!({ "task-column": "who", "label-column": "y", "categorical": ["zip"] });
    let other = json!({ "format": { "csv": columns } });
    assert_eq!(good(&other, "y,who,zip,label\n0,x,0815,7\n"), ["x -1 label:7 zip=0815:1"]);
    assert_eq!(good(&csv, "label,x\n1,2\n"), ["default 1 x:2"]);
    assert_eq!(good(&csv, ""), Vec::<String>::new());
    // Every file has its own header.
    let (found, error) = rows(&[b"label,x\n1,2\n", b"x,label\n3,1\n"], &csv, &labels(Labels::Required));
    assert_eq!((found.len(), error), (2, None));
    assert_eq!(found[1].2, BTreeMap::from([("x".to_owned(), 3.0)]));
}

#[test]
fn bad_csv_rows_are_refused_with_the_place() {
    let csv = json!({ "format": "csv" });
    for (bad, message) in [
        (&b"a,1,2"[..], "6: found 3 fields; expected 4, as the header has"),
        (b"a,1,2,red,,9", "11: found 6 fields; expected 4, as the header has"),
        (b"a,7,2,red", "3: found label \"7\"; expected -1 or +1, or 0 or 1"),
        (b"a,,2,red", "3: found an empty cell; expected a label, -1 or +1, or 0 or 1"),
        (b",1,2,red", "1: found \"\"; expected the name of a task"),
        (b"a\0,1,2,red", "1: found \"a\\u{0}\"; expected the name of a task"),
        (b"a,NA,2,red", "3: found an empty cell; expected a label, -1 or +1, or 0 or 1"),
        (b"a,1,inf,red", "5: found value \"inf\"; expected a finite number of at most 1e150"),
        (b"a,1, -1e999,red", "6: found value \"-1e999\"; expected a finite number of at most 1e150"),
        (b"a,1,2,\"red", "7: found a quote that is not closed; expected a second one"),
        (
            b"a,1,2,\"red\"x,",
            "12: found \"x\" after a closing quote; expected a separator or the end of the line",
        ),
        (b"a,1,2,\xff", "7: found \"\\xff\"; expected text in UTF-8"),
    ] {
        refused(&csv, HEADER, "a,1,2,red\n", bad, message);
    }
    for (header, message) in [
        ("a,b,a,label\n", "in:1:5: found column \"a\" a second time; column 1 has the same name"),
        ("a,,label\n", "in:1:3: column 2 has no name; expected a header"),
        ("lable,x\n", "in:1:1: no column is called \"label\"; the header has (lable, x)"),
        ("label,\"x\n", "in:1:7: found a quote that is not closed; expected a second one"),
    ] {
        let skipping = labels(Labels::Optional).skip_bad(99);
        let (_, error) = rows(&[format!("{header}1,2\n").as_bytes()], &csv, &skipping);
        assert_eq!(error.as_deref(), Some(message), "a bad header cannot be skipped");
    }
}

#[test]
fn a_column_keeps_to_numbers_or_to_texts() {
    let csv = json!({ "format": "csv" });
    let read = |text: &str| rows(&[text.as_bytes()], &csv, &labels(Labels::Optional)).1;
    assert_eq!(
        read("label,x\n1,2\n1,\n1,n/a\n").unwrap(),
        "in:4:3: found \"n/a\" in column \"x\"; expected a number, as in the rows before"
    );
    assert_eq!(
        read("label,x\n1,n/a\n1,3\n").unwrap(),
        "in:3:3: found \"3\" in column \"x\"; expected a text, as in the rows before"
    );
    assert_eq!(
        read("label,a=b\n1,c\n").unwrap(),
        "in:2:3: \"a=b\" holds a text, whose feature would be called <name>=<text>; expected a name without `=`"
    );
    assert_eq!(read("label,a=b\n1,2\n"), None);
}

#[test]
fn a_column_of_labels_may_miss_only_where_nobody_learns() {
    let text = b"x\n2\n";
    let csv = json!({ "format": "csv" });
    let (_, error) = rows(&[text], &csv, &labels(Labels::Optional));
    assert_eq!(error.unwrap(), "in:1:1: no column is called \"label\"; the header has (x)");
    let model = Model::new(&config(&csv)).unwrap();
    let predicting = model.prediction_reader(vec![input(text)], ReadOptions::default()).unwrap();
    let (found, error) = drain(predicting, &model);
    assert!(found.len() == 1 && found[0].1.is_nan() && error.is_none());
}

#[test]
fn json_lines_are_read() {
    let jsonl = json!({ "format": "jsonl" });
    for (line, row) in [
        (r#"{"task":"ann","label":1,"features":{"a":0.5,"b":-2}}"#, "ann 1 a:0.5 b:-2"),
        (r#" {"features":{"b":1e-3},"label":-1.0,"task":7} "#, "7 -1 b:0.001"),
        (r#"{"label":false,"features":{"x":true,"y":false,"z":null}}"#, "default -1 x:1 y:0"),
        (r#"{"label":"+1","features":{"colour":"red","n\u00e4me":3}}"#, "default 1 colour=red:1 näme:3"),
        (r#"{"label":null,"task":null,"features":{}}"#, "default NaN"),
        (r#"{"features":{"12":1}}"#, "default NaN 12:1"),
    ] {
        assert_eq!(good(&jsonl, line), [row], "{line}");
    }
    assert_eq!(good(&jsonl, "\n\n{\"label\":1,\"features\":{}}\r\n").len(), 1);
}

#[test]
fn bad_json_lines_are_refused_with_the_place() {
    let jsonl = json!({ "format": "jsonl" });
    let expected = r#"; expected {"task": …, "label": …, "features": {"name": 0.5, …}}"#;
    let value = "expected a finite number of at most 1e150, a text, true or false";
    for (bad, message) in [
        (&br#"{"label":1,"features":{"a":1}"#[..], format!("29: EOF while parsing an object{expected}")),
        (br#"{"label":1,"features":{"a":1}} x"#, format!("32: trailing characters{expected}")),
        (br"{'label':1}", format!("2: key must be a string{expected}")),
        (br#"{"label":1}"#, format!("1: found no \"features\"{expected}")),
        (br#"{"features":{}}"#, "1: found none; expected a label, -1 or +1, or 0 or 1".to_owned()),
        (
            br#"{"label":3,"features":{}}"#,
            "2: found label \"3\"; expected -1 or +1, or 0 or 1".to_owned(),
        ),
        (
            br#"{"label":[1],"features":{}}"#,
            "2: found label a list; expected -1 or +1, or 0 or 1".to_owned(),
        ),
        (
            br#"{"lable":1,"features":{}}"#,
            "2: found key \"lable\"; expected one of \"task\", \"label\", \"features\", \"weight\", \"id\", \"time\", \
             \"offset\""
                .to_owned(),
        ),
        (
            br#"{"label":1,"label":1,"features":{}}"#,
            "12: found \"label\" a second time; a line holds it once".to_owned(),
        ),
        (
            br#"{"label":1,"features":{"a":1,"b":2,"a":1}}"#,
            "36: found \"a\" a second time; a line holds it once".to_owned(),
        ),
        (br#"{"label":1,"features":{"a":[1]}}"#, format!("24: feature \"a\" is a list; {value}")),
        (br#"{"label":1,"features":{"a":{"b":1}}}"#, format!("24: feature \"a\" is an object; {value}")),
        (
            br#"{"label":1,"features":{"a":1e151}}"#,
            format!("24: feature \"a\" is 1{}; {value}", "0".repeat(151)),
        ),
        (br#"{"label":1,"features":{"a":1e999}}"#, format!("32: number out of range{expected}")),
        (br#"{"label":1,"features":{"a":NaN}}"#, format!("28: found \"NaN\" in place of a value{expected}")),
        (br#"{"label":1,"features":{"a":tru}}"#, format!("31: found \"}}\" in place of a value{expected}")),
        (
            br#"{"label":1 "features":{}}"#,
            format!("12: found \"\\\"\" in place of `,` or `}}`{expected}"),
        ),
        (
            "{\"label\":1,\"features\":{\"a\":é}}".as_bytes(),
            format!("28: found \"\\u{{e9}}\" in place of a value{expected}"),
        ),
        (br#"{"label":1,"task":"","features":{}}"#, "12: found \"\"; expected the name of a task".to_owned()),
        (br#"{"label":1,"task":1.5,"features":{}}"#, "12: found 1.5; expected the name of a task".to_owned()),
        (
            br#"{"label":1,"features":{"a=b":"c"}}"#,
            "24: \"a=b\" holds a text, whose feature would be called <name>=<text>; expected a name without `=`"
                .to_owned(),
        ),
        (
            br"[1]",
            format!("1: invalid type: sequence, expected an object with \"task\", \"label\" and \"features\"{expected}"),
        ),
    ] {
        refused(&jsonl, "", "{\"label\":1,\"features\":{\"a\":2}}\n", bad, &message);
    }
    let deep = [br#"{"label":1,"features":{"a":"#.as_slice(), &vec![b'['; 100_000]].concat();
    let (_, error) = rows(&[&deep], &jsonl, &labels(Labels::Required));
    assert!(error.unwrap().contains("EOF while parsing"));
}

#[test]
fn declared_features_are_all_there_are_and_a_bad_line_leaves_no_name() {
    let declared = RunConfig { features: Some(2), ..config(&json!({ "format": "jsonl" })) };
    let text = br#"{"features":{"a":1,"b":1,"c":1}}
        {"features":{"c":1}}
        {"features":{"c":1,"d":[]}}
        {"features":{"d":2}}"#;
    let (found, error) = rows_of(&[text], &declared, &labels(Labels::Optional).skip_bad(9));
    assert_eq!(error, None);
    let names: Vec<_> = found.iter().flat_map(|row| row.2.keys().cloned()).collect();
    assert_eq!(names, ["c", "d"]);
    let (_, error) = rows_of(&[text], &declared, &labels(Labels::Optional));
    assert_eq!(
        error.unwrap(),
        "in:1:26: feature \"c\" is new; 2 features were declared, and as many are known"
    );
}

#[test]
fn hashed_names_share_slots_only_where_that_is_asked_for() {
    let line = br#"{"features":{"a":1,"b":2,"c":4,"d":8,"e":16}}"#;
    let one_bit = json!({ "format": "jsonl", "naming": { "hashed": { "bits": 1 } } });
    let (found, _) = rows(&[line], &one_bit, &labels(Labels::Optional));
    assert!(found[0].2.len() <= 2, "five names in two slots: {found:?}");
    assert_eq!(found[0].2.values().sum::<f64>(), 31.0);
    let again = br#"{"features":{"a":1,"b":2,"c":4,"d":8,"e":16,"a":1}}"#;
    let (_, error) = rows(&[again], &one_bit, &labels(Labels::Optional));
    assert_eq!(error.unwrap(), "in:1:45: found \"a\" a second time; a line holds it once");
    let (found, _) = rows(&[line], &json!({ "format": "jsonl" }), &labels(Labels::Optional));
    assert_eq!(found[0].2.len(), 5);
}

/// The same stream in every format.
#[test]
fn formats_agree() {
    let csv = "task,label,x,c\na,1,2,u\nb,-1,0.5,v\n";
    let jsonl = r#"{"task":"a","label":1,"features":{"x":2,"c":"u"}}
        {"task":"b","label":-1,"features":{"x":0.5,"c":"v"}}"#;
    let vw = "1 'a | x:2 c=u\n-1 'b | x:0.5 c=v\n";
    let read = |format: &str, text| good(&json!({ "format": format }), text);
    assert_eq!(read("csv", csv), read("jsonl", jsonl));
    assert_eq!(read("csv", csv), read("vw", vw));
}

#[test]
fn one_task_a_class() {
    let texts = [
        ("svm", "3 1:1\ncat 2:1\n3.0 1:2 # again\n? 1:1\n1:1\n"),
        ("vw", "3 | 1\ncat | 2\n+3 | 1:2\n? | 1\n| 1\n"),
        ("csv", "label,1,2\n3,1,\ncat,,1\n3.0,2,\n?,1,\n,1,\n"),
        (
            "jsonl",
            "{\"label\":3,\"features\":{\"1\":1}}\n{\"label\":\"cat\",\"features\":{\"2\":1}}\n\
             {\"label\":3.0,\"features\":{\"1\":2}}\n{\"label\":\"?\",\"features\":{\"1\":1}}\n{\"features\":{\"1\":1}}",
        ),
    ];
    for (format, text) in texts {
        let stream = json!({ "format": format, "one-vs-all": true });
        let (found, error) = rows(&[text.as_bytes()], &stream, &labels(Labels::Optional));
        assert_eq!(error, None);
        let labels: Vec<String> = found
            .iter()
            .map(|(task, label, features)| format!("{task} {label} {}", features.len()))
            .collect();
        let expected = ["3 1", "3 -1", "cat 1", "3 1", "cat -1", "3 NaN", "cat NaN", "3 NaN", "cat NaN"];
        assert_eq!(labels, expected.map(|row| format!("{row} 1")), "{format}");
    }
    for (format, text, message) in [
        ("svm", "3 qid:1 1:1", "in:1:3: found task \"qid:1\"; the label is the class"),
        ("vw", "3 'a | 1:1", "in:1:3: found task \"a\"; the label is the class"),
        (
            "jsonl",
            "{\"task\":\"a\",\"label\":3,\"features\":{}}",
            "in:1:2: found task \"a\"; the label is the class",
        ),
        ("svm", "a\x01 1:1", "in:1:1: found \"a\\u{1}\"; expected the name of a task"),
        ("svm", "3 2:1 1:1", "in:1:7: feature index 1 after 2; indices must increase"),
    ] {
        let stream = json!({ "format": format, "one-vs-all": true });
        let (_, error) = rows(&[text.as_bytes()], &stream, &labels(Labels::Optional));
        assert!(error.as_ref().unwrap().starts_with(message), "{error:?}");
    }
    let (_, error) = rows(&[b"1:1 2:1"], &json!({ "one-vs-all": true }), &labels(Labels::Required));
    assert_eq!(error.unwrap(), "in:1:1: found \"1:1\"; expected a label, -1 or +1, or 0 or 1");
}

/// Names that every format can hold, odd ones among them.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,4}", "[^[:cntrl:]]{1,6}"]
}

fn written() -> impl Strategy<Value = Vec<(String, i8, BTreeMap<String, f64>)>> {
    let value = (-1000_i32..1000).prop_map(|value| f64::from(value) / 64.0);
    let row =
        (name(), prop::sample::select(vec![-1_i8, 1]), prop::collection::btree_map(name(), value, 0..6));
    prop::collection::vec(row, 0..12)
}

proptest! {
    #[test]
    fn json_that_is_written_is_read(rows_written in written()) {
        let text: String = rows_written
            .iter()
            .map(|(task, label, features)| {
                format!("{}\n", json!({ "task": task, "label": label, "features": features }))
            })
            .collect();
        let (found, error) = rows(&[text.as_bytes()], &json!({ "format": "jsonl" }), &labels(Labels::Required));
        prop_assert_eq!(error, None);
        let expected: Vec<Row> =
            rows_written.into_iter().map(|(task, label, x)| (task, f64::from(label), x)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn csv_that_a_library_writes_is_read(rows_written in written()) {
        let columns: std::collections::BTreeSet<&str> = rows_written
            .iter()
            .flat_map(|row| row.2.keys().map(String::as_str))
            .filter(|name| name.trim_matches([' ', '\t']) == *name)
            .collect();
        let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
        let header = ["the task", "the label"].into_iter().chain(columns.iter().copied());
        writer.write_record(header).unwrap();
        let mut expected: Vec<Row> = Vec::new();
        for (task, label, features) in &rows_written {
            let cells = columns.iter().map(|name| features.get(*name).map_or(String::new(), f64::to_string));
            writer.write_record([task.clone(), label.to_string()].into_iter().chain(cells)).unwrap();
            let kept = features.iter().filter(|(name, _)| columns.contains(name.as_str()));
            expected.push((task.clone(), f64::from(*label), kept.map(|(name, x)| (name.clone(), *x)).collect()));
        }
        let text = writer.into_inner().unwrap();
        let stream = json!({ "format": { "csv": { "task-column": "the task", "label-column": "the label" } } });
        let (found, error) = rows(&[&text], &stream, &labels(Labels::Required));
        prop_assert_eq!(error, None);
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn vw_that_is_written_is_read(
        rows_written in prop::collection::vec(
            ("[a-z]{1,3}", any::<bool>(), prop::collection::btree_map("[a-z0-9^]{1,3}", -99_i16..99, 0..6)), 0..9,
        ),
    ) {
        let mut text = String::new();
        let mut expected: Vec<Row> = Vec::new();
        for (task, positive, features) in rows_written {
            let label = if positive { 1 } else { -1 };
            write!(text, "{label} '{task} |n").unwrap();
            for (name, value) in &features {
                write!(text, " {name}:{value}").unwrap();
            }
            text.push('\n');
            let named = features.iter().map(|(name, x)| (format!("n^{name}"), f64::from(*x)));
            expected.push((task, f64::from(label), named.collect()));
        }
        let (found, error) = rows(&[text.as_bytes()], &json!({ "format": "vw" }), &labels(Labels::Required));
        prop_assert_eq!(error, None);
        prop_assert_eq!(found, expected);
    }

    /// Nothing panics, and everything that is read is valid.
    #[test]
    fn nearly_good_text_is_read_or_refused(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "1", "-1", "?", " ", "|", "'", ":", "f", "a", "^", "=", ",", "\"", "\n", "\r\n", "{", "}", "[", "]",
            "\"label\":", "\"features\":{", "\"a\":", "true", "null", "1e200", "nan", "label,a,task", "\u{feff}", "ü",
        ]), 0..40),
        format in prop::sample::select(vec!["vw", "csv", "jsonl"]),
        one_vs_all in any::<bool>(),
        bits in prop::option::of(1..6_u32),
    ) {
        let text = pieces.concat();
        let mut stream = json!({ "format": format, "one-vs-all": one_vs_all });
        if let Some(bits) = bits {
            stream["naming"] = json!({ "hashed": { "bits": bits } });
        }
        let skipping = labels(Labels::Optional).skip_bad(u64::MAX);
        for options in [labels(Labels::Required), skipping] {
            let mut reader = config(&stream).reader(vec![input(&text)], options).unwrap();
            let mut batch = Batch::default();
            while reader.fill(&mut batch).is_ok() && !batch.is_empty() {
                for example in batch.examples() {
                    let features = example.features;
                    prop_assert!(cognate::SparseView::try_new(features.indices(), features.values()).is_ok());
                }
            }
        }
    }
}
