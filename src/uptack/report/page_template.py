"""The template of the page: `template.html`, with the parts that sections declare.

What Jinja compiles is kept beside what Python does, since that takes longer than to fill it in.
"""

from __future__ import annotations

import contextlib
import os
import sys
from functools import cache
from importlib import resources
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import jinja2

import uptack
from uptack.labels import lines
from uptack.report.section import registered


def template_text() -> str:
    """The template, with the styles and the parts of all sections."""
    text = resources.files("uptack.report").joinpath("template.html").read_text("utf-8")
    parts = [f'{{% if shown.name == "{section.name}" %}}\n{section.html}{{% endif %}}\n' for section in registered()]
    styles = [section.style for section in registered()]
    return text.replace("{# styles of sections #}\n", "".join(styles)).replace("{# sections #}\n", "".join(parts))


class TemplateCache(jinja2.BytecodeCache):
    """One file in the folder of compiled modules. Jinja looks whether it was made from the same text.

    Without permission to write there, or with Python's -B option, the template is compiled each time.
    """

    def path(self) -> Path:
        """The file."""
        made_by = f"{uptack.__version__}j{jinja2.__version__}"
        mark = "".join(sign if sign.isalnum() else "x" for sign in made_by)  # 0.1.10 is not 0.11.0
        return Path(cache_from_source(str(Path(__file__).with_name("template.py")), optimization=mark))

    def load_bytecode(self, bucket: Any) -> None:
        """What was compiled before, if anything was."""
        try:
            bucket.bytecode_from_string(self.path().read_bytes())
        except Exception:  # missing, or written by another version
            bucket.reset()

    def dump_bytecode(self, bucket: Any) -> None:
        """Keep it: all of it, or nothing."""
        if sys.dont_write_bytecode:
            return
        with contextlib.suppress(OSError, NotImplementedError):  # some Pythons keep nothing
            place = self.path()
            part = place.with_suffix(f".{os.getpid()}")
            place.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(bucket.bytecode_to_string())
            part.replace(place)


def _clean(value: Any) -> Any:
    return lines(value) if type(value) is str else value


@cache
def template(text: str) -> jinja2.Template:
    """The compiled template. Whatever a name holds, it is text: escaped, and without what can't be printed."""
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
        loader=jinja2.FunctionLoader(lambda name: text),
        bytecode_cache=TemplateCache(),
    )
    return environment.get_template("page")
