//! `cognate lab`: experiments that need no data, and the message where data are missing.

use insta::assert_snapshot;
use serde_json::Value;

use super::support::Folder;

#[test]
fn the_list_names_seventeen_experiments_and_their_data() {
    let folder = Folder::new();
    assert_snapshot!(folder.output("lab list"));
    let list: Value = serde_json::from_str(&folder.output("lab list --json")).expect("one JSON value");
    assert_eq!(list.as_array().map(Vec::len), Some(17));
}

#[test]
fn missing_data_are_named_with_their_source_and_form() {
    let folder = Folder::new();
    let ran = folder.refused("lab run mp10-table1 --data nowhere", &["nowhere/rcv1/rcv1.svm.gz", "RCV1-v2"]);
    assert_snapshot!(ran.stderr);
    assert_eq!(folder.names(), Vec::<String>::new(), "nothing is left of a refused run");
}

#[test]
fn an_unknown_experiment_is_refused_with_the_nearest_ones() {
    Folder::new()
        .refused("lab run mp10-tabel1", &["no experiment is called \"mp10-tabel1\"; known: mp10-table1"]);
}

#[test]
fn an_experiment_without_data_leaves_tables_and_does_not_depend_on_threads() {
    let folder = Folder::new();
    let one = folder.output("lab run lr11-table2 --quick --quiet --threads 1 --out one");
    assert_snapshot!(one);
    assert_eq!(folder.output("lab run lr11-table2 --quick --quiet --threads 3 --out two"), one);
    for file in ["lr11-table2.md", "lr11-table2.csv"] {
        assert_eq!(folder.text(&format!("one/{file}")), folder.text(&format!("two/{file}")));
    }
    assert_snapshot!(folder.text("one/lr11-table2.md"));
}

#[test]
fn a_file_that_is_no_data_is_refused_with_its_place() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("data/spam_b")).expect("a folder");
    folder.write("data/spam_b/spam_b.svm.gz", "+1 qid:1 x\n");
    folder.refused("lab run mp10-table3 --quick --quiet", &["mp10-table3", "spam_b.svm.gz:1:10"]);
}
