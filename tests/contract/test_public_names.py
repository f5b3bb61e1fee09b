"""The public names. Renaming or removing one is a decision, not an accident."""

import importlib

import pytest

NAMES = {
    "uptack": """ADD_REMOVE Advice BudgetExceeded Domain HampelRegression InvalidArgument KernelRegressor
        KernelSVC Ledger LinearRegression LogisticRegression NoReply NoReplyError PoissonRegressor Privacy
        QuantileRegressor RandomPrivacy Release Request SUBSTITUTE SeededEntropy Session ShortcutRegression
        SystemEntropy UptackError
        audit blocks connect count densities discrete ecdf errors fourier_density hampel_regression histogram
        influence interquantile_range iqr kde kernels limits linear_regression
        logistic_regression margins poisson_regression quantile_regression
        mean mechanisms median minimax_count_mechanism
        multivariate noise open optimal_count_mechanism papers per_group plot_coefficients privacy quantile
        random_dp reach regression release_if_stable report scatter shortcut_regression sparse_histogram
        stable_value statistics subsample_aggregate synthetic table trimmed_mean winsorized_mean
        chi_square correlation correlation_matrix hodges_lehmann kendall_tau kruskal_wallis mann_whitney mean_difference
        median_difference quantile_difference rank_biserial ranks signed_rank superiority""",
    "uptack.ranks": """correlation correlation_matrix hodges_lehmann kendall_tau kruskal_wallis mann_whitney
        mean_difference median_difference quantile_difference rank_biserial signed_rank superiority""",
    "uptack.discrete": """CountMechanism Domain Histogram Margins RiskBody SparseHistogram chi_square count histogram
        margins minimax_count_mechanism optimal_count_mechanism risk_body sparse_histogram""",
    "uptack.blocks": "BlockPlan Vote plan stable_value subsample_aggregate",
    "uptack.papers": """A_dist A_samp HampelRegression M R_H R_S S Scale ShortcutRegression TM hampel_regression
        shortcut_regression""",
    "uptack.audit": """Scenario delta_lower_bound draws epsilon_lower_bound hostile least_epsilon
        price prices replay""",
    "uptack.multivariate": "Scatter scatter",
    "uptack.regression": """LinearRegression LogisticRegression PoissonRegressor QuantileRegressor
        linear_regression logistic_regression plot_coefficients poisson_regression quantile_regression""",
    "uptack.reach": "InterquantileRange LStatistic Reach Segment",
    "uptack.statistics": "Options ecdf interquantile_range iqr mean median quantile trimmed_mean winsorized_mean",
    "uptack.noise": """Bernoulli BernoulliExp Body Box Ellipsoid Entropy Geometric Grid IntegerGaussian
        IntegerLaplace IntegerLaw L1Ball L2Ball LInfBall MachineNumbers SampledBody
        SeededEntropy SystemEntropy UniformInteger""",
    "uptack.privacy": """ADD_REMOVE Adjacency Concentrated Privacy RandomPrivacy SUBSTITUTE
        concentrated_epsilon concentrated_rho cost fair_scale fair_shares gaussian_delta gaussian_epsilon
        gaussian_noise_multiplier loss tight total zcdp""",
    "uptack.mechanisms": "exponential gamma gaussian k_norm laplace matrix_laplace release_if_stable report_noisy_max",
    "uptack.kernels": """Curve DensityCurve Expansion ExponentialKernel FourierBasis FourierDensity FunctionRelease
        GaussianKernel Kernel KernelMachine KernelRegressor KernelSVC KernelSum Matern32 Matern52
        SpectralRelease kernel_machine plot_regions release_function release_spectral
        sobolev_norm""",
    "uptack.densities": "fourier_density kde",
    "uptack.table": "Column MemoryTable Table guess_types open_table",
    "uptack.ledger": "Entry Fault Head Ledger Verification",
    "uptack.session": "Plan PlannedRelease Request Session SessionColumn open",
    "uptack.report": """SectionTable ColumnProfile Division Figure Output Part Profile Section SectionAnswer divide plan
        profile register report to_html to_json to_markdown to_text write""",
    "uptack.synthesis": "ColumnFit PairFit SyntheticTable synthetic to_html",
    "uptack.samples": "load path",
    "uptack.cli": "main run",
}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_there_and_listed(module):
    found = importlib.import_module(module)
    rooms = ("uptack.statistics", "uptack.regression")
    extra = {name for name in found.__all__ if module in rooms and hasattr(getattr(found, name), "declaration")}
    assert set(found.__all__) - extra <= set(NAMES[module].split()) <= set(found.__all__)  # a declaration is a decision
    for name in found.__all__:
        assert getattr(found, name).__doc__ or name.isupper() or name == "Kind"
