"""Attacks on plans that are paid for together, and on reports made from them."""

import threading
from collections import Counter

import numpy as np
import pytest

import uptack as ut
from uptack.display.numbers import number
from uptack.report import divide, plan, profile, to_html
from uptack.session import Request

RNG = np.random.default_rng(2)


def session(table, **options):
    return ut.open(table, entropy=ut.SeededEntropy(3), **options)


def test_a_plan_is_used_up_once_whatever_threads_do():
    opened = session({"x": np.arange(3000.0)})
    request = Request("median", "x", epsilon=0.5)
    tree = opened.loss_of(request)
    paid, seen = opened.pay([tree] * 3, 1e-6, "three medians"), []
    together = threading.Barrier(12)

    def one():
        together.wait()
        try:
            seen.append(bool(paid.run(request, tree)))
        except ut.UptackError:
            seen.append(None)

    threads = [threading.Thread(target=one) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(seen) == {True: 3, None: 9}
    paid._left[tree] = -1  # as a lost race would leave it
    with pytest.raises(ut.UptackError, match="does not include such a release"):
        paid.run(request, tree)


def test_a_request_that_is_dearer_than_its_part_reads_no_rows(monkeypatch):
    opened = session({"x": np.arange(3000.0)})
    cheap, dear = (Request("median", "x", epsilon=epsilon) for epsilon in (0.5, 0.6))
    tree = opened.loss_of(cheap)
    paid = opened.pay([tree], 1e-6, "a median")
    with monkeypatch.context() as patched:
        patched.setattr(opened, "make_paid", lambda request: pytest.fail("rows were read"))
        with pytest.raises(ut.UptackError, match="may cost more than this plan has paid for it; no rows were read"):
            paid.run(dear, tree)
    assert paid.run(cheap, tree)  # its part is still there


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (Request("median", "town", epsilon=0.5), "column 'town' must be of type"),
        (Request("linear_regression", "town", "x", epsilon=0.5), "column 'town' must be of type"),
        (Request("median", "x", by="id", groups=[0, 1], epsilon=0.5), "other than the ids of people"),
    ],
    ids=str,
)
def test_columns_that_a_request_can_not_have_do_not_use_up_its_part(monkeypatch, request_, told):
    opened = session({"id": np.arange(3000), "x": np.arange(3000.0), "town": np.array(["a", "b"] * 1500)}, person="id")
    tree = opened.loss_of(request_)
    paid = opened.pay([tree], 1e-6, "a part")
    monkeypatch.setattr(opened, "make_paid", lambda request: pytest.fail("rows were read"))
    for _ in range(2):
        with pytest.raises(ut.errors.InvalidArgument, match=told):
            paid.run(request_, tree)


@pytest.mark.parametrize(
    "column",
    [2**53 + RNG.integers(0, 3, 5000), 2**62 + RNG.integers(0, 3, 5000), 1e17 + 16.0 * RNG.integers(0, 5, 5000)],
)
def test_numbers_that_floats_hardly_tell_apart_have_a_report(column):
    made = profile(session({"code": column, "x": np.arange(5000.0)}), 30, 1e-6)
    assert made.columns[0]["median"].value is not None
    assert made.columns[1]["median"].value is not None
    assert to_html(made)


def test_a_column_that_has_no_density_does_not_take_the_others():
    table = {"tiny": RNG.normal(size=60_000) * 1e-300, "x": RNG.normal(size=60_000), "y": RNG.normal(size=60_000)}
    made = profile(session(table), 8, 1e-6)
    assert all(made.columns[j]["median"].value is not None for j in (1, 2))
    assert made.columns[2].density.value is not None
    assert "could not be read" not in to_html(made)


def test_what_public_numbers_refuse_is_free():
    made = profile(session({"x": np.ones(1)}), 5, 1e-6)
    assert made.spent == ut.Privacy(0)
    assert made.columns[0]["median"].value is None
    assert "a reply needs" in made.columns[0]["median"].note


def test_what_one_column_can_not_use_goes_to_the_others():
    table = {"x": np.arange(12.0), "flag": np.arange(12) % 2 == 0}
    parts = {part.name: part for part in divide(session(table), 1, 1e-6).parts}
    assert parts["x"].refusals
    assert sum(part.epsilon(draw) for part in parts.values() for draw in part.accepted) >= 0.999


@pytest.mark.parametrize("options", [{"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 3}, {}])
def test_a_regression_is_priced_among_the_neighbours_of_the_session(options):
    table = {"x": RNG.normal(size=30_000), "y": RNG.normal(size=30_000)}
    opened = session(table, **options)
    planned = plan(opened, 9, 1e-6, target="y")
    made = profile(opened, 9, 1e-6, target="y")
    assert made.spent == planned.total <= made.budget
    assert made.budget.epsilon == 9


@pytest.mark.parametrize("levels", [3, 12, 30])
def test_levels_in_an_array_are_planned_as_in_a_list(levels):
    opened = session({"x": np.arange(200_000.0)})
    p = np.linspace(0.1, 0.9, levels)
    request = Request("quantile", "x", epsilon=2, p=p)
    tree = opened.loss_of(request)
    assert tree == opened.loss_of(Request("quantile", "x", epsilon=2, p=p.tolist()))
    assert opened.pay([tree], 1e-6, "quantiles").run(request, tree)


def test_a_sentinel_far_off_does_not_hide_the_figures():
    ages = np.where(RNG.random(20_000) < 0.1, 999_999_999, RNG.integers(20, 80, 20_000))
    (column,) = profile(session({"age": ages}), 4, 1e-6).columns
    assert 45 < column["median"].value < 60
    assert number(column["median"].value, column.scale) == str(column["median"].value)


def test_digits_follow_the_spread_and_intervals_are_rounded_outward():
    assert number(1_700_000_123.25, 3000.0) == "1,700,000,120"
    assert number(1_700_000_123.25, 30.0) == "1,700,000,123.2"
    low, high = number(2.00049, 1.0, "low"), number(2.00041, 1.0, "high")
    assert float(low) <= 2.00049
    assert float(high) >= 2.00041


@pytest.mark.parametrize("levels", [[0.5], [0.25, 0.5, 0.75], [0.05, 0.95]])
def test_the_epsilon_that_a_refusal_names_gets_a_reply_whatever_the_rows(levels):
    table = {"x": np.full(3000, 7.5)}
    refused = session(table)["x"].quantile(levels, epsilon=0.002)
    assert refused.privacy == ut.Privacy(0)
    opened = session(table)
    replies = [opened["x"].quantile(levels, epsilon=refused.advice.epsilon) for _ in range(60)]
    assert sum(map(bool, replies)) >= 56  # ⊥ once in 200 times; this fails with a chance below 1e-6
