"""The public names of uptack and where they live. `uptack/__init__.py` reads this list when it is imported."""

from typing import Any

from uptack import audit as audit
from uptack import blocks as blocks
from uptack import columns as columns
from uptack import data as data
from uptack import densities as densities
from uptack import discrete as discrete
from uptack import errors as errors
from uptack import influence as influence
from uptack import kernels as kernels
from uptack import limits as limits
from uptack import mechanisms as mechanisms
from uptack import multivariate as multivariate
from uptack import noise as noise
from uptack import papers as papers
from uptack import privacy as privacy
from uptack import random_dp as random_dp
from uptack import ranks as ranks
from uptack import reach as reach
from uptack import regression as regression
from uptack import statistics as statistics
from uptack.blocks import stable_value as stable_value
from uptack.blocks import subsample_aggregate as subsample_aggregate
from uptack.densities import fourier_density as fourier_density
from uptack.densities import kde as kde
from uptack.discrete import Domain as Domain
from uptack.discrete import count as count
from uptack.discrete import histogram as histogram
from uptack.discrete import margins as margins
from uptack.discrete import minimax_count_mechanism as minimax_count_mechanism
from uptack.discrete import optimal_count_mechanism as optimal_count_mechanism
from uptack.discrete import sparse_histogram as sparse_histogram
from uptack.errors import BudgetExceeded as BudgetExceeded
from uptack.errors import InvalidArgument as InvalidArgument
from uptack.errors import NoReplyError as NoReplyError
from uptack.errors import UptackError as UptackError
from uptack.groups import per_group as per_group
from uptack.kernels import KernelRegressor as KernelRegressor
from uptack.kernels import KernelSVC as KernelSVC
from uptack.ledger import Ledger as Ledger
from uptack.mechanisms import release_if_stable as release_if_stable
from uptack.multivariate import scatter as scatter
from uptack.noise import SeededEntropy as SeededEntropy
from uptack.noise import SystemEntropy as SystemEntropy
from uptack.privacy import ADD_REMOVE as ADD_REMOVE
from uptack.privacy import SUBSTITUTE as SUBSTITUTE
from uptack.privacy import Privacy as Privacy
from uptack.privacy import RandomPrivacy as RandomPrivacy
from uptack.ranks import correlation as correlation
from uptack.ranks import correlation_matrix as correlation_matrix
from uptack.ranks import hodges_lehmann as hodges_lehmann
from uptack.ranks import kendall_tau as kendall_tau
from uptack.ranks import kruskal_wallis as kruskal_wallis
from uptack.ranks import mann_whitney as mann_whitney
from uptack.ranks import median_difference as median_difference
from uptack.ranks import quantile_difference as quantile_difference
from uptack.ranks import rank_biserial as rank_biserial
from uptack.ranks import signed_rank as signed_rank
from uptack.ranks import superiority as superiority
from uptack.regression import HampelRegression as HampelRegression
from uptack.regression import LinearRegression as LinearRegression
from uptack.regression import ShortcutRegression as ShortcutRegression
from uptack.regression import hampel_regression as hampel_regression
from uptack.regression import linear_regression as linear_regression
from uptack.regression import plot_coefficients as plot_coefficients
from uptack.regression import shortcut_regression as shortcut_regression
from uptack.release import Advice as Advice
from uptack.release import NoReply as NoReply
from uptack.release import Release as Release
from uptack.report import report as report
from uptack.session import Request as Request
from uptack.session import Session as Session
from uptack.session import open as open
from uptack.statistics import ecdf as ecdf
from uptack.statistics import interquantile_range as interquantile_range
from uptack.statistics import iqr as iqr
from uptack.statistics import mean as mean
from uptack.statistics import median as median
from uptack.statistics import quantile as quantile
from uptack.statistics import trimmed_mean as trimmed_mean
from uptack.statistics import winsorized_mean as winsorized_mean

__version__: str

def __getattr__(name: str) -> Any: ...  # statistics that are public by their declaration
