"""The step in MLIR's own dialects: `linalg` on tensors, with arith and math in the bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.compiler.emit.base import Translation

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class LinalgText(Translation):
    """The step in MLIR's own dialects."""

    def write(self, module: ModuleOp) -> str:
        """See `Translation`."""
        from npuc.compiler.emit.upstream.linalg import LINALG
        from npuc.compiler.emit.upstream.program import translated
        from npuc.compiler.emit.upstream.text import text_of

        return text_of(translated(module, LINALG))


EMITTER = LinalgText()
