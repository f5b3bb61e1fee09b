"""A ledger survives the death of those who write to it: nothing lost, nothing overspent, nothing released unpaid."""

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from uptack.errors import BudgetExceeded
from uptack.privacy import Privacy

pytest.importorskip("sqlalchemy")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

from uptack.ledger import Ledger  # noqa: E402

ROOT = Path(__file__).parents[2]
RELEASES = 250


def spend_and_die(place, dataset, folder, cost):
    """Four processes under fire until the budget is used up; how many were killed."""
    command = [sys.executable, "-m", "tests.backends.spenders", str(place), dataset, cost, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def check_survival(ledger, folder, releases, killed):
    """All that must hold afterwards, whatever was killed when."""
    debits = ledger.history()
    paid = {(line.number, line.hash) for line in debits}
    released = [line.split() for notes in folder.glob("*.txt") for line in notes.read_text().splitlines()]
    released = [(int(words[0]), words[1]) for words in released if len(words) == 2 and len(words[1]) == 64]
    verified = ledger.verify()
    assert verified, verified.fault
    assert verified.entries == 1 + releases
    assert len(debits) == releases  # the budget is used up to the last part, and not overspent
    assert ledger.spent() == ledger.budget
    assert set(released) <= paid  # every release has its debit
    assert len(released) == len(set(released))  # and no two share one
    assert releases - len(released) <= killed  # a death loses at most the release it struck, never a debit
    with pytest.raises(BudgetExceeded):
        ledger.debit(Privacy("1/1000000"), what="one more")


def test_killed_processes_lose_no_debit(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=1, delta=0)
    killed = spend_and_die(tmp_path / "budget.db", "data", tmp_path, f"1/{RELEASES}")
    assert killed >= 10
    check_survival(ledger, tmp_path, RELEASES, killed)


DYING = """
import os, signal, sys
from uptack.ledger import Ledger, ledger_store
from uptack.privacy import Privacy

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

point, append = sys.argv[2], ledger_store.append
ledger = Ledger(sys.argv[1])
if point == "between the entry and the head":
    ledger_store.sa.update = die
if point == "before the commit":
    ledger_store.append = lambda connection, row: (append(connection, row), die())
ledger.debit(Privacy("1/4"), what="a release")
die()  # after the commit
"""


def die_at(point, path):
    """Debit in a process of its own that is killed at a point of the transaction."""
    done = subprocess.run([sys.executable, "-c", DYING, str(path), point], cwd=ROOT, capture_output=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(
    ("point", "debited"), [("between the entry and the head", 0), ("before the commit", 0), ("after the commit", 1)]
)
def test_a_transaction_is_whole_or_not_at_all(point, debited, tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    die_at(point, tmp_path / "budget.db")
    assert len(ledger.history()) == debited
    assert ledger.spent().exact_epsilon == Fraction(debited, 4)
    assert ledger.verify()
    ledger.debit(Privacy("1/4"), what="life goes on")  # no lock is left behind
    assert ledger.verify()


def test_the_check_sees_a_release_without_its_debit(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", epsilon=1)
    paid = ledger.debit(Privacy(1), what="all")
    (tmp_path / "w0.txt").write_text(f"{paid.number} {'0' * 64}\n")
    with pytest.raises(AssertionError):
        check_survival(ledger, tmp_path, 1, 5)
