"""Everyday input: what scikit-learn takes, a learner takes; missing cells and texts in frames; messages that name columns."""

import datetime

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
from conftest import Stream
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from cognate import CognateClassifier, ConvexMultitaskClassifier, DataError, Learner

DENSE = np.array([[1.0, 0, 2], [0, 3, 0], [1, 1, 1], [0, 0, 5]])
Y = [1, 0, 1, 0]


def margins(X) -> list[float]:
    return Learner("perceptron").partial_fit(X, Y).decision_function(X).tolist()


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u1", "u4", "?", "f2", "f4", "f16", ">f8", ">i4", "O"])
def test_numbers_of_any_kind(dtype: str) -> None:
    X = DENSE.astype(dtype)
    expected = margins(X.astype(float))
    assert margins(X) == expected and margins(np.asfortranarray(X)) == expected
    if dtype not in ("O", "f2", "f16", ">f8", ">i4"):
        assert margins(scipy.sparse.csr_matrix(X)) == expected


def unsorted(X: scipy.sparse.csr_matrix) -> scipy.sparse.csr_matrix:
    """The same rows, each from its end."""
    indices, data = X.indices.copy(), X.data.copy()
    for row in range(X.shape[0]):
        span = slice(X.indptr[row], X.indptr[row + 1])
        indices[span], data[span] = indices[span][::-1].copy(), data[span][::-1].copy()
    return scipy.sparse.csr_matrix((data, indices, X.indptr), shape=X.shape)


def test_layouts_of_any_kind() -> None:
    expected, sparse = margins(DENSE), scipy.sparse.csr_matrix(DENSE)
    twice = np.repeat(np.repeat(DENSE, 2, axis=0), 2, axis=1)
    layouts = [
        sparse.tocsc(),
        sparse.tocoo(),
        sparse.tolil(),
        sparse.todok(),
        scipy.sparse.coo_array(DENSE),
        unsorted(sparse),
        twice[::2, ::2],
        DENSE[::-1][::-1],
        np.asfortranarray(twice)[::2, ::2],
        np.asmatrix(DENSE),
        DENSE.tolist(),
        [tuple(row) for row in DENSE.tolist()],
    ]
    for X in layouts:
        assert margins(X) == expected, type(X)
    assert not unsorted(sparse).has_sorted_indices
    double = scipy.sparse.coo_matrix(([0.5, 0.5, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 3))
    assert Learner("perceptron").partial_fit(double, [1, 0]).weights() == {0: 1.0, 1: -3.0}, "entries of one cell add up"


def test_frames_from_everyday_work() -> None:
    frame = pandas.DataFrame(np.repeat(DENSE, 2, axis=0), columns=["a", "b", "c"]).iloc[::2]
    expected = Learner("perceptron").partial_fit(frame.reset_index(drop=True).copy(), Y).decision_function(frame)
    assert np.array_equal(Learner("perceptron").partial_fit(frame, Y).decision_function(frame), expected)
    long = frame.reset_index().melt(id_vars="index")
    pivot = long.pivot_table(index="index", columns="variable", values="value")
    assert np.array_equal(Learner("perceptron").partial_fit(pivot, Y).decision_function(pivot), expected)
    grouped = frame.groupby(np.array([0, 1, 2, 3])).sum()
    assert np.array_equal(Learner("perceptron").partial_fit(grouped, Y).decision_function(grouped), expected)
    shops = pandas.DataFrame({"shop": ["n", "s", "n", "s"], **dict(zip("abc", DENSE.T, strict=True)), "y": Y})
    model = Learner()
    for shop, part in shops.groupby("shop"):
        model.partial_fit(part[["a", "b", "c"]], part["y"], tasks=shop)
    assert model.tasks_ == ["n", "s"] and len(model.predict(shops[["a", "b", "c"]], shops["shop"])) == 4
    sparse = frame.astype(pandas.SparseDtype("float64", 0.0))
    assert np.array_equal(Learner("perceptron").partial_fit(sparse, Y).decision_function(sparse), expected)


MIXED = {
    "colour": ["red", "blue", None, "red"],
    "size": [1.0, None, 3.0, 2.0],
    "big": [True, False, True, None],
    "count": [1, 2, None, 0],
}


def mixed() -> dict[str, object]:
    plain = pandas.DataFrame(MIXED)
    nullable = plain.astype({"colour": "string", "size": "Float64", "big": "boolean", "count": "Int64"})
    import pyarrow

    return {
        "plain": plain,
        "nullable": nullable,
        "category": plain.astype({"colour": "category"}),
        "arrow-backed": nullable.convert_dtypes(dtype_backend="pyarrow"),
        "polars": polars.DataFrame(MIXED),
        "polars-category": polars.DataFrame(MIXED).with_columns(polars.col("colour").cast(polars.Categorical)),
        "arrow": pyarrow.table(MIXED),
        "arrow-dictionary": pyarrow.table({**MIXED, "colour": pyarrow.array(MIXED["colour"]).dictionary_encode()}),
    }


@pytest.mark.parametrize("kind", list(mixed()))
def test_texts_are_features_and_missing_cells_are_none(kind: str) -> None:
    X = mixed()[kind]
    model = Learner("perceptron").partial_fit(X, Y)
    rows = [
        {"colour": "red", "size": 1.0, "big": 1.0, "count": 1.0},
        {"colour": "blue", "count": 2.0},
        {"size": 3.0, "big": 1.0},
        {"colour": "red", "size": 2.0},
    ]
    listed = Learner("perceptron").partial_fit(rows, Y)
    assert model.weights() == listed.weights()
    assert model.decision_function(X).tolist() == listed.decision_function(rows).tolist()
    # What the program reads of the same cells in a file is the same.
    assert model.margin_one({"colour": "green", "size": 1.0}) == model.margin_one({"size": 1.0})


def test_a_frame_is_the_csv_file_that_it_is_written_to(tmp_path) -> None:
    from cognate import progressive

    random = np.random.default_rng(1)
    X = pandas.DataFrame({"a": random.normal(size=50).round(3), "colour": random.choice(["red", "blue"], 50)})
    X.loc[::7, "a"] = np.nan
    y = np.where(X["colour"] == "red", 1, 0)
    X.assign(label=y).to_csv(tmp_path / "x.csv", index=False)
    of_file = Learner("perceptron", stream={"format": "csv"})
    list(progressive(of_file, tmp_path / "x.csv"))
    of_frame = Learner("perceptron").partial_fit(X, y)
    assert of_file.weights() == of_frame.weights() and of_file.classes_.tolist() == of_frame.classes_.tolist() == [0, 1]
    assert np.array_equal(of_file.predict(X), of_frame.predict(X)), "the model of a file predicts frames"


def test_a_single_row_with_nothing_in_it_is_no_trouble() -> None:
    X = pandas.DataFrame(MIXED)
    model = Learner("perceptron").partial_fit(X, Y)
    for row in range(4):
        assert model.predict(X.iloc[[row]]).shape == (1,)
    empty = pandas.DataFrame({name: [None] for name in MIXED})
    assert model.predict(empty).shape == (1,)


@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer(), HashingVectorizer(n_features=2**10), CountVectorizer(binary=True, dtype=bool)])
def test_text_vectorisers(vectorizer) -> None:
    texts = ["win money now now", "lunch at noon", "win a prize now", "see you at lunch"]
    X = vectorizer.fit_transform(texts)
    model = Learner().partial_fit(X, ["spam", "ham", "spam", "ham"])
    assert model.predict(X).tolist() == ["spam", "ham", "spam", "ham"]
    vectorised = DictVectorizer().fit_transform([{"a": 1, "b": "x"}, {"b": "y"}])
    assert Learner().partial_fit(vectorised, [True, False]).predict(vectorised).tolist() == [True, False]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, np.inf], 'row 1: found value inf in column "it"; expected a finite number'),
        ([1.0, "x"], 'column "it" of X: found \'x\' among numbers; expected texts, or numbers'),
        ([object(), 1.0], 'column "it" of X: found <object object'),
        ([datetime.datetime(2026, 1, 1)] * 2, 'column "it" of X: found datetime64'),
        ([1j, 2j], 'column "it" of X: found complex128'),
        ([[1], [2]], r'column "it" of X: found \[1\]'),
    ],
)
def test_messages_name_columns(column, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Learner().partial_fit(pandas.DataFrame({"good": [1.0, 2.0], "it": column}), [1, 0])


def test_messages_name_columns_of_arrays() -> None:
    holes = DENSE.copy()
    holes[2, 1] = np.nan
    for X in [holes, np.asfortranarray(holes), scipy.sparse.csr_matrix(holes)]:
        with pytest.raises(DataError, match="row 2: found value NaN in column 1; expected a finite number"):
            Learner().partial_fit(X, Y)
    for X, message in [
        (DENSE[0], r"X: found an array of float64 with 1 dimensions; expected two; X.reshape\(1, -1\) makes it one row"),
        (DENSE.astype(complex), "X: found an array of complex128"),
        (np.array([["a", "b"]] * 4), "X: found an array of <U1"),
        (np.array([[1.0, "b"]] * 4, dtype=object), 'column "1" of X|column 1 of X'),
        (pandas.DataFrame({0: ["x"] * 4}), "column 0 of X: found 'x'; expected numbers, or give columns names"),
        (pandas.DataFrame({0: [1.0] * 4, "a": [1.0] * 4}), "found the column names 'a' and 0"),
        (pandas.DataFrame([[1.0, 2.0]] * 4, columns=["a", "a"]), "found column .a. a second time"),
        ([[1.0], [1.0, 2.0]], "X: .*expected a sparse matrix"),
        ("text", "X: found str; expected a sparse matrix"),
    ]:
        with pytest.raises(DataError, match=message):
            Learner().partial_fit(X, Y)


def test_estimators_take_them_too(stream: Stream) -> None:
    X = stream.X.tocoo()
    model = ConvexMultitaskClassifier(lambda_=1.0).fit(X, stream.y, tasks=stream.tasks)
    assert model.score(X, stream.y, tasks=stream.tasks) > 0.8


def test_what_fits_is_not_copied(monkeypatch) -> None:
    from cognate import _tables

    wide = np.random.default_rng(0).normal(size=(100, 4))
    assert _tables.table(wide) is wide
    for column, of in zip(_tables.table(np.asfortranarray(wide)), range(4), strict=True):
        assert column.base is not None, of
    sparse = scipy.sparse.csr_matrix(wide)
    parts = _tables.table(sparse)
    assert parts[0] is sparse.indptr and parts[1] is sparse.indices and parts[2] is sparse.data
    # Polars and Arrow hold every column in one piece; pandas does when it was made of columns.
    columns = {f"c{at}": wide[:, at].copy() for at in range(4)}
    for frame in [polars.DataFrame(columns), pandas.DataFrame(columns, copy=False)]:
        names, found, rows = _tables.table(frame)
        assert names == list(columns) and rows == 100 and all(not column.flags.owndata for column in found)


def test_labels_may_be_a_column() -> None:
    expected = margins(DENSE)
    for y in [np.array(Y).reshape(-1, 1), pandas.DataFrame({"y": Y})]:
        assert Learner("perceptron").partial_fit(DENSE, y).decision_function(DENSE).tolist() == expected
    with pytest.raises(DataError, match="y: found an array of .* with 2 dimensions"):
        Learner().partial_fit(DENSE, np.eye(4))


def test_a_row_without_a_task_is_named() -> None:
    with pytest.raises(DataError, match="tasks: row 2: found None; expected a name or a whole number"):
        Learner().partial_fit(DENSE, Y, ["a", "b", None, "a"])
    frame = pandas.DataFrame(DENSE, columns=list("xyz")).assign(shop=["a", "b", np.nan, "a"])
    with pytest.raises(DataError, match="tasks: row 2: found nan"):
        CognateClassifier(task_column="shop").fit(frame, Y)


def test_other_labels_come_with_the_way_out() -> None:
    with pytest.raises(DataError, match="row 0: found label 2; .*`CognateClassifier` takes any classes"):
        Learner().partial_fit(DENSE, [2, 1, 2, 1])


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame])
def test_estimators_name_the_column_that_holds_texts(kind) -> None:
    frame = kind({"x": [1.0, 2, 3, 4], "colour": ["red", "blue", "red", "red"], "shop": ["a", "b", "a", "b"]})
    with pytest.raises(ValueError, match="column 'colour' of X holds texts \\('red' first\\)"):
        CognateClassifier(task_column="shop").fit(frame, Y)


def test_estimators_name_the_one_for_a_batch_learner() -> None:
    with pytest.raises(ValueError, match="'convex', which is fitted to all rows at once: ConvexMultitaskClassifier"):
        CognateClassifier("convex").fit(DENSE, Y)
