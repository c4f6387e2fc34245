"""Learns many related tasks from one stream, and how they are related.

`Learner` learns example by example or table by table; `progressive` reports its progress. `CognateClassifier`,
`ConvexMultitaskClassifier` and `ConvexMultitaskRegressor` are estimators for scikit-learn, if it is installed.
`algorithms()` lists the learners.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import CognateError, ConfigError, DataError, FileError, FitError, RunError, SnapshotError
from .learner import Learner
from .progress import Progress, progressive

if TYPE_CHECKING:
    from .estimators import CognateClassifier, ConvexMultitask, ConvexMultitaskClassifier, ConvexMultitaskRegressor

_ESTIMATORS = ["CognateClassifier", "ConvexMultitask", "ConvexMultitaskClassifier", "ConvexMultitaskRegressor"]

__all__ = [
    "CognateClassifier",
    "CognateError",
    "ConfigError",
    "ConvexMultitask",
    "ConvexMultitaskClassifier",
    "ConvexMultitaskRegressor",
    "DataError",
    "FileError",
    "FitError",
    "Learner",
    "Progress",
    "RunError",
    "SnapshotError",
    "algorithms",
    "progressive",
    "schema",
]


def algorithms() -> list[dict[str, Any]]:
    """Every learner: id, title, paper, protocol, costs, parameters with their defaults.

    >>> import cognate
    >>> [about["id"] for about in cognate.algorithms()][:2]
    ['adaptive', 'perceptron']
    """
    return json.loads(_native.algorithms())


def schema() -> dict[str, Any]:
    """The JSON schema of a config, with a description of every parameter."""
    return json.loads(_native.schema())


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and need not be installed.
    if name in _ESTIMATORS:
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
