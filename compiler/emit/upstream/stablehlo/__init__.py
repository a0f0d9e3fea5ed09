"""Programs of primitives in StableHLO, with functions of chlo."""

from __future__ import annotations

from npuc.compiler.emit.upstream.program import Form
from npuc.compiler.emit.upstream.stablehlo import contraction, elementwise, indexing, reductions, shape
from npuc.compiler.emit.upstream.stablehlo.writer import StablehloWriter, same

STABLEHLO = Form(
    "StableHLO",
    {
        name: lowering
        for family in (elementwise, shape, reductions, contraction, indexing)
        for name, lowering in family.LOWERINGS.items()
    },
    same,
    StablehloWriter,
    "main",
)
