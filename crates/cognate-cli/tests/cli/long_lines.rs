//! `--skip-bad` skips a line of any length, in bounded memory.

use std::time::Duration;

use super::outputs::bash;
use super::signals::Running;
use super::support::{Folder, number};

#[test]
fn a_line_of_any_length_is_skipped_once_and_the_next_is_read_right() {
    let folder = Folder::new();
    // 600 MB without a line end, between good lines; another one at the end of the input.
    let long = "head -c 600000000 /dev/zero | tr '\\0' 7";
    let line = format!(
        "(echo '+1 1:1'; {long}; echo; echo '-1 2:1'; echo '+1 x'; echo '+1 3:1'; {long}) | \
         $cognate learn - --quiet --json --skip-bad 3"
    );
    let ran = bash(&folder, &line);
    ran.assert_done();
    let summary = serde_json::from_str(&ran.stdout).unwrap();
    for (path, expected) in [("/examples", 3.0), ("/skipped", 3.0)] {
        assert!((number(&summary, path) - expected).abs() < 0.5, "{path}: {summary}");
    }
    let peak = number(&summary, "/peak_memory_bytes");
    assert!(peak < 420e6, "{peak} bytes for lines of 600 MB");
    let few = line.replace("--skip-bad 3", "--skip-bad 2").replace("--json", "--model m.cog");
    bash(&folder, &few).assert_refused(&[
        "error: <stdin>:6:1: the line is longer than 128 MiB",
        "the model is saved in m.cog, with the 3 examples",
    ]);
}

#[test]
fn ctrl_c_stops_in_an_endless_line() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn /dev/zero --quiet --skip-bad 1");
    // Long enough to be beyond the limit of a line on most machines; the result is the same before it.
    std::thread::sleep(Duration::from_secs(3));
    running.signal("INT");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops");
    assert_eq!(status.code(), Some(130));
}
