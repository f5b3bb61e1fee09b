"""The bytes of a text file: unpacked as its name says, and recoded to UTF-8.

**What is broken stays where it is.** Bytes that mean nothing in the encoding become U+FFFF, which is no character. So
the cell that holds them is a missing value (`uptack.table.csv.cells`), and no other is touched. This needs an encoding
in which no character changes how the ones after it are read: UTF-8, UTF-16, UTF-32, and those with one byte per
character. Others are refused. A row of UTF-16 is a row of 16-bit units: a lone half of a pair is one broken unit.

**Rows are read alike in blocks of any size.** Where blocks end is a matter of the rows before, which must not decide
what a cell holds. Arrow leaves out a \\n that begins a block after one that ends in \\r, in quotes too: so no part that
is read ends in \\r, but for the last. Of a block with null characters it loses count of quotes: so in rows they are
U+FFFF, too. And it stops at a row with too many cells that is no UTF-8: so it never sees one.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.table.snapshots import guarded

PACKED = {".gz": ("gzip", b"\x1f\x8b"), ".bz2": ("bz2", b"BZh"), ".zst": ("zstd", b"\x28\xb5\x2f\xfd")}
"""How files are packed, by the end of their names, and what they begin with."""
OTHERS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip or Excel", b"PAR1": "Parquet"}
"""What is no text, by its first bytes."""
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order marks. Those of UTF-32 come first: one of them begins like one of UTF-16."""
WIDE = tuple(f"utf-{width}{order}" for width in (16, 32) for order in ("-le", "-be"))
MARKED = ("utf-16", "utf-32")
"""Encodings whose order of bytes is said by a mark."""
CHUNK = 1 << 20
PAIRS = np.arange(1 << 16, dtype=">u2").tobytes()
"""Each byte after each other one. An encoding in which a byte says how later ones are read shows it here: escapes as in
ISO 2022 and HZ, and those of Python's texts."""
BROKEN = "uptack-broken"
LOST = "\uffff"
"""What stands for bytes that mean nothing."""
codecs.register_error(BROKEN, lambda error: (LOST, getattr(error, "end", 0)))


def bare(path: str) -> str:
    """The name of a file without the end that says how it is packed."""
    end = Path(path).suffix
    return path.removesuffix(end) if end.lower() in PACKED else path


def opened(path: str, encoding: str = "utf-8", rows: bool = False) -> Any:
    """A stream of Arrow with the file's text as UTF-8, for its line of names or for its `rows`."""
    import pyarrow as pa

    return pa.PythonFile(_Recoded(unpacked(path), encoding, rows), mode="r")


def unpacked(path: str) -> Any:
    """A stream of Arrow with the file's bytes."""
    import pyarrow as pa

    packed = PACKED.get(Path(path).suffix.lower())
    return pa.input_stream(path, compression=packed[0] if packed else None)


class _Recoded:
    """Bytes in some encoding, read as UTF-8."""

    def __init__(self, stream: Any, encoding: str, rows: bool) -> None:
        self._stream, self._rows, self._ready, self.closed = stream, rows, b"", False
        self._decoder = codecs.getincrementaldecoder(encoding)(BROKEN)

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or all; one less in place of a part that ends in \\r, and fewer at the end only."""
        parts, length, last = [self._ready], len(self._ready), False
        while not last and (size < 0 or length <= size):
            chunk = bytes(self._stream.read(CHUNK))
            last = not chunk
            text = self._decoder.decode(chunk, final=last)
            parts.append((text.replace("\0", LOST) if self._rows else text).encode("utf-8"))
            length += len(parts[-1])
        made, end = b"".join(parts), length if size < 0 else size
        end -= 1 < end < length and made[end - 1 : end] == b"\r"
        self._ready = made[end:]
        return made[:end]

    def close(self) -> None:
        """No more is read."""
        self._stream.close()
        self.closed = True


def known(encoding: object) -> str | None:
    """An encoding that somebody said, by its own name; None if nobody did."""
    if encoding is None:
        return None
    try:
        name = codecs.lookup(str(encoding)).name.removesuffix("-sig")
        every, each = PAIRS.decode(name, "replace"), [bytes([byte]).decode(name, "replace") for byte in range(256)]
    except (LookupError, UnicodeError, TypeError, ValueError):
        every, each, name = "", [], str(encoding)
    if name in ("utf-8", *WIDE, *MARKED):
        return name
    if not every or {*map(len, each)} != {1} or every != "".join(each[byte] for byte in PAIRS):
        must = "utf-8, utf-16, utf-32, or one with one byte per character such as 'latin-1' or 'cp1252'"
        fix = f"Recode the file: iconv -f {name} -t utf-8." if every else ""
        raise InvalidArgument("encoding", must, checks.describe(encoding), fix)
    return name


def found(path: str, encoding: str | None, names: bool) -> str:
    """The encoding of a file. A mark before the line of names decides where nobody says it.

    Without a line of `names` the first bytes are those of a row, and decide nothing.
    """
    if not names:
        if encoding in MARKED:
            fix = f"Say {encoding}-le or {encoding}-be: without a line of names a mark may be a row's."
            raise InvalidArgument("encoding", "one with the order of bytes", repr(encoding), fix)
        return encoding or "utf-8"
    with unpacked(path) as file:
        start = guarded(lambda: bytes(file.read(4)))
    mark = next((said for mark, said in MARKS.items() if start.startswith(mark)), None)
    if encoding in MARKED:
        return mark if mark and mark.startswith(encoding) else f"{encoding}-le"
    return encoding or mark or "utf-8"


def check(path: str, names: bool) -> None:
    """Whether the file is packed as its name says. Without a line of `names` plain text may begin with any bytes."""
    with Path(path).open("rb") as file:
        start = file.read(4)
    packed = PACKED.get(Path(path).suffix.lower())
    if packed and not start.startswith(packed[1]):
        fix = f"Take {Path(path).suffix} off its name if it is plain text."
        raise InvalidArgument("data", f"a {packed[0]} file, as its name says", "something else", fix)
    other = next((what for mark, what in OTHERS.items() if start.startswith(mark)), None)
    if names and not packed and other:
        fix = {"gzip": "Add .gz to its name.", "zstd": "Add .zst to its name."}.get(other, "Save its table as CSV.")
        raise InvalidArgument("data", "a text file, as its name says", f"a {other} file", fix)
