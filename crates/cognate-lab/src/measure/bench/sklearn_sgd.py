"""scikit-learn's SGDClassifier on shared + task-crossed hashed features, in mini-batches.

usage: python3 sklearn_sgd.py FILE        (svmlight with qid = task; the whole file is read)

Prints examples, progressive error and the CPU and wall seconds of reading, crossing and learning, without
the imports. Every batch is predicted before it is learned.
"""

import json
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier

BITS = 22
# partial_fit copies the 2^22 weights on every call: larger batches spread that cost, and predict later.
BATCH = 1000


def crossed(task, feature):
    """Hashed index of (task, feature); the shared copy of a feature has task 0."""
    h = task * np.uint64(0x9E3779B97F4A7C15) + feature * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= h >> np.uint64(32)
    return ((h * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(64 - BITS)).astype(np.int32)


def shared_and_own(x, tasks):
    """The rows of x with every feature twice: for all tasks, and for the row's task."""
    feature = x.indices.astype(np.uint64)
    task = np.repeat(tasks.astype(np.uint64), np.diff(x.indptr))
    indices = np.stack([crossed(np.uint64(0), feature), crossed(task, feature)], axis=1).ravel()
    return csr_matrix((np.repeat(x.data, 2), indices, x.indptr * 2), shape=(x.shape[0], 1 << BITS))


def main():
    cpu, wall = time.process_time(), time.perf_counter()
    x, y, tasks = load_svmlight_file(sys.argv[1], query_id=True)
    model = SGDClassifier(loss="log_loss")  # the default alpha was the best of 1e-4 to 1e-7
    mistakes = 0
    for at in range(0, len(y), BATCH):
        batch, labels = shared_and_own(x[at : at + BATCH], tasks[at : at + BATCH]), y[at : at + BATCH]
        mistakes += np.sum(model.predict(batch) != labels) if at else np.sum(labels < 0)
        model.partial_fit(batch, labels, classes=[-1, 1])
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"examples": len(y), "error": float(mistakes) / len(y), "cpu": cpu, "wall": wall}))


main()
