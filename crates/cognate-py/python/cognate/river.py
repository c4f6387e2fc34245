"""Learners for River: `Classifier` and `Regressor` work in its pipelines, metrics and evaluations.

River passes no tasks beside an example: the task is one of its features, named by `task`, and is no feature of the model.

>>> from cognate import river
>>> model = river.Classifier(task="user")
>>> for words, label, user in [("win money", True, "ann"), ("lunch at noon", False, "ann"), ("win a prize", True, "bob")]:
...     model.learn_one({"user": user, **{word: 1 for word in words.split()}}, label)
>>> model.predict_one({"user": "cid", "win": 1, "money": 1})
True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

try:
    from river import base
except ImportError:
    raise ImportError("cognate.river needs River: pip install 'cognate-learn[river]'") from None

from ._columns import is_missing
from .learner import Learner

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Classifier", "Regressor"]


class _Wrapped:
    """What both have in common."""

    learner: str
    task: str | None
    stream: dict[str, Any] | None
    params: dict[str, Any] | None

    def _model(self) -> Learner:
        model: Learner | None = self.__dict__.get("_learner")
        if model is None:
            model = self._learner = Learner(self.learner, stream=self.stream, **(self.params or {}))
        return model

    def _apart(self, x: Mapping[Any, Any]) -> tuple[dict[str, Any], Any]:
        """Features by name, and the task; booleans are numbers, and what else has no number is a text."""
        features = {key if isinstance(key, str) else str(key): value for key, value in x.items()}
        return features, None if self.task is None else _task(features.pop(self.task, None), self.task)

    def _rows(self, X: pd.DataFrame) -> tuple[list[dict[str, Any]], list[Any]]:
        """The rows of a frame one by one, since features may come and go; a missing cell is no feature."""
        pairs = [self._apart({key: None if is_missing(cell) else cell for key, cell in row.items()}) for row in X.to_dict("records")]
        return [features for features, _ in pairs], [task for _, task in pairs]

    @property
    def learner_(self) -> Learner:
        """The learner itself, with its relations, weights and metrics."""
        return self._model()


def _task(value: Any, name: str) -> Any:
    if value is None:
        raise KeyError(f"the example has no {name!r}, which names the task")
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Classifier(_Wrapped, base.MiniBatchClassifier):
    """Online classification into two classes, for many related tasks.

    Parameters
    ----------
    learner:
        Id of an online learner, one of `cognate.algorithms()`.
    task:
        The feature that names the task; None if there is only one task.
    stream:
        How examples are scaled: ``{"normalize": "l2", "clip": 10, "bias": 1}``.
    params:
        Parameters of the learner.

    Labels may be anything that can be hashed, and two of them; predictions and probabilities are called as they are.

    >>> from river import datasets, evaluate, metrics
    >>> from cognate import river
    >>> evaluate.progressive_val_score(datasets.Phishing(), river.Classifier(), metrics.Accuracy())
    Accuracy: 87.04%
    """

    def __init__(
        self,
        learner: str = "adaptive",
        *,
        task: str | None = None,
        stream: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
    ) -> None:
        self.learner = learner
        self.task = task
        self.stream = stream
        self.params = params
        #: The two labels, that of -1 first; only one where another has not come.
        self._labels: list[Any] = [False, True]
        self._met = False

    @property
    def _multiclass(self) -> bool:
        return False

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {}
        yield {"learner": "perceptron"}

    def _sign(self, y: Any) -> int:
        """-1 or 1; the first label decides what the other may be."""
        if not self._met:
            self._met = True
            if isinstance(y, str) or y not in (-1, 0, 1):
                self._labels = [y]
            elif not isinstance(y, bool):
                self._labels = [-1, 1] if y == -1 else [0, 1]
        if y not in self._labels:
            if self._labels == [0, 1] and y == -1:
                self._labels = [-1, 1]
            elif len(self._labels) == 2:
                raise ValueError(f"found the label {y!r} after {self._labels[0]!r} and {self._labels[1]!r}; expected two labels")
            else:
                self._labels.append(y)
        return 1 if self._labels.index(y) == 1 else -1

    def _remembering(self, learn: Any) -> None:
        """Learns; what fails leaves the labels as they were."""
        before = self._labels, self._met
        self._labels = list(self._labels)
        try:
            learn()
        except Exception:
            self._labels, self._met = before
            raise

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example, as if it had been seen `w` times."""
        features, task = self._apart(x)
        self._remembering(lambda: self._model().learn_one(features, self._sign(y), task, weight=w))

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """The label that the example is likely to have; of two that are equally likely the first, as before any is learnt."""
        features, task = self._apart(x)
        return self._spoken(self._model().margin_one(features, task))

    def _spoken(self, margin: float) -> Any:
        return self._labels[-1] if margin > self._model().threshold_ else self._labels[0]

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Probabilities of the labels; of a learner that gives none, 1 for the predicted one."""
        features, task = self._apart(x)
        model = self._model()
        if not self._gives_probabilities():
            predicted = self.predict_one(x)
            return {label: float(label == predicted) for label in self._labels}
        if len(self._labels) == 1:
            return {self._labels[0]: 1.0}
        negative, positive = model.predict_proba_one(features, task).values()
        return {self._labels[0]: negative, self._labels[1]: positive}

    def _gives_probabilities(self) -> bool:
        import numpy as np

        return self._model()._model.probabilities(np.zeros(1)) is not None

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a frame."""
        rows, tasks = self._rows(X)
        self._remembering(lambda: self._model().partial_fit(rows, [self._sign(label) for label in y.tolist()], tasks))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The label that every row is likely to have."""
        import pandas as pd

        return pd.Series([self._spoken(margin) for margin in self._model().decision_function(*self._rows(X))], index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities of the labels, one column each."""
        import pandas as pd

        rows = [self.predict_proba_one(row) for row in X.to_dict("records")]
        return pd.DataFrame(rows, index=X.index, columns=self._labels)


class Regressor(_Wrapped, base.MiniBatchRegressor):
    """Online regression for many related tasks.

    Parameters
    ----------
    learner:
        Id of an online learner of real labels: ``"adaptive"``, or ``"passive-aggressive"``.
    loss:
        ``"squares"``, ``"absolute"``, ``{"quantile": {"q": 0.9}}``, ``"poisson"``.
    task:
        The feature that names the task; None if there is only one task.
    stream:
        How examples are scaled.
    params:
        Further parameters of the learner.

    >>> from river import datasets, evaluate, metrics
    >>> from cognate import river
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), river.Regressor(), metrics.MAE()).get() < 1
    True
    """

    def __init__(
        self,
        learner: str = "adaptive",
        *,
        loss: str | dict[str, Any] = "squares",
        task: str | None = None,
        stream: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
    ) -> None:
        self.learner = learner
        self.loss = loss
        self.task = task
        self.stream = stream
        self.params = params

    def _model(self) -> Learner:
        model: Learner | None = self.__dict__.get("_learner")
        if model is None:
            model = self._learner = Learner(self.learner, stream=self.stream, **{"loss": self.loss, **(self.params or {})})
        return model

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn one example, as if it had been seen `w` times."""
        features, task = self._apart(x)
        self._model().learn_one(features, y, task, weight=w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """The predicted number."""
        features, task = self._apart(x)
        return self._model().predict_one(features, task)

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a frame."""
        rows, tasks = self._rows(X)
        self._model().partial_fit(rows, y, tasks)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The predicted number for every row."""
        import pandas as pd

        return pd.Series(self._model().predict(*self._rows(X)), index=X.index)
