"""No wrong numbers without a word: labels come back as they went in, columns are known by name, tasks and options are not forgotten."""

import pickle

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import Stream
from sklearn.metrics import accuracy_score

from cognate import CognateClassifier, ConfigError, DataError, Learner, progressive

KINDS = {
    "signs": ([-1, 1], np.int64),
    "digits": ([0, 1], np.int64),
    "floats": ([0.0, 1.0], np.float64),
    "bools": ([False, True], bool),
    "names": (["ham", "spam"], str),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("one_by_one", [False, True])
def test_labels_come_back_as_they_went_in(kind: str, one_by_one: bool, stream: Stream, tmp_path) -> None:
    both, dtype = KINDS[kind]
    y = np.array(both, dtype=dtype)[(stream.y > 0).astype(int)]
    model = Learner(classes=both if kind == "names" else None)
    if one_by_one:
        for row in range(len(y)):
            span = slice(stream.X.indptr[row], stream.X.indptr[row + 1])
            model.learn_one((stream.X.indices[span], stream.X.data[span]), y[row], int(stream.tasks[row]))
    else:
        model.partial_fit(stream.X, y, stream.tasks)
    path = tmp_path / "m.cog"
    model.save(path)
    for known in [model, pickle.loads(pickle.dumps(model)), Learner.load(path)]:
        predicted = known.predict(stream.X, stream.tasks)
        assert accuracy_score(y, predicted) > 0.9
        assert known.classes_.tolist() == both and set(predicted.tolist()) == set(both)
        one = known.predict_one({0: 1.0}, 1)
        assert one in both and type(one) in (type(both[0]), int)
        assert list(known.predict_proba_one({0: 1.0}, 1)) == both
        margins = known.decision_function(stream.X, stream.tasks)
        assert np.allclose(known.predict_proba(stream.X, stream.tasks)[:, 1] > 0.5, margins > 0)
    # It goes on in the same words, and takes no others.
    model.partial_fit(stream.X, y, stream.tasks)
    for foreign in ["eggs", 7, None if kind == "names" else "ham"]:
        with pytest.raises(DataError, match="label|no label"):
            model.partial_fit(stream.X[:1], [foreign], stream.tasks[:1])


def test_a_word_of_two_that_came_alone_is_the_one_predicted() -> None:
    model = Learner().learn_one({"win": 1}, "spam", "a")
    assert model.predict_one({"win": 1}, "a") == "spam" == model.predict_one({"lunch": 1}, "a")
    assert model.classes_.tolist() == ["spam"]
    model.learn_one({"lunch": 1}, "ham", "a")
    assert model.predict_one({"win": 1}, "a") == "spam" and model.predict_one({"lunch": 1}, "a") == "ham"
    assert Learner(stream={"positive": "spam"}).learn_one({"a": 1}, "spam").learn_one({"b": 1}, "ham").classes_.tolist() == [
        "ham",
        "spam",
    ]


def test_kinds_of_labels_do_not_mix() -> None:
    for first, then in [(0, -1), (-1, 0), ("a", 1), (1, "a"), ("a", True), (-1, True)]:
        model = Learner().learn_one({"x": 1.0}, first)
        before = model._model.to_bytes()
        with pytest.raises(DataError, match="label: found"):
            model.learn_one({"x": 1.0}, then)
        with pytest.raises(DataError, match="label: found|labels"):
            model.partial_fit([{"x": 1.0}], [then])
        assert model._model.to_bytes() == before
    with pytest.raises(DataError, match="`CognateClassifier` takes more"):
        Learner().partial_fit(np.eye(3), ["a", "b", "c"])
    with pytest.raises(DataError, match="classes: found 1, 2; expected"):
        Learner(classes=[1, 2])


def test_a_label_of_1_may_be_of_either_kind() -> None:
    for other in [0, -1]:
        model = pickle.loads(pickle.dumps(Learner().learn_one({"x": 1.0}, 1)))
        assert model.learn_one({"y": 1.0}, other).predict_one({"y": 1.0}) == other


def test_missing_labels_in_a_table_are_told() -> None:
    with pytest.raises(DataError, match="y: row 1 has no label"):
        Learner().partial_fit(np.eye(2), ["a", None])


def test_metrics_of_others_agree() -> None:
    """The error that the model counts is that of its predictions, whoever compares them with the labels."""
    random = np.random.default_rng(0)
    model, wrong, total = Learner(), 0, 400
    for _ in range(total):
        x = {"a": random.normal(), "b": random.normal()}
        y = int(x["a"] - x["b"] > 0)
        wrong += model.predict_one(x) != y if model.rounds_ else 0
        model.learn_one(x, y)
    assert abs(wrong - model.metrics_["mistakes"]) <= 1


def frame(rows: int = 300) -> tuple[pandas.DataFrame, np.ndarray]:
    random = np.random.default_rng(3)
    X = pandas.DataFrame(random.normal(size=(rows, 4)), columns=["price", "age", "size", "rooms"])
    return X, np.where(X["price"] - 2 * X["rooms"] > 0, 1, 0)


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.from_pandas, pyarrow.Table.from_pandas], ids=["pandas", "polars", "arrow"])
def test_columns_are_known_by_name(kind, tmp_path) -> None:
    X, y = frame()
    model = Learner().partial_fit(kind(X), y)
    assert sorted(name for name in model.weights() if name != "bias") == sorted(X.columns)
    expected = model.decision_function(kind(X))
    path = tmp_path / "m.cog"
    model.save(path)
    for known in [model, Learner.load(path)]:
        assert np.array_equal(known.decision_function(kind(X[["rooms", "size", "price", "age"]])), expected)
        assert np.isclose(known.margin_one(X.iloc[5].to_dict()), expected[5])
        for wrong, message in [
            (X[["price", "age", "size"]], 'columns are not those that were learnt: "rooms" is missing'),
            (X.rename(columns={"age": "years"}), '"age" is missing, "years" is new'),
            (X.assign(colour="red"), '"colour" is new'),
            (X.assign(age="old"), 'column "age" holds texts; expected numbers'),
        ]:
            with pytest.raises(DataError, match=message):
                known.decision_function(kind(wrong))
            with pytest.raises(DataError, match=message):
                known.partial_fit(kind(wrong), y)
        with pytest.raises(DataError, match="features of this model have names"):
            known.decision_function(X.to_numpy())
    numbered = Learner().partial_fit(X.to_numpy(), y)
    with pytest.raises(DataError, match="names"):
        numbered.decision_function(kind(X))


def test_a_task_that_is_forgotten_is_told(stream: Stream) -> None:
    model = Learner().partial_fit(stream.X, stream.y, stream.tasks)
    one = {0: 1.0}
    for forgetful in [
        lambda: model.predict(stream.X),
        lambda: model.predict_proba(stream.X),
        lambda: model.predict_one(one),
        lambda: model.margin_one(one),
        lambda: model.predict_one(one, uncertainty=True),
        lambda: model.learn_one(one, 1),
        lambda: model.partial_fit(stream.X, stream.y),
        lambda: model.partial_fit([one], [1]),
        lambda: model.explain_one(one),
        lambda: model.weights(),
    ]:
        with pytest.raises(DataError, match=r"no task is given, and the model knows 5 tasks \(.*\); say which"):
            forgetful()
    only = Learner().learn_one(one, 1, "alice")
    assert only.predict_one(one) == 1 and only.predict(np.eye(2)).shape == (2,), "there is only one"
    with pytest.raises(DataError, match='knows 1 task \\("alice"\\); say which'):
        only.learn_one(one, 1)


def test_options_of_streams_are_carried_out_on_tables(stream: Stream) -> None:
    X, y, tasks = stream.X, stream.y, stream.tasks
    five = Learner("perceptron", stream={"passes": 5}).partial_fit(X, y, tasks)
    again = Learner("perceptron")
    for _ in range(5):
        again.partial_fit(X, y, tasks)
    assert five.rounds_ == 2000 and np.array_equal(five.decision_function(X, tasks), again.decision_function(X, tasks))
    shuffled = [Learner("perceptron", stream={"order": "shuffle", "seed": seed}).partial_fit(X, y, tasks) for seed in (1, 1, 2)]
    margins = [model.decision_function(X, tasks) for model in [*shuffled, again]]
    assert np.array_equal(margins[0], margins[1]) and not np.array_equal(margins[0], margins[2])
    assert shuffled[0].rounds_ == 400


def test_options_of_streams_are_those_of_files(stream: Stream, tmp_path) -> None:
    path = tmp_path / "s.svm"
    path.write_text(stream.lines())
    for options in [{"passes": 3}, {"order": "shuffle", "seed": 4}, {"order": "interleave", "passes": 2}]:
        of_file, of_table = Learner("perceptron", stream=options), Learner("perceptron", stream=options)
        *_, _ = progressive(of_file, path)
        of_table.partial_fit(stream.X, stream.y, stream.tasks)
        assert of_table.tasks_ == of_file.tasks_, options
        margins = [model.decision_function(stream.X, stream.tasks) for model in (of_file, of_table)]
        assert np.array_equal(*margins), options


def test_options_that_one_example_cannot_carry_out_are_refused() -> None:
    for options in [{"passes": 5}, {"order": "shuffle"}]:
        with pytest.raises(DataError, match="`passes` and `order` are for whole tables and files"):
            Learner(stream=options).learn_one({"a": 1}, 1)
    classes = Learner(stream={"one_vs_all": True})
    for learn in [lambda: classes.learn_one({"a": 1}, 1), lambda: classes.partial_fit(np.eye(2), [1, 0])]:
        with pytest.raises(DataError, match="stream.one-vs-all: only files are learnt so"):
            learn()
    with pytest.raises(ConfigError, match="passes"):
        Learner(stream={"passes": 0})
    for passes in [0, -1, 1.5, True]:
        with pytest.raises(ValueError, match="passes is .*; expected a whole number of at least 1"):
            CognateClassifier(passes=passes).fit(np.eye(4), [0, 1, 0, 1])
