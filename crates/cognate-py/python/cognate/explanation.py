"""What made one prediction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contribution:
    """The part of one feature in a margin."""

    feature: str
    #: Its value, scaled as the model scales examples; 1 for the constant feature, which is called ``"bias"``.
    value: float
    #: Its value times the weight that tasks share.
    shared: float
    #: Its value times the weight that is the task's own.
    own: float

    @property
    def total(self) -> float:
        """Both parts."""
        return self.shared + self.own


@dataclass(frozen=True)
class Explanation:
    """A margin and what made it: the parts of its features add up to it, but for rounding."""

    margin: float
    #: The features that have a weight, largest part first.
    features: list[Contribution]

    def __str__(self) -> str:
        rows = [["feature", "value", "shared", "own", "total"]]
        rows += [[part.feature, *(f"{x:.4g}" for x in (part.value, part.shared, part.own, part.total))] for part in self.features]
        widths = [max(len(row[at]) for row in rows) for at in range(5)]
        lines = [
            "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
            for row in rows
        ]
        return "\n".join([f"margin {self.margin:.4g}", *(f"  {line}" for line in lines)])
