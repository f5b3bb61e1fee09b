"""The public names of `uptack.discrete` and where they live."""

from .count_mechanism import CountMechanism as CountMechanism
from .domains import Domain as Domain
from .histograms import Histogram as Histogram
from .histograms import histogram as histogram
from .margin_tables import Margins as Margins
from .margin_tables import margins as margins
from .optimal_mechanisms import RiskBody as RiskBody
from .optimal_mechanisms import minimax_count_mechanism as minimax_count_mechanism
from .optimal_mechanisms import optimal_count_mechanism as optimal_count_mechanism
from .optimal_mechanisms import risk_body as risk_body
from .private_count import count as count
from .sparse_histograms import SparseHistogram as SparseHistogram
from .sparse_histograms import sparse_histogram as sparse_histogram
