"""Synthetic tables: rows drawn from privately measured one-way and two-way tables."""

from uptack.synthesis.private_rows import synthetic
from uptack.synthesis.synthetic_page import to_html
from uptack.synthesis.synthetic_table import ColumnFit, PairFit, SyntheticTable

__all__ = ["ColumnFit", "PairFit", "SyntheticTable", "synthetic", "to_html"]
