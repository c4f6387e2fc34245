//! Programs in a pipe: a line in, its answer out, before the next line is sent.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::outputs::bash;
use super::save_every::examples;
use super::signals::Running;
use super::support::{Folder, cognate, number, related};

/// A program between two pipes.
struct Piped {
    running: Running,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Piped {
    fn start(folder: &Folder, line: &str) -> Self {
        let mut command = cognate();
        command.args(line.split_whitespace()).current_dir(folder.path(""));
        let mut child: Child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { running: Running(child), input, output }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn receive(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// The rest of the output, once the input has ended.
    fn end(mut self) -> String {
        self.input = None;
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        assert_eq!(self.running.ended_within(Duration::from_secs(20)).expect("it ends").code(), Some(0));
        rest
    }
}

#[test]
fn each_line_of_a_trace_comes_before_the_next_line_is_sent() {
    let text = related(2, 30);
    for flags in ["", "--threads 1", "--json"] {
        let folder = Folder::with("a.svm", &text);
        folder.output("learn a.svm --quiet --trace all.jsonl");
        let mut piped = Piped::start(&folder, &format!("learn - --quiet --trace - {flags}"));
        let mut answers = String::new();
        for line in text.lines() {
            piped.send(line);
            answers += &piped.receive();
        }
        assert_eq!(answers, folder.text("all.jsonl"), "{flags}: the same as in a file");
        let rest = piped.end();
        if flags == "--json" {
            let last: Value = serde_json::from_str(&rest).expect("one line");
            assert!((number(&last, "/summary/examples") - 30.0).abs() < 0.5, "{last}");
            assert_eq!(rest.lines().count(), 1);
        } else {
            assert_eq!(rest, "", "the summary is elsewhere");
        }
    }
}

#[test]
fn a_trace_in_a_file_or_a_named_pipe_is_as_prompt() {
    let folder = Folder::new();
    let mut piped = Piped::start(&folder, "learn - --quiet --trace t.jsonl");
    for (at, line) in related(2, 5).lines().enumerate() {
        piped.send(line);
        super::save_every::wait_until("the line is there", || {
            folder.path("t.jsonl").exists() && folder.text("t.jsonl").lines().count() == at + 1
        });
    }
    piped.end();
}

#[test]
fn each_prediction_comes_before_the_next_line_is_sent() {
    let text = related(2, 30);
    let folder = Folder::with("a.svm", &text);
    folder.output("learn a.svm --quiet --model m.cog");
    let expected = folder.output("predict a.svm --model m.cog --json");
    let mut piped = Piped::start(&folder, "predict - --model m.cog --json");
    for (line, expected) in text.lines().zip(expected.lines()) {
        piped.send(line);
        assert_eq!(piped.receive().trim_end(), expected);
    }
    assert_eq!(piped.end(), "");
}

#[test]
fn standard_output_carries_the_trace_alone() {
    let folder = Folder::with("a.svm", related(3, 3000));
    folder.output("learn a.svm --quiet --trace t.jsonl");
    let ran = folder.run("learn a.svm --quiet --trace -");
    ran.assert_done();
    assert_eq!(ran.stdout, folder.text("t.jsonl"));
    assert!(ran.stderr.contains("3,000 examples in "), "the summary: {}", ran.stderr);
    let ran = folder.run("learn a.svm --quiet --trace - --json");
    let (trace, last) = ran.stdout.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(format!("{trace}\n"), folder.text("t.jsonl"));
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["summary"]["tasks"].as_array().map(Vec::len), Some(3), "{last}");
    assert_eq!(ran.stderr, "");
    assert_eq!(folder.names(), ["a.svm", "t.jsonl"], "no file is called `-`");
    bash(&folder, "$cognate learn a.svm --quiet --trace - >> a.svm").assert_refused(&["standard output: is"]);
    bash(&folder, "$cognate learn a.svm --quiet --trace - --model m.cog > /dev/full")
        .assert_refused(&["error: --trace -: No space left", "the model is saved in m.cog, with the "]);
}

#[test]
fn whoever_closes_the_trace_ends_the_run_well_and_the_model_is_saved() {
    let folder = Folder::with("a.svm", related(3, 60_000));
    for flags in ["", "--threads 1", "--json"] {
        let line = format!(
            "$cognate learn a.svm --passes 1000 --quiet --overwrite --model m.cog --trace - {flags} | head -1"
        );
        let ran = bash(&folder, &line);
        ran.assert_done();
        assert_eq!(ran.stdout.lines().count(), 1);
        let told = "standard output was closed, which ended the run; the model is saved in m.cog, with the ";
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        let learnt = examples(&folder, "m.cog");
        assert!((1..60_000_000).contains(&learnt), "{learnt}");
    }
    let ran = bash(&folder, "$cognate learn a.svm --passes 1000 --quiet --trace - | head -1");
    ran.assert_done();
    assert!(!ran.stderr.contains("closed"), "nothing was to be saved: {}", ran.stderr);
}

/// A process that another test is starting has this one's pipes for a moment, and keeps them open: then the answer can be written,
/// and the program is right to wait. So one of three has to end; a program that waits for one more line never does.
#[test]
fn a_closed_trace_ends_a_run_whose_input_is_silent() {
    let ended = (0..3).any(|_| {
        let folder = Folder::new();
        let mut piped = Piped::start(&folder, "learn - --quiet --model m.cog --trace -");
        let text = related(1, 3);
        let mut lines = text.lines();
        piped.send(lines.next().unwrap());
        assert!(piped.receive().starts_with("{\"t\":1,"));
        let Piped { mut running, input, output } = piped;
        drop(output);
        let mut input = input.unwrap();
        // Its answer cannot be written; the pipe is not closed, and no more comes. The program may have noticed before.
        let sent = writeln!(input, "{}", lines.next().unwrap());
        let Some(status) = running.ended_within(Duration::from_secs(10)) else { return false };
        assert_eq!(status.code(), Some(0));
        let learnt = examples(&folder, "m.cog");
        assert!(learnt == 1 || (learnt == 2 && sent.is_ok()), "{learnt} examples, {sent:?}");
        drop(input);
        true
    });
    assert!(ended, "it waits for a third line");
}

#[test]
fn a_bad_line_that_is_skipped_is_answered_before_the_next_line_is_sent() {
    let folder = Folder::with("a.svm", related(2, 30));
    folder.output("learn a.svm --quiet --model m.cog");
    for flags in ["", "--threads 1"] {
        let line = format!("predict - --model m.cog --skip-bad 9 {flags}");
        let mut piped = Piped::start(&folder, &line);
        assert_eq!(piped.receive(), "line,id,task,label,margin\n");
        for (at, line) in ["+1 1:x", "+1 qid:1 1:1", "x", "x", "+1 qid:2 1:1", "+1 1:x"].iter().enumerate() {
            piped.send(line);
            let answer = piped.receive();
            assert!(answer.starts_with(&format!("{},", at + 1)), "{flags}: {answer}");
            assert_eq!(answer.ends_with(",,,,\n"), !line.contains("1:1"), "{flags}: {answer}");
        }
        assert_eq!(piped.end(), "");
    }
}

/// As above: one of three has to end.
#[test]
fn an_output_that_is_closed_while_the_input_is_silent_ends_the_run() {
    let text = related(1, 3);
    let folder = Folder::with("a.svm", &text);
    folder.output("learn a.svm --quiet --model old.cog");
    for line in ["learn - --quiet --overwrite --model m.cog --trace -", "predict - --model old.cog --json"] {
        let ended = (0..3).any(|_| {
            let mut piped = Piped::start(&folder, line);
            piped.send(text.lines().next().unwrap());
            assert!(piped.receive().starts_with('{'));
            let Piped { mut running, input, output } = piped;
            drop(output);
            let Some(status) = running.ended_within(Duration::from_secs(10)) else { return false };
            assert_eq!(status.code(), Some(0));
            drop(input);
            true
        });
        assert!(ended, "{line}: it waits for another line");
    }
    assert_eq!(examples(&folder, "m.cog"), 1);
}
