#!/usr/bin/env python3
"""Vectors of the matrix Perceptrons with p = "auto" and with kernels: MP10 section 6, 6.2.1 and Remark 12 in dual form.

Every inner product is a kernel value of examples, C is formed anew from V'V on every round; no shortcuts.
usage: python3 schatten_perceptron.py   (in this folder, with numpy; writes matrix_auto*.json and shared_kernel_*.json)
"""
import json
import math

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


def gradient(gram, p):
    trace = np.trace(np.linalg.matrix_power(gram, p))
    if trace == 0:
        return np.zeros_like(gram)
    return np.linalg.matrix_power(gram, p - 1) * trace ** (1 / p - 1)


def run(lines, p, kernel, c):
    """One example per round; `c` is that of the shared loss, None learns from mistakes."""
    supports, margins, mistaken, gap = [], [], [], float("inf")
    gram = np.zeros((TASKS, TASKS))
    for at, (label, task, x) in enumerate(lines):
        products = np.zeros(TASKS)
        for owner, step, z in supports:
            products[owner] += step * kernel(z, x)
        margin = float(gradient(gram, p)[task] @ products)
        margins.append(margin)
        decision = abs(margin) if c is None else abs(1 - label * margin)
        if margin != 0:
            gap = min(gap, decision, abs(margin))
        if label * margin <= 0:
            mistaken.append(at)
        step = (label if label * margin <= 0 else 0.0) if c is None else (c * label if label * margin < 1 else 0.0)
        if step != 0:
            gram[task] += step * products
            gram[:, task] += step * products
            gram[task, task] += step * step * kernel(x, x)
            supports.append((task, step, x))
    expected = {"mistake_count": len(mistaken), "smallest_decision_gap": gap, "mistaken_lines": mistaken}
    expected["margins"] = margins
    expected["R"] = gradient(gram, p).tolist()
    return expected


def main():
    lines = read_stream()
    plain = lambda x, z: float(x @ z)
    polynomial = lambda x, z: float((x @ z + 1) ** 2)
    gaussian = lambda x, z: math.exp(-0.05 * float((x - z) @ (x - z)))
    auto = max(1, math.ceil(math.log(min(TASKS, FEATURES))))
    kernels = {
        "polynomial": {"polynomial": {"degree": 2, "coef0": 1.0}},
        "gaussian": {"gaussian": {"gamma": 0.05}},
    }
    for name, learner, expected in [
        ("matrix_auto", {"schatten-perceptron": {"p": "auto"}}, run(lines, auto, plain, None)),
        (
            "matrix_auto_gaussian",
            {"schatten-perceptron": {"p": "auto", "kernel": kernels["gaussian"]}},
            run(lines, auto, gaussian, None),
        ),
        (
            "shared_kernel_polynomial",
            {"shared-loss-perceptron": {"p": 1, "c": 0.01, "kernel": kernels["polynomial"]}},
            run(lines, 1, polynomial, 0.01),
        ),
        (
            "shared_kernel_gaussian",
            {"shared-loss-perceptron": {"p": 2, "c": 0.5, "norm": "l2", "kernel": kernels["gaussian"]}},
            run(lines, 2, gaussian, 0.5),
        ),
    ]:
        head = {"name": name, "stream": STREAM, "tasks": TASKS, "features": FEATURES, "simultaneous": False}
        with open(name + ".json", "w") as file:
            json.dump({**head, "learner": learner, "expected": expected}, file, indent=0)
            file.write("\n")


main()
