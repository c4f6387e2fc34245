"""Pictures by matplotlib, if it is installed.

They give back axes, as pandas' do: a notebook that showed a figure once more than matplotlib's own way would show it twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from .learner import Learner

#: Most tasks whose names are shown, and how many curves are drawn if no tasks are given.
NAMED = 40
CURVES = 8
#: Most tasks of a heatmap.
DRAWN = 2000


def _axes(ax: Any, **size: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'cognate-learn[plot]'") from None
    return plt.subplots(layout="constrained", **size)[1] if ax is None else ax


def plot_relations(learner: Learner, tasks: Sequence[str | int] | None = None, ax: Any = None) -> Axes:
    """A heatmap of the correlation form of R."""
    from .learner import correlations

    names = learner.tasks_ if tasks is None else [str(task) for task in tasks]
    if not names:
        raise ValueError("no task has been met yet; there is nothing to draw")
    if len(names) > DRAWN:
        raise ValueError(f"{len(names)} tasks are more than a picture shows; say which, at most {DRAWN}: tasks=[…]")
    ax = _axes(ax, figsize=(6.4, 5.4))
    image = ax.imshow(correlations(learner.relations(names)), cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest")
    if len(names) <= NAMED:
        ax.set_xticks(range(len(names)), names, rotation=90)
        ax.set_yticks(range(len(names)), names)
    ax.set_title(f"How alike tasks are ({learner.learner_})")
    ax.figure.colorbar(image, ax=ax, label="R in correlation form")
    return ax


def plot_curves(learner: Learner, tasks: list[str] | None = None, ax: Any = None) -> Axes:
    """The error so far against examples, overall and for some tasks."""
    if learner.is_regression_:
        raise ValueError("curves are of mistakes, and labels here are real numbers; `progressive` tells the RMSE so far")
    whole = learner._model.curve()
    if not whole:
        raise ValueError("nothing has been learnt since the learner was made or loaded; there is nothing to draw")
    chosen = learner.tasks_[:CURVES] if tasks is None else tasks
    ax = _axes(ax, figsize=(7.2, 4.4))
    for task in chosen:
        _curve(ax, learner._model.curve(task), str(task), linewidth=1, alpha=0.8)
    _curve(ax, whole, "all", linewidth=2.5, color="black")
    # A single task has far fewer examples than all tasks together.
    ax.set_xscale("log")
    ax.set_xlabel("examples, of the task or of all")
    ax.set_ylabel("error so far")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_title(f"Progressive error ({learner.learner_})")
    ax.legend(fontsize="small", ncols=2)
    return ax


def _curve(ax: Any, points: list[tuple[int, int]], label: str, **style: Any) -> None:
    if points:
        examples, mistakes = np.array(points, dtype=float).T
        ax.plot(examples, mistakes / examples, label=label, **style)
