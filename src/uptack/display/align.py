"""Tables of text: cells that line up, as plain lines and as Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def padded(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[list[str]]:
    """The cells of a table, each as wide as its column. Those of the columns in `right` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        for row in rows
    ]


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """One line per row, with two spaces between columns.

    >>> print(*aligned([["ward", "rows"], ["north", "12"]], right={1}), sep="\\n")
    ward   rows
    north    12
    """
    return ["  ".join(cells).rstrip() for cells in padded(rows, right)]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table of Markdown that lines up as text, too. All columns but the first `left` are right-aligned.

    >>> print(*markdown_table(["ward", "rows"], [["north", "12"]]), sep="\\n")
    | ward  | rows |
    |-------|-----:|
    | north |   12 |
    """
    cells = padded([head, *rows], right=range(left, len(head)))
    rule = ("-" * (len(cell) + 2) if i < left else "-" * (len(cell) + 1) + ":" for i, cell in enumerate(cells[0]))
    first, *others = (f"| {' | '.join(line)} |" for line in cells)
    return [first, f"|{'|'.join(rule)}|", *others]
