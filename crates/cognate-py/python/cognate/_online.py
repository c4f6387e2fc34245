"""Estimators that learn row by row."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from ._base import TASKS, Multitask
from ._classes import Classifier
from ._params import about
from .learner import Learner

if TYPE_CHECKING:
    from typing_extensions import Self


class _Online(Multitask):
    """Passes over the rows, in the order given or shuffled."""

    _nested: tuple[str, ...] = ("params",)

    def __init__(
        self,
        learner: str = "adaptive",
        *,
        params: dict[str, Any] | None = None,
        normalize: str | None = None,
        clip: float | None = None,
        bias: float | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        task_column: str | int | None = None,
    ) -> None:
        self.learner = learner
        self.params = params
        self.normalize = normalize
        self.clip = clip
        self.bias = bias
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.task_column = task_column

    def _check_learner(self) -> None:
        if about().get(str(self.learner), {}).get("protocol") == "batch":
            raise ValueError(
                f"learner is {self.learner!r}, which is fitted to all rows at once: ConvexMultitaskClassifier, ConvexMultitaskRegressor"
            )

    def _orders(self, rows: int) -> list[np.ndarray | None]:
        """The order of the rows in every pass."""
        if not isinstance(self.passes, numbers.Integral) or isinstance(self.passes, bool) or self.passes < 1:
            raise ValueError(f"passes is {self.passes!r}; expected a whole number of at least 1")
        random = check_random_state(self.random_state)
        return [random.permutation(rows).astype(np.int64) if self.shuffle else None for _ in range(self.passes)]

_PARAMETERS = """
    params:
        Its parameters, e.g. ``{"interaction": {"coupled": {"b": 4}}}``; by default their defaults. `set_params` reaches
        into them: ``params__interaction__coupled__b=4``.
    normalize, clip, bias:
        How every row is scaled: ``"l2"`` scales it to length 1, `clip` is the largest length, `bias` the value of a
        constant feature.
"""

_PASSES = """
    passes:
        Number of passes that `fit` makes over the rows.
    shuffle, random_state:
        Whether `fit` shuffles them, and with which seed."""


class CognateClassifier(Classifier, _Online):
    __doc__ = f"""Online classification for many related tasks.

    Parameters
    ----------
    learner:
        Id of an online learner, one of `cognate.algorithms()`.{_PARAMETERS.rstrip()}
    class_weight:
        None, ``"balanced"`` (by the labels learnt so far), or a dictionary of weights by class; it multiplies the weights
        of the rows.{_PASSES}{TASKS.rstrip()}

    Examples
    --------
    >>> import numpy as np
    >>> from cognate import CognateClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, tasks = rng.normal(size=(600, 4)), rng.choice(["alice", "bob"], 600)
    >>> y = np.where(X[:, 0] + (tasks == "bob") * X[:, 1] > 0, "spam", "fine")
    >>> model = CognateClassifier(passes=3, random_state=0).fit(X[:400], y[:400], tasks=tasks[:400])
    >>> model.score(X[400:], y[400:], tasks=tasks[400:]) > 0.9
    True
    >>> sorted(model.tasks_)
    ['alice', 'bob']
    """

    def __init__(
        self,
        learner: str = "adaptive",
        *,
        params: dict[str, Any] | None = None,
        normalize: str | None = None,
        clip: float | None = None,
        bias: float | None = None,
        class_weight: str | dict[Any, float] | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        task_column: str | int | None = None,
    ) -> None:
        super().__init__(
            learner,
            params=params,
            normalize=normalize,
            clip=clip,
            bias=bias,
            passes=passes,
            shuffle=shuffle,
            random_state=random_state,
            task_column=task_column,
        )
        self.class_weight = class_weight

    def _fresh(self, question: int) -> Learner:
        self._check_learner()
        return Learner(self.learner, stream=self._stream_of(question), **(self.params or {}))

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Learn from scratch, in `passes` passes; a row counts as if it were there `sample_weight` times."""
        weights = self._weights(sample_weight, X)
        X, tasks, y = self._rows(X, y, tasks, reset=True)
        self._meet_classes(y)
        orders, weights = self._orders(len(y)), self._row_weights(y, weights)
        learners = []
        for question in self._questions():
            learner, signs = self._fresh(question), self._signs(y, question)
            for order in orders:
                learner._learn(X, signs, tasks, weights, order)
            learners.append(learner)
        self.learners_ = learners
        return self

    def partial_fit(
        self, X: Any, y: Any, tasks: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the rows in order; the first call needs `classes` unless its rows have all."""
        weights = self._weights(sample_weight, X)
        first = not hasattr(self, "learners_")
        X, tasks, y = self._rows(X, y, tasks, reset=first)
        if first:
            self._meet_classes(y if classes is None else np.asarray(classes))
        self._check_known(y)
        weights = self._row_weights(y, weights)
        learners = [self._fresh(question) for question in self._questions()] if first else self.learners_
        for question, learner in zip(self._questions(), learners, strict=True):
            learner._learn(X, self._signs(y, question), tasks, weights)
        self.learners_ = learners
        return self

    def _has_probabilities(self) -> bool:
        return bool(about().get(str(self.learner), {}).get("probabilities"))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Probabilities of the classes, for learners that give them (``"adaptive"``)."""
        return self._probabilities(X, tasks)


class CognateRegressor(RegressorMixin, _Online):
    __doc__ = f"""Online regression for many related tasks.

    Parameters
    ----------
    learner:
        Id of an online learner of real labels: ``"adaptive"``, or ``"passive-aggressive"``.
    loss:
        ``"squares"``, ``"absolute"``, ``{{"quantile": {{"q": 0.9}}}}``, ``"poisson"``; of ``"passive-aggressive"``
        ``"epsilon-insensitive"``.{_PARAMETERS.rstrip()}{_PASSES}{TASKS.rstrip()}

    Examples
    --------
    >>> import numpy as np
    >>> from cognate import CognateRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, tasks = rng.normal(size=(600, 4)), rng.choice(["alice", "bob"], 600)
    >>> y = 20 + 3 * X[:, 0] + (tasks == "bob") * X[:, 1]
    >>> model = CognateRegressor(passes=3, random_state=0).fit(X[:400], y[:400], tasks=tasks[:400])
    >>> model.score(X[400:], y[400:], tasks=tasks[400:]) > 0.95
    True
    """

    def __init__(
        self,
        learner: str = "adaptive",
        *,
        loss: str | dict[str, Any] = "squares",
        params: dict[str, Any] | None = None,
        normalize: str | None = None,
        clip: float | None = None,
        bias: float | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
        task_column: str | int | None = None,
    ) -> None:
        super().__init__(
            learner,
            params=params,
            normalize=normalize,
            clip=clip,
            bias=bias,
            passes=passes,
            shuffle=shuffle,
            random_state=random_state,
            task_column=task_column,
        )
        self.loss = loss

    _nested = ("params", "loss")

    def _label_checks(self) -> dict[str, Any]:
        return {"y_numeric": True}

    def _fresh(self) -> Learner:
        self._check_learner()
        learner = Learner(self.learner, stream=self._stream(), **{"loss": self.loss, **(self.params or {})})
        if not learner.is_regression_:
            raise ValueError(f"loss is {self.loss!r}, which is for classes; CognateClassifier learns those")
        return learner

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Learn from scratch, in `passes` passes; a row counts as if it were there `sample_weight` times."""
        weights = self._weights(sample_weight, X)
        X, tasks, y = self._rows(X, y, tasks, reset=True)
        learner, y = self._fresh(), np.asarray(y, dtype=np.float64)
        for order in self._orders(len(y)):
            learner._learn(X, y, tasks, weights, order)
        self.learners_ = [learner]
        return self

    def partial_fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows in order."""
        weights = self._weights(sample_weight, X)
        first = not hasattr(self, "learners_")
        X, tasks, y = self._rows(X, y, tasks, reset=first)
        learners = [self._fresh()] if first else self.learners_
        learners[0]._learn(X, np.asarray(y, dtype=np.float64), tasks, weights)
        self.learners_ = learners
        return self

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """The predicted number for every row."""
        X, tasks = self._asked(X, tasks)
        return self.learners_[0].predict(X, tasks)

    def score(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> float:
        """R squared over all rows."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))
