"""A warning, an error or a type that depends on one row is an answer without noise.

Every statistic of one column is run on neighbours whose rows are as hostile as floats and integers get, with the same
randomness; whatever can be seen but for the value must be the same, and there must be no warning at all.
"""

import warnings

import numpy as np
import pytest

import uptack as ut
from uptack.mechanisms.inverse_sensitivity import boxes
from uptack.noise import MachineNumbers
from uptack.reach import LStatistic
from uptack.table.values.kinds import LARGEST

N = 2500
STATISTICS = {
    "median": ut.median,
    "median with an interval": lambda x, **o: ut.median(x, interval=0.9, **o),
    "quartiles": lambda x, **o: ut.quantile(x, [0.25, 0.75], **o),
    "close quantiles": lambda x, **o: ut.quantile(x, [0.5, 0.51], **o),
    "iqr": ut.iqr,
    "trimmed mean": ut.trimmed_mean,
    "winsorized mean": ut.winsorized_mean,
    "mean": ut.mean,
}
OPTIONS = {
    "plain": {},
    "a tiny granularity": {"granularity": "1e-75"},
    "a small granularity": {"granularity": "1e-15"},
    "cents": {"granularity": "0.01"},
    "a huge granularity": {"granularity": "1e75"},
    "ptr": {"method": "ptr", "delta": 1e-6},
    "dwork-lei": {"method": "dwork-lei", "delta": 1e-6},
    "add-remove": {"adjacency": ut.ADD_REMOVE},
    "low": {"missing": "low"},
    "low, in cents": {"missing": "low", "granularity": "0.01"},
    "high": {"missing": "high", "granularity": 1},
    "drop": {"missing": "drop"},
    "a number": {"missing": 1e308},
}
HOSTILE = (0.0, -0.0, 5e-324, 2.0**53, -1e15, 1e76, -1e78, 1e300, -1e308, LARGEST, -LARGEST)


def seen(ask, x, **options):
    """All that can be observed of a release but for its value."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = ask(x, entropy=ut.SeededEntropy(3), **options)
        except Exception as error:
            return type(error), str(error), error.__context__, [str(w.message) for w in caught]
    value = made.value
    shape = None if value is None else (type(value), getattr(value, "dtype", None), np.shape(value))
    told = getattr(made, "notes", None), getattr(made, "advice", None)
    return type(made), shape, made.privacy, made.loss, made.mechanism, *told, [str(w.message) for w in caught]


def columns(some):
    """Columns of N rows: a common part, and one row that is replaced by each hostile one."""
    rng = np.random.default_rng(1)
    tied = np.repeat([18.0, 2.0**53, 1e300], [1000, 1000, N - 2000])
    for base in (rng.normal(size=N), tied, rng.choice(HOSTILE, N), np.full(N, -LARGEST))[some]:
        yield base
        for value in (2.0**53, 1e300, -LARGEST, 5e-324):
            yield np.r_[value, base[1:]]


@pytest.mark.parametrize("given", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("ask", STATISTICS.values(), ids=STATISTICS)
def test_nothing_but_the_value_depends_on_a_row(ask, given):
    """Each statistic meets each option, and both of them all columns: in each case a mean all, and others half."""
    half = (list(STATISTICS.values()).index(ask) + list(OPTIONS.values()).index(given)) % 2
    some = slice(None) if ask is STATISTICS["mean"] else slice(half, None, 2)  # of some columns it has no reply
    looks = [seen(ask, x, epsilon=40 if "delta" in given else 2, **given) for x in columns(some)]
    assert all(look[-1] == [] for look in looks)
    if "delta" in given or ask is STATISTICS["mean"]:  # a test may refuse by the data: that is what its ε is for
        looks = [look for look in looks if look[0] is not ut.NoReply]
    assert looks[0][0] is not ut.NoReply
    assert all(look == looks[0] for look in looks)


@pytest.mark.parametrize("given", [{}, {"granularity": 3}, {"missing": "drop"}], ids=str)
def test_integers_at_the_ends_of_their_type_are_quiet(given):
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        limits = np.iinfo(dtype)
        base = np.resize(np.array([limits.min, limits.max, limits.max, 1], dtype), N)
        for x in (base, np.r_[np.array([0], dtype), base[1:]]):
            for name, ask in STATISTICS.items():
                if "granularity" not in given or name != "mean":
                    assert seen(ask, x, epsilon=2, **given)[-1] == [], (name, dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("missing", ["low", "drop", 0])
def test_other_floats_are_quiet(dtype, missing):
    base = np.random.default_rng(2).normal(size=N).astype(dtype)
    for value in (np.finfo(dtype).max, -np.finfo(dtype).max, np.finfo(dtype).tiny, dtype(np.nan), dtype(np.inf)):
        x = base.copy()
        x[0] = value
        looks = [seen(ask, x, epsilon=2, missing=missing) for ask in STATISTICS.values()]
        assert looks == [seen(ask, base, epsilon=2, missing=missing) for ask in STATISTICS.values()]
        assert all(look[-1] == [] for look in looks)


def test_a_threshold_hidden_in_a_granularity_tells_nothing():
    """x / (T / 1.8e308) overflows iff some row is above T."""
    for cut in (10.0, 1000.0):
        looks = [
            seen(ask, np.r_[top, np.zeros(N)], epsilon=2, granularity=cut / LARGEST)
            for ask in (ut.median, STATISTICS["quartiles"])
            for top in (cut / 2, 2 * cut)
        ]
        assert all(look[:1] == (ut.InvalidArgument,) for look in looks)
        assert len(set(map(str, looks))) == 1


@pytest.mark.parametrize("widen", [0.0, 0.5, 5e74])
def test_boxes_of_the_largest_floats_are_quiet_and_private(widen):
    """Rows at ±1.8e308 and ranks past the table's ends are at the ends of the lattice, widened or not."""
    lattice = MachineNumbers()
    rows = np.r_[np.full(20, -LARGEST), np.zeros(3), np.full(18, LARGEST)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine, others = (
            boxes([LStatistic.quantile(x, 21, 25)], 25, lattice, widen=widen) for x in (rows, np.r_[LARGEST, rows[1:]])
        )
    assert mine.lows.min() == -lattice.top
    assert mine.highs.max() == lattice.top
    for a, b in ((mine, others), (others, mine)):
        assert (a.lows[:, 1:] <= b.lows[:, :-1]).all()
        assert (a.highs[:, 1:] >= b.highs[:, :-1]).all()
