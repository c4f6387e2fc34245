"""A learner as a notebook shows it: how well its tasks are learnt, and how they are related."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .learner import Learner

#: Most tasks in the table, and in the heatmap.
ROWS = 20
CELLS = 60

STYLE = """<style>
.cognate{color-scheme:light dark;display:flex;gap:2em;flex-wrap:wrap;align-items:flex-start}
.cognate td,.cognate th{text-align:right;padding:.1em .6em;font-variant-numeric:tabular-nums}
.cognate td:first-child,.cognate th:first-child{text-align:left}
.cognate tr.all{font-weight:600}
.cognate text{font:10px system-ui,sans-serif;fill:currentColor}
</style>"""


def learner_html(learner: Learner) -> str:
    """The table of tasks and the heatmap of relations."""
    counts, status = learner.metrics_, json.loads(learner._model.status)
    tasks = f"{len(counts['tasks'])} task{'' if len(counts['tasks']) == 1 else 's'}"
    head = f"<b>{escape(learner.learner_)}</b>, {tasks}, {learner.rounds_:,} examples"
    if status is not None:
        head += f", {escape(status['stopped'].replace('-', ' '))} after {status['iterations']:,} iterations"
    parts = [] if status is not None and learner.is_regression_ else [_task_table(counts, learner.is_regression_, status is not None)]
    if 2 <= len(counts["tasks"]) <= CELLS:
        parts.append(_heatmap(learner.tasks_, learner.correlations_))
    elif len(counts["tasks"]) > CELLS:
        parts.append(
            f"<p>Relations of more than {CELLS} tasks are not drawn here: <code>plot_relations(tasks=[…])</code> draws those of some.</p>"
        )
    return f'{STYLE}<p>{head}</p><div class="cognate">{"".join(parts)}</div>'


def _task_table(counts: dict[str, Any], real: bool, fitted: bool = False) -> str:
    # The tasks with the most examples, in the order in which they were met.
    busiest = sorted(range(len(counts["tasks"])), key=lambda at: -counts["tasks"][at]["examples"])[:ROWS]
    shown = [counts["tasks"][at] for at in sorted(busiest)]
    rows = [_row(task["task"], task, real) for task in shown]
    if len(counts["tasks"]) > ROWS:
        rows.append(f"<tr><td>… {len(counts['tasks']) - ROWS} more</td></tr>")
    rows.append(_row("all", counts, real).replace("<tr>", '<tr class="all">'))
    header = "".join(f"<th>{name}</th>" for name in _COLUMNS[real])
    if fitted:
        header = header.replace("<th>error</th>", "<th>error on the rows fitted</th>")
    return f"<table><thead><tr>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


#: Of classes, and of real labels.
_COLUMNS = (
    ["task", "examples", "mistakes", "error", "constant", "F1", "updates"],
    ["task", "examples", "RMSE", "mean so far", "MAE", "R2", "updates"],
)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _row(name: str, counts: dict[str, Any], real: bool) -> str:
    cells = [escape(name), f"{counts['examples']:,}"]
    if real:
        cells += [_number(counts[name], ".4g") for name in ["rmse", "constant_rmse", "mae", "r2"]]
    else:
        cells.append(f"{counts['mistakes']:,}")
        cells += [_number(counts[name], ".2%") for name in ["error", "constant_error", "f1"]]
    cells.append(f"{counts['updates']:,}")
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _heatmap(names: list[str], correlations: np.ndarray) -> str:
    size = max(8, min(24, 480 // len(names)))
    left = 8 + 6 * min(14, max(len(name) for name in names))
    side, parts = size * len(names), []
    for row, name in enumerate(names):
        label = escape(name if len(name) <= 14 else name[:13] + "…")
        parts.append(f'<text x="{left - 4}" y="{size * row + size / 2 + 3}" text-anchor="end">{label}</text>')
        for column, other in enumerate(names):
            value = float(correlations[row, column])
            tip = f"<title>{escape(name)} and {escape(other)}: {value:.3f}</title>"
            place = f'x="{left + size * column}" y="{size * row}" width="{size - 1}" height="{size - 1}"'
            parts.append(f'<rect {place} fill="{_colour(value)}" fill-opacity="{min(1, abs(value)):.3f}">{tip}</rect>')
    caption = f'<text x="{left}" y="{side + 14}">how alike tasks are: blue alike, orange opposed, full at 1</text>'
    return f'<svg width="{max(left + side, left + 300)}" height="{side + 20}">{"".join(parts)}{caption}</svg>'


def _colour(value: float) -> str:
    return "#0a6cbd" if value >= 0 else "#d1580f"
