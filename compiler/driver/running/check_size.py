"""How much a run of a program for `npuc check` takes, and whether that is too much."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.memory.liveness import is_view
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.driver.levels.preset import AUTODIFF
from npuc.compiler.interpreter.execute import the_function
from npuc.dialects.copies import copied
from npuc.dialects.tensors import tensor_type
from npuc.frontends.source import Source

ELEMENT = 8
"""The bytes of an element: checks compute in float64."""
MACS_PER_BYTE = 10
"""A run may hold a byte for so many multiply-accumulates that it may take: 2 GB where it may take 2e10 of them."""
_SIZE_NAMES = ("batch", "image", "length", "tokens")


def held_bytes(module: ModuleOp, passes: Iterable[ModulePass]) -> int:
    """
    The bytes that are held while a program runs, with the results of the run that it is compared with.

    The interpreter keeps every value until the function returns; views take nothing. Where `passes` derive a training
    step, it is that of the step.
    """
    module = copied(module)
    for step in passes:
        if step.name == AUTODIFF:
            try:
                step.apply(Context(), module)
            except (NpucError, PassFailedException):  # the check says so
                break
    block = the_function(module).body.block
    values: list[SSAValue] = [*block.args]
    for op in block.ops:
        values += [] if is_view(op) else op.results
    values += block.last_op.operands if block.last_op is not None else ()
    return ELEMENT * sum(tensor_type(value).element_count() for value in values if isinstance(value.type, TensorType))


def refuse_large(macs: int, held: int, limit: int, source: Source) -> None:
    """
    Raise `UsageError` if a run takes more than `limit` multiply-accumulates, or holds more than its part of bytes.

    The hint names the parameters of the network that are sizes.
    """
    known = source.frontend.parameters(source)
    names = [name for name in _SIZE_NAMES if name in source.text]
    if macs > limit:
        sizes = " or ".join(f"-D {name}=…" for name in names) or "a smaller network"
        raise UsageError(
            f"one run of the program takes {macs:,} MACs, the limit is {limit:,}",
            hint=f"lower {sizes}, or raise --limit",
        )
    if held * MACS_PER_BYTE > limit:
        names = names if known is None else list(known.names)
        sizes = f"a parameter of the network (-D NAME=…: {', '.join(names)})" if names else "a smaller network"
        raise UsageError(
            f"one run of the program holds {held / 1e9:,.1f} GB, the limit is {limit / MACS_PER_BYTE / 1e9:,.1f} GB",
            hint=f"lower {sizes}, or raise --limit to {held * MACS_PER_BYTE:.1e}",
        )
