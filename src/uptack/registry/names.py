"""Release functions by name. Each name belongs to one function, whatever the order of imports.

Only the modules that are needed are imported. Functions of other packages are found through entry points.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from uptack import checks
from uptack.errors import InvalidArgument

if TYPE_CHECKING:
    from uptack.registry.declaration import Declaration

HOMES = (
    "uptack.statistics",
    "uptack.discrete.histograms",
    "uptack.discrete.independence",
    "uptack.discrete.margin_tables",
    "uptack.discrete.sparse_histograms",
    "uptack.densities.fourier",
    "uptack.densities.kernel_density",
    "uptack.multivariate",
    "uptack.regression",
    "uptack.papers.dwork_lei_estimates",
    "uptack.papers.dwork_roth_stability",
    "uptack.papers.shortcut",
    "uptack.ranks",
    "uptack.synthesis.private_rows",
    "uptack.blocks",
    "uptack.kernels.function_release",
    "uptack.kernels.machine_release",
    "uptack.kernels.spectral_release",
    "uptack.mechanisms",
    "uptack.grouping",
    "uptack.random_dp",
)
"""The modules of this package that declare release functions."""

ENTRY_POINTS = "uptack.statistics"
"""The group of entry points through which other packages are found."""

_DECLARED: dict[str, Declaration] = {}
_READY: dict[str, Declaration] = {}
"""Those of ours whose modules have been imported to their end."""
_LOCK = threading.RLock()
_loaded = False


def enter(made: Declaration) -> None:
    """Register a declaration. A name belongs to the module that registered it first, which may do so again.

    A name must always mean the same function. So no other module may register that name, nor the short name of another
    function. Ours come first: all of them are registered before the first one of another package.
    """
    home = made.function.__module__
    if not all(str(one).startswith("uptack.") for one in _homes(made)):
        _load_ours()
    with _LOCK:
        for other in _DECLARED.values():
            taken = {made.name, made.also} & {other.name, other.also} - {""}
            if taken and (_homes(other), other.name) != (_homes(made), made.name):
                found = f"{min(taken)!r}, which {other.function.__module__}.{other.name} has"
                raise InvalidArgument(f"the name of {home}.{made.name}", "new", found, "One of the two needs another.")
        _DECLARED[made.name] = made


def _homes(made: Declaration) -> tuple[str, Any]:
    """The module that a function names, and the one that its code is in, which `functools.wraps` can't change."""
    return made.function.__module__, getattr(made.function, "__globals__", {}).get("__name__")


def _load_ours() -> None:
    """Import every module of this package that declares release functions."""
    for module in HOMES:
        importlib.import_module(module)


def load() -> None:
    """Import every module that declares release functions once: ours, and those that entry points name.

    No lock is held meanwhile. Another thread may be importing one of them, and needs the lock to register a function.
    """
    global _loaded
    if _loaded:
        return
    _load_ours()
    for point in entry_points(group=ENTRY_POINTS):
        point.load()
    _loaded = True


def functions_of(package: str) -> dict[str, Callable[..., Any]]:
    """The guarded release functions that the modules of a package have declared so far."""
    with _LOCK:
        return {n: d.public for n, d in _DECLARED.items() if d.function.__module__.startswith(f"{package}.")}


def declared() -> dict[str, Declaration]:
    """All release functions by name, in the order in which they are declared."""
    load()
    with _LOCK:
        return dict(_DECLARED)


def _declaration_of(name: str) -> Declaration | None:
    """The release function of that name. Our modules are imported one by one until one of them has declared it."""
    if name in _READY and _READY[name] is _DECLARED.get(name):
        return _READY[name]
    for module in () if _loaded else HOMES:
        with _LOCK:
            found = _DECLARED.get(name)
        if found is not None and (home := found.function.__module__).startswith("uptack."):
            importlib.import_module(home)  # another thread may still be importing it
            _READY[name] = found
            return found
        importlib.import_module(module)
    return declared().get(name)


def in_tables(declaration: Declaration) -> bool:
    """Whether a release function reads columns of a table, so that sessions have it."""
    return declaration.reads is not None


def of_columns(declaration: Declaration) -> bool:
    """Whether a release function can be called with one column."""
    return in_tables(declaration) and declaration.reads.least <= 1


def find(name: object, where: Callable[[Declaration], bool] = lambda _: True) -> Declaration:
    """The declaration of that name, among those that meet a condition."""
    found = _declaration_of(name) if isinstance(name, str) else None
    if found is not None and where(found):
        return found
    known = {n: d for n, d in declared().items() if where(d)}
    name = {d.also: n for n, d in known.items() if d.also}.get(str(name), name)
    if not isinstance(name, str) or name not in known:
        must, fix = f"one of {', '.join(known)}", checks.did_you_mean(name, known)
        raise InvalidArgument("statistic", must, checks.describe(name), fix)
    return known[name]


# -------------------------------------------------------- what people call a statistic in R, pandas, SciPy and SQL

ONE_ROW = "It is the value of one row. A quantile is the private counterpart: quantile with p=0.01 or p=0.99."
ROWS = "Rows are never shown. `synthetic` draws rows that look like them."
SIZE = "describe() shows the number of rows if it is public; else use count."
TYPES = "describe() lists the columns and their types."

OTHER_WORDS = {
    **dict.fromkeys(("min", "max", "minimum", "maximum", "range"), ONE_ROW),
    **dict.fromkeys(("groupby", "group_by", "aggregate", "agg"), "Pass by= to a statistic: median(..., by='ward')."),
    **dict.fromkeys(("value_counts", "tabulate", "unique", "nunique", "mode"), "Use histogram."),
    **dict.fromkeys(("spearman", "spearmanr", "pearson", "pearsonr", "cor", "corr"), "Use correlation or kendall_tau."),
    **dict.fromkeys(("ttest", "t_test", "ttest_ind", "welch"), "Use mean_difference: it has Welch's test."),
    **dict.fromkeys(("wilcoxon", "wilcox_test"), "Use mann_whitney for two groups, signed_rank for pairs."),
    **dict.fromkeys(("lm", "ols"), "Use linear_regression."),
    **dict.fromkeys(("glm", "logit"), "Use logistic_regression or poisson_regression."),
    **dict.fromkeys(("average", "avg"), "Use mean."),
    **dict.fromkeys(("percentile", "quantiles"), "Use quantile, with levels such as 0.95."),
    **dict.fromkeys(("var", "sd"), "Use variance or std."),
    **dict.fromkeys(("filter", "query", "loc"), "Use where: session.where('age >= 18')."),
    **dict.fromkeys(("head", "tail", "sample", "rows", "values", "to_pandas"), ROWS),
    **dict.fromkeys(("n", "nrow", "nrows", "length"), SIZE),
    **dict.fromkeys(("columns", "dtypes", "info", "shape", "size"), TYPES),
}
"""Hints by name. None of the names is one of ours: those that are near to one of ours are found by their letters."""
