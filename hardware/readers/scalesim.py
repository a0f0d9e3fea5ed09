"""
SCALE-Sim's configuration files, versions 2 and 3, as hardware descriptions.

    [architecture_presets]              array.rows = 32, array.cols = 32, array.dataflow = "ws"
    ArrayHeight : 32              ->    scalesim.ifmap_sram_kb = 64, …
    Dataflow = ws                       cycle.compat = "scalesim3"

Sections and keys in any case, `:` or `=`, comments behind `#` or `;`. Any key may be missing: its value is then that
of SCALE-Sim's example machine, the preset `scalesim`. Keys that no version has are skipped, unless they look like a
misspelled one.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import PurePath

from npuc.compiler.core.errors import Location, UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.kinds import Value, WrongValue
from npuc.hardware.schema import KEYS

SECTIONS = ("general", "run_presets", "architecture_presets", "layout", "sparsity", "network_presets")
_SIZES = {
    "ArrayHeight": ("array.rows", 32),
    "ArrayWidth": ("array.cols", 32),
    "IfmapSramSzkB": ("scalesim.ifmap_sram_kb", 64),
    "FilterSramSzkB": ("scalesim.filter_sram_kb", 64),
    "OfmapSramSzkB": ("scalesim.ofmap_sram_kb", 64),
}
_OTHERS = (
    *("run_name", "InterfaceBandwidth", "UseRamulatorTrace", "Dataflow", "Bandwidth", "MemoryBanks", "TopologyCsvLoc"),
    *("IfmapOffset", "FilterOffset", "OfmapOffset", "ReadRequestBuffer", "WriteRequestBuffer"),
    *("IfmapCustomLayout", "IfmapSRAMBankBandwidth", "IfmapSRAMBankNum", "IfmapSRAMBankPort"),
    *("FilterCustomLayout", "FilterSRAMBankBandwidth", "FilterSRAMBankNum", "FilterSRAMBankPort"),
    *("SparsitySupport", "SparseRep", "OptimizedMapping", "RandomNumberGeneratorSeed", "BlockSize"),
)
KNOWN = (*_SIZES, *_OTHERS)
_SPELLING = {name.lower(): name for name in KNOWN} | {
    # as files older than version 2 have it
    name.removesuffix("kB").lower(): name
    for name in _SIZES
    if name.endswith("kB")
}
_SEPARATOR = re.compile("[:=]")
_COMMENT = re.compile(r"(?:^|(?<=\s))[#;].*$")
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
WORDS_A_CYCLE = 10
"""SCALE-Sim's assumption in CALC mode for the first fetch; here the bandwidth where the file has none."""
CLOCK_MHZ = 1000.0
"""SCALE-Sim has no clock: a cycle is a nanosecond."""


@frozen
class _Entry:
    """A key's value and where it stands: line and column from 1."""

    value: str
    line: int
    col: int


@frozen
class _File:
    """A configuration file: its name, its lines, and its entries by key in the usual spelling."""

    name: str
    lines: list[str]
    entries: dict[str, _Entry]

    def error(self, message: str, line: int, col: int, hint: str | None = None) -> UsageError:
        """An error at a place of the file."""
        source_line = self.lines[line - 1]
        return UsageError(message, location=Location(self.name, line, col), hint=hint, source_line=source_line)

    def wrong(self, key: str, expected: str) -> UsageError:
        """An error about the value of a key."""
        entry = self.entries[key]
        found = f"'{_shown(entry.value)}'" if entry.value else "nothing"
        return self.error(f"{key}: found {found}, expected {expected}", entry.line, entry.col)

    def text(self, key: str, default: str) -> str:
        """The value of a key, else the default."""
        return self.entries[key].value if key in self.entries else default

    def integer(self, key: str, path: str, default: int) -> int:
        """The integer of a key, checked as the hardware key `path`."""
        if key not in self.entries:
            return default
        text = self.entries[key].value
        try:
            if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
                raise WrongValue(text)
            value = KEYS[path].kind.read(int(text))
        except WrongValue:
            raise self.wrong(key, _range(path)) from None
        return value if isinstance(value, int) else default

    def flag(self, key: str) -> bool:
        """The truth value of a key; false where it is missing."""
        if key not in self.entries:
            return False
        value = _FLAGS.get(self.entries[key].value.lower())
        if value is None:
            raise self.wrong(key, "true or false")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of the choices, in any case; the first where the key is missing."""
        text = self.text(key, choices[0])
        found = next((choice for choice in choices if choice.lower() == text.lower()), None)
        if found is None:
            raise self.wrong(key, " or ".join(choices))
        return found

    def bandwidth(self, key: str) -> float | None:
        """The first number of a list of bandwidths, in words a cycle; None where the key is missing."""
        if key not in self.entries:
            return None
        first = self.entries[key].value.partition(",")[0].strip()
        if not re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,9})?", first) or float(first) <= 0:
            raise self.wrong(key, "a bandwidth in words a cycle, above 0")
        return float(first)


def _range(path: str) -> str:
    """The range of a size."""
    kind = KEYS[path].kind
    least, most = getattr(kind, "least", 1), getattr(kind, "most", 1)
    return f"an integer from {least:,} to {most:,}"


def read_cfg(text: str, name: str) -> dict[str, Value]:
    """
    The hardware keys that a SCALE-Sim configuration means.

    `cycle.compat` is on; what SCALE-Sim lacks and npuc's own model needs (clock, one SPM, bandwidth, vector lanes) is
    filled in as in the preset `scalesim`. Raises `UsageError` with the place of what is malformed.
    """
    file = _read(text, name)
    values: dict[str, Value] = {path: file.integer(key, path, default) for key, (path, default) in _SIZES.items()}
    run = file.text("run_name", "").strip("\"'").strip()
    values["name"] = run if run and run.isprintable() else PurePath(name).stem
    values["array.dataflow"] = file.choice("Dataflow", ("os", "ws", "is"))
    mode = file.choice("InterfaceBandwidth", ("CALC", "USER"))
    written = file.bandwidth("Bandwidth")
    bandwidth = written if mode == "USER" and written is not None else float(WORDS_A_CYCLE)
    values["scalesim.bandwidth_mode"] = mode
    if mode == "USER":
        values["scalesim.ifmap_bw"] = file.bandwidth("IfmapSRAMBankBandwidth") or bandwidth
        values["scalesim.filter_bw"] = file.bandwidth("FilterSRAMBankBandwidth") or bandwidth
        values["scalesim.ofmap_bw"] = bandwidth
    values["scalesim.memory"] = True
    values |= _sparsity(file)
    values["cycle.compat"] = "scalesim3"
    sizes = [values[f"scalesim.{operand}_sram_kb"] for operand in ("ifmap", "filter", "ofmap")]
    return values | {
        "clock_mhz": CLOCK_MHZ,
        "array.fill": "per-fold",
        "array.drain": "hidden",
        "memory.spm_kib": float(sum(size for size in sizes if isinstance(size, int))),
        "memory.double_buffer": True,
        "memory.element_bytes": 1,
        "dram.gb_per_s": bandwidth * CLOCK_MHZ / 1000,
        "vector.lanes": values["array.cols"],
    }


def _sparsity(file: _File) -> dict[str, Value]:
    on = file.flag("SparsitySupport")
    values: dict[str, Value] = {"scalesim.sparsity": on}
    if on:
        values["scalesim.sparse_rep"] = file.choice("SparseRep", ("ellpack_block", "csr", "csc"))
        if file.flag("OptimizedMapping"):
            raise file.wrong(
                "OptimizedMapping", "false: row-wise sparsity, which draws random numbers, is not modelled"
            )
    return values


def _read(text: str, name: str) -> _File:
    lines = text.removeprefix("\ufeff").split("\n")
    file = _File(name, lines, {})
    section: str | None = None
    for number, line in enumerate(lines, 1):
        bare = _COMMENT.sub("", line).rstrip()
        if not bare:
            continue
        first = len(bare) - len(bare.lstrip())
        found = bare[first:]
        separator = _SEPARATOR.search(found)
        if found.startswith("[") and found.endswith("]"):
            section = found[1:-1].strip().lower()
        elif section is None:
            hint = f"sections are {', '.join(f'[{s}]' for s in SECTIONS)}"
            raise file.error(f"found '{_shown(found)}' before any [section]", number, first + 1, hint)
        elif separator is None or separator.start() == 0:
            raise file.error(f"found '{_shown(found)}', expected KEY : VALUE", number, first + 1)
        elif section in SECTIONS:
            key, value = found[: separator.start()].rstrip(), found[separator.end() :].lstrip()
            _add(file, key, _Entry(value, number, len(bare) - len(value) + 1), first + 1)
    return file


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _add(file: _File, key: str, entry: _Entry, col: int) -> None:
    """Note an entry under the usual spelling of its key, which begins in column `col`."""
    known = _SPELLING.get(key.lower())
    if known is None:
        near = get_close_matches(key.lower(), _SPELLING, n=1, cutoff=0.85) if len(key) < 100 else []
        if near:
            raise file.error(f"unknown key '{key}'", entry.line, col, f"did you mean '{_SPELLING[near[0]]}'?")
        return
    if known in file.entries:
        raise file.error(f"{known} is there twice, first in line {file.entries[known].line}", entry.line, col)
    file.entries[known] = entry
