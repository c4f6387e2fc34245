"""What all estimators for scikit-learn have in common: whose task a row is, what was learnt, and a file to keep it in."""

from __future__ import annotations

import json
import os
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from . import _native, _tables
from ._params import plain
from .errors import SnapshotError
from .explanation import Contribution, Explanation
from .learner import Learner

if TYPE_CHECKING:
    from typing_extensions import Self

TASKS = """
    task_column:
        The column of X that names the task of every row: a name, or a position. It is no feature. Where X carries its
        tasks, everything of scikit-learn works as with any estimator.

    X is anything that scikit-learn takes: arrays, SciPy's sparse matrices, pandas and polars frames. Without `task_column`,
    `tasks` beside X has one task per row, or is the name of a column of X; leave it out if there is only one task. In a
    pipeline or a search it then travels by metadata routing: ``sklearn.set_config(enable_metadata_routing=True)`` and
    ``set_fit_request(tasks=True)`` and the like.
"""

#: The form that scikit-learn brings X into.
_KIND: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}

#: Version of the files that `save` writes.
_FILE_VERSION = 1


class Multitask(BaseEstimator):
    """The common part of all estimators."""

    #: Parameters that are dictionaries, or names of choices, whose entries `set_params` reaches.
    _nested: tuple[str, ...] = ()

    learners_: list[Learner]

    def _stream(self) -> dict[str, Any]:
        return {"normalize": self.normalize, "clip": self.clip, "bias": self.bias}

    # -- rows

    def _rows(self, X: Any, y: Any, tasks: Any, *, reset: bool) -> tuple[Any, Any, Any]:
        """X, tasks and y of rows to be learnt, checked by scikit-learn."""
        if self.task_column is None:
            X, tasks = _apart(X, tasks)
            _refuse_texts(X)
            X, y = validate_data(self, X, y, reset=reset, **_KIND, **self._label_checks())
            return *_in_order(X, tasks), y
        _, y = validate_data(self, X, y, reset=reset, skip_check_array=True)
        X, tasks = self._own_column(X, tasks)
        _refuse_texts(X)
        X = check_array(X, estimator=self, input_name="X", **_KIND)
        y = self._checked_labels(y)
        check_consistent_length(X, y)
        return *_in_order(X, tasks), y

    def _asked(self, X: Any, tasks: Any) -> tuple[Any, Any]:
        """X and tasks of rows to be predicted."""
        check_is_fitted(self)
        if self.task_column is None:
            X, tasks = _apart(X, tasks)
            _refuse_texts(X)
            X, tasks = _in_order(validate_data(self, X, reset=False, **_KIND), tasks)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
            X, tasks = self._own_column(X, tasks)
            _refuse_texts(X)
            X, tasks = _in_order(check_array(X, estimator=self, input_name="X", **_KIND), tasks)
        known = self.learners_[0]._model.task_count
        if tasks is None and known > 1:
            raise ValueError(f"the estimator knows {known} tasks; say which: tasks=…")
        return X, tasks

    def _own_column(self, X: Any, tasks: Any) -> tuple[Any, Any]:
        if tasks is not None:
            raise ValueError("tasks are given twice: by task_column and beside X")
        return task_column_of(X, self.task_column)

    def _weights(self, sample_weight: Any, X: Any) -> np.ndarray | None:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _label_checks(self) -> dict[str, Any]:
        return {}

    def _checked_labels(self, y: Any) -> Any:
        from sklearn.utils.validation import _check_y

        return _check_y(y, estimator=self, y_numeric=bool(self._label_checks().get("y_numeric")))

    # -- what was learnt

    @property
    def learner_(self) -> Learner:
        """What has learnt; with more than two classes there is one for each, in `learners_`."""
        check_is_fitted(self)
        if len(self.learners_) > 1:
            raise AttributeError("with more than two classes each has a learner of its own: learners_[k] is that of classes_[k]")
        return self.learners_[0]

    @property
    def tasks_(self) -> list[str]:
        """Names of the tasks, in the order of the rows of `relations_` and `coef_`."""
        check_is_fitted(self)
        return self.learners_[0].tasks_

    @property
    def relations_(self) -> np.ndarray:
        """How much tasks learn from each other."""
        return self.learner_.relations_

    @property
    def coef_(self) -> np.ndarray:
        """Weights of every task (row) and feature (column, without that of the tasks); with many classes, one such matrix each."""
        check_is_fitted(self)
        found = np.stack([self._dense_weights(learner) for learner in self.learners_])
        return found if len(self.learners_) > 1 else found[0]

    def _dense_weights(self, learner: Learner) -> np.ndarray:
        found = np.zeros((len(self.tasks_), self._features()))
        for row, task in enumerate(self.tasks_):
            features, values = learner._model.weights(task)
            inside = (features >= 0) & (features < found.shape[1])
            found[row, features[inside]] = values[inside]
        if not found.any() and learner.rounds_ and "kernel" in json.dumps(learner.config_["learner"]):
            raise AttributeError("a learner with a kernel has no weights")
        return found

    @property
    def intercept_(self) -> np.ndarray:
        """The margin of an example without features, by task; with many classes, one row each."""
        check_is_fitted(self)
        nothing = (np.empty(0, dtype=np.int64), np.empty(0))
        found = np.array([[learner.margin_one(nothing, task) for task in self.tasks_] for learner in self.learners_])
        return found if len(self.learners_) > 1 else found[0]

    def _features(self) -> int:
        return int(self.n_features_in_) - (self.task_column is not None)

    def explain_one(self, X: Any, tasks: Any = None, *, row: int = 0) -> Explanation:
        """What made the margin of a row of X: the part of every feature, of what tasks share and of what is the task's own."""
        learner = self.learner_
        X, tasks = self._asked(X, tasks)
        one = X[row].toarray().ravel() if hasattr(X, "toarray") else X[row]
        task: Any = tasks if tasks is None or np.isscalar(tasks) else tasks[row]
        found = learner.explain_one((np.arange(len(one), dtype=np.int64), np.asarray(one, dtype=np.float64)), task)
        names = self._feature_names()
        parts = [
            Contribution(names[int(part.feature)] if names and part.feature != "bias" else part.feature, part.value, part.shared, part.own)
            for part in found.features
        ]
        return Explanation(found.margin, parts)

    def _feature_names(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return None
        names = list(names)
        if self.task_column is not None:
            names.pop(self.task_column if isinstance(self.task_column, int | np.integer) else names.index(self.task_column))
        return names

    # -- parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those within a dictionary by nested names, such as ``params__interaction__coupled__b=4``."""
        for name in list(params):
            first, *path = name.split("__")
            if path and first in self._nested:
                setattr(self, first, _changed(getattr(self, first), path, params.pop(name), choice=first != "params"))
        return super().set_params(**params)

    # -- kept

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator: its parameters, its classes, and one model file per learner, in a zip archive.

        Nothing in the file is code: `load` is safe with files of others, as pickles are not.
        """
        check_is_fitted(self)
        classes = getattr(self, "classes_", None)
        names = getattr(self, "feature_names_in_", None)
        about = {
            "file": _FILE_VERSION,
            "version": _native.version(),
            "estimator": type(self).__name__,
            "params": {name: _kept(name, value) for name, value in self.get_params(deep=False).items()},
            "classes": None if classes is None else {"dtype": classes.dtype.str, "values": classes.tolist()},
            "n_features_in_": int(self.n_features_in_),
            "feature_names_in_": None if names is None else [str(name) for name in names],
            "learners": [{"labels": learner._model.labels, "status": learner.__dict__.get("_status")} for learner in self.learners_],
        }
        partial = f"{os.fspath(path)}.partial"
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("estimator.json", json.dumps(about, indent=1))
            for at, learner in enumerate(self.learners_):
                archive.writestr(f"model-{at}.cog", learner._model.to_bytes())
        os.replace(partial, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an estimator that `save` wrote."""
        try:
            with zipfile.ZipFile(path) as archive:
                about = json.loads(archive.read("estimator.json"))
                models = [archive.read(f"model-{at}.cog") for at in range(len(about["learners"]))]
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise SnapshotError(f"{os.fspath(path)}: not an estimator that was saved: {error}") from None
        if about.get("file") != _FILE_VERSION:
            raise SnapshotError(f"{os.fspath(path)}: file version {about.get('file')}; expected {_FILE_VERSION}")
        if about["estimator"] != cls.__name__:
            raise SnapshotError(f"{os.fspath(path)}: found a {about['estimator']}; expected a {cls.__name__}")
        found = cls(**about["params"])
        found.n_features_in_ = about["n_features_in_"]
        if about["feature_names_in_"] is not None:
            found.feature_names_in_ = np.array(about["feature_names_in_"], dtype=object)
        if about["classes"] is not None:
            found.classes_ = np.array(about["classes"]["values"], dtype=np.dtype(about["classes"]["dtype"]))
        found.learners_ = []
        for kept, model in zip(about["learners"], models, strict=True):
            learner = Learner._of(_native.Model.from_bytes(model, kept["labels"]))
            if kept["status"] is not None:
                learner._status = kept["status"]
            found.learners_.append(learner)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learners_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.task_column is not None:
            tags.input_tags.string = True
            tags.input_tags.categorical = True
        return tags


def _kept(name: str, value: Any) -> Any:
    if name == "random_state" and not isinstance(value, int | np.integer | None):
        return None
    if name == "class_weight" and isinstance(value, dict):
        return {key if isinstance(key, str) else plain(key, name): weight for key, weight in value.items()}
    # `plain` writes dashes for underscores, which keywords may have as well.
    return plain(value, name)


def _changed(value: Any, path: list[str], to: Any, *, choice: bool) -> Any:
    """A nested dictionary with another entry; of a choice, such as an interaction, there is only one."""
    if not path:
        return to
    step, *rest = path
    known = {value: {}} if isinstance(value, str) else dict(value or {})
    inner = _changed(known.get(step), rest, to, choice=not choice)
    return {step: inner} if choice and step not in known else {**known, step: inner}


def _refuse_texts(X: Any) -> None:
    """Names the column of a frame that holds texts, which scikit-learn's own message does not."""
    names, columns = _tables.frame_columns(X)
    for name, column in zip(names, columns or [], strict=False):
        if str(getattr(column, "dtype", "")) not in ("object", "string", "str", "category", "String", "Categorical", "Enum"):
            continue
        found = next((cell for cell in column if isinstance(cell, str)), None)
        if found is not None and not _is_number(found):
            raise ValueError(
                f"column {name!r} of X holds texts ({found!r} first): make features of them, as by OneHotEncoder in a "
                "ColumnTransformer, or give the frame to a Learner, which does; the column of the tasks is named by task_column"
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _in_order(X: Any, tasks: Any) -> tuple[Any, Any]:
    if hasattr(X, "indptr") and not X.has_sorted_indices:
        X = X.sorted_indices()
    tasks = _tables.tasks_of(tasks)
    if tasks is not None and not np.isscalar(tasks) and len(tasks) != X.shape[0]:
        raise ValueError(f"there are {len(tasks)} tasks and {X.shape[0]} rows; expected as many of each")
    return X, tasks


def _apart(X: Any, tasks: Any) -> tuple[Any, Any]:
    """Separates the task column from X, if `tasks` is the name of a column."""
    return (X, tasks) if not isinstance(tasks, str) else task_column_of(X, tasks, "tasks")


def task_column_of(X: Any, column: str | int, what: str = "task_column") -> tuple[Any, Any]:
    """X without the column of its tasks, and that column; `column` is its name, or its position."""
    names = getattr(X, "columns", None)
    if isinstance(column, str):
        if names is None or column not in list(names):
            shown = (
                'X has no columns with names; a transformer before it may have taken them: set_output(transform="pandas"), or '
                "give the position of the column"
                if names is None
                else f"the columns are {list(names)[:8]}"
            )
            raise ValueError(f"{what}: no column of X is called {column!r}; {shown}")
        return X.drop(columns=column) if hasattr(X, "iloc") else X.drop(column), X[column]
    if not isinstance(column, int | np.integer) or isinstance(column, bool):
        raise ValueError(f"{what} is {column!r}; expected the name of a column, or its position")
    if names is not None:
        columns = list(names)
        _check_position(column, len(columns), what)
        name = columns[column]
        return X.drop(columns=name) if hasattr(X, "iloc") else X.drop(name), X[name]
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object if _has_texts(X) else None)
    if len(X.shape) != 2:
        raise ValueError(f"X has {len(X.shape)} dimensions; expected 2")
    _check_position(column, X.shape[1], what)
    at = int(column) % X.shape[1]
    if hasattr(X, "tocsc"):
        columns = X.tocsc()
        kept = np.delete(np.arange(X.shape[1]), at)
        return columns[:, kept].tocsr(), columns[:, [at]].toarray().ravel()
    return np.delete(X, at, axis=1), X[:, at]


def _has_texts(X: Any) -> bool:
    return any(isinstance(cell, str) for row in X for cell in row)


def _check_position(column: int, columns: int, what: str) -> None:
    if not -columns <= column < columns:
        raise ValueError(f"{what} is {column}, and X has {columns} columns")
