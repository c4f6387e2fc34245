"""Classification into two classes or more: two are one question, more are one question each."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets

from ._base import Multitask
from .learner import Learner


class Classifier(ClassifierMixin, Multitask):
    """Classification; with more than two classes, each is told from all others by a learner of its own."""

    classes_: np.ndarray
    class_weight: str | dict[Any, float] | None

    def _meet_classes(self, y: np.ndarray) -> None:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}; two are needed")

    def _questions(self) -> range:
        """The classes that have a learner: of two only the second."""
        return range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))

    def _check_known(self, y: np.ndarray) -> None:
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(f"y has the class {y[unknown][0]!r}; the classes are {self.classes_.tolist()}")

    def _signs(self, y: np.ndarray, question: int) -> np.ndarray:
        """+1 for one class, -1 for the others."""
        return np.where(y == self.classes_[question], 1.0, -1.0)

    def _stream_of(self, question: int) -> dict[str, Any]:
        """The stream of the learner of a class, with the weights of both answers."""
        stream = self._stream()
        if self.class_weight is not None:
            stream["class-weight"] = self._class_weights(self.class_weight, question)
        return stream

    def _class_weights(self, given: str | dict[Any, float], question: int) -> Any:
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(f'class_weight is {given!r}; expected "balanced", a dictionary, or None')
            return "balanced"
        unknown = [name for name in given if name not in self.classes_]
        if unknown:
            raise ValueError(f"class_weight has the class {unknown[0]!r}; the classes are {self.classes_.tolist()}")
        positive = float(given.get(self.classes_[question].item(), 1))
        if len(self.classes_) > 2:
            # Of the other classes each row brings its own weight, and that of this class as well.
            return None
        return {"given": {"negative": float(given.get(self.classes_[0].item(), 1)), "positive": positive}}

    def _row_weights(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Weights of rows, those of their classes included where there are more than two."""
        if not isinstance(self.class_weight, dict) or len(self.classes_) == 2:
            return weights
        of_class = np.array([float(self.class_weight.get(name, 1)) for name in self.classes_.tolist()])
        of_row = of_class[np.searchsorted(self.classes_, y)]
        return of_row if weights is None else weights * of_row

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Margins: of two classes those of the second, of more one column each."""
        X, tasks = self._asked(X, tasks)
        found = [self._margins(learner, X, tasks) for learner in self.learners_]
        return found[0] if len(found) == 1 else np.column_stack(found)

    @staticmethod
    def _margins(learner: Learner, X: Any, tasks: Any) -> np.ndarray:
        return learner.decision_function(X, tasks)

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """The class of every row."""
        margins = self.decision_function(X, tasks)
        if margins.ndim == 2:
            return self.classes_[margins.argmax(axis=1)]
        return self.classes_[(margins >= self.learners_[0].threshold_).astype(int)]

    def _probabilities(self, X: Any, tasks: Any) -> np.ndarray:
        margins = self.decision_function(X, tasks)
        if margins.ndim == 1:
            positive = self.learners_[0]._probabilities(np.ascontiguousarray(margins))
            return np.column_stack([1 - positive, positive])
        pairs = zip(self.learners_, margins.T, strict=True)
        found = np.column_stack([learner._probabilities(np.ascontiguousarray(column)) for learner, column in pairs])
        sums = found.sum(axis=1, keepdims=True)
        return np.where(sums > 0, found / np.where(sums > 0, sums, 1), 1 / len(self.classes_))

    def score(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted correctly."""
        return float(accuracy_score(y, self.predict(X, tasks), sample_weight=sample_weight))
