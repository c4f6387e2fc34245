//! The errors of this crate, one type per boundary.

use std::fmt;
use std::path::PathBuf;

use crate::hint::Hint;
use crate::readable::readable;

/// One thing wrong with a config: where and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Dotted path of the parameter, as in `learner.perceptron.interaction.coupled.b`.
    pub path: String,
    /// What was found and what was expected.
    pub message: String,
}

impl ConfigProblem {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The same problem, with its path seen from one level further out.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.path = if self.path.is_empty() { outer.to_owned() } else { format!("{outer}.{}", self.path) };
        self
    }
}

/// Everything that is wrong with a config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The problems, at least one.
    pub problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// An error if there are problems.
    pub(crate) fn check(problems: Vec<ConfigProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// The same error, with paths seen from one level further out.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.problems = self.problems.into_iter().map(|problem| problem.within(outer)).collect();
        self
    }
}

impl From<ConfigProblem> for ConfigError {
    fn from(problem: ConfigProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{}: {}", problem.path, problem.message)?;
        }
        Ok(())
    }
}

/// A name that no task has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no task is called {name:?}; nearest: {}", readable(&nearest.join(", ")))]
#[non_exhaustive]
pub struct UnknownTask {
    /// The name.
    pub name: String,
    /// Names of tasks, nearest first.
    pub nearest: Vec<String>,
}

/// Saved state that contradicts itself or its config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StateError(String);

impl StateError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Why a model file was not written or not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file could not be opened, read, written, synced or renamed.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Another program writes the model.
    #[error("{}: another program is writing this model; it holds the lock {}", path.display(), lock.display())]
    Locked {
        /// The model.
        path: PathBuf,
        /// The file that is locked.
        lock: PathBuf,
    },
    /// Not a model file at all.
    #[error("not a cognate model: it does not begin with the magic bytes `COGNATE`")]
    Foreign,
    /// Written by a later version.
    #[error("the model has format version {found}; this program reads versions 1 to {known}")]
    Version {
        /// Version of the file.
        found: u32,
        /// Latest version that this library reads.
        known: u32,
    },
    /// Shorter than it says it is.
    #[error("the model is cut off: {found} bytes of {expected}")]
    Truncated {
        /// Bytes there are.
        found: u64,
        /// Bytes there should be, as far as can be told.
        expected: u64,
    },
    /// Longer than it says it is.
    #[error("the model has {extra} bytes after its end")]
    Trailing {
        /// How many.
        extra: u64,
    },
    /// A checksum does not match.
    #[error("the model's {part} is damaged: its checksum is {found:08x}, expected {expected:08x}")]
    Damaged {
        /// Which part.
        part: &'static str,
        /// Checksum of the bytes.
        found: u32,
        /// Checksum in the file.
        expected: u32,
    },
    /// The parts are whole but do not fit together.
    #[error("the model contradicts itself: {0}")]
    Inconsistent(String),
    /// What was to be saved would not load again; nothing was written.
    #[error("the model was not saved, because it would not load again: {reason}")]
    Unloadable {
        /// What loading it says.
        reason: String,
    },
}

impl SnapshotError {
    /// A way out, if one is known.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Unloadable { .. } => Some(Hint::Scale),
            Self::Locked { .. } => Some(Hint::OtherWriter),
            _ => None,
        }
    }

    /// The same error, found in what was to be saved.
    pub(crate) fn before_saving(self) -> Self {
        Self::Unloadable {
            reason: match self {
                Self::Inconsistent(reason) => reason,
                other => other.to_string(),
            },
        }
    }
}

impl From<StateError> for SnapshotError {
    fn from(error: StateError) -> Self {
        Self::Inconsistent(error.0)
    }
}
