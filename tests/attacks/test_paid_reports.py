"""What was paid for is not lost, what can be checked is checked before the debit, and no row stays on the disk."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import uptack as ut
from uptack.cli import command_support, main
from uptack.privacy.guarantee import factor, short
from uptack.report import Output, profile, to_html, write

pytest.importorskip("ibis")
ROOT = Path(__file__).parents[2]
SECRET = "Ada Lovelace"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    rows = np.random.default_rng(1).normal(50, 10, 5000).round(1)
    path.write_text("age,town\n" + "".join(f"{v},{'ab'[i % 2]}\n" for i, v in enumerate(rows)))
    return path


@pytest.fixture
def book(tmp_path):
    return ut.Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-5)


def report(table, book, output, *more):
    options = ["-e", "2", "--seed", "1", "--ledger", str(book.where), "-o", str(output)]
    return main(["report", str(table), *options, *more])


# ------------------------------------------------------------------------------------------- where the report goes


def test_outputs_that_can_not_be_are_refused_before_the_debit(table, book, tmp_path, capsys):
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "loop.html").symlink_to(tmp_path / "loop.html")
    (tmp_path / "a-file").touch()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.html")
    wrong = ["folder.html", "loop.html", "x" * 300 + ".html", "no/such/folder.html", "a-file/x.html", "report.pdf"]
    wrong += ["pipe.html"] if hasattr(os, "mkfifo") else []
    before = sorted(path.name for path in tmp_path.iterdir())
    for name in wrong:
        assert report(table, book, tmp_path / name) == 2, name
        assert "output" in capsys.readouterr().err
    assert book.spent() == ut.Privacy(0)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_folder_that_can_not_be_written_to(table, book, tmp_path, monkeypatch):
    """Tried and not asked about: the rights may say yes where the disk says no."""

    def refuse(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("uptack.report.output.tempfile.mkstemp", refuse)
    assert report(table, book, tmp_path / "report.html") == 2
    assert book.spent() == ut.Privacy(0)


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_a_report_that_can_not_be_written_in_the_end_is_not_lost(table, book, tmp_path, capsys, monkeypatch, suffix):
    target = tmp_path / "gone" / f"report{suffix}"
    target.parent.mkdir()

    def profile_and_remove(*args, **kwargs):
        made = profile(*args, **kwargs)
        for path in target.parent.iterdir():
            path.unlink()
        target.parent.rmdir()
        return made

    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    monkeypatch.setattr(sys.modules["uptack.report.profile"], "profile", profile_and_remove)
    assert report(table, book, target) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert abs(found["columns"][0]["figures"][0]["value"] - 50) < 5
    (saved,) = (tmp_path / "temp").iterdir()
    assert str(saved) in printed.err
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert saved.suffix == suffix


def test_a_page_that_can_not_be_drawn_is_saved_as_json(table, book, tmp_path, capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("no template")

    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    monkeypatch.setitem(sys.modules["uptack.report.output"].FORMATS, ".html", fail)
    assert report(table, book, tmp_path / "report.html") == 1
    (saved,) = (tmp_path / "temp").iterdir()
    assert json.loads(saved.read_text("utf-8")) == json.loads(capsys.readouterr().out)
    assert not list(tmp_path.glob(".uptack-*"))


def test_the_target_is_as_it_was_or_whole(tmp_path, monkeypatch):
    made = profile(ut.open({"x": np.arange(5000.0)}, entropy=ut.SeededEntropy(1)), 1, 1e-6)
    target = tmp_path / "report.html"
    target.write_text("old")
    with Output(target):
        assert len(list(tmp_path.iterdir())) == 2  # a file waits beside it
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text() == "old"
    (tmp_path / "link.html").symlink_to(target)
    assert write(made, tmp_path / "link.html") == tmp_path / "link.html"
    assert (tmp_path / "link.html").is_symlink()
    assert target.read_text("utf-8") == to_html(made)


def test_a_signal_that_an_engine_swallowed_still_stops_the_report(table, book, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command_support, "SIGNALS", [int(signal.SIGINT)])
    assert report(table, book, tmp_path / "report.html") == 130
    assert not list(tmp_path.glob("*.html"))
    assert not list(tmp_path.glob(".uptack-*"))


def test_a_plan_needs_no_output(table, tmp_path):
    assert main(["report", str(table), "-e", "9", "-o", str(tmp_path / "no" / "report.html"), "--plan"]) == 0


# ----------------------------------------------------------------------------------------------- paid, then failed


def test_a_table_without_rows_costs_nothing(book):
    empty = {"flag": np.zeros(0, bool), "town": np.zeros(0, "U1"), "age": np.zeros(0)}
    session = ut.open(empty, ledger=book)
    with pytest.raises(ut.InvalidArgument, match="at least one row"):
        profile(session, 2, 1e-6)
    assert book.spent() == ut.Privacy(0)


def test_a_secret_number_of_rows_stays_secret(tmp_path):
    """Under ADD_REMOVE a table without rows is one like any other."""
    book = ut.Ledger(tmp_path / "budget.db", epsilon=10, delta=1e-5, adjacency=ut.ADD_REMOVE)
    session = ut.open({"flag": np.zeros(0, bool)}, ledger=book, adjacency=ut.ADD_REMOVE)
    assert 1.9 < profile(session, 2, 1e-6).spent.epsilon <= 2


def test_a_wrong_request_is_found_before_the_first_debit(book, monkeypatch):
    from uptack.report import Part

    session = ut.open({"a": np.arange(5000.0), "b": np.arange(5000)}, ledger=book)
    wrong = {"b": ut.session.Request("median", "b", epsilon=1, interval=2)}
    plain = Part.request

    def request(part, figure, *released):
        return (
            wrong.get(part.name)
            if figure.label == "quantiles" and part.name in wrong
            else plain(part, figure, *released)
        )

    monkeypatch.setattr(Part, "request", request)
    with pytest.raises(ut.InvalidArgument, match="interval"):
        profile(session, 2, 1e-6)
    assert book.spent() == ut.Privacy(0)


def test_what_was_paid_for_stays_when_a_later_release_fails(book):
    session = ut.open({"a": np.arange(5000.0), "flag": np.arange(5000) % 2 == 0}, ledger=book)
    make, calls = session.make_paid, []

    def fail_at_the_third(request):
        calls.append(request)
        if len(calls) == 3:
            raise ut.UptackError("the rows could not be read, so nothing is released. The debit stands")
        return make(request)

    session.make_paid = fail_at_the_third
    made = profile(session, 2, 1e-6)
    assert len(calls) == 3  # no more is asked of rows that can't be read
    assert made.columns[0]["median"].value is not None
    assert made.columns[1].figures[0].value is None
    assert "Not computed: the rows could" in to_html(made)
    assert book.spent() == made.spent  # all of it was paid for before the first row was read


def test_another_process_that_spends_meanwhile_does_not_take_the_report(book):
    table = {"a": np.arange(50_000.0), "b": np.arange(50_000.0) % 7}
    session = ut.open(table, ledger=book)
    make = session.make_paid

    def spend_after(request):
        made = make(request)
        if book.remaining().exact_epsilon:
            book.debit(ut.Privacy(book.remaining().exact_epsilon), what="another one")
        return made

    session.make_paid = spend_after
    made = profile(session, 2, 1e-6, target="a")
    assert made.columns[1]["median"].value is not None
    assert "least-squares" in made.sections["regression"].note  # sections are paid for before rows are read, too
    assert 1.99 < made.spent.epsilon <= 2


def test_a_huge_epsilon_has_its_page():
    made = profile(ut.open({"flag": np.arange(500) % 2 == 0}, entropy=ut.SeededEntropy(1)), 5000)
    assert "by at most a factor of ∞" in to_html(made)
    assert (factor(1e4), short(float("inf"))) == (float("inf"), "∞")


def test_quartiles_at_the_ends_of_the_floats():
    x = np.repeat([-1e308, 1e308], 4000)
    assert "<svg" in to_html(profile(ut.open({"x": x}, entropy=ut.SeededEntropy(1)), 2, 1e-6))


def test_a_terminal_without_greek_still_shows_the_answer(table):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "uptack", "median", str(table), "age", "-e", "2", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"4") or done.stdout.startswith(b"5")


# -------------------------------------------------------------------------------------------------- standard input


def heed_signals():
    """Signals have their usual effect, also where the tests were started with nohup."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def start(tmp_path):
    """A command that waits for the rest of its input, once some rows are on the disk (or would be)."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "uptack", "median", "-", "age", "-e", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(command, env=environment, preexec_fn=heed_signals, **pipes)
    child.stdin.write(f"age,name\n1,{SECRET}\n".encode() * 100_000)
    child.stdin.flush()
    deadline = time.monotonic() + 600
    while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return child


def rows_left(folder):
    return [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_rows_from_standard_input_go_away_with_the_command(tmp_path, name):
    number = getattr(signal, name)
    child = start(tmp_path)
    child.send_signal(number)
    _, said = child.communicate(timeout=600)
    assert child.returncode == 128 + number, said
    assert b"debits stand" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not command_support.HANDLES.exists(), reason="needs files without a name")
def test_a_command_that_is_killed_leaves_no_row(tmp_path):
    child = start(tmp_path)
    assert rows_left(tmp_path) == []  # they have no name while it runs, either
    child.kill()
    child.communicate(timeout=600)
    assert rows_left(tmp_path) == []


@pytest.mark.parametrize("unnamed", [True, False])
def test_the_folder_is_private(tmp_path, monkeypatch, unnamed):
    if not unnamed:
        monkeypatch.setattr(command_support, "HANDLES", tmp_path / "nowhere")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = tmp_path / "source"
    source.write_bytes(b"age\n1\n")
    with source.open("rb") as stream, command_support.standard_input(stream) as path:
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert path.read_bytes() == b"age\n1\n"
        assert path.suffix == ".csv"
    assert list(tmp_path.iterdir()) == [source]
