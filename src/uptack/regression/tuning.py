"""Every tuning constant of regressions by bounded sums. None has a say in privacy: that follows from the sums alone.

The benchmark behind all of them is `benchmarks/coverage.py`: error over that of the estimator without privacy, and
coverage of 95% intervals, on the designs of `benchmarks/regression_designs.py` with n = 3,000 to 100,000, ε = 1 and 3.
"""

from fractions import Fraction

SHARES = {step: Fraction(percent, 100) for step, percent in {
    "units": 6, "centres": 3, "scatter": 8, "radii": 3, "equations": 17, "spread": 3,
    "radius": 3, "hessian": 9, "second": 12, "near": 3, "far": 6, "variances": 3,
}.items()}  # fmt: skip
"""Parts of ε: for the units of all columns, the scatter matrix, the normal equations, and the far quantile of the
lengths of gradients; centres, other quantiles and variances get 3% each. A loss whose curvature differs between rows
has the Hessian again, and a gradient more. The last gradient gets the rest: half for least squares. Units decide from
how many rows on there is a reply."""

UNIT_ROWS = 35
"""Over the ε of units: the rows that units need for each column that has a private one, and for two columns more. With
fewer, one fit in a hundred has a unit that is off by more than a factor of 4."""

GROSS = 300.0
"""In units of a column, from its centre: a row with a value beyond is a gross error, and is left out. A unit is the
median difference of two rows that differ, 0.95 standard deviations of a normal column. ⊥ where most rows are such."""

RANK = 12.0
"""Over the ε of a draw: the least number of rows beyond a far quantile. One that is drawn alone is far too large with a
chance of e^-6."""

MOST = 0.1
"""The largest part of the rows that are beyond a far quantile: with few rows, instead of that number."""

WIDER = 0.05
"""Rows of a matrix are cut to a length, or farther out while the edge of its noise is below this part of its mean
eigenvalue."""

BALANCE = 0.6
"""Normal equations: what the largest residual weighs beside the largest predictors. About 1/√3 makes the noise of the
Hessian times the step least. With 1 "10% dummy" has 2.6 times the error at n = 3,500."""

NEARER, STEEP = 4.0, 0.8
"""Rows beyond the near quantile of lengths, over those beyond the far one; and how much of the far one the near one is
at most: both are drawn on levels that are 4% apart."""

FAR = 3.0
"""How long the part of a gradient may be that the weight of a row far out leaves out, in clips. The other part is cut
for that, if it has to be, to no less than 1 - 1/3 of a clip. With n = 3,500 slopes of "bend" are covered in 92% of the
runs, and without it in 23%; with room of 3/4 of a clip in 89%. The error of "2% dummy" at n = 20,000 becomes 1.9 in
place of 1.8."""

HELD = 0.5
"""Where gradients that are cut at the far quantile hold less than this part of what the normal equations say of all,
the few rows beyond are taken to hold the rest. At n = 3,500 intervals hold 97% of the intercepts of logistic "rare",
and 27% without it; of the slopes of "no logit" 96%, and 85%."""

FALSE = 0.05
"""The level of the test whether far rows disagree. Without a test, a tenth of the fits of "normal, p = 3" with 20,000
rows had errors 1.7 times as large for nothing."""

HILL, AGREE = 0.5, 4.0
"""The largest index of a tail that is assumed, that of a law with a variance; and how many coefficients a fit may have
for all clipped rows to agree. Up to that many, over p, is the part of the square of what clipping loses that a variance
allows for. With more, rows lie in many directions, and the square of that part counts: with √p/2 in place of p/4 groups
of directions the clip of "normal, p = 20" is so wide that its error is 7% larger. For 3 coefficients a part of 2/3
covers "no logit" in 89% of the runs at n = 3,500, and 1 in 92%."""

NOISE = 0.9
"""Eigenvalues are drawn to their mean by at most this part: what is left has an edge of noise, and so a floor."""

HIDDEN, SHARE, DOUBT = 1.25, 0.1, 0.75
"""In edges of the noise, whose largest eigenvalue may be larger: smaller eigenvalues of a Hessian are hidden. A
coefficient is not resolved where more than the second part of it lies on hidden directions. The third is how many edges
an eigenvalue may be too large by: those at the edge so much that the last step is four times too short. It was 3.5
times for wages on years and their squares with 3,500 rows. Eigenvalues that noise has lifted above 1.25 edges are about
twice too large: without this 87% of the intervals held "2% dummy" at n = 3,000 and ε = 3."""

CONVERGED = 0.5
"""⊥ where the last step is longer than this part of the stride of a loss: it may not have arrived."""

USELESS, AMPLE = 0.6, 1.2
"""⊥ by public numbers where the edge of the scatter matrix would exceed the first part of its mean eigenvalue. What is
advised is the second times the least n."""
