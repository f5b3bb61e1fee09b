"""A page about synthetic rows: what is kept of the data and how well, with private margins beside synthetic ones."""

from __future__ import annotations

import html
from typing import Any

from uptack.labels import label, printable
from uptack.privacy import Privacy
from uptack.privacy.guarantee import promise
from uptack.release import Release
from uptack.synthesis.synthetic_table import ColumnFit, SyntheticTable

BARS = 40
"""Cells of a column that are drawn: those with most rows."""
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;width:100%}td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}svg{width:100%;height:7rem}pre{white-space:pre-wrap}
.private{fill:#9bb8d3}.rows{fill:#c4633a}"""


def to_html(made: Release[SyntheticTable]) -> str:
    """One file without scripts. All of it is made of released numbers."""
    table = made.value
    promised = promise(made.privacy) if isinstance(made.privacy, Privacy) else ""
    stamp = "" if made.private else "<p><strong>NOT PRIVATE: seeded randomness.</strong></p>"
    pairs = "".join(
        f"<tr><td>{_text(a)}</td><td>{_text(b)}</td><td class=n>{one.shape[0]} × {one.shape[1]}</td>"
        f"<td class=n>{one.sigma:,.1f}</td><td class=n>{one.distance:.3f}</td></tr>"
        for one in sorted(table.pairs, key=lambda one: one.distance)
        for a, b in [one.names]
    )
    heads = "<th>column<th>column<th class=n>table<th class=n>noise (rows)<th class=n>95% bound on distance"
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Synthetic rows</title><style>{STYLE}</style>"
        f"<h1>Synthetic rows</h1>{stamp}<p>{html.escape(promised)}</p>"
        f"<pre>{html.escape(table.summary())}</pre><h2>Columns</h2>"
        "<p>Pale bars are private counts of cells, dark ones the counts of the synthetic rows.</p>"
        f"{''.join(map(_column, table.margins))}<h2>Pairs</h2>"
        f"<p>Each line is one measurement. Distance is the total variation distance of the two-way table of synthetic "
        f"rows from that of the data.</p><table><tr>{heads}{pairs}</table></html>\n"
    )


def _text(name: Any) -> str:
    return html.escape(printable(label(name)))


def _column(one: ColumnFit) -> str:
    """The name of a column, its error, and bars of its cells."""
    said = "nothing is known of its values (⊥)" if one.status != "measured" else f"95% bound {one.distance:.3f}"
    top = max([*one.private, *one.synthetic, 1.0])
    chosen = sorted(sorted(range(len(one.private)), key=lambda i: -one.synthetic[i])[:BARS])
    width, bars = 100 / max(len(chosen), 1), []
    for place, i in enumerate(chosen):
        for name, count, shift in (("private", one.private[i], 0.05), ("rows", one.synthetic[i], 0.5)):
            high = 30 * max(count, 0.0) / top
            x, y = (place + shift) * width, 30 - high
            bars.append(f'<rect class={name} x="{x:.2f}" y="{y:.2f}" width="{0.42 * width:.2f}" height="{high:.2f}"/>')
    picture = f'<svg viewBox="0 0 100 30" preserveAspectRatio="none">{"".join(bars)}</svg>'
    return f"<h3>{_text(one.name)}</h3><p>{one.cells} cells, {said}</p>{picture}"
