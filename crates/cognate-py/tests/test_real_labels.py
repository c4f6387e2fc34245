"""Labels that are real numbers, learnt one after the other: what is predicted, counted, shown and refused."""

import json
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import Stream

from cognate import ConfigError, ConvexMultitaskRegressor, DataError, Learner, RunError, progressive


class RealStream(Stream):
    """Sparse rows of related tasks whose labels are far from 0 and in units of their own."""

    def __init__(self, rows: int = 400) -> None:
        super().__init__(rows)
        signal = self.X @ np.random.default_rng(2).normal(size=self.X.shape[1])
        self.y = 500 + 20 * (signal + 0.3 * (self.tasks - 3))

    def lines(self) -> str:
        """The same rows as `svm` text."""
        lines = []
        for y, line in zip(self.y, super().lines().splitlines(), strict=True):
            lines.append(f"{float(y)!r} {line.split(' ', 1)[1]}")
        return "\n".join(lines) + "\n"

    def examples(self):
        for row in range(self.X.shape[0]):
            span = slice(self.X.indptr[row], self.X.indptr[row + 1])
            yield (self.X.indices[span], self.X.data[span]), float(self.y[row]), int(self.tasks[row])


LOSSES = ["squares", "absolute", {"quantile": {"q": 0.9}}, "poisson"]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_one_by_one_is_as_tables_and_predictions_are_numbers(loss) -> None:
    stream = RealStream()
    one, table = Learner("adaptive", loss=loss), Learner("adaptive", loss=loss)
    predicted = []
    for x, y, task in stream.examples():
        predicted.append(one.predict_one(x, task))
        one.learn_one(x, y, task)
    table.partial_fit(stream.X, stream.y, stream.tasks)
    assert one._model.to_bytes() == table._model.to_bytes() and one.is_regression_
    found = table.predict(stream.X, stream.tasks)
    assert found.dtype == np.float64 and [one.predict_one(x, task) for x, _, task in stream.examples()] == found.tolist()
    margins = table.decision_function(stream.X, stream.tasks)
    assert np.allclose(found, np.exp(margins) if loss == "poisson" else margins, rtol=1e-12, atol=0)
    counts = one.metrics_
    gaps = stream.y - np.array(predicted)
    assert counts["rmse"] == pytest.approx(np.sqrt(np.mean(gaps**2)), rel=1e-9)
    assert counts["mae"] == pytest.approx(np.mean(np.abs(gaps)), rel=1e-9)
    assert counts["error"] is counts["auc"] is counts["log_loss"] is None and counts["mistakes"] == 0


@pytest.mark.parametrize(
    ("learner", "params"),
    [("adaptive", {"loss": "squares"}), ("passive-aggressive", {"loss": "epsilon-insensitive", "variant": "pa2"})],
)
def test_labels_are_learnt(learner: str, params: dict) -> None:
    stream = RealStream(rows=2000)
    model = Learner(learner, stream={"bias": 1}, **params).partial_fit(stream.X, stream.y, stream.tasks)
    gaps = stream.y - model.predict(stream.X, stream.tasks)
    assert np.sqrt(np.mean(gaps**2)) < 0.1 * stream.y.std()
    again = pickle.loads(pickle.dumps(model))
    assert again.is_regression_ and np.array_equal(again.predict(stream.X, 1), model.predict(stream.X, 1))


def test_counts_are_predicted_by_their_means() -> None:
    model = Learner("adaptive", loss="poisson")
    for _ in range(20):
        model.learn_one({"busy": 1.0}, 8).learn_one({"quiet": 1.0}, 0)
    for x in [{"busy": 1.0}, {"quiet": 1.0}]:
        assert model.predict_one(x) == pytest.approx(np.exp(model.margin_one(x)), rel=1e-12) and model.predict_one(x) > 0
    assert model.predict_one({"busy": 1.0}) > 4 > model.predict_one({"quiet": 1.0})


def test_a_fit_to_real_labels_predicts_numbers_one_by_one_too() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = Learner("convex", penalty="none", **{"lambda": 1e-9})
    assert not model.is_regression_, "that is not known yet"
    model.fit(X, [1.0, 3.0, 5.0, 7.0])
    assert model.is_regression_ and model.predict_one({0: 10.0}) == pytest.approx(21)
    assert ConvexMultitaskRegressor(lambda_=1e-6).fit(X, [1.0, 3.0, 5.0, 7.0]).learner_.is_regression_


@pytest.mark.parametrize("label", [float("nan"), float("inf"), -float("inf"), 1e308, 2e100, "many", [1.0]])
def test_labels_that_are_too_large_or_no_numbers_are_refused(label) -> None:
    model = Learner("adaptive", loss="squares").learn_one({0: 1.0}, 1e100)
    before = model._model.to_bytes()
    with pytest.raises(DataError, match="label.*(expected a.* number|between -1e100 and 1e100)") as caught:
        model.learn_one({0: 1.0}, label)
    assert isinstance(caught.value, ValueError) and model._model.to_bytes() == before


def test_negative_counts_are_refused() -> None:
    model = Learner("adaptive", loss="poisson").learn_one({0: 1.0}, 2.5)
    with pytest.raises(DataError, match="the label -1 is no count: with the loss `poisson` labels are 0 or more"):
        model.learn_one({0: 1.0}, -1)
    assert model.rounds_ == 1


@pytest.mark.parametrize(("loss", "bad"), [("poisson", -3.0), ("squares", 1e120)])
def test_a_bad_label_far_down_a_table_refuses_all_of_it(loss: str, bad: float) -> None:
    X, y = np.ones((1000, 1)), np.ones(1000)
    y[900] = bad
    model = Learner("adaptive", loss=loss)
    for table in [X, [{0: 1.0}] * 1000]:
        with pytest.raises(DataError, match="the label .* is (no count|too large)"):
            model.partial_fit(table, y)
        assert model.rounds_ == 0
    with pytest.raises(DataError, match="row 900: the label"):
        model.partial_fit(X, y)


def test_real_labels_need_a_loss_for_them() -> None:
    with pytest.raises(DataError, match="label: found 2.5; expected -1 or .1, or 0 or 1.*`squares`"):
        Learner().learn_one({0: 1.0}, 2.5)
    with pytest.raises(ConfigError, match="quantile"):
        Learner("adaptive", loss={"quantile": {"q": 1.5}})


def test_weights_and_offsets() -> None:
    def learnt(**beside) -> Learner:
        model = Learner("adaptive", loss="squares")
        for at in range(40):
            model.learn_one({0: 1.0, 1: at % 5}, 10.0 + 3 * (at % 5), "a", **beside)
        return model

    stale = learnt()
    before = stale.predict_one({0: 1.0, 1: 2.0}, "a")
    stale.learn_one({0: 1.0, 1: 2.0}, 1e6, "a", weight=0)
    assert stale.predict_one({0: 1.0, 1: 2.0}, "a") == before
    shifted = learnt(offset=10.0)
    assert shifted.predict_one({0: 1.0, 1: 2.0}, "a") == pytest.approx(before - 10, abs=0.5), "offsets are not learnt"
    for weight in [-1, float("nan"), float("inf")]:
        with pytest.raises(ValueError, match="found weight"):
            stale.learn_one({0: 1.0}, 1.0, "a", weight=weight)


def test_what_has_no_meaning_is_refused() -> None:
    model = Learner("adaptive", loss="squares").learn_one({0: 1.0}, 3.0)
    with pytest.raises(ConfigError, match="labels of this `adaptive` are real numbers; there is nothing to decide"):
        model.set_threshold(1.0)
    for ask in [lambda: model.predict_proba_one({0: 1.0}), lambda: model.predict_proba(np.eye(1))]:
        with pytest.raises(AttributeError, match="this `adaptive` gives no probabilities; `adaptive` with the logistic loss"):
            ask()
    for ask in [lambda: model.predict_one({0: 1.0}, uncertainty=True), lambda: model.predict(np.eye(1), uncertainty=True)]:
        with pytest.raises(AttributeError, match="this `adaptive` does not know how sure it is"):
            ask()
    with pytest.raises(ValueError, match="labels here are real numbers"):
        model.plot_curves()
    with pytest.raises(RunError, match="`relation-perceptron` knows nothing of offsets"):
        Learner("relation-perceptron").learn_one({0: 1.0}, 1, offset=1.0)


def test_forgetting_by_time_needs_times() -> None:
    model = Learner("adaptive", loss="squares", forget="1d").learn_one({0: 1.0}, 3.0, time=0.0)
    assert model.learn_one({0: 1.0}, 5.0, time=86400.0).rounds_ == 2
    with pytest.raises(DataError, match="the example has no time, and `forget` is a time"):
        model.learn_one({0: 1.0}, 3.0)
    assert model.rounds_ == 2


def test_it_is_shown_by_root_mean_squared_errors() -> None:
    model = Learner("adaptive", loss="squares", tasks=["a", "silent"])
    assert repr(model) == "Learner('adaptive'): 2 tasks, 0 examples"
    model.learn_one({0: 1.0}, 3.0, "a")
    assert repr(model).endswith("1 example, RMSE 3, constant guess 3")
    html = model._repr_html_()
    assert "<th>RMSE</th>" in html and "F1" not in html and "%" not in html
    assert all(task["error"] is None and task["f1"] is None for task in model.metrics_["tasks"])


def test_progress_is_told_by_root_mean_squared_errors(tmp_path: Path) -> None:
    stream = RealStream(rows=300)
    (tmp_path / "a.svm").write_text(stream.lines())
    filed, given = Learner("adaptive", loss="squares"), Learner("adaptive", loss="squares")
    by_file = list(progressive(filed, tmp_path / "a.svm"))
    by_example = list(progressive(given, stream.examples()))
    assert by_file == by_example and [line.examples for line in by_file] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert filed._model.to_bytes() == given._model.to_bytes()
    last, before = by_file[-1], by_file[-2]
    assert last.error is None and last.rmse == filed.metrics_["rmse"]
    squares = last.rmse**2 * 300 - before.rmse**2 * 256
    assert last.since_last == pytest.approx(np.sqrt(squares / 44), rel=1e-6)


@pytest.mark.skipif("COGNATE" not in os.environ, reason="COGNATE names no program; `cargo xtask python` does")
@pytest.mark.parametrize("loss", ["squares", "poisson"])
def test_the_program_gives_the_same_numbers_and_bytes(loss: str, tmp_path: Path) -> None:
    stream = RealStream(rows=300)
    (tmp_path / "a.svm").write_text(stream.lines())

    def run(*words: str) -> str:
        words = (os.environ["COGNATE"], *words)
        return subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    summary = json.loads(run("learn", "a.svm", "--set", f"loss={loss}", "--model", "m.cog", "--json"))
    model = Learner("adaptive", loss=loss)
    *_, last = progressive(model, tmp_path / "a.svm")
    assert model._model.to_bytes() == (tmp_path / "m.cog").read_bytes()
    for name in ["examples", "rmse", "constant_rmse", "mae", "r2", "loss"]:
        assert summary[name] == model.metrics_[name] == getattr(last, name), name
    rows = [json.loads(line) for line in run("predict", "a.svm", "--model", "m.cog", "--json").splitlines()]
    assert [row["label"] for row in rows] == model.predict(stream.X, stream.tasks).tolist()
    assert [row["margin"] for row in rows] == model.decision_function(stream.X, stream.tasks).tolist()
