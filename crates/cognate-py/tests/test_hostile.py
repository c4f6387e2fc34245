"""Any arrays are learnt or refused, without a crash, and what is refused leaves no trace."""

from types import SimpleNamespace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cognate import CognateError, Learner

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "u1", "u8", "?", "c16", "O", "U3", "S2", "M8[s]", ">f8", ">i4", "f16"]
INDEX_DTYPES = ["i4", "i8", "i4", "i8", "u4", "u8", "f8", "O", ">i8"]
NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.nan, np.inf, -np.inf, 1e150, 1e151, 1e308, 5e-324]),
    st.floats(),
    st.integers(-(2**63), 2**63 - 1),
)
INDICES = st.one_of(st.integers(-2, 6), st.sampled_from([2**31 - 1, -(2**31), 2**32 - 1, 2**32, 2**63 - 1, -(2**63)]))


def array(values, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        try:
            return np.array(values).astype(dtype)
        except (OverflowError, TypeError, ValueError):
            return np.array(values, dtype=object)


@st.composite
def arrays(draw, numbers=NUMBERS, dtypes=DTYPES, size=None):
    """One dimension of anything, contiguous or not."""
    size = draw(st.integers(0, 7)) if size is None else size
    found = array(draw(st.lists(numbers, min_size=size, max_size=size)), draw(st.sampled_from(dtypes)))
    how = draw(st.sampled_from(["whole", "whole", "whole", "strided", "reversed", "column", "scalar"]))
    if how == "strided":
        return np.repeat(found, 2)[::2]
    if how == "reversed":
        return found[::-1]
    if how == "column":
        return found.reshape(-1, 1)
    return found[0] if how == "scalar" and size else found


@st.composite
def tables(draw, rows: int):
    """Sparse or dense rows, most of them wrong somewhere."""
    if draw(st.booleans()):
        starts = sorted(draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows)))
        indptr = draw(st.one_of(st.just(array([0, *starts], draw(st.sampled_from(["i4", "i8"])))), arrays(INDICES, INDEX_DTYPES)))
        entries = draw(st.sampled_from([6, 6, 6, None]))
        parts = {
            "indptr": indptr,
            "indices": draw(arrays(INDICES, INDEX_DTYPES, entries)),
            "data": draw(arrays(size=entries)),
        }
        return SimpleNamespace(**parts, format="csr", shape=(rows, draw(st.integers(0, 8))))
    columns = draw(st.integers(0, 4))
    values = draw(st.lists(NUMBERS, min_size=rows * columns, max_size=rows * columns))
    dense = array(values, draw(st.sampled_from(DTYPES))).reshape(rows, columns)
    how = draw(st.sampled_from(["C", "F", "strided", "three", "rows"]))
    if how == "strided":
        return np.repeat(np.repeat(dense, 2, axis=0), 2, axis=1)[::2, ::2]
    if how == "three":
        return dense.reshape(rows, columns, 1)
    return dense.tolist() if how == "rows" else np.array(dense, order=how)


TASKS = st.one_of(st.none(), st.text(max_size=2), st.integers(-5, 2**70), st.lists(st.text(max_size=2), max_size=5), arrays())
SHAPES = st.sampled_from([
    ("perceptron", {}),
    ("adaptive", {}),
    ("relation-perceptron", {}),
    ("kernel-perceptron", {}),
    ("adaptive", {"loss": "squares"}),
    ("adaptive", {"loss": "poisson"}),
])


@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_ten_thousand_bad_arrays(data) -> None:
    rows = data.draw(st.integers(0, 4))
    learner, params = data.draw(SHAPES)
    model = Learner(learner, features=data.draw(st.sampled_from([None, 1, 5])), **params)
    model.learn_one({0: 1.0}, 1, "known")
    before = model._model.to_bytes()
    X, tasks = data.draw(tables(rows)), data.draw(TASKS)
    y = data.draw(st.one_of(st.just(np.ones(rows)), arrays(st.sampled_from([1, -1, 0]), size=rows), arrays()))
    try:
        model.partial_fit(X, y, tasks)
    except CognateError as error:
        assert str(error)
        # Numbers may also overflow in the middle of a table that looked fine at first.
        assert model._model.to_bytes() == before or type(error).__name__ == "RunError"
    try:
        assert np.ndim(model.decision_function(X, tasks)) == 1
        assert np.isfinite(model.predict(X, tasks)).all()
    except CognateError as error:
        assert str(error)


@settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(
        st.dictionaries(st.one_of(st.text(max_size=3), INDICES, st.none(), st.booleans()), st.one_of(NUMBERS, st.text(), st.none(), st.binary())),
        st.tuples(arrays(INDICES, INDEX_DTYPES), arrays()),
        st.lists(NUMBERS),
        st.none(),
        arrays(),
    ),
    st.one_of(NUMBERS, st.none(), st.text(), st.booleans()),
    st.one_of(st.none(), st.text(), INDICES, NUMBERS, st.binary()),
)
def test_bad_examples(x, y, task) -> None:
    model = Learner("perceptron")
    before = model._model.to_bytes()
    try:
        model.learn_one(x, y, task)
    except CognateError as error:
        assert str(error) and model._model.to_bytes() == before
    try:
        assert isinstance(model.margin_one(x, task), float)
    except CognateError as error:
        assert str(error)
