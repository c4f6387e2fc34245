#!/usr/bin/env python3
"""Vectors of `adaptive` for real labels, importance weights and offsets, from the formulas at the top of its files.

usage: python3 adaptive_real.py          (in this folder; writes adaptive_real.json)

Dense lists, bisection in place of Newton's method, Gauss-Jordan in place of a factorisation.
"""
import json
import math
import random
import struct

TASKS, FEATURES, EXAMPLES = 3, 4, 150


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def bisect(low, high, above):
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return (low + high) / 2


def step(loss, y, base, w, margin, variance):
    """The signed t of an implicit step."""
    if loss == "logistic":
        return y * bisect(0.0, w, lambda t: t > w * sigmoid(-(y * margin + variance * t)))
    if loss == "squares":
        return w * (y - margin) / (1 + w * variance)
    if loss == "poisson":
        bound = w * (y + math.exp(base + margin))
        return bisect(-bound, bound, lambda t: t > w * (y - math.exp(min(600, base + margin + variance * t))))
    q = loss["quantile"]["q"]
    return min(w * q, max(-w * (1 - q), (y - margin) / variance)) if variance > 0 else 0.0


def curvature(margin):
    return sigmoid(margin) * sigmoid(-margin)


def weighted(w, start, end):
    return w * start if w < 1 else start + (w - 1) * end


def solve(matrix, right):
    n = len(right)
    rows = [list(row) + [r] for row, r in zip(matrix, right)]
    for i in range(n):
        p = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[p] = rows[p], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i])]
    return [row[-1] for row in rows]


def dot(a, b):
    return sum(u * v for u, v in zip(a, b))


class Units:
    """Centre, scale, noise and lift; tasks begin from what is known about others, or there is one."""

    def __init__(self, loss, shared):
        self.loss, self.shared = loss, shared
        self.kind = loss if isinstance(loss, str) else "quantile"
        self.tasks = {}
        self.labels = self.mean = 0.0
        self.sums = [1.0, 1.0, 1.0]
        self.lifts = [0.0]

    def known(self, task):
        return self.tasks.get(task, {"n": 0, "c": 0.0, "p": 0.0, "m": 0.0, "d": 0.0, "r": 0.0})

    def unit(self, task):
        k = self.known(task)
        poisson = self.kind == "poisson"
        if k["n"] or not self.shared:
            c = k["c"]
        else:
            c = math.log((self.mean * self.labels + 0.5) / (self.labels + 0.5)) if poisson else self.mean
        if poisson:
            return c, 1.0, 0.0, 30.0
        logs = [math.log(t["d"]) for t in self.tasks.values() if t["d"] > 0]
        s = k["d"]
        if self.shared and logs:
            usual = sum(logs) / len(logs)
            if s <= 0:
                s = math.exp(usual)
            elif abs(math.log(s) - usual) <= math.log(10) or (math.log(s) < usual and k["m"] < 3):
                s = math.exp(usual + (math.log(s) - usual) * k["m"] / (k["m"] + 6))
        level = min(k["n"].bit_length(), len(self.lifts) - 1)
        most = max(3.0, min(1000.0, 1.25 * k["r"] / s)) if k["r"] else 3.0
        return c, s, self.lifts[level], most

    def h(self):
        return 1 / 3 / max(1e-9, self.sums[2] / self.sums[0])

    def noise(self):
        if self.kind == "quantile":
            q = self.loss["quantile"]["q"]
            return q * (1 - q) / self.h()
        return max(1e-9, self.sums[1] / self.sums[0])

    def value(self, task, margin):
        c, s, g, most = self.unit(task)
        return c + s * max(-most, min(most, margin + g))

    def plausible(self, task, base):
        h = math.exp(base) if self.kind == "poisson" else self.h() if self.kind == "quantile" else 1.0
        return self.unit(task)[3] * math.sqrt(max(1, self.known(task)["n"]) * h)

    def learn(self, task, label, w, offset, predicted):
        c, s, _, most = self.unit(task)
        k = dict(self.known(task))
        y, error, one = label - offset, label - predicted, self.h() if self.kind == "quantile" else 1.0
        if self.kind == "quantile":
            level, q = k["n"].bit_length(), self.loss["quantile"]["q"]
            while len(self.lifts) <= level:
                self.lifts.append(self.lifts[-1])
            if s > 0:
                below = 1.0 if label <= predicted else 0.0
                counted = min(10.0, w)
                rate = max(0.05 * counted, 1.25 * abs(2 * q - 1) * counted / (self.sums[0] + counted - 1))
                self.lifts[level] += rate * max(1e-9, self.sums[2] / self.sums[0]) * (q - below)
        if self.kind == "poisson":
            p = k["p"] + (4 * math.exp(c + offset) if self.shared else 0.5)
            k["c"] = c + step("poisson", label, predicted, w, 0.0, 1 / p) / p
            k["p"] += w * math.exp(k["c"] + offset)
        else:
            first = k["n"] == 0
            # What was cut says nothing about the centre.
            wrong = y - c if abs(predicted - offset - c) >= (1 - 1e-9) * s * most else error
            if self.labels == 0 or (first and not self.shared) or (first and abs(wrong) > 10 * s):
                k["c"] = y
            elif s <= 0:
                k["c"] = c + wrong * w / (k["p"] + w)
            else:
                p = k["p"] + (4 * one if self.shared else 0.0)
                p = p if self.kind == "squares" else max(p, one)
                k["c"] = c + s * step(self.loss, wrong / s, 0.0, w, 0.0, 1 / p) / p
            k["p"] += w * one
            if not first:
                k["r"] = max(k["r"], abs(y - c))
                k["m"] += w
                k["d"] += (abs(y - c) - k["d"]) * w / k["m"]
        k["n"] += 1
        self.tasks[task] = k
        exposure, seen = (math.exp(offset), label) if self.kind == "poisson" else (1.0, y)
        self.labels += w * exposure
        self.mean += (seen - self.mean * exposure) * w / self.labels
        c, s, _, _ = self.unit(task)
        if self.kind == "poisson":
            mean = math.exp(predicted)
            new = [1.0, min(25.0, (label - mean) ** 2 / mean), 0.0]
        elif s > 0:
            size = min(2.0, abs(error / s))
            new = [1.0, size * size, size]
        else:
            new = None
        if new:
            self.sums = [a + w * b for a, b in zip(self.sums, new)]


def short(row):
    """A task's own numbers as they are kept: the upper half of a double, rounded; those of the intercept in full."""
    bits = [struct.unpack("<Q", struct.pack("<d", v))[0] + 2**31 >> 32 << 32 for v in row[:FEATURES]]
    return [struct.unpack("<d", struct.pack("<Q", b))[0] for b in bits] + row[FEATURES:]


class Learner:
    """Parts: own of `alone` and `coupled`, shared of `pooled` and `coupled`; by interaction some are there."""

    def __init__(self, interaction, loss):
        self.loss, self.auto = loss, interaction == {"coupled": {"b": "auto"}}
        self.real, self.apart = loss != "logistic", interaction == "independent"
        wide, narrow = (10.0, 1.0) if self.real else (50.0 if self.auto else 10.0, 5.0)
        if self.auto:
            self.priors, self.members = [wide, narrow / 2, wide, narrow / 2], [[0], [1, 3], [2]]
        elif self.apart:
            self.priors, self.members = [wide, 0, 0, 0], [[0]]
        else:
            b = interaction["coupled"]["b"]
            own, shared = 1 / (1 + b), b / (1 + b) / TASKS
            self.priors, self.members = [0, wide * own / (own + shared), 0, wide * shared / (own + shared)], [[1, 3]]
        zeros = lambda: [0.0] * (FEATURES + 1)
        self.w = [[zeros() for _ in range(TASKS)] for _ in range(4)]
        self.c, self.d = [zeros() for _ in range(TASKS)], zeros()
        self.s, self.m = [zeros() for _ in range(TASKS)], [[0.0, 0] for _ in range(TASKS)]
        self.units = [Units(loss, not self.apart) for _ in range(TASKS)] if self.real else None
        eye = lambda n, v: [[v * (i == j) for j in range(n)] for i in range(n)]
        self.levels, self.seen = {0: ([1 / 3] * 4, eye(4, 1 / 0.3))}, [0] * TASKS
        self.labels = {-1.0: 0.0, 1.0: 0.0}
        self.trust = [([1.0, 1.0], eye(2, 20.0)) for _ in range(TASKS)]
        self.lean = [(1.0, 6.0) for _ in range(TASKS)]

    def of(self, task):
        return (self.units[task], 0) if self.apart else (self.units[0], task)

    def scale(self, task):
        return 1.0 if not self.real else self.of(task)[0].unit(self.of(task)[1])[1]

    def parts(self, task, x, scale):
        z = [dot(self.w[0][task], x), dot(self.w[1][task], x), dot(self.w[2][0], x), dot(self.w[3][0], x)]
        own = 1 / scale if scale > 0 else 0.0
        side = self.side(task)
        return [own * z[0], own * z[1], side * z[2], side * z[3]], z[2]

    def within(self, task, z):
        """Parts as the mixture sees them: no farther away than labels are."""
        if not (self.real and not self.apart):
            return z
        most = self.units[0].unit(task)[3]
        return [max(-most, min(most, v)) for v in z]

    def side(self, task):
        lean, sure = self.lean[task]
        return max(-1.0, min(1.0, lean * math.sqrt(sure))) if self.auto else 1.0

    def mix(self, task, z):
        if not self.auto:
            return sum(z[k] for k in self.members[0])
        level = self.seen[task].bit_length()
        a, f = self.levels[max(k for k in self.levels if k <= level)][0], self.trust[task][0]
        return f[0] * (a[0] * z[0] + a[1] * z[1]) + f[1] * (a[2] * z[2] + a[3] * z[3])

    def margin(self, task, x):
        mixed = self.mix(task, self.within(task, self.parts(task, x, self.scale(task))[0]))
        return self.of(task)[0].value(self.of(task)[1], mixed) if self.real else mixed

    def regress(self, a, p, z, y, base, w, offset, loss, rho, h):
        longest = max(map(abs, z))
        z = [v * min(1.0, 20 / longest) if longest else v for v in z]
        s, margin = solve(p, z), dot(a, z) + offset
        variance = dot(s, z)
        t = step(loss, y, base, w, margin, variance / rho) / rho
        end = margin + variance * t
        gain = weighted(w, curvature(margin), curvature(end)) if loss == "logistic" else w * h(end) / rho
        return [u + t * v for u, v in zip(a, s)], [[p[i][j] + gain * z[i] * z[j] for j in range(len(z))] for i in range(len(z))]

    def weigh(self, task, z, pooled, y, base, w, offset, rho, h):
        level = self.seen[task].bit_length()
        self.seen[task] += 1
        if level not in self.levels:
            a, p = self.levels[max(k for k in self.levels if k < level)]
            self.levels[level] = a, [[v / 4 + 0.75 / 0.3 * (i == j) for j, v in enumerate(r)] for i, r in enumerate(p)]
        a, p = self.levels[level]
        apart = [a[0] * z[0] + a[1] * z[1], a[2] * z[2] + a[3] * z[3]]
        given = y, base, w, offset, self.loss
        self.trust[task] = self.regress(*self.trust[task], apart, *given, 4 * rho if self.real else 1.0, h)
        self.levels[level] = self.regress(a, p, z, *given, rho, h)
        lean, sure = self.lean[task]
        sign = y if not self.real else 1.0 if y > (math.exp(base) if self.loss == "poisson" else 0.0) else -1.0
        offset = 0.0 if self.real else offset
        ([lean], [[sure]]) = self.regress([lean], [[sure]], [max(-1.0, min(1.0, pooled))], sign, 0.0, w, offset, "logistic", 1.0, None)
        self.lean[task] = lean, sure

    def learn(self, task, x, label, w, offset):
        margin, base, rho, h = self.margin(task, x) + offset, 0.0, 1.0, None
        y, scale, side = label, 1.0, self.side(task)
        before = self.scale(task)
        weighed = self.within(task, self.parts(task, x, before)[0])
        if self.real:
            units, at = self.of(task)
            units.learn(at, label, w, offset, margin)
            c, scale, _, _ = units.unit(at)
            if scale <= 0:
                return
            rho = units.noise()
            if self.loss == "poisson":
                base, h = c + offset, lambda end: math.exp(base + end)
            else:
                y, h = (label - offset - c) / scale, lambda _: units.h() if units.kind == "quantile" else 1.0
            offset = 0.0
        z, pooled = self.parts(task, x, scale)
        if self.auto:
            renewed = before / scale
            weighed = [renewed * weighed[0], renewed * weighed[1], weighed[2], weighed[3]]
            self.weigh(task, weighed, pooled, y, base, w, offset, rho, h)
        said = [sum(z[k] for k in parts) + offset for parts in self.members]
        if self.auto and not self.real:
            self.labels[y] += w
            sure = 1.5 + max(0.0, math.log((1 + self.labels[y]) / (1 + self.labels[-y]) / 3))
            if all(y * m > sure for m in said):
                return
        known = task if self.apart else 0
        s = self.s[known]
        s[FEATURES] = 1.0
        held = lambda part: self.c[task] if part < 2 else self.d
        counts = lambda part: 1.0 if part < 2 else side
        vectors = [self.w[0][task], self.w[1][task], self.w[2][0], self.w[3][0]]
        changes, old = [0.0] * 4, list(s)
        for k, v in enumerate(x[:-1]):
            s[k] = max(s[k], abs(v))
        if old[0]:
            usual = math.exp(sum(math.log(v) for v in old[:-1]) / FEATURES)
            mean = self.m[known][0] / self.m[known][1] * rho
            prior = lambda p, v: mean * v * v / max(0.25, min(4.0, v / usual)) / self.priors[p]
            for p in [p for parts in self.members for p in parts]:
                for k, v in enumerate(x[:-1]):
                    held_at, weight = held(p)[k], vectors[p][k]
                    if s[k] > old[k]:
                        shrink = (prior(p, old[k]) + held_at) / (prior(p, s[k]) + held_at)
                        weight *= shrink if self.real else old[k] / s[k] if s[k] > 10 * old[k] else 1.0
                    if self.real and not self.apart and p < 2:
                        most = scale * units.plausible(at, base) * math.sqrt(held_at) / (prior(p, s[k]) + held_at)
                        weight = max(-most, min(most, weight))
                    changes[p] += (weight - vectors[p][k]) * v * (1 / scale if p < 2 else side)
                    vectors[p][k] = weight
        self.shorten(task)
        if self.real:
            said = [m + sum(changes[p] for p in parts) for parts, m in zip(self.members, said)]
        usual = math.exp(sum(math.log(v) for v in s[:-1]) / FEATURES)
        ratio = [max(0.25, min(4.0, v / usual)) for v in s[:-1]] + [1.0]
        self.m[known][0] += sum(r * (a / b) ** 2 for r, a, b in zip(ratio, x, s))
        self.m[known][1] += 1
        mean = self.m[known][0] / self.m[known][1] * rho
        moves, gain = [], None
        for parts, m in zip(self.members, said):
            rates = {p: [v / (mean * s[k] ** 2 / ratio[k] / self.priors[p] + held(p)[k]) for k, v in enumerate(x)] for p in parts}
            variance = sum(counts(p) ** 2 * dot(rates[p], x) for p in parts)
            t = step(self.loss, y, base, w, m, variance)
            if parts == [1, 3] or len(self.members) == 1:
                end = m + variance * t
                start = margin if self.auto else m
                gain = w * h(end) if self.real else weighted(w, curvature(start), curvature(end))
            moves += [(p, t * counts(p) * (scale if p < 2 else 1.0), rates[p]) for p in parts]
        for p, t, rates in moves:
            vector = self.w[p][task if p < 2 else 0]
            vector[:] = [a + t * b for a, b in zip(vector, rates)]
        for precision in [self.c[task], self.d]:
            precision[:] = [a + gain * b * b for a, b in zip(precision, x)]
        self.shorten(task)

    def shorten(self, task):
        """Rounds what is a task's own, where tasks share."""
        if not self.apart:
            for row in self.w[0][task], self.w[1][task], self.c[task]:
                row[:] = short(row)


def rows(loss, seed):
    draw = random.Random(seed)
    shared = [draw.gauss(0, 1) for _ in range(FEATURES)]
    own = [[v + 0.4 * draw.gauss(0, 1) for v in shared] for _ in range(TASKS)]
    made = []
    for n in range(EXAMPLES):
        task = draw.randrange(TASKS)
        x = [round(draw.uniform(-2, 2), 3) for _ in range(FEATURES)]
        y = dot(own[task], x) + task + 0.5 * draw.gauss(0, 1)
        if loss == "logistic":
            y = 1.0 if y > 0 else -1.0
        elif loss == "poisson":
            y = float(int(math.exp(max(-2, min(2.5, 0.5 * y)))))
        else:
            y = round((1000 * y + 5000) if task == 2 else y, 3)
        weight = [1.0, 1.0, 2.0, 0.5, 3.5][n % 5]
        offset = [0.0, 0.25, -0.5][n % 3]
        made.append([task, y, weight, offset, x])
    return made


vectors = []
AUTO = {"coupled": {"b": "auto"}}
QUANTILE = {"quantile": {"q": 0.8}}
for seed, (interaction, loss) in enumerate([
    (AUTO, "logistic"), ("independent", "logistic"), (AUTO, "squares"), ("independent", "squares"),
    ({"coupled": {"b": 2}}, "squares"), (AUTO, QUANTILE), ("independent", QUANTILE), (AUTO, "poisson"),
    ("independent", "poisson"), ({"coupled": {"b": 2}}, "poisson"),
]):
    learner, stream, margins = Learner(interaction, loss), rows(loss, seed), []
    for task, y, weight, offset, x in stream:
        x = x + [1.0]
        margins.append(learner.margin(task, x) + offset)
        learner.learn(task, x, y, weight, offset)
    vectors.append({"learner": {"interaction": interaction, "loss": loss}, "rows": stream, "margins": margins})
    print(interaction, loss, margins[-1])
with open("adaptive_real.json", "w") as file:
    json.dump(vectors, file)
    file.write("\n")
