"""The public names. Renaming or removing one is a decision, not an accident."""

import importlib

import pytest

NAMES = {
    "uptack": """ADD_REMOVE SUBSTITUTE Advice Domain InvalidArgument NoReply NoReplyError Privacy RandomPrivacy Release
        SeededEntropy ShortcutRegression SystemEntropy UptackError aggregate audit count discrete engines errors
        histogram influence interquantile_range iqr limits margins mean median minimax_count_mechanism noise
        optimal_count_mechanism papers plot_coefficients privacy quantile random_dp reach regression
        release_if_stable shortcut_regression sparse_histogram stable_value statistics subsample_aggregate
        trimmed_mean winsorized_mean""",
    "uptack.discrete": """CountMechanism Domain Histogram Margins RiskBody SparseHistogram count histogram margins
        minimax_count_mechanism optimal_count_mechanism risk_body sparse_histogram""",
    "uptack.aggregate": "Plan Vote plan stable_value subsample_aggregate",
    "uptack.papers": "A_dist A_samp M R_S S Scale TM",
    "uptack.audit": "delta_lower_bound epsilon_lower_bound",
    "uptack.regression": "ShortcutRegression plot_coefficients shortcut_regression",
    "uptack.reach": "ArrayColumn Column InterquantileRange LStatistic OrderStatistics Reach Segment",
    "uptack.statistics": "Options interquantile_range iqr mean median quantile trimmed_mean winsorized_mean",
    "uptack.noise": """Bernoulli BernoulliExp Body Box Ellipsoid Entropy Geometric Grid IntegerGaussian IntegerLaplace
        IntegerLaw L1Ball L2Ball LInfBall MachineNumbers SampledBody SeededEntropy SystemEntropy UniformInteger""",
    "uptack.privacy": """ADD_REMOVE SUBSTITUTE Adjacency Privacy RandomPrivacy calibrate cost gaussian_delta
        gaussian_epsilon gaussian_noise_multiplier loss split tight total""",
    "uptack.engines": "exponential gamma gaussian k_norm laplace release_if_stable report_noisy_max",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_there_and_listed(module):
    found = importlib.import_module(module)
    assert set(found.__all__) == set(NAMES[module].split())
    for name in found.__all__:
        assert getattr(found, name).__doc__ or name.isupper()
