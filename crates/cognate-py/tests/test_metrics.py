"""Metrics beside those of scikit-learn, on the margins that a model gave before it learnt."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Stream

from cognate import Learner


def progressive_margins(model: Learner, stream: Stream) -> np.ndarray:
    """The margin of every row before it is learnt."""
    margins = []
    for row, (y, task) in enumerate(zip(stream.y, stream.tasks, strict=True)):
        span = slice(stream.X.indptr[row], stream.X.indptr[row + 1])
        x = dict(zip(stream.X.indices[span].tolist(), stream.X.data[span].tolist(), strict=True))
        margins.append(model.margin_one(x, task))
        model.learn_one(x, y, task)
    return np.array(margins)


def test_metrics_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    stream = Stream(rows=800)
    model = Learner("adaptive")
    margins = progressive_margins(model, stream)
    labels = np.where(np.asarray(stream.y) > 0, 1, 0)
    probabilities = 1 / (1 + np.exp(-margins))
    tasks = np.array([str(task) for task in stream.tasks])
    of_all = model.metrics_
    rows = [(np.full(len(labels), True), of_all)]
    rows += [(tasks == row["task"], row) for row in of_all["tasks"]]
    for chosen, found in rows:
        y, p, m = labels[chosen], probabilities[chosen], margins[chosen]
        predicted = np.where(m == 0, 1 - y, m > 0)
        expected = {
            "auc": metrics.roc_auc_score(y, m),
            "log_loss": metrics.log_loss(y, p),
            "brier": metrics.brier_score_loss(y, p),
            "precision": metrics.precision_score(y, predicted, zero_division=0),
            "recall": metrics.recall_score(y, predicted, zero_division=0),
            "f1": metrics.f1_score(y, predicted, zero_division=0),
            "balanced_error": 1 - metrics.balanced_accuracy_score(y, predicted),
        }
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-9), name


def test_one_class_only() -> None:
    model = Learner("adaptive")
    for value in range(5):
        model.learn_one({0: float(value)}, 1)
    counts = model.metrics_
    assert counts["auc"] is None and counts["balanced_error"] is None
    assert counts["constant_error"] == 1 / 5 and counts["log_loss"] > 0 and counts["rmse"] is None
