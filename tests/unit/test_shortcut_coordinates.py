"""The short cut in round coordinates, and blocks that outliers in x do not carry away."""

from fractions import Fraction

import numpy as np
import pytest

import uptack as ut
from tests.attacks.hostile import TABLES, VALUES
from uptack.multivariate.standardise import Frame
from uptack.noise import SeededEntropy
from uptack.papers.block_fits import finite, fit_blocks
from uptack.papers.hampel_fit import minimiser, normalise
from uptack.papers.shortcut import Coordinates

FRAME = Frame((0, 1), np.array([4.0, 0.5]), np.array([-3.0, 7.0]))
TURNED = Coordinates(FRAME, np.array([[1.0, 0, 0], [0.5, 2.0, 0], [-0.25, 1.5, 0.125]]), Fraction(0))


def _slanted(n, seed=0, p=5):
    """Columns that are nearly combinations of each other, on scales from 1e-3 to 1e4, far from 0."""
    rng = np.random.default_rng(seed)
    power = np.abs(np.subtract.outer(np.arange(p - 1), np.arange(p - 1)))
    scales = np.geomspace(1e-3, 1e4, p - 1)
    x = (rng.normal(size=(n, p - 1)) @ np.linalg.cholesky(0.95**power).T + 5) * scales
    beta = np.append(2.0, 1 / scales)
    return x, beta[0] + x @ beta[1:] + rng.normal(size=n), beta


def _error(x, beta, found):
    return float(np.sqrt(np.mean((np.column_stack([np.ones(len(x)), x]) @ (found - beta)) ** 2)))


@pytest.mark.parametrize("leading", [True, False])
def test_coefficients_come_back_in_the_units_of_the_table(leading):
    rng = np.random.default_rng(1)
    x, beta = rng.normal(size=(50, 2)) * [3, 0.2] + [1, 2], np.array([1.0, -2.0, 3.0])[0 if leading else 1 :]
    start = np.column_stack([np.ones(50), x]) if leading else x
    data = finite(x, start @ beta, leading)
    frame = FRAME if leading else Frame((0, 1), FRAME.units, np.zeros(2), leading=False)
    turned = Coordinates(frame, TURNED.matrix if leading else TURNED.matrix[1:, 1:], Fraction(0))
    fit = np.linalg.lstsq(turned.transform(data).x, data.y, rcond=None)[0]
    assert turned.back(fit) == pytest.approx(beta)


@pytest.mark.parametrize("name", TABLES)
def test_a_row_has_the_same_coordinates_beside_any_others(name):
    x, y = TABLES[name](64)
    data = finite(x[:, :2], y, True)
    z = TURNED.transform(data).x
    assert np.isfinite(z).all()
    for value in VALUES:
        other = data.x.copy()
        other[5, 1:] = value
        changed = TURNED.transform(finite(other[:, 1:], y, True)).x
        assert (changed[np.arange(64) != 5] == z[np.arange(64) != 5]).all()
    part = finite(x[9:20, :2], y[9:20], True)
    assert (TURNED.transform(part).x == z[9:20]).all()


def test_round_coordinates_mend_slanted_columns_of_any_scale():
    x, y, beta = _slanted(20_000)
    asked = {"epsilon": 1, "entropy": SeededEntropy(1)}
    plain, mended = (ut.shortcut_regression(x, y, coordinates=c, **asked) for c in ("columns", "scatter"))
    assert plain.value is None or _error(x, beta, plain.value) > 5 * _error(x, beta, mended.value)
    assert _error(x, beta, mended.value) < 0.15  # least squares: 0.016
    assert mended.privacy <= ut.Privacy(1)
    assert mended.labels == ("intercept", "x0", "x1", "x2", "x3")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "drop"},
        {"adjacency": ut.ADD_REMOVE},
        {"method": "ptr", "delta": 1e-3, "epsilon": 40},
        {"rows_per_person": 2},
        {"person": np.arange(20_000) // 2},
        {"fit_intercept": False},
    ],
    ids=lambda options: next(iter(options)),
)
def test_every_kind_of_question_can_ask_for_them(options):
    x, y, beta = _slanted(20_000, p=3)
    leading = options.get("fit_intercept", True)
    y = y if leading else y - beta[0]
    asked = {"epsilon": 6, "coordinates": "scatter", "entropy": SeededEntropy(2)} | options
    made = ut.shortcut_regression(x, y, **asked)
    assert made.privacy <= ut.Privacy(asked["epsilon"], options.get("delta", 0), made.privacy.adjacency)
    found = made.value if leading else np.append(beta[0], made.value)
    assert _error(x, beta, found) < 0.2


def test_too_few_rows_cost_nothing_and_constant_columns_get_no_reply():
    x, y, _ = _slanted(20_000)
    few = ut.shortcut_regression(x[:1000], y[:1000], epsilon=1, coordinates="scatter")
    assert few.value is None
    assert few.privacy == ut.Privacy(0)
    n = few.advice.n
    assert ut.shortcut_regression(*_slanted(n)[:2], epsilon=1, coordinates="scatter", entropy=SeededEntropy(3))
    x[:, 1] = 7.0
    assert ut.shortcut_regression(x, y, epsilon=1, coordinates="scatter", entropy=SeededEntropy(3)).value is None


def test_standard_errors_are_those_of_the_columns():
    with pytest.raises(ut.InvalidArgument, match="linear_regression"):
        ut.shortcut_regression(np.zeros((9, 1)), np.zeros(9), epsilon=1, coordinates="scatter", standard_errors=True)
    with pytest.raises(ut.InvalidArgument, match="coordinates"):
        ut.shortcut_regression(np.zeros((9, 1)), np.zeros(9), epsilon=1, coordinates="round")


@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_block_of_hampel_is_the_exact_minimiser(p):
    rng = np.random.default_rng(p)
    x, y = rng.normal(size=(21, p)), rng.normal(size=21)
    x[:3] *= 1e4
    u, v = normalise(x, y)
    (found,) = fit_blocks(u, v, np.arange(21)[None], "lad")
    assert found == pytest.approx([float(b) for b in minimiser(u, v)], abs=1e-6)


def test_outliers_in_x_do_not_carry_hampel_away():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20_000, 2))
    y = 1 + x @ [1.0, -2.0] + rng.normal(size=20_000)
    clean = x.copy()
    x[:2000] = 1e4
    beta, found = np.array([1.0, 1.0, -2.0]), {}
    for kind in ("huber", "hampel"):
        made = ut.shortcut_regression(x, y, epsilon=2, block_fit=kind, coordinates="scatter", entropy=SeededEntropy(1))
        found[kind] = np.inf if made.value is None else _error(clean, beta, made.value)
    assert found["hampel"] < 0.5 < found["huber"]
