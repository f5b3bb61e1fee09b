"""The bytes of a text file: decompressed as its name says, and recoded to UTF-8.

**Invalid bytes affect only their own cell.** Bytes that are invalid in the encoding become U+FFFF, which is not a
character. So their cell is a missing value (`uptack.table.csv.cells`), and no other cell changes. This needs an
encoding in which no character changes how later ones are read: UTF-8, UTF-16, UTF-32, and those with one byte per
character. Others are refused. A row of UTF-16 is a row of 16-bit units, and a lone surrogate is one invalid unit.

**Rows are read alike in blocks of any size.** Where a block ends depends on earlier rows, which must not decide what a
cell holds. Arrow drops a \\n that begins a block after one that ends in \\r, also in quotes. So no part that is read
ends in \\r, except the last. In a block with null characters Arrow loses count of quotes. So in rows they become
U+FFFF, too. And Arrow stops at a row with too many cells that is not UTF-8. So it never gets one.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import numpy as np

from uptack import checks
from uptack.errors import InvalidArgument
from uptack.interrupts import without_engine_errors
from uptack.table.packages import pa

PACKED = {".gz": ("gzip", b"\x1f\x8b"), ".bz2": ("bz2", b"BZh"), ".zst": ("zstd", b"\x28\xb5\x2f\xfd")}
"""Compressions by the end of a file's name, and the first bytes of such files."""
OTHERS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip or Excel", b"PAR1": "Parquet"}
"""Files that are not text, by their first bytes."""
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order marks. Those of UTF-32 come first, because one of them begins like one of UTF-16."""
WIDE = tuple(f"utf-{width}{order}" for width in (16, 32) for order in ("-le", "-be"))
MARKED = ("utf-16", "utf-32")
"""Encodings whose byte order is given by a mark."""
CHUNK = 1 << 20
PAIRS = np.arange(1 << 16, dtype=">u2").tobytes()
"""All pairs of bytes. They reveal encodings in which a byte changes how later ones are read, such as ISO 2022."""
BROKEN = "uptack-broken"
LOST = "\uffff"
"""Stands for invalid bytes."""
codecs.register_error(BROKEN, lambda error: (LOST, getattr(error, "end", 0)))


def without_compression(path: str) -> str:
    """The name of a file without the ending of its compression."""
    end = Path(path).suffix
    return path.removesuffix(end) if end.lower() in PACKED else path


def open_text(path: str, encoding: str = "utf-8", rows: bool = False) -> Any:
    """An Arrow stream of the file's text in UTF-8, for its header or for its `rows`."""
    return pa.PythonFile(_Utf8Stream(open_bytes(path), encoding, rows), mode="r")


def open_bytes(path: str) -> Any:
    """An Arrow stream of the file's decompressed bytes."""
    packed = PACKED.get(Path(path).suffix.lower())
    return pa.input_stream(path, compression=packed[0] if packed else None)


class _Utf8Stream:
    """Bytes in some encoding, read as UTF-8."""

    def __init__(self, stream: Any, encoding: str, rows: bool) -> None:
        self._stream, self._rows, self._ready, self.closed = stream, rows, b"", False
        self._decoder = codecs.getincrementaldecoder(encoding)(BROKEN)

    def read(self, size: int = -1) -> bytes:
        """`size` bytes, or all; one less if the part would end in \\r, and fewer only at the end."""
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
        self._stream.close()
        self.closed = True


def encoding_name(encoding: object) -> str | None:
    """The canonical name of an encoding; None if none is given."""
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


def file_encoding(path: str, encoding: str | None, names: bool) -> str:
    """The encoding of a file: as given, else by a byte order mark, which only a file with a header (`names`) has."""
    if not names:
        if encoding in MARKED:
            fix = f"Pass {encoding}-le or {encoding}-be: without a header a byte order mark may belong to a row."
            raise InvalidArgument("encoding", "an encoding with a byte order", repr(encoding), fix)
        return encoding or "utf-8"
    with open_bytes(path) as file:
        start = without_engine_errors(lambda: bytes(file.read(4)))
    mark = next((encoded for mark, encoded in MARKS.items() if start.startswith(mark)), None)
    if encoding in MARKED:
        return mark if mark and mark.startswith(encoding) else f"{encoding}-le"
    return encoding or mark or "utf-8"


def check_compression(path: str, names: bool) -> None:
    """Refuses a file that is not compressed as its name says. Without a header plain text may begin with any bytes."""
    with Path(path).open("rb") as file:
        start = file.read(4)
    packed = PACKED.get(Path(path).suffix.lower())
    if packed and not start.startswith(packed[1]):
        fix = f"If it is plain text, remove {Path(path).suffix} from its name."
        raise InvalidArgument("data", f"a {packed[0]} file, as its name says", "another file", fix)
    other = next((what for mark, what in OTHERS.items() if start.startswith(mark)), None)
    if names and not packed and other:
        fix = {"gzip": "Add .gz to its name.", "zstd": "Add .zst to its name."}.get(other, "Save its table as CSV.")
        raise InvalidArgument("data", "a text file, as its name says", f"a {other} file", fix)
