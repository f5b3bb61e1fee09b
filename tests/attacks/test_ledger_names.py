"""One ledger file under several names: no way to it may spend what another way has spent."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from uptack.errors import BudgetExceeded, LedgerError
from uptack.ledger import Ledger, ledger_store
from uptack.privacy import Privacy

ROOT = Path(__file__).parents[2]
SPEND = """
import sys
from uptack.errors import BudgetExceeded, LedgerError
from uptack.ledger import Ledger
from uptack.privacy import Privacy
granted = 0
try:
    ledger = Ledger(sys.argv[1], timeout=30)
    print("ready", flush=True)
    sys.stdin.readline()
    while True:
        ledger.debit(Privacy("1/100"), what="a release")
        granted += 1
except (BudgetExceeded, LedgerError):
    print(granted, flush=True)
"""


@pytest.fixture
def place(tmp_path):
    Ledger(tmp_path / "budget.db", epsilon=1)
    return tmp_path / "budget.db"


def spender(path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", SPEND, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def granted(processes):
    """How many debits the processes were granted in all, once they are let go together."""
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.close()
    total = 0
    for process in processes:
        total += int(process.stdout.read().split()[-1])
        process.wait()
    return total


def test_two_processes_through_two_names_made_before_opening(place, tmp_path):
    os.link(place, tmp_path / "other.db")
    first, second = spender(place), spender(tmp_path / "other.db")
    outputs = [process.communicate("go\n", timeout=600)[0].split() for process in (first, second)]
    assert outputs == [["0"], ["0"]]


def test_two_processes_through_two_names_made_after_opening(place, tmp_path):
    first = spender(place)
    assert first.stdout.readline() == "ready\n"
    os.link(place, tmp_path / "other.db")
    second = spender(tmp_path / "other.db")
    assert granted([first, second]) == 0
    os.remove(tmp_path / "other.db")
    assert len(Ledger(place).history()) == 0


def test_a_second_name_is_refused_inside_a_transaction_of_the_first(place, tmp_path):
    ledger = Ledger(place)
    with ledger._store.writing():
        os.link(place, tmp_path / "other.db")
        with pytest.raises(LedgerError, match="several names"):
            Ledger(tmp_path / "other.db", timeout=0.1)
        os.remove(tmp_path / "other.db")
    ledger.debit(Privacy(1), what="all")


def test_a_file_that_is_renamed_in_a_transaction_is_still_locked(place, tmp_path):
    """The lock is on the file and not on a name of it."""

    def rename_and_spend():
        place.rename(tmp_path / "other.db")
        with pytest.raises(LedgerError, match="is locked"):
            Ledger(tmp_path / "other.db", timeout=0.1).debit(Privacy(1), what="all")

    ledger = Ledger(place)
    with pytest.raises(LedgerError, match="moved"), ledger._store.writing():
        rename_and_spend()


def test_a_debit_into_a_file_that_was_swapped_is_no_debit(place, tmp_path):
    shutil.copy(place, tmp_path / "copy.db")
    ledger = Ledger(place)
    with pytest.raises(LedgerError, match="moved"), ledger._store.writing():
        os.replace(tmp_path / "copy.db", place)


def test_a_symbolic_link_is_the_file_itself(place, tmp_path):
    (tmp_path / "linked.db").symlink_to(place)
    (tmp_path / "new-link.db").symlink_to(tmp_path / "new.db")
    linked = Ledger(tmp_path / "linked.db")
    assert linked.where == Ledger(place).where
    linked.debit(Privacy(1), what="all")
    with pytest.raises(BudgetExceeded):
        Ledger(place).debit(Privacy("1/100"), what="more")
    Ledger(tmp_path / "new-link.db", epsilon=1)
    assert (tmp_path / "new.db").exists()


def test_two_processes_through_a_symbolic_link_share_the_budget(place, tmp_path):
    (tmp_path / "linked.db").symlink_to(place)
    spenders = [spender(place), spender(tmp_path / "linked.db")]
    for process in spenders:
        assert process.stdout.readline() == "ready\n"
    assert granted(spenders) == 100
    assert Ledger(place).verify()


def test_no_file_is_left_beside_it_that_only_one_name_would_find(place, tmp_path):
    ledger = Ledger(place)
    ledger.debit(Privacy("1/2"), what="half")
    with ledger._store.reading():
        assert {path.name for path in tmp_path.iterdir()} == {"budget.db"}


def test_a_ledger_with_a_write_ahead_log_is_brought_to_a_journal(place):
    import sqlite3

    with sqlite3.connect(place) as old:
        assert old.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    old.close()
    Ledger(place).debit(Privacy("1/2"), what="half")
    with sqlite3.connect(place) as new:
        assert new.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    new.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(LedgerError, match="not a file"):
        Ledger(tmp_path / "pipe.db", epsilon=1)
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")
    with pytest.raises(LedgerError):
        Ledger(tmp_path / "loop.db", epsilon=1)


def test_a_file_that_is_a_mount_is_refused(place, tmp_path, monkeypatch):
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(ledger_store, "MOUNTS", mounts)
    name = os.fsencode(place.resolve()).replace(b" ", b"\\040")
    mounts.write_bytes(b"63 43 254:0 /elsewhere/b.db " + os.path.dirname(name) + b" rw - ext4 /dev/x rw\n")
    Ledger(place).debit(Privacy("1/4"), what="its folder may be one")
    mounts.write_bytes(b"63 43 254:0 /elsewhere/b.db " + name + b" rw,relatime - ext4 /dev/x rw\n")
    with pytest.raises(LedgerError, match="mounted"):
        Ledger(place)


def test_names_of_mounts_are_read_as_the_kernel_writes_them(tmp_path, monkeypatch):
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(ledger_store, "MOUNTS", mounts)
    mounts.write_bytes(rb"1 2 3:4 / /a\040b\134c rw - ext4 /dev/x rw" + b"\n")
    assert ledger_store.is_mount(Path("/a b\\c"))
    assert not ledger_store.is_mount(Path("/a"))
    monkeypatch.setattr(ledger_store, "MOUNTS", tmp_path / "none")
    assert not ledger_store.is_mount(Path("/a b\\c"))


def can_mount():
    with tempfile.TemporaryDirectory() as folder:
        command = ["unshare", "--mount", "mount", "--bind", folder, folder]
        try:
            return subprocess.run(command, capture_output=True).returncode == 0
        except OSError:
            return False


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount")
def test_a_file_that_is_mounted_twice(place, tmp_path):
    """Inside a mount namespace of its own, as in a container that is given one file."""
    (tmp_path / "mounted.db").touch()
    script = f'mount --bind "$1" "$2" && exec {sys.executable} -c "$3" "$2"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(place), str(tmp_path / "mounted.db"), SPEND]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    inside = subprocess.run(command, input="go\n", capture_output=True, text=True, env=environment, timeout=600)
    assert inside.stdout.split() == ["0"], inside.stderr
    Ledger(place).debit(Privacy(1), what="all")
