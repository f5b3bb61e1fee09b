"""What is declared of a release function."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from uptack import checks
from uptack.errors import InvalidArgument, UnknownOption
from uptack.privacy import Privacy
from uptack.privacy.loss import Loss
from uptack.registry import options
from uptack.registry.options import Option
from uptack.registry.person_options import Flag, options_of

EXAMPLES = {"epsilon": "Such as epsilon=1.", "p": "Such as p=0.9.", "groups": "Such as groups=('a', 'b')."}
"""What is said of an argument that was left out."""


class Planner(Protocol):
    """How far off an answer will be, in words, from public numbers alone; "" where only data can tell."""

    def __call__(self, given: Mapping[str, Any], cost: Privacy, rows: int) -> str:
        """The options that were given, the most that it costs, and the public number of rows."""
        ...


Runner = Callable[..., Any]
"""Runs a function once for every group of a table: `uptack.grouping.per_group`, which is handed in, not imported."""


class Spender(Protocol):
    """What a release will do to the data, as a loss, from public numbers alone; None where only its cost is known."""

    def __call__(self, given: Mapping[str, Any], cost: Privacy, rows: int) -> Loss | None:
        """The options that were given, the most that it costs, and the public number of rows."""
        ...


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
    proved for people (`uptack.registry.person_options`). `spends` says what it does to the data before it does it,
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
        """Refuse what the function has no use for, by name, and arrays in place of one value."""
        for name in () if self.takes_any else given:
            if name not in self.allowed and name not in self.data and name not in options.PEOPLE:
                near = difflib.get_close_matches(str(name), self.allowed, n=1)
                fix = f"Did you mean {near[0]!r}?" if near else f"Its options are {', '.join(self.allowed)}."
                raise UnknownOption(str(name), f"left out: {self.name} has no such option", "it", fix)
        for name, value in given.items():
            known = options.KNOWN.get(name) or Option(str(name))
            if known.single and name not in self.data:
                checks.single(name, value, _one_of(known), known.fix)
