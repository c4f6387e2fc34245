//! `--set interaction…`: each kind, from flags and from files.

use serde_json::{Value, json};

use super::support::{Folder, number, related};

/// R of the model that a run makes.
fn relation(folder: &Folder, flags: &str) -> Value {
    folder.output(&format!("learn a.svm --learner perceptron --quiet --overwrite --model m.cog {flags}"));
    serde_json::from_str(&folder.output("relations m.cog --json")).unwrap()
}

fn assert_close(relation: &Value, expected: &[&[f64]]) {
    for (i, row) in expected.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            let found = number(relation, &format!("/R/{i}/{j}"));
            assert!((found - value).abs() < 1e-12, "R[{i},{j}] is {found}, expected {value}");
        }
        assert_eq!(relation["R"][i].as_array().map(Vec::len), Some(row.len()));
    }
}

/// A folder with a stream of the tasks x, y, z.
fn folder() -> Folder {
    let text =
        related(3, 90).replace("qid:1", "task:x").replace("qid:2", "task:y").replace("qid:3", "task:z");
    Folder::with("a.svm", text)
}

#[test]
fn the_fixed_interactions_have_the_relations_of_the_paper() {
    let folder = folder();
    let third = 1.0 / 3.0;
    let plus = |own: f64, all: f64| [[own + all, all, all], [all, own + all, all], [all, all, own + all]];
    for (set, expected) in [
        ("=independent", plus(1.0, 0.0)),
        ("=pooled", plus(0.0, 1.0)),
        ("=pairwise", plus(0.25, 0.25)),
        ("=coupled", plus(0.5, 0.5 * third)),
        (".coupled.b=3", plus(0.25, 0.75 * third)),
        (".coupled.b=0", plus(1.0, 0.0)),
        (".graph.edges=complete", plus(0.25, 0.25)),
    ] {
        let found = relation(&folder, &format!("--tasks x,y,z --set interaction{set}"));
        assert_close(&found, &[&expected[0], &expected[1], &expected[2]]);
    }
}

#[test]
fn a_graph_from_an_edge_list() {
    let folder = folder();
    folder.write("edges.txt", "# a path\nx y\ny, z 2   # heavier\n\n");
    let found = relation(&folder, "--set interaction.graph.file=edges.txt");
    assert_eq!(found["tasks"], json!(["x", "y", "z"]));
    // A = I + L = [[2,-1,0],[-1,4,-2],[0,-2,3]], det 13.
    let r = [[8.0, 3.0, 2.0], [3.0, 6.0, 4.0], [2.0, 4.0, 7.0]].map(|row| row.map(|entry| entry / 13.0));
    assert_close(&found, &[&r[0], &r[1], &r[2]]);
    let inline = relation(&folder, "--set interaction.graph.edges=[[\"x\",\"y\"],[\"y\",\"z\",2]]");
    assert_eq!(inline["R"], found["R"]);
}

#[test]
fn a_model_does_not_need_its_files_again() {
    let folder = folder();
    folder.write("edges.txt", "x y\ny z\n");
    folder.output(
        "learn --learner perceptron a.svm --quiet --set interaction.graph.file=edges.txt --model m.cog",
    );
    std::fs::remove_file(folder.path("edges.txt")).unwrap();
    folder.output("learn a.svm --quiet --resume m.cog");
    assert!(folder.output("inspect m.cog").contains("\"edges\""));
}

#[test]
fn files_of_a_config_are_looked_for_beside_it() {
    let folder = folder();
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.write("sub/edges.txt", "x y\ny z\n");
    folder.write("sub/run.toml", "[learner.perceptron.interaction.graph]\nfile = \"edges.txt\"\n");
    folder.output("learn a.svm --quiet --config sub/run.toml");
}

#[test]
fn bad_edge_lists_are_refused_in_their_place() {
    let folder = folder();
    for (content, message) in [
        (
            "x y\nx y z w\n",
            "error: edges.txt:2:1: found 4 words, expected two task names and an optional weight",
        ),
        ("x y heavy\n", "error: edges.txt:1:5: found \"heavy\", expected the weight of an edge"),
        ("lonely\n", "error: edges.txt:1:1: found 1 words, expected two task names"),
        ("x y -1\n", "the edge \"x\" - \"y\" has the weight -1; weights must be positive and finite"),
        ("x x\n", "the edge \"x\" - \"x\" joins a task to itself"),
        ("x y\ny x\n", "the edge \"y\" - \"x\" is given twice"),
    ] {
        folder.write("edges.txt", content);
        folder.refused(
            "learn --learner perceptron a.svm --quiet --set interaction.graph.file=edges.txt",
            &[message],
        );
    }
    folder.write("edges.txt", b"x y\nx \xff\n");
    folder.refused(
        "learn --learner perceptron a.svm --quiet --set interaction.graph.file=edges.txt",
        &["edges.txt:2:3: invalid UTF-8"],
    );
    folder.refused(
        "learn --learner perceptron a.svm --quiet --set interaction.graph.file=gone.txt",
        &["error: gone.txt: No such file"],
    );
}

#[test]
fn a_matrix_from_csv_with_and_without_header_and_from_json() {
    let folder = folder();
    folder.write("header.csv", "z,y,x\n2,0,0\n0,1,0.5\n0,0.5,1\n");
    folder.write("plain.csv", "1,0.5,0\n0.5,1,0\n0,0,2\n");
    folder.write("rows.json", "[[1, 0.5, 0], [0.5, 1, 0], [0, 0, 2]]");
    folder.write("named.json", r#"{"tasks": ["z", "y", "x"], "rows": [[2,0,0],[0,1,0.5],[0,0.5,1]]}"#);
    let [a, b] = [4.0 / 3.0, -2.0 / 3.0];
    for flags in [
        "--set interaction.matrix.file=header.csv",
        "--set interaction.matrix.file=header.csv --tasks x,y,z",
        "--set interaction.matrix.file=plain.csv --tasks x,y,z",
        "--set interaction.matrix.file=rows.json --tasks x,y,z",
        "--set interaction.matrix.file=named.json",
        "--set interaction.matrix.rows=[[1,0.5,0],[0.5,1,0],[0,0,2]] --tasks x,y,z",
    ] {
        let found = relation(&folder, flags);
        assert_eq!(found["tasks"], json!(["x", "y", "z"]), "{flags}");
        assert_close(&found, &[&[a, b, 0.0], &[b, a, 0.0], &[0.0, 0.0, 0.5]]);
    }
}

#[test]
fn a_matrix_that_is_no_interaction_is_refused_with_the_reason() {
    let folder = folder();
    for (content, message) in [
        ("1,2,0\n2,1,0\n0,0,1\n", "positive definite"),
        ("1,1,0\n1,1,0\n0,0,1\n", "positive definite"),
        ("-1,0,0\n0,1,0\n0,0,1\n", "positive definite"),
        ("1,0.5,0\n0.4,1,0\n0,0,1\n", "symmetric"),
        ("1,0,0\n0,1,0\n", "rows"),
        ("1,0\n0,1,0\n0,0,1\n", "row"),
        ("1,0,0\n0,nan,0\n0,0,1\n", "finite"),
        ("1,0\n0,1\n", "2 rows, but 3 tasks are declared"),
        ("1,0,0\n0,x,0\n0,0,1\n", "m.csv:2:2: field 2 is \"x\", expected a number"),
        (
            "a,b,c\n1,0,0\n0,1,0\n0,0,1\n",
            "m.csv:1:1: the header names a, b, c; the declared tasks are x, y, z",
        ),
    ] {
        folder.write("m.csv", content);
        folder.refused(
            "learn --learner perceptron a.svm --quiet --tasks x,y,z --set interaction.matrix.file=m.csv",
            &[message],
        );
    }
    folder.write("m.json", "[[1, 0], [0, 1]");
    folder.refused(
        "learn --learner perceptron a.svm --quiet --set interaction.matrix.file=m.json",
        &["error: m.json:1:15: EOF"],
    );
    folder.refused(
        "learn --learner perceptron a.svm --quiet --set interaction.matrix.file=gone.csv",
        &["error: gone.csv: No such file"],
    );
    folder.refused(
        "learn --learner perceptron a.svm --quiet --set interaction=matrix",
        &["matrix: `rows` or `file` is missing"],
    );
    folder.refused(
        "learn --learner perceptron a.svm --quiet --set interaction=graph",
        &["graph: `edges` or `file` is missing"],
    );
}

#[test]
fn a_task_that_is_not_in_the_matrix_is_refused_in_its_place() {
    let folder = folder();
    folder.write("m.csv", "x,y\n1,0\n0,1\n");
    folder.refused(
        "learn --learner perceptron a.svm --quiet --set interaction.matrix.file=m.csv",
        &["error: a.svm:3:4: task \"z\" is not one of the 2 declared tasks (x, y)"],
    );
}
