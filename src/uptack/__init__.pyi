"""The public names of uptack and where they live. `uptack/__init__.py` attaches them when it is imported."""

import typing

from . import audit as audit
from . import blocks as blocks
from . import densities as densities
from . import discrete as discrete
from . import errors as errors
from . import influence as influence
from . import kernels as kernels
from . import limits as limits
from . import mechanisms as mechanisms
from . import multivariate as multivariate
from . import noise as noise
from . import papers as papers
from . import privacy as privacy
from . import random_dp as random_dp
from . import ranks as ranks
from . import reach as reach
from . import regression as regression
from . import report as _report
from . import statistics as statistics
from . import table as table
from .blocks import stable_value as stable_value
from .blocks import subsample_aggregate as subsample_aggregate
from .client import connect as connect
from .densities import fourier_density as fourier_density
from .densities import kde as kde
from .discrete import Domain as Domain
from .discrete import chi_square as chi_square
from .discrete import count as count
from .discrete import histogram as histogram
from .discrete import margins as margins
from .discrete import minimax_count_mechanism as minimax_count_mechanism
from .discrete import optimal_count_mechanism as optimal_count_mechanism
from .discrete import sparse_histogram as sparse_histogram
from .errors import BudgetExceeded as BudgetExceeded
from .errors import InvalidArgument as InvalidArgument
from .errors import NoReplyError as NoReplyError
from .errors import UptackError as UptackError
from .grouping import per_group as per_group
from .kernels import KernelRegressor as KernelRegressor
from .kernels import KernelSVC as KernelSVC
from .ledger import Ledger as Ledger
from .mechanisms import release_if_stable as release_if_stable
from .multivariate import scatter as scatter
from .noise import SeededEntropy as SeededEntropy
from .noise import SystemEntropy as SystemEntropy
from .papers import HampelRegression as HampelRegression
from .papers import ShortcutRegression as ShortcutRegression
from .papers import hampel_regression as hampel_regression
from .papers import shortcut_regression as shortcut_regression
from .privacy import ADD_REMOVE as ADD_REMOVE
from .privacy import SUBSTITUTE as SUBSTITUTE
from .privacy import Privacy as Privacy
from .privacy import RandomPrivacy as RandomPrivacy
from .ranks import correlation as correlation
from .ranks import correlation_matrix as correlation_matrix
from .ranks import hodges_lehmann as hodges_lehmann
from .ranks import kendall_tau as kendall_tau
from .ranks import kruskal_wallis as kruskal_wallis
from .ranks import mann_whitney as mann_whitney
from .ranks import mean_difference as mean_difference
from .ranks import median_difference as median_difference
from .ranks import quantile_difference as quantile_difference
from .ranks import rank_biserial as rank_biserial
from .ranks import signed_rank as signed_rank
from .ranks import superiority as superiority
from .regression import LinearRegression as LinearRegression
from .regression import LogisticRegression as LogisticRegression
from .regression import PoissonRegressor as PoissonRegressor
from .regression import QuantileRegressor as QuantileRegressor
from .regression import linear_regression as linear_regression
from .regression import logistic_regression as logistic_regression
from .regression import plot_coefficients as plot_coefficients
from .regression import poisson_regression as poisson_regression
from .regression import quantile_regression as quantile_regression
from .release import Advice as Advice
from .release import NoReply as NoReply
from .release import Release as Release
from .session import Request as Request
from .session import Session as Session
from .session import open as open
from .statistics import ecdf as ecdf
from .statistics import interquantile_range as interquantile_range
from .statistics import iqr as iqr
from .statistics import mean as mean
from .statistics import median as median
from .statistics import quantile as quantile
from .statistics import trimmed_mean as trimmed_mean
from .statistics import winsorized_mean as winsorized_mean
from .synthesis import synthetic as synthetic

__version__: str
report = _report.report  # the module, which is called as its function

def __getattr__(name: str) -> typing.Any: ...  # statistics that are public by their declaration
