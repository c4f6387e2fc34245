//! `cognate inspect` and `cognate relations`: what is in a model.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::support::{Folder, number, redacted, related};

/// A folder with a model of three tasks.
fn folder() -> Folder {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --quiet --normalize l2 --bias --set interaction.coupled.b=2 --model m.cog");
    folder
}

#[test]
fn the_overview() {
    assert_snapshot!("inspect", redacted(&folder().output("inspect m.cog")));
}

#[test]
fn the_overview_as_json_agrees_with_the_run() {
    let folder = folder();
    let inside: Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    let summary = folder.summary("a.svm --normalize l2 --bias --set interaction.coupled.b=2");
    for field in ["examples", "mistakes", "error", "f1", "updates", "queries", "config"] {
        assert_eq!(inside[field], summary[field], "{field}");
    }
    assert_eq!(inside["learner"], "perceptron");
    assert_eq!(inside["tasks"], json!(["1", "2", "3"]));
    assert_eq!((&inside["rounds"], &inside["declared_tasks"]), (&json!(300), &Value::Null));
    assert!(number(&inside, "/memory_bytes") > 0.0);
}

#[test]
fn a_strength_that_is_found_is_told() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --quiet --set interaction.coupled.b=auto --model m.cog");
    let inside: Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    assert_eq!(inside["config"]["learner"]["perceptron"]["interaction"]["coupled"]["b"], "auto");
    let strengths = inside["strengths"].as_array().unwrap();
    let b: Vec<f64> = strengths.iter().map(|one| number(one, "/b")).collect();
    assert_eq!(b, [0.0, 1.0, 3.0_f64.sqrt(), 3.0, 12.0]);
    let sum: f64 = strengths.iter().map(|one| number(one, "/weight")).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    let overview = folder.output("inspect m.cog");
    let line = overview.lines().find(|line| line.starts_with("strengths")).unwrap();
    assert!(line.contains(" leads (b = 0 ") && line.contains(", b = 1.73 "), "{line}");
    // A given one needs no telling.
    folder.output("learn a.svm --quiet --model given.cog");
    let inside: Value = serde_json::from_str(&folder.output("inspect given.cog --json")).unwrap();
    assert_eq!(inside["strengths"], Value::Null);
}

#[test]
fn the_weights_predict_what_the_model_predicts() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --quiet --model m.cog");
    let weights = folder.output("inspect m.cog --weights");
    assert_eq!(weights.lines().next(), Some("task,feature,value"));
    folder.write("probe.svm", "? qid:2 1:0.5 4:-2\n");
    let weight = |feature: &str| -> f64 {
        let row = weights.lines().find(|row| row.starts_with(&format!("2,{feature},"))).expect("a weight");
        row.rsplit(',').next().unwrap().parse().unwrap()
    };
    let predicted = folder.output("predict probe.svm --model m.cog");
    let margin: f64 = predicted.trim_end().rsplit(',').next().unwrap().parse().unwrap();
    assert!((margin - (0.5 * weight("1") - 2.0 * weight("4"))).abs() < 1e-12);
    assert_eq!(weights.lines().count(), 1 + 3 * 6, "three tasks of six features");
}

#[test]
fn explain_lists_the_strongest_features_first() {
    let folder = Folder::with("a.svm", "+1 qid:2 1:3 2:-5 7:0\n-1 qid:1 2:1\n-1 qid:3 2:1\n");
    folder.output("learn a.svm --quiet --bias=4 --set interaction=independent --model m.cog");
    let text = folder.output("inspect m.cog --explain 2");
    assert!(text.starts_with("task 2: 1 examples, error 100.00"), "{text}");
    assert!(text.contains("; the strongest 3 of 3 features\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().skip(3).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows, [["2", "-5.000000"], ["bias", "+4.000000"], ["1", "+3.000000"]]);
    folder.refused("inspect m.cog --explain 22", &["error: no task is called \"22\"; nearest: 2, 1, 3"]);
}

#[test]
fn supports_are_refused_for_a_learner_that_keeps_none() {
    folder().refused(
        "inspect m.cog --supports",
        &["error: --supports: `perceptron` keeps weights, not supports; use --weights"],
    );
}

#[test]
fn the_relation_as_a_table() {
    let folder = folder();
    assert_snapshot!("relations", redacted(&folder.output("relations m.cog")));
    assert_snapshot!("relations_correlation", redacted(&folder.output("relations m.cog --correlation")));
}

#[test]
fn the_relation_of_some_tasks_as_json() {
    let folder = folder();
    let all: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    let some: Value = serde_json::from_str(&folder.output("relations m.cog --json --only 3,1")).unwrap();
    assert_eq!(some["tasks"], json!(["3", "1"]));
    assert_eq!(some["R"][0][1], all["R"][2][0]);
    // b = 2, K = 3: R = (I + 2/3 J)/3.
    assert!(
        (number(&all, "/R/0/0") - 5.0 / 9.0).abs() < 1e-12
            && (number(&all, "/R/0/1") - 2.0 / 9.0).abs() < 1e-12
    );
    assert!((number(&all, "/correlation/0/1") - 0.4).abs() < 1e-12);
    assert_eq!(number(&all, "/correlation/1/1"), 1.0);
    folder.refused("relations m.cog --only 1,9", &["error: no task is called \"9\"; nearest: "]);
}

#[test]
fn the_heatmap_is_xml_with_a_view_box() {
    let folder = folder();
    let ran = folder.run("relations m.cog --svg r.svg");
    ran.assert_done();
    assert_eq!(ran.stderr, "picture: r.svg\n");
    let svg = folder.text("r.svg");
    assert_well_formed(&svg);
    assert!(svg.contains("<svg ") && svg.contains(" viewBox=\"0 0 "), "{svg}");
    assert!(svg.contains("xmlns=\"http://www.w3.org/2000/svg\""));
    assert_eq!(folder.run("relations m.cog --svg r.svg --quiet").stderr, "");
}

#[test]
fn a_task_name_cannot_break_the_heatmap() {
    let folder = Folder::with("a.svm", "+1 task:<&\"'> 1:1\n-1 task:]]>-- 1:1\n");
    folder.output("learn a.svm --quiet --model m.cog");
    folder.output("relations m.cog --svg r.svg --quiet");
    let svg = folder.text("r.svg");
    assert_well_formed(&svg);
    assert!(svg.contains("&lt;&amp;"), "{svg}");
}

#[test]
fn a_relation_of_too_many_tasks_is_refused_with_a_way_out() {
    let folder = Folder::with("a.svm", related(2001, 2001));
    folder.output("learn a.svm --quiet --model m.cog");
    folder.refused(
        "relations m.cog",
        &["error: 2001 tasks; the relation of at most 2000", "choose some with --only"],
    );
    folder.output("relations m.cog --only 1,2001");
    folder.write("b.svm", related(30, 60));
    folder.output("learn b.svm --quiet --model m.cog");
    assert!(folder.output("relations m.cog").contains("… and 14 tasks more: --json, --svg, or --only"));
}

/// Every tag is closed in its turn, and every ampersand begins an entity.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some((text, tail)) = rest.split_once('<') {
        for after in text.split('&').skip(1) {
            let name = after.split(';').next().unwrap_or_default();
            let known = ["lt", "gt", "amp", "quot", "apos"].contains(&name) || name.starts_with('#');
            assert!(known && after.contains(';'), "&{after}");
        }
        if let Some(after) = tail.strip_prefix("?xml") {
            rest = after.split_once("?>").expect("the end of the declaration").1;
            continue;
        }
        let (tag, after) = tail.split_once('>').expect("the end of a tag");
        assert!(tag.matches('"').count().is_multiple_of(2), "<{tag}>");
        let name = |tag: &str| tag.split_whitespace().next().unwrap_or_default().to_owned();
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(name(closed))),
            None if tag.ends_with('/') => {}
            None => open.push(name(tag)),
        }
        // A style sheet is text of its own.
        rest = if name(tag) == "style" { &after[after.find("</style>").expect("its end")..] } else { after };
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    assert!(xml.contains("</svg>"));
}
