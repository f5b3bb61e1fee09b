"""Where a report goes: checked and opened before anything is spent, so that what was paid for is not lost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from uptack.errors import InvalidArgument
from uptack.report.data_package import to_package
from uptack.report.page import to_html
from uptack.report.text import to_markdown

if TYPE_CHECKING:
    from uptack.report.profile import Profile


def to_json(profile: Profile) -> str:
    """Plain values, exactly as they were released."""
    return profile.to_json()


FORMATS: dict[str, Callable[[Profile], str | bytes]] = {
    ".html": to_html,
    ".json": to_json,
    ".md": to_markdown,
    ".zip": to_package,
}


def content(profile: Profile, suffix: str) -> bytes:
    """The report in the format of a file that ends so."""
    made = FORMATS[suffix](profile)
    return made.encode("utf-8") if isinstance(made, str) else made


class Output:
    """A place for one report, held from before the first debit until the report is in it.

    An empty file is made beside the target, under a name of its own. The report is written to it, and only then does it
    take the target's name: whatever happens, the target is as it was, or whole. Where it is left without a report, the
    empty file goes away.

    Not all can be known beforehand: the disk may fill up, somebody may remove the folder. Then `write` raises, and
    `rescue` still saves the report elsewhere.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in FORMATS:
            raise InvalidArgument("output", "a file that ends in .html, .json, .md or .zip", repr(_brief(str(path))))
        self._target = _resolved(self.path)
        try:
            self._handle, name = tempfile.mkstemp(dir=self._target.parent, prefix=".uptack-")
        except OSError:
            folder = repr(str(self._target.parent))
            raise InvalidArgument("output", "in a folder that exists and can be written to", folder) from None
        self._waiting: Path | None = Path(name)

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._release()

    def write(self, profile: Profile) -> Path:
        """Write the report as the extension says, all of it or nothing."""
        made = content(profile, self.path.suffix.lower())
        assert self._waiting is not None, "a place is for one report"
        with open(self._handle, "wb", closefd=False) as file:
            file.write(made)
            file.flush()
            os.fsync(self._handle)
        self._waiting.replace(self._target)
        self._release()
        return self.path

    def rescue(self, profile: Profile) -> Path:
        """Save a report that could not be written, in a new file that only this user can read; as JSON if need be."""
        suffix = self.path.suffix.lower()
        try:
            made = content(profile, suffix)
        except Exception:
            suffix, made = ".json", to_json(profile).encode("utf-8")
        handle, name = tempfile.mkstemp(prefix="uptack-report-", suffix=suffix)
        with open(handle, "wb") as file:
            file.write(made)
        return Path(name)

    def _release(self) -> None:
        """Let go of the file that was waiting, which is gone where it has become the report."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            os.close(self._handle)
            waiting.unlink(missing_ok=True)


def _resolved(path: Path) -> Path:
    """The file that a path leads to: not a folder, and with a name that the system can keep."""
    try:
        target = path.resolve()
        target.lstat()
    except FileNotFoundError:
        return target
    except (OSError, RuntimeError, ValueError):
        must = "a valid path of moderate length"
        raise InvalidArgument("output", must, repr(_brief(str(path)))) from None
    if not target.is_file():
        raise InvalidArgument("output", "a file, or a new one", repr(str(path)))
    return target


def _brief(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:40]}…{text[-39:]}"


def write(profile: Profile, path: str | Path) -> Path:
    """Write a report as the extension of its file says, all of it or nothing."""
    with Output(path) as output:
        return output.write(profile)
