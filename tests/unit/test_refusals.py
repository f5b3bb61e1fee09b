"""⊥ that was paid for: it names the step that gave no answer, and its advice helps whoever follows it."""

import numpy as np
import pytest

import uptack as ut
from uptack.release import Advice, NoReply

ASKS = {
    "median": lambda x, e, s, **o: ut.median(x, epsilon=e, entropy=ut.SeededEntropy(s), **o),
    "quantile": lambda x, e, s, **o: ut.quantile(x, 0.8, epsilon=e, entropy=ut.SeededEntropy(s), **o),
    "quantiles": lambda x, e, s, **o: ut.quantile(x, [0.25, 0.5, 0.75], epsilon=e, entropy=ut.SeededEntropy(s), **o),
    "range": lambda x, e, s, **o: ut.iqr(x, epsilon=e, entropy=ut.SeededEntropy(s), **o),
    "interval": lambda x, e, s, **o: ut.median(x, epsilon=e, interval=0.9, entropy=ut.SeededEntropy(s), **o),
    "mean": lambda x, e, s, **o: ut.mean(x, epsilon=e, entropy=ut.SeededEntropy(s), **o),
}
WAYS = {"": {}, "secret": {"adjacency": ut.ADD_REMOVE}, "drop": {"missing": "drop"}}


def refused(ask, way):
    """A ⊥ that cost something, on the largest table for which one is found."""
    for n in (2000, 1000, 700, 500, 350, 250, 180, 130, 90, 60, 40):
        x = np.random.default_rng(n).normal(50, 10, n)
        for seed in range(5):
            made = ask(x, 1, seed, **way)
            if isinstance(made, NoReply) and made.loss is not None:
                return made
    return None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ASKS)
def test_a_paid_refusal_says_why_and_its_advice_helps(name, way):
    made = refused(ASKS[name], WAYS[way])
    if made is None:
        pytest.skip("public numbers refuse all tables that are too small")
    advice = made.advice
    assert advice.why
    assert repr(made).replace("\n", " ").count(advice.why.split(" among")[0]) == 1
    assert advice.product == pytest.approx(advice.n, rel=0.01)  # ε is 1
    assert "n·ε ≈" in str(advice)
    for seed in range(2):
        x = np.random.default_rng(seed).normal(50, 10, advice.n)
        assert ASKS[name](x, 1, seed, **WAYS[way]), "more rows were advised"
        half = np.random.default_rng(seed).normal(50, 10, 2 * advice.n)
        assert ASKS[name](half, 0.5, seed, **WAYS[way]), "n·ε is what counts"
    assert made.to_dict()["advice"]["n_epsilon"] == advice.product


def test_advice_of_a_test_is_not_always_twice_the_rows():
    """Two thirds of the rows are at one value and the rest at another, so every test fails, however many there are."""
    x = np.where(np.arange(60_000) % 2 == 0, 0.0, 1.0)
    made = ut.median(x, epsilon=1, delta=1e-6, method="ptr", entropy=ut.SeededEntropy(1))
    assert isinstance(made, NoReply)
    assert made.advice.n is None
    assert "method='inverse'" in made.advice.other
    assert "the test failed" in made.reason
    assert ut.median(x, epsilon=1, entropy=ut.SeededEntropy(1))  # which is what it says


def test_a_free_refusal_has_no_step_that_failed():
    made = ut.median(np.arange(10.0), epsilon=1)
    assert made.loss is None
    assert made.advice.why == ""
    assert Advice(n=200, at=0.5).product == 100


def test_a_paid_refusal_of_filtered_rows_advises_no_epsilon():
    """The ε that suits all rows of the table was spent, and how many meet the condition is secret."""
    session = ut.open({"x": np.arange(20_000.0), "clinic": np.arange(20_000) // 10}, entropy=ut.SeededEntropy(1))
    made = session.where("clinic == 3").median("x", epsilon=0.1)
    assert isinstance(made, NoReply)
    assert made.loss is not None
    assert made.advice.epsilon is None
    assert "n·ε ≈" in str(made.advice)
