"""Linear fits of rows far out, of numbers beyond all scales."""

import functools
import pickle

import numpy as np
import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE
from uptack.registry import find, names, release


def far(kind, n, rng):
    x = rng.normal(size=n)
    return np.exp(1.5 * x) if kind == "log-normal" else np.where(np.arange(n) < n // 10, 20 * x, x)


@pytest.mark.parametrize("kind", ["log-normal", "a tenth"])
@pytest.mark.parametrize(("n", "epsilon"), [(20_000, 1), (5000, 5), (300_000, 1)])
def test_rows_far_out_on_the_line_are_no_reason_for_no_reply(kind, n, epsilon):
    """They made R so wide that noise covered the intercept and the variance, or counted as lost."""
    rng = np.random.default_rng(1)
    x = far(kind, n, rng)
    y = 3 + x + rng.normal(size=n)
    fits = [ut.linear_regression(x, y, epsilon=epsilon, entropy=SeededEntropy(k)) for k in range(4)]
    replied = [fit for fit in fits if isinstance(fit, ut.Release)]
    assert len(replied) >= 2
    errors = [fit.noise.standard_errors[1] for fit in replied]
    assert np.median(errors) < 5 / np.sqrt(n * min(epsilon, 1))
    assert all(abs(fit.value[1] - 1) < 5 * error for fit, error in zip(replied, errors, strict=True))


@pytest.mark.parametrize("size", [1e150, 1e307])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}], ids=str)
def test_numbers_near_the_end_of_floats_get_no_wrong_reply(size, options):
    """There was a reply of 0.4 for a slope of 1, with a narrow interval, and one of 0 for a column "without scale"."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 2))
    y = x @ [1.0, 1.0] + rng.normal(size=6000)
    for seed in range(4):
        told = {"epsilon": 1, "entropy": SeededEntropy(seed), **options}
        whole = ut.linear_regression(x * size, y * size, **told)
        other = ut.linear_regression(x * [1, size], y, **told)
        assert isinstance(whole, ut.NoReply) or np.abs(whole.value[-2:] - 1).max() < 0.2
        assert isinstance(other, ut.NoReply) or np.abs(other.value[-2:] * [1, size] - 1).max() < 0.2


def test_public_objects_of_files_that_were_split_can_be_pickled():
    found = ut.median(np.arange(3000.0), epsilon=1, adjacency=ADD_REMOVE, entropy=SeededEntropy(1))
    assert str(pickle.loads(pickle.dumps(found)).rows) == str(found.rows)
    kernel = ut.kernels.GaussianKernel(1.0)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_a_function_that_is_dressed_up_as_ours_does_not_get_its_name(monkeypatch):
    monkeypatch.setattr(names, "_DECLARED", dict(names._DECLARED))

    @functools.wraps(ut.median)
    def own(x, *, epsilon):
        return max(x)

    with pytest.raises(InvalidArgument, match="median"):
        release()(own)
    assert find("median").public is ut.median
