"""Learns many related tasks from one stream, and how they are related.

`Learner` learns example by example or table by table; `progressive` reports its progress. `CognateClassifier`,
`CognateRegressor`, `ConvexMultitaskClassifier` and `ConvexMultitaskRegressor` are estimators for scikit-learn, if it is
installed, and `cognate.river` has those for River. `algorithms()` lists the learners. `Client` learns and predicts with a model
of a running `cognate serve`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _native
from .client import Client, Labelled, Learned, Prediction, ServerError, ServerUnreachable
from .errors import CognateError, ConfigError, DataError, FileError, FitError, RunError, SnapshotError
from .explanation import Contribution, Explanation
from .learner import Learner
from .progress import Progress, progressive

if TYPE_CHECKING:
    from .estimators import (
        CognateClassifier,
        CognateRegressor,
        ConvexMultitask,
        ConvexMultitaskClassifier,
        ConvexMultitaskRegressor,
    )

_ESTIMATORS = [
    "CognateClassifier",
    "CognateRegressor",
    "ConvexMultitask",
    "ConvexMultitaskClassifier",
    "ConvexMultitaskRegressor",
]

__version__ = _native.version()

__all__ = [
    "CognateClassifier",
    "Client",
    "CognateError",
    "CognateRegressor",
    "ConfigError",
    "Contribution",
    "ConvexMultitask",
    "ConvexMultitaskClassifier",
    "ConvexMultitaskRegressor",
    "DataError",
    "Explanation",
    "FileError",
    "FitError",
    "Labelled",
    "Learned",
    "Learner",
    "Prediction",
    "Progress",
    "RunError",
    "ServerError",
    "ServerUnreachable",
    "SnapshotError",
    "__version__",
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
