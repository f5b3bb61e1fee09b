"""Formulas in LaTeX become MathML while the docs are built: browsers draw it themselves, without a script."""

from __future__ import annotations

import html
import re
from typing import Any

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def on_page_content(content: str, **_: Any) -> str:
    """The page with every formula that `pymdownx.arithmatex` has marked written in MathML."""
    return FORMULA.sub(_as_mathml, content)


def _as_mathml(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    display = "inline" if found["open"] == "(" else "block"
    return str(convert(html.unescape(found["tex"]).strip(), display=display))
