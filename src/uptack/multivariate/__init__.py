"""Several columns at once, without bounds on the data."""

from uptack.multivariate.scatter import Scatter, scatter

__all__ = ["Scatter", "scatter"]
