//! Two programs that write one model, and models that are there already: nothing is lost without being asked.

use std::fs;
use std::io::Write;
use std::time::Duration;

use super::outputs::bash;
use super::save_every::{examples, wait_until};
use super::signals::Running;
use super::support::{Folder, related};

const TAKEN: &str = "another program is writing this model; it holds the lock ";
const WAY_OUT: &str = "hint: wait until it ends, or name another file with --model";
const EXISTS: &str = "error: --model m.cog: the file exists, and what it holds would be lost";

/// A run that has learnt something, has the lock of its model, and waits for more.
fn writer(folder: &Folder, model: &str) -> (Running, std::process::ChildStdin) {
    let mut running = Running::start(folder, &format!("learn - --quiet --model {model} --save-every 1"));
    let mut input = running.0.stdin.take().unwrap();
    input.write_all(related(2, 20).as_bytes()).unwrap();
    wait_until("a model is saved", || folder.path(model).exists());
    (running, input)
}

fn ends(mut running: Running, input: std::process::ChildStdin) {
    drop(input);
    assert_eq!(running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
}

#[test]
fn a_second_writer_is_refused_before_it_reads_or_writes_anything() {
    let folder = Folder::with("a.svm", related(2, 20));
    let (running, input) = writer(&folder, "m.cog");
    std::os::unix::fs::symlink("m.cog", folder.path("soft.cog")).unwrap();
    fs::create_dir(folder.path("sub")).unwrap();
    std::os::unix::fs::symlink("../m.cog", folder.path("sub/far.cog")).unwrap();
    for (line, model) in [
        ("learn gone.svm --model m.cog", "m.cog"),
        ("learn gone.svm --model m.cog --overwrite", "m.cog"),
        ("learn gone.svm --resume m.cog --model m.cog", "m.cog"),
        ("learn gone.svm --model soft.cog --overwrite", "soft.cog"),
        ("learn gone.svm --model sub/far.cog --overwrite", "sub/far.cog"),
        ("learn gone.svm --model sub/../m.cog --overwrite", "sub/../m.cog"),
        ("fit gone.svm --model m.cog --overwrite", "m.cog"),
    ] {
        // There is nothing to read: that would be told if anyone looked.
        let ran = folder.refused(&format!("{line} --quiet --bad-lines t"), &[".m.cog.lock", WAY_OUT]);
        assert!(ran.stderr.starts_with(&format!("error: {model}: {TAKEN}")), "{line}: {}", ran.stderr);
        assert!(!folder.path("t").exists(), "{line}");
    }
    // Whoever reads is not in the way, and neither are other models.
    folder.output("inspect m.cog");
    folder.output("predict a.svm --model m.cog");
    folder.output("learn a.svm --quiet --resume m.cog --model n.cog");
    folder.output("learn a.svm --quiet --resume m.cog");
    let before = examples(&folder, "m.cog");
    ends(running, input);
    assert_eq!((before, examples(&folder, "m.cog")), (20, 20));
    assert_eq!(hidden(&folder), [""; 0], "nothing is left");
    folder.output("learn a.svm --quiet --resume m.cog --model m.cog");
    assert_eq!(hidden(&folder), [""; 0], "nothing is left");
}

/// Names that begin with a dot.
fn hidden(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name.starts_with('.')).collect()
}

#[test]
fn two_runs_with_models_of_their_own_do_not_disturb_each_other() {
    let folder = Folder::new();
    let (one, first) = writer(&folder, "one.cog");
    let (two, second) = writer(&folder, "two.cog");
    assert_eq!(hidden(&folder), [".one.cog.lock", ".two.cog.lock"]);
    ends(one, first);
    assert_eq!(hidden(&folder), [".two.cog.lock"]);
    ends(two, second);
    assert_eq!(folder.names(), ["one.cog", "two.cog"]);
    assert_eq!(folder.read("one.cog"), folder.read("two.cog"));
}

#[test]
fn a_lock_left_by_a_killed_process_blocks_nobody() {
    let folder = Folder::with("a.svm", related(2, 20));
    let (mut running, _input) = writer(&folder, "m.cog");
    running.signal("KILL");
    running.0.wait().unwrap();
    assert_eq!(hidden(&folder), [".m.cog.lock"], "the file stays, but not the lock");
    folder.output("learn a.svm --quiet --resume m.cog --model m.cog");
    assert_eq!((examples(&folder, "m.cog"), hidden(&folder)), (40, Vec::new()));
    // One that may only be read.
    folder.write(".m.cog.lock", "");
    fs::set_permissions(folder.path(".m.cog.lock"), std::os::unix::fs::PermissionsExt::from_mode(0o444))
        .unwrap();
    folder.output("learn a.svm --quiet --resume m.cog --model m.cog");
    assert_eq!((examples(&folder, "m.cog"), hidden(&folder)), (60, Vec::new()));
}

#[test]
fn whoever_is_refused_does_not_take_the_lock_away() {
    let folder = Folder::with("a.svm", related(2, 20));
    let (running, input) = writer(&folder, "m.cog");
    for _ in 0..3 {
        folder.refused("learn a.svm --quiet --resume m.cog --model m.cog", &[TAKEN]);
        assert_eq!(hidden(&folder), [".m.cog.lock"]);
    }
    ends(running, input);
}

#[test]
fn of_many_runs_at_once_one_writes_at_a_time() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --model m.cog");
    let line = "for run in 1 2 3 4 5 6 7 8; do \
                ( $cognate learn a.svm --quiet --resume m.cog --model m.cog >/dev/null 2>&1; echo $? ) & done; wait";
    let ran = bash(&folder, line);
    let codes: Vec<&str> = ran.stdout.lines().collect();
    let done = codes.iter().filter(|code| **code == "0").count();
    assert_eq!(codes.iter().filter(|code| **code == "2").count(), 8 - done, "{codes:?}");
    assert_eq!(examples(&folder, "m.cog"), 20 * (1 + done), "each that was not refused has taught the model");
    assert!(done >= 1 && hidden(&folder).is_empty());
}

#[test]
fn a_lock_file_that_is_a_link_is_not_followed() {
    let folder = Folder::with("a.svm", related(2, 20));
    std::os::unix::fs::symlink("victim", folder.path(".m.cog.lock")).unwrap();
    let told = ".m.cog.lock: cannot make the lock file: it is not a regular file";
    folder.refused("learn a.svm --quiet --model m.cog", &[told]);
    assert_eq!(folder.names(), [".m.cog.lock", "a.svm"]);
}

#[test]
fn a_model_that_exists_is_not_overwritten_unless_asked() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --model m.cog");
    folder.output("learn a.svm --quiet --model n.cog --resume m.cog");
    let before = folder.read("m.cog");
    let both = "hint: --resume m.cog learns on from it, --overwrite replaces it; or name another file";
    for (line, way_out) in [
        // Before anything is read.
        ("learn gone.svm --model m.cog", both),
        ("learn a.svm --model m.cog --save-every 5", both),
        ("learn a.svm --resume n.cog --model m.cog", both),
        ("fit a.svm --model m.cog", "hint: --overwrite replaces it; or name another file"),
    ] {
        folder.refused(&format!("{line} --quiet --bad-lines t"), &[EXISTS, way_out]);
        assert_eq!((folder.read("m.cog"), folder.names()), (before.clone(), names()), "{line}");
    }
    folder.output("learn a.svm --quiet --overwrite --model m.cog --save-every 5");
    folder.output("learn a.svm --quiet --overwrite --resume n.cog --model m.cog");
    assert_eq!(examples(&folder, "m.cog"), 60);
    folder.output("fit a.svm --quiet --overwrite --model m.cog");
    assert!(folder.output("inspect m.cog").contains("convex"));
    assert_eq!(folder.names(), names());
}

fn names() -> Vec<String> {
    ["a.svm", "m.cog", "n.cog"].map(str::to_owned).to_vec()
}

#[test]
fn what_may_be_replaced_without_asking() {
    let folder = Folder::with("a.svm", related(2, 20));
    // A name that was reserved.
    folder.write("m.cog", "");
    folder.output("learn a.svm --quiet --model m.cog");
    // The model that is learnt on, whatever it is called.
    std::os::unix::fs::symlink("m.cog", folder.path("soft.cog")).unwrap();
    folder.output("learn a.svm --quiet --resume soft.cog --model m.cog");
    folder.output("learn a.svm --quiet --resume ./m.cog --model soft.cog");
    assert_eq!(examples(&folder, "m.cog"), 60);
    let ran = folder.run("learn a.svm --overwrite");
    assert!(ran.code == Some(2) && ran.stderr.contains("--model <OUT>"), "it says what to replace: {ran:?}");
}
