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


PROMPT = re.compile(r"(?P<indent>\s*)>>> ")
FENCE = re.compile(r"\s*(```|~~~)")


def on_config(config: Any) -> Any:
    """Docstrings of the reference are Markdown whose examples have no fences: see `fence_examples`."""
    from markdown.extensions import Extension
    from markdown.preprocessors import Preprocessor

    class Fences(Preprocessor):
        def run(self, lines: list[str]) -> list[str]:
            return fence_examples(lines)

    class Examples(Extension):
        def extendMarkdown(self, md: Any) -> None:  # noqa: N802
            md.preprocessors.register(Fences(md), "examples", 35)  # before the fences of other blocks are read

    config.markdown_extensions.append(Examples())
    return config


def fence_examples(lines: list[str]) -> list[str]:
    """Lines with each example (from `>>>` to an empty line) as a block of code. Those in a block already stay.

    >>> fence_examples(["Two:", "", ">>> 1 + 1", "2", "", "That is all."])
    ['Two:', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'That is all.']
    >>> fence_examples(["```python", ">>> 1 + 1", "2", "```"])
    ['```python', '>>> 1 + 1', '2', '```']
    """
    fenced, inside, indent = list[str](), False, None
    for line in [*lines, ""]:
        inside ^= indent is None and FENCE.match(line) is not None
        start = None if inside else PROMPT.match(line)
        if indent is None and start is not None:
            indent = start["indent"]
            fenced.append(f"{indent}```pycon")
        if indent is not None and not line.strip():
            fenced.append(f"{indent}```")
            indent = None
        fenced.append(line)
    return fenced[:-1]


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
        page = f"statistics/{(one.page or one.name).replace('_', '-')}.md"
        if one.reads is not None and page not in known:
            text = f"# {name}\n\n::: {one.function.__module__}.{name}\n"
            files.append(File.generated(config, page, content=text))
    return files
