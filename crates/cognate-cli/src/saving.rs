//! Saving the model of a run: as it goes, and whatever ends it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use cognate::{Model, RunError, SnapshotError};
use cognate_plot::numbers::count;

use crate::output::say;

/// How often a model is saved as the run goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SaveEvery {
    /// After so many examples.
    Examples(u64),
    /// After so much time.
    Time(Duration),
}

impl FromStr for SaveEvery {
    type Err = String;

    /// `50000`, or `60s`, `10m`, `2h`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a number of examples, or a time like 60s, 10m or 2h".to_owned();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number: u64 = digits.parse().map_err(|_| expected())?;
        let seconds = |each: u64| number.checked_mul(each).map(|all| Self::Time(Duration::from_secs(all)));
        let every = match &text[digits.len()..] {
            "" => Some(Self::Examples(number)),
            "s" => seconds(1),
            "m" => seconds(60),
            "h" => seconds(3600),
            _ => None,
        };
        every.filter(|_| number > 0).ok_or_else(expected)
    }
}

/// What became of the model at the end of a run.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It was not to be saved.
    NotAsked,
    /// It is in its file.
    Saved,
    /// It was not worth saving: nothing was learnt, or nothing that is of use.
    Left,
    /// The input had nothing for a new model to learn.
    Nothing,
    /// It could not be saved.
    Failed(SnapshotError),
}

/// Saves a model when it is due.
pub(crate) struct Saver {
    path: Option<PathBuf>,
    every: Option<SaveEvery>,
    /// Whether the model goes on from another one, which is worth a file even if it learns nothing more.
    goes_on: bool,
    /// Whether there is a model in the file, which one that has learnt nothing must not replace.
    replaces: bool,
    /// Examples seen, and the time, at the last save or attempt.
    last: (u64, Instant),
    /// Examples of this run in the file, once something was saved.
    saved: Option<u64>,
    /// Examples seen before this run.
    before: u64,
    /// Whether a failure was told already.
    warned: bool,
    /// Why the state cannot be saved, which ends the run.
    refused: Option<SnapshotError>,
}

impl Saver {
    /// Starts the clock.
    pub(crate) fn new(path: Option<PathBuf>, goes_on: bool, every: Option<SaveEvery>, model: &Model) -> Self {
        let before = seen(model);
        let last = (before, Instant::now());
        let file = path.as_ref().and_then(|path| std::fs::metadata(path).ok());
        let replaces = file.is_some_and(|meta| meta.len() > 0);
        Self { path, every, goes_on, replaces, last, saved: None, before, warned: false, refused: None }
    }

    /// Whether the model is one that must not replace what is there: it has learnt nothing.
    fn is_nothing(&self, model: &Model) -> bool {
        !self.goes_on && if self.replaces { model.metrics().total().examples == 0 } else { seen(model) == 0 }
    }

    /// After every batch: saves if it is time to, or someone has asked by a signal. A disk may have room again later; a state
    /// that cannot be loaded does not become better, and ends the run.
    pub(crate) fn batch_done(&mut self, model: &Model, asked: bool) -> ControlFlow<()> {
        let due = match self.every {
            None => false,
            Some(SaveEvery::Examples(examples)) => seen(model) - self.last.0 >= examples,
            Some(SaveEvery::Time(time)) => seen(model) > self.last.0 && self.last.1.elapsed() >= time,
        };
        let nothing = seen(model) == self.before || self.is_nothing(model);
        if asked && (self.path.is_none() || nothing) {
            say(match self.path {
                None => "SIGUSR1: nothing is saved, because no file was named for the model (--model OUT)",
                Some(_) => "SIGUSR1: nothing is saved, because nothing was learnt yet",
            });
            return ControlFlow::Continue(());
        }
        let Some(path) = self.path.as_ref().filter(|_| (due || asked) && !nothing) else {
            return ControlFlow::Continue(());
        };
        self.last = (seen(model), Instant::now());
        match model.save(path) {
            Ok(()) => {
                let examples = self.last.0 - self.before;
                (self.saved, self.warned) = (Some(examples), false);
                if asked {
                    let learnt = with(examples);
                    say(&format!(
                        "SIGUSR1: the model is saved in {}, {learnt}; learning goes on",
                        path.display()
                    ));
                }
            }
            Err(error @ SnapshotError::Io { .. }) => {
                if asked || !self.warned {
                    say(&format!("warning: {error}; learning goes on, and it is tried again"));
                }
                self.warned = true;
            }
            Err(error) => {
                self.refused = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// The last save, whatever ended the run; `examples` are those of this run.
    pub(crate) fn finish(&mut self, model: &Model, ended_by: Option<&RunError>, examples: u64) -> Fate {
        let Some(path) = &self.path else { return Fate::NotAsked };
        if let Some(error) = self.refused.take() {
            return Fate::Failed(error);
        }
        match ended_by {
            Some(RunError::Diverged { .. }) => Fate::Left,
            Some(_) if examples == 0 || self.is_nothing(model) => Fate::Left,
            None if self.is_nothing(model) => Fate::Nothing,
            _ => model.save(path).map_or_else(Fate::Failed, |()| Fate::Saved),
        }
    }

    /// What to tell of the model where something else went wrong; `examples` are those of this run.
    pub(crate) fn note(&self, saved: &Fate, examples: u64) -> Option<String> {
        let path = self.path.as_ref()?;
        match (saved, self.saved) {
            (Fate::NotAsked, _) => None,
            (Fate::Saved, _) => Some(format!("the model is saved in {}, {}", path.display(), with(examples))),
            (Fate::Left | Fate::Nothing | Fate::Failed(_), Some(examples)) => {
                Some(format!("{} is that of the last save, {}", path.display(), with(examples)))
            }
            (Fate::Left | Fate::Nothing | Fate::Failed(_), None) => {
                path.exists().then(|| format!("{} is left as it was", path.display()))
            }
        }
    }
}

/// How many examples of this run a model holds.
fn with(examples: u64) -> String {
    let noun = if examples == 1 { "example that was learnt" } else { "examples that were learnt" };
    format!("with the {} {noun}", count(examples))
}

/// Examples over the model's life, labelled or not.
fn seen(model: &Model) -> u64 {
    model.metrics().total().examples + model.metrics().unlabelled()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_examples_or_times() {
        assert_eq!("50000".parse(), Ok(SaveEvery::Examples(50_000)));
        assert_eq!("60s".parse(), Ok(SaveEvery::Time(Duration::from_mins(1))));
        assert_eq!("10m".parse(), Ok(SaveEvery::Time(Duration::from_mins(10))));
        assert_eq!("2h".parse(), Ok(SaveEvery::Time(Duration::from_hours(2))));
        for bad in ["", "0", "0s", "s", "-1", "1.5s", "1d", "1 s", "1s1", "18446744073709551615h"] {
            assert!(bad.parse::<SaveEvery>().is_err(), "{bad}");
        }
    }
}
