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
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td{overflow-wrap:anywhere}svg{width:100%;height:7rem;display:block}pre{white-space:pre-wrap;overflow-wrap:anywhere}
.ends{display:flex;justify-content:space-between;gap:1rem;color:#555;font-size:.85rem}
.private{fill:#9bb8d3;color:#9bb8d3}.rows{fill:#c4633a;color:#c4633a}h3{margin-bottom:0;overflow-wrap:anywhere}
h3+p{margin-top:0;color:#555}"""
LEGEND = (
    "<p><span class=private>■</span> private count <span class=rows>■</span> count of the synthetic rows. "
    f"Each pair of bars is a cell: a value, an interval, other or missing values. At most {BARS} cells are shown, "
    "those with most rows. The bound is one on the total variation distance of the synthetic column from that of the "
    "data; it holds with 95% confidence.</p>"
)


def to_html(made: Release[SyntheticTable]) -> str:
    """One file without scripts. All of it is made of released numbers."""
    table = made.value
    promised = promise(made.privacy) if isinstance(made.privacy, Privacy) else ""
    stamp = "" if made.private else "<p><strong>NOT PRIVATE: seeded randomness.</strong></p>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width,initial-scale=1">'
        f"<title>Synthetic report</title><style>{STYLE}</style><h1>Synthetic report</h1>{stamp}"
        f"<p>{html.escape(promised)}</p><pre>{html.escape(table.summary())}</pre>"
        f"<h2>Columns</h2>{LEGEND}{''.join(map(_column, table.margins))}{_pairs(table)}</html>\n"
    )


def _text(name: Any) -> str:
    return html.escape(printable(label(name)))


def _cell(one: ColumnFit, place: int) -> str:
    return html.escape(printable(one.labels[place]))


def _pairs(table: SyntheticTable) -> str:
    """A line for each measurement of two columns."""
    if not table.pairs:
        return "<h2>Pairs</h2><p>No pair of columns was measured: columns are independent of each other.</p>"
    lines = "".join(
        f"<tr><td>{_text(a)}</td><td>{_text(b)}</td><td class=n>{one.shape[0]} × {one.shape[1]}</td>"
        f"<td class=n>{one.sigma:,.1f}</td><td class=n>{one.distance:.3f}</td></tr>"
        for one in sorted(table.pairs, key=lambda one: one.distance)
        for a, b in [one.names]
    )
    heads = "<th>column<th>column<th class=n>groups<th class=n>noise (rows)<th class=n>95% bound"
    return (
        "<h2>Pairs</h2><p>Each line is one measurement: into how many groups both columns were divided, the standard "
        "deviation of the noise of each count, and a bound on the total variation distance of the two-way table of "
        "synthetic rows from that of the data. Relations between other pairs are not measured.</p>"
        f"<div class=wide><table><tr>{heads}{lines}</table></div>"
    )


def _column(one: ColumnFit) -> str:
    """The name of a column, its error, and bars of its cells."""
    said = "nothing is known of its values (⊥)" if one.status != "measured" else f"95% bound {one.distance:.3f}"
    top = max([*one.private, *one.synthetic, 1.0])
    chosen = sorted(sorted(range(one.cells), key=lambda i: -max(one.synthetic[i], one.private[i]))[:BARS])
    width, bars = 100 / max(len(chosen), 1), []
    for place, i in enumerate(chosen):
        told = f"{_cell(one, i)}: {one.private[i]:,.0f} private, {one.synthetic[i]:,.0f} synthetic"
        for name, count, shift in (("private", one.private[i], 0.05), ("rows", one.synthetic[i], 0.5)):
            high = 30 * max(count, 0.0) / top
            x, y = (place + shift) * width, 30 - high
            bars.append(
                f'<rect class={name} x="{x:.2f}" y="{y:.2f}" width="{0.42 * width:.2f}" height="{high:.2f}">'
                f"<title>{told}</title></rect>"
            )
    picture = f'<svg viewBox="0 0 100 30" preserveAspectRatio="none" role=img>{"".join(bars)}</svg>'
    ends = "".join(f"<span>{_cell(one, i)}</span>" for i in (chosen[0], chosen[-1])) if chosen else ""
    return f"<h3>{_text(one.name)}</h3><p>{one.cells} cells, {said}</p>{picture}<div class=ends>{ends}</div>"
