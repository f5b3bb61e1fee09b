"""The command line as a user runs it: what it prints, and its exit codes."""

import csv
import gc
import importlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

import uptack as ut
from uptack.cli import main
from uptack.samples import path as sample

HEALTH = str(sample("health"))
pytest.importorskip("ibis")


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def ages(tmp_path):
    path = tmp_path / "ages.csv"
    rows = np.random.default_rng(1).normal(50, 10, 5_000).round(1)
    path.write_text(
        "\n".join(["age,town,ill", *(f"{v},{'ab'[i % 2]},{i % 3 == 0}" for i, v in enumerate(rows))]) + "\n"
    )
    return path


SINGLE = {
    "median": (["age"], lambda v: abs(v - 50) < 2),
    "quantile": (["age", "0.25", "0.75"], lambda v: abs(v[0] - 43.3) < 3 and abs(v[1] - 56.7) < 3),
    "iqr": (["age"], lambda v: abs(v - 13.5) < 3),
    "trimmed-mean": (["age"], lambda v: abs(v - 50) < 2),
    "mean": (["age"], lambda v: abs(v - 50) < 2),
    "sum": (["age"], lambda v: abs(v - 250_000) < 5_000),
    "std": (["age"], lambda v: abs(v - 10) < 2),
    "proportion": (["ill"], lambda v: abs(v - 1 / 3) < 0.02),
    "count": (["ill"], lambda v: abs(v - 1667) < 60),
    "histogram": (["town", "--delta", "1e-6"], lambda v: abs(v["counts"][0] - 2500) < 60),
    "density": (["age"], lambda v: max(v["values"]) > 0.02),
}


@pytest.mark.parametrize("command", SINGLE)
def test_single_releases(capsys, ages, command):
    arguments, good = SINGLE[command]
    code, out, err = run(capsys, command, ages, *arguments, "--epsilon", 2, "--seed", 1, "--json")
    assert (code, err.count("\n")) == (0, 1)
    assert "--type age=number --type town=text --type ill=boolean" in err
    found = json.loads(out)
    assert found["reply"]
    assert found["private"] is False
    assert good(found["value"])
    code, out, _ = run(capsys, command, ages, *arguments, "--epsilon", 2, "--seed", 1)
    assert code == 0
    assert "NOT PRIVATE" in out


def test_a_density_with_bumps(capsys, ages):
    asked = [
        "density",
        ages,
        "age",
        "--epsilon",
        2,
        "--delta",
        "1e-6",
        "--low",
        0,
        "--high",
        100,
        "--json",
        "--seed",
        1,
    ]
    code, out, _ = run(capsys, *asked)
    assert code == 0
    assert 0.03 < max(json.loads(out)["value"]["values"]) < 0.05


def test_regression(capsys, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=20_000)
    path = tmp_path / "line.csv"
    path.write_text(
        "y,x,name\n" + "".join(f"{3 + 2 * v + e},{v},n\n" for v, e in zip(x, rng.normal(size=x.size), strict=True))
    )
    code, out, _ = run(capsys, "regression", path, "y", "--epsilon", 2, "--seed", 1, "--json")
    assert code == 0
    assert np.abs(np.array(json.loads(out)["value"]) - [3, 2]).max() < 0.3


def test_no_reply_has_its_own_exit_code_and_says_what_would_do(capsys, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("age\n" + "\n".join(map(str, range(30))))
    code, out, _ = run(capsys, "median", path, "age", "--epsilon", "0.1")
    assert code == 3
    assert "⊥" in out
    assert "a reply needs at least" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["median", "nowhere.csv", "age", "-e", "1"], "nowhere.csv"),
        (["median", "{ages}", "agee", "-e", "1"], "age"),
        (["median", "{ages}", "town", "-e", "1"], "text"),
        (["median", "{ages}", "age", "-e", "0"], "epsilon must be a positive number"),
        (["median", "{ages}", "age", "-e", "abc"], "not a number"),
        (["median", "{ages}", "age"], "--epsilon"),
        (["median", "{ages}", "age", "-e", "1", "--method", "ptr"], "delta"),
        (["report", "{ages}", "-e", "1", "-o", "report.doc"], ".html"),
        (["report", "{ages}", "-e", "1", "--columns", "nothing"], "nothing"),
        (["report", "{ages}", "-e", "1", "--share", "age"], "NAME=WEIGHT"),
        (["plan", "{ages}", "median:age"], "STATISTIC:COLUMN:EPSILON"),
        (["histogram", "{ages}", "town", "-e", "1"], "pass --delta 1e-6"),
        (["ledger", "show", "nowhere.db"], "nowhere.db"),
        (["nonsense"], "No such command"),
    ],
)
def test_misuse_is_told_with_the_fix_and_exit_code_2(capsys, ages, arguments, said):
    code, out, err = run(capsys, *(a.format(ages=ages) for a in arguments))
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_an_empty_file(capsys, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    code, _, err = run(capsys, "median", tmp_path / "empty.csv", "age", "-e", "1")
    assert (code, "Traceback" in err) == (2, False)
    (tmp_path / "header.csv").write_text("age\n")
    code, _, err = run(capsys, "median", tmp_path / "header.csv", "age", "-e", "1", "--adjacency", "add-remove")
    assert code in (2, 3)
    assert "Traceback" not in err


def test_csv_from_standard_input(ages):
    command = [sys.executable, "-m", "uptack", "median", "-", "age", "--epsilon", "2", "--json", "--seed", "3"]
    found = subprocess.run(command, input=ages.read_bytes(), capture_output=True, check=True)
    assert abs(json.loads(found.stdout)["value"] - 50) < 2


def test_a_ledger_is_charged_and_can_run_out(capsys, ages, tmp_path):
    book = tmp_path / "budget.db"
    assert run(capsys, "ledger", "create", book, "--epsilon", "1")[0] == 0
    asked = ["median", ages, "age", "--ledger", book, "--epsilon"]
    assert run(capsys, *asked, "0.6")[0] == 0
    code, out, err = run(capsys, *asked, "0.6")
    assert (code, out) == (2, "")
    assert "budget" in err
    assert ut.Ledger(book).remaining() == ut.Privacy("0.4")
    code, out, _ = run(capsys, "ledger", "show", book)
    assert "median of age" in out
    assert run(capsys, "ledger", "verify", book)[0] == 0
    with sqlite3.connect(book) as database:
        for (name,) in database.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            database.execute(f'drop trigger "{name}"')
        database.execute("update uptack_entries set what = 'nothing' where number = 2")
    database.close()
    assert run(capsys, "ledger", "verify", book)[0] == 1


def test_a_ledger_as_json(capsys, ages, tmp_path):
    book = tmp_path / "budget.db"
    run(capsys, "ledger", "create", book, "--epsilon", "1")
    run(capsys, "median", ages, "age", "--ledger", book, "--epsilon", "0.6")
    shown = json.loads(run(capsys, "ledger", "show", book, "--json")[1])
    assert shown["remaining"]["epsilon"] == 0.4


def test_plans_spend_nothing(capsys, ages, tmp_path):
    book = tmp_path / "budget.db"
    run(capsys, "ledger", "create", book, "--epsilon", "1")
    code, out, _ = run(capsys, "plan", ages, "median:age:0.5", "histogram:town:0.2:1e-6", "--ledger", book)
    assert code == 0
    assert "within" in out
    code, out, _ = run(capsys, "plan", ages, "median:age:0.001")
    assert code == 3
    code, out, _ = run(capsys, "report", ages, "--epsilon", "1", "--plan", "--ledger", book)
    assert "total: ε = " in out
    assert ut.Ledger(book).spent() == ut.Privacy(0)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    assert "_UPTACK_COMPLETE" in out


def test_help_has_examples(capsys):
    for command in ("report", *SINGLE, "regression", "plan"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert f"uptack {command}" in out


def interrupted(book, out):
    """A report that gets a Ctrl-C as soon as its first debit is seen: how it ended, and what it said."""
    ut.Ledger(book, epsilon=10, delta=1e-5)
    command = [sys.executable, "-m", "uptack", "report", HEALTH, "--epsilon", "2", "-o", out, "--ledger", book]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    deadline = time.monotonic() + 600
    while not ut.Privacy(0) < ut.Ledger(book).spent() and time.monotonic() < deadline and child.poll() is None:
        time.sleep(0.005)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=600)
    return child.returncode, err


def test_interrupted_in_the_middle(tmp_path):
    """Ctrl-C leaves an intact ledger and no half-written report."""
    for attempt in range(9):  # a report may be through before the signal comes
        book, out = tmp_path / f"{attempt}.db", tmp_path / "report.html"
        code, err = interrupted(book, out)
        if code:
            break
        out.unlink()
    assert code == 130, err
    assert b"Traceback" not in err
    assert not out.exists()
    assert sorted(p.name for p in tmp_path.glob("*.html*")) == []
    ledger = ut.Ledger(book)
    ledger.verify()
    assert ut.Privacy(0) < ledger.spent()


def test_keys_are_read_as_the_column_is(capsys, ages):
    code, out, _ = run(capsys, "histogram", ages, "ill", "-e", 2, "--key", "true", "--json", "--seed", 1)
    assert code == 0
    assert abs(json.loads(out)["value"]["counts"][0] - 1667) < 60
    assert run(capsys, "histogram", ages, "ill", "-e", 2, "--key", "maybe")[0] == 2
    code, _, err = run(capsys, "histogram", ages, "town", "-e", 2, "--edge", 0, "--edge", 1)
    assert code == 2
    assert "text" in err


def test_types_of_a_csv_file_can_be_stated(capsys, tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("age\n" + "\n".join(["soon", *(str(20 + i % 60) for i in range(4000))]) + "\n")
    assert run(capsys, "median", path, "age", "-e", 2)[0] == 2
    code, out, _ = run(capsys, "median", path, "age", "-e", 2, "--type", "age=integer", "--json", "--seed", 1)
    assert code == 0
    assert abs(json.loads(out)["value"] - 49) < 3


def test_data_sets_and_people_of_a_ledger(capsys, ages, tmp_path):
    book = tmp_path / "budget.db"
    made = ["ledger", "create", book, "--epsilon", 1, "--dataset", "pats", "--rows-per-person", 2]
    assert run(capsys, *made)[0] == 0
    asked = ["median", ages, "age", "-e", "0.5", "--ledger", book, "--dataset", "pats", "--rows-per-person", 2]
    assert run(capsys, *asked)[0] == 0
    assert "median of age" in run(capsys, "ledger", "show", book, "--dataset", "pats")[1]
    assert run(capsys, "ledger", "verify", book, "--dataset", "pats")[0] == 0


@pytest.mark.parametrize("content", [b'a,b\n1,2\n3,4,5,6\n"', b"\x00\xff\xfe\x00", b"PAR1 no"])
@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_files_that_are_broken(capsys, tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    code, _, err = run(capsys, "median", tmp_path / name, "a", "-e", 1)
    assert code in (2, 3)
    assert "Traceback" not in err


def test_a_report_without_any_answer(capsys, tmp_path):
    (tmp_path / "few.csv").write_text("age\n1\n2\n3\n")
    code, out, _ = run(capsys, "report", tmp_path / "few.csv", "-e", 1, "-o", tmp_path / "report.html")
    assert code == 3
    assert "⊥" in out


def test_answers_by_group(capsys, ages):
    code, out, _ = run(capsys, "median", ages, "age", "-e", 4, "--by", "town", "--delta", "1e-6", "--seed", 1)
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()[:2]] == ["a", "b"]
    asked = ["quantile", ages, "age", "0.25", "0.75", "-e", 4, "--by", "ill", "--group", "true", "--seed", 1]
    code, out, _ = run(capsys, *asked)
    assert code == 0
    assert out.splitlines()[0].split("\t")[1].split()[::2] == ["0.25:", "0.75:"]
    assert run(capsys, "median", ages, "age", "-e", 4, "--by", "town")[0] == 2
    assert run(capsys, "median", ages, "age", "-e", 4, "--group", "a")[0] == 2


def test_a_guess_of_where_values_lie(capsys, ages):
    code, out, _ = run(capsys, "median", ages, "age", "-e", 1, "--plausible", "0:120", "--seed", 1)
    assert code == 0
    assert 40 < float(out.split()[0]) < 60
    assert run(capsys, "median", ages, "age", "-e", 1, "--plausible", "-5.5:1e3", "--seed", 1)[0] == 0
    for wrong in ("120:0", "7", "a:b", "0:120:240", "0:", "nan:1"):
        code, _, said = run(capsys, "median", ages, "age", "-e", 1, "--plausible", wrong)
        assert code == 2
        assert "plausible" in said
    assert "--plausible LOW:HIGH" in run(capsys, "median", "--help")[1]


# ------------------------------------------------------------------------------------------------------------ people

VISITS = str(sample("visits"))


def test_people_are_protected_with_an_id(capsys, tmp_path):
    code, out, _ = run(capsys, "median", VISITS, "wait_minutes", "-e", 1, "--person", "patient_id", "--json")
    assert code == 0
    assert json.loads(out)["privacy"]["person"] == ["patient_id"]
    code, out, _ = run(
        capsys,
        *("median", VISITS, "cost", "-e", 1, "--person", "patient_id", "--person", "ward"),
        "--per-person",
        "mean",
    )
    assert (code, "people by patient_id and ward" in out) == (0, True)
    for words in (["--weights", "rows", "--at-most", "5"], ["--per-person", "last", "--order", "age"]):
        assert run(capsys, "median", VISITS, "cost", "-e", 1, "--person", "patient_id", *words)[0] == 0
    code, _, err = run(capsys, "median", VISITS, "patient_id", "-e", 1, "--person", "patient_id")
    assert (code, "ids of people" in err) == (2, True)
    code, out, _ = run(capsys, "plan", VISITS, "median:cost:0.5", "--person", "patient_id")
    assert "of 3,000 ranks" in out


def test_a_ledger_fixes_the_unit(capsys, tmp_path):
    place = tmp_path / "budget.db"
    code, out, _ = run(capsys, "ledger", "create", place, "-e", 3, "--person", "patient_id")
    assert (code, "Each person is protected" in out) == (0, True)
    asked = ("median", VISITS, "cost", "-e", 1, "--ledger", place)
    assert run(capsys, *asked, "--person", "patient_id")[0] == 0
    code, _, err = run(capsys, *asked)
    assert (code, "--person patient_id" in err) == (2, True)


def test_describe_says_whose_privacy_is_meant(capsys):
    code, out, _ = run(capsys, "describe", VISITS, "--person", "patient_id")
    assert (code, "3,000 people" in out, "19,621" in out, "Each person is protected" in out) == (0, True, False, True)
    out = run(capsys, "describe", HEALTH, "--noun", "person-year")[1]
    assert "Each person-year is protected." in out
    assert "CURATOR" not in out


def test_the_curator_can_ask_whether_people_have_several_rows(capsys):
    out = run(capsys, "describe", VISITS, "--curator")[1]
    assert "FOR THE CURATOR ONLY" in out
    assert "patient_id: 3,000 values in 19,621 rows, at most 60 rows per value" in out
    assert "--person patient_id" in out
    out = run(capsys, "describe", VISITS, "--curator", "--person", "patient_id", "--json")[1]
    assert json.loads(out)["curator"] == [
        {"names": ["patient_id"], "rows": 19621, "values": 3000, "most": 60, "missing": 0}
    ]
    assert "no column looks like ids" in run(capsys, "describe", HEALTH, "--curator")[1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
@pytest.mark.parametrize(
    "name", ["patient's id", '"the" $(id)', "-id", " no", "`id`;\\n", "the\nid", "\x1b[2J\u202e'\\ id", "Größe nr"]
)
def test_what_the_curator_is_told_can_be_pasted(capsys, tmp_path, name):
    """The shell makes of the line that is printed what the option takes, whatever the column is called."""
    path = tmp_path / "visits.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[name, "cost"], *([f"a{i // 3}", i] for i in range(30))])
    out = run(capsys, "describe", path, "--curator")[1]
    (line,) = (line for line in out.splitlines() if line.startswith("  --person "))
    assert line.isprintable()
    shell = ["bash", "--norc", "-c", f"printf '%s\\0' {line.strip()}"]
    words = subprocess.run(shell, capture_output=True, check=True).stdout.decode().split("\0")[:-1]
    assert words == ["--person", name]
    code, out, err = run(capsys, "describe", path, *words)
    assert (code, "10 people" in out) == (0, True)
    assert all(text.isprintable() for text in err.splitlines())


def test_an_import_that_fails_leaves_garbage_collection_as_it_was(monkeypatch):
    monkeypatch.delitem(sys.modules, "uptack.cli")
    monkeypatch.setitem(sys.modules, "uptack.cli.main", None)
    for on in (True, False):
        (gc.enable if on else gc.disable)()
        try:
            with pytest.raises(ImportError):
                importlib.import_module("uptack.cli")
            assert gc.isenabled() == on
        finally:
            gc.enable()


def test_groups_are_printed_with_their_intervals(capsys, ages):
    given = ("--by", "town", "--group", "a", "--group", "b", "--epsilon", 4, "--seed", 1)
    code, out, _ = run(capsys, "mean", ages, "age", *given)
    assert code == 0
    name, value, interval = out.splitlines()[0].split("\t")
    assert (name, interval[:13]) == ("a", "95% interval ")
    assert abs(float(value) - 50) < 3
    assert "90% interval" in run(capsys, "median", ages, "age", *given, "--interval", 0.9)[1]
    counts = run(capsys, "histogram", ages, "town", "--delta", 1e-6, "--epsilon", 1, "--seed", 1)[1]
    assert "\t95% interval 2" in counts


def test_messages_and_notes_name_options_of_the_command_line(capsys):
    people = ("--person", "patient_id", "-e", 1)
    _, out, _ = run(capsys, "median", VISITS, "wait_minutes", "--by", "ward", "--delta", "1e-6", *people)
    assert "--groups-per-person" in out
    assert "groups_per_person=" not in out
    code, _, err = run(capsys, "mean", VISITS, "wait_minutes", "--weights", "cost", *people)
    assert code == 2
    assert "Survey weights are not supported" in err
    code, _, err = run(capsys, "chi-square", VISITS, "ward", "ward", "--delta", "1e-6", *people)
    assert code == 2
    assert "pass --rows-per-person." in err
    code, out, _ = run(capsys, "chi-square", VISITS, "ward", "ward", "-e", 5, "--delta", "1e-6")
    assert out.startswith("chi-square test of independence")
    assert "Surgery" in out  # the table of counts


def test_serve_says_that_types_were_inferred(tmp_path, monkeypatch, capsys):
    from uptack.server import app

    monkeypatch.setattr(app, "serve", lambda made, ready: ready())
    path = tmp_path / "rows.csv"
    path.write_text("age,ward\n" + "31,a\n42,b\n" * 500)
    assert run(capsys, "serve", path, "-e", 1)[2].endswith(f"uptack init {path}`.\n")
    assert run(capsys, "init", path, "--yes", "-e", 0)[0] == 0
    assert "inferred" not in run(capsys, "serve", path, "-e", 1)[2]
