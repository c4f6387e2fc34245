//! `--save-every`: a model on disk as the run goes, from which it continues bit for bit.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

use super::outputs::bash;
use super::signals::Running;
use super::support::{Folder, number, related};

/// Waits until something holds, for a minute at most.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Examples in a model.
pub(crate) fn examples(folder: &Folder, model: &str) -> usize {
    let inside = serde_json::from_str(&folder.output(&format!("inspect {model} --json"))).unwrap();
    number(&inside, "/examples") as usize
}

/// Kills a run after a save, goes on from what is on disk with the lines that are not in it, and compares with a run that
/// nobody killed.
fn killed_and_resumed(head: &str, text: &str, flags: &str) {
    let folder = Folder::with("all.txt", format!("{head}{text}"));
    folder.output(&format!("learn all.txt --quiet {flags} --model all.cog"));
    let mut running =
        Running::start(&folder, &format!("learn - --quiet {flags} --model m.cog --save-every 300"));
    let mut input = running.0.stdin.take().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let part = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    input.write_all(head.as_bytes()).unwrap();
    // Some lines more than a round, and than a batch.
    input.write_all(part(&lines[..1501]).as_bytes()).unwrap();
    wait_until("a model is saved", || folder.path("m.cog").exists());
    running.signal("KILL");
    running.0.wait().unwrap();
    drop(input);
    let saved = examples(&folder, "m.cog");
    assert!((300..=1501).contains(&saved), "{saved} examples are saved");
    folder.write("rest.txt", format!("{head}{}", part(&lines[saved..])));
    folder.output("learn rest.txt --quiet --resume m.cog --model m.cog");
    assert!(folder.read("m.cog") == folder.read("all.cog"), "{flags}: after {saved} examples");
    assert_eq!(folder.names(), ["all.cog", "all.txt", "m.cog", "rest.txt"], "{flags}");
}

#[test]
fn a_killed_run_goes_on_from_its_last_save_bit_for_bit() {
    for flags in
        ["", "--learner perceptron --set interaction.coupled.b=auto", "--learner relation-perceptron"]
    {
        killed_and_resumed("", &related(5, 2000), flags);
    }
}

#[test]
fn a_killed_simultaneous_run_goes_on_from_its_last_round() {
    // Rounds of 7 do not fit into batches.
    killed_and_resumed("", &related(7, 2002), "--simultaneous");
    killed_and_resumed("", &related(7, 2002), "--simultaneous --learner schatten-perceptron --tasks 7");
}

#[test]
fn a_killed_run_of_named_features_goes_on_with_its_names_and_columns() {
    let rows: String = (0..2000)
        .map(|at| format!("{},t{},{},c{}\n", at % 3 % 2, at % 4, at % 11, at % 50 + at / 100))
        .collect();
    killed_and_resumed("label,task,x,c\n", &rows, "--format csv");
    killed_and_resumed("label,task,x,c\n", &rows, "--format csv --bits 6");
}

#[test]
fn a_model_is_saved_after_a_time() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn - --quiet --model m.cog --save-every 1s");
    let mut input = running.0.stdin.take().unwrap();
    let text = related(2, 6000);
    let mut lines = text.lines();
    wait_until("a model is saved", || {
        writeln!(input, "{}", lines.next().expect("a line")).unwrap();
        folder.path("m.cog").exists()
    });
    assert!(examples(&folder, "m.cog") > 0);
    drop(input);
    assert_eq!(running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
}

#[test]
fn a_save_that_fails_is_told_once_and_tried_again() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("sub")).unwrap();
    let mut running =
        Running::start(&folder, "learn - --quiet --model sub/m.cog --save-every 100 --trace t.jsonl");
    let mut input = running.0.stdin.take().unwrap();
    let mut told = BufReader::new(running.0.stderr.take().unwrap());
    let text = related(2, 5000);
    let lines: Vec<&str> = text.lines().collect();
    let mut send = |from: usize, to: usize| {
        for line in &lines[from..to] {
            writeln!(input, "{line}").unwrap();
        }
        input.flush().unwrap();
    };
    send(0, 1000);
    // Traces are flushed after saves: none is under way.
    wait_until("all is learnt", || {
        folder.path("t.jsonl").exists() && folder.text("t.jsonl").lines().count() == 1000
    });
    assert!(folder.path("sub/m.cog").exists());
    std::fs::rename(folder.path("sub"), folder.path("gone")).unwrap();
    send(1000, 2000);
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    let expected = "warning: sub/m.cog: cannot write the model: No such file or directory";
    assert!(line.starts_with(expected) && line.contains("learning goes on"), "{line}");
    send(2000, 3000);
    std::fs::create_dir(folder.path("sub")).unwrap();
    send(3000, 4000);
    wait_until("it is saved again", || folder.path("sub/m.cog").exists());
    send(4000, 5000);
    drop(input);
    assert_eq!(running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "it is told once");
    assert_eq!(examples(&folder, "sub/m.cog"), 5000);
}

#[test]
fn the_last_save_decides_the_exit_code() {
    let mut text = related(2, 3000);
    let features: Vec<String> = (1..3000).map(|feature| format!("{feature}:1")).collect();
    // One of them at least is a mistake, and makes the model larger than the limit.
    text += &format!("+1 qid:1 {0}\n-1 qid:1 {0}\n", features.join(" "));
    text += &related(2, 3000);
    let folder = Folder::with("a.svm", text);
    let line =
        "trap '' XFSZ; ulimit -f 100; exec $cognate learn a.svm --quiet --model m.cog --save-every 1000";
    let ran = bash(&folder, line);
    ran.assert_refused(&[
        "warning: m.cog: cannot write the model: File too large",
        "error: m.cog: cannot write",
        "m.cog is that of the last save, with the ",
    ]);
    assert_eq!(ran.stderr.matches("warning: ").count(), 1, "{}", ran.stderr);
    assert!(examples(&folder, "m.cog") >= 1000, "the last good one is kept");
    assert_eq!(folder.names(), ["a.svm", "m.cog"]);
}

#[test]
fn saves_need_a_file_and_an_interval() {
    let folder = Folder::with("a.svm", related(2, 20));
    let ran = folder.run("learn a.svm --save-every 10");
    assert!(ran.code == Some(2) && ran.stderr.contains("--model <OUT>"), "{ran:?}");
    for bad in ["0", "x", "10d", "-5", "1.5s"] {
        let ran = folder.run(&format!("learn a.svm --model m.cog --save-every={bad}"));
        assert!(ran.code == Some(2) && ran.stderr.contains("a time like 60s, 10m or 2h"), "{bad}: {ran:?}");
    }
    assert_eq!(folder.names(), ["a.svm"]);
}

#[test]
fn a_time_passes_while_the_pipe_is_silent() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn - --quiet --model m.cog --save-every 1s");
    let mut input = running.0.stdin.take().unwrap();
    input.write_all(related(2, 20).as_bytes()).unwrap();
    wait_until("a model is saved though no line comes", || folder.path("m.cog").exists());
    assert_eq!(examples(&folder, "m.cog"), 20);
    drop(input);
    assert_eq!(running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
}

/// A run that waits for more lines after the first 20, and what it says.
fn waiting(folder: &Folder, flags: &str) -> (Running, std::process::ChildStdin, impl BufRead + use<>) {
    let mut running = Running::start(folder, &format!("learn - --trace t.jsonl {flags}"));
    let mut input = running.0.stdin.take().unwrap();
    input.write_all(related(2, 20).as_bytes()).unwrap();
    wait_until("the lines are learnt", || {
        folder.path("t.jsonl").exists() && folder.text("t.jsonl").lines().count() == 20
    });
    let told = BufReader::new(running.0.stderr.take().unwrap());
    (running, input, told)
}

/// The next line that speaks of the signal.
fn told_of_signal(told: &mut impl BufRead) -> String {
    let mut line = String::new();
    while !line.starts_with("SIGUSR1") && !line.starts_with("warning") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "it ended without a word");
    }
    line
}

#[test]
fn sigusr1_saves_the_model_and_the_run_goes_on() {
    let folder = Folder::with("all.svm", related(2, 40));
    folder.output("learn all.svm --quiet --model all.cog");
    let (mut running, mut input, mut told) = waiting(&folder, "--model m.cog");
    for _ in 0..3 {
        running.signal("USR1");
        assert_eq!(
            told_of_signal(&mut told),
            "SIGUSR1: the model is saved in m.cog, with the 20 examples that were learnt; learning goes on\n"
        );
        assert_eq!(examples(&folder, "m.cog"), 20);
    }
    let rest: String = related(2, 40).lines().skip(20).map(|line| format!("{line}\n")).collect();
    input.write_all(rest.as_bytes()).unwrap();
    drop(input);
    assert_eq!(running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
    assert!(folder.read("m.cog") == folder.read("all.cog"), "a save changes nothing");
}

#[test]
fn sigusr1_without_a_file_or_without_examples_saves_nothing_and_says_so() {
    let folder = Folder::new();
    let (mut running, input, mut told) = waiting(&folder, "");
    running.signal("USR1");
    let said = "SIGUSR1: nothing is saved, because no file was named for the model (--model OUT)\n";
    assert_eq!(told_of_signal(&mut told), said);
    drop(input);
    assert_eq!(running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
    folder.write("old.svm", related(2, 20));
    folder.output("learn old.svm --quiet --model m.cog");
    let before = folder.read("m.cog");
    let mut running = Running::start(&folder, "learn - --overwrite --model m.cog");
    let input = running.0.stdin.take().unwrap();
    let mut told = BufReader::new(running.0.stderr.take().unwrap());
    wait_until("it listens", || folder.path(".m.cog.lock").exists());
    running.signal("USR1");
    assert_eq!(told_of_signal(&mut told), "SIGUSR1: nothing is saved, because nothing was learnt yet\n");
    assert_eq!(folder.read("m.cog"), before);
    running.signal("KILL");
    running.0.wait().unwrap();
    drop(input);
}

#[test]
fn sigusr1_that_cannot_save_says_so_and_the_run_goes_on() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("sub")).unwrap();
    let (mut running, input, mut told) = waiting(&folder, "--model sub/m.cog");
    std::fs::rename(folder.path("sub"), folder.path("gone")).unwrap();
    for _ in 0..2 {
        running.signal("USR1");
        let line = told_of_signal(&mut told);
        assert!(line.starts_with("warning: sub/m.cog: cannot write the model: "), "{line}");
        assert!(line.contains("learning goes on"), "{line}");
    }
    std::fs::rename(folder.path("gone"), folder.path("sub")).unwrap();
    drop(input);
    assert_eq!(running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
    assert_eq!(examples(&folder, "sub/m.cog"), 20);
}

/// A disk of 64 kB that becomes full while the model grows: the last good save stays, whole, and so does a model of before.
#[test]
fn a_disk_that_is_full_keeps_the_model_that_is_on_it() {
    let folder = Folder::with("a.svm", grows());
    folder.write("old.svm", related(2, 20));
    let mount = "mkdir disk && mount -t tmpfs -o size=64k none disk";
    if bash(&folder, &format!("unshare -rm bash -c '{mount}' && rmdir disk")).code != Some(0) {
        #[expect(clippy::print_stderr, reason = "whoever reads the test's output wants to know")]
        {
            eprintln!("skipped: a disk of its own cannot be mounted here");
        }
        return;
    }
    for (every, saved, learnt) in [
        ("1000", "disk/m.cog is that of the last save, with the ", 1000..=3100),
        ("1000000", "disk/m.cog is left as it was", 20..=20),
    ] {
        let learn = format!("learn a.svm --quiet --overwrite --model disk/m.cog --save-every {every}");
        let line = format!(
            "unshare -rm bash -c '{mount} && $cognate learn old.svm --quiet --model disk/m.cog > old.txt && \
             {{ $cognate {learn}; code=$?; ls -A disk > left.txt; cp disk/m.cog kept.cog; exit $code; }}'"
        );
        let ran = bash(&folder, &line);
        ran.assert_refused(&["error: disk/m.cog: cannot write the model: No space left on device", saved]);
        let warnings =
            ran.stderr.matches("warning: disk/m.cog: cannot write the model: No space left").count();
        assert_eq!(warnings, usize::from(every == "1000"), "it is told once: {}", ran.stderr);
        assert!(learnt.contains(&examples(&folder, "kept.cog")), "{every}");
        assert_eq!(folder.text("left.txt"), "m.cog\n", "nothing else is on the disk");
        std::fs::remove_dir(folder.path("disk")).unwrap();
    }
}

/// A stream whose model is small for 3,000 examples, and then larger than 64 kB.
fn grows() -> String {
    let features: Vec<String> = (1..9000).map(|feature| format!("{feature}:1")).collect();
    let wide = format!("+1 qid:1 {0}\n-1 qid:1 {0}\n", features.join(" "));
    related(2, 3000) + &wide + &related(2, 3000)
}
