import json
import pickle
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy")

from uptack.errors import (
    BudgetExceeded,
    Incomparable,
    InvalidArgument,
    LedgerCorrupt,
    LedgerError,
    UnknownLoss,
    UptackError,
)
from uptack.ledger import Entry, Head, Ledger
from uptack.ledger.admission import Balance, brief, short
from uptack.ledger.entry_chain import FIELDS, digest
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy, RandomPrivacy, cost, fair_shares, loss, tight
from uptack.privacy.loss import (
    KINDS,
    Answer,
    Approximate,
    Cascade,
    Composed,
    Gaussian,
    Pure,
    Test,
    Unit,
    Zcdp,
    decode,
    encode,
    rational,
    rational_text,
)

UNIT = Unit(Test("1/3", 1e-9), Answer(0.5))
TREES = [
    Pure("1/3"),
    loss.BoundedRange("2/7"),
    Approximate(0.1, 1e-6),
    Gaussian(1, 1e-5, 4),
    Zcdp(0.01, 1e-6, 1e-8, 1),
    Test(1, 1e-6),
    Answer(2),
    UNIT,
    Unit(Test(1, 0), None),
    Cascade((UNIT, UNIT), same_answer=True),
    loss.Composed((Pure(1), UNIT)),
    Composed((Pure(1), loss.Composed((UNIT, Pure("1/7"))))),
    loss.Composed((Pure(1),)),
    loss.Disjoint((Pure(1), Approximate(0.5, 1e-7))),
    loss.Partition(Pure(1), blocks_per_row=3),
    loss.Subsample(Pure(1)),
    loss.Subsample(UNIT, rate="1/9"),
]


def at_once(times, action):
    """What an action returns in so many threads at once; an error in any of them is raised."""
    with ThreadPoolExecutor(times) as pool:
        return [future.result() for future in [pool.submit(action) for _ in range(times)]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


class TestEncoding:
    @pytest.mark.parametrize("tree", TREES, ids=lambda t: type(t).__name__)
    def test_what_is_read_is_what_was_written(self, tree):
        assert decode(json.loads(json.dumps(encode(tree)))) == tree

    def test_every_node_of_the_loss_tree_is_known(self):
        nodes = {kind for kind in loss.Loss.__subclasses__() if kind.__module__ == loss.__name__}
        assert set(KINDS.values()) == nodes == {type(tree) for tree in TREES}

    @pytest.mark.parametrize(
        "written",
        [
            None,
            [],
            {},
            {"kind": "Loss"},
            {"kind": "Quantum", "epsilon": "1/1"},
            {"kind": "Pure"},
            {"kind": "Pure", "epsilon": "1/1", "delta": "0/1"},
            {"kind": "Pure", "epsilon": "-1/1"},
            {"kind": "Pure", "epsilon": "0.1"},
            {"kind": "Pure", "epsilon": "2/4"},
            {"kind": "Pure", "epsilon": "1/0"},
            {"kind": "Pure", "epsilon": {"kind": "Pure", "epsilon": "1/1"}},
            {"kind": "Gaussian", "epsilon": "1/1", "delta": "1/100000", "noise_multiplier": "1/1"},
            {"kind": ["Pure"], "epsilon": "1/1"},
        ],
    )
    def test_anything_else_is_refused(self, written):
        with pytest.raises(UnknownLoss):
            decode(written)

    def test_an_unknown_node_is_refused(self):
        class Pure(loss.Pure):
            """The name is known, the node is not."""

        with pytest.raises(UnknownLoss):
            encode(Pure(1))

    @given(st.fractions())
    def test_rationals_are_exact(self, value):
        assert rational(rational_text(value)) == value

    def test_a_rational_too_long_to_be_read_again_is_not_written(self):
        with pytest.raises(InvalidArgument):
            rational_text(Fraction(1, 1 << 20_000))


class TestAdmission:
    def test_a_third_thrice_fits_one(self, path):
        ledger = Ledger(path, epsilon=1, delta="1/3")
        for _ in range(3):
            ledger.debit(Privacy("1/3", "1/9"), what="a third")
        assert ledger.remaining() == Privacy(0)
        with pytest.raises(BudgetExceeded):
            ledger.debit(Privacy(Fraction(1, 10**40)), what="hardly anything")

    def test_ten_tenths_fit_one(self, path):
        ledger = Ledger(path, epsilon=1)
        for _ in range(10):
            ledger.debit(Privacy(0.1), what="a tenth")
        assert ledger.spent() == ledger.budget

    def test_what_is_refused_is_not_debited(self, path):
        ledger = Ledger(path, epsilon=1, delta=1e-6)
        before = ledger.head()
        with pytest.raises(BudgetExceeded) as caught:
            ledger.debit(Privacy(0.5, 1e-5), what="too much δ")
        assert caught.value.requested == Privacy(0.5, 1e-5)
        assert caught.value.remaining == Privacy(1, 1e-6)
        assert ledger.head() == before

    @settings(max_examples=15)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from([None, "ann", "bob"]),
                st.fractions(0, 1, max_denominator=9),
                st.fractions(0, "1/4", max_denominator=50),
            ),
            max_size=12,
        )
    )
    def test_no_sequence_of_debits_exceeds(self, tmp_path_factory, wishes):
        ledger = Ledger(tmp_path_factory.mktemp("ledger") / "b.db", epsilon=2, delta="1/3")
        ledger.allow("ann", "1/2", "1/4")
        ledger.allow("bob", 2, "1/4")
        limits = {None: (2, Fraction(1, 3)), "ann": (Fraction(1, 2), Fraction(1, 4)), "bob": (2, Fraction(1, 4))}
        sums = {who: (Fraction(0), Fraction(0)) for who in limits}
        for who, epsilon, delta in wishes:
            asked = {name: (sums[name][0] + epsilon, sums[name][1] + delta) for name in {None, who}}
            fits = all(asked[n][0] <= limits[n][0] and asked[n][1] <= limits[n][1] for n in asked)
            try:
                ledger.debit(Privacy(epsilon, delta), what="a wish", analyst=who)
            except BudgetExceeded:
                assert not fits
            else:
                assert fits
                sums |= asked
        assert (ledger.spent().exact_epsilon, ledger.spent().exact_delta) == sums[None]
        assert ledger.spent("ann") <= Privacy("1/2", "1/4")
        assert ledger.verify()

    @given(st.fractions(0, 5), st.integers(1, 64))
    def test_shortening_never_lowers_a_cost(self, value, bits):
        rounded = short(value, bits)
        assert value <= rounded < value + Fraction(1, 1 << bits)
        assert rounded == value or rounded.denominator <= 1 << bits

    def test_sums_stay_short(self):
        spent = Balance(Privacy(10), Privacy(0), Privacy(0))
        for i in range(60):
            spent = spent.after(Privacy(Fraction(1, 10**40 + 2 * i + 1)))
        assert spent.spent.exact_epsilon.denominator.bit_length() <= 4097
        assert 0 < spent.spent.exact_epsilon - sum(Fraction(1, 10**40 + 2 * i + 1) for i in range(60)) < 2.0**-1000

    def test_a_cost_that_is_worth_nothing_is_left_alone(self):
        worthless = Privacy(1, 0.5) + Privacy(1, 0.5)
        assert brief(worthless) is worthless


def worst_strategy(admit, left, depth):
    """The largest P(S) - 2^3·P'(S) that an adaptive analyst can reach, over all strategies and all sets S, exactly.

    A request of ε = u·ln 2 is answered by the worst mechanism of its (ε, δ): with probability δ it tells the table
    outright, else it is randomized response with odds 2^u. `admit(left, u, δ)` is what is left after it, or None where
    it is refused.
    """

    @cache
    def value(p, q, left, depth):
        best = max(Fraction(0), p - 8 * q)
        for units, delta in [(1, 0), (2, 0), (1, Fraction(1, 10)), (0, Fraction(1, 5)), (3, Fraction(1, 10))]:
            after = admit(left, units, Fraction(delta)) if depth else None
            if after is not None:
                high, low = (1 - delta) * Fraction(2**units, 1 + 2**units), (1 - delta) * Fraction(1, 1 + 2**units)
                answers = [(p * delta, Fraction(0)), (Fraction(0), q * delta), (p * high, q * low), (p * low, q * high)]
                best = max(best, sum(value(a, b, after, depth - 1) for a, b in answers))
        return best

    return value(Fraction(1), Fraction(1), left, depth)


class TestTheorem:
    """Budget (3 ln 2, 1/5): no adaptive strategy may reach P(S) > 2^3·P'(S) + 1/5."""

    @staticmethod
    def balance(left, units, delta):
        """The library's own filter, with ε in units of ln 2."""
        try:
            after = Balance(Privacy(3, "1/5"), Privacy(3 - left[0], Fraction(1, 5) - left[1]), Privacy(0))
            left = after.after(Privacy(units, delta)).remaining
        except BudgetExceeded:
            return None
        return left.exact_epsilon, left.exact_delta

    def test_the_filter_holds_against_every_strategy(self):
        worst = worst_strategy(self.balance, (Fraction(3), Fraction(1, 5)), 3)
        assert worst <= Fraction(1, 5)
        assert worst > Fraction(19, 100)  # and the budget can be used

    def test_a_filter_that_forgets_to_add_is_caught(self):
        def each_by_itself(left, units, delta):
            return left if units <= left[0] and delta <= left[1] else None

        assert worst_strategy(each_by_itself, (Fraction(3), Fraction(1, 5)), 3) > Fraction(1, 5)

    def test_a_filter_that_looks_after_the_fact_is_caught(self):
        def one_too_many(left, units, delta):
            return (left[0] - units, left[1] - delta) if left[0] >= 0 and left[1] >= 0 else None

        assert worst_strategy(one_too_many, (Fraction(3), Fraction(1, 5)), 3) > Fraction(1, 5)


class TestPrice:
    def test_a_tree_costs_what_the_interpreter_says(self, path):
        ledger = Ledger(path, epsilon=20, delta=1e-3)
        for tree in TREES:
            if isinstance(tree, Answer):  # half of a unit, which has no price of its own
                continue
            entry = ledger.debit(tree, what="a tree")
            assert entry.cost == cost(tree)
            assert entry.loss == tree

    def test_a_guarantee_is_brought_under_the_ledgers_neighbours(self, path):
        ledger = Ledger(path, epsilon=10, adjacency=SUBSTITUTE.per_person(3))
        assert ledger.debit(Privacy(1), what="for one row").cost == Privacy(3, 0, SUBSTITUTE.per_person(3))
        assert ledger.debit(Privacy(1, 0, ADD_REMOVE), what="for one row").cost.epsilon == 6
        entry = ledger.debit(Pure("1/9"), what="a tree for one row", adjacency=SUBSTITUTE)
        assert (entry.cost.exact_epsilon, entry.adjacency, entry.loss) == (Fraction(1, 3), SUBSTITUTE, Pure("1/9"))

    def test_what_cannot_be_brought_there_is_refused(self, path):
        ledger = Ledger(path, epsilon=10, adjacency=ADD_REMOVE)
        with pytest.raises(Incomparable, match="ADD_REMOVE"):
            ledger.debit(Privacy(1), what="n is public")
        assert not ledger.history()

    def test_an_unknown_tree_is_refused(self, path):
        class Strange(loss.Loss):
            pass

        ledger = Ledger(path, epsilon=1)
        with pytest.raises(UnknownLoss):
            ledger.debit(Strange(), what="?")
        assert ledger.verify().entries == 1

    def test_a_plan_costs_no_more_than_its_sum(self, path):
        ledger = Ledger(path, epsilon=9, delta=1e-5)
        trees = [Gaussian(1, 1e-6, 5)] * 4
        entry = ledger.debit_plan(trees, delta=4e-6, what="four in advance")
        assert entry.cost == tight(trees, 4e-6)
        assert entry.cost.epsilon < 2.5
        assert entry.loss == Composed(tuple(trees))
        assert ledger.spent() == entry.cost

    @pytest.mark.parametrize(("count", "share"), [(5, 0.445), (15, 0.2168), (50, 0.1187)])
    def test_a_plan_of_draws_of_bounded_range_is_charged_what_is_claimed(self, path, count, share):
        ledger = Ledger(path, epsilon=2, delta=1e-6)
        trees = [loss.BoundedRange(share)] * count
        entry = ledger.debit_plan(trees, delta=1e-6, what="medians")
        assert entry.cost == tight(trees, 1e-6)
        assert 1.99 < entry.cost.epsilon <= 2 < count * share
        again = Ledger(path)
        assert again.spent() == entry.cost
        assert [line.loss for line in again.history()] == [Composed(tuple(trees))]
        assert again.verify()
        with pytest.raises(BudgetExceeded):
            again.debit_plan(trees, delta=1e-6, what="medians once more")

    def test_shares_of_a_budget_fit_it(self, path):
        ledger = Ledger(path, epsilon=2, delta=1e-6)
        wanted = [loss.BoundedRange(1)] * 8 + [Pure(1), loss.Composed((Pure("1/10"), loss.BoundedRange("9/10")))]
        entry = ledger.debit_plan(fair_shares(wanted, ledger.remaining()), delta=1e-6, what="a report")
        assert 1.95 < entry.cost.epsilon <= 2

    def test_draws_one_by_one_add_up(self, path):
        ledger = Ledger(path, epsilon=1, delta=1e-6)
        for _ in range(2):
            ledger.debit(loss.BoundedRange("1/2"), what="not planned")
        with pytest.raises(BudgetExceeded):
            ledger.debit(loss.BoundedRange("1/100"), what="not planned")

    def test_the_history_as_if_it_had_been_planned(self, path):
        ledger = Ledger(path, epsilon=9, delta=1e-5)
        for _ in range(4):
            ledger.debit(Gaussian(1, 1e-6, 5), what="one of four")
        ledger.debit(Privacy("1/2", 0, ADD_REMOVE), what="of others")
        assert ledger.tight(4e-6) == tight([Gaussian(1, 1e-6, 5)] * 4 + [Pure(1)], 4e-6)
        assert ledger.tight(4e-6).epsilon < ledger.spent().epsilon

    def test_charged_debits_first_and_keeps_the_debit(self, path):
        ledger = Ledger(path, epsilon=1)
        assert ledger.charge(Privacy("1/4"), lambda: ledger.remaining().epsilon, what="x") == 0.75
        with pytest.raises(ZeroDivisionError):
            ledger.charge(Privacy("1/4"), lambda: 1 / 0, what="fails")
        assert ledger.remaining().epsilon == 0.5

    def test_charged_withholds_what_cost_more(self, path):
        class Result:
            privacy = Privacy("1/2")

        ledger = Ledger(path, epsilon=1)
        assert isinstance(ledger.charge(Privacy("1/2"), Result, what="x"), Result)
        with pytest.raises(UptackError, match="withheld"):
            ledger.charge(Privacy("1/4"), Result, what="x")


class TestAnalysts:
    def test_an_allowance_is_within_the_budget(self, path):
        ledger = Ledger(path, epsilon=1, delta=1e-6)
        ledger.allow("ann", 0.5)
        ann = Ledger(path, analyst="ann")
        ann.debit(Privacy(0.4), what="hers")
        assert (ann.remaining(), ledger.remaining(), ledger.remaining("ann")) == (
            Privacy(0.1),
            Privacy(0.6, 1e-6),
            Privacy(0.1),
        )
        with pytest.raises(BudgetExceeded, match="'ann' may spend"):
            ann.debit(Privacy(0.2), what="more")
        ledger.debit(Privacy(0.6, 1e-6), what="the curator's")
        assert ann.remaining() == Privacy(0)
        assert [e.analyst for e in ledger.history()] == ["ann", None]
        assert [e.what for e in ledger.history("ann")] == ["hers"]

    def test_an_allowance_can_be_replaced(self, path):
        ledger = Ledger(path, epsilon=1)
        ledger.allow("ann", 0.5)
        ledger.debit(Privacy(0.5), what="all", analyst="ann")
        ledger.allow("ann", 0.7)
        assert ledger.remaining("ann") == Privacy(0.2)
        ledger.allow("ann", 0.1)
        assert ledger.remaining("ann") == Privacy(0)
        assert ledger.verify().entries == 5

    def test_once_there_are_allowances_everybody_needs_one(self, path):
        ledger = Ledger(path, epsilon=1)
        ledger.debit(Privacy(0.1), what="before", analyst="bob")
        ledger.allow("ann", 0.5)
        with pytest.raises(BudgetExceeded):
            ledger.debit(Privacy(0.1), what="after", analyst="bob")
        assert ledger.verify()

    def test_data_sets_have_budgets_of_their_own(self, path):
        one, two = (Ledger(path, epsilon=e, dataset=name) for e, name in ((1, "one"), (2, "two")))
        one.debit(Privacy(1), what="all of it")
        assert two.remaining() == Privacy(2)
        assert Ledger(path, dataset="two").budget == Privacy(2)
        assert one.verify().entries == 2
        assert two.verify().entries == 1


class TestOpening:
    def test_reopening_reads_the_budget(self, path):
        made = Ledger(path, epsilon="1/3", delta=1e-9, adjacency=ADD_REMOVE.per_person(2))
        for again in (Ledger(path), Ledger(str(path), "1/3", 1e-9, adjacency=ADD_REMOVE.per_person(2))):
            assert again.budget == made.budget == Privacy("1/3", 1e-9, ADD_REMOVE.per_person(2))

    @pytest.mark.parametrize(
        "other", [{"epsilon": 2}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": 1, "adjacency": ADD_REMOVE}]
    )
    def test_another_budget_is_refused(self, path, other):
        Ledger(path, epsilon=1)
        with pytest.raises(LedgerError, match="never changes"):
            Ledger(path, **other)
        assert Ledger(path).budget == Privacy(1)

    @pytest.mark.parametrize(
        "bad",
        [
            {"epsilon": -1},
            {"epsilon": 0},
            {"epsilon": float("nan")},
            {"epsilon": "1e5000"},
            {"epsilon": 1, "delta": 1},
            {"delta": 0.1},
            {"epsilon": 1, "adjacency": "substitute"},
            {"epsilon": 1, "dataset": ""},
            {"epsilon": 1, "dataset": "two\nlines"},
            {"epsilon": 1, "analyst": 7},
            {"epsilon": 1, "timeout": 0},
        ],
        ids=str,
    )
    def test_bad_arguments_leave_nothing_behind(self, path, bad):
        with pytest.raises(InvalidArgument):
            Ledger(path, **bad)
        assert not path.exists()

    @pytest.mark.parametrize("place", ["", ":memory:", "mysql://host/db", "sqlite:///x.db", "http://[", 3])
    def test_bad_places(self, place):
        with pytest.raises(InvalidArgument, match="place must be"):
            Ledger(place, epsilon=1)

    def test_no_ledger_is_made_without_a_budget(self, path):
        with pytest.raises(LedgerError, match=r"has no ledger. To create one"):
            Ledger(path)
        assert not path.exists()

    def test_an_unknown_data_set_is_named(self, path):
        Ledger(path, epsilon=1, dataset="patients")
        with pytest.raises(LedgerError, match=r"has no data set 'patient'. It has 'patients'"):
            Ledger(path, dataset="patient")

    def test_a_directory(self, tmp_path):
        with pytest.raises(LedgerError, match="is a directory"):
            Ledger(tmp_path, epsilon=1)
        with pytest.raises(LedgerError, match="directory that does not exist"):
            Ledger(tmp_path / "no" / "budget.db", epsilon=1)

    def test_another_kind_of_file_is_left_as_it_is(self, path):
        path.write_bytes(b"age,income\n31,20000\n" * 100)
        before = path.read_bytes()
        for budget in (None, 1):
            with pytest.raises(LedgerError, match="not an SQLite file"):
                Ledger(path, epsilon=budget)
        assert path.read_bytes() == before

    def test_another_database_is_left_as_it_is(self, path):
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE patients (age INTEGER)")
        before = path.read_bytes()
        for budget in (None, 1):
            with pytest.raises(LedgerError, match="but not a ledger"):
                Ledger(path, epsilon=budget)
        assert path.read_bytes() == before

    def test_another_format_is_named(self, path):
        Ledger(path, epsilon=1)
        tamper(path, "UPDATE uptack_entries SET previous = 'uptack ledger, format 9'")
        with pytest.raises(LedgerError, match=r"is not a uptack ledger, format 1. Open it with the version"):
            Ledger(path)

    def test_an_empty_file_becomes_a_ledger(self, path):
        path.touch()
        assert Ledger(path, epsilon=1).verify()

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a directory that nobody can write to")
    def test_a_place_that_cannot_be_written(self):
        with pytest.raises(LedgerError, match=r"can't be opened. Its directory must exist and be writable"):
            Ledger("/proc/budget.db", epsilon=1)

    def test_many_may_create_it_at_once(self, path):
        heads = at_once(8, lambda: Ledger(path, epsilon=1).head())
        assert len(heads) == 8
        assert len(set(heads)) == 1

    @pytest.mark.parametrize(
        ("module", "place", "extra"),
        [
            ("psycopg", "postgresql://host/db", r"uptack\[postgres\]"),
        ],
    )
    def test_what_is_not_installed_is_named(self, tmp_path, monkeypatch, module, place, extra):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UptackError, match=extra):
            Ledger(place if "://" in place else tmp_path / place, epsilon=1)

    def test_a_ledger_that_is_gone_is_not_made_anew(self, path):
        ledger = Ledger(path, epsilon=1)
        path.unlink()
        with pytest.raises(LedgerError, match="can't be opened"):
            ledger.debit(Privacy(1), what="x")
        assert not path.exists()

    def test_a_lock_that_is_held_too_long_is_named(self, path):
        ledger = Ledger(path, epsilon=1, timeout=0.05)
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerError, match=r"is locked.*larger timeout"):
                ledger.debit(Privacy(1), what="waits")
            assert ledger.remaining() == Privacy(1)  # readers don't wait
            other.execute("ROLLBACK")
        ledger.debit(Privacy(1), what="goes on")

    def test_a_strange_path(self, tmp_path):
        path = tmp_path / "50% of #1? ä.db"
        Ledger(path, epsilon=1)
        assert path.exists()
        assert Ledger(path).budget == Privacy(1)

    def test_the_disk_is_waited_for(self, path):
        ledger = Ledger(path, epsilon=1)
        with ledger._store.writing() as connection:
            pragma = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "journal_mode")
            }
        assert pragma == {"synchronous": 3, "journal_mode": "delete"}


class TestDebits:
    @pytest.mark.parametrize(
        "bad",
        [
            {"spent": 0.1},
            {"spent": RandomPrivacy(0.1)},
            {"spent": Privacy(1, 0.5) + Privacy(1, 0.5)},
            {"spent": Privacy(1), "what": ""},
            {"spent": Privacy(1), "what": "x" * 1001},
            {"spent": Privacy(1), "what": "\0"},
            {"spent": Privacy(1), "analyst": ""},
            {"spent": Privacy(1), "adjacency": ADD_REMOVE},
            {"spent": Pure(1), "adjacency": "substitute"},
        ],
        ids=str,
    )
    def test_bad_arguments_debit_nothing(self, path, bad):
        ledger = Ledger(path, epsilon=1)
        with pytest.raises(InvalidArgument):
            ledger.debit(bad.pop("spent"), **({"what": "x"} | bad))
        assert ledger.spent() == Privacy(0)

    def test_an_entry_says_what_happened(self, path):
        ledger = Ledger(path, epsilon=1, delta=1e-6, dataset="patients")
        entry = ledger.debit(UNIT, what="median of «age»", analyst="ann")
        assert ledger.history() == [entry]
        assert entry.to_dict() | {"time": "", "hash": ""} == {
            "number": 2,
            "time": "",
            "dataset": "patients",
            "kind": "debit",
            "analyst": "ann",
            "what": "median of «age»",
            "cost": cost(UNIT).to_dict(),
            "exact": {"epsilon": "5/6", "delta": "1/1000000000"},
            "loss": encode(UNIT),
            "hash": "",
        }
        assert entry.time.endswith("+00:00")
        assert "debit, ann: median of «age», ε = " in str(entry)

    def test_a_ledger_as_plain_values(self, path):
        ledger = Ledger(path, epsilon=1, delta=1e-6)
        ledger.allow("ann", 0.5)
        ledger.debit(Privacy(0.25), what="x", analyst="ann")
        plain = json.loads(json.dumps(ledger.to_dict()))
        assert plain["spent"]["epsilon"] == 0.25
        assert plain["allowances"]["ann"]["epsilon"] == 0.5
        assert [line["kind"] for line in plain["entries"]] == ["budget", "allowance", "debit"]
        told = f"Ledger({str(path)!r}, dataset='data', budget ε = 1.0, δ = 1e-06 (substitute), left "
        assert repr(ledger).startswith(told)

    def test_threads_never_overspend(self, path):
        ledger, refused = Ledger(path, epsilon=1), []

        def spend():
            for _ in range(5):
                try:
                    ledger.debit(Privacy("1/13"), what="x")
                except BudgetExceeded as error:
                    refused.append(error)

        at_once(4, spend)
        assert (len(refused), len(ledger.history())) == (7, 13)
        assert ledger.spent() == Privacy(1)
        assert ledger.verify()

    def test_errors_can_be_sent_between_processes(self, path):
        ledger = Ledger(path, epsilon=1)
        with pytest.raises(BudgetExceeded) as caught:
            ledger.debit(Privacy(2), what="x")
        for error in (caught.value, LedgerError("x.db", "is gone", "Find it."), LedgerCorrupt("x.db", "entry 2")):
            again = pickle.loads(pickle.dumps(error))
            assert (str(again), vars(again)) == (str(error), vars(error))


def tamper(path, *statements):
    """Change the file as an intruder with full access would: without the triggers."""
    with sqlite3.connect(path, isolation_level=None) as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            raw.execute(statement)
    raw.close()


def rehash(path, head=True, **changes):
    """Change entry 3 and hash all that follows anew, as an intruder who knows the format would."""
    tamper(path)
    with sqlite3.connect(path, isolation_level=None) as raw:
        raw.row_factory = sqlite3.Row
        previous = None
        for row in [dict(r) for r in raw.execute("SELECT * FROM uptack_entries ORDER BY number")]:
            row |= changes if row["number"] == 3 else {}
            row["previous"] = previous or row["previous"]
            previous = digest(row)
            values = {name: row[name] for name in FIELDS} | {"hash": previous}
            marks = ", ".join(f"{name} = :{name}" for name in values)
            raw.execute(f"UPDATE uptack_entries SET {marks} WHERE number = :number", values)
        if head:
            raw.execute("UPDATE uptack_heads SET hash = ?", (previous,))
    raw.close()


class TestChain:
    @pytest.fixture
    def ledger(self, path):
        ledger = Ledger(path, epsilon=1)
        for i in range(4):
            ledger.debit(Privacy("1/5"), what=f"release {i}", analyst="ann")
        assert ledger.verify().entries == 5
        return ledger

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE uptack_entries SET epsilon = '0/1' WHERE number = 3",
            "DELETE FROM uptack_entries WHERE number = 5",
            "INSERT OR REPLACE INTO uptack_entries SELECT * FROM uptack_entries WHERE number = 3",
            "DELETE FROM uptack_heads",
            "UPDATE uptack_heads SET number = 2",
            "INSERT OR REPLACE INTO uptack_heads SELECT * FROM uptack_heads",
        ],
    )
    def test_the_tables_are_append_only(self, ledger, path, statement):
        with sqlite3.connect(path) as raw, pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(statement)
        raw.close()
        assert ledger.verify()

    @pytest.mark.parametrize(
        ("statement", "number", "reason"),
        [
            ("UPDATE uptack_entries SET epsilon = '0/1' WHERE number = 3", 3, "was changed"),
            ("UPDATE uptack_entries SET what = 'other' WHERE number = 1", 1, "was changed"),
            ("UPDATE uptack_entries SET time = '' WHERE number = 5", 5, "was changed"),
            ("DELETE FROM uptack_entries WHERE number = 3", 3, "is missing"),
            ("DELETE FROM uptack_entries WHERE number = 1", 1, "is missing"),
            ("DELETE FROM uptack_entries WHERE number = 5", 5, "was removed"),
            ("DELETE FROM uptack_entries", 1, "was removed"),
            ("DELETE FROM uptack_heads", 5, "head"),
            ("UPDATE uptack_heads SET hash = 'x'", 5, "head"),
            ("UPDATE uptack_heads SET number = 4", 5, "head"),
        ],
    )
    def test_the_first_broken_entry_is_found(self, ledger, path, statement, number, reason):
        tamper(path, statement)
        found = ledger.verify()
        assert not found
        assert found.fault.number == number
        assert reason in found.fault.reason

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"epsilon": "0/1"}, "do not match the debits"),
            ({"epsilon": "0/1", "spent_epsilon": "1/5"}, "do not match the debits"),
            ({"own_epsilon": "0/1"}, "do not match the debits"),
            ({"kind": "gift"}, "can't be read"),
            ({"kind": "budget"}, "can't be read"),
            ({"epsilon": "a lot"}, "can't be read"),
            ({"details": "{}"}, "can't be read"),
            ({"epsilon": "9/1", "spent_epsilon": "46/5", "own_epsilon": "46/5"}, "exceeds the budget"),
        ],
    )
    def test_an_intruder_who_hashes_anew_must_add_up(self, ledger, path, changes, reason):
        rehash(path, **changes)
        found = ledger.verify()
        assert (found.entries, found.fault.number) == (2, 3)
        assert reason in found.fault.reason

    def test_a_head_noted_down_elsewhere_finds_a_chain_written_anew(self, ledger, path):
        head, entry = ledger.head(), ledger.history()[1]
        assert ledger.verify(head)
        assert ledger.verify(entry)
        rehash(path, what="something harmless")
        assert ledger.verify()  # it adds up, and nobody who has nothing to compare it with can tell
        assert ledger.verify(head).fault.number == 5
        assert ledger.verify(entry).fault.number == 3

    def test_a_head_noted_down_elsewhere_finds_an_old_copy(self, ledger, path):
        old = path.read_bytes()
        head = ledger.debit(Privacy("1/5"), what="the last one")
        path.write_bytes(old)
        assert ledger.verify()
        assert ledger.verify(head).fault.number == 6

    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM uptack_entries WHERE number = 5",
            "UPDATE uptack_entries SET spent_epsilon = '0/1' WHERE number = 5",
            "UPDATE uptack_heads SET hash = 'x'",
            "DELETE FROM uptack_heads",
        ],
    )
    def test_nothing_is_spent_on_a_damaged_chain(self, ledger, path, statement):
        tamper(path, statement)
        with pytest.raises(LedgerCorrupt) as caught:
            ledger.debit(Privacy("1/5"), what="x")
        assert caught.value.fault.number in (1, 5)

    def test_a_witness_is_a_head(self, ledger):
        with pytest.raises(InvalidArgument):
            ledger.verify("abc")

    def test_values_are_frozen(self, ledger):
        entry = ledger.history()[0]
        assert isinstance(entry, Entry)
        assert isinstance(ledger.head(), Head)
        with pytest.raises(AttributeError):
            entry.number = 7
