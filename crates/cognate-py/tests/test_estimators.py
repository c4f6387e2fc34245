"""scikit-learn's conventions: its own checks, searches, pipelines, frames, tasks as arrays and as columns."""

import pickle

import numpy as np
import pandas
import polars
import pytest
import sklearn
from conftest import Stream
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cognate import (
    CognateClassifier,
    CognateRegressor,
    ConfigError,
    ConvexMultitaskClassifier,
    ConvexMultitaskRegressor,
    Learner,
)

ALL = [
    CognateClassifier(passes=5, random_state=0),
    CognateRegressor(passes=5, random_state=0),
    ConvexMultitaskClassifier(),
    ConvexMultitaskRegressor(),
]


def _expected(estimator) -> dict[str, str]:
    """What weights are held to beyond the seventh digit.

    An online learner learns one row after the other: a row of weight 2 is not two rows in other places of a shuffle. A penalty on the
    structure has no closed form: a fit ends within its tolerance. Without one the equivalence is exact, and checked.
    """
    if isinstance(estimator, CognateClassifier | CognateRegressor):
        reason = "the order of rows matters"
    elif estimator.penalty is None:
        reason = "a fit ends within its tolerance of the optimum"
    else:
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ["dense", "sparse"]}


OTHERS = [
    CognateClassifier("perceptron", bias=1.0, passes=20, random_state=0),
    ConvexMultitaskClassifier(penalty="none"),
    ConvexMultitaskRegressor(penalty="none"),
]


# No other check is left out. `check_array_api_input` skips itself unless SCIPY_ARRAY_API is set.
@parametrize_with_checks([*ALL, *OTHERS], expected_failed_checks=_expected)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_fit_learns_what_a_learner_learns(stream: Stream) -> None:
    estimator = CognateClassifier("perceptron", shuffle=False).fit(stream.X, stream.y, tasks=stream.tasks)
    learner = Learner("perceptron").partial_fit(stream.X, stream.y, stream.tasks)
    assert estimator.learner_._model.to_bytes() == learner._model.to_bytes()
    halves = CognateClassifier("perceptron")
    for rows in [slice(0, 200), slice(200, None)]:
        assert halves.partial_fit(stream.X[rows], stream.y[rows], tasks=stream.tasks[rows]) is halves
    assert halves.learner_._model.to_bytes() == learner._model.to_bytes()
    assert np.array_equal(halves.predict(stream.X, stream.tasks), learner.predict(stream.X, stream.tasks))


def test_tasks_that_are_related_learn_from_each_other() -> None:
    stream = Stream(rows=3000, tasks=20)
    kept, rest = slice(0, 1500), slice(1500, None)
    scores = {}
    for b in ["independent", {"coupled": {"b": 20}}]:
        model = CognateClassifier("perceptron", params={"interaction": b}, shuffle=False)
        model.fit(stream.X[kept], stream.y[kept], tasks=stream.tasks[kept])
        scores[str(b)] = model.score(stream.X[rest], stream.y[rest], tasks=stream.tasks[rest])
    assert scores["{'coupled': {'b': 20}}"] > scores["independent"] + 0.03, scores


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame])
@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: type(estimator).__name__)
def test_a_column_may_name_the_tasks(kind, estimator, stream: Stream) -> None:
    dense = stream.X.toarray()
    columns = {f"c{at}": dense[:, at] for at in range(dense.shape[1])}
    users = np.array(["ann", "bob", "cy", "di", "ed", "flo"])[stream.tasks]
    frame = kind({"c0": columns["c0"], "user": users, **columns})
    by_column, by_array = clone(estimator).fit(frame, stream.y, tasks="user"), clone(estimator)
    by_array.fit(kind(columns), stream.y, tasks=users)
    assert list(by_column.feature_names_in_) == list(columns)
    assert np.array_equal(by_column.predict(frame, tasks="user"), by_array.predict(kind(columns), tasks=users))
    assert by_column.score(frame, stream.y, tasks="user") == by_array.score(kind(columns), stream.y, tasks=users) > 0.4
    for wrong, X in [("usr", frame), ("user", dense)]:
        with pytest.raises(ValueError, match=f"no column of X is called '{wrong}'"):
            clone(estimator).fit(X, stream.y, tasks=wrong)


def test_tasks_must_be_said_where_there_are_several(stream: Stream) -> None:
    model = CognateClassifier().fit(stream.X, stream.y, tasks=stream.tasks)
    with pytest.raises(ValueError, match="knows 5 tasks; say which"):
        model.predict(stream.X)
    with pytest.raises(ValueError, match="there are 3 tasks and 400 rows"):
        model.predict(stream.X, tasks=[1, 2, 3])
    assert len(model.predict(stream.X, tasks=["never seen"] * 400)) == 400


def test_classes_have_any_name(stream: Stream) -> None:
    y = np.where(stream.y > 0, "spam", "fine")
    model = CognateClassifier().partial_fit(stream.X[:1], y[:1], tasks=stream.tasks[:1], classes=["spam", "fine"])
    model.partial_fit(stream.X, y, tasks=stream.tasks)
    assert list(model.classes_) == ["fine", "spam"] and set(model.predict(stream.X, stream.tasks)) == {"fine", "spam"}
    with pytest.raises(ValueError, match="y has the class"):
        model.partial_fit(stream.X[:1], ["eggs"], tasks=[1])
    with pytest.raises(ValueError, match="one class only"):
        CognateClassifier().fit(stream.X, ["spam"] * 400)
    both = model.predict_proba(stream.X, stream.tasks)
    assert np.array_equal(model.classes_[both.argmax(axis=1)], model.predict(stream.X, stream.tasks))
    assert not hasattr(CognateClassifier("perceptron"), "predict_proba")


def test_parameters_are_kept_cloned_and_checked_when_they_are_used(stream: Stream) -> None:
    model = CognateClassifier("rom-pgd", params={"alpha": 0.5}, normalize="l2", clip=3.0, bias=1.0, passes=2)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(learner="perceptron", params=None).learner == "perceptron"
    learner = model.fit(stream.X, stream.y).learner_
    assert learner.config_["preprocess"] == {"normalize": "l2", "clip": 3.0, "bias": 1.0}
    with pytest.raises(ConfigError, match="unknown field `b`"):
        CognateClassifier("perceptron", params={"b": 1}).fit(stream.X, stream.y)


@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: type(estimator).__name__)
def test_pickles_predict_the_same(estimator, stream: Stream) -> None:
    model = clone(estimator).fit(stream.X, stream.y, tasks=stream.tasks)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(stream.X, stream.tasks), model.predict(stream.X, stream.tasks))
    assert again.tasks_ == model.tasks_ and np.array_equal(again.relations_, model.relations_)


def test_a_search_finds_its_way(routing, stream: Stream) -> None:
    model = CognateClassifier("perceptron", random_state=0)
    model.set_fit_request(tasks=True).set_score_request(tasks=True)
    grid = {"params": [{"interaction": "independent"}, {"interaction": {"coupled": {"b": 8}}}], "passes": [1, 3]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(stream.X, stream.y, tasks=stream.tasks)
    assert search.best_params_["passes"] in (1, 3) and len(search.best_estimator_.tasks_) == 5
    assert 0.5 < search.best_score_ <= 1


def test_a_pipeline_hands_tasks_on(routing, stream: Stream) -> None:
    requests = {"tasks": True}
    model = CognateClassifier(random_state=0).set_fit_request(**requests).set_predict_request(**requests)
    model.set_decision_function_request(**requests).set_score_request(**requests).set_predict_proba_request(**requests)
    pipe = make_pipeline(StandardScaler(), model).fit(stream.X.toarray(), stream.y, tasks=stream.tasks)
    assert len(pipe[-1].tasks_) == 5
    margins = pipe.decision_function(stream.X.toarray(), tasks=stream.tasks)
    assert np.array_equal(pipe.predict(stream.X.toarray(), tasks=stream.tasks) > 0, margins >= 0)
    assert pipe.score(stream.X.toarray(), stream.y, tasks=stream.tasks) > 0.8


def test_the_optimum_is_certified(stream: Stream) -> None:
    model = ConvexMultitaskRegressor(penalty={"schatten": {"p": 1}}, lambda_=5.0, tolerance=1e-5)
    model.fit(stream.X, stream.y, tasks=stream.tasks)
    status = model.status_
    assert status["stopped"] == "converged" and status["gap"] <= 1e-5 * status["objective"]
    assert model.n_iter_ == status["iterations"] and model.relations_.shape == (5, 5)


def test_numbers_that_look_like_classes_stay_numbers() -> None:
    X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    model = ConvexMultitaskRegressor(lambda_=1e-9, penalty="none").fit(X, y)
    assert np.allclose(model.predict(X), y, atol=1e-3)


def test_weights_of_rows_and_classes(stream: Stream) -> None:
    X, y, tasks = stream.X, stream.y, stream.tasks
    names = np.where(y > 0, "spam", "fine")
    weights = np.where(y > 0, 4.0, 0.5)
    fitted = {
        "rows": CognateClassifier("rom-rda", random_state=0).fit(X, names, tasks, sample_weight=weights),
        "classes": CognateClassifier("rom-rda", random_state=0, class_weight={"spam": 4, "fine": 0.5}).fit(X, names, tasks),
        "plain": CognateClassifier("rom-rda", random_state=0).fit(X, names, tasks),
        "balanced": CognateClassifier("rom-rda", random_state=0, class_weight="balanced").fit(X, names, tasks),
    }
    margins = {name: model.decision_function(X, tasks) for name, model in fitted.items()}
    assert np.array_equal(margins["rows"], margins["classes"])
    assert not np.array_equal(margins["rows"], margins["plain"])
    assert not np.array_equal(margins["balanced"], margins["plain"])
    with pytest.raises(ValueError, match="class_weight has the class 'ham'"):
        CognateClassifier("rom-rda", class_weight={"ham": 2}).fit(X, names, tasks)
    with pytest.raises(ValueError, match="class_weight is 'equal'"):
        CognateClassifier("rom-rda", class_weight="equal").fit(X, names, tasks)
    with pytest.raises(ValueError, match="(?i)negative"):
        CognateClassifier("rom-rda").fit(X, names, tasks, sample_weight=-weights)
