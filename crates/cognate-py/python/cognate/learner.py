"""A learner of many related tasks, example by example or table by table."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _native, _tables
from ._html import learner_html
from ._params import config_json
from .errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure
    from typing_extensions import Self


class Learner:
    """Learns many related tasks from one stream, and how they are related.

    Parameters
    ----------
    learner:
        Id of a learner, one of `cognate.algorithms()`; by default ``"adaptive"``.
    tasks:
        The number of tasks, or their names; by default tasks are added as they occur.
    features:
        The number of features; by default as many as the data have.
    stream:
        How every example is scaled, as in a config file: ``{"normalize": "l2", "clip": 10, "bias": 1}``;
        ``{"simultaneous": True}`` if a round is one example of every task.
    query:
        Which labels are asked for: ``"all"``, ``{"margin": {"b": 1}}``, ``{"relation": {"scale": 1}}``.
    **params:
        Parameters of the learner, as listed by `cognate algorithms ID`, with ``_`` for ``-``.

    Features are a dictionary by name (``{"price": 0.5, "colour": "red"}``; a text is the feature ``colour=red`` with
    value 1), a dictionary by number, or ``(indices, values)``. Labels are -1 and +1, or 0 and 1; with a loss for them, such
    as ``Learner("adaptive", loss="squares")``, they are real numbers. A task is a name or a number; left out, it is
    ``"default"``.

    Examples
    --------
    What one task learns helps the others, even tasks that have not been seen yet:

    >>> from cognate import Learner
    >>> model = Learner()
    >>> for _ in range(3):
    ...     _ = model.learn_one({"offer": 1, "hello": 0.5}, +1, task="alice")
    ...     _ = model.learn_one({"meeting": 1, "hello": 0.5}, -1, task="bob")
    >>> model.predict_one({"offer": 1}, task="carol")
    1

    With a given strength of sharing, the other task here moves a third as far as the task itself:

    >>> from cognate import Learner
    >>> model = Learner("perceptron", interaction={"coupled": {"b": 1}})
    >>> _ = model.learn_one({"offer": 1, "hello": 0.5}, +1, task="alice")
    >>> _ = model.learn_one({"meeting": 1, "hello": 0.5}, -1, task="bob")
    >>> model.margin_one({"offer": 1}, task="bob")
    0.25
    >>> model.predict_one({"meeting": 1}, task="alice")
    -1
    >>> model.tasks_
    ['alice', 'bob']
    >>> model.relations_
    array([[0.75, 0.25],
           [0.25, 0.75]])

    Whole tables are faster; they are read without a copy, while other threads run:

    >>> import numpy as np
    >>> X, y = np.eye(3), np.array([1, -1, 1])
    >>> model = Learner("perceptron").partial_fit(X, y, tasks=["a", "b", "a"])
    >>> model.decision_function(X, tasks="a")
    array([ 0.75, -0.25,  0.75])

    Errors name the place:

    >>> Learner("perceptron", interaction={"coupled": {"b": -1}})
    Traceback (most recent call last):
    ...
    cognate.errors.ConfigError: learner.perceptron.interaction.coupled.b: must be a finite number of at least 0, got -1
    """

    def __init__(
        self,
        learner: str | None = None,
        /,
        *,
        tasks: int | list[str] | None = None,
        features: int | None = None,
        stream: Mapping[str, Any] | None = None,
        query: str | Mapping[str, Any] | None = None,
        **params: Any,
    ) -> None:
        self._model = _native.Model(config_json(learner, tasks, features, stream, query, params))

    # -- one example at a time

    def learn_one(
        self,
        x: Any,
        y: float | None,
        task: str | int | None = None,
        *,
        weight: float = 1.0,
        offset: float = 0.0,
        time: float | None = None,
    ) -> Self:
        """Learn one example; without a label it is only counted.

        `weight` is its importance: it is learnt as if it had been seen so many times, and not at all at 0. `offset` is
        added to its margin, and not learnt. `time` is when it was, in seconds. `cognate.algorithms()` says which learners
        take weights and offsets; the others refuse them.

        >>> from cognate import Learner
        >>> Learner("perceptron").learn_one({"a": 1.0}, True, task="t").margin_one({"a": 2.0}, task="t")
        2.0
        """
        self._model.learn_one(x, y, task, weight, offset, time)
        return self

    def margin_one(self, x: Any, task: str | int | None = None) -> float:
        """The margin of an example, whose sign is the prediction; 0 before anything is learnt."""
        return self._model.margin_one(x, task)

    @overload
    def predict_one(
        self, x: Any, task: str | int | None = None, *, uncertainty: Literal[False] = False
    ) -> float: ...
    @overload
    def predict_one(
        self, x: Any, task: str | int | None = None, *, uncertainty: Literal[True]
    ) -> tuple[float, float]: ...
    def predict_one(
        self, x: Any, task: str | int | None = None, *, uncertainty: bool = False
    ) -> float | tuple[float, float]:
        """The predicted label: +1 if the margin is at least `threshold_`, which is usually 0, else -1.

        Where labels are real numbers it is the number predicted: the margin, or its exponential with the loss ``"poisson"``.
        With `uncertainty`, a pair: the label and the standard deviation of the margin, for learners that know it
        (`adaptive` with the logistic loss).

        >>> from cognate import Learner
        >>> Learner("adaptive", loss="squares").learn_one({"a": 1.0}, 20.0).predict_one({"a": 1.0})
        20.0
        >>> model = Learner().learn_one({"a": 1.0}, 1, task="t")
        >>> label, deviation = model.predict_one({"a": 1.0}, task="t", uncertainty=True)
        >>> label, deviation > 0
        (1, True)
        """
        label, deviation = self._model.predict_one(x, task)
        label = label if self._model.is_regression else int(label)
        return (label, self._known(deviation)) if uncertainty else label

    def predict_proba_one(self, x: Any, task: str | int | None = None) -> dict[int, float]:
        """Probabilities of both labels, for learners that give them (`adaptive`)."""
        positive = self._probabilities(np.array([self.margin_one(x, task)]))[0]
        return {-1: 1 - float(positive), 1: float(positive)}

    def learn_round(self, examples: Mapping[str | int, tuple[Any, float]]) -> Self:
        """Learn one example of every task at once; needs ``stream={"simultaneous": True}``.

        >>> from cognate import Learner
        >>> model = Learner("schatten-perceptron", tasks=["a", "b"], stream={"simultaneous": True})
        >>> _ = model.learn_round({"a": ({0: 1.0}, 1), "b": ({0: 1.0}, -1)})
        >>> model.predict_one({0: 1.0}, task="b")
        -1
        """
        x, y = [x for x, _ in examples.values()], [y for _, y in examples.values()]
        self._model.learn_rows(x, y, list(examples))
        return self

    # -- whole tables

    def partial_fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows of X in order, each as if it had been seen `sample_weight` times.

        X is a SciPy CSR matrix (float32 or float64, sorted indices of 32 or 64 bits), a NumPy array of floats, a
        pandas or polars frame, an Arrow table, or a list of dictionaries. Tables are not copied, except columns of
        integers or booleans. `tasks` is one task for all rows, or one per row. A table with a bad row is refused as a
        whole: nothing of it is learnt.
        """
        weights = _tables.weights(sample_weight)
        if _tables.is_rows(X):
            listed = None if weights is None else weights.tolist()
            self._model.learn_rows(X, list(y), _spread(tasks, len(X)), listed)
        else:
            self._model.learn(_tables.table(X), _tables.labels(y), _tables.tasks_of(tasks), None, weights)
        return self

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Margins of the rows of X."""
        if _tables.is_rows(X):
            pairs = zip(X, _spread(tasks, len(X)), strict=True)
            return np.array([self.margin_one(x, task) for x, task in pairs])
        return self._model.margins(_tables.table(X), _tables.tasks_of(tasks))

    @overload
    def predict(self, X: Any, tasks: Any = None, *, uncertainty: Literal[False] = False) -> np.ndarray: ...
    @overload
    def predict(
        self, X: Any, tasks: Any = None, *, uncertainty: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def predict(
        self, X: Any, tasks: Any = None, *, uncertainty: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Labels of the rows of X: -1 or +1, or real numbers if those are what the learner learns.

        With `uncertainty`, a pair: the labels and the standard deviations of their margins, for learners that know them
        (`adaptive` with the logistic loss).
        """
        margins = self.decision_function(X, tasks)
        real = self._model.is_regression
        labels = self._model.responses(margins) if real else np.where(margins >= self.threshold_, 1, -1)
        return (labels, self._uncertainties(X, tasks)) if uncertainty else labels

    def _uncertainties(self, X: Any, tasks: Any) -> np.ndarray:
        if _tables.is_rows(X):
            pairs = zip(X, _spread(tasks, len(X)), strict=True)
            return np.array([self._known(self._model.predict_one(x, task)[1]) for x, task in pairs])
        return self._known(self._model.uncertainties(_tables.table(X), _tables.tasks_of(tasks)))

    def _known(self, found: Any) -> Any:
        if found is None:
            raise AttributeError(f"this `{self.learner_}` does not know how sure it is; `adaptive` with the logistic loss does")
        return found

    def predict_proba(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Probabilities of the labels -1 and +1, for learners that give them (`adaptive`)."""
        positive = self._probabilities(self.decision_function(X, tasks))
        return np.column_stack([1 - positive, positive])

    def fit(self, X: Any, y: Any, tasks: Any = None) -> Self:
        """Fit a batch learner (`convex`) to all rows at once; `status_` says how it ended.

        >>> import numpy as np
        >>> from cognate import Learner
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> model = Learner("convex", penalty="none", **{"lambda": 1e-9}).fit(X, [1.0, 3.0, 5.0, 7.0])
        >>> model.predict(np.array([[10.0]])).round(6)
        array([21.])
        """
        return self._fit(X, y, tasks, None)

    def _fit(self, X: Any, y: Any, tasks: Any, kind: str | None) -> Self:
        table, labels = _tables.table(X), _tables.labels(y)
        self.status_ = json.loads(self._model.fit(table, labels, _tables.tasks_of(tasks), kind))
        return self

    def _probabilities(self, margins: np.ndarray) -> np.ndarray:
        found = self._model.probabilities(margins)
        if found is None:
            raise AttributeError(f"this `{self.learner_}` gives no probabilities; `adaptive` with the logistic loss does")
        return found

    # -- what was learnt

    @property
    def learner_(self) -> str:
        """Id of the learner."""
        return self._model.learner

    @property
    def is_regression_(self) -> bool:
        """Whether labels are real numbers, by the loss or, for a batch learner, by what it was fitted to."""
        return self._model.is_regression

    @property
    def threshold_(self) -> float:
        """The margin from which on +1 is predicted: 0, unless `cognate learn --threshold` or `set_threshold` chose another."""
        return self._model.threshold

    def set_threshold(self, margin: float) -> Self:
        """Predict +1 from this margin on; a saved model keeps it.

        >>> from cognate import Learner
        >>> model = Learner("perceptron").learn_one({"a": 1.0}, 1)
        >>> model.set_threshold(2.5).predict_one({"a": 2.0}), model.set_threshold(0).predict_one({"a": 2.0})
        (-1, 1)
        """
        self._model.set_threshold(margin)
        return self

    @property
    def tasks_(self) -> list[str]:
        """Names of the tasks, in the order of the rows of `relations_`."""
        return self._model.tasks

    @property
    def relations_(self) -> np.ndarray:
        """R: how far an update of the column's task moves the row's task."""
        return self._model.relations()

    @property
    def correlations_(self) -> np.ndarray:
        """R scaled so that its diagonal is 1."""
        relations = self.relations_
        scale = np.sqrt(np.abs(np.diag(relations)))
        scale[scale == 0] = 1
        return relations / np.outer(scale, scale)

    @property
    def metrics_(self) -> dict[str, Any]:
        """Counts so far and what follows from them, in total and under ``"tasks"`` for every task.

        Classes: ``error``, ``constant_error``, ``log_loss``, ``brier``, ``auc``, ``precision``, ``recall``, ``f1``,
        ``balanced_error``; real labels: ``rmse``, ``constant_rmse``, ``mae``, ``r2``, ``loss``. None where a number has no
        meaning, or is unknown; ``auc`` is of what was learnt in this process, and not saved.

        >>> from cognate import Learner
        >>> model = Learner("perceptron").learn_one({"a": 1.0}, 1).learn_one({"b": 1.0}, -1).learn_one({"a": 2.0}, 1)
        >>> counts = model.metrics_
        >>> counts["mistakes"], counts["auc"], counts["log_loss"]
        (2, 0.75, None)
        """
        return json.loads(self._model.metrics)

    @property
    def rounds_(self) -> int:
        """Rounds learnt."""
        return self._model.rounds

    @property
    def config_(self) -> dict[str, Any]:
        """The config that the model remembers, with defaults filled in."""
        return json.loads(self._model.config)

    def weights(self, task: str | int | None = None) -> dict[str | int, float]:
        """Non-zero weights of a task by feature; the constant feature is ``"bias"``.

        >>> from cognate import Learner
        >>> Learner("perceptron").learn_one({"a": 1.0, "b": 2.0}, 1).weights()
        {'a': 1.0, 'b': 2.0}
        """
        names: dict[int, str] = {}
        for name, feature in self._model.names:
            # Names hashed to the same feature share its weight.
            names[feature] = f"{names[feature]} | {name}" if feature in names else name
        features, values = self._model.weights(task)
        pairs = zip(features.tolist(), values.tolist(), strict=True)
        return {"bias" if feature < 0 else names.get(feature, feature): value for feature, value in pairs}

    # -- kept and shown

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, as `cognate learn --model` does; the old one stays until the new one is complete."""
        self._model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file, whether this package or the program wrote it."""
        return cls._of(_native.Model.load(path))

    @classmethod
    def _of(cls, model: _native.Model) -> Self:
        learner = cls.__new__(cls)
        learner._model = model
        return learner

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": self._model.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._model = _native.Model.from_bytes(state["_model"])

    def __repr__(self) -> str:
        counts = self.metrics_
        text = f"{type(self).__name__}({self.learner_!r}): {len(counts['tasks'])} tasks, {counts['examples']} examples"
        if not counts["examples"]:
            return text
        name, found, constant, form = "error", counts["error"], counts["constant_error"], ".2%"
        if self.is_regression_:
            name, found, constant, form = "RMSE", counts["rmse"], counts["constant_rmse"], ".4g"
        return f"{text}, {name} {_shown(found, form)}, constant guess {_shown(constant, form)}"

    def _repr_html_(self) -> str:
        return learner_html(self)

    def plot_relations(self, ax: Any = None) -> Figure:
        """Draw a heatmap of the correlation form of R, as a matplotlib figure."""
        from .plotting import plot_relations

        return plot_relations(self, ax)

    def plot_curves(self, tasks: list[str] | None = None, ax: Any = None) -> Figure:
        """Draw the error so far against examples, overall and for some tasks, since the learner was made or loaded."""
        from .plotting import plot_curves

        return plot_curves(self, tasks, ax)


def _spread(tasks: Any, rows: int) -> list[Any]:
    """One task per row."""
    found = _tables.tasks_of(tasks)
    if isinstance(found, np.ndarray):
        found = found.tolist()
    if not isinstance(found, list):
        return [found] * rows
    if len(found) != rows:
        raise DataError(f"there are {len(found)} tasks; expected {rows}")
    return found


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
