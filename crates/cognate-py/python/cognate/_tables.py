"""Tables for the native side: the parts of a sparse matrix, a dense array, or columns, without copying them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DataError

#: What X may be, for error messages.
EXPECTED = "a CSR matrix, an array of two dimensions, a frame, an Arrow table, or a list of dictionaries"


def is_rows(X: Any) -> bool:
    """Whether X is a list of examples rather than a table."""
    return isinstance(X, list) and len(X) > 0 and isinstance(X[0], dict | tuple) and not _is_numbers(X[0])


def _is_numbers(row: Any) -> bool:
    return isinstance(row, tuple) and all(np.isscalar(entry) for entry in row)


def table(X: Any) -> Any:
    """X as the native side takes it."""
    if hasattr(X, "indptr"):
        if getattr(X, "format", None) != "csr":
            raise DataError(f"X: found {type(X).__name__}; X.tocsr() makes it one of sparse rows")
        if len(X.shape) != 2:
            raise DataError(f"X: found {len(X.shape)} dimensions; expected 2")
        return (X.indptr, X.indices, X.data, X.shape[1])
    if hasattr(X, "tocsr"):
        raise DataError(f"X: found {type(X).__name__}; X.tocsr() makes it one of sparse rows")
    if isinstance(X, np.ndarray):
        return _dense(X)
    if isinstance(X, list | tuple):
        try:
            return np.ascontiguousarray(X, dtype=np.float64).reshape(len(X), -1) if len(X) else np.empty((0, 0))
        except (TypeError, ValueError) as error:
            raise DataError(f"X: {error}; expected {EXPECTED}") from None
    columns = frame_columns(X)
    if columns is None:
        raise DataError(f"X: found {type(X).__name__}; expected {EXPECTED}")
    return [_column(column, at) for at, column in enumerate(columns)]


def _dense(X: np.ndarray) -> Any:
    # An array in Fortran order is a list of contiguous columns.
    if X.ndim == 2 and X.flags.f_contiguous and not X.flags.c_contiguous:
        return [X[:, at] for at in range(X.shape[1])]
    return X


def weights(sample_weight: Any) -> np.ndarray | None:
    """Weights of rows as the native side takes them; None if there are none."""
    if sample_weight is None:
        return None
    try:
        found = np.ascontiguousarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight: {error}; expected one number per row") from None
    if found.ndim != 1:
        raise DataError(f"sample_weight: found {found.ndim} dimensions; expected 1")
    return found


def frame_columns(X: Any) -> list[Any] | None:
    """The columns of a pandas, polars or Arrow frame; None if X is not a frame."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return [X.iloc[:, at] for at in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    if hasattr(X, "columns") and hasattr(X, "schema") and hasattr(X, "num_rows"):
        return list(X.columns)
    if hasattr(X, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            raise DataError(f"X: {type(X).__name__} is read by Arrow's interface; pip install pyarrow") from None
        return list(pyarrow.table(X).columns)
    return None


def _column(column: Any, at: int) -> np.ndarray:
    values = column.to_numpy(zero_copy_only=False) if _is_arrow_array(column) else column.to_numpy()
    # Only columns of integers or booleans are copied.
    return values.astype(np.float64) if values.dtype.kind in "iub" else values


def _is_arrow_array(column: Any) -> bool:
    return hasattr(column, "null_count") and hasattr(column, "buffers") and not hasattr(column, "chunks")


def labels(y: Any) -> Any:
    """Labels as the native side takes them."""
    array = np.asarray(y)
    return array.astype(np.float64) if array.dtype.kind in "iub" else array


def tasks_of(tasks: Any) -> Any:
    """Tasks as the native side takes them: none, one, an array of numbers, or a list."""
    if tasks is None or isinstance(tasks, str | int | np.integer):
        return tasks
    if isinstance(tasks, list | tuple):
        return list(tasks)
    array = np.asarray(tasks)
    if array.ndim == 0:
        return array.item()
    if array.ndim != 1:
        raise DataError(f"tasks: found {array.ndim} dimensions; expected 1")
    if array.dtype.kind == "i":
        return array if array.dtype.itemsize in (4, 8) else array.astype(np.int64)
    if array.dtype.kind == "u":
        return array.astype(np.int64) if array.size == 0 or array.max() < 2**63 else array.tolist()
    return array.tolist()
