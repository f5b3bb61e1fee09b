"""`uptack serve` and `uptack token`: a server for analysts, and who may use it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from uptack.cli.command_support import ADJACENCIES, ANSWER, EXACT, dialect_options, file_options, say, stack_decorators
from uptack.errors import InvalidArgument, UptackError
from uptack.table.engine import files


@click.command(
    epilog="""\b
Examples:
  uptack serve patients.parquet --epsilon 3 --delta 1e-6
  uptack serve server.toml
"""
)
@click.argument("source", metavar="TABLE|SERVER.TOML")
@click.option("--epsilon", "-e", type=EXACT, help="The total budget of all releases; it never changes.")
@click.option("--delta", type=EXACT, help="The total δ. [default: 0]")
@click.option("--store", help="Where ledger, releases and tokens are kept: a file, or the URL of a PostgreSQL "
              "database. [default: TABLE.uptack.db]")  # fmt: skip
@click.option("--person", multiple=True, metavar="COLUMN", help="The column with the id of each row's person.")
@click.option("--adjacency", type=click.Choice(list(ADJACENCIES)),
              help="substitute: the number of rows is public; add-remove: it is secret.")  # fmt: skip
@click.option("--approve-above", type=EXACT, metavar="ε", help="Requests above this ε wait for your approval.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True),
              help="The length of the first time slot: answers are sent this long after the debit. "
              "[default: from the number of rows]")  # fmt: skip
@click.option("--slots/--no-slots", default=None,
              help="Send answers at fixed times, so that their timing reveals nothing. [default: slots]")  # fmt: skip
@click.option("--host", help="The address to listen on. [default: 127.0.0.1, this machine only]")
@click.option("--port", type=click.IntRange(1, 65535), help="[default: 8000]")
@click.option("--workers", type=click.IntRange(1), help="The number of processes. [default: 1]")
@click.option("--certificate", help="A TLS certificate, with --key.")
@click.option("--key", help="The key of the certificate.")
@stack_decorators(file_options)
def serve(source: str, **options: Any) -> int:
    """Let analysts ask for releases over HTTP, paid from one budget.

    It prints a link for you, the curator, that works once. There you issue tokens for analysts. With SERVER.TOML the
    link is printed on a terminal only, and not into the journal of a service: issue yourself a token there.
    """
    try:
        from uptack.server import app, config
        from uptack.server.access import LINK_DAYS
        from uptack.server.release_store import ReleaseStore
    except ImportError as missing:
        raise UptackError('a server needs fastapi and uvicorn: pip install "uptack[server]"') from missing

    given = {name: value for name, value in options.items() if value not in (None, (), {})}
    if source.endswith(".toml"):
        if given:
            name = next(iter(given)).replace("_", "-")
            raise InvalidArgument(f"--{name}", "left out with a configuration", "given", f"Write it into {source}.")
        made = config.read_config(source)
    else:
        reading = {"table", "types", "person", "adjacency", *dialect_options(options)}
        opening = {name: given.pop(name) for name in reading if name in given}
        if "adjacency" in opening:
            opening["adjacency"] = ADJACENCIES[opening["adjacency"]]
        for name in ("person", "na"):
            if name in opening:
                opening[name] = list(opening[name])
        made = config.one_file(source, opening=opening, **given)
        if files.is_text(source) and files.schema_of(source) is None:
            inferred = "Types of columns that --type does not declare are inferred from the data, and are then public."
            say(f"uptack: {inferred} Save them first with `uptack init {source}`.", err=True)
    store, enter = ReleaseStore(made.store), "For a token of your own: uptack token STORE NAME --role curator"
    if not source.endswith(".toml") or sys.stdout.isatty():  # a service's output is kept, and others may read it
        link = f"{made.url}/enter?token={store.issue('curator', 'curator', days=LINK_DAYS, purpose='link')}"
        enter = f"Sign in as the curator here; the link works once, within an hour: {link}"
    names = ", ".join(one.name for one in made.datasets)

    def ready() -> None:
        say(f"uptack serves {names} at {made.url}")
        say(enter)

    app.serve(made, ready)
    return ANSWER


@click.command(epilog="\b\nExample:\n  uptack token patients.parquet.uptack.db ann --days 30")
@click.argument("store", metavar="STORE")
@click.argument("name", metavar="NAME")
@click.option("--role", type=click.Choice(["analyst", "curator"]), default="analyst", show_default=True)
@click.option("--dataset", "datasets", multiple=True,
              help="A data set that the token gives access to; may be repeated. [default: all]")  # fmt: skip
@click.option("--days", type=click.FloatRange(0, 3650, min_open=True), default=90, show_default=True)
def token(store: str, name: str, role: Any, datasets: tuple[str, ...], days: float) -> int:
    """Issue a token for a server. It is printed once; the store keeps only its hash."""
    from uptack.server.release_store import ReleaseStore

    if "://" not in store and not Path(store).exists():
        raise InvalidArgument("STORE", "the store of a server", repr(store), "`uptack serve` creates it.")
    say(ReleaseStore(store).issue(name, role, datasets or ("*",), days=days))
    say(
        f"Send this token to {name} over a private channel. {name} signs in with it at the server's address, or "
        f"connects with ut.connect(url, token). It is valid for {days:g} days.",
        err=True,
    )
    return ANSWER
