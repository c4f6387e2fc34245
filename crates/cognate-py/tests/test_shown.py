"""What users see: notebooks, pictures, examples, documentation, types."""

import doctest
import importlib
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
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


def test_a_learner_says_what_it_is(stream: Stream) -> None:
    assert repr(Learner("perceptron")) == "Learner('perceptron'): 0 tasks, 0 examples"
    model = Learner("perceptron").learn_one({0: 1.0}, 1)
    assert repr(model) == "Learner('perceptron'): 1 tasks, 1 examples, error 100.00%, constant guess 100.00%"


def test_pictures(stream: Stream, tmp_path: Path) -> None:
    model = Learner("perceptron").partial_fit(stream.X, stream.y, stream.tasks)
    relations = model.plot_relations()
    assert [tick.get_text() for tick in relations.axes[0].get_xticklabels()] == model.tasks_
    curves = model.plot_curves()
    lines = curves.axes[0].get_lines()
    assert [line.get_label() for line in lines] == [*model.tasks_, "all"]
    assert lines[-1].get_xydata()[-1].tolist() == [400, model.metrics_["error"]]
    assert len(model.plot_curves(tasks=["3"]).axes[0].get_lines()) == 2
    for figure in [relations, curves]:
        figure.savefig(tmp_path / "figure.png")
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


@pytest.mark.parametrize("name", ["", ".learner", ".progress", ".estimators"])
def test_examples_in_documentation(name: str) -> None:
    tested = doctest.testmod(importlib.import_module(f"cognate{name}"), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tested.failed == 0 < tested.attempted


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "docs/python.md", HERE / "README.md"], ids=lambda path: path.name)
def test_examples_in_pages(path: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    tested = doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tested.failed == 0 < tested.attempted


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
