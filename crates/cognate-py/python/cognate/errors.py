"""What can go wrong: one class per boundary, each also the built-in exception that a caller would expect."""


class CognateError(Exception):
    """Base of every exception that cognate raises."""


class ConfigError(CognateError, ValueError):
    """An unknown learner or parameter, or a value out of range. Names every problem with its path."""


class DataError(CognateError, ValueError):
    """Bad features, labels or tasks, in arrays, dictionaries or lines of a file; names the place."""


class FileError(CognateError, OSError):
    """A file that cannot be read or written."""


class FitError(CognateError, ValueError):
    """Examples that a batch learner cannot be fitted to."""


class RunError(CognateError, ValueError):
    """A run that cannot continue: numbers overflow, or there are too many tasks for the learner."""


class SnapshotError(CognateError, ValueError):
    """A model file that is foreign, damaged, truncated, or of a later version."""


class UnsortedError(DataError):
    """Sparse rows whose indices are out of order; what is SciPy's is put in order and tried again."""
