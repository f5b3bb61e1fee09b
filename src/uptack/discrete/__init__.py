"""Counts, histograms and tables, and the best that any mechanism for counts can do."""

from uptack.columns.tally import Tally
from uptack.discrete.counts import count
from uptack.discrete.domains import Domain
from uptack.discrete.histograms import Histogram, histogram
from uptack.discrete.mechanism import CountMechanism
from uptack.discrete.optimal import RiskBody, minimax_count_mechanism, optimal_count_mechanism, risk_body
from uptack.discrete.sparse import SparseHistogram, sparse_histogram
from uptack.discrete.tables import Margins, margins

__all__ = [
    "CountMechanism",
    "Domain",
    "Histogram",
    "Margins",
    "RiskBody",
    "SparseHistogram",
    "Tally",
    "count",
    "histogram",
    "margins",
    "minimax_count_mechanism",
    "optimal_count_mechanism",
    "risk_body",
    "sparse_histogram",
]
