//! Ctrl-C and SIGTERM: what was learnt is kept, whole.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::support::{Folder, cognate, related};

/// Ends the program if a test fails before it does.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start(folder: &Folder, line: &str) -> Self {
        let child = cognate()
            .args(line.split_whitespace())
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self(child)
    }

    /// Waits for the first row of the progressive table; gives the rest of standard error.
    fn under_way(&mut self) -> impl Read + use<> {
        let mut rest = BufReader::new(self.0.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.trim_end().ends_with('1') {
            line.clear();
            assert!(rest.read_line(&mut line).expect("text") > 0, "ended before it began");
        }
        rest
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    /// The exit status, if it comes within the time.
    fn ended_within(&mut self, time: Duration) -> Option<ExitStatus> {
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
    folder.output("learn old.svm --quiet --model m.cog");
    let mut running =
        Running::start(&folder, &format!("learn a.svm --passes 4000000000 --model m.cog {flags}"));
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
fn a_second_ctrl_c_ends_at_once() {
    let folder = Folder::new();
    let mut running = Running::start(&folder, "learn - --model m.cog");
    let mut input = running.0.stdin.take().unwrap();
    input.write_all(related(1, 5000).as_bytes()).unwrap();
    let _rest = running.under_way();
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(100));
    // It may have gone already.
    let _ =
        Command::new("kill").args(["-s", "INT", &running.0.id().to_string()]).stderr(Stdio::null()).status();
    let status = running.ended_within(Duration::from_secs(5)).expect("it stops at once");
    assert_eq!(status.code(), Some(130));
    drop(input);
    assert!(folder.names().iter().all(|name| name == "m.cog"), "no temporary file: {:?}", folder.names());
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
