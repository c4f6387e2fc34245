//! The papers' data sets, where they are present.

use std::path::{Path, PathBuf};

use super::support::{Folder, number};

/// Where the data sets are; if they are missing, says that the test is skipped.
fn data() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.is_dir() {
        return Some(path.canonicalize().expect("a path"));
    }
    #[expect(clippy::print_stderr, reason = "whoever reads the test's output wants to know")]
    {
        eprintln!("skipped: ../shared/data is not here");
    }
    None
}

/// Error in percent on a data set learnt as in the table of the data's README.
fn error(data: &Path, set: &str, seed: u32) -> f64 {
    let file = data.join(set.trim_end_matches("_onehot")).join(format!("{set}.svm.gz"));
    let flags = "--order shuffle --normalize l2 --set interaction=pairwise";
    let summary =
        Folder::new().summary(&format!("{} --learner perceptron {flags} --seed {seed}", file.display()));
    100.0 * number(&summary, "/error")
}

/// Checks the mean error of two orders against column "b=K" of the README's table, to within one point.
fn assert_reproduced(set: &str) {
    let Some(data) = data() else { return };
    let table = std::fs::read_to_string(data.join("README.md")).expect("the README");
    let table = &table[table.find("| b=K |").expect("the table of errors")..];
    let row = table.lines().find(|line| line.starts_with(&format!("| {set} |"))).expect("a row of the table");
    let expected: f64 = row.split('|').nth(5).expect("a column").trim().parse().expect("a number");
    let mean = f64::midpoint(error(&data, set, 1), error(&data, set, 2));
    assert!((mean - expected).abs() <= 1.0, "{set}: {mean:.2} %, expected {expected} %");
}

#[test]
fn school_errs_as_often_as_in_the_readme() {
    assert_reproduced("school");
}

#[test]
fn sentiment_errs_as_often_as_in_the_readme() {
    assert_reproduced("sentiment");
}

#[test]
fn spam_a_errs_as_often_as_in_the_readme() {
    assert_reproduced("spam_a");
}

#[test]
fn spam_b_errs_as_often_as_in_the_readme() {
    assert_reproduced("spam_b");
}

#[test]
fn news20_errs_as_often_as_in_the_readme() {
    assert_reproduced("news20");
}

#[test]
fn sentiment16_errs_as_often_as_in_the_readme() {
    assert_reproduced("sentiment16");
}

#[test]
fn tdt2_errs_as_often_as_in_the_readme() {
    assert_reproduced("tdt2");
}

#[test]
fn mhc_errs_as_often_as_in_the_readme() {
    assert_reproduced("mhc");
}

#[test]
fn mhc_onehot_errs_as_often_as_in_the_readme() {
    assert_reproduced("mhc_onehot");
}

#[test]
fn movielens_errs_as_often_as_in_the_readme() {
    assert_reproduced("movielens");
}

#[test]
fn scenes15_errs_as_often_as_in_the_readme() {
    assert_reproduced("scenes15");
}

#[test]
fn every_classification_set_is_learnt_and_the_others_are_refused_in_their_place() {
    let Some(data) = data() else { return };
    let mut learnt = 0;
    for set in std::fs::read_dir(&data).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let files =
            std::fs::read_dir(&set).into_iter().flatten().map(|entry| entry.expect("an entry").path());
        for file in files.filter(|file| file.to_string_lossy().ends_with(".svm.gz")) {
            let folder = Folder::new();
            let name = file.display().to_string();
            let flags = "--order shuffle --normalize l2 --set interaction=pairwise";
            let ran = folder.run(&format!("learn {name} --quiet --json {flags}"));
            if ["sarcos", "school_real", "tdt2_docs", "scenes15_images"]
                .iter()
                .any(|other| name.contains(other))
            {
                ran.assert_refused(&[
                    &format!("error: {name}:"),
                    ":1: found label ",
                    "expected -1 or +1, or 0 or 1",
                ]);
                continue;
            }
            ran.assert_done();
            let summary = serde_json::from_str(&ran.stdout).expect("JSON");
            assert!(number(&summary, "/error") < 0.45, "{name}: {summary}");
            learnt += 1;
        }
    }
    assert!(learnt >= 10, "{learnt} sets");
}
