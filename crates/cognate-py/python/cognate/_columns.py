"""Columns of frames: numbers as floats, texts as positions among those that occur; a missing cell is NaN, or -1."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DataError


def column_of(column: Any, name: str, *, texts: bool) -> Any:
    """A column as the native side takes it: numbers, or a pair of codes and texts. `texts` says whether texts may be."""
    if _is_arrow(column):
        found = _arrow(column)
    elif hasattr(column, "get_columns") or type(column).__module__.startswith("polars"):
        found = _polars(column)
    elif isinstance(column, np.ndarray):
        found = column
    else:
        found = _pandas(column)
    if isinstance(found, np.ndarray):
        found = _numbers_or_objects(found, name)
    if isinstance(found, tuple) and not texts:
        shown = found[1][0] if found[1] else None
        raise DataError(f"column {name} of X: found {shown!r}; expected numbers, or give columns names to hold texts")
    return found


def is_text(dtype: Any) -> bool:
    """Whether a NumPy dtype holds texts, fixed or of any length."""
    return dtype.kind in "UT" or type(dtype).__name__ == "StringDType"


def _numbers_or_objects(values: np.ndarray, name: str) -> Any:
    if values.ndim != 1:
        raise DataError(f'column "{name}" of X: found {values.ndim} dimensions; expected 1')
    if values.dtype in (np.float32, np.float64) and values.dtype.isnative:
        return np.ascontiguousarray(values)
    if values.dtype.kind in "iubf":
        return values.astype(np.float64)
    if values.dtype.kind == "O" or is_text(values.dtype):
        return _objects(values.tolist(), name)
    raise DataError(f'column "{name}" of X: found {values.dtype}; expected numbers or texts')


def _objects(values: list[Any], name: str) -> Any:
    """Texts, or numbers among which cells are missing."""
    present = [value for value in values if not is_missing(value)]
    if all(isinstance(value, str) for value in present):
        return factorized(values)
    odd = next((value for value in present if isinstance(value, str)), None)
    if odd is not None:
        raise DataError(f'column "{name}" of X: found {odd!r} among numbers; expected texts, or numbers')
    try:
        return np.array([np.nan if is_missing(value) else float(value) for value in values])
    except (TypeError, ValueError):
        odd = next(value for value in present if not _is_number(value))
        raise DataError(f'column "{name}" of X: found {odd!r}; expected numbers or texts') from None


def is_missing(value: Any) -> bool:
    """Whether a cell is missing: None, NaN, or pandas' NA or NaT."""
    return value is None or value is not value or (not isinstance(value, str) and str(value) in ("<NA>", "NaT", "nan"))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def factorized(values: list[Any]) -> tuple[np.ndarray, list[str]]:
    """The position of every text among those that occur, in the order in which they do; -1 where one is missing."""
    places: dict[str, int] = {}
    codes = [-1 if is_missing(value) else places.setdefault(value, len(places)) for value in values]
    return np.array(codes, dtype=np.int32), list(places)


def _pandas(column: Any) -> Any:
    dtype = column.dtype
    if hasattr(dtype, "categories"):
        return _categories(column.cat.codes.to_numpy(), column.cat.categories)
    if type(dtype).__name__ == "SparseDtype":
        column = column.sparse.to_dense()
        dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return column.to_numpy()
    # Extension types: pandas' nullable numbers and bools, its texts, Arrow's types.
    if getattr(dtype, "_is_numeric", False) or getattr(dtype, "_is_boolean", False):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.array(column.to_numpy(dtype=object), dtype=object)


def _categories(codes: np.ndarray, categories: Any) -> tuple[np.ndarray, list[str]]:
    """Only the categories that occur."""
    used = np.unique(codes[codes >= 0])
    place = np.full(len(categories) + 1, -1, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return place[codes], [str(categories[at]) for at in used]


def _polars(column: Any) -> Any:
    import polars

    dtype = column.dtype
    if dtype.is_numeric() or dtype == polars.Boolean:
        if column.null_count() or not dtype.is_float():
            column = column.cast(polars.Float64).fill_null(float("nan"))
        return column.to_numpy()
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        return factorized(column.cast(polars.String).to_list())
    if dtype == polars.Null:
        return factorized(column.to_list())
    raise DataError(f'column "{column.name}" of X: found {dtype}; expected numbers or texts')


def _is_arrow(column: Any) -> bool:
    return type(column).__module__.startswith("pyarrow")


def _arrow(column: Any) -> Any:
    import pyarrow

    types = pyarrow.types
    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return factorized(column.to_pylist())
    if types.is_boolean(kind) or types.is_float16(kind) or types.is_decimal(kind):
        column = column.cast(pyarrow.float64())
    if hasattr(column, "chunks"):
        return column.to_numpy()
    return column.to_numpy(zero_copy_only=False)
