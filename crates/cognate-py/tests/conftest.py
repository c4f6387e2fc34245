"""Streams for the tests."""

import contextlib
import glob

import numpy as np
import pytest
from scipy.sparse import csr_matrix


class Stream:
    """Sparse rows of related tasks."""

    def __init__(self, rows: int = 400, features: int = 30, tasks: int = 5, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        dense = random.normal(size=(rows, features)) * (random.random((rows, features)) < 0.3)
        self.X = csr_matrix(dense)
        self.tasks = random.integers(1, tasks + 1, rows)
        shared, own = random.normal(size=features), random.normal(size=(tasks + 1, features))
        margins = dense @ shared + 0.5 * np.einsum("ij,ij->i", dense, own[self.tasks])
        self.y = np.where(margins > 0, 1.0, -1.0)

    def lines(self) -> str:
        """The same rows as `svm` text."""
        lines = []
        for row, (label, task) in enumerate(zip(self.y, self.tasks, strict=True)):
            span = slice(self.X.indptr[row], self.X.indptr[row + 1])
            pairs = zip(self.X.indices[span], self.X.data[span], strict=True)
            lines.append(f"{label:+.0f} qid:{task} " + " ".join(f"{i + 1}:{v!r}" for i, v in ((i, float(v)) for i, v in pairs)))
        return "\n".join(lines) + "\n"


@pytest.fixture
def stream() -> Stream:
    return Stream()


def starved(process: int | str = "self") -> dict[str, int]:
    """For how many nanoseconds each thread has been ready to run while the processor did other things; where Linux tells."""
    found = {}
    for stat in glob.glob(f"/proc/{process}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(stat) as file:
            found[stat.split("/")[-2]] = int(file.read().split()[1])
    return found


def starved_since(before: dict[str, int], after: dict[str, int]) -> float:
    """Seconds that the thread waited for the processor that waited longest: what an idle machine would not have taken."""
    return max((delay - before.get(thread, 0) for thread, delay in after.items()), default=0) / 1e9
