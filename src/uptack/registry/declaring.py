"""One declaration per release function, beside its code. Everything else that speaks of the function is made from it.

    @release(reads=COLUMN, by=per_group, plan=ranks)
    def trimean(x: Any, *, epsilon: Rational, **options: Unpack[Options]) -> Release[float] | NoReply: ...

Its options are those of its signature. From all this follow the session's method, the request, the plan, the command,
the cases that the audit replays, the contract tests and the line in the reference. A package of one's own declares a
function in the same way. It is found through the entry point group `uptack.statistics`, or when its module is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.registry import names, options
from uptack.registry.declaration import Declaration, Planner, Runner, Spender
from uptack.registry.guard import guarded
from uptack.registry.person_options import Call, Flag, entered

P = ParamSpec("P")
T = TypeVar("T")
Enter = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


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
            if enter is not None:
                arguments, given = enter(arguments, given)  # type: ignore[assignment]
            grouping = {name: given.pop(name, None) for name in options.grouping(function)} if by else {}
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
