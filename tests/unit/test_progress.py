"""The progress line: on terminals only, and made of public numbers."""

import io
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from uptack import progress
from uptack.cli import main


class Terminal(io.StringIO):
    """A terminal that remembers what it showed."""

    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.written.set()
        return super().write(text)

    @property
    def shown(self):
        """The lines one after the other, without repetitions."""
        lines = self.getvalue().replace("\x1b[K", "").split("\r")
        return [line for line, before in zip(lines[1:], lines, strict=False) if line and line != before]


def onto(monkeypatch, stream):
    """Progress goes there; pytest has the process's own stream."""
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    return stream


@pytest.fixture
def terminal(monkeypatch):
    """A terminal on which every step is shown when it begins."""
    made = onto(monkeypatch, Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress._Line, "begin", lambda line: None)
    monkeypatch.setenv("COLUMNS", "200")
    return made


def test_steps_inside_steps_share_a_line(terminal):
    for _ in progress.track(range(2), "outer"):
        with progress.steps("inner", 2, inner=True) as step:
            step()
            step("other\x1b[31m")
    empty, half = " " * 30, "█" * 15 + " " * 15
    first, second = f"outer [{empty}] 0/2", f"outer [{half}] 1/2"
    assert terminal.shown == [
        line for one in (first, second) for line in (one, f"{one} · inner 0/2", f"{one} · other?[31m 1/2")
    ]
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_is_inside_is_quiet_by_itself(terminal):
    assert list(progress.track(range(3), "inner", inner=True)) == [0, 1, 2]
    assert list(progress.track(range(3), "quiet", show=False)) == [0, 1, 2]
    with progress.steps("loud", 2) as step:
        list(progress.track(range(3), "quiet", show=False))
        step()
    assert terminal.shown == [f"loud [{' ' * 30}] 0/2"]
    assert progress._LINE.get() is None


def test_a_line_appears_in_the_middle_of_a_step(monkeypatch):
    made = onto(monkeypatch, Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.001)
    with progress.steps("a long step", 1):
        assert made.written.wait(60)
    assert made.shown == ["a long step"]


def test_nothing_is_shown_elsewhere(monkeypatch):
    made = onto(monkeypatch, io.StringIO())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert list(progress.track(range(3), "outer")) == [0, 1, 2]
    assert made.getvalue() == ""


def lines(terminal, path, *command):
    terminal.seek(0)
    terminal.truncate()
    assert main([*command[:1], str(path), *command[1:], "--seed", "1"]) in (0, 3)
    return terminal.shown


def test_the_line_is_the_same_whatever_the_rows_are(terminal, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2)).round(3)
    y = (x @ [1, -2] + rng.normal(size=3000)).round(3)
    odd = np.where(np.arange(3000) < 5, "a very long word that is no number at all", y.astype(str))
    for name, last in (("one", y.astype(str)), ("two", odd)):
        (tmp_path / name).mkdir()
        rows = "".join(f"{a},{b},{c}\n" for (a, b), c in zip(x, last, strict=True))
        (tmp_path / name / "t.csv").write_text("a,b,y\n" + rows)
    told = ("--type", "a=number", "--type", "b=number", "--type", "y=number", "--epsilon", "4")
    page = ("-o", str(tmp_path / "report.html"), "--target", "y")
    for command in (("median", "y"), ("report", *page)):
        one, two = (lines(terminal, tmp_path / name / "t.csv", *command, *told) for name in ("one", "two"))
        assert one == two
        assert one[0] == "opening t.csv · converting to Parquet"
    assert f"figures of columns [{'█' * 15}{' ' * 15}] 2/4 · y 1/3" in one
    assert f"figures of columns [{'█' * 22}{' ' * 8}] 3/4 · Newton steps 2/4" in one
