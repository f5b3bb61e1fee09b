"""One declaration per release function, beside its code. Everything else that speaks of the function is made from it.

    @release(reads=COLUMN, by=per_group, plan=ranks)
    def trimean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply: ...

Its options are those of its signature. From all this follow the session's method, the request, the plan, the command,
the cases that the audit replays, the contract tests and the line in the reference. A user's package declares a
function in the same way. It is found through the entry point group `uptack.statistics`, or when its module is imported.
"""

from __future__ import annotations

import difflib
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
from uptack.errors import Failed, InvalidArgument, UnknownOption, UptackError, WrongArguments
from uptack.interrupts import Stop, watched
from uptack.privacy import Privacy
from uptack.privacy.loss import Loss
from uptack.registry import names, options
from uptack.registry.options import Call, Flag, Option, entered, options_of

P = ParamSpec("P")
T = TypeVar("T")
Enter = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

EXAMPLES = {"epsilon": "Such as epsilon=1.", "p": "Such as p=0.9.", "groups": "Such as groups=('a', 'b')."}
"""What is said of an argument that was left out."""

Planner = Callable[[Mapping[str, Any], Privacy, int], str]
"""How far off an answer will be, in words; "" where only data can tell. It is made from public things: the options that
were given, the most that it costs, and the public number of rows."""

Spender = Callable[[Mapping[str, Any], Privacy, int], Loss | None]
"""What a release will do to the data, as a loss, from the same; None where only its cost is known."""

Runner = Callable[..., Any]
"""Runs a function once for every group of a table: `uptack.grouping.per_group`, which is handed in, not imported."""


def _one_of(option: Option) -> str:
    """What an option that is one value must be."""
    words = {"number": "one number", "flag": "True or False"}
    return " or ".join(map(repr, option.choices)) or words.get(option.form, "one value")


@dataclass(frozen=True)
class Declaration:
    """Everything that is to be known of a release function.

    `data` names the arguments that hold data. `reads` says what they are of a table, None where the function takes
    something else than columns (a value, a user's function). `also` is a shorter name in sessions and commands.
    `missing` is what a session tells it of missing values where nobody says otherwise; None where it is not told.
    `public` is the function behind the rim, as everybody calls it. `examples` are calls without their data, from which
    the audit makes its cases. `page` is its page of the docs. `statistic` describes it, from its levels, where that can
    be done (`uptack.statistics.statistic`): its influence function is worked out from that. `people` says whether it is
    proved for people (`uptack.registry.options`). `spends` says what it does to the data before it does it,
    where that is more than its cost tells: plans compose such losses tightly.
    """

    name: str
    function: Callable[..., Any]
    data: tuple[str, ...]
    reads: Any
    by: Runner | None
    missing: str | None
    plan: Planner | None
    examples: tuple[Mapping[str, Any], ...]
    page: str
    also: str
    statistic: Callable[..., Any] | None = None
    spends: Spender | None = None
    people: Flag = False
    public: Callable[..., Any] = field(init=False, repr=False)

    @functools.cached_property
    def options(self) -> tuple[Option, ...]:
        """What it can be told, by its signature: of groups and of people only what it is made for."""
        beside = (*(options.GROUPING if self.by else ()), *options_of(self.people, self.reads))
        explicit = inspect.signature(self.function).parameters  # a function may have groups of its own
        apart = {*options.GROUPING, *options.PEOPLE} - {*beside, *explicit}
        own = [option for option in options.read(self.function, self.data) if option.name not in apart]
        named = {option.name for option in own}
        return (*own, *(options.KNOWN[name] for name in beside if name not in named))

    @functools.cached_property
    def takes_any(self) -> bool:
        """Whether it passes on what it does not know itself."""
        return options.takes_any(self.function)

    @functools.cached_property
    def grouping(self) -> tuple[str, ...]:
        """The options about groups, which it does not see itself."""
        return options.grouping(self.function) if self.by else ()

    @functools.cached_property
    def allowed(self) -> tuple[str, ...]:
        """The names of its options."""
        return tuple(option.name for option in self.options)

    @functools.cached_property
    def needed(self) -> Mapping[str, int | None]:
        """The arguments without a default: the place of each, None where it must be named."""
        found = inspect.signature(self.function).parameters.values()
        told = [p for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.default is p.empty]
        return {p.name: self.places.index(p.name) if p.name in self.places else None for p in told}

    @functools.cached_property
    def places(self) -> tuple[str, ...]:
        """The names of its positional arguments."""
        found = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD)

    @functools.cached_property
    def takes_more(self) -> bool:
        """Whether it takes any number of positional arguments."""
        return any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(self.function).parameters.values())

    def check_places(self, arguments: Sequence[Any], given: Mapping[str, Any]) -> None:
        """Refuse too many positional arguments, and one that is given twice. How many there are is public."""
        twice = next((name for name in self.places[: len(arguments)] if name in given), None)
        if twice is not None:
            raise WrongArguments(self.name, f"{twice} once", f"it by place and as {twice}=", self._by_names(arguments))
        if len(arguments) > len(self.places) and not self.takes_more:
            many = f"{len(self.places)} positional argument{'s' if len(self.places) != 1 else ''}"
            takes = f"{many} ({', '.join(self.places)})"
            raise WrongArguments(self.name, takes, len(arguments), self._by_names(arguments))

    def _by_names(self, arguments: Sequence[Any]) -> str:
        """How columns of a frame or a file are asked about, where a call names some."""
        first, *names = arguments
        held = isinstance(first, str | Mapping) or hasattr(first, "columns")
        if self.reads is None or not held or not names or not all(isinstance(name, str) for name in names):
            return ""
        return f"Columns are named in a session: uptack.open(data).{self.name}({', '.join(map(repr, names))}, ...)."

    def check_given(self, arguments: Sequence[Any], given: Mapping[str, Any]) -> None:
        """Refuse a call that leaves out what it needs, by name."""
        for name, place in self.needed.items():
            if name not in given and (place is None or place >= len(arguments)):
                raise InvalidArgument(name, f"given to {self.name}", "nothing", EXAMPLES.get(name, ""))

    @property
    def path(self) -> str:
        """Where everybody finds it: "uptack.median", or in its room, "uptack.mechanisms.laplace"."""
        package, *rooms = self.function.__module__.split(".")
        top = package != "uptack" or hasattr(importlib.import_module(package), self.name)
        return ".".join([package, self.name] if top else [package, rooms[0], self.name])

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuse what the function has no use for, by name, and arrays in place of one value."""
        for name in () if self.takes_any else given:
            if name not in self.allowed and name not in self.data and name not in options.PEOPLE:
                near = difflib.get_close_matches(str(name), self.allowed, n=1)
                fix = f"Did you mean {near[0]!r}?" if near else f"Its options are {', '.join(self.allowed)}."
                raise UnknownOption(str(name), self.name, fix)
        for name, value in given.items():
            if name in options.SINGLE and name not in self.data:
                known = options.KNOWN.get(name) or Option(str(name))
                checks.single(name, value, _one_of(known), known.fix)


# -------------------------------------------------------------------------------------------------------------- the rim


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


def guarded(release: Callable[P, T]) -> Callable[P, T]:
    """The same function behind the rim: what leaves it beside the released value is a function of public things alone.

    Inside a release a row may overflow, divide by zero or make a library warn, and an engine's error may show a cell.
    None of that may be seen. So there is one place around every release where

    - NumPy's floating-point errors and Python's warnings are silent;
    - an error of ours (`UptackError`), which is worded from public things, leaves without the errors behind it;
    - any other error becomes `Failed`, which says nothing about the rows; also KeyboardInterrupt, SystemExit and
      GeneratorExit, which a row's own methods can raise;
    - what a signal's handler raised leaves, without anything behind it (`uptack.interrupts`).

    For work on uptack itself, `UPTACK_DEBUG=1` in the environment lets every error through as it is.

    Errors are raised when the `except` block has been left: there Python would keep the first error as the context of
    the second, `from None` or not, and with it the rows.
    """

    @functools.wraps(release)
    def behind(*arguments: P.args, **options: P.kwargs) -> T:
        return watched(lambda: _quietly(release, arguments, options))

    return behind


def _quietly(release: Callable[..., T], arguments: tuple[Any, ...], options: dict[str, Any]) -> T:
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


# ------------------------------------------------------------------------------------------------------------ declaring


def release(
    *,
    reads: Any = None,
    data: tuple[str, ...] = ("x",),
    by: Runner | None = None,
    missing: str | None = "drop",
    plan: Planner | None = None,
    examples: tuple[Mapping[str, Any], ...] = ({},),
    page: str = "",
    also: str = "",
    statistic: Callable[..., Any] | None = None,
    spends: Spender | None = None,
    people: Flag = False,
    enter: Enter | None = None,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Declare a release function: see the module. What is returned is the function behind the rim.

    With `by=per_group` it can be asked per group: it then also takes `by`, `groups` and `share` (`uptack.grouping`).
    `enter` is given every call first, before rows get their owners: it may make other data of them, row by row.
    """

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        name = function.__name__
        words = (page or name, also, statistic, spends, people)
        made = Declaration(name, function, data, reads, by, missing, plan, examples, *words)

        @functools.wraps(function)
        def public(*arguments: P.args, **given: P.kwargs) -> T:
            if arguments and "formula" in made.allowed:
                arguments, given = _with_formula(arguments, given)  # type: ignore[assignment]
            made.check(given)
            made.check_places(arguments, given)
            if enter is not None:
                arguments, given = enter(arguments, given)  # type: ignore[assignment]
            grouping = {name: given.pop(name, None) for name in made.grouping}
            call = entered(made, arguments, given, grouping.get("by"))
            made.check_given(call.arguments, call.given)
            if not by:
                return function(*call.arguments, **call.given)
            return _asked(made, by, call, grouping)  # type: ignore[no-any-return]

        behind = guarded(public)
        object.__setattr__(made, "public", behind)
        behind.declaration = made  # type: ignore[attr-defined]
        names.enter(made)
        return behind

    return declare


def _with_formula(arguments: tuple[Any, ...], given: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call with its formula as an option: `f("y ~ x", frame)` and `f("y ~ x", data=frame)`."""
    if not isinstance(arguments[0], str) or "~" not in arguments[0]:
        return arguments, given
    if given.get("formula") is not None:
        raise InvalidArgument("formula", "given once", "two formulas")
    data = (given["data"],) if "data" in given else ()
    others = {name: value for name, value in given.items() if name != "data"}
    return (*data, *arguments[1:]), {**others, "formula": arguments[0]}


def _asked(made: Declaration, run: Runner, call: Call, grouping: Mapping[str, Any]) -> Any:
    """A function that can be asked per group."""
    by, told = grouping["by"], {name: value for name, value in grouping.items() if name != "by" and value is not None}
    if "delta" in told and (by is None or told.get("groups") is not None):
        fix = f"{made.name} has no use for it itself."
        raise InvalidArgument("delta", "left out but for unknown groups", checks.describe(told["delta"]), fix)
    if by is not None:
        return _per_group(made, run, call, told)
    for name, value in told.items():
        raise InvalidArgument(name, "left out where there is no by", checks.describe(value))
    return made.function(*call.arguments, **call.given)


def _per_group(made: Declaration, run: Runner, call: Call, told: Mapping[str, Any]) -> Any:
    """The same function for every group of rows."""
    given = {**call.given, **told}
    data, others = call.arguments[: len(made.data)], call.arguments[len(made.data) :]
    data += tuple(given.pop(name) for name in made.data[len(data) :] if name in given)

    @functools.wraps(made.function)
    def of_group(*parts: Any, **budget: Any) -> Any:
        return made.function(*parts, *others, **budget)

    return run(of_group, call.read.grouped(data), **given)
