"""
MAESTRO's hardware files as hardware descriptions.

    num_pes: 256              ->    maestro.num_pes = 256
    noc_bw_cstr: 64                 maestro.noc_bw = 64
    NoC_NumHops: 2                  maestro.noc_hop_latency = 2

Any key may be missing. Its default is MAESTRO's under a hardware file: one processing element, one hop of one cycle,
unlimited bandwidth; buffer sizes, which change no number, are left out. Blanks and `, - > ( ) : ;` separate words; a
word that begins with `//` ends its line. Older versions of MAESTRO spell the keys differently; both spellings are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from npuc.compiler.core.errors import Location, UsageError, did_you_mean
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Value, WrongValue
from npuc.hardware.schema import KEYS

UNLIMITED = 2**31 - 1
"""MAESTRO's largest integer, which stands for no limit."""
_NAMES = {
    "num_pes": "maestro.num_pes",
    "noc_bw_cstr": "maestro.noc_bw",
    # the latency of a hop is one cycle
    "NoC_NumHops": "maestro.noc_hop_latency",
    "offchip_bw_cstr": "maestro.offchip_bw",
    "l1_size_cstr": "maestro.l1_size",
    "l2_size_cstr": "maestro.l2_size",
}
_OLDER = {
    "NumPEs": "maestro.num_pes",
    "NoC_BW": "maestro.noc_bw",
    "L1Size": "maestro.l1_size",
    "L2Size": "maestro.l2_size",
}
SPELLINGS = _NAMES | _OLDER
_DEFAULTS: dict[str, Value] = {
    "maestro.num_pes": 1,
    "maestro.noc_bw": UNLIMITED,
    "maestro.noc_hop_latency": 1,
    "maestro.offchip_bw": UNLIMITED,
    "maestro.num_simd_lanes": 1,
}
_WORD = re.compile(r"(?:(?<![^ \t,>():;])-)?[^ \t,\->():;]+")
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_MAPPING = ("Network", "Constant", "Layer")


@frozen
class _Word:
    """A word of the file and where it begins: line and column from 1."""

    text: str
    line: int
    col: int

    @property
    def shown(self) -> str:
        """The word for a message."""
        text = "".join(c if c.isprintable() else "\ufffd" for c in self.text[:41])
        return text if len(text) <= 40 else f"{text[:37]}..."


def read_maestro_file(text: str, name: str) -> dict[str, Value]:
    """The hardware keys that a hardware file of MAESTRO means. Raises `UsageError` with the place of what is wrong."""
    lines = text.removeprefix("\ufeff").split("\n")

    def error(word: _Word, message: str, hint: str | None = None) -> UsageError:
        place, source_line = Location(name, word.line, word.col), lines[word.line - 1]
        return UsageError(message, location=place, hint=hint, source_line=source_line)

    found: dict[str, Value] = {}
    first: dict[str, _Word] = {}
    words = _words(lines)
    for key in words:
        path = SPELLINGS.get(key.text)
        if path is None:
            hint = did_you_mean(key.shown, list(_NAMES))
            if key.text in _MAPPING:
                hint = "that is a mapping file; a hardware file has lines such as num_pes: 256"
            raise error(key, f"unknown key '{key.shown}'", hint)
        if path in first:
            raise error(key, f"{key.text} is there twice, first in line {first[path].line}")
        first[path] = key
        value = next(words, None)
        if value is None:
            raise error(key, f"{key.text}: found the end of the file, expected an integer")
        try:
            number = int(value.text) if _INTEGER.fullmatch(value.text) else value.shown
            read = KEYS[path].kind.read(number)
        except WrongValue as e:
            raise error(value, f"{key.text}: {e}", f"{path} is: {KEYS[path].meaning}") from None
        found[path] = read
    return {"name": PurePath(name).stem} | _DEFAULTS | found


def _words(lines: list[str]) -> Iterator[_Word]:
    for number, line in enumerate(lines, 1):
        for found in _WORD.finditer(line.rstrip("\r")):
            if found.group().startswith("//"):
                break
            yield _Word(found.group(), number, found.start() + 1)
