//! `cognate compare`: several learners over the same examples.

use insta::assert_snapshot;
use serde_json::Value;

use super::support::{Folder, number, related};

fn folder() -> Folder {
    Folder::with("a.svm", related(12, 3000))
}

/// The text without its last column, the speeds, which differ every time.
fn without_speed(text: &str) -> String {
    let cut = |line: &str| match line.rsplit_once(' ') {
        Some((rest, last)) if last == "examples/s" || last.replace(',', "").parse::<u64>().is_ok() => {
            rest.trim_end().to_owned()
        }
        _ => line.trim_end().to_owned(),
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

#[test]
fn which_learner_to_use_is_answered_in_one_screen() {
    let text = folder().output("compare a.svm --runs 3 --quiet");
    assert_snapshot!(without_speed(&text));
    assert!(text.lines().count() <= 24, "more than a screen:\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 400));
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let folder = folder();
    let compared = |threads: u32| {
        let line = format!("compare a.svm --runs 2 --quiet --json --threads {threads}");
        let mut value: Value = serde_json::from_str(&folder.output(&line)).expect("one JSON value");
        let rows = value["learners"].as_array_mut().expect("rows");
        rows.iter_mut()
            .for_each(|row| drop(row.as_object_mut().expect("a row").remove("examples_per_second")));
        value
    };
    assert_eq!(compared(1), compared(3));
}

#[test]
fn independent_models_are_always_there_and_named_learners_follow() {
    let line = "compare a.svm --learners adaptive,pooled,adaptive --runs 2 --json --quiet";
    let value: Value = serde_json::from_str(&folder().output(line)).expect("one JSON value");
    let names: Vec<&str> =
        value["learners"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["independent", "adaptive", "pooled"]);
    assert_eq!((number(&value, "/runs"), number(&value, "/examples")), (2.0, 3000.0));
    assert!(number(&value, "/learners/0/chance_to_independent") == 1.0);
    assert!(number(&value, "/learners/1/error") < number(&value, "/learners/0/error"));
}

#[test]
fn a_report_holds_curves_tasks_and_relations() {
    let folder = folder();
    folder.output("compare a.svm --learners adaptive,perceptron --runs 2 --quiet --report page.html");
    let page = folder.text("page.html");
    for part in
        ["Which learner suits these tasks?", "Learning curves", "Task by task", "How the tasks are related"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder();
    folder
        .refused("compare a.svm --learners perceptrn", &["unknown learner \"perceptrn\"; known: perceptron"]);
    folder.refused("compare a.svm --learners convex", &["--learners convex", "cognate fit"]);
    folder.refused("compare a.svm --order adversarial", &["--order adversarial", "nothing to compare"]);
    folder.refused("compare a.svm --runs 0", &["--runs"]);
    folder.refused("compare a.svm --report a.svm", &["is one of the files to learn from"]);
    folder.refused("compare missing.svm", &["missing.svm"]);
    folder.write("empty.svm", "");
    folder.refused("compare empty.svm", &["empty.svm holds no examples"]);
    folder.write("bad.svm", "+1 qid:1 3:1 2:1\n");
    folder.refused("compare bad.svm", &["bad.svm:1:14", "--skip-bad"]);
}

#[test]
fn one_task_and_an_order_of_its_own_are_compared_too() {
    let folder = Folder::with("one.svm", related(1, 200));
    let text = folder.output("compare one.svm --order file --quiet");
    assert!(text.starts_with("200 examples of 1 tasks, 1 run;"), "{text}");
}
