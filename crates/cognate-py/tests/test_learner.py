"""One example at a time: features by name and by number, every learner, saving, and refusals."""

import copy
import pickle

import numpy as np
import pytest
from conftest import Stream

import cognate
from cognate import ConfigError, DataError, FileError, Learner, RunError, SnapshotError


def rows(stream: Stream):
    for row in range(stream.X.shape[0]):
        span = slice(stream.X.indptr[row], stream.X.indptr[row + 1])
        yield (stream.X.indices[span], stream.X.data[span]), stream.y[row], int(stream.tasks[row])


ONLINE = [about["id"] for about in cognate.algorithms() if about["protocol"] != "batch"]


@pytest.mark.parametrize("learner", ONLINE)
def test_every_learner_learns_one_by_one_as_it_learns_tables(learner: str) -> None:
    stream = Stream(rows=120)
    one, table = Learner(learner, tasks=5), Learner(learner, tasks=5)
    margins = []
    for x, y, task in rows(stream):
        margins.append(one.margin_one(x, task))
        assert one.learn_one(x, y, task) is one
    assert table.partial_fit(stream.X, stream.y, stream.tasks) is table
    assert one._model.to_bytes() == table._model.to_bytes()
    assert np.array_equal(one.decision_function(stream.X, stream.tasks), table.decision_function(stream.X, stream.tasks))
    mistakes = sum(y * margin <= 0 for (_, y, _), margin in zip(rows(stream), margins, strict=True))
    assert one.metrics_["mistakes"] == mistakes and one.rounds_ == 120


def test_names_are_features_of_their_own() -> None:
    model = Learner("perceptron", interaction="independent")
    model.learn_one({"price": 0.5, "colour": "red", "new": True, "gone": None}, 1, task="a")
    assert model.weights("a") == {"price": 0.5, "colour=red": 1.0, "new": 1.0}
    assert model.margin_one({"colour": "red"}, "a") == 1 and model.margin_one({"colour": "blue"}, "a") == 0
    assert model.config_["format"] == {"jsonl": {}}, "as a file of JSON lines has it"
    assert model.config_["naming"] == {"named": {}}
    again = pickle.loads(pickle.dumps(model))
    assert again.margin_one({"price": 2.0}, "a") == 1.0


def test_hashed_names() -> None:
    model = Learner("perceptron", stream={"naming": {"hashed": {"bits": 10}}})
    assert model.learn_one({"a": 1.0}, 1).margin_one({"a": 3.0}) == 3.0


def test_names_and_numbers_do_not_mix() -> None:
    named, numbered = Learner().learn_one({"a": 1.0}, 1), Learner().learn_one({3: 1.0}, 1)
    with pytest.raises(DataError, match="given by number; those of this model have names"):
        named.learn_one({3: 1.0}, 1)
    with pytest.raises(DataError, match="given by name; those of this model have numbers"):
        numbered.margin_one({"a": 1.0})
    with pytest.raises(DataError, match="must all have names, or all numbers"):
        Learner().learn_one({"a": 1.0, 3: 1.0}, 1)
    with pytest.raises(DataError, match="features of this model have names"):
        named.partial_fit(np.eye(2), [1, -1])
    assert named.learn_one({}, 1).rounds_ == 2, "no features fit both"


def test_before_anything_is_learnt_margins_are_zero() -> None:
    model = Learner("perceptron")
    assert model.margin_one({"a": 1.0}) == 0 and model.predict_one({"a": 1.0}) == 1
    assert model.margin_one({4: 1.0}, task="never seen") == 0
    assert model.learn_one({"a": 1.0}, -1).predict_one({"a": 1.0}) == -1, "asking decides nothing"


def test_tasks_are_names_or_numbers() -> None:
    model = Learner("perceptron").learn_one({0: 1.0}, 1, task=7).learn_one({0: 1.0}, 1, task="7")
    model.learn_one({0: 1.0}, 1, task=np.int64(8)).learn_one({0: 1.0}, 1, task="default")
    assert model.tasks_ == ["7", "8", "default"]
    for bad in [True, 1.5, "", "a\nb", b"x", object()]:
        with pytest.raises(DataError, match="expected"):
            model.learn_one({0: 1.0}, 1, task=bad)
    assert model.rounds_ == 4


def test_declared_tasks_are_all_there_are() -> None:
    model = Learner("perceptron", tasks=["a", "b"])
    for refused in [lambda: model.learn_one({0: 1.0}, 1, task="c"), lambda: model.margin_one({0: 1.0}, task="c")]:
        with pytest.raises(DataError, match=r'task "c" is not one of the 2 declared tasks \(a, b\)'):
            refused()
    with pytest.raises(DataError, match="row 1: task .* is not one of the 2 declared"):
        model.partial_fit(np.eye(2), [1, 1], ["a", "c"])
    assert model.rounds_ == 0


@pytest.mark.parametrize("label", [2, 0.5, float("nan"), float("inf"), "", [1]])
def test_bad_labels_are_refused(label: object) -> None:
    with pytest.raises(DataError, match="label.*expected -1 or \\+1, or 0 or 1"):
        Learner().learn_one({0: 1.0}, label)


def test_a_bad_example_leaves_nothing_behind() -> None:
    model = Learner("perceptron", tasks=["a"]).learn_one({"x": 1.0}, 1, "a")
    before = model._model.to_bytes()
    for x, y, task in [({"new": 1.0}, 1, "b"), ({"new": float("nan")}, 1, "a"), ({"new": 1.0}, 3, "a")]:
        with pytest.raises(DataError):
            model.learn_one(x, y, task)
        with pytest.raises(DataError):
            model.partial_fit([{"x": 1.0}, x], [1, y], ["a", task])
    model.margin_one({"other": 1.0}, "a")
    assert model._model.to_bytes() == before


def test_what_is_not_labelled_is_only_counted() -> None:
    model = Learner("perceptron", query={"margin": {"b": 1}}).learn_one({"a": 1.0}, None)
    assert model.metrics_["examples"] == 0 and model.rounds_ == 1


def test_config_errors_are_those_of_the_library() -> None:
    for make, message in [
        (lambda: Learner("perceptrn"), "unknown variant `perceptrn`, expected one of `perceptron`"),
        (lambda: Learner("rom-pgd", etta=1), "unknown field `etta`, expected one of `eta`"),
        (lambda: Learner("passive-aggressive", c=-1), "learner.passive-aggressive.c: must be positive"),
        (lambda: Learner("passive-aggressive", c=float("nan")), "learner.passive-aggressive.c: must be a finite"),
        (lambda: Learner("perceptron", tasks=["a", "a"]), 'the name "a" is given twice'),
        (lambda: Learner("perceptron", tasks=0), "tasks: must be at least 1, got 0"),
        (lambda: Learner("perceptron", interaction=object()), "learner.perceptron.interaction: found <object"),
        (lambda: Learner(3), "learner: found 3"),
        (lambda: Learner("perceptron", stream={"normalise": "l2"}), "unknown field `normalise`"),
        (lambda: Learner("schatten-perceptron", query="margin"), "query: must be `all`"),
        (lambda: Learner("relation-perceptron", priming="50%"), "needs the number of rounds"),
    ]:
        with pytest.raises(ConfigError, match=message.replace("[", "\\[")) as caught:
            make()
        assert isinstance(caught.value, ValueError)


def test_underscores_stand_for_dashes_and_matrices_for_rows() -> None:
    assert Learner("collaborative", c_global=2.0).config_["learner"]["collaborative"]["c-global"] == 2.0
    A = np.array([[2.0, -1.0], [-1.0, 2.0]])
    model = Learner("perceptron", tasks=["a", "b"], interaction={"matrix": {"rows": A}})
    assert np.allclose(model.relations_, np.linalg.inv(A))


def test_files_that_are_missing_or_damaged(tmp_path) -> None:
    with pytest.raises(FileError, match="nowhere.cog") as caught:
        Learner.load(tmp_path / "nowhere.cog")
    assert isinstance(caught.value, OSError)
    path = tmp_path / "m.cog"
    Learner("perceptron").learn_one({0: 1.0}, 1).save(path)
    whole = path.read_bytes()
    for damaged in [b"", b"something else", whole[:-5], whole + b"x", whole[:40] + b"?" + whole[41:]]:
        path.write_bytes(damaged)
        with pytest.raises(SnapshotError):
            Learner.load(path)
    with pytest.raises(FileError, match="matrix.csv"):
        Learner("perceptron", interaction={"matrix": {"file": tmp_path / "matrix.csv"}})


def test_numbers_that_run_away_are_told() -> None:
    model = Learner("kernel-perceptron", kernel={"polynomial": {"degree": 8}}).learn_one({0: 1.0}, 1)
    with pytest.raises(RunError, match="round 3: the margin of task default is -inf; the learner has diverged"):
        model.partial_fit(np.array([[1e30], [1e30]]), [-1, 1])


def test_what_would_not_load_is_neither_saved_nor_pickled(tmp_path) -> None:
    path = tmp_path / "m.cog"
    Learner("adaptive").learn_one({0: 1.0}, 1).save(path)
    before = path.read_bytes()
    lost = Learner("adaptive", rate=1e150).learn_one({0: 1e-150}, 1)
    for keep in [lambda: lost.save(path), lambda: pickle.dumps(lost), lambda: copy.deepcopy(lost)]:
        with pytest.raises(SnapshotError, match="would not load again: a weight is not finite .scale the examples"):
            keep()
    assert path.read_bytes() == before and Learner.load(path).metrics_["examples"] == 1


def test_a_margin_that_is_not_finite_is_told() -> None:
    model = Learner("kernel-perceptron", kernel="polynomial").learn_one({0: 1e100}, 1)
    with pytest.raises(DataError, match="row 0: the margin of task default is inf; expected a finite number"):
        model.margin_one({0: 1e100})
    with pytest.raises(DataError, match="rows:2: the margin of task default is inf; expected a finite number"):
        model.decision_function(np.array([[1.0], [1e100]]))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_alone(copied, stream: Stream) -> None:
    model = Learner("adaptive").partial_fit(stream.X, stream.y, stream.tasks)
    other = copied(model)
    before = other._model.to_bytes()
    assert before == model._model.to_bytes()
    model.partial_fit(stream.X, -stream.y, stream.tasks)
    assert other._model.to_bytes() == before != model._model.to_bytes()


def test_a_copy_of_a_fresh_learner_is_as_open_as_it_was() -> None:
    for tasks, known in [(["a", "b"], ["a", "b"]), (2, ["a"])]:
        fresh = pickle.loads(pickle.dumps(Learner("perceptron", tasks=tasks)))
        fresh.learn_one({"x": 1.0}, 1, task="a")
        assert fresh.tasks_ == known and fresh.margin_one({"x": 2.0}, task="a") > 0


def test_what_a_learner_knows(stream: Stream, tmp_path) -> None:
    model = Learner("relation-perceptron").partial_fit(stream.X, stream.y, stream.tasks)
    assert sorted(model.tasks_) == ["1", "2", "3", "4", "5"]
    assert model.relations_.shape == (5, 5) and np.allclose(model.relations_, model.relations_.T)
    assert np.allclose(np.diag(model.correlations_), 1)
    counts = model.metrics_
    assert counts["examples"] == 400 == sum(task["examples"] for task in counts["tasks"])
    assert model.weights(1) and set(model.weights("1")) <= set(range(30))
    with pytest.raises(DataError, match='no task is called "6"; nearest: '):
        model.weights(6)
    model.save(tmp_path / "m.cog")
    again = Learner.load(tmp_path / "m.cog")
    assert _saved(again.metrics_) == _saved(counts) and again.config_ == model.config_


def _saved(counts: dict) -> dict:
    """All but the areas under curves, which are of what a process has learnt."""
    tasks = [{name: value for name, value in task.items() if name != "auc"} for task in counts["tasks"]]
    return {**counts, "auc": None, "tasks": tasks}


def test_probabilities_where_there_are_some(stream: Stream) -> None:
    model = Learner("adaptive").partial_fit(stream.X, stream.y, stream.tasks)
    both = model.predict_proba(stream.X, stream.tasks)
    assert both.shape == (400, 2) and np.allclose(both.sum(axis=1), 1) and (both >= 0).all()
    assert np.array_equal(both[:, 1] >= 0.5, model.predict(stream.X, stream.tasks) > 0)
    one = model.predict_proba_one({0: 1.0}, task=1)
    assert set(one) == {-1, 1} and abs(sum(one.values()) - 1) < 1e-12
    with pytest.raises(AttributeError, match="gives no probabilities"):
        Learner("perceptron").learn_one({0: 1.0}, 1).predict_proba_one({0: 1.0})


def test_rounds_of_all_tasks() -> None:
    model = Learner("perceptron", tasks=2, stream={"simultaneous": True})
    model.learn_round({"a": ({0: 1.0}, 1), "b": ({0: 1.0}, -1)})
    # Both margins were computed first: each is a mistake at 0, and the two updates keep what separates the tasks.
    assert model.metrics_["mistakes"] == 2 and model.margin_one({0: 1.0}, "a") == -model.margin_one({0: 1.0}, "b") > 0
    with pytest.raises(DataError, match="simultaneous"):
        model.learn_one({0: 1.0}, 1, "a")
    assert model.rounds_ == 1


def test_a_batch_learner_does_not_learn_from_streams() -> None:
    with pytest.raises(RunError, match="does not learn from streams"):
        Learner("convex").learn_one({0: 1.0}, 1)
    with pytest.raises(ConfigError, match="learns from streams and cannot be fitted"):
        Learner("perceptron").fit(np.eye(2), [1, -1])


def test_help_is_useful() -> None:
    import pydoc

    text = pydoc.render_doc(Learner)
    for word in ["learn_one", "partial_fit", "relations_", "interaction", "Examples"]:
        assert word in text


# -- weights, offsets, thresholds


def test_a_weight_is_how_often_an_example_is_seen() -> None:
    weighted, repeated = Learner("perceptron"), Learner("perceptron")
    for at in range(30):
        x, y = {0: 1.0, 1 + at % 4: 0.5 + at % 3}, 1 if at % 4 < 2 else -1
        weighted.learn_one(x, y, "a", weight=3)
        for _ in range(3):
            repeated.learn_one(x, y, "a")
    for feature in range(5):
        assert weighted.margin_one({feature: 1.0}, "a") == pytest.approx(repeated.margin_one({feature: 1.0}, "a"))


def test_weight_zero_teaches_nothing_and_other_weights_are_refused() -> None:
    model = Learner("perceptron").learn_one({"a": 1.0}, 1, weight=0)
    assert model.margin_one({"a": 1.0}) == 0 and model.rounds_ == 1
    for weight in [-1, float("nan"), float("inf")]:
        with pytest.raises(DataError, match="found weight .*; expected a number from 0"):
            model.learn_one({"a": 1.0}, 1, weight=weight)
    with pytest.raises(DataError, match="found offset NaN"):
        model.learn_one({"a": 1.0}, 1, offset=float("nan"))
    with pytest.raises(DataError, match="found time"):
        model.learn_one({"a": 1.0}, 1, time=float("nan"))
    with pytest.raises(RunError, match="`p-norm-perceptron` knows nothing of weights"):
        Learner("p-norm-perceptron").learn_one({"a": 1.0}, 1, weight=2)
    assert model.rounds_ == 1


def test_an_offset_is_added_and_not_learnt() -> None:
    model = Learner("perceptron").learn_one({"a": 1.0}, 1, offset=5.0)
    assert model.margin_one({"a": 1.0}) == 0, "the offset was enough"
    assert model.learn_one({"a": 1.0}, 1, offset=-5.0).margin_one({"a": 1.0}) == 1


def test_a_threshold_decides_and_is_saved() -> None:
    model = Learner("perceptron").learn_one({0: 1.0}, 1)
    assert model.threshold_ == 0 and model.predict_one({0: 0.5}) == 1
    again = pickle.loads(pickle.dumps(model.set_threshold(0.75)))
    assert again.threshold_ == 0.75
    assert again.predict_one({0: 0.5}) == -1 and again.predict(np.array([[0.5], [1.0]])).tolist() == [-1, 1]
    with pytest.raises(ConfigError, match="must be a finite number"):
        model.set_threshold(float("nan"))


def test_how_sure_predictions_are(stream: Stream) -> None:
    model = Learner().partial_fit(stream.X, stream.y, stream.tasks)
    labels, deviations = model.predict(stream.X, stream.tasks, uncertainty=True)
    assert np.array_equal(labels, model.predict(stream.X, stream.tasks)) and (deviations > 0).all()
    one_by_one = [model.predict_one(x, task, uncertainty=True) for x, _, task in rows(stream)]
    assert one_by_one == list(zip(labels.tolist(), deviations.tolist(), strict=True))
    assert all(isinstance(label, int) for label, _ in one_by_one)
    listed = model.predict([x for x, _, _ in rows(stream)], stream.tasks, uncertainty=True)
    assert np.array_equal(listed[0], labels) and np.array_equal(listed[1], deviations)
    # What was seen often is better known than what was never seen.
    assert model.predict_one({0: 1.0}, 1, uncertainty=True)[1] < model.predict_one({99: 1.0}, 1, uncertainty=True)[1]
    other = Learner("perceptron").partial_fit(stream.X, stream.y, stream.tasks)
    for ask in [lambda: other.predict(stream.X, stream.tasks, uncertainty=True), lambda: other.predict_one({0: 1.0}, 1, uncertainty=True)]:
        with pytest.raises(AttributeError, match="this `perceptron` does not know how sure it is"):
            ask()


def test_weights_are_in_the_metrics() -> None:
    model = Learner("perceptron").learn_one({"a": 1.0}, 1, weight=3).learn_one({"a": 1.0}, 1)
    counts = model.metrics_
    assert counts["examples"] == 2 and counts["mistakes"] == 1 and counts["error"] == 0.75
    *_, last = cognate.progressive(model, [({"a": 1.0}, -1), ({"a": 1.0}, 1)])
    assert last.since_last == 1, "a mistake, and a margin of 0"


@pytest.mark.parametrize("weights", [[1.0, "x"], [[1.0, 1.0]], 3.0])
def test_weights_that_are_no_numbers_in_a_row_are_refused(weights) -> None:
    for X in [np.eye(2), [{0: 1.0}, {1: 1.0}]]:
        with pytest.raises(DataError, match="(sample_weight: .*|there are 1 weights; )expected"):
            Learner("perceptron").partial_fit(X, [1, -1], sample_weight=weights)


@pytest.mark.parametrize("learner", ["perceptron", "passive-aggressive"])
def test_shards_learn_one_by_one_as_they_learn_tables(learner: str) -> None:
    stream = Stream(rows=300)
    one, table = (Learner(learner, tasks=5, shards={"count": 3, "mix": 40}) for _ in range(2))
    for x, y, task in rows(stream):
        one.learn_one(x, y, task)
    table.partial_fit(stream.X, stream.y, stream.tasks)
    assert one._model.to_bytes() == table._model.to_bytes()
    assert np.array_equal(one.decision_function(stream.X, stream.tasks), table.decision_function(stream.X, stream.tasks))
    with pytest.raises(ConfigError, match=r"shards\.count: must be from 1 to 65536, got 0"):
        Learner(learner, shards=0)
