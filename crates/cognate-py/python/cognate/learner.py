"""A learner of many related tasks, example by example or table by table."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _native, _tables
from ._html import learner_html
from ._params import config_json
from .errors import DataError
from .explanation import Contribution, Explanation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
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
    shards:
        Over how many shards the tasks are spread, which learn tables and files side by side on several cores: a number,
        or ``{"count": 8, "mix": 1000}``, where shards are mixed after so many examples. ``perceptron`` and
        ``passive-aggressive`` can; by default there is one. Results do not depend on the number of cores.
    classes:
        The two labels, where they are texts that come one by one: that of -1 first, as in ``["ham", "spam"]``.
    **params:
        Parameters of the learner, as listed by `cognate algorithms ID`, with ``_`` for ``-``.

    Features are a dictionary by name (``{"price": 0.5, "colour": "red"}``; a text is the feature ``colour=red`` with
    value 1), a dictionary by number, or ``(indices, values)``. Labels are -1 and +1, 0 and 1, False and True, or two texts, and
    predictions are called as they are; with a loss for them, such as ``Learner("adaptive", loss="squares")``, they are real
    numbers. A task is a name or a number, and may be left out as long as there is only one.

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
        shards: int | Mapping[str, Any] | None = None,
        classes: Sequence[Any] | None = None,
        **params: Any,
    ) -> None:
        config = config_json(learner, tasks, features, stream, query, shards, params)
        self._model = _native.Model(config, None if classes is None else list(classes))

    # -- one example at a time

    def learn_one(
        self,
        x: Any,
        y: Any,
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
        if weight == 1.0 and offset == 0.0 and time is None:
            # Most calls are so, and there are many.
            self._model.learn_one(x, y, task)
        else:
            self._model.learn_one(x, y, task, weight, offset, time)
        return self

    def margin_one(self, x: Any, task: str | int | None = None) -> float:
        """The margin of an example, whose sign is the prediction; 0 before anything is learnt."""
        return self._model.margin_one(x, task)

    @overload
    def predict_one(self, x: Any, task: str | int | None = None, *, uncertainty: Literal[False] = False) -> Any: ...
    @overload
    def predict_one(
        self, x: Any, task: str | int | None = None, *, uncertainty: Literal[True]
    ) -> tuple[Any, float]: ...
    def predict_one(self, x: Any, task: str | int | None = None, *, uncertainty: bool = False) -> Any:
        """The predicted label, called as it was learnt: the second of `classes_` if the margin is at least `threshold_`.

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
        if not uncertainty:
            return self._model.predict_one(x, task)
        label, deviation = self._model.predict_unsurely(x, task)
        return label, self._known(deviation)

    def predict_proba_one(self, x: Any, task: str | int | None = None) -> dict[Any, float]:
        """Probabilities of both labels, for learners that give them (`adaptive`).

        >>> from cognate import Learner
        >>> model = Learner(classes=["ham", "spam"]).learn_one({"win": 1}, "spam").learn_one({"lunch": 1}, "ham")
        >>> {label: round(p, 2) for label, p in model.predict_proba_one({"win": 1}).items()}
        {'ham': 0.37, 'spam': 0.63}
        """
        found = self._model.probability_one(x, task)
        if found is None:
            raise self._no_probabilities()
        return found

    def explain_one(self, x: Any, task: str | int | None = None) -> Explanation:
        """What made the margin of an example: the part of every feature, of what tasks share and of what is the task's own.

        >>> from cognate import Learner
        >>> model = Learner("perceptron", interaction={"coupled": {"b": 1}})
        >>> _ = model.learn_one({"offer": 1.0, "hello": 0.5}, 1, task="alice")
        >>> print(model.learn_one({"meeting": 1.0}, -1, task="bob").explain_one({"offer": 2.0}, task="alice"))
        margin 1.5
          feature  value  shared  own  total
          offer        2     0.5    1    1.5
        """
        margin, parts = self._model.contributions(x, task)
        return Explanation(margin, [Contribution(*part) for part in parts])

    def would_ask(self, x: Any, task: str | int | None = None) -> bool:
        """Whether the query would ask for the label of this example, were it the next to be learnt.

        >>> from cognate import Learner
        >>> model = Learner("perceptron", query={"margin": {"b": 0.1}})
        >>> asked = model.would_ask({"a": 1.0})
        >>> model.learn_one({"a": 1.0}, 1).metrics_["queries"] == asked
        True
        """
        return self._model.would_ask(x, task)

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

        X is a SciPy sparse matrix, a NumPy array, a pandas or polars frame, an Arrow table, or a list of dictionaries. CSR
        matrices, arrays and columns of float32 or float64 are read in place; other numbers and layouts are converted once.
        Columns of a frame are features by name: texts and categories become one feature per text, a missing cell is none,
        and a frame of other columns is refused later on, while their order does not matter. `tasks` is one task for all
        rows, or one per row. A table with a bad row is refused as a whole: nothing of it is learnt.
        """
        return self._learn(X, y, tasks, sample_weight)

    def _learn(self, X: Any, y: Any, tasks: Any, sample_weight: Any, order: np.ndarray | None = None) -> Self:
        weights = _tables.weights(sample_weight)
        if _tables.is_rows(X):
            listed = None if weights is None else weights.tolist()
            self._model.learn_rows(X, list(y), _spread(tasks, len(X)), listed)
            return self
        (signs, names, truth), tasks = _tables.labels(y), _tables.tasks_of(tasks)
        _tables.with_table(X, lambda table: self._model.learn(table, signs, tasks, order, weights, names, truth))
        return self

    def decision_function(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Margins of the rows of X."""
        if _tables.is_rows(X):
            pairs = zip(X, _spread(tasks, len(X)), strict=True)
            return np.array([self.margin_one(x, task) for x, task in pairs])
        tasks = _tables.tasks_of(tasks)
        return _tables.with_table(X, lambda table: self._model.margins(table, tasks))

    @overload
    def predict(self, X: Any, tasks: Any = None, *, uncertainty: Literal[False] = False) -> np.ndarray: ...
    @overload
    def predict(
        self, X: Any, tasks: Any = None, *, uncertainty: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def predict(
        self, X: Any, tasks: Any = None, *, uncertainty: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Labels of the rows of X, called as they were learnt; real numbers if those are what the learner learns.

        With `uncertainty`, a pair: the labels and the standard deviations of their margins, for learners that know them
        (`adaptive` with the logistic loss).
        """
        margins = self.decision_function(X, tasks)
        if self._model.is_regression:
            labels = self._model.responses(margins)
        else:
            labels = self._spoken()[(margins >= self.threshold_).astype(np.intp)]
        return (labels, self._uncertainties(X, tasks)) if uncertainty else labels

    def _spoken(self) -> np.ndarray:
        """What is predicted below the threshold, and from it on: the only label where only one has come."""
        negative, positive = self._model.classes
        pair = [positive if negative is None else negative, negative if positive is None else positive]
        return np.array(pair)

    def _uncertainties(self, X: Any, tasks: Any) -> np.ndarray:
        if _tables.is_rows(X):
            pairs = zip(X, _spread(tasks, len(X)), strict=True)
            return np.array([self._known(self._model.predict_unsurely(x, task)[1]) for x, task in pairs])
        tasks = _tables.tasks_of(tasks)
        return self._known(_tables.with_table(X, lambda table: self._model.uncertainties(table, tasks)))

    def _known(self, found: Any) -> Any:
        if found is None:
            raise AttributeError(f"this `{self.learner_}` does not know how sure it is; `adaptive` with the logistic loss does")
        return found

    def predict_proba(self, X: Any, tasks: Any = None) -> np.ndarray:
        """Probabilities of both labels, in the order of `classes_`, for learners that give them (`adaptive`)."""
        positive = self._probabilities(self.decision_function(X, tasks))
        return np.column_stack([1 - positive, positive])

    def fit(self, X: Any, y: Any, tasks: Any = None, sample_weight: Any = None, *, folds: int | None = None) -> Self:
        """Fit a batch learner (`convex`) to all rows at once; `status_` says how it ended.

        A row counts as if it were there `sample_weight` times. With `folds`, lambda is chosen by cross-validation in so many folds; ``status_["path"]`` lists what was tried.

        >>> import numpy as np
        >>> from cognate import Learner
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> model = Learner("convex", penalty="none", **{"lambda": 1e-9}).fit(X, [1.0, 3.0, 5.0, 7.0])
        >>> model.predict(np.array([[10.0]])).round(6)
        array([21.])
        """
        return self._fit(X, y, tasks, sample_weight, None, folds)

    def _fit(
        self, X: Any, y: Any, tasks: Any, sample_weight: Any, kind: str | None, folds: int | None = None
    ) -> Self:
        if _tables.is_rows(X):
            raise DataError("X: a batch learner is fitted to a table; pandas.DataFrame(X).fillna(0) makes one of dictionaries")
        (labels, names, truth), tasks = _tables.labels(y), _tables.tasks_of(tasks)
        weights = _tables.weights(sample_weight)
        status = _tables.with_table(
            X, lambda table: self._model.fit(table, labels, tasks, kind, names, truth, folds, weights)
        )
        self._status = json.loads(status)
        if shared := self._status["shared_intercepts"]:
            warnings.warn(
                f"{len(shared)} tasks have labels of one class only ({shared[0]!r} first): their intercept is that of all rows",
                stacklevel=3,
            )
        return self

    @property
    def status_(self) -> dict[str, Any]:
        """How the fit of a batch learner ended: why, after how many iterations, the objective, and a bound on its gap."""
        found = self.__dict__.get("_status") or json.loads(self._model.status)
        if found is None:
            raise AttributeError(f"this `{self.learner_}` has not been fitted")
        return found

    def _probabilities(self, margins: np.ndarray) -> np.ndarray:
        found = self._model.probabilities(margins)
        if found is None:
            raise self._no_probabilities()
        return found

    def _no_probabilities(self) -> AttributeError:
        return AttributeError(f"this `{self.learner_}` gives no probabilities; `adaptive` with the logistic loss does")

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
    def classes_(self) -> np.ndarray:
        """The two labels as they were learnt, that of -1 first; -1 and +1 while none has come.

        >>> from cognate import Learner
        >>> Learner().learn_one({"a": 1}, False).learn_one({"b": 1}, True).classes_
        array([False,  True])
        """
        found = self._model.classes
        if found is None:
            raise AttributeError("labels of this learner are real numbers, which have no classes")
        return np.array([label for label in found if label is not None])

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
        """R: how far an update of the column's task moves the row's task; `relations` gives that of some tasks."""
        return self._model.relations()

    def relations(self, tasks: Sequence[str | int] | None = None) -> np.ndarray:
        """R of some tasks, in their order; where there are many tasks, that of all is too large.

        >>> from cognate import Learner
        >>> model = Learner("perceptron", tasks=100_000, interaction="pooled").learn_one({"a": 1}, 1, task="north")
        >>> model.learn_one({"a": 1}, 1, task="south").relations(["north", "south"])
        array([[1., 1.],
               [1., 1.]])
        """
        return self._model.relations(None if tasks is None else list(tasks))

    @property
    def correlations_(self) -> np.ndarray:
        """R scaled so that its diagonal is 1."""
        return correlations(self.relations_)

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
        return {**self.__dict__, "_model": self._model.to_bytes(), "_labels": self._model.labels}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        model, labels = state.pop("_model"), state.pop("_labels", None)
        self.__dict__.update(state)
        self._model = _native.Model.from_bytes(model, labels)

    def __repr__(self) -> str:
        counts = json.loads(self._model.total)
        tasks = f"{self._model.task_count} task{'' if self._model.task_count == 1 else 's'}"
        text = f"{type(self).__name__}({self.learner_!r}): {tasks}"
        if (status := json.loads(self._model.status)) is not None:
            return f"{text}, {self.rounds_} examples, {status['stopped'].replace('-', ' ')} after {status['iterations']} iterations"
        text = f"{text}, {counts['examples']} example{'' if counts['examples'] == 1 else 's'}"
        if not counts["examples"]:
            return text
        name, found, constant, form = "error", counts["error"], counts["constant_error"], ".2%"
        if self.is_regression_:
            name, found, constant, form = "RMSE", counts["rmse"], counts["constant_rmse"], ".4g"
        return f"{text}, {name} {_shown(found, form)}, constant guess {_shown(constant, form)}"

    def _repr_html_(self) -> str:
        return learner_html(self)

    def plot_relations(self, tasks: Sequence[str | int] | None = None, ax: Any = None) -> Axes:
        """Draw a heatmap of the correlation form of R, of all tasks or of some; the axes are matplotlib's, new or given."""
        from .plotting import plot_relations

        return plot_relations(self, tasks, ax)

    def plot_curves(self, tasks: list[str] | None = None, ax: Any = None) -> Axes:
        """Draw the error so far against examples, overall and for some tasks, since the learner was made or loaded."""
        from .plotting import plot_curves

        return plot_curves(self, tasks, ax)


def correlations(relations: np.ndarray) -> np.ndarray:
    """A relation scaled so that its diagonal is 1."""
    scale = np.sqrt(np.abs(np.diag(relations)))
    scale[scale == 0] = 1
    return relations / np.outer(scale, scale)


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
