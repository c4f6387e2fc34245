"""What sharing gains: many users with few examples each. Writes `python-gain.svg`, the picture of docs/python.md."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from cognate import Learner

USERS, FEATURES, ROUNDS = 100, 20, 40


def examples(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every user decides by what all have in common, and by a taste of their own; one example of each in turn."""
    random = np.random.default_rng(seed)
    common, own = random.normal(size=FEATURES), random.normal(size=(USERS, FEATURES))
    users = np.tile(np.arange(USERS), ROUNDS)
    X = random.normal(size=(USERS * ROUNDS, FEATURES))
    margins = np.einsum("ij,ij->i", X, common + own[users])
    return X, np.where(margins > 0, 1, 0), users


def errors(learner: Learner, X: np.ndarray, y: np.ndarray, users: np.ndarray) -> np.ndarray:
    """Share of wrong predictions in every round of one example per user, each predicted before it is learnt."""
    wrong = []
    for at in range(0, len(y), USERS):
        part = slice(at, at + USERS)
        wrong.append((learner.predict(X[part], users[part]) != y[part]).mean() if at else 0.5)
        learner.partial_fit(X[part], y[part], users[part])
    return np.array(wrong)


def main(folder: Path) -> None:
    X, y, users = examples()
    everyone = np.zeros_like(users)
    curves = {
        "one model for all users": errors(Learner(interaction="pooled"), X, y, everyone),
        "one model per user": errors(Learner(interaction="independent"), X, y, users),
        "cognate": errors(Learner(), X, y, users),
    }
    for name, curve in curves.items():
        print(f"{name}: {curve[-10:].mean():.1%} wrong in the last ten rounds, {curve[5:15].mean():.1%} in rounds 6 to 15")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    plt.rcParams["svg.hashsalt"] = "cognate"
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for (name, curve), colour in zip(curves.items(), ["#b07d2b", "#7a7a7a", "#0a6cbd"], strict=True):
        smooth = np.convolve(curve, np.ones(5) / 5, mode="valid")
        ax.plot(np.arange(5, ROUNDS + 1), smooth, label=name, color=colour, linewidth=2.5 if name == "cognate" else 1.5)
    ax.set_xlabel("examples of each user")
    ax.set_ylabel("wrong predictions")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    figure.savefig(folder / "python-gain.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
