"""Synthetic tables: rows drawn from privately measured one-way and two-way tables."""

from uptack.synthesis.private_rows import synthetic
from uptack.synthesis.synthetic_table import ColumnFit, PairFit, SyntheticTable, to_html

__all__ = ["ColumnFit", "PairFit", "SyntheticTable", "synthetic", "to_html"]
