"""Rank statistics, contrasts and rank tests as users call them."""

import json
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

import uptack as ut
from uptack.cli import main
from uptack.errors import InvalidArgument
from uptack.ranks.correlations import nearest
from uptack.ranks.null_laws import half_width, tail

RNG = np.random.default_rng(5)
N = 900
X = RNG.normal(size=N)
Y = 0.6 * X + RNG.normal(size=N)
G = np.arange(N) % 3  # 0, 1, 2
Z = X + 0.5 * (G == 1)
TWO = {"groups": (1, 0)}
QUIET = {"epsilon": 10**6}
LABELLED = ("superiority", "rank_biserial", "median_difference", "hodges_lehmann", "mann_whitney", "kruskal_wallis")
WAYS = [{}, {"missing": "drop"}, {"adjacency": ut.ADD_REMOVE}, {"rows_per_person": 3}]


# --------------------------------------------------------------------------------- with hardly any noise they agree


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_tau_is_scipys(way):
    expected = stats.kendalltau(X, Y).statistic
    assert ut.kendall_tau(X, Y, **QUIET, **way).value == pytest.approx(expected, abs=1e-3)
    assert ut.correlation(X, Y, **QUIET, **way).value == pytest.approx(np.sin(np.pi / 2 * expected), abs=2e-3)


def test_tied_pairs_count_as_neither():
    x, y = [0, 0, 1, 1] * 50, [0, 1, 0, 1] * 50
    pairs = 200 * 199 / 2
    concordant, discordant = 50 * 50, 50 * 50
    assert ut.kendall_tau(x, x, **QUIET).value == pytest.approx(100 * 100 / pairs, abs=1e-4)
    assert ut.kendall_tau(x, y, **QUIET).value == pytest.approx((concordant - discordant) / pairs, abs=1e-4)


@pytest.mark.parametrize("way", [*WAYS, {"public_labels": True}, {"public_labels": True, "missing": "drop"}], ids=str)
def test_contrasts_are_those_without_noise(way):
    one, other = Z[G == 1], Z[G == 0]
    share = stats.mannwhitneyu(one, other).statistic / (one.size * other.size)
    given = {**TWO, **QUIET, **way}
    assert ut.superiority(Z, G, **given).value == pytest.approx(share, abs=1e-3)
    assert ut.rank_biserial(Z, G, **given).value == pytest.approx(2 * share - 1, abs=2e-3)
    middle = np.sort(one)[(one.size + 1) // 2 - 1] - np.sort(other)[(other.size + 1) // 2 - 1]
    assert ut.median_difference(Z, G, **given).value == pytest.approx(middle, abs=1e-6)
    assert ut.quantile_difference(Z, G, 0.5, **given).value == pytest.approx(middle, abs=1e-6)
    shift = np.median(one[:, None] - other[None, :])
    assert ut.hodges_lehmann(Z, G, **given).value == pytest.approx(shift, abs=1e-3)


def test_tests_are_scipys_where_there_is_hardly_any_noise():
    near = X + 0.2 * (G == 1)
    one, other = near[G == 1], near[G == 0]
    public = {**QUIET, "public_labels": True}
    expected = stats.mannwhitneyu(one, other, alternative="greater").pvalue
    found = ut.mann_whitney(near, G, **TWO, alternative="greater", **public).value
    assert found.pvalue == pytest.approx(expected, rel=0.05)
    assert ut.signed_rank(Z, **QUIET).value.pvalue == pytest.approx(stats.wilcoxon(Z).pvalue, rel=0.05)
    paired = ut.signed_rank(Z, Y, **QUIET).value
    assert paired.pvalue == pytest.approx(stats.wilcoxon(Z, Y).pvalue, rel=0.05)
    found = ut.kruskal_wallis(X, G, groups=(0, 1, 2), **public).value
    statistic, pvalue = found
    exact = stats.kruskal(X[G == 0], X[G == 1], X[G == 2])
    assert statistic == pytest.approx(exact.statistic, rel=0.01)
    assert pvalue == pytest.approx(exact.pvalue, abs=0.05)


def test_a_matrix_of_correlations(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X, "b": Y, "c": -X})
    found = ut.correlation_matrix(frame, epsilon=1000)
    assert found.value.names == ("a", "b", "c")
    assert found.value["a", "c"] == pytest.approx(-1, abs=0.02)
    assert np.linalg.eigvalsh(found.value.values).min() > -1e-9
    low, high = map(np.array, found.interval(0.9))
    assert (low <= high).all()
    assert low[0, 1] < found.value["a", "b"] < high[0, 1]
    assert json.loads(found.to_json())["value"]["names"] == ["a", "b", "c"]
    plt = pytest.importorskip("matplotlib.pyplot")
    found.value.plot().figure.savefig(tmp_path / "map.png")
    plt.close("all")
    session = ut.open(frame)
    assert session.correlation_matrix("a", "b", epsilon=1).value.names == ("a", "b")


def test_a_matrix_that_is_none_becomes_one():
    made = nearest(np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]))
    assert np.linalg.eigvalsh(made).min() > -1e-9
    assert np.diag(made).tolist() == [1.0, 1.0, 1.0]


# --------------------------------------------------------------------------------------------------------- intervals


def test_half_widths_leave_out_what_they_say():
    for sd, scale in ((1.0, 1.0), (0.0, 2.0), (3.0, 1e-9), (1e-6, 1.0)):
        h = half_width(sd, scale, 0.9)
        assert tail(h, sd, scale) == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("way", [{}, {"adjacency": ut.ADD_REMOVE}], ids=str)
def test_intervals_cover(way):
    """Of 60 intervals at 90%, fewer than 41 cover with a chance below 1e-6 if each covers with 90%."""
    rng, hits = np.random.default_rng(8), dict.fromkeys(("tau", "superiority", "difference"), 0)
    truth = {"tau": 2 / np.pi * np.arcsin(0.5), "superiority": stats.norm.cdf(0.4 / 2**0.5), "difference": 0.4}
    for seed in range(60):
        x = rng.normal(size=(700, 2))
        y = 0.5 * x[:, 0] + 0.75**0.5 * x[:, 1]
        g = (rng.random(700) < 0.5).astype(int)
        shifted, options = x[:, 0] + 0.4 * g, {"epsilon": 2, "entropy": ut.SeededEntropy(seed), **way}
        made = {
            "tau": ut.kendall_tau(x[:, 0], y, **options).interval(0.9),
            "superiority": ut.superiority(shifted, g, **TWO, **options).interval(0.9),
        }
        if seed < 10:
            options["epsilon"] = 4
            made["difference"] = ut.median_difference(shifted, g, **TWO, interval=0.9, **options).interval(0.9)
        for name, (low, high) in made.items():
            hits[name] += low <= truth[name] <= high
    assert hits["tau"] >= 41
    assert hits["superiority"] >= 41
    assert hits["difference"] == 10  # they are conservative


# ----------------------------------------------------------------------------------------------------- hostile values

HOSTILE = [0.0, -0.0, 5e-324, 2.0**53, 2.0**53 + 2, 1.7e308, -1.7e308, np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("function", ["kendall_tau", "correlation"])
@pytest.mark.parametrize("way", [{}, {"adjacency": ut.ADD_REMOVE}], ids=str)
def test_hostile_pairs(function, way):
    x = np.array(HOSTILE * 40)
    made = getattr(ut, function)(x, x[::-1].copy(), epsilon=5, missing="drop", **way)
    assert -1 <= made.value <= 1
    assert np.isfinite(made.interval()).all()


@pytest.mark.parametrize("function", LABELLED)
@pytest.mark.parametrize("way", [{}, {"adjacency": ut.ADD_REMOVE}, {"public_labels": True}], ids=str)
def test_hostile_groups(function, way):
    x, labels = HOSTILE * 80, [1, 0, None, 1.0, "1", True, Decimal(0), 7] * 100
    made = getattr(ut, function)(x, labels, **TWO, epsilon=5, missing="drop", **way)
    value = made.value if function not in ("mann_whitney", "kruskal_wallis") else made.value.pvalue
    assert made
    assert np.isfinite(value)


def test_ties_everywhere():
    x, g = np.full(600, 7.0), np.arange(600) % 2
    assert abs(ut.kendall_tau(x, x, epsilon=5).value) < 0.1
    assert ut.superiority(x, g, **TWO, epsilon=5).value == pytest.approx(0.5, abs=0.1)
    assert ut.median_difference(x, g, **TWO, epsilon=5).value == pytest.approx(0, abs=1e-3)
    assert ut.hodges_lehmann(x, g, **TWO, epsilon=5).value == pytest.approx(0, abs=1e-3)
    assert 0 < ut.mann_whitney(x, g, **TWO, epsilon=5).value.pvalue <= 1


@pytest.mark.parametrize("function", ["kendall_tau", "correlation", "signed_rank"])
def test_missing_values_are_an_error_for_the_curator(function):
    x = [1.0, float("nan")] * 100
    with pytest.raises(InvalidArgument, match="free of NaN and infinities"):
        getattr(ut, function)(x, x, epsilon=1)


def test_lists_with_none_and_wide_integers():
    x = [None, 2**70, -(2**70), 1, 2] * 60
    assert ut.kendall_tau(x, x, epsilon=5, missing="drop").value > 0.5


@pytest.mark.parametrize("function", [*LABELLED, "kendall_tau"])
def test_few_or_no_rows_are_no_reply(function):
    more = TWO if function in LABELLED else {}
    for n, way in ((0, {}), (1, {}), (0, {"adjacency": ut.ADD_REMOVE})):
        assert not getattr(ut, function)([1.0] * n, [0] * n, epsilon=0.5, **more, **way)


# -------------------------------------------------------------------------------------------------------------- misuse


@pytest.mark.parametrize("groups", ["ab", (1,), (1, 1.0), (1, None), 3, (0, 1, 2)])
def test_groups_must_be_two_distinct_labels(groups):
    with pytest.raises(InvalidArgument, match="groups must be"):
        ut.superiority(Z, G, groups=groups, epsilon=1)


def test_lengths_and_tables():
    with pytest.raises(InvalidArgument, match="as long as"):
        ut.kendall_tau(X, Y[:-1], epsilon=1)
    with pytest.raises(InvalidArgument, match="as long as"):
        ut.superiority(X, G[:-1], **TWO, epsilon=1)
    with pytest.raises(InvalidArgument, match="at least 2 columns"):
        ut.correlation_matrix(X[:, None], epsilon=1)
    with pytest.raises(InvalidArgument, match="alternative"):
        ut.signed_rank(X, epsilon=1, alternative="bigger")


def test_people_need_one_number_each():
    for name in ("kendall_tau", "superiority", "median_difference"):
        with pytest.raises(InvalidArgument, match="per_person must be given with person="):
            getattr(ut, name)(X, G, epsilon=1, person=G, **(TWO if name != "kendall_tau" else {}))


def test_labels_are_public_only_where_that_can_be():
    with pytest.raises(InvalidArgument, match="public_labels must be False under ADD_REMOVE"):
        ut.superiority(Z, G, **TWO, epsilon=1, public_labels=True, adjacency=ut.ADD_REMOVE)
    session = ut.open({"z": Z, "g": G})
    with pytest.raises(InvalidArgument, match="public_labels must be False in a session"):
        session.superiority("z", "g", **TWO, epsilon=1, public_labels=True)
    note = ut.superiority(Z, G, **TWO, epsilon=1, public_labels=True).notes
    assert note == ("The labels are taken to be public, so only the values are protected.",)


# ------------------------------------------------------------------------------------------- sessions, command line


def test_sessions():
    session = ut.open({"x": X, "y": Y, "g": G, "t": np.where(G == 1, "b", "a")})
    assert abs(session.kendall_tau("x", "y", epsilon=2).value - stats.kendalltau(X, Y).statistic) < 0.2
    assert session.superiority("x", "t", groups=("b", "a"), epsilon=2)
    assert session.quantile_difference("x", "g", 0.4, groups=(1, 0), epsilon=2)
    assert 0 <= session["x"].signed_rank(epsilon=1).value.pvalue <= 1
    assert not session.mann_whitney("x", "g", **TWO, epsilon=0.001)
    assert session.spent == ut.Privacy(7)  # what public numbers refuse is free
    with pytest.raises(InvalidArgument, match="of type integer"):
        session.superiority("x", "g", groups=("b", "a"), epsilon=1)
    with pytest.raises(InvalidArgument, match="of type integer, number"):
        session.kendall_tau("x", "t", epsilon=1)
    with pytest.raises(AttributeError, match="Did you mean 'kendall_tau'"):
        session.kendal_tau("x", "y", epsilon=1)
    assert "superiority" in dir(session)
    assert session.spent == ut.Privacy(7)


def test_commands(tmp_path, capsys):
    pytest.importorskip("ibis")
    path = tmp_path / "t.csv"
    rows = (f"{x:.4f},{y:.4f},{'ab'[g % 2]}" for x, y, g in zip(X, Y, G, strict=True))
    path.write_text("\n".join(["x,y,ward", *rows]) + "\n")
    for words in (
        ["kendall-tau", path, "x", "y"],
        ["correlation-matrix", path, "x", "y"],
        ["superiority", path, "x", "ward", "--group", "b", "--group", "a"],
        ["median-difference", path, "x", "ward", "--group", "b", "--group", "a"],
        ["mann-whitney", path, "x", "ward", "--group", "b", "--group", "a", "--alternative", "less"],
        ["signed-rank", path, "x"],
    ):
        assert main([*map(str, words), "--epsilon", "2", "--json"]) == 0, words
        assert json.loads(capsys.readouterr().out)["reply"]
