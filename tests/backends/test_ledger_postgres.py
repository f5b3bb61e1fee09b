"""The ledger in PostgreSQL: the same behaviour as in a file, with many writers at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("sqlalchemy")

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.backends.test_ledger_crash import check_survival, spend_and_die
from uptack.cli import main
from uptack.errors import BudgetExceeded, LedgerCorrupt, LedgerError
from uptack.ledger import Ledger
from uptack.privacy import Privacy, loss

pytestmark = pytest.mark.xdist_group("postgres")


def sql(url, *statements):
    with create_engine(url).begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def test_a_budget_is_kept(postgres_url):
    ledger = Ledger(postgres_url, epsilon=1, delta=1e-6, dataset="kept")
    tree = loss.Unit(loss.Test("1/3", 1e-7), loss.Answer("1/3"))
    ledger.debit(tree, what="a median")
    again = Ledger(postgres_url, dataset="kept")
    assert again.history() == ledger.history()
    assert again.history()[0].loss == tree
    assert again.remaining() == Privacy("1/3", 9e-7)
    with pytest.raises(BudgetExceeded):
        again.debit(Privacy("1/2"), what="too much")
    with pytest.raises(LedgerError, match="has a budget of"):
        Ledger(postgres_url, epsilon=2, dataset="kept")
    assert again.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE uptack_entries SET epsilon = '0/1'",
        "DELETE FROM uptack_entries",
        "TRUNCATE uptack_entries",
        "DELETE FROM uptack_heads",
        "TRUNCATE uptack_heads",
        "UPDATE uptack_heads SET number = 1",
    ],
)
def test_the_tables_are_append_only(postgres_url, statement):
    ledger = Ledger(postgres_url, epsilon=1, dataset="append-only")
    ledger.debit(Privacy(0), what="so that there is something to change")
    with pytest.raises(DBAPIError, match="append-only"):
        sql(postgres_url, statement)
    assert ledger.verify()


def test_a_cut_chain_is_not_written_on(postgres_url):
    ledger = Ledger(postgres_url, epsilon=1, dataset="cut")
    ledger.debit(Privacy("1/2"), what="to be cut off")
    off, on = (f"ALTER TABLE uptack_entries {word} TRIGGER USER" for word in ("DISABLE", "ENABLE"))
    sql(postgres_url, off, "DELETE FROM uptack_entries WHERE dataset = 'cut' AND number = 2", on)
    assert ledger.verify().fault.number == 2
    with pytest.raises(LedgerCorrupt):
        ledger.debit(Privacy("1/2"), what="more")


def test_many_may_create_it_at_once(postgres_url):
    with ThreadPoolExecutor(8) as pool:
        made = [pool.submit(lambda: Ledger(postgres_url, epsilon=1, dataset="at once").head()) for _ in range(8)]
    assert len({future.result() for future in made}) == 1


def test_a_lock_that_is_held_too_long_is_named(postgres_url):
    ledger = Ledger(postgres_url, epsilon=1, dataset="locked", timeout=0.2)
    with create_engine(postgres_url).begin() as connection:
        connection.execute(text("SELECT * FROM uptack_heads WHERE dataset = 'locked' FOR UPDATE"))
        with pytest.raises(LedgerError, match=r"is locked.*larger timeout"):
            ledger.debit(Privacy("1/2"), what="waits")
    ledger.debit(Privacy("1/2"), what="goes on")


def test_a_server_that_is_not_there():
    with pytest.raises(LedgerError, match="can't be used") as caught:
        Ledger("postgresql+psycopg://somebody:secret@127.0.0.1:1/nowhere", epsilon=1)
    assert "secret" not in str(caught.value)


def test_killed_processes_lose_no_debit(postgres_url, tmp_path):
    ledger = Ledger(postgres_url, epsilon=1, dataset="under fire")
    killed = spend_and_die(postgres_url, "under fire", tmp_path, "1/80")
    assert killed >= 3
    check_survival(ledger, tmp_path, 80, killed)


def test_the_command_line_takes_its_url(postgres_url, tmp_path, capsys):
    place = postgres_url.replace("+psycopg", "")
    assert main(["ledger", "create", place, "--epsilon", "1", "--dataset", "by command"]) == 0
    table = tmp_path / "rows.csv"
    table.write_text("x\n" + "\n".join(map(str, range(3000))))
    options = ["--epsilon", "0.5", "--ledger", place, "--dataset", "by command"]
    assert main(["median", str(table), "x", *options]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", place, "--dataset", "by command"]) == 0
    assert "median of x" in capsys.readouterr().out
    assert Ledger(postgres_url, dataset="by command").remaining() == Privacy(0.5)
