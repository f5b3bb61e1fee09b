"""One declaration per release function, beside its code. Everything else that speaks of the function is made from it.

    @release(reads=COLUMN, by=True, plan=ranks)
    def trimean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply: ...

Its options are those of its signature. From all this follow the session's method, the request, the plan, the command,
the cases that the audit replays, the contract tests and the line in the reference. A package of one's own declares a
function in the same way. It is found through the entry point group `uptack.statistics`, or when its module is imported.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, ParamSpec, Protocol, TypeVar

from uptack import checks
from uptack.columns import timed
from uptack.columns.owners import of_people
from uptack.errors import InvalidArgument, UnknownOption
from uptack.privacy import Privacy
from uptack.privacy.loss import Loss
from uptack.registry import options
from uptack.registry.options import Option
from uptack.registry.people import Flag, entered, options_of
from uptack.registry.rim import guarded

P = ParamSpec("P")
T = TypeVar("T")
Enter = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

HOMES = (
    "uptack.statistics",
    "uptack.discrete",
    "uptack.densities",
    "uptack.multivariate",
    "uptack.regression",
    "uptack.ranks",
    "uptack.blocks",
    "uptack.kernels",
    "uptack.mechanisms",
    "uptack.groups",
    "uptack.papers",
    "uptack.random_dp",
)
"""The modules of this package that declare release functions."""

EXAMPLES = {"epsilon": "Such as epsilon=1.", "p": "Such as p=0.9.", "groups": "Such as groups=('a', 'b')."}
"""What is said of an argument that was left out."""

ENTRY_POINTS = "uptack.statistics"
"""The group of entry points through which other packages are found."""


class Planner(Protocol):
    """How far off an answer will be, in words, from public numbers alone; "" where only data can tell."""

    def __call__(self, given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
        """The options that were given, the most that it costs, and the public number of rows."""
        ...


class Spender(Protocol):
    """What a release will do to the data, as a loss, from public numbers alone; None where only its cost is known."""

    def __call__(self, given: Mapping[str, Any], cost: Privacy, rows: int) -> Loss | None:
        """The options that were given, the most that it costs, and the public number of rows."""
        ...


@dataclass(frozen=True)
class Declaration:
    """Everything that is to be known of a release function.

    `data` names the arguments that hold data. `reads` says what they are of a table, None where the function takes
    something else than columns (a value, a user's function). `also` is a shorter name in sessions and commands.
    `missing` is what a session tells it of missing values where nobody says otherwise; None where it is not told.
    `public` is the function behind the rim, as everybody calls it. `examples` are calls without their data, from which
    the audit makes its cases. `page` is its page of the docs. `statistic` describes it, from its levels, where that can
    be done (`uptack.statistics.statistic`): its influence function is worked out from that. `people` says whether it is
    proved for people (`uptack.registry.people`). `spends` says what it does to the data before it does it, where that
    is more than its cost tells: plans compose such losses tightly.
    """

    name: str
    function: Callable[..., Any]
    data: tuple[str, ...]
    reads: Any
    by: bool
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
    def allowed(self) -> tuple[str, ...]:
        """The names of its options."""
        return tuple(option.name for option in self.options)

    @functools.cached_property
    def needed(self) -> Mapping[str, int | None]:
        """The arguments without a default: the place of each, None where it must be named."""
        found = inspect.signature(self.function).parameters.values()
        places = [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]
        told = [p for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.default is p.empty]
        return {p.name: places.index(p.name) if p.name in places else None for p in told}

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
        """Refuse what the function has no use for, by name."""
        for name in () if self.takes_any else given:
            if name not in self.allowed and name not in self.data and name not in options.PEOPLE:
                near = difflib.get_close_matches(str(name), self.allowed, n=1)
                fix = f"Did you mean {near[0]!r}?" if near else f"Its options are {', '.join(self.allowed)}."
                raise UnknownOption(str(name), f"left out: {self.name} has no such option", "it", fix)


_DECLARED: dict[str, Declaration] = {}
_LOCK = threading.RLock()
_loaded = False


def release(
    *,
    reads: Any = None,
    data: tuple[str, ...] = ("x",),
    by: bool = False,
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

    With `by=True` it can be asked per group: it then also takes `by`, `groups` and `share` (`uptack.per_group`).
    `enter` is given every call first, before rows get their owners: it may make other data of them, row by row.
    """

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        name = function.__name__
        words = (page or name, also, statistic, spends, people)
        made = Declaration(name, function, data, reads, by, missing, plan, examples, *words)

        @functools.wraps(function)
        def public(*arguments: P.args, **given: P.kwargs) -> T:
            made.check(given)
            if enter is not None:
                arguments, given = enter(arguments, given)  # type: ignore[assignment]
            grouping = {name: given.pop(name, None) for name in options.grouping(function)} if by else {}
            passed, rest = entered(made, arguments, given, grouping.get("by"))
            made.check_given(passed, rest)
            if not by:
                return function(*passed, **rest)
            return _asked(made, passed, rest, grouping)  # type: ignore[no-any-return]

        behind = guarded(public)
        object.__setattr__(made, "public", behind)
        behind.declaration = made  # type: ignore[attr-defined]
        with _LOCK:
            _DECLARED[name] = made
        return behind

    return declare


def _asked(made: Declaration, arguments: tuple[Any, ...], given: Any, grouping: Mapping[str, Any]) -> Any:
    """A function that can be asked per group."""
    by, told = grouping["by"], {name: value for name, value in grouping.items() if name != "by" and value is not None}
    if "delta" in told and (by is None or told.get("groups") is not None):
        fix = f"{made.name} has no use for it itself."
        raise InvalidArgument("delta", "left out but for unknown groups", checks.describe(told["delta"]), fix)
    if by is not None:
        return _per_group(made, arguments, {**given, **told}, by)
    for name, value in told.items():
        raise InvalidArgument(name, "left out where there is no by", checks.describe(value))
    return made.function(*arguments, **given)


def _per_group(made: Declaration, arguments: tuple[Any, ...], given: dict[str, Any], by: Any) -> Any:
    """The same function for every group of rows."""
    groups = importlib.import_module("uptack.groups")  # which declares a release function of its own
    data, others = arguments[: len(made.data)], arguments[len(made.data) :]
    data += tuple(given.pop(name) for name in made.data[len(data) :])
    data = tuple(map(timed.whole, data))
    rows = [x if of_people(x) else made.reads.picked(name, x) for name, x in zip(made.data, data, strict=True)]

    @functools.wraps(made.function)
    def of_group(*parts: Any, **budget: Any) -> Any:
        return made.function(*parts, *others, **budget)

    return groups.per_group(of_group, groups.GroupedParts.of(rows, by), **given)


def load() -> None:
    """Import every module that declares release functions: ours, and those that entry points name. Once.

    No lock is held meanwhile: another thread may be importing one of them, which needs the lock to declare something.
    """
    global _loaded
    if _loaded:
        return
    for module in HOMES:
        importlib.import_module(module)
    for point in entry_points(group=ENTRY_POINTS):
        point.load()
    _loaded = True


def declared_in(package: str) -> dict[str, Callable[..., Any]]:
    """The release functions that the modules of a package have declared so far, as everybody calls them."""
    with _LOCK:
        return {n: d.public for n, d in _DECLARED.items() if d.function.__module__.startswith(f"{package}.")}


def declared() -> dict[str, Declaration]:
    """All release functions by name, in the order in which they are declared."""
    load()
    with _LOCK:
        return dict(_DECLARED)


@functools.cache
def _others() -> bool:
    """Whether entry points name modules of other packages. They may declare a function of a name that we have, too."""
    return bool(entry_points(group=ENTRY_POINTS))


def _named(name: str) -> Declaration | None:
    """The release function of a name. Ours are found without importing more modules than until it is there."""
    for module in () if _loaded or _others() else HOMES:
        with _LOCK:
            found = _DECLARED.get(name)
        if found is not None and (home := found.function.__module__).startswith("uptack."):
            importlib.import_module(home)  # it may be that another thread is still at it
            return found
        importlib.import_module(module)
    return declared().get(name)


def find(name: object, where: Callable[[Declaration], bool] = lambda _: True) -> Declaration:
    """The declaration of that name, among those that meet a condition."""
    found = _named(name) if isinstance(name, str) else None
    if found is not None and where(found):
        return found
    known = {n: d for n, d in declared().items() if where(d)}
    name = {d.also: n for n, d in known.items() if d.also}.get(str(name), name)
    if not isinstance(name, str) or name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        fix = f"Did you mean {near[0]!r}?" if near else ""
        raise InvalidArgument("statistic", f"one of {', '.join(known)}", checks.describe(name), fix)
    return known[name]
