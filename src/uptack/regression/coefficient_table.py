"""A table of coefficients in text: as many digits as their standard errors have, one decimal point below the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uptack.table.exact_sum import Floats

DIGITS = 3
"""Significant digits of a standard error. Estimates and intervals have as many decimals as it."""

LONGEST, LARGEST = 8, 1e9
"""Beyond so many decimals, or for larger numbers, there are powers of ten."""


def head(percent: float) -> tuple[str, ...]:
    """What is above the columns."""
    return "", "estimate", "std. error", "z", f"{percent:g}% interval", ""


def lines(
    names: Sequence[str], values: Floats, errors: Sequence[float], ends: Sequence[Floats], remarks: Sequence[str]
) -> list[tuple[str, ...]]:
    """One line per coefficient: its name, estimate, standard error, z, interval and a remark.

    >>> import numpy as np
    >>> low, high = np.array([10498.5, -148.03]), np.array([12775.8, -121.45])
    >>> value = np.array([11637.13, -134.739])
    >>> for line in lines(["intercept", "depth"], value, [580.2, 6.774], [low, high], ["", ""]):
    ...     print("|".join(line))
    intercept|11637   |580   |20.06|10498    to 12776   |
    depth| -134.74|  6.77|-19.89| -148.03 to  -121.45|
    """
    known = [math.isfinite(error) for error in errors]
    estimates = [_written(v, e if math.isfinite(e) else abs(v) / 10) for v, e in zip(values, errors, strict=True)]
    sizes = [_written(e, e) if ok else "∞" for e, ok in zip(errors, known, strict=True)]
    low, high = ([_written(v, e) if ok else "" for v, e, ok in zip(end, errors, known, strict=True)] for end in ends)
    spans = [f"{a} to {b}" if ok else "" for a, b, ok in zip(_pointed(low), _pointed(high), known, strict=True)]
    ratios = [f"{v / e:.2f}" if ok else "" for v, e, ok in zip(values, errors, known, strict=True)]
    return list(zip(names, _pointed(estimates), _pointed(sizes), ratios, spans, remarks, strict=True))


def _written(value: float, error: float) -> str:
    """A number with the decimals of its error.

    >>> _written(11637.13, 580.2), _written(0.0123456, 0.000123), _written(3.2e-12, 1.1e-13)
    ('11637', '0.012346', '3.2e-12')
    """
    short = f"{value:.{_digits(value, error)}g}"
    if error <= 0 or max(abs(value), error) >= LARGEST:
        return short
    decimals = max(DIGITS - 1 - math.floor(math.log10(error)), 0)
    return f"{value:.{decimals}f}" if decimals <= LONGEST else short


def _digits(value: float, error: float) -> int:
    """How many digits a number has down to the last one of its error, where that is no decimal; at least six.

    >>> _written(1e9 + 5.88, 3.0), _written(0.123456789012, 1.23e-10)
    ('1000000005.88', '0.123456789012')
    """
    if value == error:
        return DIGITS
    if not (0 < abs(value) < math.inf and 0 < error < math.inf):
        return 6
    return min(max(math.floor(math.log10(abs(value))) - math.floor(math.log10(error)) + DIGITS, 6), 17)


def _pointed(cells: Sequence[str]) -> list[str]:
    """Numbers with spaces around them, so that decimal points are below each other; powers of ten end as they do."""
    parts = [
        (cell, "") if "e" in cell else (cell.partition(".")[0], cell[len(cell.partition(".")[0]) :]) for cell in cells
    ]
    left, right = (max((len(part[i]) for part in parts), default=0) for i in (0, 1))
    return [whole.rjust(left) + rest.ljust(right) for whole, rest in parts]


def align_cells(table: Sequence[Sequence[str]]) -> list[str]:
    """Lines of text: names and remarks to the left, the rest to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    last = len(widths) - 1
    return [
        "  ".join(
            c.ljust(w) if i in (0, last) else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
