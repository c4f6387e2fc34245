"""partial_fit beside scikit-learn's SGDClassifier on the same sparse rows of many related tasks.

usage: python speed.py [--rows 500000] [--tasks 100] [--nonzeros 50]

scikit-learn has no tasks. Whoever has some gives it every feature twice, once for all tasks and once for the row's own,
which lets it learn what cognate learns; making these columns is part of using it so, and is told apart as well. They
are numbered, or hashed to 2^22, whichever is faster; all rows go in one call, or in batches of 1000 as they come. Plain
rows, which know nothing of tasks, are measured too. CPU seconds of the process, best of three, after a call to warm up.
"""

import argparse
import time

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from cognate import Learner

BITS = 22
FEATURES = 1 << 18
BATCH = 1000


def stream(rows: int, tasks: int, nonzeros: int):
    """Rows of length 1 whose tasks have most of their weights in common; features and tasks follow power laws."""
    random = np.random.default_rng(1)

    def power_law(size, count):
        weights = 1 / np.arange(1, count + 1)
        return np.searchsorted(np.cumsum(weights) / weights.sum(), random.random(size)).clip(max=count - 1)

    drawn = power_law((rows, nonzeros), FEATURES).astype(np.int32)
    drawn.sort(axis=1)
    # A feature that was drawn twice becomes its neighbour.
    for column in range(1, nonzeros):
        drawn[:, column] = np.maximum(drawn[:, column], drawn[:, column - 1] + 1)
    indptr = np.arange(0, rows * nonzeros + 1, nonzeros, dtype=np.int32)
    data = random.normal(size=(rows, nonzeros))
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    X = csr_matrix((data.ravel(), drawn.ravel(), indptr), shape=(rows, FEATURES + nonzeros))
    task = power_law(rows, tasks)
    shared, own = random.normal(size=X.shape[1]), 0.5 * random.normal(size=(tasks, 64))
    products = data * own[task[:, None], drawn % 64]
    margins = X @ shared + products.sum(axis=1)
    flips = np.where(random.random(rows) < 0.05, -1, 1)
    return X, np.where(margins > 0, 1, -1) * flips, task


def numbered(X: csr_matrix, tasks: np.ndarray) -> csr_matrix:
    """Every feature twice: for all tasks, and for the row's own; a column for each."""
    offsets = ((tasks + 1) * X.shape[1]).astype(np.int32)
    indices = np.empty(2 * X.nnz, dtype=np.int32)
    indices[0::2] = X.indices
    np.add(X.indices, np.repeat(offsets, np.diff(X.indptr)), out=indices[1::2])
    columns = X.shape[1] * (int(tasks.max()) + 2)
    return csr_matrix((np.repeat(X.data, 2), indices, X.indptr * 2), shape=(X.shape[0], columns))


def hashed(X: csr_matrix, tasks: np.ndarray) -> csr_matrix:
    """The same, hashed to 2^22 columns."""

    def slot(task, feature):
        h = task * np.uint64(0x9E3779B97F4A7C15) + feature * np.uint64(0xC2B2AE3D27D4EB4F)
        h ^= h >> np.uint64(32)
        return ((h * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(64 - BITS)).astype(np.int32)

    feature = X.indices.astype(np.uint64)
    task = np.repeat(tasks.astype(np.uint64) + np.uint64(1), np.diff(X.indptr))
    indices = np.stack([slot(np.uint64(0), feature), slot(task, feature)], axis=1).ravel()
    return csr_matrix((np.repeat(X.data, 2), indices, X.indptr * 2), shape=(X.shape[0], 1 << BITS))


def best_of_three(run) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--nonzeros", type=int, default=50)
    options = parser.parse_args()
    X, y, tasks = stream(options.rows, options.tasks, options.nonzeros)
    kept, rest = slice(0, options.rows // 2), slice(options.rows // 2, None)

    def sgd(cross):
        made = best_of_three(lambda: cross(X, tasks)) if cross else 0.0
        matrix = cross(X, tasks) if cross else X
        model = SGDClassifier(loss="hinge").partial_fit(matrix[:100], y[:100], classes=[-1, 1])
        seconds = best_of_three(lambda: model.partial_fit(matrix, y))
        model = SGDClassifier(loss="hinge").partial_fit(matrix[kept], y[kept], classes=[-1, 1])
        return made + seconds, made, np.mean(model.predict(matrix[rest]) != y[rest])

    def batches(cross):
        """A tenth of the rows, as they come."""
        model = SGDClassifier(loss="hinge").partial_fit(cross(X[:100], tasks[:100]), y[:100], classes=[-1, 1])
        rows = max(BATCH, options.rows // 10 // BATCH * BATCH)
        start = time.process_time()
        for at in range(0, rows, BATCH):
            span = slice(at, at + BATCH)
            model.partial_fit(cross(X[span], tasks[span]), y[span])
        return (time.process_time() - start) * options.rows / rows, 0.0, float("nan")

    def ours(learner, batch=None, **params):
        model = Learner(learner, **params).partial_fit(X[:100], y[:100], tasks[:100])

        def learn() -> None:
            for at in range(0, options.rows, batch or options.rows):
                span = slice(at, at + (batch or options.rows))
                model.partial_fit(X[span] if batch else X, y[span], tasks[span])

        seconds = best_of_three(learn)
        model = Learner(learner, **params).partial_fit(X[kept], y[kept], tasks[kept])
        return seconds, 0.0, np.mean(model.predict(X[rest], tasks[rest]) != y[rest])

    coupled = {"interaction": {"coupled": {"b": options.tasks}}}
    measured = {
        "SGDClassifier, plain rows, one call": sgd(None),
        "SGDClassifier, crossed and numbered, one call": sgd(numbered),
        "SGDClassifier, crossed and hashed, one call": sgd(hashed),
        "SGDClassifier, crossed and hashed, batches of 1000": batches(hashed),
        "cognate `perceptron`, one call": ours("perceptron", **coupled),
        "cognate `perceptron`, batches of 1000": ours("perceptron", BATCH, **coupled),
        "cognate `adaptive`, one call": ours("adaptive"),
    }
    print(f"{options.rows} rows of {options.nonzeros} non-zeros, {options.tasks} tasks; CPU seconds, best of three\n")
    print("| partial_fit | seconds | of these crossing | rows a second | error on the second half |")
    print("|---|---|---|---|---|")
    for name, (seconds, made, error) in measured.items():
        shown = "" if np.isnan(error) else f"{error:.2%}"
        print(f"| {name} | {seconds:.2f} | {made:.2f} | {options.rows / seconds:,.0f} | {shown} |")
    seconds = [seconds for seconds, _, _ in measured.values()]
    crossing, wanted = min(seconds[1:3]), 5.0
    print(f"\n`perceptron` learns {crossing / seconds[4]:.1f} times the rows a second of the best SGDClassifier with tasks in one")
    print(f"call, and {seconds[3] / seconds[5]:.1f} times in batches of 1000; {wanted:.0f} times is the aim.")


main()
