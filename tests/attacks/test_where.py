"""Neighbours inside and outside a condition, with the same tape: nothing but released values may tell them apart."""

import numpy as np
import pytest

import uptack as ut
from uptack import ADD_REMOVE, SUBSTITUTE
from uptack.audit.replay import TapeEntropy, differences, flaws, observe
from uptack.audit.scenario import SessionCall
from uptack.session import Request
from uptack.table.memory.table import MemoryTable

ROWS = 240
RNG = np.random.default_rng(8)
BASE = {
    "x": RNG.normal(50, 10, ROWS).round(1).tolist(),
    "y": RNG.normal(size=ROWS).tolist(),
    "ward": RNG.choice(["in", "out", "other"], ROWS).tolist(),
    "ill": (RNG.random(ROWS) < 0.4).tolist(),
    "id": (np.arange(ROWS) // 2).tolist(),
}
KINDS = {"y": "number", "ward": "text", "ill": "boolean", "id": "integer"}  # x has no type: rows may hold anything


class Hostile:
    """A row whose every method fails."""

    def __getattr__(self, name):
        raise RuntimeError("a row was asked")

    def __eq__(self, other):
        raise RuntimeError("a row was compared")

    __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __float__ = __str__ = __repr__ = __bool__ = __eq__


INSIDE = {"x": 51.0, "y": 0.5, "ward": "in", "ill": True, "id": 0}
NEIGHBOURS = {  # rows that take the place of one row inside the condition
    "another inside": {**INSIDE, "x": 1e308},
    "outside": {**INSIDE, "ward": "out"},
    "outside, elsewhere too": {**INSIDE, "ward": "other", "x": -1e308, "y": 7.0, "ill": False},
    "missing": {**INSIDE, "ward": None},
    "no text": {**INSIDE, "ward": 5},
    "a row of another type": {**INSIDE, "x": "fifty"},
    "a huge number": {**INSIDE, "x": 10**400},
    "a hostile row": {**INSIDE, "x": Hostile()},
    "a hostile label": {**INSIDE, "ward": Hostile()},
    "NaN": {**INSIDE, "x": float("nan")},
}
REQUESTS = [
    Request("median", "x", epsilon=0.5),
    Request("mean", "x", epsilon=3),
    Request("count", "ill", epsilon=0.5),
    Request("count", epsilon=0.5),
    Request("histogram", "ward", epsilon=0.5, keys=["in", None]),
    Request("histogram", "x", epsilon=0.5, edges=[0, 50, 100], outside="clamp"),
    Request("regression", "x", "y", epsilon=9),
    Request("median", "x", epsilon=2, by=["ward", "ill"], groups=[("in", True), ("out", False)]),
    Request("count", epsilon=2, by="ward", groups=["in", "out", None]),
]
CONDITION = {"ward": ("!=", "out"), "x": ("<", 60)}
FREE = frozenset({"⊥", "stamps"})


def with_row(row):
    return {name: [row[name], *column[1:]] for name, column in BASE.items()}


def seen(row, request, given, person, adjacency):
    """All that an analyst sees of one request."""
    table = with_row(row)
    table = table if person else {name: column for name, column in table.items() if name != "id"}
    kinds = {name: KINDS[name] for name in table if name in KINDS}
    session = ut.open(table, types=kinds, entropy=TapeEntropy(1), person=person, adjacency=adjacency)
    part = session.where(given)

    def show():
        return part.describe(), str(part.plan([request])), str(session.spent), part.line(request), repr(part.source)

    return observe(lambda: SessionCall(lambda: part.run(request), show))


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_neighbours_inside_and_outside_look_alike(request_):
    for person, adjacency in ((None, SUBSTITUTE), ("id", SUBSTITUTE), ("id", ADD_REMOVE)):
        reference = seen(INSIDE, request_, CONDITION, person, adjacency)
        assert reference.answer is not None
        assert not flaws(reference)
        for name, row in NEIGHBOURS.items():
            other = seen(row, request_, CONDITION, person, adjacency)
            assert not differences(reference, other, FREE), name


def test_a_session_that_shows_how_many_rows_are_left_is_caught(monkeypatch):
    monkeypatch.setattr(MemoryTable, "size", property(lambda table: table.trues(None)))
    one, other = (seen(row, REQUESTS[0], CONDITION, None, SUBSTITUTE) for row in (INSIDE, NEIGHBOURS["outside"]))
    assert differences(one, other, FREE)


@pytest.mark.parametrize("request_", REQUESTS[:7], ids=str)
def test_rows_outside_have_no_say(request_):
    """Whatever a row outside holds, every value is the same to the last bit."""
    outside = [{**INSIDE, "ward": w, "x": x, "y": y} for w in ("out", None) for x, y in ((1e308, 3.0), ("a", -9.0))]
    for person in (None, "id"):
        answers = {repr(seen(row, request_, {"ward": "in"}, person, SUBSTITUTE).answer) for row in outside}
        assert len(answers) == 1


def test_a_condition_is_never_a_function_or_a_column():
    session = ut.open({"x": BASE["x"], "ward": BASE["ward"]}, types={"x": "number", "ward": "text"})
    for what in (lambda row: True, np.ones(ROWS, bool), BASE["ward"], ("==", np.ones(3)), ("in", lambda: 1), b"in"):
        for name in ("x", "ward"):
            with pytest.raises(ut.InvalidArgument):
                session.where({name: what})
    assert session.spent == ut.Privacy(0)
