"""Every tuning constant of regressions by bounded sums. None has a say in privacy: that follows from the sums alone.

The benchmark behind all of them is `benchmarks/coverage.py`: error over that of the estimator without privacy, and
coverage of 95% intervals, on the designs of `benchmarks/regression_designs.py` with n = 3,000 to 100,000, ε = 1 and 3.
"""

from fractions import Fraction

SHARES = {
    step: Fraction(percent, 100)
    for step, percent in {
        "units": 6, "centres": 3, "scatter": 8, "radii": 3, "equations": 17, "near": 2, "far": 6, "variances": 2,
        "spread": 2, "radius": 1, "hessian": 9, "second": 12,
    }.items()
}  # fmt: skip
"""Parts of ε: for units and centres of all columns; for the scatter matrix; for the radius and the largest score of
rows, and the normal equations; for two quantiles of the lengths of gradients; for the variances. A loss that has a
spread of residuals measures it twice. One whose curvature differs between rows has the radius and the Hessian again,
and a gradient more. The last gradient gets the rest: more than a half for least squares. Units decide from how many
rows on there is a reply."""

COLUMN_ROWS, OTHER_ROWS = 35, 70
"""Over the ε of units: the rows that each column with a private unit needs, and beside these. With fewer, one fit in a
hundred has a unit that is off by more than a factor of 4."""

GROSS = 300.0
"""In units of a column, from its centre: a row with a value beyond is a gross error, and is left out. A unit is the
median difference of two rows that differ, 0.95 standard deviations of a normal column. ⊥ where most rows are such."""

RANK = 12.0, 16.0
"""Over the ε of a draw: the least number of rows beyond a far quantile, and beyond two in one draw. It is far too large
with a chance of e^-6."""

LONG_ROWS, LONGEST = 0.02, 25.0
"""Rows of the scatter matrix are cut to the squared length d, or to more, up to the second times d, while the noise's
edge is below the first part of its mean eigenvalue."""

BALANCE, BOTH, WIDER, WIDEST = 0.7, 1.3, 0.1, 9.0
"""Normal equations: what the largest residual weighs beside the largest predictors. Rows are cut to a squared length of
the second times that of the radius, or to more, up to the last times that, while the noise's edge is below the
third."""

TAIL_ROWS, NEARER = 3.0, 4.0
"""In root mean squares of the last gradient's noise: rows beyond the far quantile of lengths. The near one has so many
times as many."""

QUIET, NORMAL = 0.4, 2.2
"""A clip that is wider than the tail asks for is free while noise is below the first part of the sampling error. The
near quantile is about the second times √p spreads of residuals, for normal rows."""

HILL, LOST = 0.5, 2.0
"""The largest index of a tail that is assumed, that of a law with a variance; and over p, the part of the square of
what clipping loses, if all clipped rows agree, that a variance allows for."""

HIDDEN, SHARE, SHORT = 1.5, 0.1, 3.0
"""In edges of the noise: smaller eigenvalues of a Hessian are hidden. A coefficient is not resolved where more than the
second part of it lies on hidden directions. Along these the last step is too short, by up to the third times as much:
2.5 times for wages on years and their squares with 3,500 rows."""

CONVERGED = 0.5
"""⊥ where the last step is longer than this part of the stride of a loss: it may not have arrived."""

USELESS, AMPLE = 0.6, 1.2
"""⊥ by public numbers where the edge of the scatter matrix would exceed the first part of its mean eigenvalue. What is
advised is the second times the least n."""
