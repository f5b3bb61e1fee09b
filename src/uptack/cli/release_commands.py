"""Commands for single releases: one for every release function of columns, made from its declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from uptack.cli import command_support as shared
from uptack.cli.option_words import OF_SESSION, SEVERAL, flag_of
from uptack.errors import InvalidArgument
from uptack.registry import Declaration, Option, declared, in_tables
from uptack.registry.declaration import SECTIONS
from uptack.registry.options import SURVEY
from uptack.session import Request, Session
from uptack.session.session import is_formula
from uptack.wire.text_values import READERS, typed_request


class _Choice(click.Choice[str]):
    """One of several words. For weights it says why a column of survey weights is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if param is not None and param.name == "weights" and value not in self.choices:
            raise InvalidArgument("--weights", " or ".join(self.choices), repr(value), SURVEY)
        return str(super().convert(value, param, ctx))


def command_option(option: Option) -> Callable[[Any], Any] | None:
    """The option of a command for an option of a function; None if it has no text form, or belongs to the session."""
    if option.form == "object" or option.name in (*OF_SESSION, "entropy"):
        return None
    several = option.form in SEVERAL
    kind: Any = shared.TextValue(option.form) if option.form in READERS else str
    kind = _Choice(option.choices) if option.form == "choice" else kind
    if option.positional and option.required:
        return click.argument(option.name, nargs=-1 if several else 1, required=True, type=kind)
    flag = flag_of(option)
    if option.form == "flag":
        return click.option(flag, option.name, is_flag=True, default=None, help=option.help)
    none = several or option.required or option.default is None
    usual: dict[str, Any] = {} if none else {"default": str(option.default)}
    short = ("-e",) if option.name == "epsilon" else ()
    return click.option(
        flag, *short, option.name, type=kind, multiple=several, required=option.required, help=option.shown_help,
        show_default=bool(usual), **usual,
    )  # fmt: skip


def _columns(declaration: Declaration) -> Callable[[Any], Any]:
    reads = declaration.reads
    if reads.shape == "design":
        formula = "formula" in declaration.allowed  # which names the columns itself
        return shared.stack_decorators(
            click.argument("target", required=not formula),
            click.argument("columns", nargs=-1, metavar="[PREDICTORS]..."),
        )
    if reads.least == reads.most == 2:
        second = "LABELS" if reads.shape == "labelled" else "COLUMN"
        return click.argument("columns", nargs=-1, metavar=f"COLUMN {second}")
    everything = reads.most is None and reads.least > 1  # none named: all numeric columns
    name = "[COLUMN]" if reads.least == 0 or everything else "COLUMN"
    more = reads.most != 1
    required = reads.least > 0 and not everything
    return click.argument("columns", nargs=-1 if more else 1, required=required, metavar=name + "..." * more)


_EXAMPLES = {
    "design": ("cost", "age", "wait_minutes"),
    "columns": ("cost", "age"),
    "sides": ("cost", "age"),
    "labelled": ("cost", "ward"),
}
"""Columns in the example of a command, by the shape of what it reads."""


def command(declaration: Declaration) -> click.Command:
    """The command of a release function: `uptack NAME TABLE COLUMN ... --epsilon ...`."""
    name = (declaration.also or declaration.name).replace("_", "-")
    options = [decorator for option in declaration.options if (decorator := command_option(option)) is not None]

    def run(path: str, columns: Any, target: str | None = None, **options: Any) -> int:
        names = (columns,) if isinstance(columns, str) else tuple(columns or ())
        return shared.release(path, options, _request(declaration, target), *names, finish=_curve)

    own = [option for option in declaration.options if option.positional and option.required]
    example = {"numbers": "0.25 0.75", "number": "0.1"}
    words = " ".join(example.get(option.form, option.name.upper()) for option in own)
    words = " ".join((*_EXAMPLES.get(declaration.reads.shape, ("age",)), *([words] if words else ())))
    needed = [option for option in declaration.options if option.name == "groups" and option.required]
    words += " --group A --group B" if needed else ""
    epilog = f"\b\nExample:\n  uptack {name} patients.parquet {words} --epsilon 0.5"
    decorate = shared.stack_decorators(
        click.command(name, help=declaration.summary, epilog=epilog),
        click.argument("path", metavar="TABLE"),
        _columns(declaration),
        *options,
        shared.as_json,
        shared.session_options,
    )
    release_command: click.Command = decorate(run)
    release_command.section = declaration.section  # type: ignore[attr-defined]
    return release_command


def _request(declaration: Declaration, target: str | None) -> Callable[..., Request]:

    def request(session: Session, *names: str, **given: Any) -> Request:
        options, response = {name: value for name, value in given.items() if value not in ((), None)}, target
        takes_formula = "formula" in declaration.allowed
        if takes_formula and not names and "formula" not in options and is_formula(session, response):
            options["formula"], response = response, None
        if response is None and takes_formula and "formula" not in options:
            raise InvalidArgument("TARGET", "given if there is no formula", "nothing", "It is the response.")
        for option in declaration.options:
            if option.form in SEVERAL and option.name in options:
                values = options[option.name]
                options[option.name] = values[0] if option.positional and len(values) == 1 else list(values)
        return typed_request(session, declaration, names if response is None else (response, *names), options)

    return request


def _curve(value: Any) -> Any:
    """A released function as points of a curve; other values unchanged."""
    if hasattr(value, "on_grid"):
        return value.on_grid().density()
    return getattr(value, "curve", value)


def commands() -> dict[str, click.Command]:
    """All commands for releases, by name."""
    made = [command(declaration) for declaration in declared().values() if in_tables(declaration)]
    density.section = SECTIONS["densities"]  # type: ignore[attr-defined]
    return {str(one.name): one for one in made} | {"density": density}


@click.command(epilog="\b\nExample:\n  uptack density patients.parquet age --epsilon 1 --delta 1e-6 --low 0 --high 100")
@click.argument("path", metavar="TABLE")
@click.argument("column", metavar="COLUMN")
@shared.epsilon
@shared.delta
@click.option("--low", type=shared.EXACT, help="The left end of the curve. [default: from private quantiles]")
@click.option("--high", type=shared.EXACT, help="The right end.")
@shared.stack_decorators(shared.as_json, shared.session_options)
def density(path: str, column: str, low: Any, high: Any, **options: Any) -> int:
    """The density of a column as points of a curve: a kernel density estimate, or a Fourier series if δ = 0."""
    if low is not None and high is not None and not low < high:
        raise InvalidArgument("high", "above low", str(high))
    smooth = bool(options["delta"])
    if not smooth:
        options = {**options, "delta": None, "low": low, "high": high}
    ends = [None if end is None else float(end) for end in (low, high)]

    def request(_: Session, name: str, **given: Any) -> Request:
        return Request("kde" if smooth else "fourier_density", name, **given)

    def finish(value: Any) -> Any:
        return value.on_grid(*ends).density() if smooth else value.curve

    return shared.release(path, options, request, column, finish=finish)
