"""Lower bounds: below what linear programs say can be done, and refused outside their conditions."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.optimize import linprog

import uptack as ut
from uptack import limits
from uptack.discrete import minimax_count_mechanism


def histograms(n, cells):
    return [h for h in itertools.product(range(n + 1), repeat=cells) if sum(h) == n]


def least_worst_risk(tables, outputs, losses, epsilon, judged):
    """The minimax risk over the judged tables, privacy holding between all that are one replaced row apart."""
    size, width = len(tables), len(outputs)
    near = [(a, b) for a, b in itertools.permutations(range(size), 2) if np.abs(tables[a] - tables[b]).sum() == 2]
    rows = sparse.lil_matrix((len(near), size))
    for k, (a, b) in enumerate(near):
        rows[k, a], rows[k, b] = math.exp(-epsilon), -1
    privacy = sparse.hstack([sparse.kron(rows, sparse.identity(width)), sparse.csr_matrix((len(near) * width, 1))])
    risk = sparse.hstack([sparse.block_diag(list(losses[:, None, :])), -np.ones((size, 1))]).tocsr()[judged]
    sums = sparse.hstack([sparse.kron(sparse.identity(size), np.ones((1, width))), sparse.csr_matrix((size, 1))])
    upper = sparse.vstack([privacy, risk]).tocsr()
    cost = np.append(np.zeros(size * width), 1)
    return linprog(cost, upper, np.zeros(upper.shape[0]), sums.tocsr(), np.ones(size)).fun


@pytest.mark.parametrize(("n", "epsilon"), [(1, 0.3), (1, 3), (5, 0.2), (5, 1), (20, 0.5), (30, 0.2)])
def test_count(n, epsilon):
    bound, least = limits.count(n, epsilon), limits.computed_minimax_risk(n, epsilon)
    assert bound <= least + 1e-7
    assert bound >= 0.2 * least  # and not idle
    assert n > 1 or bound == pytest.approx(least, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 1.5, 1.999])
def test_the_printed_count_bound_is_the_weaker_one(epsilon):
    n = math.ceil(6 / epsilon)
    assert math.exp(-2) / epsilon == pytest.approx(limits.count_minimax(n, epsilon))
    assert limits.count_minimax(n, epsilon) <= limits.count(n, epsilon)


def test_the_printed_count_bound_needs_its_rows():
    assert math.exp(-2) / 0.05 > limits.computed_minimax_risk(4, 0.05)  # the claim without a condition on n is false
    with pytest.raises(ut.InvalidArgument, match=r"^n must be at least 120"):
        limits.count_minimax(4, 0.05)


def test_count_uniform():
    for n, epsilon in ((40, 1), (24, 0.5)):
        mechanism = minimax_count_mechanism(n, epsilon)
        assert 0 < limits.count_uniform(n, epsilon, mechanism.worst_risk) <= mechanism.risks.min()
    with pytest.raises(ut.InvalidArgument, match=r"^n must be at least 7 "):
        limits.count_uniform(5, 1, 1)


def test_the_printed_uniform_bound_does_not_follow():
    """Prop. 2.3.2 as printed has 2c for 4c: above ours, by more than its factor 1/2 once c > ln(2)/2."""
    c, epsilon = 1.0, 0.5
    assert c / (2 * epsilon) * math.exp(-2 * c - epsilon) > limits.count_uniform(100, epsilon, c / epsilon)


@pytest.mark.parametrize(("n", "cells", "epsilon"), [(2, 2, 1), (3, 3, 1), (4, 3, 0.3), (2, 4, 2), (3, 4, 0.5)])
def test_histograms(n, cells, epsilon):
    tables = np.array(histograms(n, cells))
    losses = np.abs(tables[:, None] - tables[None]).sum(axis=2).astype(float)
    dense = least_worst_risk(tables, tables, losses, epsilon, np.arange(len(tables)))
    bound = limits.histogram(n, cells, epsilon)
    assert 0.2 * dense <= bound <= dense + 1e-7
    for occupied in range(2, cells + 1):
        judged = np.flatnonzero((tables > 0).sum(axis=1) <= occupied)
        sparse_risk = least_worst_risk(tables, tables, losses, epsilon, judged)
        sparse_bound = limits.sparse_histogram(n, cells, occupied, epsilon)
        assert 0 < sparse_bound <= min(sparse_risk + 1e-7, bound + 1e-12)


@pytest.mark.parametrize(("n", "epsilon"), [(1, 1), (2, 0.5), (3, 1)])
def test_margins(n, epsilon):
    tables = np.array(histograms(n, 4))
    answers = np.array(list(itertools.product(range(n + 1), repeat=2)))
    truth = tables @ np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    losses = np.abs(truth[:, None] - answers[None]).sum(axis=2).astype(float)
    least = least_worst_risk(tables, answers, losses, epsilon, np.arange(len(tables)))
    assert 0.3 * least <= limits.margins(n, 2, epsilon) <= least + 1e-7


def test_orders():
    """Twice as many cells, occupied cells, columns or half the ε: the orders of chapter 2."""
    n = 10**9
    assert limits.histogram(n, 2001, 0.1) == pytest.approx(2 * limits.histogram(n, 1001, 0.1), rel=0.01)
    assert limits.histogram(n, 1001, 0.05) == pytest.approx(2 * limits.histogram(n, 1001, 0.1), rel=0.01)
    one, two = (limits.sparse_histogram(n, 2**40, q, 0.1) for q in (101, 201))
    assert two == pytest.approx(2 * one * math.log(2**40 / 200) / math.log(2**40 / 100), rel=0.02)
    assert limits.margins(n, 400, 0.1) > 3.5 * limits.margins(n, 200, 0.1) > 3.5 * 0.04 * 200**2 / 0.1
    assert limits.histogram(50, 2**40, 0.01) > 45  # few rows: nothing but trivial risks


def test_the_threshold_rule_lies_between():
    for cells, occupied in ((2**16, 3152), (2**40, 50), (64, 22)):
        low, high = limits.sparse_histogram(10**8, cells, occupied, 0.5), limits.threshold_ceiling(cells, occupied, 0.5)
        assert low < high


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: limits.count_minimax(100, 2), "epsilon"),
        (lambda: limits.count_minimax(10, 0.1), "n"),
        (lambda: limits.count(0, 1), "n"),
        (lambda: limits.count(5, 0), "epsilon"),
        (lambda: limits.count_uniform(5, 1, -1), "worst_risk"),
        (lambda: limits.histogram(5, 1, 1), "cells"),
        (lambda: limits.histogram(5, 4, "x"), "epsilon"),
        (lambda: limits.sparse_histogram(5, 4, 1, 1), "occupied"),
        (lambda: limits.sparse_histogram(5, 4, 5, 1), "occupied"),
        (lambda: limits.margins(5, 0, 1), "columns"),
        (lambda: limits.margins(5, 1001, 1), "columns"),
        (lambda: limits.threshold_ceiling(4, 5, 1), "occupied"),
        (lambda: limits.computed_minimax_risk(5, 1, "none"), "loss"),
    ],
)
def test_conditions(call, argument):
    with pytest.raises(ut.InvalidArgument) as caught:
        call()
    assert caught.value.name == argument
