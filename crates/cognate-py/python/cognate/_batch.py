"""Estimators that are fitted to all rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._base import TASKS, Multitask
from ._classes import Classifier
from .learner import Learner

if TYPE_CHECKING:
    from typing_extensions import Self


class ConvexMultitask(Multitask):
    __doc__ = f"""Tasks and their structure from all rows at once, to the global optimum: the base of both estimators below.

    Parameters
    ----------
    penalty:
        What the structure may be, and what it costs: ``"schatten"``, ``"trace-one"``, ``"rows"``, ``"none"``,
        ``{{"cluster": {{"clusters": 3}}}}``, ``{{"log-det": {{…}}}}``, ``{{"fixed": {{"interaction": "coupled"}}}}``.
    lambda_:
        Weight of the penalty; ``"cv"`` chooses it by cross-validation in `cv` folds, and `lambda_chosen_` tells it.
    loss, weights, kernel, ridge, intercept, delta, tolerance, max_iterations:
        The other parameters of the learner `convex`; None is the library's default.
    normalize, clip, bias:
        How every row is scaled.
    cv:
        Number of folds.{TASKS.rstrip()}

    After `fit`, `status_` says how the search ended, with a bound on how far from the optimum it is. A row counts in the
    objective as if it were there `sample_weight` times.
    """

    _nested = ("penalty", "kernel")

    def __init__(
        self,
        *,
        penalty: str | dict[str, Any] | None = None,
        lambda_: float | str | None = None,
        loss: str | None = None,
        weights: str | None = None,
        kernel: str | dict[str, Any] | None = None,
        ridge: float | None = None,
        intercept: bool | None = None,
        delta: float | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        normalize: str | None = None,
        clip: float | None = None,
        bias: float | None = None,
        cv: int = 5,
        task_column: str | int | None = None,
    ) -> None:
        self.penalty = penalty
        self.lambda_ = lambda_
        self.loss = loss
        self.weights = weights
        self.kernel = kernel
        self.ridge = ridge
        self.intercept = intercept
        self.delta = delta
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.normalize = normalize
        self.clip = clip
        self.bias = bias
        self.cv = cv
        self.task_column = task_column

    def _fitted(
        self, X: Any, labels: np.ndarray, tasks: Any, weights: np.ndarray | None, kind: str, stream: dict[str, Any]
    ) -> Learner:
        names = ["penalty", "loss", "weights", "kernel", "ridge", "intercept", "delta", "tolerance", "max_iterations"]
        params = {name: getattr(self, name) for name in names}
        lambda_, folds = self.lambda_, None
        if isinstance(lambda_, str):
            if lambda_ != "cv":
                raise ValueError(f'lambda_ is {lambda_!r}; expected a number, "cv", or None')
            lambda_, folds = None, self.cv
        learner = Learner("convex", stream=stream, **params | {"lambda": lambda_})
        return learner._fit(X, labels, tasks, weights, kind, folds)

    @property
    def status_(self) -> dict[str, Any]:
        """Why the search stopped, after how many iterations, the objective, and a bound on its gap to the minimum."""
        return self.learner_.status_

    @property
    def lambda_chosen_(self) -> float:
        """The weight of the penalty that was fitted with."""
        return float(self.learner_.config_["learner"]["convex"]["lambda"])

    @property
    def n_iter_(self) -> int:
        """Number of iterations; of several classes, the most."""
        check_is_fitted(self)
        return max(1, *(learner.status_["iterations"] for learner in self.learners_))


class ConvexMultitaskClassifier(Classifier, ConvexMultitask):
    """Classes per task, fitted to all rows at once; for the other parameters see `ConvexMultitask`.

    Parameters
    ----------
    class_weight:
        None, ``"balanced"`` (both sides of every question have the same say), or a dictionary of weights by class; it
        multiplies the weights of the rows.

    >>> import numpy as np
    >>> from cognate import ConvexMultitaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, tasks = rng.normal(size=(200, 5)), rng.integers(1, 4, 200)
    >>> y = X[:, 0] + 0.1 * tasks * X[:, 1] > 0
    >>> model = ConvexMultitaskClassifier(loss="logistic", lambda_=1.0).fit(X, y, tasks=tasks)
    >>> model.score(X, y, tasks=tasks) > 0.9, model.status_["stopped"]
    (True, 'converged')
    >>> model.predict_proba(X[:3], tasks=tasks[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        *,
        penalty: str | dict[str, Any] | None = None,
        lambda_: float | str | None = None,
        loss: str | None = None,
        class_weight: str | dict[Any, float] | None = None,
        weights: str | None = None,
        kernel: str | dict[str, Any] | None = None,
        ridge: float | None = None,
        intercept: bool | None = None,
        delta: float | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        normalize: str | None = None,
        clip: float | None = None,
        bias: float | None = None,
        cv: int = 5,
        task_column: str | int | None = None,
    ) -> None:
        super().__init__(
            penalty=penalty,
            lambda_=lambda_,
            loss=loss,
            weights=weights,
            kernel=kernel,
            ridge=ridge,
            intercept=intercept,
            delta=delta,
            tolerance=tolerance,
            max_iterations=max_iterations,
            normalize=normalize,
            clip=clip,
            bias=bias,
            cv=cv,
            task_column=task_column,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Fit all tasks at once; a row counts as if it were there `sample_weight` times."""
        weights = self._weights(sample_weight, X)
        X, tasks, y = self._rows(X, y, tasks, reset=True)
        self._meet_classes(y)
        if weights is not None:
            missing = np.setdiff1d(self.classes_, y[weights > 0])
            if missing.size:
                raise ValueError(f"sample_weight leaves no row of the class {missing[0]!r}; leave its rows out, or weigh some")
        weights = self._row_weights(y, weights)
        self.learners_ = [
            self._fitted(X, self._signs(y, question), tasks, weights, "classification", self._stream_of(question))
            for question in self._questions()
        ]
        return self

    def _has_probabilities(self) -> bool:
        return self.loss == "logistic"

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Probabilities of the classes, with ``loss="logistic"``."""
        return self._probabilities(X, tasks)


class ConvexMultitaskRegressor(RegressorMixin, ConvexMultitask):
    """Regression, fitted to all rows at once; for the parameters see `ConvexMultitask`.

    >>> import numpy as np
    >>> from cognate import ConvexMultitaskRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
    >>> y, tasks = np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0]), ["a", "a", "a", "b", "b", "b"]
    >>> model = ConvexMultitaskRegressor(lambda_=1e-6).fit(X, y, tasks=tasks)
    >>> model.predict([[3.0], [3.0]], tasks=["a", "b"]).round(2)
    array([3., 8.])
    """

    def _label_checks(self) -> dict[str, Any]:
        return {"y_numeric": True, "ensure_min_samples": 2}

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Fit all tasks at once; a row counts as if it were there `sample_weight` times."""
        weights = self._weights(sample_weight, X)
        X, tasks, y = self._rows(X, y, tasks, reset=True)
        labels = np.asarray(y, dtype=np.float64)
        self.learners_ = [self._fitted(X, labels, tasks, weights, "regression", self._stream())]
        return self

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """The predicted number for every row."""
        X, tasks = self._asked(X, tasks)
        return self.learners_[0].decision_function(X, tasks)

    def score(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> float:
        """R squared over all rows."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))
