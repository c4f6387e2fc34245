//! Ctrl-C, SIGTERM and SIGHUP: is what was learnt kept in a whole model?

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::support::{Folder, PROGRAM, cognate, related};

/// Kills the program if a test fails before it ends.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Starts the program so that it hears signals, whoever started the tests.
    pub(crate) fn start(folder: &Folder, line: &str) -> Self {
        let signals = ["--default-signal=INT,TERM,HUP,USR1", PROGRAM];
        Self::spawn(folder, Command::new("env").args(signals).args(line.split_whitespace()))
    }

    fn spawn(folder: &Folder, command: &mut Command) -> Self {
        let child = command
            .envs(cognate().get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self(child)
    }

    /// Waits for the first row of the progressive table; returns the rest of standard error.
    pub(crate) fn under_way(&mut self) -> impl Read + use<> {
        let mut rest = BufReader::new(self.0.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.trim_end().ends_with('1') {
            line.clear();
            assert!(rest.read_line(&mut line).expect("text") > 0, "ended before it began");
        }
        rest
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(self.try_signal(name), "the program runs");
    }

    /// Whether there was still a program to send a signal to.
    fn try_signal(&self, name: &str) -> bool {
        let mut kill = Command::new("kill");
        let sent = kill.args(["-s", name, &self.0.id().to_string()]).stderr(Stdio::null()).status();
        sent.expect("kill").success()
    }

    /// The exit status, if it comes within the time.
    pub(crate) fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let started = Instant::now();
        loop {
            match self.0.try_wait().expect("a child") {
                None if started.elapsed() < time => std::thread::sleep(Duration::from_millis(5)),
                other => return other,
            }
        }
    }
}

/// Stops a run that would take hours, and checks what it leaves.
fn stops(signal: &str, flags: &str) {
    let folder = Folder::with("a.svm", related(1, 5000));
    folder.write("old.svm", "+1 qid:1 1:1\n");
    folder.output("learn old.svm --quiet --overwrite --model m.cog");
    let mut running = Running::start(
        &folder,
        &format!("learn a.svm --passes 4000000000 --overwrite --model m.cog {flags}"),
    );
    let mut rest = running.under_way();
    running.signal(signal);
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    assert_eq!(status.code(), Some(130));
    let mut told = String::new();
    rest.read_to_string(&mut told).unwrap();
    assert!(
        told.contains("interrupted: what was learnt so far is kept") && !told.contains("panicked"),
        "{told}"
    );
    let inside: serde_json::Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
    let examples = inside["examples"].as_u64().unwrap();
    assert!(examples > 1, "the model is the new one");
    assert_eq!(folder.names(), ["a.svm", "m.cog", "old.svm"], "no temporary file is left");
    // The model holds what was learnt to a round, so going on from it is possible.
    folder.output("learn a.svm --quiet --resume m.cog --model m.cog");
}

#[test]
fn ctrl_c_leaves_a_whole_model() {
    stops("INT", "");
}

#[test]
fn ctrl_c_leaves_a_whole_model_with_one_thread() {
    stops("INT", "--threads 1");
}

#[test]
fn ctrl_c_leaves_a_whole_model_of_a_shuffled_stream() {
    stops("INT", "--order shuffle");
}

#[test]
fn a_request_to_terminate_leaves_a_whole_model() {
    stops("TERM", "");
}

#[test]
fn ctrl_c_stops_a_stream_that_never_ends() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn - --model m.cog");
    let mut input = running.0.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let text = related(1, 1000);
        // Ends when the program has gone.
        while input.write_all(text.as_bytes()).is_ok() {}
    });
    let _rest = running.under_way();
    running.signal("INT");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    writer.join().unwrap();
    assert_eq!(status.code(), Some(130));
    folder.output("inspect m.cog");
}

#[test]
fn ctrl_c_stops_a_stream_of_blank_lines() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn - --model m.cog");
    let mut input = running.0.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let blank = vec![b'\n'; 1 << 16];
        let mut sent = input.write_all(related(1, 1).as_bytes());
        // Ends when the program has gone.
        while sent.is_ok() {
            sent = input.write_all(&blank);
        }
    });
    let _rest = running.under_way();
    running.signal("INT");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    writer.join().unwrap();
    assert_eq!(status.code(), Some(130));
    folder.output("inspect m.cog");
}

#[test]
fn ctrl_c_stops_a_stream_that_is_silent() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn - --model m.cog");
    let mut input = running.0.stdin.take().unwrap();
    input.write_all(related(1, 5000).as_bytes()).unwrap();
    let mut rest = BufReader::new(running.under_way());
    let mut line = String::new();
    while !line.contains("4,096") {
        assert!(rest.read_line(&mut line).unwrap() > 0, "{line}");
    }
    // What is left to learn takes no time; then it waits for input.
    std::thread::sleep(Duration::from_millis(500));
    running.signal("INT");
    let status = running.ended_within(Duration::from_secs(5)).expect("it stops though nothing comes");
    drop(input);
    assert_eq!(status.code(), Some(130));
    assert!(folder.output("inspect m.cog --json").contains("\"tasks\": [\n    \"1\"\n  ]"));
}

#[test]
fn a_hangup_leaves_a_whole_model() {
    stops("HUP", "");
}

#[test]
fn a_hangup_is_ignored_where_the_program_was_started_to_ignore_it() {
    let folder = Folder::with("a.svm", related(1, 5000));
    let line = format!("trap '' HUP; exec {PROGRAM} learn a.svm --passes 4000000000 --model m.cog");
    let mut running = Running::spawn(&folder, Command::new("bash").args(["-c", &line]));
    let _rest = running.under_way();
    running.signal("HUP");
    assert!(running.ended_within(Duration::from_millis(500)).is_none(), "nohup means it");
    running.signal("TERM");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_second_ctrl_c_changes_nothing_and_the_model_is_saved() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn - --model m.cog");
    let mut input = running.0.stdin.take().unwrap();
    input.write_all(related(1, 5000).as_bytes()).unwrap();
    let mut rest = running.under_way();
    running.signal("INT");
    // It may have gone already.
    running.try_signal("INT");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    let mut told = String::new();
    rest.read_to_string(&mut told).unwrap();
    assert_eq!(status.code(), Some(130), "{told}");
    assert!(
        told.contains("a second signal changes nothing, a third, or one after 10 s, ends the program"),
        "{told}"
    );
    drop(input);
    assert_eq!(folder.names(), ["m.cog"], "the model, and no temporary file");
    folder.output("inspect m.cog");
}

/// Runs a program that cannot stop, since nobody reads its trace; sends it signals, and gives what it did.
fn while_it_is_stuck(send: impl FnOnce(&Running, &mut dyn BufRead)) -> (Folder, ExitStatus) {
    let folder = Folder::with("a.svm", related(1, 5000));
    folder.write("old.svm", "+1 qid:1 1:1\n");
    folder.output("learn old.svm --quiet --overwrite --model m.cog");
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    let mut running =
        Running::start(&folder, "learn a.svm --passes 4000000000 --overwrite --model m.cog --trace pipe");
    let reader = std::fs::File::open(folder.path("pipe")).unwrap();
    let mut rest = BufReader::new(running.under_way());
    send(&running, &mut rest);
    let status = running.ended_within(Duration::from_secs(5)).expect("it ends at once");
    drop(reader);
    (folder, status)
}

/// Waits until the program has said something.
fn wait_for(text: &str, rest: &mut dyn BufRead) {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(rest.read_line(&mut line).unwrap() > 0, "it ended before it said {text:?}");
    }
}

#[test]
fn a_third_signal_ends_at_once_and_leaves_the_old_model() {
    let (folder, status) = while_it_is_stuck(|running, rest| {
        running.signal("INT");
        wait_for("interrupted: stopping", rest);
        running.signal("HUP");
        wait_for("one more signal ends the program at once", rest);
        running.signal("TERM");
    });
    assert_eq!(status.code(), Some(128 + 15));
    assert!(folder.output("inspect m.cog").contains("examples  1"), "the old model is whole");
}

#[test]
fn a_second_signal_that_comes_late_ends_at_once() {
    let (folder, status) = while_it_is_stuck(|running, rest| {
        running.signal("INT");
        wait_for("interrupted: stopping", rest);
        std::thread::sleep(Duration::from_millis(10_100));
        running.signal("TERM");
    });
    assert_eq!(status.code(), Some(128 + 15));
    assert!(folder.output("inspect m.cog").contains("examples  1"), "the old model is whole");
}

/// One task of so many features that writing its model takes a while.
fn wide(features: usize) -> String {
    let mut text = String::new();
    for at in 0..features / 1000 {
        write!(text, "{} qid:1", if at % 2 == 0 { "+1" } else { "-1" }).unwrap();
        (1..=1000).for_each(|feature| write!(text, " {}:1", at * 1000 + feature).unwrap());
        text.push('\n');
    }
    text
}

/// Signals two and three in a row, at times that follow from a seed, while it learns and while it saves. The model is always
/// whole, and after two signals it is the new one. `COGNATE_CASES` sets how many times.
#[test]
fn signals_at_any_time_never_lose_the_model() {
    let cases: u64 = std::env::var("COGNATE_CASES").map_or(24, |cases| cases.parse().expect("a number"));
    let folder = Folder::with("a.svm", wide(100_000));
    folder.write("old.svm", "+1 qid:1 1:1\n");
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % limit
    };
    let mut kept = 0;
    for case in 0..cases {
        folder.output("learn old.svm --quiet --overwrite --model m.cog");
        let mut running =
            Running::start(&folder, "learn a.svm --passes 4000000000 --overwrite --model m.cog");
        let mut rest = running.under_way();
        std::thread::sleep(Duration::from_millis(below(60)));
        let signals = 2 + usize::from(case % 3 == 2);
        let names: Vec<&str> = (0..signals).map(|_| ["INT", "TERM", "HUP"][below(3) as usize]).collect();
        for name in &names {
            running.try_signal(name);
            std::thread::sleep(Duration::from_micros(below(40_000)));
        }
        let status = running.ended_within(Duration::from_mins(1)).expect("it stops");
        let mut told = String::new();
        rest.read_to_string(&mut told).unwrap();
        let inside: serde_json::Value = serde_json::from_str(&folder.output("inspect m.cog --json")).unwrap();
        let is_new = inside["examples"].as_u64().unwrap() > 1;
        kept += u64::from(is_new);
        if signals == 2 {
            assert!(is_new && status.code() == Some(130), "case {case}, {names:?}: {status:?}\n{told}");
        }
        assert!(
            [129, 130, 143].contains(&status.code().unwrap()),
            "case {case}, {names:?}: {status:?}\n{told}"
        );
    }
    folder.output("learn old.svm --quiet --overwrite --model m.cog");
    assert_eq!(folder.names(), ["a.svm", "m.cog", "old.svm"], "leftovers are removed by the next save");
    assert!(kept >= 2 * (cases / 3), "{kept} of {cases} models are the new one");
}

#[test]
fn ctrl_c_compares_what_everyone_has_finished() {
    let folder = Folder::with("a.svm", related(3, 30));
    let mut running = Running::start(&folder, "compare a.svm --runs 100000 --report r.html");
    std::thread::sleep(Duration::from_secs(3));
    running.signal("INT");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    let mut told = String::new();
    running.0.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
    assert_eq!(status.code(), Some(130), "{told}");
    assert!(told.contains("of 100000 runs are compared") && !told.contains("panicked"), "{told}");
    assert!(folder.text("r.html").contains("</html>"), "the page is whole");
}

#[test]
fn ctrl_c_leaves_the_experiments_that_were_finished() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "lab run all --quick --data nowhere --out out");
    let mut rest = BufReader::new(running.0.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("lr11-table2") || !line.contains("written to") {
        line.clear();
        assert!(rest.read_line(&mut line).expect("text") > 0, "ended before the first was done");
    }
    running.signal("INT");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    let mut told = String::new();
    rest.read_to_string(&mut told).expect("text");
    assert_eq!(status.code(), Some(130), "{told}");
    assert!(told.contains("interrupted in ") && !told.contains("panicked"), "{told}");
    assert!(folder.text("out/lr11-table2.md").contains('|'), "what was finished stays");
}

#[test]
fn a_request_to_save_ends_no_command_that_saves_nothing_as_it_goes() {
    let folder = Folder::with("a.svm", related(2, 400));
    folder.output("learn a.svm --quiet --model m.cog");
    for line in [
        "fit - --quiet --model n.cog",
        "predict - --model m.cog",
        "compare - --quiet --runs 1 --learners perceptron",
    ] {
        let mut running = Running::start(&folder, line);
        std::thread::sleep(Duration::from_millis(500));
        running.signal("USR1");
        assert!(running.ended_within(Duration::from_millis(200)).is_none(), "{line}: it goes on");
        let mut input = running.0.stdin.take().unwrap();
        input.write_all(related(2, 400).as_bytes()).unwrap();
        drop(input);
        let status = running.ended_within(Duration::from_secs(30)).expect("it ends");
        assert_eq!(status.code(), Some(0), "{line}");
    }
}

#[test]
fn ctrl_c_before_the_first_example_leaves_the_old_model() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --model m.cog");
    let before = folder.read("m.cog");
    let mut running = Running::start(&folder, "learn - --quiet --overwrite --model m.cog");
    std::thread::sleep(Duration::from_millis(500));
    running.signal("INT");
    let status = running.ended_within(Duration::from_secs(20)).expect("it stops soon");
    let mut told = String::new();
    running.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(status.code(), Some(130), "{told}");
    assert!(told.contains("m.cog is left as it was\n") && folder.read("m.cog") == before, "{told}");
}
