"""Counts, tables, groups, blocks, regressions and densities of people: what they estimate, and what they refuse."""

from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from uptack.account import observed_by
from uptack.audit.price import CoupledTape, Recorder
from uptack.densities.caratheodory import BallNoise, CaratheodoryNoise, LaplaceNoise, half_lattice, moment_sums
from uptack.densities.kernel_density import Bins
from uptack.discrete import Domain
from uptack.discrete.categories import Screen
from uptack.errors import InvalidArgument
from uptack.kernels import GaussianKernel
from uptack.kernels.kernel import KernelSum
from uptack.noise import SeededEntropy
from uptack.papers.block_fits import fit_people
from uptack.registry import declared
from uptack.table.unit import U as UNIT

LOUD = 10**6
"""An ε at which there is next to no noise."""
IDS = ["ann", "bob", "ann", "eve", "ann", None, "bob"]
WARD = ["a", "b", "a", "b", "c", "a", "c"]
HURT = [True, False, False, False, True, True, False]


def seeded(seed=1):
    return SeededEntropy(seed)


def panel(n=400, most=6, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(n), rng.integers(1, most + 1, n))
    return ids, rng.normal(size=ids.size), rng


# -------------------------------------------------------------------------------------------------------------- counts


def test_people_are_counted_once_and_rows_up_to_a_cap():
    many = np.array(["ann"] * 5 + ["bob"])
    assert ut.count(HURT, person=IDS, epsilon=LOUD).value == 1
    assert ut.count(many, person=many, epsilon=LOUD, adjacency=ut.ADD_REMOVE).value == 2
    for cap, expected in ((1, 2), (3, 4), (9, 6)):
        assert ut.count(many, person=many, weights="rows", at_most=cap, epsilon=LOUD).value == expected
    assert ut.count(HURT, person=IDS, weights="rows", at_most=3, epsilon=LOUD).value == 2


def test_the_noise_of_rows_is_that_of_the_cap():
    wide = ut.count(HURT, person=IDS, weights="rows", at_most=50, epsilon=1).interval(0.9)
    narrow = ut.count(HURT, person=IDS, epsilon=1).interval(0.9)
    assert wide[1] - wide[0] > 30 * (narrow[1] - narrow[0]) / 2


def test_a_public_number_of_people_is_not_counted():
    with pytest.raises(InvalidArgument, match="number of people is public"):
        ut.count(np.full(7, 1.5), person=IDS, epsilon=1)


def test_histograms_spread_people_or_count_them_once():
    spread = ut.histogram(WARD, person=IDS, keys=["a", "b", "c"], epsilon=LOUD, weights="people").value
    assert dict(spread) == pytest.approx({"a": 2 / 3, "b": 3 / 2, "c": 1 / 3 + 1 / 2}, abs=1e-4)
    once = ut.histogram(WARD, person=IDS, keys=["a", "b", "c"], epsilon=LOUD, weights="any", at_most=1).value
    assert dict(once) == {"a": 1, "b": 2, "c": 0}
    rows = ut.histogram(WARD, person=IDS, keys=["a", "b", "c"], epsilon=LOUD, weights="rows", at_most=2).value
    assert dict(rows) == pytest.approx({"a": 4 / 3, "b": 2, "c": 2 / 3 + 1}, abs=1e-4)
    none = ut.histogram(WARD, person=IDS, keys=["b", "c"], epsilon=LOUD, weights="any", at_most=1).value
    assert dict(none) == {"b": 2, "c": 1}  # ann is in c, the one of these that she has rows of


def test_a_total_is_the_number_of_people():
    ids, x, _ = panel()
    made = ut.histogram(
        x, person=ids, edges=[-1, 0, 1], outside="clamp", total=True, nonnegative=True, epsilon=0.1, weights="people"
    )
    assert made.value.counts.sum() == pytest.approx(400)
    with pytest.raises(InvalidArgument, match="total"):
        ut.histogram(x, person=ids, edges=[-1, 1], total=True, epsilon=1, weights="rows", at_most=2)


def test_unknown_categories_of_people():
    ids = np.arange(900) // 3
    kinds = np.where(ids < 200, "flu", np.where(ids < 290, "gout", ids.astype(str)))
    made = ut.histogram(kinds, person=ids, epsilon=1, delta=1e-6, entropy=seeded())
    assert set(made.value) == {"flu", "gout"}
    assert abs(made.value["flu"] - 200) < 20
    assert "people" in made.notes[0]
    low, high = made.interval(0.99)
    assert low[0] <= 200 <= high[0]


def test_sparse_histograms_and_margins_of_people():
    ids, x, rng = panel(2000)
    cells = rng.integers(0, 4, ids.size) * 2**38
    truth = ut.histogram(cells, person=ids, keys=[c * 2**38 for c in range(4)], epsilon=LOUD, weights="people").value
    for rule in ("printed", "adaptive"):
        kept = ut.sparse_histogram(cells, 2**40, 1, person=ids, rule=rule, entropy=seeded()).value
        assert set(truth) <= set(kept)
        assert all(abs(kept[cell] - truth[cell]) < 30 for cell in truth)
    domain, columns = Domain({"a": 2, "b": 3}), {"a": cells % 3 % 2, "b": np.abs(x).astype(int) % 3}
    exact = ut.histogram(columns["b"], person=ids, keys=3, epsilon=LOUD, weights="people").value.counts
    for way in ("direct", "table", "sparse"):
        made = ut.margins(columns, 1, domain=domain, person=ids, epsilon=1, through=way, entropy=seeded()).value
        assert np.abs(made["b"] - exact).max() < 40


def test_a_session_counts_as_arrays_do():
    ids, x, rng = panel()
    table = {"id": ids, "x": x, "kind": rng.integers(0, 3, ids.size), "hurt": x > 0}
    session = ut.open(table, person="id")
    for options in ({}, {"weights": "people"}, {"weights": "any", "at_most": 1}, {"weights": "rows", "at_most": 2}):
        there = session["kind"].histogram(keys=[0, 1, 2], epsilon=LOUD, **options).value.counts
        here = ut.histogram(table["kind"], person=ids, keys=[0, 1, 2], epsilon=LOUD, **options).value.counts
        assert there == pytest.approx(here, abs=1e-3)
    assert session["hurt"].count(epsilon=LOUD).value == len(set(ids[x > 0]))


# -------------------------------------------------------------------------------------------------------------- groups


GROUPED = 900
IN_TWO = {
    "person": np.repeat(np.arange(GROUPED), 3),
    "by": np.where(np.tile([True, True, False], GROUPED), np.repeat(np.arange(GROUPED) % 2, 3), 7),
}  # everybody has two rows in group 0 or 1, and one in group 7
X_IN_TWO = np.tile([1.0, 1.0, 100.0], GROUPED)


def test_a_person_counts_in_the_group_of_most_of_her_rows():
    made = ut.median(X_IN_TWO, groups=[0, 1, 7], **IN_TWO, groups_per_person=1, epsilon=2, entropy=seeded())
    assert (made.value[0].value, made.value[1].value) == pytest.approx((1.0, 1.0))
    assert not made.value[7]  # nobody has most of their rows there
    assert made.notes == ("Each person counts in the group with most of their rows.",)
    listed = ut.median(X_IN_TWO, **IN_TWO, groups_per_person=1, epsilon=2, delta=1e-6, entropy=seeded())
    assert set(listed.value) == {0, 1}
    assert listed.value.sizes.value[0] == pytest.approx(450, abs=60)
    assert listed.privacy.adjacency == ut.ADD_REMOVE.by_person("person")


@pytest.mark.parametrize("relation", [ut.SUBSTITUTE, ut.ADD_REMOVE], ids=str)
def test_no_group_of_people_vanishes_without_a_word(relation):
    """Group 7 has a row of everybody, and most rows of nobody: it is listed and answered."""
    asked = {**IN_TWO, "epsilon": 12, "delta": 1e-6, "adjacency": relation, "entropy": seeded()}
    made = ut.median(X_IN_TWO, **asked)
    assert {g: reply.value for g, reply in made.value.items()} == pytest.approx({0: 1.0, 1: 1.0, 7: 100.0})
    assert made.value.sizes.value[7] == pytest.approx(GROUPED, abs=60)
    assert any("Each person counts in the" in note and "chosen privately" in note for note in made.notes)
    assert any(note.startswith("Groups with fewer than about") for note in made.notes)
    assert made.privacy == ut.Privacy(12, made.privacy.exact_delta, relation.by_person("person"))
    assert made.privacy.delta <= 1e-6
    again = ut.count(np.ones(X_IN_TWO.size, bool), **asked)
    assert again.value[7] == pytest.approx(GROUPED, abs=20)
    assert again.value[0] == pytest.approx(GROUPED / 2, abs=20)


def test_people_with_at_least_one_row_and_shares_of_people():
    """A report said "6,489 people" where 15,205 had such a row: both are offered, and say which they are."""
    kinds, ids = IN_TWO["by"], IN_TWO["person"]
    people = ut.histogram(kinds, person=ids, epsilon=20, delta=1e-6, entropy=seeded())
    assert dict(people.value) == pytest.approx({7: GROUPED, 0: GROUPED / 2, 1: GROUPED / 2}, abs=15)
    assert "people with at least one row" in people.notes[0]
    assert "at most 2 categories (a number chosen privately)" in people.notes[0]
    assert people.privacy == ut.Privacy(20, 1e-6, ut.SUBSTITUTE.by_person("person"))
    shares = ut.histogram(kinds, person=ids, epsilon=20, delta=1e-6, weights="people", entropy=seeded())
    assert dict(shares.value) == pytest.approx({7: GROUPED / 3, 0: GROUPED / 3, 1: GROUPED / 3}, abs=15)
    assert "shares of people" in shares.notes[0]
    stated = ut.histogram(kinds, person=ids, epsilon=20, keys=[0, 1, 7], weights="any", at_most=2, entropy=seeded())
    assert dict(stated.value) == pytest.approx({7: GROUPED, 0: GROUPED / 2, 1: GROUPED / 2}, abs=15)
    assert "chosen" not in stated.notes[0]
    with pytest.raises(InvalidArgument, match="total must be False if weights='any'"):
        ut.histogram(kinds, person=ids, epsilon=1, keys=[0, 1, 7], total=True)
    for wrong in ({"weights": "people", "at_most": 2}, {"at_most": 0, "weights": "any"}, {"weights": "one"}):
        with pytest.raises(InvalidArgument):
            ut.histogram(kinds, person=ids, epsilon=1, keys=[0, 1, 7], **wrong)


def test_groups_take_numbers_per_person_and_a_session_agrees():
    ids, _, rng = panel(3000)
    by, order = np.where(ids % 3 == 0, "a", "b"), rng.permutation(ids.size).astype(float)
    x = np.where(by == "a", 5.0, 9.0) + (order % 7) / 100
    for more in ({"per_person": "max"}, {"weights": "rows", "at_most": 3}, {"per_person": "last", "order": order}):
        made = ut.median(x, by=by, groups=["a", "b"], person=ids, epsilon=4, entropy=seeded(), **more).value
        assert (made["a"].value, made["b"].value) == pytest.approx((5.03, 9.03), abs=0.05)
        session = ut.open({"id": ids, "x": x, "by": by, "o": order}, person="id", entropy=seeded())
        told = more | ({"order": "o"} if "order" in more else {})
        there = session["x"].median(by="by", groups=["a", "b"], epsilon=4, **told).value
        assert (there["a"].value, there["b"].value) == pytest.approx((5.03, 9.03), abs=0.05)


def test_a_function_per_group_gets_people():
    ids, x, _ = panel(2000)
    made = ut.per_group(ut.median, x, ids % 2, person=ids, groups=[0, 1], epsilon=2, entropy=seeded())
    assert all(abs(reply.value) < 0.3 for reply in made.value.values())
    assert made.privacy == ut.Privacy(2, 0, ut.ADD_REMOVE.by_person("person"))

    def forgetful(rows, epsilon, adjacency, entropy):
        return ut.median(np.zeros(500), epsilon=epsilon, adjacency=ut.ADD_REMOVE, entropy=entropy)

    with pytest.raises(InvalidArgument, match="pass epsilon"):
        ut.per_group(forgetful, x, ids % 2, person=ids, groups=[0, 1], epsilon=2, entropy=seeded())


# -------------------------------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("relation", [ut.SUBSTITUTE, ut.ADD_REMOVE], ids=str)
def test_all_rows_of_a_person_are_in_one_block(relation):
    ids, x, _ = panel(300)
    seen = []

    def watching(rows):
        seen.append([int(row[0]) for row in rows])
        return float(np.mean([row[1] for row in rows]))

    table = np.column_stack([ids, x])
    made = ut.subsample_aggregate(
        watching, table, blocks=150, person=ids, epsilon=2, trusted=True, adjacency=relation, entropy=seeded()
    )
    blocks = [set(block) for block in seen]
    assert sum(map(len, blocks)) == len(set().union(*blocks)) == 300
    assert sum(map(len, seen)) == ids.size
    assert made.privacy == ut.Privacy(2, 0, relation.by_person("person"))


def test_blocks_are_refused_by_the_number_of_people():
    ids, x, _ = panel(50)
    with pytest.raises(InvalidArgument, match="times·people, 50"):
        ut.subsample_aggregate(np.mean, x, blocks=60, person=ids, epsilon=1)
    with pytest.raises(InvalidArgument, match="number of people, 50"):
        ut.stable_value(np.mean, x, blocks=60, person=ids, epsilon=1, delta=1e-6)
    refused = ut.stable_value(np.mean, x, person=ids, epsilon=1, delta=1e-6)
    assert not refused
    assert refused.advice.n == 68
    assert "people" in repr(ut.blocks.plan(50, epsilon=1, delta=1e-6, adjacency=ut.SUBSTITUTE.by_person("id")))


# --------------------------------------------------------------------------------------------------------- regressions


def test_the_fit_of_a_block_is_its_own_to_the_last_bit():
    """Whatever other blocks there are, and however many rows they have."""
    rng = np.random.default_rng(3)
    for p in (1, 2, 4):
        sizes = np.minimum(rng.zipf(1.4, 24) * p, 700)
        x, y = rng.normal(size=(sizes.sum(), p)), rng.standard_cauchy(sizes.sum())
        weights = 1 / rng.integers(1, 9, y.size)
        blocks = np.split(np.arange(y.size), np.cumsum(sizes)[:-1])
        for kind in ("ols", "huber", "lad"):
            together = fit_people(x, y, blocks, weights, kind)
            for k in range(0, 24, 2):  # with an even number, as alone
                assert fit_people(x, y, [blocks[k]], weights, kind).tobytes() == together[k : k + 1].tobytes()


@pytest.mark.parametrize("kind", ["ols", "huber", "lad"])
def test_a_row_that_is_written_ten_times_counts_for_one(kind):
    rng = np.random.default_rng(5)
    x, y = np.column_stack([np.ones(41), rng.normal(size=41)]), rng.standard_cauchy(41)
    times = rng.integers(1, 11, 41)
    once = fit_people(x, y, [np.arange(41)], np.ones(41), kind)
    rows = np.repeat(np.arange(41), times)
    often = fit_people(x[rows], y[rows], [np.arange(rows.size)], (1 / times)[rows], kind)
    assert often == pytest.approx(once, rel=1e-6)


def test_the_short_cut_weighs_people_and_says_so():
    ids, _, rng = panel(3000, 8)
    slope = np.where(np.bincount(ids)[ids] > 4, 3.0, 1.0)  # rows would say about 2.4
    x = rng.normal(size=ids.size)
    made = ut.shortcut_regression(x, slope * x, person=ids, epsilon=4, block_fit="ols", entropy=seeded())
    assert made.value[1] == pytest.approx(2.0, abs=0.12)
    assert made.privacy.adjacency == ut.SUBSTITUTE.by_person("person")


def test_the_short_cut_is_refused_by_the_number_of_people():
    ids, x, _ = panel(60, 40)
    made = ut.shortcut_regression(x, x, person=ids, epsilon=1)
    assert not made
    assert made.privacy.epsilon == 0
    with pytest.raises(InvalidArgument, match="at most 30, so that each has 2 people"):
        ut.shortcut_regression(x, x, person=ids, epsilon=1, blocks=31)


def test_intervals_of_a_panel_hold():
    """Rows of a person have an effect in common, which would make intervals from rows far too short."""
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        ids = np.repeat(np.arange(2400), np.minimum(rng.zipf(1.6, 2400), 50))
        shared = rng.normal(size=2400)[ids]
        x = rng.normal(size=2400)[ids] + rng.normal(size=ids.size) / 2
        y = 1 + 2 * x + 2 * shared + rng.normal(size=ids.size)
        made = ut.shortcut_regression(x, y, person=ids, epsilon=6, standard_errors=True, entropy=seeded(seed))
        low, high = made.interval(0.95)
        held += [low[0] <= 1 <= high[0], low[1] <= 2 <= high[1]]
    assert np.sum(held) >= 15  # of 24 at 95%: fewer with a chance below 1e-6 were they independent


# ------------------------------------------------------------------------------------------------------------ densities


def test_densities_are_of_a_random_row_of_a_random_person():
    ids = np.r_[np.zeros(5000, int), np.arange(1, 3000)]
    x = np.r_[np.full(5000, 90.0), np.random.default_rng(1).normal(50, 10, 2999)]
    for made in (
        ut.kde(x, person=ids, epsilon=4, delta=1e-6, bandwidth=3, entropy=seeded()),
        ut.fourier_density(x, 4, person=ids, low=0, high=100, entropy=seeded()),
    ):
        assert made.value.at(50.0) == pytest.approx(0.0385, abs=0.004)
        assert abs(made.value.at(90.0)) < 0.004  # rows alone would put a peak here


def test_planes_of_people_drop_a_row_as_a_whole():
    ids, x, rng = panel(3000)
    plane = np.column_stack([x, rng.normal(size=x.size)])
    plane[::3, 0] = np.nan
    made = ut.kde(plane, person=ids, epsilon=4, delta=1e-6, bandwidth=0.4, missing="drop", entropy=seeded())
    assert made.value.at([[0.0, 0.0]])[0] == pytest.approx(1 / (2 * np.pi * 1.16), abs=0.03)


def hostile_people(rng, n=6):
    """Rows of some people, and of a neighbour: one person's rows are others, and more or fewer."""
    own = [rng.choice([0.0, 2.5, 5.0, 7.5, 9.99, 3.3], rng.integers(1, 9)) for _ in range(n)]
    other = [*own[1:], rng.choice([0.0, 5.0, 1e9], rng.integers(1, 40))]
    return own, other


def summed(people, cells_of):
    rows = np.concatenate(people)
    units = np.repeat([UNIT // p.size for p in people], [p.size for p in people])
    return cells_of(rows), units


def test_the_bumps_of_a_person_move_a_density_as_those_of_a_row_do():
    rng, kernel = np.random.default_rng(2), GaussianKernel(0.5)
    limit = float(KernelSum(kernel, 1).sensitivity(ut.SUBSTITUTE))
    seen = 0.0
    for _ in range(200):
        made = []
        for people in hostile_people(rng):
            rows, units = summed(people, lambda x: x.reshape(-1, 1))
            made.append(Bins.of(rows, np.array([0.01]), units))
        centres = np.vstack([made[0].middles, made[1].middles])
        weights = np.r_[made[0].counts, -made[1].counts] / UNIT
        norm = np.sqrt(max(weights @ kernel(centres, centres) @ weights, 0))
        assert norm <= limit
        seen = max(seen, norm)
    assert seen > 0.8 * limit


@pytest.mark.parametrize("relation", [ut.SUBSTITUTE, ut.ADD_REMOVE], ids=str)
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_the_moments_of_a_person_move_sums_as_those_of_a_row_do(relation, degree):
    """In exact integers: by the ℓ1 norm, the Euclidean norm and the gauge that the noise is made for."""
    rng, frequencies = np.random.default_rng(4), half_lattice(degree, 1)
    adjacency = relation.by_person("id")
    for _ in range(60):
        sums = []
        own, other = hostile_people(rng)
        for people in (own, other if relation.size_is_public else own[1:]):
            cells, units = summed(people, lambda x: (np.floor(x * 6553.6).astype(np.int64) % 65536).reshape(-1, 1))
            sums.append(moment_sums(cells, units, frequencies, UNIT))
        move = (sums[1] - sums[0]).astype(float)
        assert np.abs(move).sum() <= LaplaceNoise(degree, 1, adjacency).scale
        if degree <= 2:
            assert np.linalg.norm(move) <= BallNoise(degree, 1, adjacency).scale
        assert gauge(move) <= CaratheodoryNoise(degree, 1, adjacency).scale


def gauge(move):
    """At most what it costs: g(a) + g(b) ≥ (λ_max - λ_min)/(m + 1) for a - b = the move."""
    line = np.concatenate([[0], move @ np.array([1, 1j])])
    place = np.subtract.outer(np.arange(line.size), np.arange(line.size))
    matrix = np.where(place >= 0, line[np.abs(place)], line[np.abs(place)].conj())
    values = np.linalg.eigvalsh(matrix)
    return (values[-1] - values[0]) / line.size


def test_sums_of_units_are_exact_where_64_bits_are_not_enough():
    units, table = np.array([(1 << 55) + 3, (1 << 33) + 1]), np.array([[0], [1]])
    found = moment_sums(table, units, np.array([[1]]), UNIT)
    cosine = round(2**24 * np.cos(2 * np.pi / 65536))
    exact = (int(units[0]) * 2**24 + int(units[1]) * cosine) / UNIT
    assert int(found[0, 0]) == pytest.approx(exact, abs=0.5 + 1e-6)


# ------------------------------------------------------------------------------------------------------------ refusals

NOT_PROVED = sorted(name for name, one in declared().items() if one.people is False)


@pytest.mark.parametrize("name", NOT_PROVED)
def test_what_is_not_proved_refuses_people(name):
    one = declared()[name]
    with pytest.raises(InvalidArgument, match=f"person must be left out: {name} is not proved for people"):
        one.public(*([[1.0, 2.0]] * len(one.data)), person=[1, 2])


def test_a_mechanism_that_takes_a_sensitivity_takes_no_ids():
    with pytest.raises(InvalidArgument, match="takes the sensitivity"):
        ut.mechanisms.laplace(1.0, sensitivity=1, epsilon=1, person=[1])
    made = ut.mechanisms.laplace(1.0, sensitivity=1, epsilon=1, adjacency=ut.SUBSTITUTE.by_person("id"))
    assert made.privacy.adjacency.person == ("id",)


def test_a_list_of_groups_costs_what_was_paid_where_a_person_moves_all_of_hers():
    """She leaves three groups and enters three others, and each of the three counts in the list."""
    tape = CoupledTape(1)
    first = Recorder(tape)
    second = Recorder(tape, repeats=first.draws)
    for others, recorder in ((["a", "b", "c"], first), (["d", "e", "f"], second)):
        tape.rewind()
        ids, groups = np.repeat(np.arange(201), 3), np.array(200 * ["a", "b", "c"] + others)
        told = {"epsilon": 3, "delta": 1e-3, "groups_per_person": 3, "adjacency": ut.SUBSTITUTE, "entropy": tape}
        with observed_by(recorder):
            ut.median(np.ones(603), person=ids, by=groups, **told)
    pairs = zip(first.draws, second.draws, strict=True)
    (listed,) = [(a, b) for a, b in pairs if isinstance(a.mechanism, Screen)]
    mechanism = listed[0].mechanism
    part = mechanism.price(listed[0].value, listed[1].value, listed[0].output) / float(mechanism.loss.epsilon)
    assert 0.99 < part <= 1 + 1e-9


@pytest.mark.parametrize("adjacency", [ut.SUBSTITUTE, ut.ADD_REMOVE])
def test_groups_with_a_delta_of_their_own_stay_within_all_of_it(adjacency):
    ids, groups = np.repeat(np.arange(20_000), 2), np.array(20_000 * ["a", "b"])
    told = {"epsilon": 40, "delta": 1e-3, "groups": ["a", "b"], "groups_per_person": 2, "adjacency": adjacency}
    made = ut.median(np.arange(40_000.0), person=ids, by=groups, method="ptr", entropy=seeded(), **told)
    assert all(made.value.values())  # so all of ε and δ is spent
    assert 0.99e-3 < made.privacy.exact_delta <= Fraction(1, 1000)
    assert made.privacy.exact_epsilon <= 40
