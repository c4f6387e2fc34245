//! The page of errata: its commands show what it says, and the tests and experiments that it names exist.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::Folder;

const PAGE: &str = include_str!("../../../../docs/papers/errata.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands in boxes, each with what its output must show.
fn commands() -> Vec<(&'static str, &'static str)> {
    let boxes = PAGE.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines: Vec<&str> = boxes.flat_map(str::lines).collect();
    let pair = |pair: &[&'static str]| {
        let command = pair[0].strip_prefix("cognate ").expect("a command of the program");
        (command, pair[1].strip_prefix("# shows ").expect("what it shows"))
    };
    lines.chunks(2).map(pair).collect()
}

#[test]
fn commands_show_what_the_page_says() {
    let folder = Folder::new();
    let vectors = "crates/cognate/tests/vectors";
    fs::create_dir_all(folder.path(vectors)).expect("a folder");
    for name in ["stream_a.svm", "stream_c.svm", "batch_own.svm"] {
        let file = format!("{vectors}/{name}");
        fs::copy(root().join(&file), folder.path(&file)).expect("a stream of the vectors");
    }
    let commands = commands();
    assert!(commands.len() >= 10);
    for (command, shown) in commands {
        let ran = folder.run(command);
        assert_eq!(ran.code, Some(0), "{command}\n{}", ran.stderr);
        let printed = ran.stdout + &ran.stderr;
        assert!(printed.contains(shown), "{command} does not show {shown:?}:\n{printed}");
    }
}

/// Words in backquotes that stand in the last column of a table.
fn named() -> Vec<&'static str> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| where"));
    let last = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    last.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn tests_and_experiments_that_the_page_names_exist() {
    let folder = root().join("crates/cognate/tests/it");
    let files = fs::read_dir(folder).expect("the tests of the library");
    let sources: String =
        files.filter_map(|entry| fs::read_to_string(entry.expect("an entry").path()).ok()).collect();
    let list = Folder::new().output("lab list");
    let named = named();
    assert!(named.len() >= 35);
    for name in named {
        let exists = match name.strip_prefix("cognate lab run ") {
            Some(id) => list.lines().any(|line| line == id),
            None if Path::new(name).extension().is_some_and(|extension| extension == "rs") => true,
            None => sources.contains(&format!("fn {name}()")),
        };
        assert!(exists, "the page names {name}, which does not exist");
    }
}
