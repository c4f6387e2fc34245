"""Calls and rows per second beside River, Vowpal Wabbit and scikit-learn, as ratios within the same run.

usage: python ratios.py [--rounds 5]

Ours and theirs take turns, and processor time counts, so that a busy machine harms both alike; the median round is printed.
`Learner()` is the default learner, `adaptive`: three learners side by side, each with a rate for every weight. Beside it are River's,
scikit-learn's and VW's logistic regressions, of one vector; VW's has a rate for every weight, too. So the like of SGDClassifier is
rather `perceptron`, with one vector and no rates, which has its own line. Vowpal Wabbit reads lines of text: making them of dictionaries
is part of using it so, and is left out in a line of its own. It is left out where its package is not installed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from cognate import Learner

NAMES = [f"feature{at}" for at in range(20)]


def named(count: int, seed: int = 0) -> tuple[list[dict[str, float]], list[int]]:
    """Examples of ten named features out of twenty."""
    random = np.random.default_rng(seed)
    weights = random.normal(size=20)
    rows, labels = [], []
    for _ in range(count):
        chosen = random.choice(20, 10, replace=False)
        values = random.normal(size=10)
        rows.append({NAMES[at]: float(value) for at, value in zip(chosen, values, strict=True)})
        labels.append(int(values @ weights[chosen] > 0))
    return rows, labels


def used(work: Callable[[], Any]) -> float:
    """Seconds of the processor."""
    began = time.process_time()
    work()
    return time.process_time() - began


def compare(name: str, wanted: float | None, units: int, ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int, peer: str) -> None:
    """Prints how many times as fast as the peer we are."""
    ours(), theirs()
    pairs = [(used(ours), used(theirs)) for _ in range(rounds)]
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(theirs / ours for ours, theirs in pairs)
    goal = "" if wanted is None else f"{wanted:g}"
    print(f"| {name} | {peer} | {units / mine:,.0f} | {units / other:,.0f} | {ratio:.2f} | {goal} |", flush=True)


def one_by_one(rounds: int, count: int) -> None:
    rows, labels = named(count)

    def learn_ours() -> None:
        model = Learner()
        for x, y in zip(rows, labels, strict=True):
            model.learn_one(x, y)

    known = Learner().partial_fit(rows, labels)

    def predict_ours() -> None:
        for x in rows:
            known.predict_one(x)

    from river import linear_model

    def learn_river() -> None:
        model = linear_model.LogisticRegression()
        for x, y in zip(rows, labels, strict=True):
            model.learn_one(x, y)

    theirs = linear_model.LogisticRegression()
    for x, y in zip(rows, labels, strict=True):
        theirs.learn_one(x, y)

    def predict_river() -> None:
        for x in rows:
            theirs.predict_one(x)

    compare("learn_one, 10 named features", 1.5, count, learn_ours, learn_river, rounds, "River")
    compare("predict_one, 10 named features", 1.0, count, predict_ours, predict_river, rounds, "River")
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        print("| learn_one, 10 named features | Vowpal Wabbit | | not installed | | 3 |")
        return

    def line(x: dict[str, float], y: int) -> str:
        return f"{2 * y - 1} | " + " ".join(f"{name}:{value}" for name, value in x.items())

    def learn_vw(lines: Iterable[str]) -> None:
        model = Workspace("--quiet --loss_function logistic")
        for one in lines:
            model.learn(one)
        model.finish()

    ready = [line(x, y) for x, y in zip(rows, labels, strict=True)]
    made = "learn_one, 10 named features"
    compare(made, 3.0, count, learn_ours, lambda: learn_vw(map(line, rows, labels)), rounds, "Vowpal Wabbit")
    compare("the same, lines ready-made", None, count, learn_ours, lambda: learn_vw(ready), rounds, "Vowpal Wabbit")


def tables(rounds: int, rows: int) -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(rows, 20))
    y = (X @ random.normal(size=20) > 0).astype(int)
    fitted = SGDClassifier(loss="log_loss").partial_fit(X, y, classes=[0, 1])

    def sgd(table: Any, labels: np.ndarray) -> None:
        SGDClassifier(loss="log_loss", shuffle=False).partial_fit(table, labels, classes=[0, 1])

    compare("partial_fit, dense, 20 features", 0.5, rows, lambda: Learner().partial_fit(X, y), lambda: sgd(X, y), rounds, "SGDClassifier")
    perceptron = Learner("perceptron")
    compare("the same, `perceptron`", None, rows, lambda: perceptron.partial_fit(X, y), lambda: sgd(X, y), rounds, "SGDClassifier")
    model = Learner().partial_fit(X, y)
    compare("decision_function, dense, 20 features", None, rows, lambda: model.decision_function(X), lambda: fitted.decision_function(X), rounds, "SGDClassifier")
    wide = max(1000, rows // 10)
    indptr = np.arange(0, 50 * wide + 1, 50, dtype=np.int32)
    indices = np.sort(random.integers(0, 2000, (wide, 50), dtype=np.int32) * 50 + np.arange(50, dtype=np.int32), axis=1)
    S = csr_matrix((random.normal(size=50 * wide), indices.ravel(), indptr), shape=(wide, 100_000))
    z = (np.asarray(S.sum(axis=1)).ravel() > 0).astype(int)
    compare("partial_fit, CSR of 50 non-zeros, fresh", 0.4, wide, lambda: Learner().partial_fit(S, z), lambda: sgd(S, z), rounds, "SGDClassifier")
    warm = Learner().partial_fit(S, z)
    compare("the same, again", None, wide, lambda: warm.partial_fit(S, z), lambda: sgd(S, z), rounds, "SGDClassifier")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=500_000)
    options = parser.parse_args()
    print("| what | beside | ours per CPU second | theirs | ratio | wanted |")
    print("|---|---|---|---|---|---|")
    one_by_one(options.rounds, min(20_000, options.rows))
    tables(options.rounds, options.rows)


main()
