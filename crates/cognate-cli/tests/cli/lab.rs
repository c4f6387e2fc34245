//! `cognate lab`: experiments that need no data, and the message where data are missing.

use insta::assert_snapshot;
use serde_json::Value;

use super::support::Folder;

#[test]
fn the_list_names_seventeen_experiments_and_their_data() {
    let folder = Folder::new();
    // What is on record changes with every full run.
    let record =
        ["  reproduced", "  not reproduced", "  no full run on record", "    ", "  why: ", "On record: "];
    let list = folder.output("lab list");
    let lasting = list.lines().filter(|line| !record.iter().any(|start| line.starts_with(start)));
    assert_snapshot!(lasting.collect::<Vec<_>>().join("\n"));
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

/// The verdicts of a quick run that needs no data, and the claim that comes out in part.
const PART: &str = "\"they find task 3 unrelated to both\": \"reproduced in part\"";

#[test]
fn a_verdict_worse_than_on_record_is_exit_code_1_and_named() {
    let folder = Folder::new();
    let run = "lab run lr11-table2 --quick --quiet --out out --record";
    folder.output("lab run lr11-table2 --quick --quiet --out out");
    let verdicts = folder.text("out/lr11-table2.json");
    assert!(verdicts.contains(PART), "{verdicts}");
    folder.write("same.json", &verdicts);
    folder.output(&format!("{run} same.json"));
    folder.write("worse.json", verdicts.replace(PART, &PART.replace(" in part", "")));
    let ran = folder.run(&format!("{run} worse.json"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let lost =
        "lr11-table2: they find task 3 unrelated to both: reproduced on record, now reproduced in part";
    assert!(
        ran.stderr.contains("verdicts worse than on record:") && ran.stderr.contains(lost),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("reproduced in part: they find task 3"), "what was found is printed");
    folder
        .write("better.json", verdicts.replace(PART, &PART.replace("reproduced in part", "not reproduced")));
    folder.output(&format!("{run} better.json"));
    folder.write("more.json", verdicts.replace(PART, &format!("{PART}, \"a claim\": \"not reproduced\"")));
    let ran = folder.run(&format!("{run} more.json"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("a claim: not reproduced on record, not judged now"), "{}", ran.stderr);
}

#[test]
fn what_is_not_reproduced_is_no_failure_if_it_is_on_record() {
    let folder = Folder::new();
    let ran = folder.run("lab run lr11-table2 --quick --out out");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("  fails: ") && ran.stderr.contains("lr11-table2: reproduced in part"));
}

#[test]
fn a_record_that_cannot_be_read_is_refused_before_anything_is_run() {
    let folder = Folder::with("bad.json", "{\"lr11-table2\":{\"quick\":{\"a claim\":\"broken\"}}}");
    let run = "lab run lr11-table2 --quick --quiet --out out --record";
    folder.refused(&format!("{run} bad.json"), &["bad.json", "\"broken\" is no verdict"]);
    folder.refused(&format!("{run} none.json"), &["none.json"]);
}

#[test]
fn the_list_has_the_record_and_an_explanation_of_what_did_not_come_out() {
    let folder = Folder::new();
    let list: Value = serde_json::from_str(&folder.output("lab list --json")).expect("one JSON value");
    let verdicts = ["reproduced", "reproduced in part", "not reproduced"];
    for experiment in list.as_array().expect("a list") {
        // Null where no full run is on record.
        let Some(verdict) = experiment["verdict"].as_str() else { continue };
        assert!(verdicts.contains(&verdict), "{experiment}");
        let explains = experiment["explains"].as_str().expect("a text");
        assert!(verdict == "reproduced" || explains.contains("`cognate lab run "), "{experiment}");
    }
    let text = folder.output("lab list");
    let summary = text.lines().find(|line| line.starts_with("On record: ")).expect("a summary");
    assert!(summary.ends_with(" claims reproduced") && summary.contains(" experiments; "), "{summary}");
}
