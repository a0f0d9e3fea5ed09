"""The step in StableHLO, the dialect of XLA, with functions of chlo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.compiler.emit.base import Translation

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class StablehloText(Translation):
    """The step in StableHLO."""

    def write(self, module: ModuleOp) -> str:
        """See `Translation`."""
        from npuc.compiler.emit.upstream.program import translated
        from npuc.compiler.emit.upstream.stablehlo import STABLEHLO
        from npuc.compiler.emit.upstream.text import text_of

        return text_of(translated(module, STABLEHLO))


EMITTER = StablehloText()
