"""One plain form of a value, from that value alone: what is equal looks alike, whatever a row holds."""

import datetime as dt
import enum
import fractions
import uuid
import zoneinfo
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uptack as ut
from uptack.table.values.kinds import DEEPEST, PLAIN, canonical, in_order

ZONES = [dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=30)), zoneinfo.ZoneInfo("Europe/Paris")]
moments = st.datetimes(min_value=dt.datetime(1900, 1, 1), max_value=dt.datetime(2200, 1, 1))
numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.booleans(),
    st.decimals(allow_nan=False, places=2) | st.decimals(min_value=-10, max_value=10),
    st.fractions(max_denominator=8),
    st.integers(-3, 3).map(np.int8) | st.floats(width=32).map(np.float32) | st.floats(-3, 3).map(np.longdouble),
    st.complex_numbers(max_magnitude=2),
)
times = st.one_of(
    moments,
    moments.map(pd.Timestamp),
    st.builds(lambda m, z, f: m.replace(tzinfo=z, fold=f), moments, st.sampled_from(ZONES), st.sampled_from([0, 1])),
    st.builds(lambda m, z: pd.Timestamp(m.replace(tzinfo=z)), moments, st.sampled_from(ZONES)),
    st.builds(np.datetime64, st.integers(-(2**62), 2**62), st.sampled_from(["D", "h", "s", "ms", "us", "ns", "ps"])),
    st.builds(np.timedelta64, st.integers(-(2**62), 2**62), st.sampled_from(["Y", "D", "s", "ns"])),
    st.dates(),
    st.timedeltas() | st.integers(-(2**60), 2**60).map(pd.Timedelta),
    st.times() | st.builds(lambda t: t.replace(tzinfo=dt.UTC, fold=1), st.times()),
)
leaves = st.one_of(numbers, times, st.text(max_size=3), st.binary(max_size=3), st.sampled_from([None, pd.NA, pd.NaT]))
hashable = st.recursive(leaves, lambda part: st.tuples(part, part) | st.frozensets(numbers, max_size=3), max_leaves=4)
values = st.recursive(hashable, lambda part: st.lists(part, max_size=3) | st.sets(hashable, max_size=3), max_leaves=4)
small = st.sampled_from(
    [
        0,
        0.0,
        -0.0,
        False,
        Decimal("0.00"),
        np.float16(0),
        1,
        1.0,
        True,
        Decimal("1.0"),
        Decimal("1.00"),
        np.int64(1),
        1 + 0j,
    ]
    + [fractions.Fraction(1, 2), 0.5, Decimal("0.50"), "1", b"1", bytearray(b"1"), None, float("nan"), pd.NaT, pd.NA]
    + [dt.datetime(2024, 1, 1, 12, tzinfo=z) for z in ZONES]
    + [dt.datetime(2024, 1, 1, 13, tzinfo=ZONES[2])]
    + [dt.datetime(2024, 1, 1), pd.Timestamp("2024-01-01"), np.datetime64("2024-01-01T00"), dt.date(2024, 1, 1)]
    + [dt.timedelta(1), pd.Timedelta(days=1), np.timedelta64(24, "h"), (1, 2), [1, 2.0], {1, 2}, frozenset({1.0, 2})]
)


@settings(max_examples=150, deadline=None)
@given(values)
def test_canonical_values_stay_as_they_are(value):
    once = canonical(value)
    twice = canonical(once)
    assert (type(twice), repr(twice)) == (type(once), repr(once))
    assert once == twice
    hash(once)
    assert "0x" not in repr(once) or isinstance(value, str | bytes | list | tuple)


@settings(max_examples=300, deadline=None)
@given(small | values, small | values)
def test_canonical_values_that_are_equal_look_alike(first, second):
    a, b = canonical(first), canonical(second)
    if a == b:
        assert hash(a) == hash(b)
        assert (type(a), repr(a)) == (type(b), repr(b))
    else:
        assert in_order(a) != in_order(b)
    assert (in_order(a) < in_order(b)) is (in_order(a) <= in_order(b) and a != b)  # a total order: nothing raises


def test_one_form_for_all_spellings():
    ones = [
        1,
        1.0,
        True,
        Decimal("1.00"),
        np.float32(1),
        np.longdouble(1),
        fractions.Fraction(1),
        1 + 0j,
        np.bool_(True),
    ]
    assert {repr(canonical(v)) for v in ones} == {"1"}
    gone = [None, float("nan"), Decimal("sNaN"), pd.NA, pd.NaT, np.datetime64("NaT"), np.float16("nan"), np.ma.masked]
    assert {canonical(v) for v in gone} == {None}
    noon = [dt.datetime(2024, 6, 1, 12, tzinfo=dt.UTC), dt.datetime(2024, 6, 1, 14, tzinfo=ZONES[2])]
    assert {repr(canonical(v)) for v in [*noon, *map(pd.Timestamp, noon)]} == {repr(noon[0])}
    assert canonical(noon[0].replace(tzinfo=None)) != canonical(noon[0])
    assert {canonical(v) for v in (2**1024, Decimal("1e400"), fractions.Fraction(10**400, 3))} == {float("inf")}
    assert canonical(np.datetime64(2**62, "s")) == str(np.datetime64(2**62, "s"))  # NumPy's own cast gives 1970


class Colour(enum.IntEnum):
    RED = 1


class Nameless:
    pass


class Hostile:
    def __init__(self, error):
        self.error = error

    def __str__(self):
        raise self.error

    __repr__ = __hash__ = __eq__ = __float__ = __int__ = __str__

    def __bool__(self):
        raise self.error


class HostileNumber(float):
    def __float__(self):
        raise ValueError("the row of alice")


class HostileZone(dt.tzinfo):
    def utcoffset(self, when):
        raise RuntimeError("the row of alice")


def test_a_value_of_any_type_has_a_form():
    assert canonical(Colour.RED) == 1
    assert canonical(Nameless()) == canonical(Nameless())
    assert "0x" not in canonical((lambda: 0, object(), [Nameless()]))[0]
    assert canonical(uuid.UUID(int=7)) == "00000000-0000-0000-0000-000000000007"
    assert canonical({"b": 1.0, "a": [2]}) == canonical({"a": (2.0,), "b": True})
    assert canonical(np.array([1, 2.0])) == (1, 2)
    for error in (ValueError("x"), SystemExit(), RecursionError(), GeneratorExit(), KeyboardInterrupt("x")):
        assert isinstance(canonical(Hostile(error)), str)
    assert isinstance(canonical(HostileNumber(3.5)), str)
    assert isinstance(canonical(dt.datetime(2024, 1, 1, tzinfo=HostileZone())), str)
    assert isinstance(canonical(dt.datetime.min.replace(tzinfo=ZONES[1])), str)  # in UTC it would be before year 1
    endless: list = []
    endless.append(endless)
    assert canonical(endless) == canonical([[endless]])


def test_a_type_without_a_name_has_a_form():
    class Meta(type):
        @property
        def __name__(cls):
            raise KeyboardInterrupt("the row of alice")

    class Row(metaclass=Meta):
        __str__ = __repr__ = Hostile.__str__

    assert canonical(Row()) == "Row"


class _Anything:
    """What a row's method may return in place of a plain value: it has no hash, and is no number."""

    __hash__ = None

    def __repr__(self):
        return "a row's own words"

    def __rsub__(self, other):
        return self

    def is_integer(self):
        return False

    def replace(self, **parts):
        return self


class _Unhashable(bytes):
    __hash__ = None


class _Bytes(bytes):
    def __bytes__(self):
        return _Unhashable(b"x")


class _Complex(complex):
    real = property(lambda self: _Anything())


class _Moment(dt.datetime):
    def utcoffset(self):
        return _Anything()


class _NamedByRows(type):
    __name__ = property(lambda cls: _Anything())


class _List(list, metaclass=_NamedByRows):
    pass


def _nested(value, depth):
    return [_nested(value, depth - 1)] if depth else value


@pytest.mark.parametrize("row", [_Bytes(b"q"), _Complex(1), _Moment(2020, 1, 1), _nested(_List(), DEEPEST)])
def test_no_method_of_a_row_makes_a_value_that_is_not_plain(row):
    def parts(value):
        yield value
        for part in value if isinstance(value, tuple | frozenset) else ():
            yield from parts(part)

    assert {type(part) for part in parts(canonical(row))} <= set(PLAIN)

    def release(rows):
        session = ut.open({"x": rows}, entropy=ut.SeededEntropy(1))
        return session["x"].histogram(epsilon=1, delta=1e-6).value

    others = ["a"] * 200
    assert release([*others, row]) == release([*others, "another"])
