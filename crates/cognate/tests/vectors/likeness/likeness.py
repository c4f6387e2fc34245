#!/usr/bin/env python3
"""likeness.py: how alike tasks are, by the formulas of `adaptive/kinship.rs` and `adaptive/likeness.rs`, in plain Python.

Writes likeness.json: rows and base rates of made tasks, and the strength and deviation of every pair, null where the evidence does
not say. Directions come of all tasks but the last two.
"""
import json
import math
import pathlib
import random

DIRECTIONS, ROUNDS, SETTLED = 6, 60, 1e-5


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def made():
    draw = random.Random(3)
    width, angles = 500, [0.0, 0.1, 3.2, 0.0, 1.6, 1.5, 4.7, 1.6, None, 3.1, 0.2, 1.4]
    directions = [[draw.gauss(0, 1) for _ in range(width)] for _ in range(2)]
    tasks = []
    for task, angle in enumerate(angles):
        held = 0.0 if angle is None else math.sqrt(0.25 + 0.03 * (task % 4))
        cos, sin = (0.0, 0.0) if angle is None else (math.cos(angle), math.sin(angle))
        rates = [abs(draw.gauss(1, 0.3)) for _ in range(width)]
        noise = math.sqrt(1 - held * held)
        row = [held * (cos * a + sin * b) + noise * draw.gauss(0, 1) + 0.4 * (task % 3 - 1) * rate
               for a, b, rate in zip(*directions, rates)]
        tasks.append(([round(x, 4) for x in row], [round(x, 4) for x in rates]))
    return tasks


def portrait(row, rates):
    share = dot(row, rates) / dot(rates, rates)
    return [x - share * rate for x, rate in zip(row, rates)]


def correlations(rows):
    size = len(rows)
    r, w = [[0.0] * size for _ in rows], [[0.0] * size for _ in rows]
    for i in range(size):
        for j in range(size):
            if i != j:
                lengths = math.sqrt(dot(rows[i], rows[i]) * dot(rows[j], rows[j]))
                r[i][j] = dot(rows[i], rows[j]) / lengths
                w[i][j] = lengths ** 2 / math.fsum((x * y) ** 2 for x, y in zip(rows[i], rows[j]))
    return r, w


def largest(matrix):
    """The largest eigenvalue and its vector, by the power method."""
    size = len(matrix)
    shift = max(sum(abs(x) for x in row) for row in matrix)
    vector = [1.0 + 0.1 * i for i in range(size)]
    for _ in range(20000):
        new = [dot(row, vector) + shift * x for row, x in zip(matrix, vector)]
        length = math.sqrt(dot(new, new))
        vector = [x / length for x in new]
    return dot(vector, [dot(row, vector) for row in matrix]), vector


def inverse(matrix):
    size = len(matrix)
    rows = [list(row) + [float(i == j) for j in range(size)] for i, row in enumerate(matrix)]
    for i in range(size):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(size):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i])]
    return [row[size:] for row in rows]


def regress(task, reference, held, r, w):
    others = [other for other in reference if other != task]
    sums = [[float(a == b) + math.fsum(w[task][o] * held[o][a] * held[o][b] for o in others)
             for b in range(DIRECTIONS)] for a in range(DIRECTIONS)]
    products = [math.fsum(w[task][o] * r[task][o] * held[o][a] for o in others) for a in range(DIRECTIONS)]
    found = inverse(sums)
    row = [dot(line, products) for line in found]
    length = math.sqrt(dot(row, row))
    row = [x / max(length, 1.0) for x in row]
    return row, found, math.fsum(1 / w[task][o] for o in others) / len(others)


def badness(reference, held, r, w):
    return math.fsum(w[i][j] * (r[i][j] - dot(held[i], held[j])) ** 2 for i in reference for j in reference if j < i)


def directions(reference, r, w):
    size = len(reference)
    held = {task: [0.0] * DIRECTIONS for task in reference}
    unexplained = badness(reference, held, r, w)
    for direction in range(DIRECTIONS):
        value, vector = largest([[0.0 if i == j else math.sqrt(w[i][j]) * (r[i][j] - dot(held[i], held[j]))
                                  for j in reference] for i in reference])
        more = {task: list(row) for task, row in held.items()}
        for task, x in zip(reference, vector):
            mean = sum(w[task][o] for o in reference) / (size - 1)
            more[task][direction] = x * math.sqrt(max(value, 0.0)) / max(mean ** 0.25, 1.0)
            length = math.sqrt(dot(more[task], more[task]))
            more[task] = [x / max(length, 1.0) for x in more[task]]
        for _ in range(ROUNDS):
            moved = 0.0
            for task in reference:
                row = regress(task, reference, more, r, w)[0]
                moved = max([moved] + [abs(a - b) for a, b in zip(row, more[task])])
                more[task] = row
            if moved < SETTLED:
                break
        left = badness(reference, more, r, w)
        if unexplained - left < 3 * size:
            break
        held, unexplained = more, left
    return held


def likeness(rows, reference):
    r, w = correlations(rows)
    held = directions(reference, r, w)
    known = [regress(task, reference, held, r, w) for task in range(len(rows))]
    lengths = [math.sqrt(dot(row, row)) for row, _, _ in known]
    units = [[x / length for x in row] for (row, _, _), length in zip(known, lengths)]

    def variance(task, unit):
        _, found, noise = known[task]
        return noise + dot(unit, [dot(line, unit) for line in found])

    pairs = []
    for i in range(len(rows)):
        for j in range(i):
            holds = all(lengths[t] ** 2 >= 12 * variance(t, units[t]) for t in (i, j))
            strength = dot(units[i], units[j])
            deviation = math.sqrt(variance(i, units[j]) / lengths[i] ** 2 + variance(j, units[i]) / lengths[j] ** 2)
            pairs.append([strength, deviation] if holds and abs(strength) >= 3 * deviation else None)
    return pairs


if __name__ == "__main__":
    tasks = made()
    reference = list(range(len(tasks) - 2))
    found = likeness([portrait(*task) for task in tasks], reference)
    text = {"rows": [row for row, _ in tasks], "rates": [rates for _, rates in tasks],
            "reference": reference, "pairs": found}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(text) + "\n")
    print(sum(pair is not None for pair in found), "of", len(found), "pairs")
