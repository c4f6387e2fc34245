//! Where results go: folders that cannot be written to, full disks, closed pipes, colour, `--quiet`.

use std::fs;
use std::process::{Command, Output};

use super::support::{Folder, PROGRAM, Ran, related};

/// Runs a line of bash in the folder, with `$cognate` the program.
pub(crate) fn bash(folder: &Folder, line: &str) -> Ran {
    let Output { status, stdout, stderr } = Command::new("timeout")
        .args(["120", "bash", "-o", "pipefail", "-c", line])
        .env("cognate", PROGRAM)
        .current_dir(folder.path(""))
        .output()
        .expect("bash");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// A stream with so many features that its model takes more than `ulimit -f 8` allows.
fn wide() -> String {
    let features: Vec<String> = (1..3000).map(|feature| format!("{feature}:1")).collect();
    format!("+1 qid:1 {}\n", features.join(" "))
}

#[test]
fn a_model_is_not_written_where_it_cannot_be() {
    let folder = Folder::with("a.svm", related(2, 20));
    fs::create_dir(folder.path("folder")).unwrap();
    for (target, reason) in [
        ("no/such/m.cog", "No such file or directory"),
        ("folder", "it is not a regular file"),
        ("a.svm/m.cog", "Not a directory"),
        ("/proc/m.cog", ""),
        ("/dev/null", "it is not a regular file"),
    ] {
        let message = format!("error: {target}: cannot write the model: {reason}");
        let ran = folder.refused(&format!("learn a.svm --quiet --model {target}"), &[&message]);
        assert_eq!(ran.stderr.matches("error").count() - ran.stderr.matches("os error").count(), 1);
    }
    assert_eq!(folder.names(), ["a.svm", "folder"]);
}

#[test]
fn the_target_is_checked_before_the_stream_is_read() {
    let folder = Folder::new();
    let message = "error: no/m.cog: cannot write the model: ";
    folder.refused("learn endless.svm --quiet --model no/m.cog", &[message]);
}

#[test]
fn a_run_does_not_overwrite_its_own_data() {
    let folder = Folder::with("a.svm", related(2, 20));
    std::os::unix::fs::symlink("a.svm", folder.path("link.svm")).unwrap();
    for flag in ["--model", "--trace", "--report"] {
        for path in ["a.svm", "link.svm"] {
            let message = format!("error: {flag} {path}: is one of the files to learn from");
            folder.refused(&format!("learn a.svm --quiet {flag} {path}"), &[&message]);
        }
    }
    assert_eq!(folder.text("a.svm"), related(2, 20));
}

#[test]
fn a_run_that_fails_leaves_no_page() {
    let folder = Folder::with("bad.svm", "+1 1:x\n");
    folder.refused("learn bad.svm --quiet --report r.html", &["error: bad.svm:1:6: found value"]);
    assert_eq!(folder.names(), ["bad.svm"]);
}

#[test]
fn a_full_disk_leaves_the_old_model_and_no_temporary_file() {
    let folder = Folder::with("a.svm", wide());
    folder.write("old.svm", related(2, 20));
    folder.output("learn old.svm --quiet --overwrite --model m.cog");
    let before = folder.read("m.cog");
    let line = "trap '' XFSZ; ulimit -f 8; exec $cognate learn a.svm --quiet --overwrite --model m.cog";
    let ran = bash(&folder, line);
    ran.assert_refused(&["error: m.cog: cannot write the model: File too large"]);
    assert_eq!(folder.read("m.cog"), before);
    assert_eq!(folder.names(), ["a.svm", "m.cog", "old.svm"]);
    folder.output("learn a.svm --quiet --overwrite --model m.cog");
    assert!(folder.read("m.cog").len() > 8 * 1024, "the model would not have fit");
}

#[test]
fn a_full_disk_is_told_for_traces_reports_and_results() {
    let folder = Folder::with("a.svm", related(2, 400));
    folder.output("learn a.svm --quiet --model m.cog");
    let full = "No space left on device";
    folder.refused("learn a.svm --quiet --trace /dev/full", &["error: --trace /dev/full: ", full]);
    folder.refused("learn a.svm --quiet --report /dev/full", &["error: --report /dev/full: ", full]);
    folder.refused("relations m.cog --svg /dev/full", &["error: --svg /dev/full: ", full]);
    folder.refused("relations m.cog --graph /dev/full", &["error: --graph /dev/full: ", full]);
    folder.refused("demo --quiet --out /dev/full", &["error: --out /dev/full: ", full]);
    for command in
        ["learn a.svm --quiet", "predict a.svm --model m.cog", "inspect m.cog --weights", "algorithms"]
    {
        bash(&folder, &format!("$cognate {command} > /dev/full")).assert_refused(&[full]);
    }
}

#[test]
fn outputs_in_missing_folders_are_refused_by_flag_and_name() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --model m.cog");
    for (command, message) in [
        ("learn a.svm --quiet --trace no/t.jsonl", "error: --trace no/t.jsonl: No such file"),
        ("learn a.svm --quiet --report no/r.html", "error: --report no/r.html: No such file"),
        ("relations m.cog --svg no/r.svg", "error: --svg no/r.svg: No such file"),
        ("relations m.cog --graph no/g.svg", "error: --graph no/g.svg: No such file"),
        ("demo --quiet --out no/r.html", "error: --out no/r.html: No such file"),
        ("demo --quiet --stream no/s.svm", "error: --stream no/s.svm: No such file"),
        ("demo --quiet --picture no/p.svg", "error: --picture no/p.svg: No such file"),
    ] {
        folder.refused(command, &[message]);
    }
}

#[test]
fn whoever_closes_the_pipe_ends_the_program_without_an_error() {
    let folder = Folder::with("a.svm", related(2000, 20_000));
    folder.output("learn a.svm --quiet --model m.cog");
    for (command, first) in [
        ("predict a.svm --model m.cog", "line,id,task,label,margin\n"),
        ("predict a.svm --model m.cog --json", "{\"label\":"),
        ("predict a.svm --model m.cog --threads 1", "line,id,task,label,margin\n"),
        ("inspect m.cog --weights", "task,feature,value\n"),
        ("inspect m.cog --json", "{\n"),
        ("relations m.cog --json", "{\n"),
        ("learn a.svm --quiet --json", "{\n"),
    ] {
        let ran = bash(&folder, &format!("$cognate {command} | head -1"));
        ran.assert_done();
        assert!(ran.stdout.starts_with(first) && ran.stderr.is_empty(), "{command}: {ran:?}");
    }
}

#[test]
fn closed_standard_error_and_output_are_no_reason_to_fail() {
    let folder = Folder::with("a.svm", related(3, 300));
    for line in [
        "$cognate learn a.svm --model m.cog 2>&-",
        "$cognate learn a.svm --model m.cog >&-",
        "$cognate learn a.svm --model m.cog >&- 2>&- <&-",
        "$cognate learn a.svm --model m.cog 3>&1 1>/dev/null 2>&3 | true",
    ] {
        bash(&folder, line).assert_done();
        assert!(folder.output("inspect m.cog").contains("examples  300"), "{line}");
        fs::remove_file(folder.path("m.cog")).unwrap();
    }
    assert_eq!(bash(&folder, "$cognate learn gone.svm 2>&-").code, Some(2));
}

#[test]
fn quiet_leaves_standard_error_empty() {
    let folder = Folder::with("a.svm", related(3, 300));
    let ran = folder.run("learn a.svm --quiet");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("task  examples"), "the result is still there: {}", ran.stdout);
    assert!(folder.run("learn a.svm").stderr.contains("since last"), "without it there is a table");
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let folder = Folder::new();
    let escape = "\u{1b}[";
    for (line, variables, coloured) in [
        ("learn gone.svm --quiet", &[][..], false),
        ("learn gone.svm --quiet --color always", &[], true),
        ("learn gone.svm --quiet --color never", &[("CLICOLOR_FORCE", "1")], false),
        ("learn gone.svm --quiet", &[("CLICOLOR_FORCE", "1")], true),
        ("learn gone.svm --quiet", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        let ran = Ran::of(folder.command(line).envs(variables.iter().copied()));
        assert_eq!(ran.stderr.contains(escape), coloured, "{line} {variables:?}: {:?}", ran.stderr);
        assert!(ran.stderr.contains("error:") && ran.code == Some(2), "the words do not depend on colour");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_named() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --model m.cog");
    folder.output("learn a.svm --quiet --learner kernel-perceptron --model k.cog");
    for line in [
        "predict a.svm --model m.cog",
        "predict a.svm --model m.cog --json",
        "inspect m.cog",
        "inspect m.cog --json",
        "inspect m.cog --weights",
        "inspect k.cog --supports",
        "relations m.cog",
        "fit a.svm --quiet",
    ] {
        let ran = bash(&folder, &format!("$cognate {line} > /dev/full"));
        ran.assert_refused(&["error: standard output: No space left on device"]);
    }
}
