"""River's LogisticRegression on dictionaries with every feature twice: shared, and crossed with the task.

usage: python3 river_logistic.py FILE        (svmlight with qid = task; the whole file is read)

Prints examples, progressive error and the CPU and wall seconds of reading and learning, without the
imports. Every example is predicted before it is learned.
"""

import json
import sys
import time

from river import linear_model, optim


def examples(path):
    with open(path) as lines:
        for line in lines:
            label, qid, *pairs = line.split()
            task = int(qid[4:])
            x = {}
            for pair in pairs:
                index, value = pair.split(":")
                x[index] = x[task, index] = float(value)
            yield x, label == "+1"


def main():
    cpu, wall = time.process_time(), time.perf_counter()
    # The default rate of 0.01 learns next to nothing from rows of length 1.
    model = linear_model.LogisticRegression(optim.SGD(1.0))
    count = mistakes = 0
    for x, y in examples(sys.argv[1]):
        mistakes += model.predict_one(x) != y
        model.learn_one(x, y)
        count += 1
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"examples": count, "error": mistakes / count, "cpu": cpu, "wall": wall}))


main()
