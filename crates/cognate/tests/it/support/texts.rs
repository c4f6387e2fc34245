//! Streams of text in every format.

use crate::support::harness;
use cognate::Model;
use serde_json::{Value, json};

/// A stream of text: how it is read now, how models of format version 1 put that, its header and its lines.
pub(crate) struct Text {
    pub(crate) name: &'static str,
    pub(crate) stream: Value,
    pub(crate) reading: Value,
    head: &'static str,
    lines: Vec<String>,
}

impl Text {
    /// Some of the lines, under the header.
    pub(crate) fn text(&self, lines: std::ops::Range<usize>) -> String {
        format!("{}{}", self.head, self.lines[lines].concat())
    }

    /// A new model for this stream.
    pub(crate) fn model(&self) -> Model {
        harness::model(&json!({"stream": self.stream, "learner": "perceptron"}))
    }
}

pub(crate) const LINES: usize = 60;

/// Texts in every format, with names kept, hashed and forgotten.
pub(crate) fn texts() -> Vec<Text> {
    let text = |name, stream, reading, line: &dyn Fn(usize) -> String| {
        let head = if name == "csv" { "who,y,zip,x,c\n" } else { "" };
        Text { name, stream, reading, head, lines: (0..LINES).map(line).collect() }
    };
    let label = |at: usize| if at % 5 < 2 { 1 } else { -1 };
    let task = |at: usize| ["ann", "bob", "eve"][at % 3];
    let csv = |at: usize| format!("{},{},0815,{},\"a {}\"\n", task(at), label(at), at % 7, at / 9);
    let vw = |at: usize| format!("{} 'id{at} |user {} |f x:{} w{}\n", label(at), task(at), at % 7, at / 4);
    let jsonl = |at: usize| {
        let colour = ["u", "v"][at % 2];
        let features = json!({"x": at % 7, (format!("w{}", at / 4)): 1, "c": colour});
        format!("{}\n", json!({"task": task(at), "label": label(at), "features": features}))
    };
    let svm = |at: usize| format!("{} task:{} 1:{} {}:1\n", label(at), task(at), at % 7, at / 4 + 2);
    let classes = |at: usize| format!("{} 1:{} {}:1\n", at % 4, at % 7, at / 4 + 2);
    let columns = json!({"task-column": "who", "label-column": "y", "categorical": ["zip"]});
    vec![
        text(
            "csv",
            json!({"format": {"csv": columns}}),
            json!({
                "format": "csv", "task-column": "who", "label-column": "y", "categorical": ["zip"],
                "names": true, "one-vs-all": false,
            }),
            &csv,
        ),
        text(
            "vw",
            json!({"format": {"vw": {"task-namespace": "user"}}}),
            json!({"format": "vw", "task-namespace": "user", "names": true, "one-vs-all": false}),
            &vw,
        ),
        text(
            "jsonl",
            json!({"format": "jsonl"}),
            json!({"format": "jsonl", "names": true, "one-vs-all": false}),
            &jsonl,
        ),
        text(
            "hashed",
            json!({"format": "jsonl", "naming": {"hashed": {"bits": 5}}}),
            json!({"format": "jsonl", "bits": 5, "names": true, "one-vs-all": false}),
            &jsonl,
        ),
        text(
            "forgotten",
            json!({"format": "vw", "naming": {"hashed": {"bits": 5, "names": false}}}),
            json!({"format": "vw", "bits": 5, "names": false, "one-vs-all": false}),
            &vw,
        ),
        text(
            "classes",
            json!({"one-vs-all": true}),
            json!({"format": "svm", "names": true, "one-vs-all": true}),
            &classes,
        ),
        text("svm", json!({}), json!(null), &svm),
    ]
}
