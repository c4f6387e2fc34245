//! Why is a request refused? A status, a code for programs, a message for people, the place in the body, and a way out.

use cognate::stream::{Problem, TableError};
use cognate::{ConfigError, Hint, RunError, StreamError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::hints::advice;

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The body or the address is not what it has to be.
    Malformed,
    /// No token, or one that nobody knows.
    Unauthorized,
    /// The token is for something else.
    Forbidden,
    /// It is not there, or not yours.
    NotFound,
    /// This address is asked in another way.
    MethodNotAllowed,
    /// The body did not come in time.
    Timeout,
    /// It contradicts what is there.
    Conflict,
    /// The body has too many bytes.
    TooLarge,
    /// The body is of another kind.
    UnsupportedMedia,
    /// Something in it is out of range.
    OutOfRange,
    /// Too much is asked at once.
    TooMany,
    /// The server is broken.
    Internal,
    /// Not at present.
    Unavailable,
}

impl Code {
    /// The status of HTTP.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Timeout => 408,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::UnsupportedMedia => 415,
            Self::OutOfRange => 422,
            Self::TooMany => 429,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    /// The code that programs read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Timeout => "timeout",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::UnsupportedMedia => "unsupported_media_type",
            Self::OutOfRange => "out_of_range",
            Self::TooMany => "too_many_requests",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub code: Code,
    /// What was found, what was expected.
    pub message: String,
    /// The place in the body, as in `examples[3].features`.
    pub path: Option<String>,
    /// A way out.
    pub hint: Option<String>,
    /// Seconds after which it may be tried again.
    pub retry_after: Option<u64>,
}

impl Failure {
    /// A refusal with its message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let retry_after = matches!(code, Code::TooMany).then_some(1);
        Self { code, message: message.into(), path: None, hint: None, retry_after }
    }

    /// The same with its place in the body.
    #[must_use]
    pub fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// The same with a way out.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What is not there, and what is not yours.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "there is nothing here by this name, or it is not yours")
    }

    /// Learning has stopped.
    pub fn stopped(cause: &str) -> Self {
        Self::new(Code::Unavailable, format!("learning has stopped: {cause}")).hint(
            "predictions go on; the cause is also in /readyz; a restart recovers all that was acknowledged",
        )
    }

    fn library_hint(self, hint: Option<Hint>) -> Self {
        let hint = hint.and_then(advice).map(str::to_owned);
        Self { hint, ..self }
    }

    /// What is wrong with an example.
    pub fn of_problem(at: usize, problem: &Problem) -> Self {
        Self::new(Code::OutOfRange, problem.to_string())
            .at(format!("examples[{at}]{}", place_of(problem)))
            .library_hint(problem.hint())
    }

    /// Why examples were not learnt; `rounds` is how many were learnt before.
    pub fn of_run(error: &RunError, rounds: u64) -> Self {
        match error {
            RunError::Stream(error) => Self::of_stream(error),
            RunError::Unfit { round, why, .. } => {
                let at = round.saturating_sub(rounds + 1);
                let failure = Self::new(Code::OutOfRange, why.to_string());
                failure.at(format!("examples[{at}].label")).library_hint(error.hint())
            }
            RunError::Diverged { .. } | RunError::Overflow { .. } => {
                Self::new(Code::Unavailable, error.to_string()).library_hint(error.hint())
            }
            other => Self::new(Code::OutOfRange, other.to_string()).library_hint(other.hint()),
        }
    }

    /// Why examples were not taken, or not predicted.
    pub fn of_stream(error: &StreamError) -> Self {
        match error {
            StreamError::Table(TableError::Row { row, problem }) => Self::of_problem(*row, problem),
            other => Self::new(Code::OutOfRange, other.to_string()).library_hint(other.hint()),
        }
    }

    /// What is wrong with a config: every problem, the first one with its place.
    pub fn of_config(error: &ConfigError) -> Self {
        let failure = Self::new(Code::OutOfRange, error.to_string());
        match error.problems.first() {
            Some(problem) => failure.at(problem.path.clone()),
            None => failure,
        }
    }

    /// As it is sent.
    pub fn body(&self) -> ErrorAnswer {
        ErrorAnswer {
            error: ErrorBody {
                code: self.code.name().to_owned(),
                message: self.message.clone(),
                path: self.path.clone(),
                hint: self.hint.clone(),
            },
        }
    }
}

/// The key of an example that a problem is about.
fn place_of(problem: &Problem) -> &'static str {
    match problem {
        Problem::Label { .. }
        | Problem::RealLabel { .. }
        | Problem::Unfit(_)
        | Problem::MixedLabels { .. }
        | Problem::NoLabel { .. } => ".label",
        Problem::Weight { .. } => ".weight",
        Problem::Offset { .. } => ".offset",
        Problem::Time { .. } => ".time",
        Problem::Id { .. } => ".id",
        Problem::TaskName { .. } | Problem::UnknownTask { .. } => ".task",
        _ => ".features",
    }
}

/// An error as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorAnswer {
    /// The error
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// What kind of error, for programs
    pub code: String,
    /// What was found, and what was expected
    pub message: String,
    /// Where in the body, as in `examples[3].features`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A way out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
