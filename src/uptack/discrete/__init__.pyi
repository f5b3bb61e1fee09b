"""The public names of `uptack.discrete` and where they live."""

from .count_mechanism import CountMechanism as CountMechanism
from .count_mechanism import RiskBody as RiskBody
from .count_mechanism import minimax_count_mechanism as minimax_count_mechanism
from .count_mechanism import optimal_count_mechanism as optimal_count_mechanism
from .count_mechanism import risk_body as risk_body
from .domains import Domain as Domain
from .histograms import Histogram as Histogram
from .histograms import count as count
from .histograms import histogram as histogram
from .independence import chi_square as chi_square
from .margin_tables import Margins as Margins
from .margin_tables import margins as margins
from .sparse_histograms import SparseHistogram as SparseHistogram
from .sparse_histograms import sparse_histogram as sparse_histogram
