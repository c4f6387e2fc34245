//! `cognate relations`: tables, JSON and pictures of how tasks influence each other.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::support::{Folder, number, redacted, related};

/// A folder with a model of three tasks.
fn folder() -> Folder {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --learner perceptron --quiet --set interaction.coupled.b=2 --model m.cog");
    folder
}

/// A folder with a model of tasks t01, t02, … in two opposed camps, the odd and the even ones.
///
/// A = I - c v v' with v_i = +-(1 + i / 20) and c |v|^2 = 0.8: so R = I + 5 c v v'.
fn camps(tasks: usize) -> Folder {
    let v: Vec<f64> =
        (0..tasks).map(|task| (1.0 + task as f64 / 20.0) * if task % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let c = 0.8 / v.iter().map(|entry| entry * entry).sum::<f64>();
    let names: Vec<String> = (1..=tasks).map(|task| format!("t{task:02}")).collect();
    let mut matrix = names.join(",") + "\n";
    let mut stream = String::new();
    for (row, name) in names.iter().enumerate() {
        let entry = |column: usize| f64::from(u8::from(row == column)) - c * (v[row] * v[column]);
        let entries: Vec<String> = (0..tasks).map(|column| entry(column).to_string()).collect();
        writeln!(matrix, "{}", entries.join(",")).unwrap();
        writeln!(stream, "+1 task:{name} 1:1").unwrap();
    }
    let folder = Folder::with("a.svm", stream);
    folder.write("a.csv", matrix);
    folder
        .output("learn a.svm --learner perceptron --quiet --set interaction.matrix.file=a.csv --model m.cog");
    folder
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
fn a_task_name_cannot_break_the_pictures() {
    let folder = Folder::with("a.svm", "+1 task:<&\"'> 1:1\n-1 task:]]>-- 1:1\n");
    folder.output("learn a.svm --quiet --model m.cog");
    folder.output("relations m.cog --svg r.svg --graph g.svg --quiet");
    for file in ["r.svg", "g.svg"] {
        let svg = folder.text(file);
        assert_well_formed(&svg);
        assert!(svg.contains("&lt;&amp;"), "{svg}");
    }
}

#[test]
fn a_relation_of_too_many_tasks_is_refused_with_a_way_out() {
    let folder = Folder::with("a.svm", related(2001, 2001));
    let refused = &["error: 2001 tasks; the relation of at most 2000", "choose some with --only"];
    folder.output("learn a.svm --quiet --learner perceptron --model m.cog");
    folder.refused("relations m.cog", refused);
    // Groups are of any number of tasks.
    folder.output("learn a.svm --quiet --overwrite --model m.cog");
    let text = folder.output("relations m.cog");
    assert!(text.contains("2,001") && text.contains("at most 2000"), "{text}");
    let all: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    let sides = ["one_side", "other_side", "neither"];
    let names = sides.map(|side| all["groups"][0][side].as_array().unwrap().len());
    assert_eq!((names.iter().sum::<usize>(), all["groups"].as_array().unwrap().len()), (2001, 1));
    folder.refused("relations m.cog --svg r.svg", refused);
    folder.refused("relations m.cog --graph g.svg", refused);
    folder.output("relations m.cog --only 1,2001");
    folder.write("b.svm", related(30, 60));
    folder.output("learn b.svm --quiet --overwrite --model m.cog");
    assert!(folder.output("relations m.cog").contains("all of them: --json; as pictures: --svg, --graph"));
}

#[test]
fn the_strongest_pairs_of_many_tasks() {
    let folder = camps(20);
    assert_snapshot!("relations_strongest", redacted(&folder.output("relations m.cog")));
}

#[test]
fn relatives_stand_together() {
    let folder = camps(20);
    let all: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    let order: Vec<u64> = all["order"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    // The tasks are sorted by number, so odd and even positions are the two camps.
    assert_eq!(order.len(), 20);
    assert_eq!(order.windows(2).filter(|pair| pair[0] % 2 != pair[1] % 2).count(), 1, "{order:?}");
    folder.output("relations m.cog --quiet --svg clustered.svg");
    folder.output("relations m.cog --quiet --svg given.svg --order given");
    let place = |file: &str, name: &str| folder.text(file).find(&format!(">{name}</text>")).expect("a name");
    assert!(place("given.svg", "t01") < place("given.svg", "t02"));
    assert!(folder.text("clustered.svg").contains("class=\"tree\""));
    assert!(!folder.text("given.svg").contains("class=\"tree\""));
    folder.refused("relations m.cog --order sorted", &["error: invalid value 'sorted'", "clustered, given"]);
}

#[test]
fn the_graph_tells_its_threshold_and_what_it_draws() {
    let folder = camps(20);
    let ran = folder.run("relations m.cog --graph g.svg --threshold 0.2");
    ran.assert_done();
    assert_snapshot!("graph_stderr", ran.stderr);
    let svg = folder.text("g.svg");
    assert_well_formed(&svg);
    assert!(svg.contains("|correlation| ≥ 0.2<") && svg.contains("class=\"edge against\""), "{svg}");
    assert!(svg.contains(">t20</text>"));
    let before = folder.read("g.svg");
    assert_eq!(folder.run("relations m.cog --graph g.svg --threshold 0.2 --quiet").stderr, "");
    assert_eq!(folder.read("g.svg"), before, "the same picture every time");
    let none = folder.run("relations m.cog --graph g.svg --threshold 1");
    assert!(none.stderr.contains("No edges: none of 190 pairs"), "{}", none.stderr);
    assert_well_formed(&folder.text("g.svg"));
}

#[test]
fn a_bad_threshold_is_refused() {
    let folder = folder();
    for (threshold, reason) in [
        ("1.5", "must be between 0 and 1"),
        ("-0.1", "must be between 0 and 1"),
        ("nan", "must be between 0 and 1"),
        ("inf", "must be between 0 and 1"),
        ("much", "expected a number from 0 to 1"),
    ] {
        let line = format!("relations m.cog --graph g.svg --threshold={threshold}");
        folder.refused(&line, &["error: invalid value '", threshold, "--threshold <T>", reason]);
    }
    folder.refused("relations m.cog --threshold 0.5", &["error: ", "--graph <FILE.svg>"]);
    assert!(!folder.names().contains(&"g.svg".to_owned()));
}

#[test]
fn few_tasks_and_tasks_without_relation_are_drawn() {
    for (tasks, set) in [(1, "coupled"), (2, "pooled"), (5, "independent"), (40, "coupled")] {
        let folder = Folder::with("a.svm", related(tasks, 80));
        folder.output(&format!(
            "learn a.svm --learner perceptron --quiet --set interaction={set} --model m.cog"
        ));
        folder.output("relations m.cog --quiet --svg h.svg --graph g.svg --correlation");
        for file in ["h.svg", "g.svg"] {
            let svg = folder.text(file);
            assert_well_formed(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("class=\"tree\""), "{tasks} {set}: {file}");
        }
        let all: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
        assert_eq!(all["order"], json!((0..tasks).collect::<Vec<_>>()), "equal tasks keep their order");
    }
}

#[test]
fn a_report_orders_its_relation() {
    let folder = camps(20);
    folder.output(
        "learn --learner perceptron a.svm --quiet --set interaction.matrix.file=a.csv --report r.html",
    );
    assert!(folder.text("r.html").contains("Order and tree: hierarchical clustering"));
}

/// Checks that tags are closed in order, and that every ampersand begins an entity.
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
        // A style sheet is not markup.
        rest = if name(tag) == "style" { &after[after.find("</style>").expect("its end")..] } else { after };
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    assert!(xml.contains("</svg>"));
}
