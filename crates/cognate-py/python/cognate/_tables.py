"""Tables for the native side: the parts of a sparse matrix, a dense array, or columns.

What fits is not copied: CSR matrices and dense arrays of float32 or float64, and columns of such numbers. Whatever else scikit-learn
takes is converted once: other numbers to float64, other layouts to rows in one piece, texts to positions among those that occur.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ._columns import column_of, is_text
from .errors import DataError, UnsortedError

#: What X may be, for error messages.
EXPECTED = "a sparse matrix, an array of two dimensions, a frame, an Arrow table, or a list of dictionaries"

T = TypeVar("T")


def is_rows(X: Any) -> bool:
    """Whether X is a list of examples rather than a table."""
    return isinstance(X, list) and len(X) > 0 and isinstance(X[0], dict | tuple) and not _is_numbers(X[0])


def _is_numbers(row: Any) -> bool:
    return isinstance(row, tuple) and all(np.isscalar(entry) for entry in row)


def with_table(X: Any, use: Callable[[Any], T]) -> T:
    """Does something with X as the native side takes it; sparse rows that are out of order are sorted, once."""
    try:
        return use(table(X))
    except UnsortedError:
        if not hasattr(X, "tocsr"):
            raise
        from scipy.sparse import csr_matrix

        rows = X.tocsr()
        # What the matrix remembers of its order may be wrong: it is made anew.
        ordered = csr_matrix((rows.data.copy(), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape)
        ordered.sum_duplicates()
        return use(table(ordered))


def table(X: Any) -> Any:
    """X as the native side takes it."""
    if hasattr(X, "indptr") or hasattr(X, "tocsr"):
        return _sparse(X)
    if isinstance(X, np.ndarray):
        return _dense(np.asarray(X.filled(np.nan) if np.ma.isMaskedArray(X) and X.dtype.kind == "f" else X))
    if isinstance(X, list | tuple):
        try:
            return np.ascontiguousarray(X, dtype=np.float64).reshape(len(X), -1) if len(X) else np.empty((0, 0))
        except (TypeError, ValueError) as error:
            raise DataError(f"X: {error}; expected {EXPECTED}") from None
    names, columns = frame_columns(X)
    if columns is None:
        raise DataError(f"X: found {type(X).__name__}; expected {EXPECTED}")
    return _frame(names, columns)


def rows_of(X: Any) -> int:
    """Number of rows of X."""
    return X.shape[0] if hasattr(X, "shape") else X.num_rows if hasattr(X, "num_rows") else len(X)


def _sparse(X: Any) -> Any:
    if len(X.shape) != 2:
        raise DataError(f"X: found {len(X.shape)} dimensions; expected 2")
    if getattr(X, "format", None) != "csr":
        if not hasattr(X, "tocsr"):
            raise DataError(f"X: found {type(X).__name__}; expected {EXPECTED}")
        X = X.tocsr()
    return (_whole(X.indptr), _whole(X.indices), numbers(X.data, "X"), X.shape[1])


def _whole(indices: Any) -> Any:
    """Indices in 32 or 64 bits."""
    if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu" and indices.dtype not in (np.int32, np.int64):
        if indices.size and indices.max() > np.iinfo(np.int64).max:
            raise DataError(f"X: found the index {indices.max()}; expected one that fits in 64 bits")
        return indices.astype(np.int64)
    return np.ascontiguousarray(indices) if isinstance(indices, np.ndarray) and indices.ndim == 1 else indices


def _dense(X: np.ndarray) -> Any:
    if X.ndim != 2:
        ways = "; X.reshape(1, -1) makes it one row, X.reshape(-1, 1) one column" if X.ndim == 1 else ""
        raise DataError(f"X: found an array of {X.dtype} with {X.ndim} dimensions; expected two{ways}")
    if X.dtype.kind == "O":
        return np.column_stack([column_of(X[:, at], f"{at}", texts=False) for at in range(X.shape[1])]) if X.size else X.astype(float)
    if X.dtype in (np.float32, np.float64) and X.dtype.isnative:
        # An array in Fortran order is a list of contiguous columns.
        if X.flags.f_contiguous and not X.flags.c_contiguous:
            return [X[:, at] for at in range(X.shape[1])]
        return np.ascontiguousarray(X)
    return np.ascontiguousarray(numbers(X, "X"))


def numbers(values: Any, what: str) -> Any:
    """Numbers in 32 or 64 bits."""
    if not isinstance(values, np.ndarray) or (values.dtype in (np.float32, np.float64) and values.dtype.isnative):
        return values
    if values.dtype.kind in "iubf":
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    raise DataError(f"{what}: found an array of {values.dtype}; expected numbers")


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


def frame_columns(X: Any) -> tuple[list[Any], list[Any] | None]:
    """The names and the columns of a pandas, polars or Arrow frame; None for the columns if X is not a frame."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return list(X.columns), [X.iloc[:, at] for at in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.columns), list(X.get_columns())
    if hasattr(X, "columns") and hasattr(X, "schema") and hasattr(X, "num_rows"):
        return list(X.schema.names), list(X.columns)
    if hasattr(X, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            raise DataError(f"X: {type(X).__name__} is read by Arrow's interface; pip install pyarrow") from None
        arrow = pyarrow.table(X)
        return list(arrow.schema.names), list(arrow.columns)
    return [], None


def _frame(names: list[Any], columns: list[Any]) -> Any:
    texts = [name for name in names if isinstance(name, str)]
    if texts and len(texts) < len(names):
        other = next(name for name in names if not isinstance(name, str))
        raise DataError(f"X: found the column names {texts[0]!r} and {other!r}; expected all to be texts, or none")
    if not texts:
        return [column_of(column, f"{at}", texts=False) for at, column in enumerate(columns)]
    converted = [column_of(column, name, texts=True) for name, column in zip(names, columns, strict=True)]
    return (texts, converted, len(columns[0]))


def labels(y: Any) -> tuple[Any, list[str] | None, bool]:
    """Labels as the native side takes them; the names that they are positions of, if they are texts; whether they are bools."""
    array = _array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        # A column, as of a frame.
        array = array[:, 0]
    if array.dtype.kind == "O":
        array = _of_objects(array)
    if array.dtype.kind == "b":
        return array.astype(np.float64), None, True
    if array.dtype.kind in "UST" or is_text(array.dtype):
        if array.ndim != 1:
            raise DataError(f"y: found an array of {array.dtype} with {array.ndim} dimensions; expected one")
        found, codes = np.unique(array.astype(str), return_inverse=True)
        if len(found) > 2:
            shown = ", ".join(repr(str(name)) for name in found[:5]) + (", …" if len(found) > 5 else "")
            raise DataError(f"y: found the labels {shown}; expected two (`CognateClassifier` takes more)")
        return codes.astype(np.float64), [str(name) for name in found], False
    if array.dtype.kind in "iuf":
        return np.ascontiguousarray(numbers(array, "y")) if array.ndim == 1 else array, None, False
    return array, None, False


def _array(y: Any) -> np.ndarray:
    """Labels as an array; pandas' nullable types by what they hold."""
    try:
        return np.asarray(y)
    except (TypeError, ValueError) as error:
        raise DataError(f"y: {error}; expected one label per row") from None


def _of_objects(array: np.ndarray) -> np.ndarray:
    if array.ndim != 1:
        return array
    missing = [at for at, label in enumerate(array) if label is None or label is not label or str(label) == "<NA>"]
    if missing:
        raise DataError(f"y: row {missing[0]} has no label")
    kinds = {bool if isinstance(label, bool | np.bool_) else str if isinstance(label, str) else float for label in array}
    if len(kinds) != 1:
        if array.size == 0:
            return array.astype(np.float64)
        raise DataError("y: found labels of several kinds; expected numbers, bools or texts")
    try:
        return array.astype(kinds.pop())
    except (TypeError, ValueError) as error:
        raise DataError(f"y: {error}; expected numbers, bools or texts") from None


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
    if array.dtype.kind == "f":
        return _whole_tasks(array)
    if array.dtype.kind == "i":
        native = array.dtype.itemsize in (4, 8) and array.dtype.isnative
        return np.ascontiguousarray(array) if native else array.astype(np.int64)
    if array.dtype.kind == "u":
        return array.astype(np.int64) if array.size == 0 or array.max() < 2**63 else array.tolist()
    return array.tolist()


def _whole_tasks(array: np.ndarray) -> np.ndarray:
    """Numbers of tasks that went through an array of floats."""
    array = array.astype(np.float64)
    odd = np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)))
    if odd.size:
        raise DataError(f"tasks: row {odd[0]} has {array[odd[0]]}; expected a name or a whole number")
    return array.astype(np.int64)
