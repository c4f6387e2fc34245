"""A learner of many related tasks, example by example or table by table."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

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
    value 1), a dictionary by number, or ``(indices, values)``. Labels are -1 and +1, or 0 and 1. A task is a name or a
    number; left out, it is ``"default"``.

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

    def learn_one(self, x: Any, y: float | None, task: str | int | None = None) -> Self:
        """Learn one example; without a label it is only counted.

        >>> from cognate import Learner
        >>> Learner("perceptron").learn_one({"a": 1.0}, True, task="t").margin_one({"a": 2.0}, task="t")
        2.0
        """
        self._model.learn_one(x, y, task)
        return self

    def margin_one(self, x: Any, task: str | int | None = None) -> float:
        """The margin of an example, whose sign is the prediction; 0 before anything is learnt."""
        return self._model.margin_one(x, task)

    def predict_one(self, x: Any, task: str | int | None = None) -> int:
        """The predicted label: +1 if the margin is at least 0, else -1."""
        return 1 if self.margin_one(x, task) >= 0 else -1

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

    def partial_fit(self, X: Any, y: Any, tasks: Any = None) -> Self:
        """Learn the rows of X in order.

        X is a SciPy CSR matrix (float32 or float64, sorted indices of 32 or 64 bits), a NumPy array of floats, a
        pandas or polars frame, an Arrow table, or a list of dictionaries. Tables are not copied, except columns of
        integers or booleans. `tasks` is one task for all rows, or one per row. A table with a bad row is refused as a
        whole: nothing of it is learnt.
        """
        if _tables.is_rows(X):
            self._model.learn_rows(X, list(y), _spread(tasks, len(X)))
        else:
            self._model.learn(_tables.table(X), _tables.labels(y), _tables.tasks_of(tasks))
        return self

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Margins of the rows of X."""
        if _tables.is_rows(X):
            pairs = zip(X, _spread(tasks, len(X)), strict=True)
            return np.array([self.margin_one(x, task) for x, task in pairs])
        return self._model.margins(_tables.table(X), _tables.tasks_of(tasks))

    def predict(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Labels of the rows of X: -1 or +1, or real numbers if the learner was fitted to real labels."""
        margins = self.decision_function(X, tasks)
        return margins if self._model.is_regression else np.where(margins >= 0, 1, -1)

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
            raise AttributeError(f"`{self.learner_}` gives no probabilities; `adaptive` does")
        return found

    # -- what was learnt

    @property
    def learner_(self) -> str:
        """Id of the learner."""
        return self._model.learner

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
        """Counts so far: examples, mistakes, error, f1, …, in total and for every task."""
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
        return f"{text}, error {counts['error']:.2%}" if counts["examples"] else text

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
