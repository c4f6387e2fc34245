#!/usr/bin/env python3
"""Vectors of `passive-aggressive` with real labels, from Crammer et al. 2006 section 5: dense lists, no shortcuts.

usage: python3 passive_aggressive.py   (in this folder; writes passive_aggressive_real.svm and passive_aggressive_*.json)
"""
import json
import random

TASKS, FEATURES, LINES, STREAM = 3, 6, 150, "passive_aggressive_real.svm"


def make_stream():
    draw = random.Random(5)
    truth = [[draw.gauss(0, 2) + task for _ in range(FEATURES)] for task in range(TASKS)]
    lines = []
    for _ in range(LINES):
        task = draw.randrange(TASKS)
        x = [round(draw.gauss(0, 1), 4) if draw.random() < 0.7 else 0.0 for _ in range(FEATURES)]
        label = round(sum(w * v for w, v in zip(truth[task], x)) + draw.gauss(0, 0.5), 4)
        lines.append((task, x, label))
    with open(STREAM, "w") as file:
        for task, x, label in lines:
            values = " ".join(f"{at + 1}:{value}" for at, value in enumerate(x) if value)
            file.write(f"{label} qid:{task + 1} {values}".rstrip() + "\n")
    return lines


def run(lines, scope, variant, c, epsilon):
    weights = [[0.0] * FEATURES for _ in range(TASKS if scope == "individual" else 1)]
    margins, gap = [], float("inf")
    for task, x, label in lines:
        w = weights[task if scope == "individual" else 0]
        margin = sum(a * b for a, b in zip(w, x))
        margins.append(margin)
        squared = sum(value * value for value in x)
        gap = min(gap, abs(abs(label - margin) - epsilon))
        loss = max(0.0, abs(label - margin) - epsilon)
        if loss == 0 or squared == 0:
            continue
        tau = {"pa": loss / squared, "pa1": min(c, loss / squared), "pa2": loss / (squared + 1 / (2 * c))}[variant]
        sign = 1 if label > margin else -1
        for at, value in enumerate(x):
            w[at] += sign * tau * value
    shown = weights if scope == "individual" else weights * TASKS
    return {"smallest_decision_gap": gap, "margins": margins, "weights": shown}


def main():
    lines = make_stream()
    for scope, variant, c, epsilon in [
        ("individual", "pa", 1.0, 0.25),
        ("individual", "pa1", 0.3, 0.1),
        ("individual", "pa2", 0.5, 0.0),
        ("global", "pa1", 2.0, 0.5),
    ]:
        name = f"passive_aggressive_{scope}_{variant}"
        vector = {
            "name": name,
            "stream": STREAM,
            "tasks": TASKS,
            "features": FEATURES,
            "simultaneous": False,
            "learner": {
                "passive-aggressive": {
                    "scope": scope,
                    "variant": variant,
                    "c": c,
                    "loss": {"epsilon-insensitive": {"epsilon": epsilon}},
                }
            },
            "expected": run(lines, scope, variant, c, epsilon),
        }
        with open(f"{name}.json", "w") as file:
            json.dump(vector, file)
            file.write("\n")


main()
