"""One declaration per release function, beside its code. Everything else about the function is derived from it.

    @release(reads=COLUMN, by=per_group, plan=ranks)
    def trimean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply: ...

Its options are those of its signature. The session's method, the request, the plan, the command, the audit's cases, the
contract tests and the line in the reference follow from the declaration. A user's package declares a function in the
same way. It is found through the entry point group `uptack.statistics`, or when its module is imported.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import numpy as np

from uptack import checks
from uptack.errors import Failed, InvalidArgument, UnknownOption, UptackError
from uptack.interrupts import Stop, watched
from uptack.privacy import Privacy
from uptack.privacy.loss import Loss
from uptack.registry import names, options
from uptack.registry.options import Call, Flag, Option, enter_people, options_of

P = ParamSpec("P")
T = TypeVar("T")
Enter = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

EXAMPLES = {
    "epsilon": "Such as epsilon=1.",
    "delta": "Such as delta=1e-6.",
    "p": "Such as p=0.9.",
    "groups": "Such as groups=('a', 'b').",
}
"""What an error adds about a missing argument."""

OTHER_NAMES = {
    **dict.fromkeys(("bins", "range", "breaks"), "edges"),
    **dict.fromkeys(("eps", "budget"), "epsilon"),
    **dict.fromkeys(("q", "probs", "quantiles"), "p"),
    **dict.fromkeys(("groupby", "group_by", "group"), "by"),
    **dict.fromkeys(("confidence", "confidence_level", "conf_level", "ci", "level"), "interval"),
    **dict.fromkeys(("bounds", "limits", "lower", "upper"), "plausible"),
    **dict.fromkeys(("seed", "random_state", "rng"), "entropy"),
    **dict.fromkeys(("na_rm", "skipna", "dropna", "nan_policy"), "missing"),
    **dict.fromkeys(("id", "ids", "user", "user_id", "privacy_unit"), "person"),
    **dict.fromkeys(("categories", "values"), "keys"),
    **dict.fromkeys(("freq", "step", "resample"), "every"),
    "value": "equals",
    "trim": "cut",
    "proportiontocut": "cut",
}
"""Names that other libraries have for our options."""

Planner = Callable[[Mapping[str, Any], Privacy, int], str]
"""The expected error in words, from the given options, the highest cost and the public number of rows; "" if it depends
on the data."""

Spender = Callable[[Mapping[str, Any], Privacy, int], Loss | None]
"""The loss of a release from the same arguments, before it is made; None if only its cost is known."""

Runner = Callable[..., Any]
"""Runs a function for each group of a table: `uptack.grouping.per_group`, which is passed in, not imported."""


SECTIONS = {
    "statistics": "Statistics of one column",
    "discrete": "Counts",
    "ranks": "Comparisons and correlations",
    "multivariate": "Regression and other models",
    "regression": "Regression and other models",
    "papers": "Regression and other models",
    "blocks": "Regression and other models",
    "kernels": "Regression and other models",
    "densities": "Densities",
}
"""Where `uptack --help` and the pages of a server list the functions of each folder."""
OTHER = "Other releases"
CLAUSE = ", with |, without |, which |: |; |, or ⊥"
"""Where the first clause of a summary ends. Lists of functions show no more of it."""


@dataclass(frozen=True)
class Declaration:
    """A release function, with what sessions, plans, commands, the audit and the reference need to know about it.

    - `data` names the arguments that hold data. `reads` says which columns of a table they are; it is None for a
      function that takes something else (a value, a user's function).
    - `by` runs the function for each group, if that is possible.
    - `missing` says whether missing values may be replaced ("replace") or only left out ("drop"); None if the function
      has no such option.
    - `plan` and `spends` describe the error and the loss of a release before it is made.
    - `examples` are calls without their data. The audit makes its cases from them.
    - `page` is its page in the docs, that of its name if there is none. `also` is a shorter name in sessions and
      commands.
    - `statistic` describes it for `uptack.influence`, from its levels.
    - `people` says whether it is proved for people (`uptack.registry.options`).
    - `public` is the guarded function, as users call it.
    """

    function: Callable[..., Any]
    data: tuple[str, ...] = ("x",)
    reads: Any = None
    by: Runner | None = None
    missing: str | None = "replace"
    plan: Planner | None = None
    examples: tuple[Mapping[str, Any], ...] = ({},)
    page: str = ""
    also: str = ""
    statistic: Callable[..., Any] | None = None
    spends: Spender | None = None
    people: Flag = False
    public: Callable[..., Any] = field(init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.function.__name__

    @functools.cached_property
    def options(self) -> tuple[Option, ...]:
        """Its options, from its signature, with those about groups and people that it supports."""
        added = (*(options.GROUPING if self.by else ()), *options_of(self.people, self.reads))
        unsupported = {*options.GROUPING, *options.PEOPLE} - {*added, *self._parameters}
        own = [
            option
            for option in options.options_of_signature(self.function, self.data)
            if option.name not in unsupported
        ]
        names = {option.name for option in own}
        return (*own, *(options.KNOWN[name] for name in added if name not in names))

    @functools.cached_property
    def allowed(self) -> tuple[str, ...]:
        """The names of its options."""
        return tuple(option.name for option in self.options)

    @functools.cached_property
    def grouping(self) -> tuple[str, ...]:
        """The options about groups, which the function itself does not get."""
        pure = options.unpacked_keys(self.function) == options.PURE_GROUPING
        return () if not self.by else options.PURE_GROUPING if pure else options.GROUPING

    @functools.cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @functools.cached_property
    def positional(self) -> tuple[str, ...]:
        """The names of its positional arguments."""
        return tuple(name for name, p in self._parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD)

    @functools.cached_property
    def takes_any(self) -> bool:
        """Whether it passes unknown options on to another function."""
        return options.unpacked_keys(self.function) == ()

    @functools.cached_property
    def required(self) -> tuple[str, ...]:
        """The names of its arguments without a default."""
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(name for name, p in self._parameters.items() if p.default is p.empty and p.kind not in variable)

    def check_positional(self, arguments: Sequence[Any], given: Mapping[str, Any]) -> None:
        """Refuses too many positional arguments, and one that is given twice. Their number is public."""
        more, fix = any(p.kind is p.VAR_POSITIONAL for p in self._parameters.values()), ""
        table, names = arguments[:1], arguments[1:]
        is_table = any(isinstance(one, str | Mapping) or hasattr(one, "columns") for one in table)
        if self.reads is not None and is_table and names and all(isinstance(name, str) for name in names):
            call = f"{self.name}({', '.join(map(repr, names))}, ...)"
            fix = f"Columns are named in a session: uptack.open(data).{call}."
        elif "epsilon" in self.allowed and "epsilon" not in given:
            fix = "Pass options by name, such as epsilon=1."
        checks.positional(self.name, self.positional, arguments, given, more=more, fix=fix)

    def check_required(self, arguments: Sequence[Any], given: Mapping[str, Any]) -> None:
        """Refuses a call without a required argument, by name."""
        for name in self.required:
            if name not in given and name not in self.positional[: len(arguments)]:
                raise InvalidArgument(name, f"given to {self.name}", "nothing", EXAMPLES.get(name, ""))

    @property
    def path(self) -> str:
        """Where users find it: "uptack.median", or in its room, "uptack.mechanisms.laplace"."""
        package, *rooms = self.function.__module__.split(".")
        top = package != "uptack" or hasattr(importlib.import_module(package), self.name)
        return ".".join([package, self.name] if top else [package, rooms[0], self.name])

    @property
    def section(self) -> str:
        """The topic that it is listed under, for people."""
        package, *rooms = self.function.__module__.split(".")
        return SECTIONS.get(rooms[0], OTHER) if package == "uptack" and rooms else OTHER

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuses unknown options by name, and arrays in place of one value."""
        for name in () if self.takes_any else given:
            if name not in self.allowed and name not in self.data and name not in options.PEOPLE:
                ours = OTHER_NAMES.get(str(name), "")
                near = f"Did you mean {ours!r}?" if ours in self.allowed else checks.did_you_mean(name, self.allowed)
                fix = near or f"Its options are {', '.join(self.allowed)}."
                if name in ("data", "df") and "formula" in self.allowed:
                    fix = f"The data are the second argument: {self.name}('y ~ x', data, ...)."
                elif name in ("data", "df"):
                    fix = f"Columns are named in a session: uptack.open(data).{self.name}(...)."
                elif name in ("by", "groupby", "group_by") and "labels" in self.data:
                    place = ("first", "second", "third")[self.positional.index("labels")]
                    fix = f"Groups are the {place} argument, and groups= lists them."
                elif ours == "edges" and ours in self.allowed:
                    fix += " It takes public edges, as in edges=[0, 20, 40, 60]; list categories with keys=."
                raise UnknownOption(str(name), self.name, fix)
        for name, value in given.items():
            if name in options.SINGLE and name not in self.data:
                option = options.KNOWN.get(name) or Option(str(name))
                checks.single(name, value, option.must, option.fix)


# ----------------------------------------------------------------------------------------------------------- the guard


class _Silence:
    """Python's warnings are ignored while a thread is inside. The filters are the process's, so threads are counted."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._outer: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._outer = warnings.catch_warnings()
                self._outer.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._outer.__exit__()


SILENCE = _Silence()


def guard(release: Callable[P, T]) -> Callable[P, T]:
    """The function behind the guard: nothing leaves it, besides the released value, that depends on rows.

    Inside a release a row may overflow, divide by zero or make a library warn, and an engine's error may show a cell.
    None of that may be seen. So around every release

    - NumPy's floating-point errors and Python's warnings are silent;
    - an error of ours (`UptackError`), whose text is made from public things, leaves without the errors behind it;
    - any other error becomes `Failed`, which says nothing about the rows; also KeyboardInterrupt, SystemExit and
      GeneratorExit, which a row's own methods can raise;
    - what the handler of a signal raised leaves, without anything behind it (`uptack.interrupts`).

    `UPTACK_DEBUG=1` in the environment, for work on uptack itself, lets every error through unchanged.

    Errors are raised after the `except` block. Inside it Python would keep the first error as the context of the
    second, `from None` or not, and with it the rows.
    """

    def run(arguments: tuple[Any, ...], options: dict[str, Any]) -> T:
        failure: BaseException
        try:
            with SILENCE, np.errstate(all="ignore"):
                return release(*arguments, **options)
        except Stop:
            raise
        except (UptackError, ImportError) as error:
            failure = error
        except BaseException:
            if os.environ.get("UPTACK_DEBUG") == "1":
                raise
            failure = Failed(release.__name__)
        failure.__cause__ = failure.__context__ = None
        raise failure.with_traceback(None)

    @functools.wraps(release)
    def behind(*arguments: P.args, **options: P.kwargs) -> T:
        return watched(lambda: run(arguments, options))

    return behind


# ------------------------------------------------------------------------------------------------------------ declaring


def release(*, enter: Enter | None = None, **stated: Any) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Declare a release function by the fields of its `Declaration`. Returns the guarded function.

    With `by=per_group` it also takes `by`, `groups` and `share` (`uptack.grouping`). `enter` gets the arguments of
    every call first, before rows get their owners, and may transform the data row by row.
    """

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        declaration = Declaration(function, **stated)

        @functools.wraps(function)
        def public(*arguments: Any, **given: Any) -> Any:
            if "formula" in declaration.allowed:
                arguments, given = _with_formula(arguments, given)
            declaration.check(given)
            declaration.check_positional(arguments, given)
            if enter is not None:
                arguments, given = enter(arguments, given)
            grouping = {name: given.pop(name, None) for name in declaration.grouping}
            call = enter_people(declaration, arguments, given, grouping.get("by"))
            declaration.check_required(call.arguments, call.given)
            return (
                _per_group(declaration, call, grouping) if declaration.by else function(*call.arguments, **call.given)
            )

        behind = guard(public)
        object.__setattr__(declaration, "public", behind)
        behind.declaration = declaration  # type: ignore[attr-defined]
        names.enter(declaration)
        return behind

    return declare


def _with_formula(arguments: tuple[Any, ...], given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with its formula as an option and the data in front, however they are given: `f("y ~ x", frame)`,
    `f("y ~ x", data=frame)` and `f(formula="y ~ x", data=frame)`."""
    if not arguments and "data" in given and given.get("formula") is not None:
        return (given["data"],), {name: value for name, value in given.items() if name != "data"}
    if not arguments or not isinstance(arguments[0], str) or "~" not in arguments[0]:
        return arguments, given
    if given.get("formula") is not None:
        raise InvalidArgument("formula", "given once", "two formulas")
    data = (given["data"],) if "data" in given else ()
    others = {name: value for name, value in given.items() if name != "data"}
    return (*data, *arguments[1:]), {**others, "formula": arguments[0]}


def _per_group(declaration: Declaration, call: Call, grouping: Mapping[str, Any]) -> Any:
    """The function once for each group, or once if there is no `by`."""
    by, given = grouping["by"], {name: v for name, v in grouping.items() if name != "by" and v is not None}
    if "delta" in given and (by is None or given.get("groups") is not None):
        fix = f"{declaration.name} itself needs no δ."
        raise InvalidArgument("delta", "left out unless groups are unknown", checks.describe(given["delta"]), fix)
    if by is None:
        for name, value in given.items():
            raise InvalidArgument(name, "left out without by=", checks.describe(value))
        return declaration.function(*call.arguments, **call.given)
    given, most = {**call.given, **given}, len(declaration.data)
    data, others = call.arguments[:most], call.arguments[most:]
    data += tuple(given.pop(name) for name in declaration.data[len(data) :] if name in given)

    @functools.wraps(declaration.function)
    def of_group(*parts: Any, **budget: Any) -> Any:
        return declaration.function(*parts, *others, **budget)

    assert declaration.by is not None
    return declaration.by(of_group, call.read.grouped(data), **given)
