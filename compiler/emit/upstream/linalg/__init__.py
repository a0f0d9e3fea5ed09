"""Programs of primitives in MLIR's own dialects: linalg on tensors, with arith and math in the bodies."""

from __future__ import annotations

from npuc.compiler.emit.upstream.linalg import (
    constants,
    contraction,
    elementwise,
    indexing,
    reductions,
    shape,
    sorting,
)
from npuc.compiler.emit.upstream.linalg.writer import LinalgWriter, plain_type
from npuc.compiler.emit.upstream.program import Form

LINALG = Form(
    "linalg",
    {
        name: lowering
        for family in (elementwise, constants, shape, reductions, contraction, indexing, sorting)
        for name, lowering in family.LOWERINGS.items()
    },
    plain_type,
    LinalgWriter,
)
