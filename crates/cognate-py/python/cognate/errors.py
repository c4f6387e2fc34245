"""What can go wrong, one class a boundary; each is also the built-in exception that a caller would expect."""


class CognateError(Exception):
    """Everything that cognate raises on purpose."""


class ConfigError(CognateError, ValueError):
    """A learner or a parameter that does not exist, or is out of range. Names every problem with its path."""


class DataError(CognateError, ValueError):
    """Features, labels or tasks that cannot be such: arrays, dictionaries, or lines of a file, with their place."""


class FileError(CognateError, OSError):
    """A file that cannot be read or written."""


class FitError(CognateError, ValueError):
    """Examples that a batch learner cannot be fitted to."""


class RunError(CognateError, ValueError):
    """A run that cannot go on: numbers beyond all bounds, too many tasks for the learner."""


class SnapshotError(CognateError, ValueError):
    """A model that is foreign, damaged, cut off, or of a later version."""
