#!/usr/bin/env python3
"""Vectors of `relation-perceptron`: A itself as the multiplier, which is LR11 Algorithm 1 with (3.7) to (3.10) as printed,
and a relation that moves at the end of each pass (section 5.4).

Dense matrices, inverses, exponentials and logarithms formed anew at every mistake; no shortcuts.
usage: python3 relation_perceptron.py   (in this folder, with numpy; writes relation_a_*.json and relation_pass_*.json)
"""
import json

import numpy as np

STREAM, TASKS, FEATURES = "stream_b.svm", 3, 10


def read_stream():
    lines = []
    for line in open(STREAM):
        label, task, *values = line.split()
        x = np.zeros(FEATURES)
        for value in values:
            at, number = value.split(":")
            x[int(at) - 1] = float(number)
        lines.append((float(label), int(task.split(":")[1]) - 1, x))
    return lines


def on_spectrum(matrix, function):
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(function(values)) @ vectors.T


def next_r(r, w, rule, eta):
    """The rules for R = A^-1."""
    gram = w.T @ w
    if rule == "log-det":
        return r + eta * gram
    if rule == "von-neumann":
        return on_spectrum(on_spectrum(r, np.log) + eta * gram, np.exp)
    return next_a(r, w, rule, eta)


def next_a(a, w, rule, eta):
    gram = w.T @ w
    if rule == "log-det":
        return np.linalg.inv(np.linalg.inv(a) + eta * gram)
    if rule == "von-neumann":
        return on_spectrum(on_spectrum(a, np.log) - eta * gram, np.exp)
    if rule == "covariance":
        return np.cov(w, rowvar=False)
    root = on_spectrum(gram, lambda values: np.sqrt(np.maximum(values, 0)))
    return root / np.trace(root)


def run(lines, step, priming, start, trace, shrink, passes=1):
    a_0 = np.eye(TASKS) * start
    a, w = a_0.copy(), np.zeros((FEATURES, TASKS))
    margins, mistaken, gap = [], [], float("inf")

    def moved():
        new = step(a, w)
        if trace == "start":
            new = new * np.trace(a_0) / np.trace(new)
        return (1 - shrink) * new + shrink * a_0

    for _ in range(passes):
        for label, task, x in lines:
            margin = float(w[:, task] @ x)
            margins.append(margin)
            if margin != 0:
                gap = min(gap, abs(margin))
            if label * margin > 0:
                continue
            mistaken.append(len(margins) - 1)
            w += label * np.outer(x, a[:, task])
            if priming is not None and len(margins) >= priming:
                a = moved()
        if priming is None:
            a = moved()
    return {
        "mistake_count": len(mistaken),
        "smallest_decision_gap": gap,
        "mistaken_lines": mistaken,
        "margins": margins,
        "R": a.tolist(),
        "weights": w.T.tolist(),
    }


def write(name, learner, passes, expected):
    vector = {
        "name": name,
        "stream": STREAM,
        "tasks": TASKS,
        "features": FEATURES,
        "simultaneous": False,
        "passes": passes,
        "learner": {"relation-perceptron": {key: value for key, value in learner.items() if value is not None}},
        "expected": expected,
    }
    with open(name + ".json", "w") as file:
        json.dump(vector, file, indent=0)
        file.write("\n")


def main():
    lines = read_stream()
    # As printed, (3.9) blows up within some ten mistakes: it begins late.
    for name, rule, eta, priming, start, trace, shrink in [
        ("logdet", "log-det", 0.05, 100, None, None, None),
        ("logdet_kept", "log-det", 0.02, 100, 2.0, "start", 0.1),
        ("vonneumann", "von-neumann", 0.01, 100, None, None, None),
        ("cov", "covariance", None, 288, None, None, None),
        ("batchopt", "batch-optimal", None, 100, None, None, None),
    ]:
        learner = {"relation": rule, "multiplier": "a", "priming": priming}
        learner |= {"eta": eta, "start": start, "trace": trace, "shrink": shrink}
        step = lambda a, w, rule=rule, eta=eta: next_a(a, w, rule, eta)
        expected = run(lines, step, priming, start or 1 / TASKS, trace or "none", shrink or 0.0)
        write(f"relation_a_{name}", learner, 1, expected)
    for name, rule, eta, shrink in [
        ("logdet", "log-det", 0.001, 0.0),
        ("vonneumann", "von-neumann", 0.0001, 0.0),
        ("cov", "covariance", None, 0.3),
        ("batchopt", "batch-optimal", None, 0.1),
    ]:
        learner = {"relation": rule, "priming": "pass", "eta": eta}
        step = lambda r, w, rule=rule, eta=eta: next_r(r, w, rule, eta)
        write(f"relation_pass_{name}", learner, 3, run(lines, step, None, 1.0, "start", shrink, passes=3))


main()
