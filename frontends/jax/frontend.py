"""Programs of JAX as a format of sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuc.frontends.base import Frontend, Program, Request, Source

if TYPE_CHECKING:
    import mmap

_OPERATION = re.compile(
    rb'^[^/\n]*?(?:^|[\s={}(])(?:"(?:stablehlo|chlo)\.[a-z_0-9]+"\(|(?:stablehlo|chlo)\.[a-z_0-9]+\b(?!"))',
    re.MULTILINE,
)
_BYTECODE = b"ML\xefR"


class JaxProgram(Frontend):
    """StableHLO as JAX exports it: bytecode, text, and what jax.export serialised."""

    name = "jax"
    title = "a program of JAX"
    suffixes = ("mlirbc", "jaxexport")
    binary = True
    lacks_step = True

    def claims(self, suffix: str, data: bytes | mmap.mmap) -> bool:
        """IR with an operation of StableHLO, and MLIR's bytecode; see `Frontend`."""
        if data[:4] == _BYTECODE:
            return True
        return data.find(b"hlo.") >= 0 and _OPERATION.search(data) is not None

    def read(self, source: Source, request: Request) -> Program:
        """A forward graph, in training with the loss that is asked for, or a whole step; see `Frontend`."""
        from npuc.frontends.jax.read import read_jax

        return read_jax(source, request)


FRONTEND = JaxProgram()
