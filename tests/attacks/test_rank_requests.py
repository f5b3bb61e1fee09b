"""Hostile requests for rank statistics and scatter matrices."""

import numpy as np
import pytest

import uptack as ut
from uptack import SeededEntropy
from uptack.errors import InvalidArgument
from uptack.ranks.rank_data import DEPENDENT


def test_a_list_of_groups_has_an_end():
    """The null law of the test is drawn for every group: a long list would have taken all memory there is."""
    x = np.arange(4000.0)
    with pytest.raises(InvalidArgument, match="2 to 50 distinct labels, got 51"):
        ut.kruskal_wallis(x, x % 51, groups=list(range(51)), epsilon=1)
    assert ut.kruskal_wallis(x, x % 2, groups=[0, 1], epsilon=1, entropy=SeededEntropy(0)).value.pvalue > 0


@pytest.mark.parametrize("ask", [ut.scatter, ut.correlation_matrix], ids=["scatter", "matrix"])
def test_correlations_are_correlations(ask):
    """To the last bit: within [-1, 1], ones on the diagonal, symmetric; with collinear columns too."""
    rng = np.random.default_rng(0)
    for seed in range(6):
        x = rng.normal(size=(4000, 3))
        x[:, 1] = x[:, 0] if seed % 2 else x[:, 1] * 1e100
        found = ask(x, epsilon=3, entropy=SeededEntropy(seed)).value
        matrix = found.correlation if ask is ut.scatter else found.values
        assert np.abs(matrix).max() <= 1
        assert np.diag(matrix).tolist() == [1.0] * 3
        assert (matrix == matrix.T).all()
        assert np.linalg.eigvalsh(matrix)[0] > -1e-9


@pytest.mark.parametrize("rows", [1, 2])
def test_several_rows_of_one_person_are_said_to_be_taken_for_independent(rows):
    rng, told = np.random.default_rng(0), {"epsilon": 4, "rows_per_person": rows, "entropy": SeededEntropy(0)}
    x, y, ward = rng.normal(size=600), rng.normal(size=600), np.arange(600) % 2
    groups = {"groups": (0, 1), **told}
    for found in (
        ut.kendall_tau(x, y, **told),
        ut.correlation_matrix(np.column_stack([x, y]), **told),
        ut.signed_rank(x, **told),
        ut.signed_rank(x, missing="drop", **told),
        ut.superiority(x, ward, **groups),
        ut.mann_whitney(x, ward, **groups),
        ut.kruskal_wallis(x, ward, **groups),
    ):
        assert (DEPENDENT in found.notes) is (rows > 1)
