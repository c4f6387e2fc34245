//! Runs the program in a folder of its own, and checks what every refusal must look like.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_cognate");

/// Longer than any run here may take: a run that hangs fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A temporary folder in which the program runs, so that messages have plain file names.
pub(crate) struct Folder(TempDir);

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// A folder with one file.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        folder.write(name, content);
        folder
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a writable temporary folder");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("UTF-8")
    }

    /// The names of the files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a readable folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The program with these arguments, separated by spaces, to be run in the folder.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::from_std(cognate());
        command.args(line.split_whitespace()).current_dir(self.0.path()).timeout(PATIENCE);
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(&mut self.command(line))
    }

    /// Runs the program with something on its standard input.
    pub(crate) fn run_with_input(&self, line: &str, input: impl Into<Vec<u8>>) -> Ran {
        Ran::of(self.command(line).write_stdin(input))
    }

    /// Runs the program, which must succeed; returns its standard output.
    pub(crate) fn output(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(0), "cognate {line}\n{}", ran.stderr);
        ran.stdout
    }

    /// Runs `learn … --json --quiet`, which must succeed; returns the summary.
    pub(crate) fn summary(&self, line: &str) -> Value {
        serde_json::from_str(&self.output(&format!("learn {line} --json --quiet"))).expect("one JSON value")
    }

    /// Runs the program, which must refuse with exit code 2 and a message that has all these parts.
    pub(crate) fn refused(&self, line: &str, message: &[&str]) -> Ran {
        let ran = self.run(line);
        ran.assert_refused(message);
        ran
    }

    /// Learns a file with this content, which must be refused at a place, given as `line:column`.
    pub(crate) fn refuses_line(content: impl AsRef<[u8]>, place: &str, message: &[&str]) {
        let folder = Self::with("bad.svm", content);
        let ran = folder.refused("learn bad.svm --quiet --model m.cog", message);
        assert!(ran.stderr.starts_with(&format!("error: bad.svm:{place}: ")), "{}", ran.stderr);
        if ran.stderr.contains("the model is saved in m.cog") {
            assert!(!place.starts_with("1:"), "nothing was learnt before the first line");
            assert_eq!(folder.names(), ["bad.svm", "m.cog"]);
            folder.output("inspect m.cog");
        } else {
            assert_eq!(folder.names(), ["bad.svm"], "nothing is left of a run that learnt nothing");
        }
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("the program starts");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Checks for exit code 2, no result on standard output, no panic, and every part of the message.
    pub(crate) fn assert_refused(&self, message: &[&str]) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.stdout, "", "a refused run has no result");
        assert!(self.stderr.contains("error: ") && !self.stderr.contains("panicked"), "{}", self.stderr);
        for part in message {
            assert!(self.stderr.contains(part), "{part:?} is not in\n{}", self.stderr);
        }
    }

    /// Checks for exit code 0 and no panic.
    pub(crate) fn assert_done(&self) {
        assert!(self.code == Some(0) && !self.stderr.contains("panicked"), "{self:?}");
    }
}

/// The program in a test's environment: no colour, lines of 100 characters.
pub(crate) fn cognate() -> std::process::Command {
    let mut command = std::process::Command::new(PROGRAM);
    command.env("COLUMNS", "100");
    for variable in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
        command.env_remove(variable);
    }
    command
}

/// A stream of related tasks, always the same for the same counts: labels are signs of a task's inner product.
pub(crate) fn related(tasks: u64, examples: u64) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    let mut text = String::new();
    for at in 0..examples {
        let task = at % tasks + 1;
        let values: Vec<f64> = (0..6).map(|_| (draw() * 1000.0).round() / 1000.0).collect();
        let own = values[1] * task as f64 / tasks as f64;
        let label = if values[0] + 0.4 * own + 0.1 * draw() > 0.0 { "+1" } else { "-1" };
        write!(text, "{label} qid:{task}").expect("memory");
        for (feature, value) in values.iter().enumerate() {
            write!(text, " {}:{value}", feature + 1).expect("memory");
        }
        text.push('\n');
    }
    text
}

/// The text with times, rates and memory replaced, so that it is the same for every run and machine.
pub(crate) fn redacted(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // A row of the progressive table.
            [error, since, examples, _, "s", _, tasks, ref more @ ..] if error.ends_with('%') => {
                let more = more.join("  ");
                format!("{error:>8} {since:>12} {examples:>12}    [time]       [rate] {tasks:>8}  {more}")
            }
            // The same with labels.
            [error, since, examples, labels, _, "s", _, tasks, ref more @ ..] if error.ends_with('%') => {
                let more = more.join("  ");
                format!(
                    "{error:>8} {since:>12} {examples:>12} {labels:>12}    [time]       [rate] {tasks:>8}  {more}"
                )
            }
            [examples, "examples", "in", ..] if line.contains("peak memory") => {
                format!("{examples} examples in [time] ([rate] per second), peak memory [memory]")
            }
            ["memory", _, "B" | "kB" | "MB"] => "memory    [memory]".to_owned(),
            _ => line.trim_end().to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The number at a path of a JSON value.
pub(crate) fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {path} in {value}"))
}
