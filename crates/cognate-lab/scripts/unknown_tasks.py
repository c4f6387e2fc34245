#!/usr/bin/env python3
"""Lines whose task is not known: how often the task that answers is the right one, and how often its label is.

usage: python3 unknown_tasks.py COGNATE SEED... -- FILE...   (svm files, plain or gzip; prints means over the seeds, in %)

Of a shuffled file `adaptive` learns four fifths (rows of length 1). On the rest it predicts with the task as it is, with
`task:?`, and, learnt with `pooled`, without any task.
"""
import gzip
import os
import random
import subprocess
import sys
import tempfile


def read_lines(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    return [line.split("#")[0].split() for line in opened if line.strip() and not line.startswith("#")]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def predicted(cognate, stream, model):
    rows = [row.split(",") for row in run(cognate, "predict", stream, "--model", model)[1:]]
    return [(row[2], float(row[4])) for row in rows]


def measure(cognate, lines, seed, folder):
    random.Random(seed).shuffle(lines)
    cut = 4 * len(lines) // 5
    path = lambda name: os.path.join(folder, name)
    task = lambda line: line[1].split(":", 1)[1]
    with open(path("learn.svm"), "w") as file:
        file.writelines(" ".join(line) + "\n" for line in lines[:cut])
    rest = lines[cut:]
    for name, make in [("known", lambda line: line), ("unknown", lambda line: ["?", "task:?"] + line[2:])]:
        with open(path(name + ".svm"), "w") as file:
            file.writelines(" ".join(make(line)) + "\n" for line in rest)
    for model, interaction in [("coupled", "coupled"), ("pooled", "pooled")]:
        options = ["--set", f"interaction={interaction}", "--normalize", "l2", "--quiet", "--overwrite"]
        run(cognate, "learn", path("learn.svm"), *options, "--model", path(model))
    wrong = lambda line, margin: (float(line[0]) > 0) != (margin >= 0)
    answers = predicted(cognate, path("unknown.svm"), path("coupled"))
    share = lambda flags: 100 * sum(flags) / len(flags)
    tasks = [answer[0] == task(line) for line, answer in zip(rest, answers)]
    errors = [wrong(line, answer[1]) for line, answer in zip(rest, answers)]
    known = [wrong(line, margin) for line, (_, margin) in zip(rest, predicted(cognate, path("known.svm"), path("coupled")))]
    pooled = [wrong(line, margin) for line, (_, margin) in zip(rest, predicted(cognate, path("known.svm"), path("pooled")))]
    return [share(tasks), share(known), share(errors), share(pooled)]


def main():
    cut = sys.argv.index("--")
    cognate, seeds, files = sys.argv[1], [int(seed) for seed in sys.argv[2:cut]], sys.argv[cut + 1 :]
    print("| set | tasks | right task | error, task known | error, `task:?` | error, `pooled` |")
    print("|---|---|---|---|---|---|")
    for file in files:
        lines = read_lines(file)
        count, sums = len({line[1] for line in lines}), [0.0] * 4
        with tempfile.TemporaryDirectory() as folder:
            for seed in seeds:
                found = measure(cognate, list(lines), seed, folder)
                sums = [total + value / len(seeds) for total, value in zip(sums, found)]
        name = os.path.basename(file).split(".")[0]
        print(f"| {name} | {count} | " + " | ".join(f"{mean:.2f}" for mean in sums) + " |", flush=True)


main()
