"""Alternating minimisation of CS15 in NumPy and SciPy, to be timed beside `cognate fit`.

Arguments: a CSV of task, label, features; the objective to reach; lambda; delta; seconds after which to give up. Two forms: the supervised step with the
tasks apart, the structure on the features (Theorem 6.4), and as in section 3.2.1, one linear system for all tasks. Prints
JSON.
"""

import json
import sys
import time

import numpy as np
from scipy.linalg import cho_factor, cho_solve

data = np.loadtxt(sys.argv[1], delimiter=",")
target, lam, delta, limit = (float(text) for text in sys.argv[2:6])
task, y, X = data[:, 0].astype(int), data[:, 1], data[:, 2:]
T, d = task.max() + 1, X.shape[1]
rows = [np.where(task == t)[0] for t in range(T)]


def objective(W):
    """The objective at the best A for W: sum of squares + 2 sqrt(lambda) sum sqrt(sigma^2 + delta^2)."""
    loss = ((y - (X * W.T[task]).sum(1)) ** 2).sum()
    sigma = np.zeros(T)
    found = np.linalg.svd(W, compute_uv=False)
    sigma[: len(found)] = found[:T]
    return loss + 2 * np.sqrt(lam) * np.sqrt(sigma**2 + delta**2).sum()


def root(M):
    """(lambda (M + delta^2 I))^(1/2), Proposition 3.6 at p = 1."""
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.sqrt(lam * (np.maximum(values, 0) + delta**2))) @ vectors.T


def apart():
    """w_t = D X_t' (X_t D X_t' + lambda I)^-1 y_t, every task on its own."""
    D, iterations, start = np.eye(d), 0, time.perf_counter()
    while True:
        iterations += 1
        W = np.empty((d, T))
        for t in range(T):
            XD = X[rows[t]] @ D
            factor = cho_factor(XD @ X[rows[t]].T + lam * np.eye(len(rows[t])), check_finite=False)
            W[:, t] = XD.T @ cho_solve(factor, y[rows[t]], check_finite=False)
        D = root(W @ W.T)
        if objective(W) <= target or time.perf_counter() - start > limit:
            return time.perf_counter() - start, W, iterations


def system(K):
    """(K * A[tasks, tasks] + lambda I) c = y, n x n for n examples in all."""
    A, iterations, start = np.eye(T), 0, time.perf_counter()
    while True:
        iterations += 1
        factor = cho_factor(K * A[np.ix_(task, task)] + lam * np.eye(len(y)), check_finite=False)
        c = cho_solve(factor, y, check_finite=False)
        C = np.zeros((d, T))
        for t in range(T):
            C[:, t] = X[rows[t]].T @ c[rows[t]]
        W = C @ A
        A = root(W.T @ W)
        if objective(W) <= target or time.perf_counter() - start > limit:
            return time.perf_counter() - start, W, iterations


result = {}
for name, found in (("apart", apart()), ("system", system(X @ X.T))):
    seconds, W, iterations = found
    result |= {f"{name}_seconds": seconds, f"{name}_objective": objective(W), f"{name}_iterations": iterations}
print(json.dumps(result))
