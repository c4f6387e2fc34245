//! Labels by name: which is positive, what is learnt and kept of the names, and what is refused.

use crate::support::readers::{config, input, labels};
use cognate::run::RunOptions;
use cognate::stream::{Batch, Labels, ReadOptions};
use cognate::{Hint, Model, NamedColumn, RunConfig, Stream, StreamError};
use serde_json::{Value, json};

/// The labels of a text, or the first error.
fn read(stream: &Value, text: &str) -> Result<Vec<f64>, StreamError> {
    let mut reader = config(stream).reader(vec![input(text)], labels(Labels::Optional)).unwrap();
    let (mut batch, mut found) = (Batch::default(), Vec::new());
    loop {
        reader.fill(&mut batch)?;
        if batch.is_empty() {
            return Ok(found);
        }
        found.extend(batch.examples().map(|example| example.label));
    }
}

/// A model that has learnt a text.
fn learnt(stream: &Value, text: &str) -> Model {
    let mut model = Model::new(&config(stream)).unwrap();
    learn(&mut model, text);
    model
}

fn learn(model: &mut Model, text: &str) {
    let mut reader = model.reader(vec![input(text)], ReadOptions::default()).unwrap();
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
}

/// What a model calls -1 and +1.
fn names(model: &Model) -> [&str; 2] {
    [model.label_names().name(-1.0), model.label_names().name(1.0)]
}

#[test]
fn two_names_in_every_format() {
    let positive = |format: &str| json!({ "format": format, "positive": "spam" });
    for (format, text) in [
        ("svm", "ham 1:1\nspam task:a 1:2\n? 1:1\nham 1:1\n"),
        ("vw", "ham |f a\nspam 'a |f a\n|f a\nham |f a\n"),
        ("csv", "label,x\nham,1\nspam,1\nNA,1\nham,2\n"),
        (
            "jsonl",
            "{\"label\":\"ham\",\"features\":{}}\n{\"label\":\"spam\",\"features\":{}}\n{\"features\":{}}\n{\"label\":\"ham\",\"features\":{}}\n",
        ),
    ] {
        let found: Vec<String> = read(&positive(format), text).unwrap().iter().map(f64::to_string).collect();
        assert_eq!(found, ["-1", "1", "NaN", "-1"], "{format}");
    }
    assert_eq!(
        read(&json!({ "positive": "2" }), "1 1:1\n2 1:1\n+2 1:1\n2.0 1:1\n").unwrap(),
        [-1.0, 1.0, 1.0, 1.0]
    );
    assert_eq!(read(&json!({ "positive": "0" }), "0 1:1\n1 1:1\n").unwrap(), [1.0, -1.0]);
}

#[test]
fn a_third_name_is_refused_and_may_be_skipped() {
    let stream = json!({ "positive": "spam" });
    let error = read(&stream, "ham 1:1\nspam 1:1\neggs 1:1\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "in:3:1: found a third label name, \"eggs\"; expected \"spam\" (+1) or \"ham\" (-1)"
    );
    assert_eq!(error.hint(), Some(Hint::Classes));
    // A line that is bad otherwise gives no name away.
    let mut reader = config(&stream)
        .reader(vec![input("eggs 1:x\nham 1:1\nspam 1:1\neggs 1:1\n")], ReadOptions::default().skip_bad(2))
        .unwrap();
    let mut batch = Batch::default();
    reader.fill(&mut batch).unwrap();
    assert_eq!((batch.len(), batch.skipped()), (2, 2));
}

#[test]
fn words_without_a_positive_one_are_refused_with_the_way_out() {
    for (text, hint) in [
        ("spam 1:1\n", Some(Hint::NamePositive)),
        ("0.5 1:1\n", Some(Hint::RealLabels)),
        ("-3.25e1 1:1\n", Some(Hint::RealLabels)),
        ("2 1:1\n", Some(Hint::WholeLabels)),
        ("nan 1:1\n", None),
        ("1 'a |f b\n", Some(Hint::LooksLikeVw)),
        ("1 2.5 'a |f b\n", Some(Hint::LooksLikeVw)),
        ("|f b\n", Some(Hint::LooksLikeVw)),
        ("spam |f b\n", Some(Hint::LooksLikeVw)),
        ("1,2,3\n", Some(Hint::LooksLikeCsv)),
        ("{\"label\":1}\n", Some(Hint::LooksLikeJsonl)),
    ] {
        assert_eq!(read(&json!({}), text).unwrap_err().hint(), hint, "{text}");
    }
    for (format, text, hint) in [
        ("jsonl", "1 'a |f b\n", Some(Hint::LooksLikeVw)),
        ("csv", "1 'a |f b\n", Some(Hint::LooksLikeVw)),
        ("vw", "spam 'a |f b\n", Some(Hint::NamePositive)),
        ("vw", "0.5 'a |f b\n", Some(Hint::RealLabels)),
        ("csv", "label;x\n1;2\n", Some(Hint::OnlyCommas)),
        ("jsonl", "{\"label\":1,\"f\":{}}\n", Some(Hint::NameKeys)),
    ] {
        assert_eq!(read(&json!({ "format": format }), text).unwrap_err().hint(), hint, "{format}: {text}");
    }
}

/// One pair of words: true and false, or numbers, and not both.
#[test]
fn true_and_false_beside_numbers_are_third_names() {
    for (text, place, found, expected) in [
        ("true 1:1\n0 1:1\n", "in:2:1", "0", "true or false"),
        ("False 1:1\n1.0 1:1\n", "in:2:1", "1.0", "true or false"),
        ("? 1:1\n0 1:1\n1 1:1\nfalse 1:1\n", "in:4:1", "false", "0 or 1"),
        ("-1 1:1\n+1 1:1\nTRUE 1:1\n", "in:3:1", "TRUE", "-1 or +1"),
        ("1 1:1\ntrue 1:1\n", "in:2:1", "true", "numbers"),
    ] {
        let error = read(&json!({}), text).unwrap_err();
        let message = format!(
            "{place}: found a third label name, \"{found}\"; expected {expected}, as in the lines before"
        );
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hint(), Some(Hint::Classes));
    }
    let rows = "{\"label\":true,\"features\":{}}\n{\"label\":1,\"features\":{}}\n";
    let error = read(&json!({ "format": "jsonl" }), rows).unwrap_err();
    assert!(error.to_string().starts_with("in:2:2: found a third label name, \"1\""), "{error}");
    // Where words are given their signs, or labels are numbers of any size, there is nothing to mix up.
    assert!(read(&json!({ "positive": "true" }), "true 1:1\n0 1:1\n").is_ok());
    assert!(read(&json!({}), "true 1:1\n? 1:1\nfalse 1:1\n").is_ok());
}

/// The way out of a missing column names what it was to be.
#[test]
fn a_missing_column_is_told_by_its_role() {
    for (column, role) in [
        (json!({ "weight-column": "z" }), NamedColumn::Weight),
        (json!({ "id-column": "z" }), NamedColumn::Id),
        (json!({ "time-column": "z" }), NamedColumn::Time),
        (json!({ "offset-column": "z" }), NamedColumn::Offset),
        (json!({ "ignore": ["z"] }), NamedColumn::Ignored),
        (json!({ "categorical": ["z"] }), NamedColumn::Categorical),
    ] {
        let error = read(&json!({ "format": { "csv": column } }), "label,x\n1,2\n").unwrap_err();
        assert_eq!(error.hint(), Some(Hint::SpellColumn(role)), "{error}");
    }
    for column in [json!({ "task-column": "z" }), json!({ "label-column": "z" })] {
        let error = read(&json!({ "format": { "csv": column } }), "label,x\n1,2\n").unwrap_err();
        assert_eq!(error.hint(), Some(Hint::NameColumns), "{error}");
    }
}

#[test]
fn a_model_keeps_the_words_of_its_stream() {
    let spam = json!({ "positive": "spam" });
    for (stream, text, expected) in [
        (&json!({}), "-1 1:1\n+1 1:1\n", ["-1", "1"]),
        (&json!({}), "0 1:1\n1 1:1\n", ["0", "1"]),
        (&json!({}), "1 1:1\n", ["-1", "1"]),
        (&json!({}), "True 1:1\nFalse 1:1\n", ["False", "True"]),
        (&json!({ "format": "jsonl" }), "{\"label\":false,\"features\":{}}\n", ["false", "true"]),
        (&spam, "ham 1:1\nspam 1:1\n", ["ham", "spam"]),
        (&spam, "ham 1:1\n", ["ham", "1"]),
        (&json!({ "order": "shuffle", "positive": "b" }), "a 1:1\nb 1:1\n", ["a", "b"]),
    ] {
        let model = learnt(stream, text);
        assert_eq!(names(&model), expected, "{text}");
        let again = Model::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(names(&again), expected, "{text}");
        assert_eq!(again.to_bytes(), model.to_bytes());
    }
    assert_eq!(learnt(&spam, "ham 1:1\n").label_names().positive(), None, "the name has not come");
}

#[test]
fn a_resumed_run_knows_the_names() {
    let spam = json!({ "positive": "spam" });
    let whole = learnt(&spam, "ham 1:1\nspam 1:2\nspam 1:1\nham 2:1\n");
    let mut part = Model::from_bytes(&learnt(&spam, "ham 1:1\n").to_bytes()).unwrap();
    learn(&mut part, "spam 1:2\nspam 1:1\nham 2:1\n");
    assert_eq!(part.to_bytes(), whole.to_bytes());
    let mut reader = part.reader(vec![input("eggs 1:1\n")], ReadOptions::default()).unwrap();
    let error = reader.fill(&mut Batch::default()).unwrap_err();
    assert!(error.to_string().contains("a third label name, \"eggs\""), "{error}");
}

#[test]
fn a_stream_of_which_nothing_was_learnt_gives_no_names() {
    let mut model = Model::new(&config(&json!({ "positive": "spam" }))).unwrap();
    let before = model.to_bytes();
    let mut reader = model.reader(vec![input("ham 1:x\n")], ReadOptions::default()).unwrap();
    assert!(model.learn(&mut reader, &RunOptions::default(), &mut ()).is_err());
    assert_eq!(model.to_bytes(), before);
}

#[test]
fn names_that_make_no_sense_are_refused() {
    for (stream, message) in [
        (json!({ "positive": "" }), "stream.positive: must be the name of a label, got \"\""),
        (json!({ "positive": "?" }), "stream.positive: must be the name of a label, got \"?\""),
        (
            json!({ "positive": "a", "one-vs-all": true }),
            "stream.positive: labels are classes, each of which is a task; none of them is the positive one",
        ),
        (
            json!({ "format": { "csv": { "separator": ";;" } } }),
            "stream.format.csv.separator: must be `tab` or one ASCII character other than a quote, got \";;\"",
        ),
        (
            json!({ "format": { "jsonl": { "id-key": "task" } } }),
            "stream.format.jsonl: the key \"task\" is given two roles",
        ),
    ] {
        let error = config(&stream).validate().unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn another_format_is_predicted_if_it_names_the_same_features() {
    let csv = "label,size,colour\n1,2,red\n0,-1,blue\n1,3,red\n";
    let model = learnt(&json!({ "format": "csv" }), csv);
    let margins = |format: &Value, text: &str| {
        let format = serde_json::from_value(format.clone()).unwrap();
        let reader = model.prediction_reader_of(&format, vec![input(text)], ReadOptions::default());
        let mut batch = Batch::default();
        reader.map_err(|error| error.to_string())?.fill(&mut batch).unwrap();
        Ok::<_, String>(model.margins(&batch))
    };
    let expected = margins(&json!("csv"), csv).unwrap();
    assert!(expected.iter().any(|margin| *margin != 0.0));
    let jsonl = "{\"features\":{\"size\":2,\"colour\":\"red\"}}\n{\"features\":{\"size\":-1,\"colour\":\"blue\"}}\n\
                 {\"features\":{\"colour\":\"red\",\"size\":3}}\n";
    assert_eq!(margins(&json!("jsonl"), jsonl).unwrap(), expected);
    assert_eq!(
        margins(&json!("vw"), "| size:2 colour=red\n| size:-1 colour=blue\n| size:3 colour=red\n").unwrap(),
        expected
    );
    let refused = margins(&json!("svm"), "1:1\n").unwrap_err();
    assert!(refused.contains("format: features of `svm` are numbers, those of the model names"), "{refused}");
    let numbered = learnt(&json!({}), "+1 1:1\n");
    let format = serde_json::from_value(json!("csv")).unwrap();
    let refused =
        numbered.prediction_reader_of(&format, vec![], ReadOptions::default()).err().unwrap().to_string();
    assert!(refused.contains("format: features of `csv` are names, those of the model numbers"), "{refused}");
}

#[test]
fn labels_of_rows_are_those_of_the_learner() {
    let mut model = Model::new(&RunConfig::default()).unwrap();
    assert!(model.learn_one("a", &[(0, 1.0)], 0.5).is_err());
    assert!(model.learn_one("a", &[(0, 1.0)], 0.0).is_ok());
}
