"""Kinds of columns that were guessed once. A ledger keeps them, so that no later row can change what is seen."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uptack.data import textfiles
from uptack.data.files import is_text, text_layout
from uptack.privacy import Privacy

if TYPE_CHECKING:
    from uptack.ledger import Ledger

WORD = "kind of column "
"""How such a line of a ledger begins. No request's does."""


def settled(
    data: Any, types: textfiles.Types, delimiter: str | None, header: bool | None, ledger: Ledger | None
) -> textfiles.Types:
    """The kinds of a CSV file's columns, where some are to be guessed and a ledger keeps what was guessed first.

    A line of the ledger costs nothing and names a column and its kind. Columns that have one keep it.
    """
    guesses = types == textfiles.GUESS or (isinstance(types, Mapping) and textfiles.GUESS in types.values())
    if ledger is None or not guesses or not is_text(data):
        return types
    paths, layout = text_layout(data, types, delimiter, header)
    file = Path(os.fspath(data)).name

    def kept() -> dict[str, str]:
        before = _read(ledger, file)
        if set(layout.names) <= set(before):
            return before
        for name, kind in textfiles.guess(paths, layout).items():
            if name not in before:
                _write(ledger, file, name, kind)
        return _read(ledger, file)

    return textfiles.declared(types, layout, kept)


def _write(ledger: Ledger, file: str, name: str, kind: str) -> None:
    ledger.debit(Privacy(0, 0, ledger.adjacency), what=WORD + json.dumps([file, name, kind]))


def _read(ledger: Ledger, file: str) -> dict[str, str]:
    """What the ledger says; of two lines about one column the first holds."""
    found: dict[str, str] = {}
    for line in ledger.entries():
        if line.what.startswith(WORD) and not line.cost.exact_epsilon:
            where, name, kind = json.loads(line.what.removeprefix(WORD))
            if where == file:
                found.setdefault(name, kind)
    return found
