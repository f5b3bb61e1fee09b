"""The public names. Renaming or removing one is a decision, not an accident."""

import importlib

import pytest

NAMES = {
    "uptack": """ADD_REMOVE SUBSTITUTE Advice InvalidArgument NoReply NoReplyError Privacy RandomPrivacy Release
        SeededEntropy ShortcutRegression SystemEntropy UptackError audit engines errors influence interquantile_range
        iqr mean median noise papers plot_coefficients privacy quantile reach regression shortcut_regression statistics
        trimmed_mean winsorized_mean""",
    "uptack.papers": "M S Scale TM",
    "uptack.audit": "delta_lower_bound epsilon_lower_bound",
    "uptack.regression": "ShortcutRegression plot_coefficients shortcut_regression",
    "uptack.reach": "InterquantileRange LStatistic OrderStatistics Reach Segment",
    "uptack.statistics": "Options interquantile_range iqr mean median quantile trimmed_mean winsorized_mean",
    "uptack.noise": """Bernoulli BernoulliExp Body Box Ellipsoid Entropy Geometric Grid IntegerGaussian IntegerLaplace
        IntegerLaw L1Ball L2Ball LInfBall MachineNumbers SampledBody SeededEntropy SystemEntropy UniformInteger""",
    "uptack.privacy": """ADD_REMOVE SUBSTITUTE Adjacency Privacy RandomPrivacy calibrate cost gaussian_delta
        gaussian_epsilon gaussian_noise_multiplier loss split tight total""",
    "uptack.engines": "exponential gamma gaussian k_norm laplace report_noisy_max",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_there_and_listed(module):
    found = importlib.import_module(module)
    assert set(found.__all__) == set(NAMES[module].split())
    for name in found.__all__:
        assert getattr(found, name).__doc__ or name.isupper()
