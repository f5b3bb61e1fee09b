"""Blocks, subsample-and-aggregate, stable values: any f, any table, and what each answer costs."""

import os
import time

import numpy as np
import pyarrow.csv
import pytest

import uptack as ut
from tests.helpers import CountingEntropy
from uptack.blocks import Vote, plan, stable_value, subsample_aggregate
from uptack.blocks.block_evaluation import accepting, evaluate
from uptack.blocks.partition import random_blocks
from uptack.mechanisms.stability import argmax_distance, gap_distance, median_distance, release_if_stable, winner
from uptack.papers.dwork_roth_stability import A_dist, A_samp, sampling_plan
from uptack.privacy import loss

X = np.random.default_rng(0).normal(10, 1, size=4000)
BASE = {"epsilon": 1, "delta": 1e-6}
FAST = {"trusted": True}


def seed(k=1):
    return ut.SeededEntropy(k)


def results(f, data, blocks, kind="number", fallback=-1.0, **options):
    return evaluate(f, data, [np.atleast_1d(b) for b in blocks], *accepting(kind, fallback), **options)


# ------------------------------------------------------------------------------------------------------------ blocks


@pytest.mark.parametrize("substitute", [True, False])
@pytest.mark.parametrize(("n", "blocks", "times"), [(10, 3, 1), (11, 4, 2), (100, 30, 5), (3, 6, 3), (50, 50, 1)])
def test_each_row_is_in_exactly_t_blocks(n, blocks, times, substitute):
    parts = random_blocks(n, blocks, seed(), times=times, substitute=substitute)
    assert len(parts) == blocks
    assert (np.bincount(np.concatenate(parts), minlength=n) == times).all()
    assert all(len(set(part.tolist())) == part.size for part in parts)
    if substitute:
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_rows_of_every_kind_of_table():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    values = [1.0, 2.0, 3.0, 4.0]
    where = [[0, 1], [3]]
    assert results(lambda r: r.sum(), np.array(values), where) == [3, 4]
    assert results(sum, values, where) == [3, 4]
    assert results(lambda r: r["a"].sum(), pandas.DataFrame({"a": values}, index=[9, 8, 7, 7]), where) == [3, 4]
    assert results(lambda r: r.sum(), pandas.Series(values), where) == [3, 4]
    assert results(lambda r: r["a"].sum(), polars.DataFrame({"a": values}), where, **FAST) == [3, 4]
    assert results(lambda r: r.sum(), polars.Series(values), where, **FAST) == [3, 4]
    labels = results(lambda r: tuple(r.index), pandas.Series(values), where, "outcome")
    assert labels == [(0, 1), (0,)]  # labels that count the rows of other blocks are not handed on


def test_a_block_that_fails_becomes_the_fallback():
    def hostile(rows):
        if rows[0] == 0:
            raise ValueError
        if rows[0] == 1:
            raise SystemExit(3)
        return {2: float("nan"), 3: [1.0, 2.0], 4: "7", 5: None, 6: float("inf"), 7: 10**400, 8: 1j}.get(rows[0], 5)

    assert results(hostile, np.arange(10), range(10)) == [-1.0] * 9 + [5.0]
    fixed = np.zeros(2)
    vectors = results(hostile, np.arange(10), range(10), "vector", fixed)
    assert [v.tolist() for v in vectors] == [[0, 0]] * 3 + [[1, 2]] + [[0, 0]] * 6


def test_outcomes_that_are_equal_look_alike():
    given = [1, True, 1.0, np.int64(1), "1", ("a", np.float64(2)), frozenset("ab"), float("nan"), {"a"}, -0.0]
    found = results(lambda rows: given[rows[0]], np.arange(10), range(10), "outcome", None)
    assert found == [1, 1, 1.0, 1, "1", ("a", 2.0), frozenset("ab"), None, None, 0.0]
    assert [type(v) for v in found[:4]] == [int, bool, int, int]
    assert str(found[-1]) == "0"
    top = winner([1, True, True, True, 1.0, 2])
    assert (top.value is True, top.votes, top.gap) == (True, 3, 1)
    assert winner([(1,), (True,), (1,)]).votes == 3


CALLS: list = []


def leaky(rows):
    CALLS.append(1)
    return len(CALLS)


def test_a_trusted_function_runs_in_this_process():
    CALLS.clear()
    assert results(leaky, X[:3], range(3)) == [1, 1, 1]
    assert not CALLS
    assert results(leaky, X[:3], range(3), **FAST) == [1, 2, 3]  # documented: it must keep no state


def test_f_may_write_on_its_rows():
    def greedy(rows):
        rows[:] = 0
        return 1

    data = X[:20].copy()
    results(greedy, data, [range(10), range(5, 20)])
    assert (data == X[:20]).all()


def slow(rows):
    time.sleep(0.02)
    return rows.sum()


def test_processes_give_the_same_results(capsys):
    here, there = (results(slow, X, range(12), workers=w) for w in (1, 3))
    assert here == there == X[:12].tolist()
    assert "blocks" not in capsys.readouterr().err


@pytest.mark.parametrize("options", [{}, {"workers": 2}, FAST])
def test_several_analysts_take_turns(options):
    assert results([np.min, np.max], X, [range(9)] * 3, **options) == [X[:9].min(), X[:9].max(), X[:9].min()]


# --------------------------------------------------------------------------------------------- subsample, aggregate


@pytest.mark.parametrize("aggregate", ["median", "trimmed_mean", "winsorized_mean"])
@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
def test_numbers(aggregate, adjacency):
    options = {"epsilon": 1, "adjacency": adjacency, "entropy": seed(), **FAST}
    r = subsample_aggregate(np.mean, X, blocks=800, aggregate=aggregate, **options)
    assert r.value == pytest.approx(10, abs=0.3)
    assert r.privacy == ut.Privacy(1, 0, adjacency)
    assert not r.private
    assert isinstance(r.loss, loss.Partition)
    assert "of 800 blocks (" in r.mechanism


def test_several_blocks_a_row_and_rows_a_person_cost_no_more_epsilon():
    r = subsample_aggregate(np.mean, X, blocks=1200, times=2, epsilon=2, rows_per_person=2, entropy=seed(), **FAST)
    assert r.value == pytest.approx(10, abs=0.5)
    assert r.privacy == ut.Privacy(2, 0, ut.SUBSTITUTE.per_person(2))
    few = subsample_aggregate(np.mean, X, blocks=40, epsilon=1)
    assert not few
    assert few.privacy.epsilon == 0
    assert "blocks" in str(few.advice)
    assert not subsample_aggregate(np.mean, X, blocks=200, times=4, epsilon=1)


def test_refusing_runs_nothing():
    CALLS.clear()
    assert not subsample_aggregate(leaky, X, blocks=5, epsilon=1)
    assert not subsample_aggregate(leaky, X, blocks=5, aggregate="mode", **BASE)
    assert not CALLS


def test_vectors():
    def fit(rows):
        return [rows.mean(), rows.std(), 1.0]

    r = subsample_aggregate(
        fit, X, blocks=500, aggregate="vector_median", fallback=np.zeros(3), epsilon=2, entropy=seed(), **FAST
    )
    assert r.value == pytest.approx([10, 1, 1], abs=0.3)
    assert r.privacy == ut.Privacy(2)
    few = subsample_aggregate(fit, X, blocks=50, aggregate="vector_median", fallback=np.zeros(3), epsilon=1)
    assert not few
    assert "blocks" in str(few.advice)


@pytest.mark.parametrize("given", [{"candidates": ["low", "high"]}, {"delta": 1e-6}])
def test_a_vote_with_its_share(given):
    def f(rows):
        return "high" if rows.mean() > 9.8 else "low"

    r = subsample_aggregate(f, X, blocks=100, aggregate="mode", epsilon=2, entropy=seed(), **given, **FAST)
    assert isinstance(r.value, Vote)
    assert r.value.winner == "high"
    assert 0.8 < r.value.share <= 1
    low, high = r.interval(0.95)
    assert 0.8 < low < high <= 1
    assert r.privacy == ut.Privacy(2, given.get("delta", 0))


def test_an_undecided_vote_gets_no_reply():
    coin = subsample_aggregate(lambda r: r[0] > 10, X, blocks=100, aggregate="mode", entropy=seed(), **BASE, **FAST)
    assert not coin
    assert coin.privacy == ut.Privacy(0.75, 1e-6)
    outside = subsample_aggregate(lambda r: "c", X, blocks=90, aggregate="mode", candidates="ab", epsilon=1, **FAST)
    assert outside.value.share < 0.9  # votes for nobody on the list count for nobody


def test_an_aggregate_of_ones_own():
    def noisy_mean(values):
        return ut.mechanisms.laplace(np.clip(values, 0, 20).mean(), sensitivity=20 / 100, epsilon=0.5, entropy=seed())

    r = subsample_aggregate(np.mean, X, blocks=100, aggregate=noisy_mean, epsilon=0.5, **FAST)
    assert r.value == pytest.approx(10, abs=5)
    assert r.privacy == ut.Privacy(0.5)
    twice = subsample_aggregate(np.mean, X, blocks=100, times=2, aggregate=noisy_mean, epsilon=1, **FAST)
    assert twice.privacy == ut.Privacy(1)
    assert not twice.private
    for wrong in (noisy_mean, lambda values: 3.0):
        with pytest.raises(ut.InvalidArgument, match="aggregate must be"):
            subsample_aggregate(np.mean, X, blocks=100, times=4, aggregate=wrong, epsilon=1, **FAST)
    own = subsample_aggregate(np.mean, X, blocks=900, aggregate=lambda v: ut.median(v, epsilon=1), epsilon=1, **FAST)
    assert own.private
    no = subsample_aggregate(np.mean, X, blocks=9, aggregate=lambda v: ut.median(v, epsilon=1), epsilon=1, **FAST)
    assert no.privacy.epsilon == 0


# -------------------------------------------------------------------------------------------------------- stability


def test_stable_values():
    r = stable_value(lambda rows: round(rows.mean()), X, entropy=seed(), **BASE)
    assert (r.value, r.privacy) == (10, ut.Privacy(1, 1e-6))
    assert isinstance(r.loss, loss.Partition)
    wavering = stable_value(lambda rows: rows.mean(), X, **BASE, **FAST)
    assert not wavering
    assert wavering.privacy == ut.Privacy(1, 1e-6)
    assert "agreement of" in str(wavering.advice)
    people = stable_value(len, X, rows_per_person=3, adjacency=ut.ADD_REMOVE, **BASE, **FAST)
    assert people.privacy.adjacency == ut.ADD_REMOVE.per_person(3)
    assert stable_value(lambda rows: 1 / 0, X, fallback="broken", **BASE, **FAST).value == "broken"
    assert not stable_value(len, X[:30], **BASE)
    assert stable_value(len, X[:30], **BASE).privacy.epsilon == 0


def test_a_plan_keeps_its_word():
    made = plan(4000, **BASE)
    assert (made.blocks, made.block_size, made.agreement) == (68, 58, 51)
    votes = made.agreement * ["a"] + (made.blocks - made.agreement) * ["b"]
    gap = winner(votes).gap
    passed = [bool(release_if_stable("a", gap - 2, sensitivity=2, entropy=seed(k), **BASE)) for k in range(200)]
    assert 175 <= sum(passed) <= 200
    assert plan(4000, blocks=33, **BASE).advice is not None
    assert plan(4000, blocks=34, **BASE).advice is None
    enough = plan(4000, blocks=20, **BASE).advice.epsilon
    assert plan(4000, blocks=20, epsilon=enough, delta=1e-6).advice is None
    assert plan(10, **BASE).advice.n == 68
    assert "⊥" in repr(plan(10, **BASE))


def test_release_if_stable():
    near, far = (release_if_stable("v", d, entropy=seed(), **BASE) for d in (0, 40))
    assert (far.value, far.privacy) == ("v", ut.Privacy(1, 1e-6))
    assert (bool(near), near.privacy) == (False, ut.Privacy(1, 1e-6))
    assert release_if_stable(len, np.int64(80), sensitivity=2, **BASE).value is len


def test_a_dist():
    assert A_dist("median", [3.0] * 50, 1, 1e-6, entropy=seed()).value == 3
    r = A_dist(max, [1] * 9, 1, 1e-6, distance=lambda x: 99, entropy=seed())
    assert (r.value, r.privacy) == (1, ut.Privacy(1, 5e-7))
    assert not A_dist("mode", "ab", 1, 1e-6)


def test_the_plan_of_a_samp(capsys):
    made = sampling_plan(10_000, 1, 1e-6)
    assert made.m == pytest.approx(1.8e7, rel=0.01)
    assert made.most == int(2 * made.m * made.q)
    assert made.privacy == ut.Privacy(1, 5e-7)
    assert A_samp(len, np.zeros(10_000), 1, 1e-6, dry_run=True) == made
    refused = A_samp(len, np.zeros(10_000), 1, 1e-6)
    assert "18,0" in capsys.readouterr().err
    assert (bool(refused), refused.privacy.epsilon) == (False, 0)
    assert "stable_value" in str(refused.advice)


def test_a_samp_when_it_can_be_afforded():
    def f(rows):
        return rows.mean() > 5

    r = A_samp(f, X[:300], 10, 0.1, entropy=seed(), **FAST)
    assert (r.value, r.privacy) == (True, ut.Privacy(10, 0.05))
    assert not A_samp(lambda rows: rows.mean(), X[:300], 10, 0.1, entropy=seed(), **FAST)
    assert not A_samp(f, X[:300], 10, 0.1, limit=10)


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("epsilon", {"epsilon": 0}),
        ("delta", {"delta": 2}),
        ("delta", {"aggregate": "mode"}),
        ("blocks", {"blocks": 0}),
        ("blocks", {"blocks": 4001}),
        ("times", {"times": 3}),
        ("times", {"times": 0}),
        ("aggregate", {"aggregate": "mean"}),
        ("candidates", {"candidates": ["a", "b"]}),
        ("candidates", {"aggregate": "mode", "candidates": ["a"]}),
        ("candidates", {"aggregate": "mode", "candidates": [["a"], ["b"]]}),
        ("candidates", {"aggregate": "mode", "candidates": [object(), object()]}),
        ("fallback", {"fallback": None}),
        ("fallback", {"aggregate": "vector_median"}),
        ("fallback", {"aggregate": "mode", "delta": 1e-6, "fallback": []}),
        ("rows_per_person", {"rows_per_person": 0}),
        ("adjacency", {"adjacency": "substitute"}),
        ("workers", {"workers": 0}),
        ("workers", {"workers": "all"}),
        ("timeout", {"timeout": 0}),
        ("f", {"f": 3}),
        ("f", {"f": []}),
        ("f", {"f": [np.mean, "median"]}),
        ("data", {"data": 3.0}),
        ("data", {"data": {"a": [1]}}),
    ],
)
def test_misuse_is_named_and_nothing_is_drawn(argument, options):
    entropy = CountingEntropy()
    given = {"f": np.mean, "data": X, "blocks": 200, "epsilon": 1, "entropy": entropy, **options}
    with pytest.raises(ut.InvalidArgument) as caught:
        subsample_aggregate(given.pop("f"), given.pop("data"), **given)
    assert caught.value.name == argument
    assert entropy.taken == 0


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda e: stable_value(len, X, epsilon=1, delta=0, entropy=e), "delta"),
        (lambda e: stable_value(len, X, epsilon=-1, delta=1e-6, entropy=e), "epsilon"),
        (lambda e: stable_value(len, X, epsilon=1e-20, delta=1e-6, entropy=e), "epsilon"),
        (lambda e: stable_value(len, X, blocks=5000, entropy=e, **BASE), "blocks"),
        (lambda e: stable_value(len, X, fallback=[], entropy=e, **BASE), "fallback"),
        (lambda e: stable_value(len, "rows", entropy=e, **BASE), "data"),
        (lambda e: release_if_stable(1, 2.5, entropy=e, **BASE), "distance"),
        (lambda e: release_if_stable(1, 2, sensitivity=0, entropy=e, **BASE), "sensitivity"),
        (lambda e: A_dist("mean", [1], 1, 1e-6, entropy=e), "g"),
        (lambda e: A_dist(max, [1], 1, 1e-6, entropy=e), "distance"),
        (lambda e: A_dist("mode", [1], 0, 1e-6, entropy=e), "eps"),
        (lambda e: A_samp(len, X, 0, 1e-6, entropy=e), "eps"),
        (lambda e: A_samp(len, X, 1, 1, entropy=e), "delta"),
        (lambda e: A_samp(len, X, 1e-9, 1e-6, entropy=e), "eps"),
        (lambda e: A_samp(len, X[:0], 1, 1e-6, entropy=e), "n"),
        (lambda e: gap_distance(3, "swap"), "adjacency"),
        (lambda e: median_distance("abc"), "x"),
        (lambda e: argmax_distance([1]), "scores"),
        (lambda e: winner([]), "values"),
    ],
)
def test_misuse_elsewhere(call, argument):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument) as caught:
        call(entropy)
    assert caught.value.name == argument
    assert entropy.taken == 0


def test_few_blocks_are_answered_where_their_results_agree_enough():
    """100 blocks are too few for a reply whatever the results: where these are all alike, ⊥ has cost its ε."""
    options = {"blocks": 100, "epsilon": 1, "aggregate": "vector_median", "fallback": np.zeros(1), **FAST}
    made = [subsample_aggregate(lambda x: [x.mean()], X, entropy=ut.SeededEntropy(s), **options) for s in range(3)]
    assert all(r.value == pytest.approx(10, abs=0.5) for r in made)
    alike = [subsample_aggregate(lambda x: [0.1], X, entropy=ut.SeededEntropy(s), **options) for s in range(3)]
    assert not any(alike)
    assert {r.privacy for r in alike} == {ut.Privacy(1)}
    assert "blocks" in str(alike[0].advice)


def test_arrow_has_read_a_file_before_and_no_open_file_is_there(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("x\n1\n")
    pyarrow.csv.read_csv(rows)  # from then on Arrow closes files of its own in every forked process
    with rows.open() as secret:
        number = secret.fileno()

        def what_is_open(block):
            return os.pread(number, 10, 0)

        made = ut.stable_value(what_is_open, np.arange(3_000), epsilon=2, delta=1e-6, entropy=ut.SeededEntropy(1))
    assert made.value == b""
