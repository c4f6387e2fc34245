//! Errors of the library as Python exceptions; the classes are in `python/cognate/errors.py`.

use cognate::fit::FitError;
use cognate::interaction::InteractionFileError;
use cognate::stream::TableError;
use cognate::{ConfigError, RunError, SnapshotError, StreamError};
use pyo3::prelude::*;

mod classes {
    use pyo3::import_exception;

    import_exception!(cognate.errors, ConfigError);
    import_exception!(cognate.errors, DataError);
    import_exception!(cognate.errors, FileError);
    import_exception!(cognate.errors, FitError);
    import_exception!(cognate.errors, RunError);
    import_exception!(cognate.errors, SnapshotError);
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

impl Raised for TableError {
    fn raised(self) -> PyErr {
        data_error(self.to_string())
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
            _ => data_error(self.to_string()),
        }
    }
}

impl Raised for RunError {
    fn raised(self) -> PyErr {
        match self {
            Self::Stream(error) => error.raised(),
            other => classes::RunError::new_err(other.to_string()),
        }
    }
}

impl Raised for FitError {
    fn raised(self) -> PyErr {
        match self {
            Self::Config(error) => error.raised(),
            Self::Stream(error) => error.raised(),
            other => classes::FitError::new_err(other.to_string()),
        }
    }
}

impl Raised for SnapshotError {
    fn raised(self) -> PyErr {
        match &self {
            Self::Io { .. } => classes::FileError::new_err(self.to_string()),
            _ => classes::SnapshotError::new_err(self.to_string()),
        }
    }
}
