"""Bad input: one clear typed error that names the argument, and nothing is drawn."""

import math
import pickle

import numpy as np
import pytest

import uptack as ut
from tests.helpers import CountingEntropy
from uptack import mechanisms
from uptack.noise import (
    Bernoulli,
    BernoulliExp,
    Box,
    Ellipsoid,
    Geometric,
    Grid,
    IntegerGaussian,
    IntegerLaplace,
    L2Ball,
    SampledBody,
    UniformInteger,
)
from uptack.registry import declared
from uptack.table.values.entrance import numbers

NAN, INF = float("nan"), float("inf")
ADDITIVE = {
    "laplace": {"sensitivity": 1, "epsilon": 1},
    "gaussian": {"sensitivity": 1, "epsilon": 1, "delta": 1e-6},
    "gamma": {"sensitivity": 1, "epsilon": 1},
    "k_norm": {"sensitivity": 1, "epsilon": 1, "body": L2Ball(2)},
}
CHOICES = {name: {"sensitivity": 1, "epsilon": 1} for name in ("exponential", "report_noisy_max")}
WRONG = [
    ("epsilon", 0),
    ("epsilon", -1.0),
    ("epsilon", NAN),
    ("epsilon", INF),
    ("epsilon", "much"),
    ("epsilon", None),
    ("epsilon", True),
    ("sensitivity", 0),
    ("sensitivity", -3),
    ("sensitivity", NAN),
    ("sensitivity", 1j),
    ("adjacency", "substitute"),
    ("adjacency", None),
    ("entropy", 7),
]


def refused(call, argument):
    entropy = CountingEntropy()
    with pytest.raises(ut.InvalidArgument, match=f"^{argument}.* must be ") as caught:
        pytest.fail(f"{argument}: {call(entropy)}")
    assert caught.value.name == argument
    assert entropy.taken == 0


NO_VALUES = ["abc", [], np.ones((1, 1, 1)), np.array([1j, 2]), np.array(["a", "b"])]


@pytest.mark.parametrize("mechanism", ADDITIVE)
def test_additive(mechanism):
    for argument, value in [*WRONG, *(("value", value) for value in NO_VALUES)]:
        arguments = {"value": [1.0, 2.0], **ADDITIVE[mechanism], argument: value}
        refused(lambda e, given=arguments: getattr(mechanisms, mechanism)(**{"entropy": e, **given}), argument)


@pytest.mark.parametrize("mechanism", CHOICES)
def test_choices(mechanism):
    for argument, value in [*WRONG, ("scores", "no"), ("scores", []), ("candidates", "abc")]:
        arguments = {"candidates": "ab", "scores": [1.0, 2.0], **CHOICES[mechanism], argument: value}
        refused(lambda e, given=arguments: getattr(mechanisms, mechanism)(**{"entropy": e, **given}), argument)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, NAN, 2, "x"])
def test_gaussian_delta(delta):
    refused(lambda e: mechanisms.gaussian(1, sensitivity=1, epsilon=1, delta=delta, entropy=e), "delta")


def test_shapes_and_bodies():
    base = {"sensitivity": 1, "epsilon": 1}
    refused(lambda e: mechanisms.k_norm([1, 2, 3], body=L2Ball(2), entropy=e, **base), "value")
    refused(lambda e: mechanisms.matrix_laplace(np.ones((2, 3)), entropy=e, **base), "value")
    refused(lambda e: mechanisms.matrix_laplace([1, 2], entropy=e, **base), "value")
    refused(lambda e: mechanisms.k_norm([1, 2], body="ball", entropy=e, **base), "body")
    refused(lambda e: mechanisms.gamma([1, 2], covariance=[[1, 0], [0, -1]], entropy=e, **base), "covariance")
    refused(lambda e: mechanisms.gamma([1, 2], covariance=[[1, 2], [0, 1]], entropy=e, **base), "covariance")
    refused(lambda e: mechanisms.laplace(1, granularity=0.3, entropy=e, **base), "step")
    refused(lambda e: mechanisms.laplace(np.zeros(10**4), sensitivity=1, epsilon=1e-9, entropy=e), "epsilon")


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: IntegerLaplace(0), "scale"),
        (lambda: IntegerLaplace(-2), "scale"),
        (lambda: IntegerLaplace(INF), "scale"),
        (lambda: IntegerLaplace(math.nan), "scale"),
        (lambda: IntegerLaplace("a"), "scale"),
        (lambda: IntegerLaplace(2**51), "scale"),
        (lambda: Geometric(-1), "scale"),
        (lambda: IntegerGaussian(0), "variance"),
        (lambda: IntegerGaussian(None), "variance"),
        (lambda: Bernoulli(1.5), "p"),
        (lambda: BernoulliExp(-1), "x"),
        (lambda: UniformInteger(3, 2), "high"),
        (lambda: UniformInteger(0.5, 2), "low"),
        (lambda: Grid(0), "step"),
        (lambda: L2Ball(0), "dimension"),
        (lambda: Box(()), "half_widths"),
        (lambda: Box((1, 0)), "half_widths[1]"),
        (lambda: Ellipsoid([1, 2]), "covariance"),
        (lambda: SampledBody("no", [1]), "sampler"),
        (lambda: SampledBody(lambda e: [0], [0]), "extent"),
        (lambda: ut.SeededEntropy(-1), "seed"),
        (lambda: ut.Privacy(-1), "epsilon"),
        (lambda: ut.Privacy(NAN), "epsilon"),
        (lambda: ut.Privacy(1, 1), "delta"),
        (lambda: ut.Privacy(1, -0.1), "delta"),
        (lambda: ut.Privacy(1, adjacency="remove"), "adjacency"),
        (lambda: ut.RandomPrivacy(1, 0, 1.5), "gamma"),
        (lambda: ut.SUBSTITUTE.per_person(0), "rows_per_person"),
        (lambda: ut.privacy.Adjacency("swap"), "adjacency"),
    ],
)
def test_constructors_name_the_argument(make, argument):
    with pytest.raises(ut.InvalidArgument) as caught:
        make()
    assert caught.value.name == argument
    assert str(caught.value).startswith(f"{argument} must be ")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_no_error_depends_on_the_data():
    for value in ([NAN, 1.0], [INF, -INF], [1e308, -1e308]):
        for mechanism, arguments in ADDITIVE.items():
            assert np.isfinite(getattr(mechanisms, mechanism)(value, **arguments).value).all()
        for mechanism, arguments in CHOICES.items():
            assert getattr(mechanisms, mechanism)("ab", value, **arguments).value in "ab"


@pytest.mark.parametrize("base", [2**53, 2**60, 2**62])
def test_integers_that_floats_cannot_tell_apart_are_not_pulled_apart(base):
    """2^60 + 127 and 2^60 + 129 are 256 apart as floats: noise for a sensitivity of 2 would not hide that."""
    near = [numbers("value", np.array([base + k])).item() for k in range(0, 300, 3)]
    assert max(near) - min(near) <= 300
    assert max(np.diff(near)) <= 3
    assert numbers("value", np.array([2**64 - 1], np.uint64)) == 2**53


def test_messages_never_show_data():
    with pytest.raises(ut.InvalidArgument) as caught:
        mechanisms.laplace(np.array([[["secret"]]]), sensitivity=1, epsilon=1)
    assert "secret" not in str(caught.value)


ROWS = np.random.default_rng(1).normal(size=50)
RELEASES = {
    "median": (ut.median, {"x": ROWS, "epsilon": 1}),
    "mean": (ut.mean, {"x": ROWS, "epsilon": 1}),
    "histogram": (ut.histogram, {"x": ROWS, "epsilon": 1, "edges": [0, 1]}),
    "kde": (ut.kde, {"x": ROWS, "epsilon": 1, "delta": 1e-6, "bandwidth": 1.0}),
    "fourier_density": (ut.fourier_density, {"x": ROWS, "epsilon": 1, "low": 0, "high": 1}),
    "kernel_machine": (
        ut.kernels.kernel_machine,
        {"x": ROWS[:, None], "y": np.sign(ROWS), "loss": "hinge", "epsilon": 1, "delta": 1e-6},
    ),
    "per_group": (
        lambda **options: ut.per_group(ut.median, **options),
        {"x": ROWS, "by": ["a"] * 50, "groups": ["a"], "epsilon": 1},
    ),
    "shortcut_regression": (ut.shortcut_regression, {"x": ROWS, "y": ROWS, "epsilon": 1}),
    "hampel_regression": (ut.hampel_regression, {"x": ROWS, "y": ROWS, "epsilon": 1, "delta": 1e-6}),
}


@pytest.mark.parametrize("release", RELEASES)
def test_releases(release):
    function, arguments = RELEASES[release]
    wrong = [*((a, v) for a, v in WRONG if a != "sensitivity"), ("rows_per_person", 0)]
    if release != "fourier_density":  # it has no δ
        wrong += [("delta", -1), ("delta", 1), ("delta", NAN)]
    for argument, value in wrong:
        given = {**arguments, argument: value}
        refused(lambda e, given=given: function(**{"entropy": e, **given}), argument)


@pytest.mark.parametrize("name", sorted(declared()))
def test_what_is_left_out_is_named(name):
    """The first mistake that anybody makes: not "failed while it read the data"."""
    made = declared()[name]
    with pytest.raises(ut.InvalidArgument) as caught:
        made.public()
    assert caught.value.name in {*made.required, *made.data}
    if "epsilon" in made.required:
        others = {other: [1.0, 2.0] for other in {*made.required, *made.data} - {"epsilon"}}
        with pytest.raises(ut.InvalidArgument, match="epsilon must be given"):
            made.public(**others)
