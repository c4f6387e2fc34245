"""Learning in shards, in plain Python: the schedule of crates/cognate/src/shards/mod.rs, for two learners.

    python3 shards.py

writes shards/stream.svm, and into shards/ one file per case: the config, the margin of every line before it is learnt, and how
many rounds ended and were scaled down. Nothing but the standard library; a weight is an entry of a dictionary.
"""

import json
import math
import random
from pathlib import Path

FOLDER = Path(__file__).parent / "shards"
FLOOR, CEILING = 64, 256
TASKS, LINES, FEATURES = 130, 1200, 40


def murmur3(data, seed=0):
    """MurmurHash3, 32 bits."""
    mask = 0xFFFFFFFF

    def rotated(x, by):
        return ((x << by) | (x >> (32 - by))) & mask

    def mixed(word):
        return rotated(word * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask

    h = seed
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        h = rotated(h ^ mixed(int.from_bytes(data[at : at + 4], "little")), 13) * 5 + 0xE6546B64 & mask
    if data[whole:]:
        h ^= mixed(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


def make_stream():
    """Lines of tasks that have a vector in common; tasks come one by one, some far more often than others."""
    rng = random.Random(28)
    shared = [rng.gauss(0, 1) for _ in range(FEATURES)]
    own = [[weight + 0.8 * rng.gauss(0, 1) for weight in shared] for _ in range(TASKS)]
    lines = []
    for line in range(LINES):
        task = int(min(TASKS, 3 + line // 6) * rng.random() ** 1.5)
        indices = sorted(rng.sample(range(1, FEATURES + 1), rng.randint(1, 6)))
        x = {index: round(rng.gauss(0, 1), 3) for index in indices}
        label = 1 if sum(own[task][i - 1] * v for i, v in x.items()) > 0 else -1
        if rng.random() < 0.05:
            label = -label
        lines.append((f"task{task * task % 977}_{task}", x, label))
    return lines


def scales(interaction, b, tasks):
    """What own and shared weights count."""
    k = max(tasks, 1)
    return {
        "independent": (1.0, 0.0),
        "pooled": (0.0, 1.0),
        "pairwise": (1 / (k + 1), 1 / (k + 1)),
        "coupled": (1 / (1 + b), b / (1 + b) / k),
    }[interaction]


class Perceptron:
    def __init__(self, interaction, b=1.0):
        self.interaction, self.b = interaction, b
        self.keeps_shared, self.keeps_own = interaction != "independent", interaction != "pooled"

    def scales(self, tasks):
        return scales(self.interaction, self.b, tasks)

    def step(self, x, label, margin):
        return label if label * margin <= 0 else 0.0


class PassiveAggressive:
    def __init__(self, scope, variant, c=1.0):
        self.variant, self.c = variant, c
        self.keeps_shared, self.keeps_own = scope == "global", scope == "individual"

    def scales(self, tasks):
        return 1.0, 1.0

    def step(self, x, label, margin):
        loss = max(0.0, 1 - label * margin)
        square = sum(v * v for v in x.values())
        if loss == 0 or square == 0:
            return 0.0
        tau = {"pa": loss / square, "pa1": min(loss / square, self.c), "pa2": loss / (square + 0.5 / self.c)}
        return tau[self.variant] * label


def dot(weights, x):
    return sum(weights.get(i, 0.0) * v for i, v in x.items())


def add(weights, x, step):
    for i, v in x.items():
        weights[i] = weights.get(i, 0.0) + step * v


def squared(weights):
    return sum(w * w for w in weights.values())


def learn(learner, lines, shards, mix):
    """Margins, rounds that ended, rounds that were scaled down."""
    number = {}
    own, block = {}, {}
    changes = [{} for _ in range(shards)]
    reach = [0] * shards
    known, learnt, rounds, scaled = 0, 0, 0, 0
    length = mix if mix != "auto" else FLOOR
    margins = []
    for task, x, label in lines:
        at = number.setdefault(task, len(number) + 1)
        shard = murmur3(task.encode()) % shards
        reach[shard] = max(reach[shard], at)
        mine, shared = learner.scales(max(known, reach[shard]))
        seen = dot(block, x) + dot(changes[shard], x)
        margin = mine * dot(own.setdefault(task, {}), x) + shared * seen
        margins.append(margin)
        step = learner.step(x, label, margin)
        if step != 0:
            if learner.keeps_shared:
                add(changes[shard], x, step)
            if learner.keeps_own:
                add(own[task], x, step)
        learnt += 1
        if learnt < length:
            continue
        total = {}
        for changed in changes:
            add(total, changed, 1.0)
        most = max(squared(block), sum(map(squared, changes)))
        factor = 1.0
        if sum(map(bool, changes)) > 1 and squared(total) > most:
            factor = math.sqrt(most / squared(total))
            scaled += 1
        add(block, total, factor)
        changes, reach = [{} for _ in range(shards)], [0] * shards
        known, learnt, rounds = len(number), 0, rounds + 1
        length = mix if mix != "auto" else min(max(FLOOR, known), CEILING)
    return margins, rounds, scaled


def main():
    FOLDER.mkdir(exist_ok=True)
    lines = make_stream()
    text = [f"{label:+d} task:{task} " + " ".join(f"{i}:{v}" for i, v in x.items()) for task, x, label in lines]
    (FOLDER / "stream.svm").write_text("\n".join(text) + "\n")
    cases = [
        ("coupled_auto", "perceptron", {"interaction": {"coupled": {"b": 1.0}}}, Perceptron("coupled"), 4, "auto"),
        ("coupled_8", "perceptron", {"interaction": {"coupled": {"b": 8.0}}}, Perceptron("coupled", 8.0), 16, 100),
        ("pooled", "perceptron", {"interaction": "pooled"}, Perceptron("pooled"), 3, 50),
        ("pairwise", "perceptron", {"interaction": "pairwise"}, Perceptron("pairwise"), 5, 7),
        ("independent", "perceptron", {"interaction": "independent"}, Perceptron("independent"), 4, 10),
    ]
    for scope, variant, shards, mix in [("global", "pa1", 4, 25), ("global", "pa2", 2, "auto"), ("individual", "pa", 3, "auto")]:
        parameters = {"scope": scope, "variant": variant, "c": 1.0}
        name = f"passive_aggressive_{scope}_{variant}"
        cases.append((name, "passive-aggressive", parameters, PassiveAggressive(scope, variant), shards, mix))
    for name, learner, parameters, reference, shards, mix in cases:
        margins, rounds, scaled = learn(reference, lines, shards, mix)
        gap = min(abs(margin) for margin in margins if margin != 0)
        case = {
            "learner": {learner: parameters},
            "shards": {"count": shards, "mix": mix},
            "rounds": rounds,
            "scaled": scaled,
            "smallest_margin": gap,
            "margins": margins,
        }
        (FOLDER / f"{name}.json").write_text(json.dumps(case) + "\n")
        mistakes = sum(margin * label <= 0 for margin, (_, _, label) in zip(margins, lines))
        print(f"{name}: {mistakes} mistakes, {rounds} rounds, {scaled} scaled, smallest margin {gap:.1e}")


if __name__ == "__main__":
    main()
