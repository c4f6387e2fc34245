#!/usr/bin/env python3
"""Streams whose groups of tasks change half-way: what `forget` does for `relation = "scale-free"`.

usage: python3 drift.py COGNATE SEED...   (prints mistakes in %, means over the seeds)

32 tasks of four groups; a task's truth is that of its group and something of its own. Half-way through 40,000 examples every
task goes to a group drawn anew. 20 of 60 features per example, rows of length 1, one label in twenty flipped.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

TASKS, GROUPS, FEATURES, PRESENT, COUNT = 32, 4, 60, 20, 40_000
HALF_LIVES = [None, 1000, 500, 200, 100, 50]
PARTS = [("before", 0.25, 0.5), ("first fifth after", 0.5, 0.6), ("second half after", 0.75, 1.0), ("after", 0.5, 1.0)]


def write_stream(seed, path):
    draw = random.Random(seed)
    vector = lambda scale: [draw.gauss(0, scale) for _ in range(FEATURES)]
    groups, own = [vector(1) for _ in range(GROUPS)], [vector(0.3) for _ in range(TASKS)]
    regroup = lambda: [draw.randrange(GROUPS) for _ in range(TASKS)]
    before, after = regroup(), regroup()
    with open(path, "w") as file:
        for at in range(COUNT):
            task = draw.randrange(TASKS)
            group = (before if at < COUNT // 2 else after)[task]
            features = sorted(draw.sample(range(FEATURES), PRESENT))
            x = [draw.gauss(0, 1) for _ in features]
            length = sum(value * value for value in x) ** 0.5
            score = sum(value * (groups[group][j] + own[task][j]) for value, j in zip(x, features))
            label = (1 if score > 0 else -1) * (-1 if draw.random() < 0.05 else 1)
            values = " ".join(f"{j + 1}:{value / length:.5f}" for j, value in zip(features, x))
            file.write(f"{label:+d} qid:{task + 1} {values}\n")


def errors(cognate, stream, trace, forget):
    command = [cognate, "learn", stream, "--learner", "relation-perceptron", "--set", "relation=scale-free"]
    command += ["--set", f"forget={forget}"] if forget else []
    subprocess.run(command + ["--trace", trace, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    mistakes = [json.loads(line)["mistake"] for line in open(trace)]
    part = lambda begin, end: mistakes[int(begin * COUNT) : int(end * COUNT)]
    return [100 * sum(part(begin, end)) / len(part(begin, end)) for _, begin, end in PARTS]


def main():
    cognate, seeds = sys.argv[1], [int(seed) for seed in sys.argv[2:]]
    sums = {forget: [0.0] * len(PARTS) for forget in HALF_LIVES}
    with tempfile.TemporaryDirectory() as folder:
        stream, trace = os.path.join(folder, "stream.svm"), os.path.join(folder, "trace.jsonl")
        for seed in seeds:
            write_stream(seed, stream)
            for forget in HALF_LIVES:
                found = errors(cognate, stream, trace, forget)
                sums[forget] = [total + error / len(seeds) for total, error in zip(sums[forget], found)]
    print("| `forget` | " + " | ".join(name for name, *_ in PARTS) + " |")
    print("|---|" + "---|" * len(PARTS))
    for forget, means in sums.items():
        print(f"| {forget or 'none'} | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")


main()
