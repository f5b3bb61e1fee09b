"""The chi-square test of independence: its level, its power, its null law, and what it refuses."""

import itertools
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from uptack.account import Account, observed_by
from uptack.cli import main
from uptack.discrete import independence
from uptack.discrete.categories import cell_noise
from uptack.errors import InvalidArgument

RARE = 1e-7
"""The false-alarm rate of a single test."""


def pvalues(n, p, q, epsilon, many, rng, shift=0.0):
    """P-values of noisy tables of n rows, by the same code that releases them; ⊥ is 1. `shift` moves one cell."""
    law = cell_noise(Fraction(epsilon), ut.SUBSTITUTE)
    joint = np.outer(p, q)
    joint[0, 0], joint[0, 1], joint[1, 0], joint[1, 1] = np.ravel(joint[:2, :2]) + shift * np.array([1, -1, -1, 1])
    sides = (tuple(range(len(p))), tuple(range(len(q))))
    found = []
    for table in rng.multinomial(n, joint.ravel(), many).reshape(many, *joint.shape):
        entropy = ut.SeededEntropy(int(rng.integers(1 << 60)))
        noisy = table + law.draw(table.size, entropy).reshape(table.shape)
        outcome = independence._test(noisy, law, sides, Account.open("test", 1, entropy=entropy))
        found.append(1.0 if outcome.value is None else outcome.value.pvalue)
    return np.array(found)


TABLES = {
    "2 by 2, mostly noise": (300, (0.5, 0.5), (0.5, 0.5), "1/5"),
    "2 by 2, rare": (400, (0.9, 0.1), (0.8, 0.2), "1"),
    "3 by 4": (600, (0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1), "1"),
    "2 by 2, hardly any noise": (60, (0.5, 0.5), (0.7, 0.3), "8"),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_level_is_nominal_under_independence(name, monkeypatch):
    monkeypatch.setattr(independence, "DRAWS", 499)
    n, p, q, epsilon = TABLES[name]
    found = pvalues(n, p, q, epsilon, 300, np.random.default_rng(1))
    for alpha in (0.02, 0.05, 0.1, 0.3):
        assert np.count_nonzero(found <= alpha) <= stats.binom.ppf(1 - RARE, found.size, alpha)


def test_a_p_value_without_the_noise_would_not_be():
    """What the test above guards against: Pearson's p-value of the noisy table."""
    rng, law = np.random.default_rng(1), cell_noise(Fraction(1, 5), ut.SUBSTITUTE)
    tables = rng.multinomial(300, np.full(4, 0.25), 600).reshape(600, 2, 2)
    noisy = tables + law.draw(tables.size, ut.SeededEntropy(1)).reshape(tables.shape)
    wrong = [stats.chi2_contingency(np.maximum(table, 1), correction=False).pvalue for table in noisy]
    assert np.count_nonzero(np.array(wrong) <= 0.05) > stats.binom.ppf(1 - RARE, 600, 0.05)


def test_it_has_power(monkeypatch):
    monkeypatch.setattr(independence, "DRAWS", 499)
    found = pvalues(2000, (0.5, 0.5), (0.5, 0.5), "1", 60, np.random.default_rng(2), shift=0.04)
    assert np.count_nonzero(found <= 0.05) >= stats.binom.ppf(RARE, 60, 0.97)


def test_the_null_law_is_that_of_tables_with_fixed_margins(monkeypatch):
    """Against the probabilities of all tables with the margins (3, 2) and (2, 2, 1)."""
    monkeypatch.setattr(independence, "DRAWS", 40_000)
    rows, columns = np.array([3, 2]), np.array([2, 2, 1])
    drawn = independence.null_tables(rows, columns, np.random.default_rng(3))
    assert (drawn.sum(axis=2) == rows).all()
    assert (drawn.sum(axis=1) == columns).all()
    seen = Counter(map(tuple, drawn[:, 0].tolist()))
    for first in itertools.product(range(3), range(3), range(2)):
        ways = np.prod([comb(c, k) for c, k in zip(columns, first, strict=True)])
        chance = ways / comb(5, 3) if sum(first) == 3 else 0
        low, high = stats.binom.ppf([RARE, 1 - RARE], len(drawn), chance)
        assert low <= seen[first] <= high


def test_many_rows_have_a_multinomial_law(monkeypatch):
    monkeypatch.setattr(independence, "LARGEST_TOTAL", 10)
    drawn = independence.null_tables(np.array([60, 40]), np.array([30, 70]), np.random.default_rng(3))
    assert (drawn.sum(axis=(1, 2)) == 100).all()
    assert abs(drawn.mean(axis=0) - [[18, 42], [12, 28]]).max() < 0.5


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(5)
    ward = rng.choice(["a", "b", "c"], 6000, p=[0.5, 0.3, 0.2])
    return ward, rng.random(6000) < np.where(ward == "a", 0.2, 0.35)


LEVELS = ["a", "b", "c"]


def test_the_effect_size_and_the_table_are_near_the_truth(columns):
    made = ut.chi_square(*columns, levels={"a": LEVELS}, epsilon=2, entropy=ut.SeededEntropy(1))
    exact = np.array([[np.count_nonzero((columns[0] == w) & (columns[1] == b)) for b in (False, True)] for w in LEVELS])
    truth = stats.contingency.association(exact, method="cramer")
    assert abs(made.value.cramers_v - truth) < 0.03
    assert abs(np.array(made.value.counts.grid()) - exact).max() < 20
    statistic, pvalue = made.value
    assert statistic > 50
    assert pvalue == 1 / 5000
    assert made.privacy.exact_epsilon == 2
    assert made.privacy.exact_delta == 0
    assert [row["value"] for row in made.value.figures()] == [statistic, pvalue, made.value.cramers_v]
    assert made.value.to_dict()["counts"]["cells"][0] == ["a", False]
    assert repr(made.value).endswith("a table of 3 by 2)")


def test_independent_columns_often_have_no_effect_at_all():
    rng = np.random.default_rng(8)
    a, b = rng.random((2, 4000)) < 0.4
    found = [ut.chi_square(a, b, epsilon=1, entropy=ut.SeededEntropy(i)).value.cramers_v for i in range(5)]
    assert max(found) < 0.06
    assert 0.0 in found


def test_levels_are_found_with_delta(columns):
    rare = np.where(np.arange(6000) < 3, "rare", columns[0])
    made = ut.chi_square(rare, columns[1], epsilon=1, delta=1e-6, entropy=ut.SeededEntropy(1))
    assert made.value.counts.levels(0) == LEVELS
    assert made.privacy.exact_epsilon == 1
    assert made.privacy.exact_delta == Fraction(1, 10**6)
    none = ut.chi_square(np.arange(6000), columns[1], epsilon=1, delta=1e-6, entropy=ut.SeededEntropy(1))
    assert not none
    assert "0 and 2 categories" in str(none)


def test_sessions_groups_schemas_and_commands(columns, tmp_path, capsys):
    table = {"ward": columns[0], "ill": columns[1], "year": np.arange(6000) % 2}
    session = ut.open(table, entropy=ut.SeededEntropy(1))
    made = session.chi_square("ward", "ill", levels={"ward": LEVELS}, epsilon=1)
    plain = ut.chi_square(*columns, levels=(LEVELS, None), epsilon=1, entropy=ut.SeededEntropy(1))
    assert made.value.to_dict().keys() == plain.value.to_dict().keys()
    assert session.spent.exact_epsilon == 1
    groups = session.chi_square("ward", "ill", levels={"ward": LEVELS}, by="year", groups=[0, 1], epsilon=2)
    assert all(reply.value.pvalue < 0.01 for reply in groups.value.values())
    path = tmp_path / "stays.csv"
    lines = (f"{w},{int(i)}" for w, i in zip(*columns, strict=True))
    path.write_text("ward,ill\n" + "\n".join(lines) + "\n")
    options = ["--levels", "ward=a,b,c", "--levels", "ill=0,1", "--epsilon", "1", "--json"]
    assert main(["chi-square", str(path), "ward", "ill", *options]) == 0
    assert '"pvalue": 0.0002' in capsys.readouterr().out
    (tmp_path / "stays.csv.uptack.toml").write_text(
        '[columns.ward]\nkind = "text"\nlevels = ["a", "b", "c"]\n[columns.ill]\nkind = "integer"\nlevels = [0, 1]\n'
    )
    assert ut.open(path).chi_square("ward", "ill", epsilon=1).value.counts.levels(1) == [0, 1]


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({}, "levels"),
        ({"levels": 3}, "levels"),
        ({"levels": [LEVELS]}, "levels"),
        ({"levels": {"ward": ["a"]}}, "levels"),
        ({"levels": {"ward": ["a", "a"]}}, "levels"),
        ({"levels": {"ward": ["a", None]}}, "levels"),
        ({"levels": {"ward": list(map(str, range(201)))}}, "levels"),
        ({"levels": {"ward": LEVELS}, "epsilon": 0}, "epsilon"),
        ({"levels": {"ward": LEVELS}, "delta": 2}, "delta"),
        ({"levels": {"ward": LEVELS}, "colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_refused_before_the_debit(columns, tmp_path, options, argument):
    ledger = ut.Ledger(tmp_path / "budget.db", epsilon=5, delta=1e-3)
    session = ut.open({"ward": columns[0], "ill": columns[1]}, ledger=ledger)
    with pytest.raises(InvalidArgument) as caught:
        session.chi_square("ward", "ill", **({"epsilon": 1} | options))
    assert caught.value.name == argument
    assert ledger.spent().exact_epsilon == 0


def test_columns_of_two_lengths_and_people_are_refused(columns):
    with pytest.raises(InvalidArgument, match=r"^b must be as long as a"):
        ut.chi_square(columns[0], columns[1][1:], levels=(LEVELS, None), epsilon=1)
    with pytest.raises(InvalidArgument, match=r"chi_square is not proved for people"):
        ut.chi_square(*columns, levels=(LEVELS, None), person=np.arange(6000), epsilon=1)


def test_small_tables_are_refused_for_free_and_hardly_filled_ones_with_a_reason(columns):
    free = ut.chi_square(columns[0][:20], columns[1][:20], levels=(LEVELS, None), epsilon=1)
    assert not free
    assert free.privacy.exact_epsilon == 0
    paid = ut.chi_square(*columns, levels=([*LEVELS, "z"], None), epsilon=1, entropy=ut.SeededEntropy(2))
    assert not paid
    assert "too small for the noise" in str(paid)


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
@pytest.mark.parametrize("rows", [1, 3])
def test_neighbours_cost_what_was_promised(columns, adjacency, rows):
    """One person's rows change, in the worst way: the price of the move is ε, and not less."""

    def table(ward, ill):
        seen = []

        def watch(mechanism, value, draw):
            seen.append((mechanism, value))
            return draw()

        with observed_by(watch):
            options = {"epsilon": 1, "adjacency": adjacency, "rows_per_person": rows}
            made = ut.chi_square(ward, ill, levels=(LEVELS, None), entropy=ut.SeededEntropy(1), **options)
        assert made.notes == (() if rows == 1 else (independence.DEPENDENT,))
        return seen[0]

    ward, ill = columns[0].copy(), columns[1].copy()
    mechanism, one = table(ward, ill)
    if adjacency is ut.SUBSTITUTE:
        ward[:rows], ill[:rows] = "a", False
        full, (_, other) = table(ward, ill)[1], table(np.r_[["c"] * rows, ward[rows:]], ill)
    else:
        full, (_, other) = one, table(ward[rows:], ill[rows:])
    assert mechanism.price(full, other, None) == pytest.approx(1)
