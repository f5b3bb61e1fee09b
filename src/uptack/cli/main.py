"""The command line.

Exit codes: 0 for an answer, 3 for ⊥, 2 for wrong usage, 1 for a failed audit, an invalid ledger or a report that could
not be written, 130 (or 128 plus the number of the signal) when interrupted.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import io
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import click

from uptack.cli import command_support as shared
from uptack.errors import InvalidArgument, UnknownName, UptackError
from uptack.labels import json_text, lines
from uptack.privacy import Adjacency, Privacy
from uptack.privacy.guarantee import promise, whose

LEDGER = click.argument("place", metavar="LEDGER")
DATASET = click.option("--dataset", default="data", show_default=True, help="The data set that the budget is for.")
ENGINES = ("_duckdb", "duckdb", "pyarrow", "ibis", "sqlglot", "sqlalchemy")
"""Packages whose errors are about files and databases. Their text may show a row, so only the type is printed."""


WRITTEN = {
    "report": "report_command",
    "init": "schema_commands",
    "describe": "schema_commands",
    "plan": "report_command",
    "synthetic": "synthetic_command",
    "serve": "serve_command",
    "token": "serve_command",
}
"""Commands, and the modules that define them. A module is imported when its command is called."""


START, LEDGERS = "Start here", "Ledgers, the audit and the shell"
"""The first and the last section of `uptack --help`. Between them are those of releases, by topic."""
LONGEST_HELP = 1000


ELSEWHERE = {
    "crosstab": "uptack count TABLE --by ROWS --by COLUMNS --delta 1e-6",
    "open": "uptack describe TABLE",
    "schema": "uptack init TABLE",
}
"""Commands for names that are not commands themselves."""


class Commands(click.Group):
    """The commands of `WRITTEN`, and one for every release function, made when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from uptack.cli.release_commands import commands

        return [*dict.fromkeys([*WRITTEN, *super().list_commands(ctx), *commands()])]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in sections: where to start, releases by topic, ledgers and the rest."""
        from uptack.registry.declaration import CLAUSE, SECTIONS

        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in (START, *SECTIONS.values(), LEDGERS)}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                usual = START if name in WRITTEN else LEDGERS
                listed = sections.setdefault(getattr(command, "section", usual), [])
                listed.append((name, re.split(CLAUSE, command.get_short_help_str(limit=LONGEST_HELP))[0].rstrip(".")))
        for title, listed in sections.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called. Names may be written with `_`, and one that is wrong gets a hint."""
        name = args[0] if args[0].startswith("-") else args[0].replace("_", "-")
        try:
            return super().resolve_command(ctx, [name, *args[1:]])
        except click.UsageError:
            if name.startswith("-"):
                raise
        raise click.UsageError(f"No such command {args[0]!r}.{self._hint(ctx, name)}", ctx)

    def _hint(self, ctx: click.Context, name: str) -> str:
        """A suggestion for a name that is not a command; "" if none is close."""
        for near in difflib.get_close_matches(name, [*self.list_commands(ctx), *_longer_names(), *ELSEWHERE], n=1):
            return f" Use `{ELSEWHERE[near]}`." if near in ELSEWHERE else f" Did you mean {near!r}?"
        return ""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in WRITTEN:
            found: click.Command = getattr(importlib.import_module(f"uptack.cli.{WRITTEN[name]}"), name)
            return found
        if (here := super().get_command(ctx, name)) is not None:
            return here
        from uptack.cli.release_commands import commands

        return commands().get(_longer_names().get(name, name))


def _longer_names() -> dict[str, str]:
    """Commands that go by a shorter name than their function: both names work."""
    from uptack.registry import declared

    return {made.name.replace("_", "-"): made.also.replace("_", "-") for made in declared().values() if made.also}


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  uptack report patients.parquet --epsilon 2 -o report.html
  uptack median patients.parquet age --epsilon 0.1 --ledger budget.db

Exit codes: 0 an answer, 3 no reply (⊥), 2 wrong usage, 130 interrupted, 1 a failed audit, an invalid ledger,
or a report that could not be written.
""",
)
@click.version_option(package_name="uptack")
def cli() -> None:
    """Differentially private robust statistics without bounds on the data.

    The answer is private and close to the truth, or it is ⊥ (no reply).
    """


LARGEST_REPORT = 1 << 28
"""The most bytes that `uptack explain` reads."""


@cli.command(
    epilog="""\b
Examples:
  uptack explain report.json
  uptack explain report.json --epsilon 0.5
"""
)
@click.argument("path", metavar="REPORT.JSON", type=click.Path(path_type=Path))
@click.option("--epsilon", type=shared.EXACT, help="Compare with this ε.")
def explain(path: Path, epsilon: Any) -> int:
    """The guarantee of a report in words. It reads no data and spends nothing."""
    whose, spent = _report_privacy(path)
    shared.say("\n".join(part for part in (whose, promise(spent), _test_power(spent)) if part))
    if epsilon is not None:
        other = Privacy(epsilon, spent.exact_delta, spent.adjacency)
        shared.say("\n".join(["", promise(other), _test_power(other)]))
    return shared.ANSWER


explain.section = START  # type: ignore[attr-defined]


def _test_power(privacy: Privacy) -> str:
    """What an attacker who tests a row can find out, in words."""
    text = privacy.explain().replace("\n", " ").partition(": ")[2]
    return text[:1].upper() + text[1:]


def _report_privacy(path: Path) -> tuple[str, Privacy]:
    """Whose privacy a report protects, and what it spent."""
    if not path.exists():
        raise UnknownName("file", repr(str(path)))
    must = "a report saved as JSON (`uptack report ... -o report.json`)"
    try:
        if path.stat().st_size > LARGEST_REPORT:
            raise ValueError
        report = json.loads(path.read_text("utf-8"))
        spent = report["privacy"]["spent"]
        relation = Adjacency(spent["adjacency"], spent["rows_per_person"], tuple(spent.get("person", ())))
        return lines(str(report["whose"])), Privacy(spent["epsilon"], spent["delta"], relation)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UptackError):
        raise InvalidArgument("REPORT.JSON", must, repr(str(path))) from None


@cli.group(epilog="\b\nExample:\n  uptack ledger create budget.db --epsilon 3 --delta 1e-6")
def ledger() -> None:
    """Create, show and verify ledgers, which hold privacy budgets."""


@ledger.command()
@LEDGER
@click.option("--epsilon", "-e", type=shared.EXACT, required=True, help="The total ε.")
@click.option("--delta", type=shared.EXACT, default="0", show_default=True)
@DATASET
@click.option("--adjacency", type=click.Choice(list(shared.ADJACENCIES)), default="substitute", show_default=True)
@click.option("--rows-per-person", type=click.IntRange(1), default=1, show_default=True,
              help="How many rows one person may have.")  # fmt: skip
@click.option(
    "--person", multiple=True, metavar="COLUMN", help="The column with the ids of the people that it protects."
)
def create(
    place: str, epsilon: Any, delta: Any, dataset: str, adjacency: str, rows_per_person: int, person: tuple[str, ...]
) -> int:
    """Create a ledger with a budget. Its unit, rows or people, cannot be changed later."""
    relation = shared.ADJACENCIES[adjacency].per_person(rows_per_person)
    relation = relation.by_person(*person) if person else relation
    shared.say(f"{shared.open_ledger(place, epsilon, delta, dataset=dataset, adjacency=relation)!r}\n{whose(relation)}")
    return shared.ANSWER


@ledger.command()
@LEDGER
@DATASET
@shared.as_json
def show(place: str, dataset: str, as_json: bool) -> int:
    """Every entry with its cost, the sum of all costs, and what is left."""
    book = shared.open_ledger(place, dataset=dataset)
    history = [entry.to_dict() for entry in book.history()]
    left = {"spent": book.spent().to_dict(), "remaining": book.remaining().to_dict()}
    shared.say(json_text({**left, "history": history}, indent=2) if as_json else book.table().text(sys.maxsize))
    return shared.ANSWER


@ledger.command()
@LEDGER
@DATASET
def verify(place: str, dataset: str) -> int:
    """Check that no entry was changed or removed."""
    verification = shared.open_ledger(place, dataset=dataset).verify()
    shared.say(str(verification))
    return shared.ANSWER if verification else shared.BROKEN


@cli.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def audit(arguments: tuple[str, ...]) -> int:
    """Attack every mechanism, and compare the claimed ε with the ε that an attacker can demonstrate."""
    from uptack.audit.audit_run import main as run

    return run(list(arguments))


@cli.command(epilog='\b\nExample:\n  eval "$(uptack completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the shell code that completes uptack's commands."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    shared.say(found(cli, {}, "uptack", "_UPTACK_COMPLETE").source())
    return shared.ANSWER


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    try:
        return int(cli.main(arguments, prog_name="uptack", standalone_mode=False) or shared.ANSWER)
    except click.exceptions.Abort:
        shared.say("interrupted; debits stand", err=True)
        return shared.INTERRUPTED
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        shared.say(shown.getvalue().rstrip("\n"), err=True)
        return shared.MISUSE
    except (UptackError, OverflowError) as error:
        from uptack.cli.option_words import in_options

        shared.say(f"uptack: {in_options(error)}", err=True)
        return shared.MISUSE
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ENGINES:
            raise
        shared.say(f"uptack: the data could not be read ({type(error).__name__})", err=True)
        return shared.MISUSE


def run() -> None:
    """The entry point of the command `uptack`.

    When the command is stopped (Ctrl-C, `kill`, a closed terminal), it removes its files with rows. An engine that is
    stopped in the middle of a query may raise an error of its own, so the signal is remembered here. A paid answer must
    not be lost because a terminal cannot show a character, so such characters are escaped.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    gc.freeze()  # what has been imported stays: it need not be looked at again and again
    gc.set_threshold(100_000, 50, 100)
    _catch_signals()
    try:
        code = main()
    except (Exception, SystemExit):
        if not shared.SIGNALS:
            raise
        shared.say("interrupted; debits stand", err=True)
    sys.exit(128 + shared.SIGNALS[0] if shared.SIGNALS else code)


def _catch_signals() -> None:
    """Let each signal stop the command as Ctrl-C does, and remember it."""

    def stop(signum: int, frame: object) -> None:
        shared.SIGNALS.append(signum)
        raise KeyboardInterrupt if signum == signal.SIGINT else SystemExit(128 + signum)

    # after a signal, what can't be raised is the signal itself
    sys.unraisablehook = lambda error: None if shared.SIGNALS else sys.__unraisablehook__(error)
    signal.signal(signal.SIGINT, stop)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup stays in force
            signal.signal(number, stop)
