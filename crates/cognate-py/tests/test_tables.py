"""Whole tables: every layout gives the same rows, none is copied, and other threads run meanwhile."""

import resource
import threading
import time

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from conftest import Stream
from scipy.sparse import csr_array, csr_matrix

from cognate import DataError, Learner


def learnt(X, stream: Stream, tasks=None) -> bytes:
    model = Learner("perceptron").partial_fit(X, stream.y, stream.tasks if tasks is None else tasks)
    assert len(model.decision_function(X, "1")) == len(stream.y)
    return model._model.to_bytes()


def predicted(X, stream: Stream) -> list[float]:
    """Margins of the first rows, which are few enough to be looked at one by one."""
    model = Learner("perceptron").partial_fit(X, stream.y, stream.tasks)
    return model.decision_function(X[:7], stream.tasks[:7]).tolist()


def widths(X: csr_matrix, index, value) -> csr_matrix:
    other = X.copy()
    other.indptr, other.indices, other.data = X.indptr.astype(index), X.indices.astype(index), X.data.astype(value)
    return other


class Capsule:
    """A table that has nothing but Arrow's interface."""

    def __init__(self, table: pyarrow.Table) -> None:
        self.__arrow_c_stream__ = table.__arrow_c_stream__


def test_every_layout_is_the_same_rows(stream: Stream) -> None:
    dense = stream.X.toarray()
    names = [f"c{at}" for at in range(dense.shape[1])]
    frame = pandas.DataFrame(dense, columns=names)
    arrow = pyarrow.Table.from_pandas(frame)
    expected = learnt(stream.X, stream)
    for X in [
        csr_array(stream.X),
        widths(stream.X, np.int64, np.float64),
        dense,
        np.asfortranarray(dense),
        dense.tolist(),
    ]:
        assert learnt(X, stream) == expected, type(X)
    # Columns with names are features with names.
    expected, margins = learnt(frame, stream), predicted(stream.X, stream)
    assert predicted(frame, stream) == margins
    for X in [polars.from_pandas(frame), arrow, arrow.to_batches()[0], Capsule(arrow)]:
        assert learnt(X, stream) == expected, type(X)


def test_narrow_numbers_are_the_same_in_every_layout(stream: Stream) -> None:
    dense = stream.X.toarray().astype(np.float32)
    expected = learnt(dense.astype(np.float64), stream)
    for X in [widths(stream.X, np.int32, np.float32), widths(stream.X, np.int64, np.float32), dense, pandas.DataFrame(dense)]:
        assert learnt(X, stream) == expected


def test_every_way_to_say_tasks(stream: Stream) -> None:
    expected = learnt(stream.X, stream)
    names = [str(task) for task in stream.tasks]
    for tasks in [
        names,
        np.array(names),
        np.array(names, dtype=object),
        stream.tasks.astype(np.int32),
        stream.tasks.astype(np.uint8),
        stream.tasks.tolist(),
        pandas.Series(names),
        pandas.Series(stream.tasks),
        pandas.Series(names, dtype="category"),
        polars.Series(names),
        pyarrow.array(names),
    ]:
        assert learnt(stream.X, stream, tasks) == expected, type(tasks)


def test_labels_of_either_kind(stream: Stream) -> None:
    for y in [stream.y > 0, (stream.y > 0).astype(int), stream.y.astype(np.float32), stream.y.tolist()]:
        model = Learner("perceptron").partial_fit(stream.X, y, stream.tasks)
        signs = Learner("perceptron").partial_fit(stream.X, stream.y, stream.tasks)
        assert model.decision_function(stream.X, 1).tolist() == signs.decision_function(stream.X, 1).tolist()


def test_whole_columns_of_numbers_go_with_others() -> None:
    frame = pandas.DataFrame({"a": [1, 0], "b": [True, False], "c": [0.5, 0.5]})
    model = Learner("perceptron").partial_fit(frame, [1, -1])
    assert model.weights() == {"a": 1.0, "b": 1.0}


def test_what_is_wrong_is_told_with_its_place(stream: Stream) -> None:
    dense, n = stream.X.toarray(), len(stream.y)
    negative = stream.X.copy()
    negative.indices = negative.indices.copy()
    negative.indices[stream.X.indptr[3]] = -4
    holes = dense.copy()
    holes[17, 2] = np.nan
    for X, message in [
        (negative, "row 3: feature index -4; expected 0 to 29"),
        (holes, "row 17: found value NaN in column 2; expected a finite number"),
        (dense.astype(complex), "X: found an array of complex128; expected numbers"),
        (dense[0], "X: found an array of float64 with 1 dimensions"),
        (stream.X[:9], f"there are {n} tasks; expected 9"),
        (pandas.DataFrame({"a": [object()] * n}), 'column "a" of X: found <object'),
        ([[1.0], [1.0, 2.0]], "X: .*expected a sparse matrix"),
        ("text", "X: found str; expected a sparse matrix"),
        (None, "X: found NoneType"),
    ]:
        model = Learner("perceptron")
        with pytest.raises(DataError, match=message):
            model.partial_fit(X, stream.y, stream.tasks)
        assert model.rounds_ == 0 and model.tasks_ == []
    for y, message in [
        (stream.y[:-1], f"there are {n - 1} labels; expected {n}"),
        (stream.y * 3, "row 0: found label"),
        (np.array(["yes", "no", "maybe"] * n)[:n], "y: found the labels 'maybe', 'no', 'yes'; expected two"),
        (np.column_stack([stream.y, stream.y]), "y: found an array of float64 with 2 dimensions"),
        (np.where(np.arange(n) == 5, 0.0, -1.0), "row 5: found label 0 after label -1"),
    ]:
        with pytest.raises(DataError, match=message):
            Learner("perceptron").partial_fit(stream.X, y, stream.tasks)
    for tasks in [["1"], np.array([1]), []]:
        with pytest.raises(DataError, match=f"there are {len(tasks)} tasks; expected {n}"):
            Learner("perceptron").partial_fit(stream.X, stream.y, tasks)
    with pytest.raises(DataError, match="row 0: feature index 29; expected 0 to 9|row .*: feature index .*; expected 0 to 9"):
        Learner("perceptron", features=10).partial_fit(stream.X, stream.y, stream.tasks)


def test_a_sparse_matrix_whose_parts_do_not_fit() -> None:
    def sparse(indptr, indices, data) -> csr_matrix:
        X = csr_matrix(np.eye(2))
        X.indptr, X.indices, X.data = (np.array(part) for part in (indptr, indices, data))
        return X

    for parts, message in [
        (([0, 1, 3], [0, 1], [1.0, 1.0]), "row 2 begins at entry 3; expected 1 to 2"),
        (([0, 2, 1], [0, 1], [1.0, 1.0]), "row 2 begins at entry 1; expected 2 to 2"),
        (([1, 1, 2], [0, 1], [1.0, 1.0]), "row 0 begins at entry 1; expected 0 to 0"),
        (([0, -1, 2], [0, 1], [1.0, 1.0]), "row 1 begins at entry -1; expected 0 to 2"),
        (([0, 1, 2], [0, 1], [1.0]), "there are 1 values; expected 2"),
        (([0, 1, 2], [0, 7], [1.0, 1.0]), "row 1: feature index 7; expected 0 to 1"),
    ]:
        with pytest.raises(DataError, match=message):
            Learner("perceptron").partial_fit(sparse(*parts), [1, -1])


def large(rows: int) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    indptr = np.arange(0, 50 * rows + 1, 50, dtype=np.int32)
    indices = np.sort(random.integers(0, 2000, (rows, 50), dtype=np.int32) * 50 + np.arange(50, dtype=np.int32), axis=1)
    X = csr_matrix((random.random(50 * rows), indices.ravel(), indptr), shape=(rows, 100_000))
    return X, random.integers(0, 2, rows), random.integers(0, 100, rows)


def test_tables_are_not_copied() -> None:
    X, y, tasks = large(100_000)
    model = Learner("perceptron").partial_fit(X[:100], y[:100], tasks[:100])
    model.decision_function(X[:100], tasks[:100])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    model.decision_function(X, tasks)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    # The matrix takes 60 MB; tasks and margins take 12 bytes per row.
    assert grown < 20e6, grown


def test_other_threads_run_while_a_table_is_learnt() -> None:
    X, y, tasks = large(100_000)
    model, turns, done = Learner("perceptron"), [], threading.Event()

    def learn() -> None:
        for _ in range(3):
            model.partial_fit(X, y, tasks)
        done.set()

    thread = threading.Thread(target=learn)
    thread.start()
    while not done.is_set():
        turns.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    # Only the learner could keep this thread waiting, and it does not.
    assert len(turns) > 10 and np.median(np.diff(turns)) < 0.05


def test_threads_that_share_a_model_take_turns(stream: Stream) -> None:
    model = Learner("perceptron")
    threads = [
        threading.Thread(target=lambda: [model.partial_fit(stream.X, stream.y, stream.tasks) for _ in range(10)])
        for _ in range(4)
    ]
    [thread.start() for thread in threads]
    [model.margin_one({0: 1.0}, 1) for _ in range(100)]
    [thread.join() for thread in threads]
    assert model.rounds_ == 4 * 10 * 400


def test_an_empty_table_is_no_trouble() -> None:
    model = Learner("perceptron").partial_fit(csr_matrix((0, 5)), [], [])
    assert model.rounds_ == 0 and model.decision_function(np.empty((0, 5))).shape == (0,)


def test_rows_have_weights(stream: Stream) -> None:
    weights = np.arange(len(stream.y)) % 3
    table = Learner("perceptron", tasks=5).partial_fit(stream.X, stream.y, stream.tasks, sample_weight=weights)
    one = Learner("perceptron", tasks=5)
    for row, weight in enumerate(weights):
        span = slice(stream.X.indptr[row], stream.X.indptr[row + 1])
        x = (stream.X.indices[span], stream.X.data[span])
        one.learn_one(x, stream.y[row], int(stream.tasks[row]), weight=float(weight))
    assert table._model.to_bytes() == one._model.to_bytes()
    rows = [{"a": 1.0}, {"a": -1.0}]
    listed = Learner("rom-rda").partial_fit(rows, [1, -1], sample_weight=[2.0, 0.0])
    assert listed._model.to_bytes() != Learner("rom-rda").partial_fit(rows, [1, -1])._model.to_bytes()


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0], "there are 1 weights; expected 2"), ([1, -1], "row 1: found weight -1"), ([np.nan, 1], "found weight NaN")],
)
def test_bad_weights_are_refused(weights, message: str) -> None:
    model = Learner("perceptron")
    for X in [np.eye(2), [{0: 1.0}, {1: 1.0}]]:
        with pytest.raises(DataError, match=message):
            model.partial_fit(X, [1, -1], sample_weight=weights)
    assert model.rounds_ == 0
