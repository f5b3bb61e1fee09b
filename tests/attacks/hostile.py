"""Values and tables that are made to break arithmetic."""

import numpy as np

VALUES = (0.0, -0.0, 5e-324, -2.3e-308, 2.0**53 + 1, 1e154, -1e200, 1e308, -1.7976931348623157e308)
"""Numbers that a row may hold."""

NOT_NUMBERS = (np.inf, -np.inf, np.nan)


def _plain(n, columns=2):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(n, columns))
    return x, x.sum(axis=1) + rng.normal(size=n)


def _constant(n):
    x, y = _plain(n)
    x[:, 1] = 7.0
    return x, y


def _equal(n):
    x, y = _plain(n)
    x[:, 1] = x[:, 0]
    return x, y


def _mixed(n):
    x, y = _plain(n)
    x[::3, 0], x[1::5, 1], y[::7], y[3::11] = 1e308, 5e-324, -1e308, 2.0**53 + 1
    return x, y


TABLES = {
    "plain": _plain,
    "zeros": lambda n: (np.zeros((n, 2)), np.zeros(n)),
    "constant": _constant,
    "equal columns": _equal,
    "huge": lambda n: tuple(part * 1e307 for part in _plain(n)),
    "tiny": lambda n: tuple(part * 1e-310 for part in _plain(n)),
    "exact": lambda n: (np.round(_plain(n)[0]), np.round(_plain(n)[0]).sum(axis=1)),
    "mixed": _mixed,
}
"""Designs and responses of n rows."""
