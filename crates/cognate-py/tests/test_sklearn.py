"""All of scikit-learn: where X carries its tasks, an estimator works as any other does."""

import json
import warnings
import zipfile

import numpy as np
import pandas
import pytest
import scipy.sparse
from conftest import Stream
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cognate import CognateClassifier, CognateRegressor, ConvexMultitaskClassifier, ConvexMultitaskRegressor, SnapshotError


def shops(rows: int = 400, seed: int = 0) -> tuple[pandas.DataFrame, np.ndarray]:
    """Customers of three shops, who are related; the shop is a column."""
    random = np.random.default_rng(seed)
    X = pandas.DataFrame(random.normal(size=(rows, 3)), columns=["price", "age", "noise"])
    X.insert(1, "shop", random.choice(["north", "south", "west"], rows))
    margins = 2 * X["price"] + X["age"] * (X["shop"] == "south")
    return X, np.where(margins > 0, "buys", "goes")


def classifier(**params) -> CognateClassifier:
    return CognateClassifier(task_column="shop", passes=3, random_state=0, **params)


def in_numbers() -> tuple[np.ndarray, np.ndarray]:
    X, y = shops()
    return X.assign(shop=X["shop"].map({"north": 0, "south": 1, "west": 2})).to_numpy(), y


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "accuracy", "neg_brier_score", "average_precision", "balanced_accuracy"])
def test_scorers(scoring: str) -> None:
    X, y = shops()
    scores = cross_val_score(classifier(), X, y == "buys", scoring=scoring, cv=3, error_score="raise")
    assert (scores > -0.4).all() if scoring.startswith("neg") else (scores > 0.85).all(), scores


@pytest.mark.parametrize("column", ["name", "position", "last", "array", "negative", "sparse"])
def test_the_task_column_is_a_name_or_a_position(column: str) -> None:
    X, y = shops()
    numbers, _ = in_numbers()
    beside = CognateClassifier(passes=3, random_state=0).fit(X.drop(columns="shop"), y, tasks=numbers[:, 1])
    expected = beside.decision_function(X.drop(columns="shop"), tasks=numbers[:, 1])
    last = X[["price", "age", "noise", "shop"]]
    data, at = {
        "name": (X, "shop"),
        "position": (X, 1),
        "last": (last, -1),
        "array": (numbers, 1),
        "negative": (numbers, -3),
        "sparse": (scipy.sparse.csr_matrix(numbers), 1),
    }[column]
    model = CognateClassifier(task_column=at, passes=3, random_state=0).fit(data, y)
    assert np.allclose(model.decision_function(data), expected)
    assert len(model.tasks_) == 3 and model.n_features_in_ == 4 and model.coef_.shape == (3, 3)


def test_what_is_wrong_with_a_task_column_is_told() -> None:
    X, y = shops()
    numbers, _ = in_numbers()
    for data, column, message in [
        (X, "store", "task_column: no column of X is called 'store'; the columns are"),
        (numbers, "shop", "X has no columns with names; a transformer before it may have taken them"),
        (X, 7, "task_column is 7, and X has 4 columns"),
        (X, 1.5, "task_column is 1.5; expected the name of a column, or its position"),
        (numbers, 0, "tasks: row 0 has .*; expected a name or a whole number"),
    ]:
        with pytest.raises(ValueError, match=message):
            CognateClassifier(task_column=column).fit(data, y)
    with pytest.raises(ValueError, match="tasks are given twice"):
        classifier().fit(X, y, tasks=X["shop"])
    model = classifier().fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["age", "price", "shop", "noise"]])


def test_cross_val_predict_and_searches() -> None:
    X, y = shops()
    assert (cross_val_predict(classifier(), X, y, cv=3) == y).mean() > 0.85
    assert cross_val_predict(classifier(), X, y, cv=3, method="predict_proba").shape == (400, 2)
    grid = {"params__interaction__coupled__b": [1, 8], "passes": [1, 3]}
    search = GridSearchCV(classifier(), grid, cv=3, error_score="raise", scoring="roc_auc").fit(X, y)
    assert search.best_params_["params__interaction__coupled__b"] in (1, 8)
    assert (search.predict(X) == y).mean() > 0.85 and search.predict_proba(X).shape == (400, 2)
    groups = cross_val_score(classifier(), X, y, groups=X["shop"], cv=GroupKFold(3))
    assert (groups > 0.7).all(), "a shop that was never seen is predicted by what the others share"


def test_calibration_importance_and_voting() -> None:
    X, y = shops()
    calibrated = CalibratedClassifierCV(classifier(), cv=3).fit(X, y)
    assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1) and calibrated.score(X, y) > 0.85
    found = permutation_importance(classifier().fit(X, y), X, y, n_repeats=3, random_state=0)
    by_name = dict(zip(X.columns, found.importances_mean, strict=True))
    assert by_name["price"] > by_name["shop"] > -0.02 and by_name["noise"] < 0.02, by_name
    voters = [("cognate", classifier()), ("batch", ConvexMultitaskClassifier(loss="logistic", task_column="shop"))]
    for kind in [VotingClassifier(voters, voting="soft"), StackingClassifier(voters, LogisticRegression(), cv=3)]:
        assert (kind.fit(X, y).predict(X) == y).mean() > 0.85


def test_pipelines_with_column_transformers() -> None:
    X, y = shops()
    X = X.assign(colour=np.random.default_rng(1).choice(["red", "blue"], len(X)))
    numbers, texts = ["price", "age", "noise"], ["colour"]
    kept = ColumnTransformer([("scale", StandardScaler(), numbers), ("texts", OneHotEncoder(sparse_output=False), texts), ("task", "passthrough", ["shop"])])
    arrays = make_pipeline(kept, CognateClassifier(task_column=-1, random_state=0)).fit(X, y)
    assert arrays.score(X, y) > 0.85 and sorted(arrays[-1].tasks_) == ["north", "south", "west"]
    kept = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(sparse_output=False), texts), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    frames = make_pipeline(kept, classifier()).fit(X, y)
    assert frames.score(X, y) > 0.85 and list(frames[-1].feature_names_in_)[-1] == "shop"
    assert frames.set_params(cognateclassifier__params__loss="hinge")[-1].params == {"loss": "hinge"}


def three_classes(tasks: bool) -> tuple[pandas.DataFrame, np.ndarray]:
    X, _ = shops(900)
    turned = X["price"] + (X["age"] * (X["shop"] == "south") if tasks else 0)
    return X, np.array(["low", "mid", "top"])[np.digitize(turned, [-0.5, 0.5])]


@pytest.mark.parametrize("estimator", [classifier(bias=1.0), ConvexMultitaskClassifier(loss="logistic", task_column="shop")])
def test_more_than_two_classes(estimator) -> None:
    X, y = three_classes(tasks=True)
    X["square"] = X["price"] ** 2
    model = clone(estimator).fit(X[:600], y[:600])
    assert model.classes_.tolist() == ["low", "mid", "top"] and len(model.learners_) == 3
    assert model.decision_function(X).shape == (900, 3) and model.coef_.shape == (3, 3, 4) and model.intercept_.shape == (3, 3)
    both = model.predict_proba(X)
    assert np.allclose(both.sum(axis=1), 1) and (both >= 0).all()
    assert model.score(X[600:], y[600:]) > 0.75, model.score(X[600:], y[600:])
    with pytest.raises(AttributeError, match="learners_\\[k\\] is that of classes_\\[k\\]"):
        model.relations_


def test_classes_that_come_in_parts_and_weigh() -> None:
    X, y = three_classes(tasks=True)
    model = CognateClassifier(task_column="shop", bias=1.0)
    for part in [slice(0, 5), slice(5, 400), slice(400, None)]:
        model.partial_fit(X[part], y[part], classes=["low", "mid", "top"])
    assert set(model.predict(X)) == {"low", "mid", "top"}
    heavy = CognateClassifier(task_column="shop", bias=1.0, class_weight={"top": 20.0}, random_state=0).fit(X, y)
    plain = CognateClassifier(task_column="shop", bias=1.0, random_state=0).fit(X, y)
    assert (heavy.predict(X) == "top").sum() > (plain.predict(X) == "top").sum()
    assert (CognateClassifier(task_column="shop", class_weight="balanced").fit(X, y).predict(X) == y).mean() > 0.4


def test_probabilities_of_the_batch_learner() -> None:
    X, y = shops()
    model = ConvexMultitaskClassifier(loss="logistic", task_column="shop").fit(X, y)
    both = model.predict_proba(X)
    assert np.allclose(both[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))
    share = (y == "goes").mean()
    assert abs(both[:, 1].mean() - share) < 0.02, "the intercepts make the mean right"
    assert not hasattr(ConvexMultitaskClassifier(), "predict_proba")


@pytest.mark.parametrize("loss", ["squares", "logistic", "hinge"])
@pytest.mark.parametrize("penalty", ["schatten", "none", {"fixed": {"interaction": {"coupled": {"b": 2}}}}])
def test_a_weighted_row_is_so_many_rows_of_a_batch(loss: str, penalty) -> None:
    X, y = shops(90)
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    params = {"loss": loss, "penalty": penalty, "task_column": "shop", "tolerance": 1e-9, "max_iterations": 20_000}
    model = ConvexMultitaskClassifier(**params)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(X.loc[X.index.repeat(counts)], np.repeat(y, counts))
    assert np.isclose(weighted.status_["objective"], repeated.status_["objective"], rtol=1e-6)
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=0.01)
    assert not np.allclose(weighted.decision_function(X), clone(model).fit(X, y).decision_function(X), atol=0.01)
    if loss == "squares":
        price = X["price"].to_numpy() + 0.1 * np.arange(len(y)) % 3
        model = ConvexMultitaskRegressor(**params)
        weighted = clone(model).fit(X, price, sample_weight=counts)
        repeated = clone(model).fit(X.loc[X.index.repeat(counts)], np.repeat(price, counts))
        assert np.allclose(weighted.predict(X), repeated.predict(X), atol=0.01)


def test_classes_of_a_batch_have_weights() -> None:
    X, y = shops(300)
    y = np.where((y == "buys") & (np.arange(300) % 4 > 0), "goes", y)
    model = ConvexMultitaskClassifier(loss="logistic", task_column="shop")
    count = (y == "buys").sum()
    assert count < 60
    by_hand = {"buys": 300 / (2 * count), "goes": 300 / (2 * (300 - count))}
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    given = clone(model).set_params(class_weight=by_hand).fit(X, y)
    rows = clone(model).fit(X, y, sample_weight=np.where(y == "buys", by_hand["buys"], by_hand["goes"]))
    for other in [given, rows]:
        assert np.allclose(balanced.decision_function(X), other.decision_function(X), atol=1e-3)
    assert (balanced.predict(X) == "buys").sum() > (clone(model).fit(X, y).predict(X) == "buys").sum() + 20
    X, y = three_classes(tasks=True)
    heavy, plain = (clone(model).set_params(class_weight=weights).fit(X, y) for weights in ({"top": 20.0}, None))
    assert (heavy.predict(X) == "top").sum() > (plain.predict(X) == "top").sum()
    chosen = ConvexMultitaskClassifier(lambda_="cv", cv=3, task_column="shop", class_weight="balanced").fit(X[:200], y[:200])
    assert chosen.score(X, y) > 0.4
    for bad, message in [({"none": 2.0}, "class_weight has the class 'none'"), ("even", 'expected "balanced"')]:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(class_weight=bad).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight leaves no row of the class"):
        clone(model).fit(X, y, sample_weight=(y != "top") * 1.0)
    with pytest.raises(ValueError, match="has no labelled examples"):
        clone(model).fit(X, y, sample_weight=(X["shop"] != "west").to_numpy() * 1.0)


def test_a_task_of_one_class_does_not_stop_a_fit() -> None:
    X, y = shops()
    y = np.where(X["shop"] == "west", "goes", y)
    with pytest.warns(UserWarning, match="1 tasks have labels of one class only \\('west' first\\): their intercept is that of all rows"):
        model = ConvexMultitaskClassifier(loss="logistic", task_column="shop").fit(X, y)
    assert model.status_["shared_intercepts"] == ["west"] and model.score(X, y) > 0.85
    assert np.isfinite(model.intercept_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConvexMultitaskClassifier(task_column="shop").fit(X, y)


def test_lambda_by_cross_validation() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 20))
    tasks = random.integers(0, 3, 60)
    y = X[:, 0] + random.normal(size=60)
    chosen = ConvexMultitaskRegressor(lambda_="cv", cv=4).fit(X, y, tasks=tasks)
    tried = chosen.status_["path"]
    assert len(tried) == 13 and chosen.lambda_chosen_ == min(tried, key=lambda one: one["error"])["lambda"]
    same = ConvexMultitaskRegressor(lambda_=chosen.lambda_chosen_).fit(X, y, tasks=tasks)
    assert np.allclose(same.predict(X, tasks), chosen.predict(X, tasks))
    with pytest.raises(ValueError, match="lambda_ is 'best'; expected a number, \"cv\", or None"):
        ConvexMultitaskRegressor(lambda_="best").fit(X, y, tasks=tasks)


def test_online_regression(tmp_path) -> None:
    X, _ = shops(800)
    y = 100 + 5 * X["price"].to_numpy() + 3 * (X["shop"] == "south") * X["age"].to_numpy()
    model = CognateRegressor(task_column="shop", passes=3, random_state=0).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > 0.99
    assert (cross_val_score(CognateRegressor(task_column="shop", passes=3, random_state=0), X, y, cv=3) > 0.98).all()
    parts = CognateRegressor(task_column="shop")
    for part in np.array_split(np.arange(800), 8):
        parts.partial_fit(X.iloc[part], y[part])
    assert parts.score(X, y) > 0.95
    upper = CognateRegressor(loss={"quantile": {"q": 0.9}}, task_column="shop", passes=5, random_state=0).fit(X, y + np.random.default_rng(0).normal(size=800))
    assert 0.8 < (y < upper.predict(X)).mean()
    weights = (X["shop"] == "north").to_numpy() * 1.0
    assert CognateRegressor(task_column="shop").fit(X, y, sample_weight=weights).score(X[X["shop"] == "north"], y[X["shop"] == "north"]) > 0.9
    with pytest.raises(ValueError, match="which is for classes"):
        CognateRegressor(loss="logistic").fit(np.eye(3), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "estimator",
    [
        classifier(params={"interaction": {"coupled": {"b": 4}}}, class_weight={"buys": 2.0}),
        CognateRegressor(task_column="shop", loss={"quantile": {"q": 0.25}}),
        ConvexMultitaskClassifier(loss="logistic", task_column="shop", penalty={"schatten": {"p": 1}}),
        ConvexMultitaskRegressor(task_column="shop", lambda_="cv"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_estimators_are_saved(estimator, classes: int, tmp_path) -> None:
    X, y = shops() if classes == 2 else three_classes(tasks=True)
    if isinstance(estimator, CognateClassifier) and classes == 3:
        estimator = clone(estimator).set_params(class_weight=None)
    if "Regressor" in type(estimator).__name__:
        y = X["price"].to_numpy()
    model, path = clone(estimator).fit(X, y), tmp_path / "model.zip"
    model.save(path)
    again = type(model).load(path)
    assert np.array_equal(again.predict(X), model.predict(X)) and again.get_params() == model.get_params()
    assert again.tasks_ == model.tasks_ and list(again.feature_names_in_) == list(X.columns)
    if hasattr(model, "status_") if classes == 2 else False:
        assert again.status_ == model.status_
    if hasattr(model, "classes_"):
        assert again.classes_.tolist() == model.classes_.tolist() and again.classes_.dtype == model.classes_.dtype
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(X[X.columns[::-1]])
    other = CognateRegressor if not isinstance(model, CognateRegressor) else CognateClassifier
    with pytest.raises(SnapshotError, match=f"found a {type(model).__name__}; expected a {other.__name__}"):
        other.load(path)
    assert zipfile.ZipFile(path).read("model-0.cog")[:7] == b"COGNATE", "the program reads it as well"
    assert json.loads(zipfile.ZipFile(path).read("estimator.json"))["estimator"] == type(model).__name__
    path.write_bytes(b"something else")
    with pytest.raises(SnapshotError, match="not an estimator that was saved"):
        type(model).load(path)


def test_a_status_is_kept_by_files_and_pickles_of_learners(tmp_path, stream: Stream) -> None:
    from cognate import Learner

    model = Learner("convex", **{"lambda": 1.0}).fit(stream.X, stream.y, stream.tasks)
    model.save(tmp_path / "m.cog")
    again = Learner.load(tmp_path / "m.cog")
    for key in ["stopped", "iterations", "objective", "gap"]:
        assert again.status_[key] == model.status_[key]
    with pytest.raises(AttributeError, match="this `adaptive` has not been fitted"):
        Learner().status_


def test_nested_names_of_parameters() -> None:
    model = classifier(params={"loss": "hinge"})
    model.set_params(params__interaction__coupled__b=4, passes=2)
    assert model.params == {"loss": "hinge", "interaction": {"coupled": {"b": 4}}} and model.passes == 2
    assert model.set_params(params__interaction="pooled").params["interaction"] == "pooled"
    batch = ConvexMultitaskClassifier().set_params(penalty__cluster__clusters=2, kernel__gaussian__gamma=0.5)
    assert batch.penalty == {"cluster": {"clusters": 2}} and batch.kernel == {"gaussian": {"gamma": 0.5}}
    assert batch.set_params(penalty__schatten__p=1).penalty == {"schatten": {"p": 1}}
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        batch.set_params(nothing=1)


@pytest.mark.parametrize("estimator", [classifier(bias=1.0), ConvexMultitaskClassifier(task_column="shop", loss="logistic"), ConvexMultitaskRegressor(task_column="shop")])
def test_coefficients_give_the_margins(estimator) -> None:
    X, y = shops()
    y = y if "Classifier" in type(estimator).__name__ else X["price"].to_numpy()
    model = clone(estimator).fit(X, y)
    margins = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    rows = np.array([model.tasks_.index(shop) for shop in X["shop"]])
    dense = X.drop(columns="shop").to_numpy()
    assert np.allclose(np.einsum("ij,ij->i", dense, model.coef_[rows]) + model.intercept_[rows], margins)
    assert SelectFromModel(model, prefit=True, threshold=0.0).estimator.coef_.shape == (3, 3)
    kernel = ConvexMultitaskClassifier(kernel={"gaussian": {"gamma": 1.0}}).fit(dense, y if y.dtype.kind == "U" else y > 0, tasks=rows)
    with pytest.raises(AttributeError, match="a learner with a kernel has no weights"):
        kernel.coef_


def test_one_prediction_is_explained() -> None:
    X, y = shops()
    model = classifier(bias=1.0).fit(X, y)
    for row in range(5):
        found = model.explain_one(X, row=row)
        assert np.isclose(sum(part.total for part in found.features), found.margin)
        assert np.isclose(found.margin, model.decision_function(X)[row])
        assert {part.feature for part in found.features} == {"price", "age", "noise", "bias"}
    south = next(row for row in range(400) if X["shop"][row] == "south")
    parts = {part.feature: part for part in model.explain_one(X, row=south).features}
    assert parts["age"].own != 0 and parts["price"].shared != 0
    assert "price" in str(model.explain_one(X)) and "shared" in str(model.explain_one(X))
