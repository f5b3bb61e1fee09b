"""The constants of synthetic tables: how ρ is shared, and what counts as more than noise. Privacy depends on none.

`benchmarks/synthetic.py --constants` halves and doubles each of them: on four tables no such change helped by more than
about its standard error (`docs/benchmarks.md`).
"""

from __future__ import annotations

from fractions import Fraction

FAILURE = Fraction(1, 10)
"""The share of δ that pays for values and buckets that nobody listed."""
SIZE = Fraction(1, 100)
"""The share of ρ that buys the number of rows, where it is secret."""

# ----------------------------------------------------------------------------------------------------- single columns

SHARES = {"values": 50, "level": 5, "buckets": 18, "cells": 27}
"""How the steps of single columns share their ρ: frequent values, the step and the level of buckets, frequent buckets,
and counts of all cells."""
SINGLE = 12.0
"""Single columns get the share 12·√(σ/n) of ρ, for n rows and the standard deviation σ of a count that has ρ/d, in
rows, for d columns."""
LEAST_SINGLE, LEAST_PAIRS = 0.4, 0.05
"""The least shares of ρ for single columns and for pairs, unless no pair could be seen. With fixed
shares on OFP, Males, DoctorAUS (ε = 1), fair, SLID, 401ksubs and DoctorAUS (ε = 0.5) under substitution, 3 runs each, a
twentieth for pairs had a smaller two-way distance than none in all seven cases, and half of ρ in three."""
COARSER = 0.05
"""The share of rows that a finer step must explain to be chosen."""
FINER = 0.5
"""Log-odds against each further level of buckets. Where few rows are left for them, all levels have nearly the same
score, and at most of them no bucket passes."""
PART = 4.0
"""Standard deviations of noise that a part of a frequent bucket has at least."""
PARTS = 4
"""Bits by which a frequent bucket is split, at most."""
UNBIASED = 2.0
"""Standard deviations above the cutoff from which on the count that made a value frequent is used: nearer to it, the
count is large because it passed."""
SURE, RUN, FAR = 3.0, 3.5, 4.5
"""Standard deviations above 0 from which on cells that need not exist do: a gap or other categories, a run of cells of
a tail, and what looks wrong if it is noise: a single cell of a tail, or missing values."""

# -------------------------------------------------------------------------------------------------------------- pairs

SIZES = (32, 16, 8, 4, 2)
"""Groups of a column in a two-way table, at most."""
ROUNDS = 4.0
"""Rounds that are planned, per edge of a tree that links all columns."""
PICK = Fraction(1, 10)
"""The share of a round that chooses the pair, as in AIM (McKenna, Mullins, Sheldon and Miklau 2022)."""
TAX = 0.4
"""What a measured cell costs, in expected absolute errors of its noise: shrinkage and projection remove the rest."""
DEARER = 4
"""The factor of the price of a round after one that chose to measure nothing: it halves the noise."""
