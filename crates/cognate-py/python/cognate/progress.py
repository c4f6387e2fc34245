"""Progress while learning: every example is predicted before it is learnt."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from . import _native
from .errors import DataError
from .learner import Learner


@dataclass(frozen=True)
class Progress:
    """One line of the progressive table; counts are over the model's whole life."""

    examples: int
    mistakes: int
    error: float | None
    #: Error on the examples since the previous line; of real labels their root mean squared error.
    since_last: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    updates: int
    queries: int
    #: Tasks that have had an example.
    tasks: int
    #: Error of the constant guess: the label that was the most frequent one so far.
    constant_error: float | None = None
    log_loss: float | None = None
    brier: float | None = None
    #: Area under the ROC curve of what was learnt in this process.
    auc: float | None = None
    balanced_error: float | None = None
    rmse: float | None = None
    #: Root mean squared error of the constant guess: the mean of the labels so far.
    constant_rmse: float | None = None
    mae: float | None = None
    r2: float | None = None
    loss: float | None = None


def progressive(model: Learner, stream: Any, *, skip_bad: int = 0) -> Iterator[Progress]:
    """Learn a stream and yield the progress after 1, 2, 4, 8, … examples and at the end.

    `stream` is a file, a list of files, or any iterable of ``(x, y)`` or ``(x, y, task)``. Files are learnt as by
    `cognate learn`, with the same numbers bit for bit, and completely before the first line is yielded.

    >>> from cognate import Learner, progressive
    >>> stream = [({"a": 1.0}, 1, "t"), ({"b": 1.0}, -1, "t"), ({"a": 2.0}, 1, "u"), ({"b": 1.0}, -1, "u")]
    >>> for line in progressive(Learner("perceptron"), stream):
    ...     print(line.examples, line.tasks, line.error, line.since_last)
    1 1 1.0 1.0
    2 1 1.0 1.0
    4 2 0.5 0.0
    """
    if isinstance(stream, str | os.PathLike):
        stream = [stream]
    if isinstance(stream, list) and stream and all(isinstance(path, str | os.PathLike) for path in stream):
        for line in json.loads(model._model.learn_files(stream, skip_bad)):
            yield Progress(**line)
        return
    yield from _one_by_one(model, stream)


def _one_by_one(model: Learner, stream: Iterable[Any]) -> Iterator[Progress]:
    last = model._model.counts
    seen, shown, due = 0, 0, 1
    for at, example in enumerate(stream):
        if not isinstance(example, tuple) or len(example) not in (2, 3):
            raise DataError(f"example {at}: found {example!r:.60}; expected (x, y) or (x, y, task)")
        model.learn_one(*example)
        seen += example[1] is not None
        if seen >= due:
            due *= 2
            line, last = _line(model, last)
            shown = seen
            yield line
    if seen > shown:
        yield _line(model, last)[0]


def _line(model: Learner, last: _native.Counts) -> tuple[Progress, _native.Counts]:
    now, counts = model.metrics_, model._model.counts
    met = sum(task["examples"] > 0 for task in now["tasks"])
    return Progress(**{**now, "tasks": met}, since_last=last.until(counts)), counts
