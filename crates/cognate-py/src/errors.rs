//! Errors of the library as Python exceptions; the classes are in `python/cognate/errors.py`.

use cognate::InteractionFileError;
use cognate::fit::FitError;
use cognate::model::{ContributionError, OpenError};
use cognate::stream::TableError;
use cognate::{ConfigError, Hint, NamedColumn, RunError, SnapshotError, StreamError, UnknownTask};
use pyo3::prelude::*;

mod classes {
    use pyo3::import_exception;

    import_exception!(cognate.errors, ConfigError);
    import_exception!(cognate.errors, DataError);
    import_exception!(cognate.errors, FileError);
    import_exception!(cognate.errors, FitError);
    import_exception!(cognate.errors, RunError);
    import_exception!(cognate.errors, SnapshotError);
    import_exception!(cognate.errors, UnsortedError);
}

/// An error that Python knows.
pub(crate) trait Raised {
    /// The exception.
    fn raised(self) -> PyErr;
}

/// A problem with data, by its message.
pub(crate) fn data_error(message: impl Into<String>) -> PyErr {
    classes::DataError::new_err(message.into())
}

/// A problem with a config, by its message.
pub(crate) fn config_error(message: impl Into<String>) -> PyErr {
    classes::ConfigError::new_err(message.into())
}

impl Raised for ConfigError {
    fn raised(self) -> PyErr {
        config_error(self.to_string())
    }
}

impl Raised for UnknownTask {
    fn raised(self) -> PyErr {
        data_error(self.to_string())
    }
}

impl Raised for OpenError {
    fn raised(self) -> PyErr {
        match self {
            Self::Config(error) => error.raised(),
            Self::Stream(error) => error.raised(),
            other => data_error(other.to_string()),
        }
    }
}

impl Raised for TableError {
    fn raised(self) -> PyErr {
        if matches!(self, Self::Order { .. }) {
            return classes::UnsortedError::new_err(self.to_string());
        }
        let hint = StreamError::from(self.clone()).hint();
        data_error(advised(&self, hint))
    }
}

impl Raised for InteractionFileError {
    fn raised(self) -> PyErr {
        classes::FileError::new_err(self.to_string())
    }
}

impl Raised for StreamError {
    fn raised(self) -> PyErr {
        match &self {
            Self::Io { .. } => classes::FileError::new_err(self.to_string()),
            Self::Table(error @ TableError::Order { .. }) => error.clone().raised(),
            _ => data_error(advised(&self, self.hint())),
        }
    }
}

/// A message with the way out, in keywords of the package.
fn advised(error: &dyn std::fmt::Display, hint: Option<Hint>) -> String {
    match hint.and_then(advice) {
        Some(advice) => format!("{error} ({advice})"),
        None => error.to_string(),
    }
}

/// What to do about an error.
fn advice(hint: Hint) -> Option<&'static str> {
    Some(match hint {
        Hint::LooksLikeVw => "this looks like Vowpal Wabbit's format: stream={\"format\": \"vw\"}",
        Hint::LooksLikeCsv => "this looks like CSV: stream={\"format\": \"csv\"}",
        Hint::LooksLikeJsonl | Hint::JsonlForCsv => "this looks like JSON: stream={\"format\": \"jsonl\"}",
        Hint::CountFromOne => "indices count from 1; the file seems to count from 0",
        Hint::DeclareTasks => "name them all with `tasks`, or leave `tasks` out to add them as they occur",
        Hint::DeclareClasses => "if so many classes are meant, declare their number with `tasks`",
        Hint::NamePositive => "if labels are two names, stream={\"positive\": NAME} says which of them is +1",
        Hint::SpellPositive => "stream={\"positive\": NAME} is spelt as in the data",
        Hint::TwoLabels => {
            "the loss is for numbers; for two label names leave it out, and stream={\"positive\": NAME} says which is +1"
        }
        Hint::ModelLabels => {
            "labels are called as in the data that the model was learnt from; examples without labels are predicted as well"
        }
        Hint::WholeLabels => {
            "two texts are labels as well, and `CognateClassifier` takes any classes; numbers to be predicted need a loss for \
             them: `squares`, `absolute`, `quantile` or `poisson`; or `fit`"
        }
        Hint::RealLabels => {
            "labels that are real numbers need a loss for them: `squares`, `absolute`, `quantile` or `poisson`; or `fit`"
        }
        Hint::NameKeys => {
            "name the keys, or those to ignore, e.g. stream={\"format\": {\"jsonl\": {\"ignore\": [NAME]}}}"
        }
        Hint::OnlyCommas => {
            "something else than a comma seems to separate the columns: \
             stream={\"format\": {\"csv\": {\"separator\": \";\"}}}"
        }
        Hint::OtherSeparator => {
            "something else seems to separate the columns than was said, or than in the data that the model was learnt from: \
             stream={\"format\": {\"csv\": {\"separator\": \",\"}}}"
        }
        Hint::ModelColumns => "columns are called as in the data that the model was learnt from",
        Hint::DecimalPoint => {
            "write numbers with a point and nothing between thousands; name columns of texts in `categorical`"
        }
        Hint::NameTimes => {
            "give `time` with every example; `forget` as a number forgets by the number of examples"
        }
        Hint::NameColumns => {
            "stream={\"format\": {\"csv\": {\"label_column\": …, \"task_column\": …}}} names the columns"
        }
        Hint::SpellColumn(column) => match column {
            NamedColumn::Weight => "`weight-column` is spelt as in the header",
            NamedColumn::Id => "`id-column` is spelt as in the header",
            NamedColumn::Time => "`time-column` is spelt as in the header",
            NamedColumn::Offset => "`offset-column` is spelt as in the header",
            NamedColumn::Ignored => "names in `ignore` are spelt as in the header",
            NamedColumn::Categorical => "names in `categorical` are spelt as in the header",
            _ => return None,
        },
        Hint::Categorical => {
            "leave a missing cell empty; name columns of texts that may look like numbers in `categorical`"
        }
        Hint::OpenFeatures => "leave `features` out to add them as they occur",
        Hint::AddUp => "add the values up, or give each feature its own name",
        Hint::NotSimultaneous => "leave `simultaneous` out to learn one example per round",
        Hint::LabelRounds => "label it, or leave `simultaneous` out to learn one example per round",
        Hint::Scale => {
            "scale the examples, stream={\"normalize\": \"l2\"} or {\"clip\": …}, or choose smaller parameters"
        }
        Hint::LearnScaled => {
            "learn a model with stream={\"normalize\": \"l2\"} or {\"clip\": …}: it scales what it predicts as well"
        }
        Hint::Weights => {
            "choose a learner that takes weights, see \"weights\" in `cognate.algorithms()`, or leave the weights out"
        }
        Hint::Offsets => {
            "choose a learner that takes offsets, see \"offsets\" in `cognate.algorithms()`, or leave the offsets out"
        }
        Hint::Fit => "call `fit`",
        Hint::Supports => "`cognate inspect --supports` lists the examples that it keeps",
        _ => return None,
    })
}

impl Raised for ContributionError {
    fn raised(self) -> PyErr {
        match self {
            Self::Stream(error) => error.raised(),
            other => data_error(other.to_string()),
        }
    }
}

impl Raised for RunError {
    fn raised(self) -> PyErr {
        match self {
            Self::Stream(error) => error.raised(),
            Self::Unfit { .. } => data_error(self.to_string()),
            other => classes::RunError::new_err(advised(&other, other.hint())),
        }
    }
}

impl Raised for FitError {
    fn raised(self) -> PyErr {
        match self {
            Self::Config(error) => error.raised(),
            Self::Stream(error) => error.raised(),
            other => classes::FitError::new_err(advised(&other, other.hint())),
        }
    }
}

impl Raised for SnapshotError {
    fn raised(self) -> PyErr {
        match &self {
            Self::Io { .. } => classes::FileError::new_err(self.to_string()),
            _ => classes::SnapshotError::new_err(advised(&self, self.hint())),
        }
    }
}
