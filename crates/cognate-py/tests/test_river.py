"""River: its own checks, its evaluations and pipelines, and whole batches."""

import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest
import river.checks
from river import compose, datasets, evaluate, feature_extraction, metrics, preprocessing, stream

from cognate import river as ours

ESTIMATORS = [ours.Classifier(), ours.Classifier("perceptron"), ours.Regressor(), ours.Regressor("passive-aggressive", loss="epsilon-insensitive")]
CHECKS = [
    pytest.param(estimator, check, id=f"{type(estimator).__name__}-{estimator.learner}-{getattr(check, '__name__', check)}-{at}")
    for estimator in ESTIMATORS
    for at, check in enumerate(river.checks.yield_checks(estimator))
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_checks_of_river(estimator, check) -> None:
    check(estimator.clone())


def test_importing_the_package_does_not_import_river() -> None:
    code = "import sys, cognate; assert 'river' not in sys.modules and 'sklearn' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_progressive_evaluation_is_that_of_the_model() -> None:
    model = ours.Classifier()
    accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert abs((1 - accuracy.get()) - model.learner_.metrics_["error"]) < 2 / 1250, "the error is the same, whoever counts"
    area = evaluate.progressive_val_score(datasets.Phishing(), ours.Classifier(), metrics.ROCAUC())
    assert area.get() > 0.9


@pytest.mark.parametrize("both", [["ham", "spam"], [0, 1], [-1, 1], [False, True], ["1", "2"], [3, 7]])
def test_labels_are_called_as_they_are(both) -> None:
    random = np.random.default_rng(0)
    model = ours.Classifier()
    for _ in range(200):
        x = {"a": random.normal(), "user": "ann"}
        y = both[int(x["a"] > 0)]
        model.learn_one(x, y)
    assert model.predict_one({"a": 2.0}) == both[1] and model.predict_one({"a": -2.0}) == both[0]
    assert set(model.predict_proba_one({"a": 2.0})) == set(both) and model.predict_proba_one({"a": 2.0})[both[1]] > 0.5
    frame = pandas.DataFrame({"a": [2.0, -2.0]}, index=[7, 3])
    assert model.predict_many(frame).to_dict() == {7: both[1], 3: both[0]}
    assert set(model.predict_proba_many(frame).columns) == set(both)
    with pytest.raises(ValueError, match="expected two labels"):
        model.learn_one({"a": 1.0}, "eggs")
    assert model.predict_one({"a": 2.0}) == both[1]


def shops(rows: int = 600):
    random = np.random.default_rng(2)
    for _ in range(rows):
        shop = str(random.choice(["north", "south"]))
        x = {"shop": shop, "price": random.normal(), "age": random.normal()}
        yield x, bool(2 * x["price"] + x["age"] * (shop == "south") > 0)


def test_tasks_are_a_feature_that_is_named() -> None:
    model = ours.Classifier(task="shop")
    accuracy = evaluate.progressive_val_score(shops(), model, metrics.Accuracy())
    assert accuracy.get() > 0.88 and sorted(model.learner_.tasks_) == ["north", "south"]
    assert set(model.learner_.weights("north")) <= {"price", "age", "bias"}
    with pytest.raises(KeyError, match="the example has no 'shop', which names the task"):
        model.predict_one({"price": 1.0})
    assert pickle.loads(pickle.dumps(model)).predict_one({"shop": "north", "price": 1.0}) is True
    fresh = model.clone()
    assert fresh.learner_.rounds_ == 0 and fresh.task == "shop"


def test_pipelines() -> None:
    numbers = compose.Select("price", "age") | preprocessing.StandardScaler()
    model = (numbers + compose.Select("shop")) | ours.Classifier(task="shop")
    assert evaluate.progressive_val_score(shops(), model, metrics.Accuracy()).get() > 0.88
    words = feature_extraction.BagOfWords(lowercase=True) | ours.Classifier()
    for text, label in [("win money now", "spam"), ("lunch at noon", "ham")] * 5:
        words.learn_one(text, label)
    assert words.predict_one("money money") == "spam"


def test_whole_batches_teach_what_single_examples_do() -> None:
    examples = list(shops(200))
    one, many = ours.Classifier(task="shop"), ours.Classifier(task="shop")
    for x, y in examples:
        one.learn_one(x, y)
    X, y = pandas.DataFrame([x for x, _ in examples]), pandas.Series([y for _, y in examples])
    for part in np.array_split(np.arange(200), 3):
        many.learn_many(X.iloc[part], y.iloc[part])
    assert one.learner_._model.to_bytes() == many.learner_._model.to_bytes()
    assert many.predict_many(X).tolist() == [one.predict_one(x) for x, _ in examples]
    numbers = ours.Regressor(task="shop")
    numbers.learn_many(X, X["price"] * 3)
    assert numbers.predict_many(X.iloc[:4]).index.tolist() == [0, 1, 2, 3]


def test_regression() -> None:
    found = evaluate.progressive_val_score(datasets.TrumpApproval(), ours.Regressor(), metrics.MAE())
    assert found.get() < 1.0
    upper = ours.Regressor(loss={"quantile": {"q": 0.9}})
    below, total = 0, 0
    for x, y in stream.iter_array(np.random.default_rng(0).normal(size=(800, 2)), np.random.default_rng(1).normal(size=800)):
        below += total > 200 and y <= upper.predict_one(x)
        total += 1
        upper.learn_one(x, y)
    assert 0.82 < below / 599 < 0.97
