"""What users see: notebooks, pictures, examples, documentation, types."""

import doctest
import importlib
import runpy
import subprocess
import sys
import time
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import Stream

import cognate
from cognate import Learner

matplotlib.use("Agg")
HERE = Path(__file__).parent.parent
ROOT = HERE.parent.parent


def test_a_notebook_shows_tasks_and_relations(stream: Stream) -> None:
    from html.parser import HTMLParser

    model = Learner("relation-perceptron").partial_fit(stream.X, stream.y, stream.tasks)
    model.learn_one({0: 1.0}, 1, task="<script>alert(1)</script>")
    html = model._repr_html_()
    assert html.count("<rect") == 36 and "&lt;script&gt;" in html and "<script" not in html

    class Balanced(HTMLParser):
        open_tags: list[str] = []

        def handle_starttag(self, tag, attrs) -> None:
            self.open_tags.append(tag)

        def handle_endtag(self, tag) -> None:
            assert self.open_tags.pop() == tag

    parser = Balanced()
    parser.feed(html)
    assert parser.open_tags == []
    assert "no task" not in Learner()._repr_html_() and "<rect" not in Learner()._repr_html_()
    many = Learner("perceptron").partial_fit(stream.X, stream.y, range(400))
    assert "380 more" in many._repr_html_() and "not drawn here" in many._repr_html_()


def test_a_notebook_shows_regression_and_batch_models_as_what_they_are(stream: Stream) -> None:
    real = Learner("adaptive", loss="squares").partial_fit(stream.X, stream.y * 3, stream.tasks)
    html = real._repr_html_()
    assert "<th>RMSE</th>" in html and "mistakes" not in html and "400 examples" in html
    fitted = Learner("convex", **{"lambda": 1.0}).fit(stream.X, stream.y, stream.tasks)
    html = fitted._repr_html_()
    assert "error on the rows fitted" in html and "400 examples, converged after" in html and html.count("<rect") == 25
    numbers = Learner("convex", **{"lambda": 1.0}).fit(stream.X, stream.y * 3.5, stream.tasks)._repr_html_()
    assert "<table" not in numbers and "400 examples, converged after" in numbers and numbers.count("<rect") == 25


def test_a_learner_says_what_it_is(stream: Stream) -> None:
    assert repr(Learner("perceptron")) == "Learner('perceptron'): 0 tasks, 0 examples"
    model = Learner("perceptron").learn_one({0: 1.0}, 1)
    assert repr(model) == "Learner('perceptron'): 1 task, 1 example, error 100.00%, constant guess 100.00%"
    fitted = Learner("convex", **{"lambda": 0.1}).fit(stream.X, stream.y, stream.tasks)
    assert repr(fitted).startswith("Learner('convex'): 5 tasks, 400 examples, converged after ")


def test_the_word_for_it_does_not_depend_on_how_many_tasks_there_are() -> None:
    model = Learner("perceptron", interaction="pooled").partial_fit(np.ones((60_000, 1)), np.ones(60_000), np.arange(60_000))
    model.metrics_  # What a notebook may have asked for is not asked again.
    began = time.perf_counter()
    for _ in range(1000):
        repr(model)
    assert time.perf_counter() - began < 0.5
    with pytest.raises(MemoryError, match=r"the relation of 60000 tasks takes 28.8 GB; `relations\(\[task, …\]\)` gives that of some"):
        model.relations_
    assert model.relations(["7", 9]).shape == (2, 2)
    with pytest.raises(ValueError, match="60000 tasks are more than a picture shows; say which"):
        model.plot_relations()
    assert model.plot_relations(tasks=[1, 2]).get_title() == "How alike tasks are (perceptron)"


def test_pictures(stream: Stream, tmp_path: Path) -> None:
    model = Learner("perceptron").partial_fit(stream.X, stream.y, stream.tasks)
    relations = model.plot_relations()
    assert [tick.get_text() for tick in relations.get_xticklabels()] == model.tasks_
    curves = model.plot_curves()
    lines = curves.get_lines()
    assert [line.get_label() for line in lines] == [*model.tasks_, "all"]
    assert lines[-1].get_xydata()[-1].tolist() == [400, model.metrics_["error"]]
    assert len(model.plot_curves(tasks=["3"]).get_lines()) == 2
    for axes in [relations, curves]:
        axes.figure.savefig(tmp_path / "figure.png")
    # A notebook shows figures that are open, and what a cell gives back if it is a picture.
    assert not hasattr(relations, "_repr_png_") and not hasattr(relations, "_repr_html_") and not hasattr(relations, "savefig")
    given = plt.subplots()[1]
    assert model.plot_curves(ax=given) is given
    for draw in [Learner().plot_relations, Learner().plot_curves]:
        with pytest.raises(ValueError, match="nothing to draw"):
            draw()


@pytest.mark.parametrize("name", ["spam", "sensors"])
def test_examples_run(name: str, capsys) -> None:
    runpy.run_path(str(HERE / "examples" / f"{name}.py"), run_name="__main__")
    (HERE / "examples" / "sensors.png").unlink(missing_ok=True)
    printed = capsys.readouterr().out
    wrong = [float(word.rstrip("%")) for word in printed.split() if word.endswith("%")]
    assert wrong[-1] < min(wrong[:-1]), printed
    if name == "sensors":
        assert "sensor 5 is opposed" in printed


MODULES = ["", ".learner", ".progress", ".explanation", ".estimators", "._online", "._batch", ".river"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_documentation(name: str) -> None:
    tested = doctest.testmod(importlib.import_module(f"cognate{name}"), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tested.failed == 0
    assert tested.attempted > 0 or name in (".explanation", ".estimators")


PAGES = [ROOT / "README.md", HERE / "README.md", *sorted((ROOT / "docs").glob("python*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_examples_in_pages(path: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    tested = doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tested.failed == 0 < tested.attempted


def test_there_is_a_page_for_everyone() -> None:
    assert [path.name for path in PAGES[2:]] == ["python-notebooks.md", "python-river.md", "python-scikit-learn.md", "python.md"]
    assert "images/python-gain.svg" in (ROOT / "docs/python.md").read_text().split("##")[0]


def test_the_picture_of_what_one_gains_is_what_its_example_draws(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["gain.py", str(tmp_path)])
    runpy.run_path(str(HERE / "examples" / "gain.py"), run_name="__main__")
    assert (tmp_path / "python-gain.svg").read_text().startswith("<?xml")
    wrong = {line.split(":")[0]: float(line.split()[-6].rstrip("%")) for line in capsys.readouterr().out.splitlines() if "%" in line}
    shares = {line: value for line, value in wrong.items()}
    assert len(shares) == 3 and min(shares, key=lambda name: shares[name]) == "cognate", shares


def test_the_notebook_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(HERE / "examples" / "tour.ipynb", as_version=4)
    assert all(cell.cell_type != "code" or not cell.outputs for cell in notebook.cells), "it is kept without what it shows"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in shown if "image/png" in output.get("data", {})]
    assert len(pictures) == 2, "each picture once"
    assert sum("<svg" in output.get("data", {}).get("text/html", "") for output in shown) == 2
    assert any("is missing" in output.get("text", "") for output in shown)


def test_everything_public_has_a_word_said_about_it() -> None:
    for name in cognate.__all__:
        thing = getattr(cognate, name)
        assert thing.__doc__, name
        for member in [member for member in vars(thing) if not member.startswith("_")] if isinstance(thing, type) else []:
            if callable(getattr(thing, member)) or isinstance(vars(thing)[member], property):
                assert getattr(thing, member).__doc__, f"{name}.{member}"


def test_stubs_are_those_of_the_native_half_and_types_hold(tmp_path: Path) -> None:
    for words in [["mypy.stubtest", "cognate._native"], ["mypy", "--ignore-missing-imports", "-p", "cognate"]]:
        checked = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout
