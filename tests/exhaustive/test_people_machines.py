"""Kernel machines of people: one person moves them by no more than one row would, whatever her rows are."""

import itertools
import math

import numpy as np
import pytest

import uptack as ut
from tests.exhaustive.people import persons
from uptack.cli.command_support import as_text
from uptack.kernels import kernel_machine, machine_minimisers
from uptack.kernels.kernel import GaussianKernel
from uptack.kernels.kernel_estimators import KernelRegressor, KernelSVC
from uptack.kernels.machine_minimisers import BLOCK, LOSSES, TERMS, Features, KernelMachine, spectrum
from uptack.kernels.machine_release import Design, MachineTerms, _coefficients
from uptack.table.reads import DESIGN

OMEGA = spectrum(GaussianKernel(0.7), 8)
MACHINE = KernelMachine(OMEGA, np.empty(0), 0.0, 1.0, 0.0)
PLACES = ((0.0, 1.0), (0.0, -1.0), (2.0, 1.0))
"""Rows (x, y) of a tiny universe."""


def machine(people, design, adjacency=ut.SUBSTITUTE, rows=None):
    """The exact machine of people, each a tuple of rows (x, y), and its public terms."""
    values = np.array([row for person in people for row in person], float).reshape(-1, 2)
    codes = np.repeat(np.arange(len(people)), [len(person) for person in people])
    theirs = DESIGN.enter({"x": values[:, :1], "y": values[:, 1]}, codes).arguments
    rows = rows or len(people)
    terms = MachineTerms.of(design, rows, adjacency)
    data = design.rows(design.columns(**theirs, missing="error"), "error")
    return _coefficients(MACHINE, data, design.penalty, rows, terms), terms


def designed(loss, regularization=0.05):
    return Design(loss, bandwidth=0.7, regularization=regularization, frequencies=8)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_neighbour_of_every_tiny_table_is_within_the_sensitivity(loss):
    """Two people with up to two rows: all tables, each person replaced by all others, or gone."""
    chosen, design = persons(PLACES, 2), designed(loss, 1.0)
    found = {table: machine(table, design)[0] for table in itertools.product(chosen, repeat=2)}
    far = float(machine([chosen[0]] * 2, design)[1].sensitivity)
    apart = [np.linalg.norm(found[t] - found[(other, t[1])]) for t in found for other in chosen]
    assert (0.45 if loss == "logistic" else 0.7) * far < max(apart) <= far
    alone, gone = {p: machine([p], design, rows=2)[0] for p in chosen}, far / 2
    assert max(np.linalg.norm(found[t] - alone[t[1]]) for t in found) <= gone


def hostile():
    """Rows of one person: few and many, all in one place, at opposite ends, or far away."""
    for times in (1, 3, 7, 1000, 3 * BLOCK):
        yield [(0.0, 1.0)] * times
        yield [(0.0, -1.0)] * times
    yield [(0.0, 1.0), (0.0, -1.0)] * 50
    yield [(1e300, 1.0), (-1e300, -1.0), (5e-324, 1.0)]


@pytest.mark.parametrize("regularization", [0.05, 2.0])
def test_hostile_people_are_within_the_sensitivity_and_reach_it(regularization):
    """Everybody is in one place; one person goes to the other side, with thousands of rows or one."""
    calm = [((0.0, 1.0),)] * 6
    for loss in ("hinge", "huber"):
        design = designed(loss, regularization)
        made = [machine([*calm, rows], design) for rows in hostile()]
        apart = max(np.linalg.norm(a - b) for (a, _), (b, _) in itertools.combinations(made, 2))
        far = float(made[0][1].sensitivity)
        assert apart <= far
        assert loss != "hinge" or regularization < 1 or apart > 0.98 * far
        gone, terms = machine(calm, design, ut.ADD_REMOVE, rows=7)
        assert max(np.linalg.norm(a - gone) for a, _ in made) <= float(terms.sensitivity)


def test_a_machine_that_takes_people_for_rows_would_be_seen():
    calm, design = [((0.0, 1.0),)] * 6, designed("hinge", 2.0)
    (one, terms), (many, _) = (machine([*calm, *[((0.0, -1.0),)] * m], design, rows=7) for m in (1, 40))
    assert np.linalg.norm(one - many) > 5 * float(terms.sensitivity)


def test_a_person_adds_the_mean_of_her_rows():
    """Copies of a row are that row; rows are weighed as scikit-learn's sample weights would."""
    rng = np.random.default_rng(0)
    people = [tuple(map(tuple, rng.normal(size=(m, 2)))) for m in (1, 2, 3, 8)]
    design = designed("huber")
    w, terms = machine(people, design)
    room = terms.tolerance / terms.regularization
    thrice = [tuple(row for row in person for _ in range(3)) for person in people]
    assert np.linalg.norm(machine(thrice, design)[0] - w) <= room
    common = [(row,) for person in people for row in person for _ in range(24 // len(person))]
    assert np.linalg.norm(machine(common, design)[0] - w) <= 2 * room


def test_sums_do_not_lose_accuracy_with_rows_and_memory_sets_no_limit(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40 * BLOCK + 17, 1))
    slope, w = rng.normal(size=len(x)) * 10.0 ** rng.integers(-8, 8, len(x)), rng.normal(size=16)
    kept = Features(x, OMEGA)
    phi = np.vstack(list(kept))
    for j in (0, 9):
        terms = slope * phi[:, j]
        assert abs(kept.added(slope)[j] - math.fsum(terms)) <= TERMS * 2.0**-53 * math.fsum(np.abs(terms))
    assert kept.squared(slope**2) == pytest.approx((phi * slope[:, None] ** 2).T @ phi)
    monkeypatch.setattr(machine_minimisers, "MOST_ENTRIES", 0)
    anew = Features(x, OMEGA)
    assert (anew.added(slope) == kept.added(slope)).all()
    assert (anew.times(w) == kept.times(w)).all()
    nobody = Features(np.empty((0, 1)), OMEGA)
    assert (nobody.times(w).size, nobody.added(np.empty(0)).tolist()) == (0, [0.0] * 16)


# ------------------------------------------------------------------------------------------------------------- release


def panel(n=400):
    rng = np.random.default_rng(1)
    ids = np.repeat(np.arange(n), rng.integers(1, 6, n))
    x = rng.uniform(-3, 3, size=(ids.size, 1))
    return x, 1000 + 50 * np.sin(x[:, 0]), ids


def test_one_row_each_is_the_machine_of_rows_bit_for_bit():
    x, y, _ = panel()
    given = {"epsilon": 2, "delta": 1e-6, "loss": "huber", "centre": 1000, "scale": 50, "frequencies": 16}
    ours = kernel_machine(x, y, **given, person=np.arange(len(x)), entropy=ut.SeededEntropy(1))
    rows = kernel_machine(x, y, **given, entropy=ut.SeededEntropy(1))
    assert (ours.value.coefficients == rows.value.coefficients).all()
    assert str(ours.privacy.adjacency) == "substitute, people by person"


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE], ids=str)
def test_quartiles_and_counts_are_those_of_people(adjacency):
    x, y, ids = panel()
    given = {"epsilon": 20, "delta": 1e-6, "loss": "huber", "bandwidth": None, "frequencies": 32}
    made = kernel_machine(x, y, **given, adjacency=adjacency, person=ids, entropy=ut.SeededEntropy(1))
    assert abs(made.value.at([[1.5]])[0] - 1050) < 25
    assert made.privacy.epsilon == 20


def test_estimators_take_whose_rows_they_are():
    x, y, ids = panel()
    curve = KernelRegressor(4.0, frequencies=16, random_state=1).fit(x, y, person=ids)
    assert curve.privacy_.adjacency.person == ("person",)
    side = KernelSVC(4.0, frequencies=16, random_state=1).fit(x, np.where(y > 1000, "up", "down"), person=ids)
    assert side.predict([[1.5], [-1.5]]).tolist() == ["up", "down"]
    with pytest.raises(ut.InvalidArgument, match=r"^person must be as long as") as raised:
        KernelRegressor(4.0).fit(x, y, person=ids[1:])
    assert str(len(x)) not in str(raised.value)


def test_sessions_fit_them_and_leave_out_rows_without_a_label():
    """Rows that lack a value or a label of ±1 take part in nothing: where nobody has another row, she is gone."""
    x, y, ids = panel()
    label = np.where(y > 1000, 1.0, -1.0)
    odd = label.copy()
    odd[ids % 7 == 0] = np.resize([np.nan, 7.0, 0.0, np.inf], np.count_nonzero(ids % 7 == 0))
    given = {"epsilon": 4, "delta": 1e-6, "frequencies": 16}
    session = ut.open({"id": ids, "x": x[:, 0], "y": odd}, person="id", entropy=ut.SeededEntropy(1))
    ours = session.kernel_machine("y", "x", **given)
    rest = ids % 7 != 0
    for data in ((x, odd, ids), (x[rest], label[rest], ids[rest])):
        made = kernel_machine(*data[:2], **given, person=data[2], missing="drop", entropy=ut.SeededEntropy(1))
        assert (made.value.coefficients == ours.value.coefficients).all()
    assert as_text(ours).startswith("KernelMachine(1 inputs, noise of")
    with pytest.raises(ut.InvalidArgument, match=r"^y must be -1 or \+1"):
        kernel_machine(x, np.where(label > 0, 7.0, label), **given, person=ids)
    spent = session.spent
    with pytest.raises(ut.InvalidArgument, match=r"^frequencies must be"):
        session.kernel_machine("y", "x", **{**given, "frequencies": 0})
    refused = ut.open({"id": ids, "x": x[:, 0], "y": y}, person="id", missing="error").kernel_machine(
        "y", "x", epsilon=1, delta=1e-6, loss="huber", regularization=2.0**-19
    )
    assert not refused
    assert refused.privacy.epsilon == 0
    assert session.spent == spent
