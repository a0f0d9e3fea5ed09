"""From the bytes of a file to a StableHLO module, by a process that has JAX's MLIR."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from npuc.compiler.core.errors import SourceError
from npuc.frontends.jax.program import Answer, HloModule

if TYPE_CHECKING:
    import mmap

EXTRA = 'pip install "npuc[jax]"'
BYTECODE = b"ML\xefR"
SECONDS = 60
"""That reading may take of a processor: bytes beyond the first million count for more."""
WAIT = 8
"""So many times as long may it take by the clock, on a machine that does other things."""
MEMORY = 5 << 28
"""
The bytes of address space that reading may take, besides what grows with the file.

Some 0.3 GiB of them are mapped and never touched: libraries of JAX. So it stays below 1 GiB of memory.
"""
_MODULE_FIELD = 30
"""Where a table of jax.export has the module, among its fields (jax/_src/export/serialization.fbs)."""


def load(data: bytes | mmap.mmap, filename: str) -> HloModule:
    """The module in the bytes of a file. Raises `SourceError`."""
    content = bytes(data)
    if find_spec("jaxlib") is None:
        raise SourceError(f"{filename}: reading StableHLO needs JAX's own reader of MLIR", hint=EXTRA)
    if not content.startswith(BYTECODE) and filename.endswith(".jaxexport"):
        content = exported_module(content, filename)
    answer = _asked(content, filename)
    if answer.failure is not None:
        raise SourceError(f"{filename}: {answer.failure.message}", hint=answer.failure.hint)
    if answer.module is None:
        raise SourceError(f"{filename}: found no module")
    return answer.module


def exported_module(data: bytes, filename: str) -> bytes:
    """
    The module in what `jax.export` serialised, a FlatBuffer: a table whose offsets say where each field is.

    Raises `SourceError` for bytes that are none.
    """
    try:
        (table,) = struct.unpack_from("<I", data, 0)
        (back,) = struct.unpack_from("<i", data, table)
        (field,) = struct.unpack_from("<H", data, table - back + _MODULE_FIELD)
        place = table + field
        (offset,) = struct.unpack_from("<I", data, place)
        (length,) = struct.unpack_from("<I", data, place + offset)
        start = place + offset + 4
    except struct.error:
        start = length = 0
    found = data[start : start + length]
    if not found.startswith(BYTECODE) or len(found) != length:
        raise SourceError(f"{filename}: found no module of jax.export", hint="expected what Exported.serialize() gives")
    return found


def _asked(content: bytes, filename: str) -> Answer:
    """What the process that reads a file says of it."""
    seconds = 8 + SECONDS * (len(content) >> 20) // 10
    limit = MEMORY + 8 * len(content)
    command = [sys.executable, "-m", "npuc.frontends.jax.worker", str(limit), str(seconds)]
    late = SourceError(f"{filename}: reading the module takes more than {seconds} s of a processor")
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=WAIT * seconds, check=False)
    except subprocess.TimeoutExpired:
        raise late from None
    if done.returncode in (-signal.SIGKILL, -getattr(signal, "SIGXCPU", 0)):
        raise late
    if done.returncode:
        raise SourceError(f"{filename}: JAX's reader of MLIR failed on the file", hint="the file is damaged")
    try:
        return msgspec.msgpack.decode(done.stdout, type=Answer)
    except msgspec.MsgspecError:
        raise SourceError(f"{filename}: JAX's reader of MLIR gave no module", hint="the file is damaged") from None
