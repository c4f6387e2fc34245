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
        Id of a learner, one of `cognate.algorithms()`; left out, the library's default.
    tasks:
        How many tasks there are, or their names; left out, tasks are met on the way.
    features:
        How many features there are; left out, as the data have.
    stream:
        What is done to every example, as in a config file: ``{"normalize": "l2", "clip": 10, "bias": 1}``;
        ``{"simultaneous": True}`` where a round is one example of every task.
    query:
        Which labels are asked for: ``"all"``, ``{"margin": {"b": 1}}``, ``{"relation": {"scale": 1}}``.
    **params:
        Parameters of the learner, as `cognate algorithms ID` tells; ``_`` stands for ``-``.

    Features are a dictionary of names (``{"price": 0.5, "colour": "red"}``; a text is the feature ``colour=red`` of
    value 1), a dictionary of numbers, or ``(indices, values)``. Labels are -1 and +1, or 0 and 1. A task is a name or a
    number; without one it is ``"default"``.

    Examples
    --------
    Half of what one task learns, the other learns too:

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

    Whole tables go faster; nothing of them is copied, and other threads run meanwhile:

    >>> import numpy as np
    >>> X, y = np.eye(3), np.array([1, -1, 1])
    >>> model = Learner("perceptron").partial_fit(X, y, tasks=["a", "b", "a"])
    >>> model.decision_function(X, tasks="a")
    array([ 0.75, -0.25,  0.75])

    What is wrong is said with its place:

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
        """Learns one example; without a label it is only counted.

        >>> from cognate import Learner
        >>> Learner("perceptron").learn_one({"a": 1.0}, True, task="t").margin_one({"a": 2.0}, task="t")
        2.0
        """
        self._model.learn_one(x, y, task)
        return self

    def margin_one(self, x: Any, task: str | int | None = None) -> float:
        """The margin of an example, whose sign is the prediction; 0 before anything was learnt."""
        return self._model.margin_one(x, task)

    def predict_one(self, x: Any, task: str | int | None = None) -> int:
        """The label that the margin predicts: +1, also at exactly 0, or -1."""
        return 1 if self.margin_one(x, task) >= 0 else -1

    def predict_proba_one(self, x: Any, task: str | int | None = None) -> dict[int, float]:
        """Probabilities of both labels, of learners whose margins have them (`adaptive`)."""
        positive = self._probabilities(np.array([self.margin_one(x, task)]))[0]
        return {-1: 1 - float(positive), 1: float(positive)}

    def learn_round(self, examples: Mapping[str | int, tuple[Any, float]]) -> Self:
        """Learns one example of every task at once, of a learner made with ``stream={"simultaneous": True}``.

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
        """Learns the rows of X in order.

        X is a SciPy CSR matrix (float32 or float64, indices of 32 or 64 bits, sorted), a NumPy array of floats, a
        frame of pandas or polars, an Arrow table, or a list of dictionaries; none of them is copied. `tasks` is one
        task for all rows, or one a row. A bad table is refused as a whole: nothing of it is learnt.
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
        """Labels of the rows of X: -1 or +1, or real numbers where the learner was fitted to such."""
        margins = self.decision_function(X, tasks)
        return margins if self._model.is_regression else np.where(margins >= 0, 1, -1)

    def predict_proba(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Probabilities of the labels -1 and +1, of learners whose margins have them (`adaptive`)."""
        positive = self._probabilities(self.decision_function(X, tasks))
        return np.column_stack([1 - positive, positive])

    def fit(self, X: Any, y: Any, tasks: Any = None) -> Self:
        """Fits a batch learner (`convex`) to all rows at once; how it ended is `status_`.

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
            raise AttributeError(f"margins of `{self.learner_}` are no probabilities; those of `adaptive` are")
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
        """R: how much an update of the task of the column moves the task of the row."""
        return self._model.relations()

    @property
    def correlations_(self) -> np.ndarray:
        """R scaled to ones on its diagonal."""
        relations = self.relations_
        scale = np.sqrt(np.abs(np.diag(relations)))
        scale[scale == 0] = 1
        return relations / np.outer(scale, scale)

    @property
    def metrics_(self) -> dict[str, Any]:
        """Counts of everything learnt: examples, mistakes, error, f1, …, and the same of every task."""
        return json.loads(self._model.metrics)

    @property
    def rounds_(self) -> int:
        """Rounds learnt."""
        return self._model.rounds

    @property
    def config_(self) -> dict[str, Any]:
        """Everything that the model remembers of its config, defaults filled in."""
        return json.loads(self._model.config)

    def weights(self, task: str | int | None = None) -> dict[str | int, float]:
        """Non-zero weights of a task by feature; the constant feature is ``"bias"``.

        >>> from cognate import Learner
        >>> Learner("perceptron").learn_one({"a": 1.0, "b": 2.0}, 1).weights()
        {'a': 1.0, 'b': 2.0}
        """
        names: dict[int, str] = {}
        for name, feature in self._model.names:
            # Names that were hashed to one feature share it.
            names[feature] = f"{names[feature]} | {name}" if feature in names else name
        features, values = self._model.weights(task)
        pairs = zip(features.tolist(), values.tolist(), strict=True)
        return {"bias" if feature < 0 else names.get(feature, feature): value for feature, value in pairs}

    # -- kept and shown

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, as `cognate learn --model` does; the old one stays until the new one is whole."""
        self._model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a model file, of whoever wrote it."""
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
        """A heatmap of the correlation form of R, as a matplotlib figure."""
        from .plotting import plot_relations

        return plot_relations(self, ax)

    def plot_curves(self, tasks: list[str] | None = None, ax: Any = None) -> Figure:
        """Error so far against examples, of everything and of some tasks, since the learner came into this process."""
        from .plotting import plot_curves

        return plot_curves(self, tasks, ax)


def _spread(tasks: Any, rows: int) -> list[Any]:
    """One task a row."""
    found = _tables.tasks_of(tasks)
    if isinstance(found, np.ndarray):
        found = found.tolist()
    if not isinstance(found, list):
        return [found] * rows
    if len(found) != rows:
        raise DataError(f"there are {len(found)} tasks; expected {rows}")
    return found
