"""Rank statistics of people: each person is one line or one labelled number, a function of her rows alone."""

import itertools
from collections import Counter

import numpy as np
import pytest

import uptack as ut
from tests.exhaustive.people import persons
from uptack.ranks.rank_data import complete_rows, samples
from uptack.registry.options import HOWS
from uptack.table.memory.table import side_by_side
from uptack.table.reads import LABELLED, ORDER, PAIR

ROWS = ((0.0, 1), (1.0, 0), (3.0, 1), (np.nan, 1), (2.0, None))
"""Rows (value, label) of a tiny universe: one without a value, and one without a label."""
PERSONS = [*persons(range(len(ROWS)), 2), (0, 1, 2), (3, 3, 0)]
GROUPS = (1, 0)


def owned(people):
    rows = [ROWS[i] for person in people for i in person]
    whose = np.repeat(np.arange(len(people)), [len(person) for person in people])
    return [row[0] for row in rows], [row[1] for row in rows], whose


def lines(people, how):
    x, labels, whose = owned(people)
    y = [np.nan if mark is None else float(mark) for mark in labels]
    sides = PAIR.enter({"x": x, "y": y}, whose, np.arange(len(x))).arguments
    found = complete_rows(side_by_side({name: side.per_person(how, ORDER) for name, side in sides.items()}), "drop")
    return found.size, Counter(map(tuple, found.lines.T.tolist()))


def labelled(people, how):
    x, labels, whose = owned(people)
    data = LABELLED.enter({"x": x, "labels": labels}, whose, np.arange(len(x))).arguments
    found = samples(data["x"].per_person(how, ORDER), data["labels"], GROUPS, "drop")
    return found.size, Counter((g, v) for g, part in zip(GROUPS, found.values, strict=True) for v in part.tolist())


@pytest.mark.parametrize("made", [lines, labelled])
@pytest.mark.parametrize("how", HOWS)
def test_a_person_is_one_line_at_most_and_her_own(made, how):
    """So one person replaced changes one line, and one who comes adds one: what is proved for rows holds for people."""
    alone = {person: made([person], how)[1] for person in PERSONS}
    assert all(sum(line.values()) <= 1 for line in alone.values())
    assert {sum(line.values()) for line in alone.values()} == {0, 1}
    for table in itertools.product(PERSONS[::2], PERSONS[1::3], PERSONS[::5]):
        size, found = made(table, how)
        assert size == 3
        assert found == sum((alone[person] for person in table), Counter())


def panel(n=900):
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(n), rng.integers(1, 6, n))
    x = np.round(rng.normal(size=n)[ids] + rng.normal(size=ids.size), 2)
    return ids, x, x + rng.normal(size=ids.size), (ids % 2).astype(int)


def test_releases_are_those_of_one_number_per_person():
    ids, x, y, label = panel()
    rows = np.bincount(ids)
    last = np.cumsum(rows) - 1
    most, other = (np.maximum.reduceat(side, last - rows + 1) for side in (x, y))
    own = {"epsilon": 2, "person": ids, "order": np.arange(ids.size), "per_person": "last"}
    by = {"groups": (1, 0)}
    for f in (ut.superiority, ut.median_difference, ut.hodges_lehmann, ut.mann_whitney, ut.kruskal_wallis):
        ours = f(x, label, **by, **own, entropy=ut.SeededEntropy(1))
        assert ours.value == f(x[last], label[last], **by, epsilon=2, entropy=ut.SeededEntropy(1)).value
        assert str(ours.privacy.adjacency) == "substitute, people by person"
    for f in (ut.kendall_tau, ut.correlation, ut.signed_rank):
        ours = f(x, y, epsilon=2, person=ids, per_person="max", entropy=ut.SeededEntropy(1))
        assert ours.value == f(most, other, epsilon=2, entropy=ut.SeededEntropy(1)).value
    counts = ut.median_difference(x, label, **by, epsilon=2, person=ids, per_person="count")
    assert counts.value == int(counts.value)  # whole numbers stay whole


def test_sessions_ask_the_same_and_refuse_people_as_rows():
    ids, x, y, label = panel()
    table = {"id": ids, "x": x, "y": y, "label": label, "at": np.arange(ids.size)}
    session = ut.open(table, person="id", entropy=ut.SeededEntropy(1))
    own = {"epsilon": 2, "person": ids, "missing": "drop"}
    ways = {"per_person": "last", "order": "at"}, {"per_person": "last", "order": table["at"]}
    ours = session.superiority("x", "label", groups=(1, 0), epsilon=2, **ways[0])
    assert ours.value == ut.superiority(x, label, groups=(1, 0), **own, **ways[1], entropy=ut.SeededEntropy(1)).value
    spent = session.spent
    with pytest.raises(ut.InvalidArgument, match=r"^per_person must be given with person"):
        session.kendall_tau("x", "y", epsilon=2)
    with pytest.raises(ut.InvalidArgument, match=r"^public_labels must be False if people"):
        ut.superiority(x, label, groups=(1, 0), **own, per_person="mean", public_labels=True)
    assert session.spent == spent
    assert session.kendall_tau("x", "y", epsilon=2, per_person="mean")
    session = ut.open(table, person="id", entropy=ut.SeededEntropy(1))
    ours = session.kendall_tau("x", "y", epsilon=2, **ways[0])
    assert ours.value == ut.kendall_tau(x, y, **own, **ways[1], entropy=ut.SeededEntropy(1)).value
