"""Linear fits of rows far out, of numbers beyond all scales, and what hostile rows add to steps with wild numbers."""

import functools
import itertools
import pickle

import numpy as np
import pytest

import uptack as ut
from uptack.errors import InvalidArgument
from uptack.multivariate.bounded import LENGTH
from uptack.multivariate.rows import MatrixRows, summed
from uptack.multivariate.standardise import Frame
from uptack.multivariate.terms import Vectors
from uptack.noise import SeededEntropy
from uptack.privacy import ADD_REMOVE
from uptack.registry import find, names, release
from uptack.regression.check_loss import Check
from uptack.regression.fit_model import Model
from uptack.regression.fit_state import FitState
from uptack.regression.huber_loss import HuberLoss
from uptack.regression.intercept_level import clipped_residuals
from uptack.regression.logistic_loss import LogisticLoss
from uptack.regression.newton_steps import NewtonStep
from uptack.regression.poisson_diagnostics import known_ends
from uptack.regression.poisson_loss import PoissonLoss
from uptack.regression.residual_tails import on_line, one_sided, shown

ODD = (0.0, -0.0, 5e-324, 1.0, 7.0, -9.0, 2.0**53 + 2, 1e200, 1.7e308, -1.7e308)
HOSTILE = np.array(list(itertools.product(ODD, repeat=3))).T
WILD = tuple(map(np.array, ([0.0, 0.0], [1.0, -1.0], [1e300, 1e300], [1.7e308, 1.7e308], [np.inf, 0.0], [np.nan, 1.0])))


def model(loss):
    return Model(Frame((0, 1, 2), np.ones(3), np.zeros(3), leading=False), np.eye(2), 1.0, 50, loss)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("beta", WILD, ids=str)
@pytest.mark.parametrize("part", [on_line, shown, one_sided, clipped_residuals])
def test_shares_of_rows_are_integers_of_an_interval_of_one_length(part, beta):
    for s, constant in itertools.product((1e-70, 1.0, 1e70), (0.0, 1e300, np.inf)):
        told = (constant,) if part in (on_line, shown) else ()
        found = part(model(HuberLoss()), HOSTILE, beta, s, *told)
        assert (found == np.rint(found)).all()
        assert max(found.max(), 0) - min(found.min(), 0) <= LENGTH


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("beta", WILD, ids=str)
@pytest.mark.parametrize(
    "loss", [HuberLoss(), Check(0.3), LogisticLoss(), PoissonLoss()], ids=lambda loss: type(loss).__name__
)
def test_slopes_are_integers_whatever_was_released_before(loss, beta):
    """κ was NaN where η was: a sum of that is no sum that a row moves by Λ."""
    vectors, bends = model(loss).slopes(HOSTILE, beta, 1.0, True)
    assert (np.square(vectors).sum(axis=0) <= LENGTH**2).all()
    assert ((bends >= 0) & (bends <= LENGTH)).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("beta", WILD, ids=str)
def test_ends_of_counts_are_integers_whatever_was_released_before(beta):
    class Seen(Exception):
        pass

    class Looking(MatrixRows):
        def sums(self, step):
            for terms, least in zip(step(HOSTILE), (-LENGTH / 2, 0, 0), strict=True):
                assert isinstance(terms, Vectors)
                assert ((terms.values >= least) & (terms.values <= least + LENGTH)).all()
            assert len(summed(step, HOSTILE)) == 3
            raise Seen

    account = ut.account.Account.open("ends", 1, entropy=SeededEntropy(1))
    step = NewtonStep(beta, beta, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, np.zeros((2, 2)))
    fit = FitState(model(PoissonLoss()), step, None, None)
    with pytest.raises(Seen):
        known_ends(Looking(HOSTILE, np.ones(HOSTILE.shape[1], bool)), fit, PoissonLoss(), account)


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
    assert len(replied) >= 3
    errors = [fit.noise.standard_errors[1] for fit in replied]
    assert np.median(errors) < 1.2 / np.sqrt(n * min(epsilon, 1))
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
