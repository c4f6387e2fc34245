"""partial_fit beside scikit-learn's SGDClassifier on the same sparse rows of many related tasks.

usage: python speed.py [--rows 500000] [--tasks 100] [--nonzeros 50] [--rounds 3]

scikit-learn has no tasks. Whoever has some gives it every feature twice, once for all tasks and once for the row's own,
which lets it learn what cognate learns; making these columns is part of using it so, and is told apart as well. They
are numbered, or hashed to fewer. Rows go all in one call, or in batches of 1000 as they come; SGDClassifier shuffles
them, or takes them in order, which is faster; with its default loss, or as the Perceptron that `perceptron` is too.
A model for every task is measured as well; it learns nothing from other tasks, and is not counted among the fastest.

"only looking" learns nothing: it multiplies the numbered columns with a vector, so every weight that a row needs is
read once. Nobody who keeps weights by column learns in less.

Everything is measured once a round, and the best round counts, by the clock on the wall and by that of the processor.
The errors are those on the second half of the rows after learning the first.
"""

import argparse
import time
from dataclasses import dataclass, field
from typing import Callable

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from cognate import Learner

FEATURES = 1 << 18
BATCH = 1000
PERCEPTRON = {"loss": "perceptron", "penalty": None, "learning_rate": "constant", "eta0": 1.0}


def stream(rows: int, tasks: int, nonzeros: int):
    """Rows of length 1 whose tasks have most of their weights in common; features and tasks follow power laws."""
    random = np.random.default_rng(1)

    def power_law(size, count, exponent):
        weights = (np.arange(count) + 8.0) ** -exponent
        return np.searchsorted(np.cumsum(weights) / weights.sum(), random.random(size)).clip(max=count - 1)

    # As in most data, the number of a feature says nothing about how frequent it is.
    drawn = random.permutation(FEATURES).astype(np.int32)[power_law((rows, nonzeros), FEATURES, 1.05)]
    drawn.sort(axis=1)
    # A feature that was drawn twice becomes its neighbour.
    for column in range(1, nonzeros):
        drawn[:, column] = np.maximum(drawn[:, column], drawn[:, column - 1] + 1)
    indptr = np.arange(0, rows * nonzeros + 1, nonzeros, dtype=np.int32)
    data = random.normal(size=(rows, nonzeros))
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    X = csr_matrix((data.ravel(), drawn.ravel(), indptr), shape=(rows, FEATURES + nonzeros))
    task = power_law(rows, tasks, 0.5)
    shared, own = random.normal(size=X.shape[1]), 0.5 * random.normal(size=(tasks, 64))
    products = data * own[task[:, None], drawn % 64]
    margins = X @ shared + products.sum(axis=1)
    flips = np.where(random.random(rows) < 0.05, -1, 1)
    return X, np.where(margins > 0, 1, -1) * flips, task


def numbered(X: csr_matrix, tasks: np.ndarray, count: int) -> csr_matrix:
    """Every feature twice: for all tasks, and for the row's own; a column for each."""
    offsets = ((tasks + 1) * X.shape[1]).astype(np.int32)
    indices = np.empty(2 * X.nnz, dtype=np.int32)
    indices[0::2] = X.indices
    np.add(X.indices, np.repeat(offsets, np.diff(X.indptr)), out=indices[1::2])
    return csr_matrix((np.repeat(X.data, 2), indices, X.indptr * 2), shape=(X.shape[0], X.shape[1] * (count + 1)))


def hashed(X: csr_matrix, tasks: np.ndarray, bits: int) -> csr_matrix:
    """The same, hashed to 2^bits columns."""

    def slot(task, feature):
        h = task * np.uint64(0x9E3779B97F4A7C15) + feature * np.uint64(0xC2B2AE3D27D4EB4F)
        h ^= h >> np.uint64(32)
        return ((h * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(64 - bits)).astype(np.int32)

    feature = X.indices.astype(np.uint64)
    task = np.repeat(tasks.astype(np.uint64) + np.uint64(1), np.diff(X.indptr))
    indices = np.empty(2 * X.nnz, dtype=np.int32)
    indices[0::2], indices[1::2] = slot(np.uint64(0), feature), slot(task, feature)
    return csr_matrix((np.repeat(X.data, 2), indices, X.indptr * 2), shape=(X.shape[0], 1 << bits))


@dataclass
class Measured:
    """One way to learn all rows."""

    name: str
    kind: str
    run: Callable[[], float | None]
    """Learns them, and says how many seconds went into making columns."""
    error: Callable[[], float] | None = None
    share: float = 1.0
    """Which part of the rows is learnt."""
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    crossing: list[float] = field(default_factory=list)

    def measure(self) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        crossing = self.run() or 0.0
        self.wall.append((time.perf_counter() - wall) / self.share)
        self.cpu.append((time.process_time() - cpu) / self.share)
        self.crossing.append(crossing / self.share)

    @property
    def seconds(self) -> float:
        return min(self.wall)


class Benchmark:
    def __init__(self, rows: int, tasks: int, nonzeros: int) -> None:
        self.rows, self.tasks = rows, tasks
        self.X, self.y, self.task = stream(rows, tasks, nonzeros)
        self.first, self.second = slice(0, rows // 2), slice(rows // 2, None)

    def cross(self, columns: int | None, span: slice = slice(None)) -> csr_matrix:
        """The columns that SGDClassifier is given: as many as 2^columns, or one for each."""
        X, task = self.X if span == slice(None) else self.X[span], self.task[span]
        return numbered(X, task, self.tasks) if columns is None else hashed(X, task, columns)

    def sgd(self, name: str, columns: int | None, **params) -> Measured:
        """All rows in one call."""
        warm = self.cross(columns, slice(0, 100))
        model = SGDClassifier(**params).partial_fit(warm, self.y[:100], classes=[-1, 1])

        def run() -> float:
            start = time.perf_counter()
            crossed = self.cross(columns)
            made = time.perf_counter() - start
            model.partial_fit(crossed, self.y)
            return made

        def error() -> float:
            half = SGDClassifier(**params)
            half.partial_fit(self.cross(columns, self.first), self.y[self.first], classes=[-1, 1])
            return np.mean(half.predict(self.cross(columns, self.second)) != self.y[self.second])

        return Measured(f"SGDClassifier, {name}", "call", run, error)

    def sgd_batches(self, name: str, columns: int, **params) -> Measured:
        """A tenth of the rows, as they come."""
        rows = max(BATCH, self.rows // 10 // BATCH * BATCH)

        def learn(model, until: int) -> float:
            made = 0.0
            for at in range(0, until, BATCH):
                start = time.perf_counter()
                crossed = self.cross(columns, slice(at, at + BATCH))
                made += time.perf_counter() - start
                model.partial_fit(crossed, self.y[at : at + BATCH], classes=[-1, 1])
            return made

        def error() -> float:
            half = SGDClassifier(**params)
            learn(half, self.rows // 2)
            return np.mean(half.predict(self.cross(columns, self.second)) != self.y[self.second])

        model = SGDClassifier(**params)
        return Measured(f"SGDClassifier, {name}", "batches", lambda: learn(model, rows), error, rows / self.rows)

    def one_a_task(self, kind: str, **params) -> Measured:
        """A model for every task, which learns nothing from the others."""

        def learn(models: dict, until: int, size: int) -> None:
            for at in range(0, until, size):
                task = self.task[at : min(at + size, until)]
                order = np.argsort(task, kind="stable")
                X, y = self.X[at + order], self.y[at + order]
                ends = np.cumsum(np.bincount(task, minlength=self.tasks))
                for which, (start, end) in enumerate(zip(ends - np.bincount(task, minlength=self.tasks), ends)):
                    if start < end:
                        model = models.setdefault(which, SGDClassifier(**params))
                        model.partial_fit(X[start:end], y[start:end], classes=[-1, 1])

        def error() -> float:
            half = {}
            learn(half, self.rows // 2, size)
            X, y, task = self.X[self.second], self.y[self.second], self.task[self.second]
            wrong = sum(np.sum(half[which].predict(X[task == which]) != y[task == which]) for which in half)
            return wrong / len(y)

        size = self.rows if kind == "call" else BATCH
        rows = self.rows if kind == "call" else max(BATCH, self.rows // 50 // BATCH * BATCH)
        models = {}
        name = "SGDClassifier per task, nothing shared, Perceptron, in order"
        return Measured(f"one {name}", kind, lambda: learn(models, rows, size), error if kind == "call" else None, rows / self.rows)

    def ours(self, learner: str, kind: str, **params) -> Measured:
        X, y, task = self.X, self.y, self.task
        model = Learner(learner, **params).partial_fit(X[:100], y[:100], task[:100])

        def run() -> None:
            if kind == "call":
                model.partial_fit(X, y, task)
                return
            for at in range(0, self.rows, BATCH):
                span = slice(at, at + BATCH)
                model.partial_fit(X[span], y[span], task[span])

        def error() -> float:
            half = Learner(learner, **params).partial_fit(X[self.first], y[self.first], task[self.first])
            return np.mean(half.predict(X[self.second], task[self.second]) != y[self.second])

        return Measured(f"cognate `{learner}`", kind, run, error)

    def looking(self) -> Measured:
        crossed = self.cross(None)
        weights = np.random.default_rng(2).normal(size=crossed.shape[1])
        return Measured("only looking, columns numbered", "call", lambda: drop(crossed @ weights))


def drop(_) -> None:
    """What was computed is not needed."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--nonzeros", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    here = Benchmark(options.rows, options.tasks, options.nonzeros)
    coupled = {"interaction": {"coupled": {"b": options.tasks}}}
    ways = [
        here.sgd("numbered, default", None),
        here.sgd("numbered, default, in order", None, shuffle=False),
        here.sgd("numbered, Perceptron, in order", None, shuffle=False, **PERCEPTRON),
        here.sgd("hashed to 2^22, Perceptron, in order", 22, shuffle=False, **PERCEPTRON),
        here.one_a_task("call", shuffle=False, **PERCEPTRON),
        here.looking(),
        here.ours("perceptron", "call", **coupled),
        here.ours("adaptive", "call"),
        here.sgd_batches("hashed to 2^22, Perceptron, in order", 22, shuffle=False, **PERCEPTRON),
        here.sgd_batches("hashed to 2^20, Perceptron, in order", 20, shuffle=False, **PERCEPTRON),
        here.sgd_batches("hashed to 2^18, Perceptron, in order", 18, shuffle=False, **PERCEPTRON),
        here.one_a_task("batches", shuffle=False, **PERCEPTRON),
        here.ours("perceptron", "batches", **coupled),
        here.ours("adaptive", "batches"),
    ]
    for _ in range(options.rounds):
        # Memory that the batches gave back is slow to come again, which is nobody's fault.
        here.cross(None)
        for way in ways:
            way.measure()
    rows, nonzeros, tasks, rounds = options.rows, options.nonzeros, options.tasks, options.rounds
    print(f"{rows:,} rows of {nonzeros} non-zeros, {tasks} tasks; seconds, best of {rounds} rounds\n")
    print("| rows in | partial_fit | seconds | of these crossing | CPU seconds | rows per second | error |")
    print("|---|---|---|---|---|---|---|")
    for way in ways:
        kind = "one call" if way.kind == "call" else f"batches of {BATCH}"
        error = f"{way.error():.2%}" if way.error else ""
        print(
            f"| {kind} | {way.name} | {way.seconds:.2f} | {min(way.crossing):.2f} | {min(way.cpu):.2f} "
            f"| {options.rows / way.seconds:,.0f} | {error} |"
        )
    fastest = {}
    for way in ways:
        key = (way.kind, way.name.split()[0])
        fastest[key] = min(fastest.get(key, np.inf), way.seconds)

    def times(kind: str) -> float:
        return fastest[kind, "SGDClassifier,"] / fastest[kind, "cognate"]

    print(f"\nThe fastest of ours learns {times('call'):.1f} times the rows per second of the fastest SGDClassifier in one call, and")
    print(f"{times('batches'):.1f} times in batches of {BATCH}. Only looking takes", end=" ")
    print(f"{fastest['call', 'only'] / fastest['call', 'SGDClassifier,']:.0%} of the time of that SGDClassifier.")


main()
