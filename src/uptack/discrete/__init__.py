"""Counts, histograms and tables, and the best that any mechanism for counts can do."""

from uptack.discrete.count_mechanism import CountMechanism
from uptack.discrete.counts import count
from uptack.discrete.domains import Domain
from uptack.discrete.histograms import Histogram, histogram
from uptack.discrete.margin_tables import Margins, margins
from uptack.discrete.optimal_mechanisms import RiskBody, minimax_count_mechanism, optimal_count_mechanism, risk_body
from uptack.discrete.sparse_histograms import SparseHistogram, sparse_histogram

__all__ = [
    "CountMechanism",
    "Domain",
    "Histogram",
    "Margins",
    "RiskBody",
    "SparseHistogram",
    "count",
    "histogram",
    "margins",
    "minimax_count_mechanism",
    "optimal_count_mechanism",
    "risk_body",
    "sparse_histogram",
]
