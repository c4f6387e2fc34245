"""The program `cognate` and this package give the same numbers and the same bytes. COGNATE names the program."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import Stream

from cognate import Learner, progressive

PROGRAM = os.environ.get("COGNATE")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="COGNATE names no program; `cargo xtask python` does")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROGRAM), *words], cwd=folder, check=True, capture_output=True, text=True)


def parts(path: Path) -> tuple[dict, bytes]:
    """The header of a model file, and the state after it."""
    whole = path.read_bytes()
    end = 20 + int.from_bytes(whole[12:20], "little")
    # Four bytes are the checksum of the header.
    return json.loads(whole[20:end]), whole[end + 4 :]


def table(stderr: str) -> list[list[str]]:
    """Error so far, error since the last line, examples and tasks in the progressive table."""
    rows = [line.split() for line in stderr.splitlines() if re.match(r" +[0-9.]+% +[0-9.]+%", line)]
    # Time in seconds and rate come before the tasks.
    return [[row[0], row[1], row[2], row[row.index("s") + 2]] for row in rows]


CASES = [
    ("adaptive", {}, {}, []),
    ("perceptron", {"interaction": {"coupled": {"b": 4}}}, {}, ["--set", "interaction.coupled.b=4"]),
    ("relation-perceptron", {}, {"normalize": "l2", "bias": 1}, ["--normalize", "l2", "--bias=1"]),
    ("rom-rda", {}, {"order": "shuffle", "seed": 5, "passes": 2}, ["--order", "shuffle", "--seed", "5", "--passes", "2"]),
    ("schatten-perceptron", {}, {"order": "interleave", "simultaneous": True}, ["--order", "interleave", "--simultaneous"]),
]


@pytest.mark.parametrize(("learner", "params", "stream", "flags"), CASES, ids=[case[0] for case in CASES])
def test_the_same_file_gives_the_same_numbers_and_bytes(learner, params, stream, flags, tmp_path: Path) -> None:
    lines = Stream(rows=500).lines().splitlines(keepends=True)
    if stream.get("simultaneous"):
        # Equally many examples of every task.
        by_task = [[line for line in lines if f" qid:{task} " in line][:60] for task in range(1, 6)]
        lines = [line for of_task in by_task for line in of_task]
    (tmp_path / "a.svm").write_text("".join(lines))
    done = run(tmp_path, "learn", "a.svm", "--learner", learner, "--model", "m.cog", "--json", *flags)
    model = Learner(learner, stream=stream, **params)
    found = list(progressive(model, tmp_path / "a.svm"))
    shown = [[f"{p.error:.2%}", f"{p.since_last:.2%}", f"{p.examples:,}", str(p.tasks)] for p in found]
    assert shown == table(done.stderr)
    summary, counts = json.loads(done.stdout), model.metrics_
    for name in ["examples", "mistakes", "error", "f1", "updates", "queries"]:
        assert counts[name] == summary[name] == getattr(found[-1], name), name
    assert model._model.to_bytes() == (tmp_path / "m.cog").read_bytes()
    model.save(tmp_path / "python.cog")
    assert (tmp_path / "python.cog").read_bytes() == (tmp_path / "m.cog").read_bytes()


def test_models_go_to_and_fro(tmp_path: Path) -> None:
    stream = Stream(rows=600)
    lines = stream.lines().splitlines(keepends=True)
    (tmp_path / "all.svm").write_text("".join(lines))
    (tmp_path / "rest.svm").write_text("".join(lines[300:]))
    model = Learner("adaptive").partial_fit(stream.X[:300], stream.y[:300], stream.tasks[:300])
    model.save(tmp_path / "half.cog")
    run(tmp_path, "learn", "rest.svm", "--resume", "half.cog", "--model", "resumed.cog", "--quiet")
    run(tmp_path, "learn", "all.svm", "--learner", "adaptive", "--model", "whole.cog", "--quiet")
    assert (tmp_path / "resumed.cog").read_bytes() == (tmp_path / "whole.cog").read_bytes()
    loaded = Learner.load(tmp_path / "whole.cog")
    header, *predicted = run(tmp_path, "predict", "all.svm", "--model", "whole.cog").stdout.splitlines()
    margins = [float(line.split(",")[header.split(",").index("margin")]) for line in predicted]
    assert loaded.decision_function(stream.X, stream.tasks).tolist() == margins


def test_dictionaries_are_lines_of_json(tmp_path: Path) -> None:
    rows = [({"price": at / 7, "colour": "red" if at % 3 else "blue", "new": at % 2 == 0}, at % 5 < 2, f"t{at % 3}") for at in range(60)]
    for name, labels in [("signs", (-1, 1)), ("truths", (False, True))]:
        examples = [(features, labels[label], task) for features, label, task in rows]
        model = Learner("adaptive")
        *_, last = progressive(model, examples)
        assert last.examples == 60
        model.save(tmp_path / f"{name}-python.cog")
        with (tmp_path / f"{name}.jsonl").open("w") as file:
            for features, label, task in examples:
                print(json.dumps({"task": task, "label": label, "features": features}), file=file)
        run(tmp_path, "learn", f"{name}.jsonl", "--learner", "adaptive", "--model", f"{name}.cog", "--quiet")
    assert (tmp_path / "signs-python.cog").read_bytes() == (tmp_path / "signs.cog").read_bytes()
    # Labels that are true and false leave their words in the model, as JSON or as Python writes them; all else is the same.
    signs, state = parts(tmp_path / "signs.cog")
    for name, words in [("truths", ("false", "true")), ("truths-python", ("False", "True"))]:
        truths, same_state = parts(tmp_path / f"{name}.cog")
        assert truths == {**signs, "labels": dict(zip(["negative", "positive"], words, strict=True))} and state == same_state


def test_a_fit_is_the_same(tmp_path: Path) -> None:
    stream = Stream(rows=200)
    (tmp_path / "a.svm").write_text(stream.lines())
    run(tmp_path, "fit", "a.svm", "--set", "lambda=2.5", "--model", "m.cog", "--quiet")
    model = Learner("convex", **{"lambda": 2.5}).fit(stream.X, stream.y, stream.tasks)
    assert model._model.to_bytes() == (tmp_path / "m.cog").read_bytes()
