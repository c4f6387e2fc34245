"""partial_fit beside scikit-learn's SGDClassifier on the same sparse rows of many related tasks.

usage: python speed.py [--rows 500000] [--tasks 100] [--nonzeros 50]

scikit-learn has no tasks. Its user gives it every feature twice, once for all tasks and once for the row's own, hashed
to 2^22 columns, which is what lets it learn what cognate learns; what making those columns costs is told apart. The
plain rows, which know nothing of tasks, are measured too: nobody could be faster with less. Each learns all rows in one
call, after a call that warms it up; the best of three.
"""

import argparse
import time

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from cognate import Learner

BITS = 22
FEATURES = 100_000


def stream(rows: int, tasks: int, nonzeros: int):
    """Rows whose tasks have most of their weights in common."""
    random = np.random.default_rng(1)
    # A few features come often, most of them rarely.
    drawn = (FEATURES * random.random((rows, nonzeros)) ** 3).astype(np.int32)
    drawn.sort(axis=1)
    for column in range(1, nonzeros):
        drawn[:, column] = np.maximum(drawn[:, column], drawn[:, column - 1] + 1)
    indptr = np.arange(0, rows * nonzeros + 1, nonzeros, dtype=np.int32)
    data = random.normal(size=rows * nonzeros)
    X = csr_matrix((data, drawn.ravel(), indptr), shape=(rows, FEATURES + nonzeros))
    task = random.integers(0, tasks, rows)
    shared, own = random.normal(size=X.shape[1]), 0.5 * random.normal(size=(tasks, 64))
    margins = X @ shared
    products = data * own[np.repeat(task, nonzeros), drawn.ravel() % 64]
    margins += np.add.reduceat(products, indptr[:-1])
    return X, np.where(margins > 0, 1, -1), task


def crossed(X: csr_matrix, tasks: np.ndarray) -> csr_matrix:
    """Every feature twice: for all tasks, and for the row's own."""

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
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--nonzeros", type=int, default=50)
    options = parser.parse_args()
    X, y, tasks = stream(options.rows, options.tasks, options.nonzeros)
    half = options.rows // 2

    start = time.perf_counter()
    wide = crossed(X, tasks)
    crossing = time.perf_counter() - start

    def sgd(matrix, loss):
        model = SGDClassifier(loss=loss).partial_fit(matrix[:100], y[:100], classes=[-1, 1])
        return best_of_three(lambda: model.partial_fit(matrix, y))

    def ours(learner, **params):
        model = Learner(learner, **params).partial_fit(X[:100], y[:100], tasks[:100])
        return best_of_three(lambda: model.partial_fit(X, y, tasks))

    def error_ours(learner, **params):
        model = Learner(learner, **params).partial_fit(X[:half], y[:half], tasks[:half])
        return np.mean(model.predict(X[half:], tasks[half:]) != y[half:])

    def error_sgd(matrix, loss):
        model = SGDClassifier(loss=loss).partial_fit(matrix[:half], y[:half], classes=[-1, 1])
        return np.mean(model.predict(matrix[half:]) != y[half:])

    measured = [
        ("SGDClassifier, hinge, crossed features", sgd(wide, "hinge"), error_sgd(wide, "hinge")),
        ("SGDClassifier, hinge, plain rows", sgd(X, "hinge"), error_sgd(X, "hinge")),
        ("cognate perceptron, coupled", ours("perceptron"), error_ours("perceptron")),
        ("cognate adaptive", ours("adaptive"), error_ours("adaptive")),
    ]
    print(f"{options.rows} rows of {options.nonzeros} non-zeros, {options.tasks} tasks; best of three, one run")
    print("| partial_fit | seconds | rows a second | times the crossed SGDClassifier | error on the second half |")
    print("|---|---|---|---|---|")
    reference = measured[0][1]
    for name, seconds, error in measured:
        rate = f"{options.rows / seconds:,.0f}"
        print(f"| {name} | {seconds:.2f} | {rate} | {reference / seconds:.1f} | {error:.2%} |")
    print(f"\nMaking the crossed features took another {crossing:.2f} s, which the table leaves out.")


main()
