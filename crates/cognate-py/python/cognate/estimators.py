"""Estimators for scikit-learn; tasks are a column of X, or are passed beside it."""

from ._batch import ConvexMultitask, ConvexMultitaskClassifier, ConvexMultitaskRegressor
from ._online import CognateClassifier, CognateRegressor

__all__ = [
    "CognateClassifier",
    "CognateRegressor",
    "ConvexMultitask",
    "ConvexMultitaskClassifier",
    "ConvexMultitaskRegressor",
]
