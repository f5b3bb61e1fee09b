"""What is made while the docs are built: formulas in MathML, the list of release functions, pages of statistics.

Browsers draw MathML themselves, without a script. What is said of release functions comes from the registry.
"""

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


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The list of all release functions in the place of its mark."""
    return (
        markdown.replace("<!-- release functions -->", _listed())
        if "<!-- release functions -->" in markdown
        else markdown
    )


def _listed() -> str:
    from uptack.registry import declared

    lines = ["| function | estimate | options |", "|---|---|---|"]
    for one in declared().values():
        options = ", ".join(f"`{option.name}`" for option in one.options)
        lines.append(f"| `{one.path}` | {one.summary.replace('|', chr(92) + '|')} | {options} |")
    return "\n".join(lines)


def on_files(files: Any, config: Any) -> Any:
    """A page from its docstring for every statistic that nobody has written one for."""
    from mkdocs.structure.files import File

    from uptack.registry import declared

    known = {file.src_uri for file in files}
    for name, one in declared().items():
        page = f"statistics/{one.page.replace('_', '-')}.md"
        if one.reads is not None and page not in known:
            text = f"# {name}\n\n::: {one.function.__module__}.{name}\n"
            files.append(File.generated(config, page, content=text))
    return files
