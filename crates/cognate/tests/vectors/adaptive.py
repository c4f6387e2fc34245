#!/usr/bin/env python3
"""Vectors of `adaptive`, computed from the formulas at the top of its files: dense lists, no shortcuts.

usage: python3 adaptive.py          (in this folder; writes adaptive_*.json, adaptive_units.svm, adaptive_outgrown.svm, stream_again.svm and stream_rare.svm)
"""
import json
import math
import struct

TASKS, FEATURES, STREAM = 3, 10, "stream_b.svm"
WIDE, ALONE, NARROW, COMMON = 50.0, 10.0, 5.0, 0.5
START, PRIOR, LONGEST, TAKEN_OVER = 1 / 3, 1 / 0.3, 20.0, 0.25
TRUST_PRIOR, RELATED = 20.0, (1.0, 6.0)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def implicit(agreed, variance, loss):
    """t = -l'(agreed + variance t), by bisection."""
    if loss == "hinge":
        return min(1.0, max(0.0, 1 - agreed) / variance)
    low, high = 0.0, 1.0
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if sigmoid(-(agreed + variance * t)) > t else (low, t)
    return t


def curvature(margin, loss):
    q = sigmoid(margin)
    return q * (1 - q) if loss == "logistic" else 1.0


def solve(matrix, right):
    """Gauss-Jordan with pivoting."""
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


def zeros():
    return [0.0] * (FEATURES + 1)


def short(row):
    """A task's own numbers as they are kept: the upper half of a double, rounded; those of the intercept in full."""
    bits = [struct.unpack("<Q", struct.pack("<d", v))[0] + 2**31 >> 32 << 32 for v in row[:FEATURES]]
    return [struct.unpack("<d", struct.pack("<Q", b))[0] for b in bits] + row[FEATURES:]


def first_group(task, groups):
    drawn = (task + 1) * 0x9E3779B97F4A7C15 % 2**64
    return ((drawn ^ (drawn >> 29)) * 0xBF58476D1CE4E5B9 % 2**64 >> 33) % groups


def ratios(s, all_sizes):
    """r of every feature, relative to the usual size; 1 for the intercept."""
    met = [v for sizes in all_sizes for v in sizes[:FEATURES] if v > 0]
    usual = math.exp(sum(math.log(v) for v in met) / len(met)) if met else 1.0
    return [max(0.25, min(4.0, v / usual)) for v in s[:FEATURES]] + [1.0]


class Trust:
    """What sets a task apart: factors of its own and the shared part, and its side."""

    def __init__(self):
        self.factors, self.precision = [1.0, 1.0], [[TRUST_PRIOR, 0.0], [0.0, TRUST_PRIOR]]
        self.lean, self.sure = RELATED

    @property
    def side(self):
        return max(-1.0, min(1.0, self.lean * math.sqrt(self.sure)))

    def learn(self, y, parts, pooled, keep):
        fade = lambda v, start: keep * v + (1 - keep) * start
        p = [[fade(v, TRUST_PRIOR * (i == j)) for j, v in enumerate(r)] for i, r in enumerate(self.precision)]
        self.sure = fade(self.sure, RELATED[1])
        longest = max(map(abs, parts))
        z = [v * min(1.0, LONGEST / longest) if longest else v for v in parts]
        margin = sum(f * v for f, v in zip(self.factors, z))
        s = solve(p, z)
        t = implicit(y * margin, sum(u * v for u, v in zip(s, z)), "logistic")
        h = curvature(margin, "logistic")
        self.factors = [f + t * y * v for f, v in zip(self.factors, s)]
        self.precision = [[p[i][j] + h * z[i] * z[j] for j in range(2)] for i in range(2)]
        z = max(-1.0, min(1.0, pooled))
        t = implicit(y * self.lean * z, z * z / self.sure, "logistic")
        h = curvature(self.lean * z, "logistic")
        self.lean += t * y * z / self.sure
        self.sure += h * z * z


class Mixer:
    def __init__(self):
        self.trusts = [Trust() for _ in range(TASKS)]
        eye = [[PRIOR * (i == j) for j in range(4)] for i in range(4)]
        self.levels, self.seen = {0: ([START] * 4, eye)}, [0] * TASKS

    def weights(self, task):
        level = self.seen[task].bit_length()
        a, (own, shared) = self.levels[max(k for k in self.levels if k <= level)][0], self.trusts[task].factors
        return [a[0] * own, a[1] * own, a[2] * shared, a[3] * shared]

    def learn(self, task, y, z, pooled, keep):
        level = self.seen[task].bit_length()
        self.seen[task] += 1
        fade = lambda p, keep: [[keep * v + (1 - keep) * PRIOR * (i == j) for j, v in enumerate(r)] for i, r in enumerate(p)]
        if level not in self.levels:
            a, p = self.levels[max(k for k in self.levels if k < level)]
            self.levels[level] = (list(a), fade(p, TAKEN_OVER))
        a, p = self.levels[level]
        p = fade(p, keep)
        self.trusts[task].learn(y, [a[0] * z[0] + a[1] * z[1], a[2] * z[2] + a[3] * z[3]], pooled, keep)
        longest = max(map(abs, z))
        z = [v * min(1.0, LONGEST / longest) if longest else v for v in z]
        margin = sum(u * v for u, v in zip(a, z))
        s = solve(p, z)
        t = implicit(y * margin, sum(u * v for u, v in zip(s, z)), "logistic")
        h = curvature(margin, "logistic")
        p = [[p[i][j] + h * z[i] * z[j] for j in range(4)] for i in range(4)]
        self.levels[level] = ([u + t * y * v for u, v in zip(a, s)], p)


class Labels:
    """How labels go with those of the same example."""

    def __init__(self):
        self.differ = self.expected = self.count = 0.0

    def add(self, before, y, margin, share_of_other):
        self.differ += before != y
        self.expected += min(sigmoid(-before * margin), share_of_other)
        self.count += 1

    def as_expected(self):
        return self.differ > 0.25 * self.expected

    def of_copies(self):
        return self.expected >= 8 and self.differ <= 0.02 * self.count and not self.as_expected()


class Memory:
    """Which examples have been seen before: what the next is worth, None where it is new."""

    def __init__(self):
        self.examples, self.before = {}, (None, 0)
        self.adjacent, self.apart = Labels(), Labels()
        self.showings, self.new, self.expected, self.until = 0, 0.0, 0.0, 0.0
        self.labels, self.rows, self.copies = {-1.0: 0, 1.0: 0}, 0, 0

    def share_of_other(self, label):
        return (self.labels[-label] + 1) / (sum(self.labels.values()) + 2)

    def meet(self, example, y, margin):
        before, label = self.before
        self.before = example, y
        adjacent = example == before
        if adjacent:
            self.adjacent.add(label, y, margin, self.share_of_other(label))
        self.rows += not adjacent
        self.labels[y] += 1
        if adjacent and self.copies < 24 * self.rows and not self.adjacent.as_expected():
            self.copies += 1
            return 0.0
        once = sum(shown == 1 for shown, _, _ in self.examples.values()) / max(1, self.showings)
        self.showings += 1
        share = max(1 / self.showings, 1 / 256)
        self.expected += share * (once - self.expected)
        self.new += share * ((example not in self.examples) - self.new)
        if self.until:
            self.until *= self.new <= self.until
        elif self.showings > 256 and self.expected > 0.05 and self.new < 0.3 * self.expected:
            self.until = 0.5 * self.expected
        shown, label, last = self.examples.get(example, (0, 0, 0))
        self.examples[example] = shown + 1, y, self.showings
        if shown:
            self.apart.add(label, y, margin, self.share_of_other(label))
        many = len(self.examples) >= 64 and self.showings < 40 * len(self.examples)
        if adjacent or not shown or not (many and self.apart.of_copies() or self.until):
            return None
        return 0.25 / shown**2 if 2 * (self.showings - last) >= len(self.examples) else 0.0


class Learner:
    """Weight vectors in four parts; own parts and precisions one a task, s and m common, or one of all a task."""

    def __init__(self, interaction, loss="logistic", forget=None, intercept=True, rate=1.0, average=False, groups=1):
        self.interaction, self.loss, self.intercept, self.average = interaction, loss, intercept, average
        self.keep = 1.0 if forget is None else 2 ** (-1 / forget)
        self.auto = interaction == {"coupled": {"b": "auto"}}
        self.apart = interaction == "independent"
        if self.auto:
            self.priors = [WIDE, NARROW * (1 - COMMON), WIDE, NARROW * COMMON]
        elif self.apart:
            self.priors = [ALONE, 0, 0, 0]
        else:
            b = interaction["coupled"]["b"]
            own, shared = 1 / (1 + b), b / (1 + b) / TASKS
            self.priors = [0, ALONE * own / (own + shared), 0, ALONE * shared / (own + shared)]
        self.priors = [rate * p for p in self.priors]
        self.members = [(0, [0]), (1, [1, 3]), (2, [2])] if self.auto else [(0, [0])] if self.apart else [(1, [1, 3])]
        self.group = [first_group(task, groups) for task in range(TASKS)]
        self.opinions = [[[*RELATED, math.log(2)] for _ in range(groups)] for _ in range(TASKS)]
        self.w = [[zeros() for _ in range(TASKS)] for _ in range(2)] + [[zeros() for _ in range(groups)] for _ in range(2)]
        self.own, self.shared = [zeros() for _ in range(TASKS)], [zeros() for _ in range(groups)]
        self.s, self.sizes = [zeros() for _ in range(max(TASKS, groups))], [[0.0, 0] for _ in range(TASKS)]
        self.mixer, self.labels = Mixer(), {-1.0: 0, 1.0: 0}
        self.memory = Memory() if self.auto and forget is None else None
        self.sums = [[zeros() for _ in range(TASKS)] for _ in range(2)] + [zeros(), zeros()]
        self.seen, self.all_seen = [0] * TASKS, 0
        self.scaled, self.tempered, self.fresh = [0] * TASKS, 0, [1.0] * TASKS
        self.lengths, self.below = [[0.0] * 3 for _ in range(TASKS)], [0] * TASKS

    def vectors(self, task):
        return [self.w[0][task], self.w[1][task], self.w[2][self.group[task]], self.w[3][self.group[task]]]

    def summed(self, task):
        return [self.sums[0][task], self.sums[1][task], self.sums[2], self.sums[3]]

    def said(self, task, x, average):
        """What the parts say: the vectors as they are, or their means, those after example t counting t times.

        Means of what steps add up to before they are rounded: w_n - (1 / S_n) sum_t S_(t-1) step_t, S_n = 1 + ... + n."""
        z = [sum(w * v for w, v in zip(vector, x)) for vector in self.vectors(task)]
        if not average:
            return z
        counts = [self.seen[task]] * 2 + [self.all_seen] * 2
        beyond = [sum(w * v for w, v in zip(vector, x)) for vector in self.summed(task)]
        return [part - b / (n * (n + 1) / 2) if n else 0.0 for part, b, n in zip(z, beyond, counts)]

    def parts(self, task, x, average):
        z = self.said(task, x, average)
        return z[:2] + [self.side(task) * part for part in z[2:]]

    def side(self, task):
        return self.mixer.trusts[task].side if self.auto else 1

    def temper(self, task, x):
        """The example as it counts: scaled to the usual length if it is in other units than all before."""
        known, common = (task, task) if self.apart else (self.group[task], 0)
        s, (total, taught) = self.s[known], self.sizes[common]
        features = [k for k in range(FEATURES) if x[k]]
        q = {k: abs(x[k]) / s[k] for k in features if s[k]}
        most = max(q.values(), default=0)
        if most <= 3 or taught < 3 or self.scaled[common] >= 32 or 2 * self.scaled[common] >= taught:
            return x, None
        r = ratios(s, [s] if self.apart else self.s)
        length, m = sum(r[k] * v * v for k, v in q.items()), total / taught - self.intercept
        far = sum(v > 3 for v in q.values())
        far = most > 10 and far >= 2 and 3 * far > 2 * len(features) and length > 100 * m
        lower, median, upper = self.lengths[common]
        c, fresh = self.own[task] if self.apart else self.shared[self.group[task]], self.fresh[common]
        supported = [k for k in q if fresh * c[k] >= 0.3 * s[k] ** 2]
        comparable = taught >= 8 and len(supported) >= 8 and 10 * len(supported) >= 9 * len(features) and lower < upper
        long = not self.apart and comparable and 2 * sum(q[k] > 1 for k in supported) > len(supported)
        logarithm = math.log(length / len(q))
        longest = median + max(5 * (upper - lower) / 1.35, 3.2)
        if far or long and logarithm > longest:
            factor = min(1 / most, math.sqrt(m / length))
            return [v * factor for v in x[:FEATURES]] + x[FEATURES:], logarithm
        sure = lambda k, v: v and abs(v) > 10 * s[k] and k in supported
        if not self.apart and any(sure(k, x[k]) for k in features):
            return [math.copysign(1.125 * s[k], v) if sure(k, v) else v for k, v in enumerate(x[:FEATURES])] + x[FEATURES:], None
        return x, None

    def see_length(self, common, length):
        if self.lengths[common][0] == self.lengths[common][2]:
            self.lengths[common] = [length - 0.5, length, length + 0.5]
            return
        step = max(2 / max(1, self.sizes[common][1]), 0.05)
        pairs = zip(self.lengths[common], [0.25, 0.5, 0.75])
        self.lengths[common] = [at + step * (share - (length < at)) for at, share in pairs]

    def take_back(self, task, x, s, common):
        """Sizes that single values have set."""
        taught, below = self.sizes[common][1], [k for k in range(FEATURES) if x[k] and abs(x[k]) < s[k]]
        if taught >= 16 and not any(abs(x[k]) < 0.01 * s[k] for k in below):
            return
        logs = sorted(math.log(abs(x[k]) / s[k]) for k in below)
        middle = lambda numbers: sorted(numbers)[len(numbers) // 2]
        rule = None
        if len(logs) < 6:
            if logs and logs[-1] < math.log(0.01) and taught < 16:
                rule = 0.01, 30.0, False
        else:
            median = middle(logs)
            deviation = 1.5 * middle([abs(v - median) for v in logs])
            least = min(median - max(4 * deviation, 3.0), math.log(0.01))
            left_below = taught < 16 and logs[-1] < math.log(0.04)
            if left_below:
                self.below[common] += 2
            if left_below and self.below[common] >= 4:
                rule = 0.3, 3.0, True
            elif taught < 6 and 4 * sum(v < math.log(0.25) for v in logs) >= 3 * len(logs) and median < -0.7 - deviation:
                rule = 0.25, 3.0, True
            elif logs[0] < least:
                rule = math.exp(least), math.exp(2 * deviation - median), False
        if rule is None:
            return
        limit, times, all_of_them = rule
        c, own, fresh = self.shared[self.group[task]], self.own[task], self.fresh[common]
        for k in below:
            before, now = s[k], times * abs(x[k])
            if abs(x[k]) < limit * before and (all_of_them or fresh * c[k] < 0.26 * before**2) and now < before:
                s[k] = now
                for precision in [c, own]:
                    if fresh * precision[k] > 0.02 * before**2:
                        precision[k] = min(precision[k], 0.25 * now**2 / fresh)
                self.taken_back = getattr(self, "taken_back", 0) + 1

    def margin(self, task, x):
        return self.margin_of(task, self.temper(task, x)[0])

    def margin_of(self, task, x):
        z = self.parts(task, x, self.average)
        a = self.mixer.weights(task) if self.auto else [1.0] * 4
        return sum(u * v for u, v in zip(a, z))

    def sort(self, task, x, y):
        """What a task makes of every group: lean, its precision, mean loss. The group it goes to."""
        for opinion, pooled in zip(self.opinions[task], self.w[2]):
            lean, sure, loss = opinion
            z = max(-1.0, min(1.0, sum(w * v for w, v in zip(pooled, x))))
            t, h = implicit(y * lean * z, z * z / sure, "logistic"), curvature(lean * z, "logistic")
            newest = 1 / min(100, self.seen[task] + 1)
            loss += newest * (math.log(1 + math.exp(-y * lean * z)) - loss)
            opinion[:] = [lean + t * y * z / sure, sure + h * z * z, loss]
        losses = [loss for _, _, loss in self.opinions[task]]
        best, now = losses.index(min(losses)), self.group[task]
        return best if self.seen[task] + 1 >= 10 and losses[best] < losses[now] - 0.01 else now

    def learn(self, task, x, y):
        worth = self.memory.meet((task, *x), y, self.margin(task, x)) if self.memory else None
        (tempered, length), common = self.temper(task, x), task if self.apart else 0
        self.tempered += tempered is not x
        x = tempered
        group = self.sort(task, x, y) if self.auto and worth is None else self.group[task]
        self.step(task, x, y, worth)
        self.scaled[common] = self.scaled[common] + 1 if length is not None else 0
        if length is not None:
            self.see_length(common, length)
        if group != self.group[task]:
            self.group[task], trust = group, self.mixer.trusts[task]
            trust.lean, trust.sure, _ = self.opinions[task][group]
            self.moves = getattr(self, "moves", 0) + 1
        self.seen[task] += 1
        self.all_seen += 1

    def step(self, task, x, y, worth):
        """`worth` is the weight of an example that was seen before, None for others."""
        z, margin = self.parts(task, x, False), self.margin_of(task, x)
        side, group = self.side(task), self.group[task]
        # Sizes are kept for each task, or for each group; their usual size is kept for all groups together.
        known, common = (task, task) if self.apart else (group, 0)
        if self.auto and worth is None:
            self.labels[y] += 1
            said = self.said(task, x, self.average)
            self.mixer.learn(task, y, self.parts(task, x, self.average), said[2], self.keep)
        # Precisions are kept in units that grow as they fade.
        at = task if self.apart else 0
        self.fresh[at] *= self.keep
        sure = 1.0 if self.loss == "hinge" else 1.5 if self.auto else math.inf
        if self.auto:
            sure += max(0.0, math.log((1 + self.labels[y]) / (1 + self.labels[-y]) / 3))
        said = {m: sum(z[k] for k in parts) for m, parts in self.members}
        if all(y * m > sure for m in said.values()) or worth == 0:
            return
        weight = 1.0 if worth is None else worth
        s = self.s[known]
        for k, v in enumerate(x):
            if abs(v) > s[k]:
                if s[k] and abs(v) > 10 * s[k]:
                    for vector in self.vectors(task) + self.summed(task):
                        vector[k] *= s[k] / abs(v)
                s[k] = abs(v)
        if not self.apart:
            self.take_back(task, x, s, common)
        self.shorten(task)
        ratio = ratios(s, [s] if self.apart else self.s)
        length = sum(ratio[k] * (v / s[k]) ** 2 for k, v in enumerate(x[:FEATURES]) if v)
        self.sizes[common][0] += length + self.intercept
        self.sizes[common][1] += 1
        self.below[common] = max(0, self.below[common] - 1)
        if length > 0:
            self.see_length(common, math.log(length / sum(v != 0 for v in x[:FEATURES])))
        m = self.sizes[common][0] / self.sizes[common][1]
        held = lambda part: self.own[task] if part < 2 else self.shared[group]
        rate = lambda part, k: 1 / (m * s[k] ** 2 / ratio[k] / self.priors[part] + self.fresh[at] * held(part)[k])
        steps = []
        for member, parts in self.members:
            rates = {part: [rate(part, k) * v if v else 0.0 for k, v in enumerate(x)] for part in parts}
            counts = lambda part: 1 if part < 2 else side
            variance = sum(counts(part) ** 2 * r * v for part in parts for r, v in zip(rates[part], x))
            t = weight * implicit(y * said[member], weight * variance, self.loss)
            steps += [(part, [counts(part) * t * y * r for r in rates[part]]) for part in parts]
        for part, step in steps:
            vector, beyond = self.vectors(task)[part], self.summed(task)[part]
            vector[:] = [w + d for w, d in zip(vector, step)]
            n = self.seen[task] if part < 2 else self.all_seen
            beyond[:] = [b + n * (n + 1) / 2 * d for b, d in zip(beyond, step)]
        h = weight * curvature(margin if self.auto else said[self.members[0][0]], self.loss)
        for precision in [self.own[task], self.shared[group]]:
            precision[:] = [p + h / self.fresh[at] * v * v for p, v in zip(precision, x)]
        self.shorten(task)

    def shorten(self, task):
        """Rounds what is a task's own, where tasks share."""
        if not self.apart:
            for row in self.w[0][task], self.w[1][task], self.own[task]:
                row[:] = short(row)


def inverse(matrix):
    n = len(matrix)
    columns = [solve(matrix, [float(i == j) for i in range(n)]) for j in range(n)]
    return [[columns[j][i] for j in range(n)] for i in range(n)]


def square_root(matrix):
    """Of a positive definite matrix, by the iteration of Denman and Beavers."""
    n = len(matrix)
    y, z = matrix, [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(60):
        inverse_y, inverse_z = inverse(y), inverse(z)
        y, z = ([[(a + b) / 2 for a, b in zip(*rows)] for rows in zip(*pair)] for pair in [(y, inverse_z), (z, inverse_y)])
    return y


class Graph:
    """w_i = sum_j B_ij v_j, B B' the correlations of (I + L)^-1."""

    def __init__(self, interaction, loss="logistic", forget=None, intercept=True, rate=1.0, average=False):
        self.loss, self.intercept, self.prior, self.average = loss, intercept, ALONE * rate, average
        self.keep = 1.0 if forget is None else 2 ** (-1 / forget)
        a = [[float(i == j) for j in range(TASKS)] for i in range(TASKS)]
        for i, j, *weight in interaction["graph"]["edges"]:
            i, j, weight = int(i) - 1, int(j) - 1, (weight or [1.0])[0]
            for k, l, sign in [(i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)]:
                a[k][l] += sign * weight
        r = inverse(a)
        self.b = square_root([[r[i][j] / math.sqrt(r[i][i] * r[j][j]) for j in range(TASKS)] for i in range(TASKS)])
        self.v, self.p = [zeros() for _ in range(TASKS)], [zeros() for _ in range(TASKS)]
        self.s, self.sizes = zeros(), [0.0, 0]
        self.sums, self.seen = [zeros() for _ in range(TASKS)], 0

    def mixed(self, vectors, task, x):
        return sum(b * sum(w * v for w, v in zip(vector, x)) for b, vector in zip(self.b[task], vectors))

    def margin(self, task, x):
        if self.average:
            return self.mixed(self.sums, task, x) / max(1, self.seen * (self.seen + 1) / 2)
        return self.mixed(self.v, task, x)

    def learn(self, task, x, y):
        self.step(task, x, y)
        self.seen += 1
        self.sums = [[a + self.seen * b for a, b in zip(*pair)] for pair in zip(self.sums, self.v)]

    def step(self, task, x, y):
        margin, s = self.mixed(self.v, task, x), self.s
        self.p = [[self.keep * p for p in row] for row in self.p]
        if self.loss == "hinge" and y * margin > 1:
            return
        for k, v in enumerate(x):
            if abs(v) > s[k]:
                if s[k] and abs(v) > 10 * s[k]:
                    for vector in self.v + self.sums:
                        vector[k] *= s[k] / abs(v)
                s[k] = abs(v)
        ratio = ratios(s, [s])
        self.sizes[0] += sum(ratio[k] * (v / s[k]) ** 2 for k, v in enumerate(x) if v)
        self.sizes[1] += 1
        m, b = self.sizes[0] / self.sizes[1], self.b[task]
        rate = lambda j, k: 1 / (m * s[k] ** 2 / ratio[k] / self.prior + self.p[j][k])
        rates = [[rate(j, k) * b[j] * v if v else 0.0 for k, v in enumerate(x)] for j in range(TASKS)]
        variance = sum(b[j] * r * v for j in range(TASKS) for r, v in zip(rates[j], x))
        t, h = implicit(y * margin, variance, self.loss), curvature(margin, self.loss)
        for j in range(TASKS):
            self.v[j] = [w + y * t * r for w, r in zip(self.v[j], rates[j])]
            self.p[j] = [p + h * (b[j] * v) ** 2 for p, v in zip(self.p[j], x)]


def streams():
    """Examples seen again: in a second pass, at once, with other labels, and in a pass over all that; and a rare label."""
    lines = open(STREAM).read().splitlines()
    of_two = lambda line: line.startswith("-")
    other = lambda line: line.replace("-1", "+1", 1) if of_two(line) else line.replace("+1", "-1", 1)
    some = lines[:60] + lines[:60] + [line for line in lines[60:90] for _ in range(3)] + lines[20:80]
    some += [other(line) if k % 3 == 0 else line for k, line in enumerate(lines[:60])] + lines[90:]
    rare = [line for k, line in enumerate(lines) if of_two(line) or k % 8 == 0]
    for name, chosen in [("stream_again.svm", some + some), ("stream_rare.svm", rare)]:
        with open(name, "w") as file:
            file.writelines(line + "\n" for line in chosen)


def other_units():
    """A first line that is tiny, bad lines, a task in other units, and a change of all units."""
    def times(line, factor, chosen=range(FEATURES)):
        label, task, *pairs = line.split()
        values = [pair.split(":") for pair in pairs]
        pairs = [f"{k}:{float(v) * (factor if int(k) - 1 in chosen else 1):.9g}" for k, v in values]
        return " ".join([label, task] + pairs)
    lines = open(STREAM).read().splitlines()
    lines[0] = times(lines[0], 1e-4)
    for at, factor, chosen in [(20, 1e3, range(FEATURES)), (35, 1e9, range(8)), (50, 40, range(7)), (60, 1e4, range(3))]:
        lines[at] = times(lines[at], factor, chosen)
    units = lambda k, line: times(line, 1e5) if 70 <= k < 180 and "qid:2" in line else times(line, 3e3) if k >= 200 else line
    with open("adaptive_units.svm", "w") as file:
        file.writelines(units(k, line) + "\n" for k, line in enumerate(lines))


def outgrown():
    """A first line that is huge, a feature that comes late and huge, and one huge value."""
    lines = open(STREAM).read().splitlines()
    def changed(at, line):
        label, task, *pairs = line.split()
        values = {int(k): float(v) for k, v in (pair.split(":") for pair in pairs)}
        if at < 100:
            values.pop(5, None)
        factors = {k: 1e4 if at == 0 else 1e5 if at == 100 and k == 5 else 1e6 if at == 150 and k == 2 else 1 for k in values}
        return " ".join([label, task] + [f"{k}:{v * factors[k]:.9g}" for k, v in values.items()])
    with open("adaptive_outgrown.svm", "w") as file:
        file.writelines(changed(at, line) + "\n" for at, line in enumerate(lines))


def examples(stream):
    for line in open(stream):
        label, task, *pairs = line.split()
        x = zeros()
        for pair in pairs:
            index, value = pair.split(":")
            x[int(index) - 1] = float(value)
        yield float(label), int(task[4:]) - 1, x


def write(name, parameters, stream=STREAM):
    parameters_of_all = {"interaction": {"coupled": {"b": "auto"}}, **parameters}
    learner = (Graph if "graph" in parameters_of_all["interaction"] else Learner)(**parameters_of_all)
    margins, mistaken, per_task, gap = [], [], [0] * TASKS, math.inf
    for line, (y, task, x) in enumerate(examples(stream)):
        x[FEATURES] = 1.0 if learner.intercept else 0.0
        margin = learner.margin(task, x)
        margins.append(margin)
        if margin:
            gap = min(gap, abs(margin))
        if y * margin <= 0:
            mistaken.append(line)
            per_task[task] += 1
        learner.learn(task, x, y)
    vector = {
        "name": name, "stream": stream, "tasks": TASKS, "features": FEATURES, "simultaneous": False,
        "learner": {"adaptive": parameters},
        "expected": {"mistake_count": len(mistaken), "mistakes_per_task": per_task, "smallest_decision_gap": gap,
                     "mistaken_lines": mistaken, "margins": margins},
    }
    with open(name + ".json", "w") as file:
        json.dump(vector, file)
        file.write("\n")
    print(name, len(mistaken), "mistakes,", getattr(learner, "moves", 0), "moves,", getattr(learner, "tempered", 0), "tempered,", getattr(learner, "taken_back", 0), "taken back")


streams()
other_units()
outgrown()
write("adaptive_auto", {})
write("adaptive_independent", {"interaction": "independent", "rate": 2.0})
write("adaptive_coupled_hinge", {"interaction": {"coupled": {"b": 2}}, "loss": "hinge", "intercept": False})
write("adaptive_forgetful", {"forget": 40.0})
GRAPH = {"graph": {"edges": [["1", "2"], ["2", "3", 0.5]]}}
write("adaptive_graph", {"interaction": GRAPH})
write("adaptive_graph_hinge", {"interaction": GRAPH, "loss": "hinge", "forget": 60.0, "intercept": False})
write("adaptive_average", {"average": True})
write("adaptive_average_coupled", {"average": True, "interaction": {"coupled": {"b": 2}}})
write("adaptive_average_independent", {"average": True, "interaction": "independent", "loss": "hinge"})
write("adaptive_average_graph", {"average": True, "interaction": GRAPH})
write("adaptive_groups", {"groups": 2})
write("adaptive_again", {}, "stream_again.svm")
write("adaptive_again_average", {"average": True, "groups": 1}, "stream_again.svm")
write("adaptive_rare", {}, "stream_rare.svm")
write("adaptive_units_auto", {}, "adaptive_units.svm")
write("adaptive_units_average", {"average": True}, "adaptive_units.svm")
write("adaptive_units_coupled", {"interaction": {"coupled": {"b": 2}}, "loss": "hinge", "intercept": False}, "adaptive_units.svm")
write("adaptive_units_groups", {"groups": 2}, "adaptive_units.svm")
write("adaptive_units_independent", {"interaction": "independent"}, "adaptive_units.svm")
write("adaptive_outgrown_auto", {}, "adaptive_outgrown.svm")
write("adaptive_outgrown_coupled", {"interaction": {"coupled": {"b": 2}}}, "adaptive_outgrown.svm")
