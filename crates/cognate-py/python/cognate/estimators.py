"""Estimators for scikit-learn; tasks are passed beside X, or are one of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _tables
from ._params import about
from .learner import Learner

if TYPE_CHECKING:
    from typing_extensions import Self

_TASKS = """
    X is anything that scikit-learn takes: arrays, SciPy's sparse matrices, pandas and polars frames. `tasks` has one task
    per row, or is the name of a column of X (which then is no feature); leave it out if there is only one task. In a
    pipeline or a search it travels by metadata routing: ``set_fit_request(tasks=True)`` and the like.
"""

#: The form that scikit-learn brings X into.
_KIND: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


class _Multitask(BaseEstimator):
    """The common part of all estimators."""

    learner_: Learner

    def _stream(self) -> dict[str, Any]:
        return {"normalize": self.normalize, "clip": self.clip, "bias": self.bias}

    def _rows(self, X: Any, y: Any, tasks: Any, *, reset: bool) -> tuple[Any, Any, Any]:
        """X, tasks and y of rows to be learnt, checked by scikit-learn."""
        X, tasks = _apart(X, tasks)
        X, y = validate_data(self, X, y, reset=reset, **_KIND, **self._label_checks())
        return *self._in_order(X, tasks), y

    def _in_order(self, X: Any, tasks: Any) -> tuple[Any, Any]:
        if hasattr(X, "indptr") and not X.has_sorted_indices:
            X = X.sorted_indices()
        tasks = _tables.tasks_of(tasks)
        if tasks is not None and not np.isscalar(tasks) and len(tasks) != X.shape[0]:
            raise ValueError(f"there are {len(tasks)} tasks and {X.shape[0]} rows; expected as many of each")
        return X, tasks

    def _label_checks(self) -> dict[str, Any]:
        return {}

    def _margins(self, X: Any, tasks: Any) -> np.ndarray:
        check_is_fitted(self)
        X, tasks = _apart(X, tasks)
        X, tasks = self._in_order(validate_data(self, X, reset=False, **_KIND), tasks)
        if tasks is None and len(self.learner_.tasks_) > 1:
            raise ValueError(f"the estimator knows {len(self.learner_.tasks_)} tasks; say which: tasks=…")
        return self.learner_.decision_function(X, self.learner_.tasks_[0] if tasks is None else tasks)

    @property
    def tasks_(self) -> list[str]:
        """Names of the tasks, in the order of the rows of `relations_`."""
        check_is_fitted(self)
        return self.learner_.tasks_

    @property
    def relations_(self) -> np.ndarray:
        """How much tasks learn from each other."""
        check_is_fitted(self)
        return self.learner_.relations_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Classifier(ClassifierMixin, _Multitask):
    """Classification into two classes."""

    classes_: np.ndarray

    def _meet_classes(self, y: np.ndarray) -> None:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        self.classes_ = np.unique(y)
        if kind != "binary" or len(self.classes_) > 2:
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}; two are needed")

    def _signs(self, y: np.ndarray) -> np.ndarray:
        """-1 for the first class, +1 for the second."""
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(f"y has the class {y[unknown][0]!r}; the classes are {self.classes_.tolist()}")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Margins; at 0 and above, the second class is predicted."""
        return self._margins(X, tasks)

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """The class of every row."""
        margins = self.decision_function(X, tasks)
        return self.classes_[(margins >= self.learner_.threshold_).astype(int)]

    def score(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted correctly."""
        return float(accuracy_score(y, self.predict(X, tasks), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _apart(X: Any, tasks: Any) -> tuple[Any, Any]:
    """Separates the task column from X, if `tasks` is the name of a column."""
    if not isinstance(tasks, str):
        return X, tasks
    columns = getattr(X, "columns", None)
    if columns is None or tasks not in list(columns):
        shown = "X has no columns with names" if columns is None else f"the columns are {list(columns)[:8]}"
        raise ValueError(f"tasks: no column of X is called {tasks!r}; {shown}")
    rest = X.drop(columns=tasks) if hasattr(X, "iloc") else X.drop(tasks)
    return rest, X[tasks]


class CognateClassifier(_Classifier):
    __doc__ = f"""Online classification into two classes, for many related tasks.

    Parameters
    ----------
    learner:
        Id of an online learner, one of `cognate.algorithms()`.
    params:
        Its parameters, e.g. ``{{"interaction": {{"coupled": {{"b": 4}}}}}}``; by default their defaults.
    normalize, clip, bias:
        How every row is scaled: ``"l2"`` scales it to length 1, `clip` is the largest length, `bias` the value of a
        constant feature.
    class_weight:
        None, ``"balanced"`` (by the labels learnt so far), or a dictionary of weights by class; it multiplies the weights
        of the rows.
    passes:
        Number of passes that `fit` makes over the rows.
    shuffle, random_state:
        Whether `fit` shuffles them, and with which seed.
    {_TASKS}
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
    ) -> None:
        self.learner = learner
        self.params = params
        self.normalize = normalize
        self.clip = clip
        self.bias = bias
        self.class_weight = class_weight
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _fresh(self) -> Learner:
        stream = self._stream()
        if self.class_weight is not None:
            stream["class-weight"] = self._class_weights(self.class_weight)
        return Learner(self.learner, stream=stream, **(self.params or {}))

    def _class_weights(self, given: str | dict[Any, float]) -> Any:
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(f'class_weight is {given!r}; expected "balanced", a dictionary, or None')
            return "balanced"
        unknown = [name for name in given if name not in self.classes_]
        if unknown:
            raise ValueError(f"class_weight has the class {unknown[0]!r}; the classes are {self.classes_.tolist()}")
        negative, positive = (float(given.get(name, 1)) for name in self.classes_.tolist())
        return {"given": {"negative": negative, "positive": positive}}

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Learn from scratch, in `passes` passes; a row counts as if it were there `sample_weight` times."""
        weights = self._weights(sample_weight, X)
        X, tasks, y = self._rows(X, y, tasks, reset=True)
        self._meet_classes(y)
        learner, signs = self._fresh(), self._signs(y)
        random = check_random_state(self.random_state)
        for _ in range(self.passes):
            order = random.permutation(len(signs)).astype(np.int64) if self.shuffle else None
            learner._model.learn(_tables.table(X), signs, tasks, order, weights)
        self.learner_ = learner
        return self

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray | None:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def partial_fit(
        self, X: Any, y: Any, tasks: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the rows in order; the first call needs `classes` unless its rows have both."""
        weights = self._weights(sample_weight, X)
        first = not hasattr(self, "learner_")
        X, tasks, y = self._rows(X, y, tasks, reset=first)
        if first:
            self._meet_classes(y if classes is None else np.asarray(classes))
        signs = self._signs(y)
        learner = self._fresh() if first else self.learner_
        learner.partial_fit(X, signs, tasks, weights)
        self.learner_ = learner
        return self

    def _has_probabilities(self) -> bool:
        return bool(about().get(str(self.learner), {}).get("probabilities"))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Probabilities of both classes, for learners that give them (``"adaptive"``)."""
        positive = self._learner_probabilities(self.decision_function(X, tasks))
        return np.column_stack([1 - positive, positive])

    def _learner_probabilities(self, margins: np.ndarray) -> np.ndarray:
        return self.learner_._probabilities(np.ascontiguousarray(margins))


class ConvexMultitask(_Multitask):
    __doc__ = f"""Tasks and their structure from all rows at once, to the global optimum: the base of both estimators below.

    Parameters
    ----------
    penalty:
        What the structure may be, and what it costs: ``"schatten"``, ``"trace-one"``, ``"rows"``, ``"none"``,
        ``{{"cluster": {{"clusters": 3}}}}``, ``{{"log-det": {{…}}}}``, ``{{"fixed": {{"interaction": "coupled"}}}}``.
    lambda_:
        Weight of the penalty.
    loss, weights, kernel, ridge, intercept, delta, tolerance, max_iterations:
        The other parameters of the learner `convex`; None is the library's default.
    normalize, clip, bias:
        How every row is scaled.
    {_TASKS}
    After `fit`, `status_` says how the search ended, with a bound on how far from the optimum it is.
    """

    def __init__(
        self,
        *,
        penalty: str | dict[str, Any] | None = None,
        lambda_: float | None = None,
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

    def _fit(self, X: Any, labels: np.ndarray, tasks: Any, kind: str) -> None:
        names = ["penalty", "loss", "weights", "kernel", "ridge", "intercept", "delta", "tolerance", "max_iterations"]
        params = {name: getattr(self, name) for name in names}
        learner = Learner("convex", stream=self._stream(), **params | {"lambda": self.lambda_})
        learner._fit(X, labels, tasks, kind)
        self.learner_ = learner

    @property
    def status_(self) -> dict[str, Any]:
        """Why the search stopped, after how many iterations, the objective, and a bound on its gap to the minimum."""
        check_is_fitted(self)
        return self.learner_.status_

    @property
    def n_iter_(self) -> int:
        """Number of iterations."""
        return max(1, self.status_["iterations"])


class ConvexMultitaskClassifier(_Classifier, ConvexMultitask):
    """Two classes per task, fitted to all rows at once; for the parameters see `ConvexMultitask`.

    >>> import numpy as np
    >>> from cognate import ConvexMultitaskClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, tasks = rng.normal(size=(200, 5)), rng.integers(1, 4, 200)
    >>> y = X[:, 0] + 0.1 * tasks * X[:, 1] > 0
    >>> model = ConvexMultitaskClassifier(loss="logistic", lambda_=1.0).fit(X, y, tasks=tasks)
    >>> model.score(X, y, tasks=tasks) > 0.9, model.status_["stopped"]
    (True, 'converged')
    """

    def fit(self, X: Any, y: Any, tasks: Any = None) -> Self:
        """Fit all tasks at once."""
        X, tasks, y = self._rows(X, y, tasks, reset=True)
        self._meet_classes(y)
        self._fit(X, self._signs(y), tasks, "classification")
        return self


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

    def fit(self, X: Any, y: Any, tasks: Any = None) -> Self:
        """Fit all tasks at once."""
        X, tasks, y = self._rows(X, y, tasks, reset=True)
        self._fit(X, np.asarray(y, dtype=np.float64), tasks, "regression")
        return self

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """The predicted number for every row."""
        return self._margins(X, tasks)

    def score(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> float:
        """R squared over all rows."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))
