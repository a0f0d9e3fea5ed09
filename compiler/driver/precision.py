"""
The float types of a program, set before anything is scored: the pass `set-precision` runs in front of all others.

A requested precision applies or is refused. The precision of a machine applies if it can: a program that is lowered too
far keeps its types, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.devices import named

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from npuc.frontends.source import Source

AS_WRITTEN, MIXED = "as-written", "mixed"


def precision_passes(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    machine: str | None,
    asked: str | None,
    warnings: list[str],
) -> list[ModulePass]:
    """
    What gives a program its float types in front of `passes`: the one that is `asked` for, else that of the `machine`.

    Nothing where `passes` say it themselves. Adds to `warnings`. Raises `UsageError` where they say something else than
    what is asked for.
    """
    if asked is None and machine in (None, AS_WRITTEN) and not named(passes, "set-precision"):
        return []
    from npuc.compiler.transforms.set_precision import SetPrecisionPass, functions_of, too_low

    precision = asked or machine or AS_WRITTEN
    own = [step.to for step in passes if isinstance(step, SetPrecisionPass)]
    if own:
        if asked is not None and asked not in own:
            raise UsageError(
                f"--precision {asked}: the passes of -p have set-precision{{to={own[0]}}}", hint="leave out one of them"
            )
        return []
    if precision == AS_WRITTEN:
        return []
    low = (too_low(func, precision) for func in functions_of(module)) if asked is None else iter(())
    if (op := next((op for op in low if op is not None), None)) is not None:
        warnings.append(
            f"the program has {op.name}, whose types stay as written: "
            f"the hardware's precision, {precision}, does not apply"
        )
        return []
    return [SetPrecisionPass(precision)]


def precision_of(passes: Sequence[ModulePass]) -> str:
    """The float types that passes give a program."""
    if not named(passes, "set-precision"):
        return AS_WRITTEN
    from npuc.compiler.transforms.set_precision import SetPrecisionPass

    return next((step.to for step in reversed(passes) if isinstance(step, SetPrecisionPass)), AS_WRITTEN)


def formats_of_products(passes: Sequence[ModulePass]) -> str | None:
    """The formats that passes give operands of matrix products, each with what it is of; None without such a pass."""
    if not named(passes, "quantize"):
        return None
    from npuc.compiler.transforms.quantize import QuantizePass
    from npuc.compiler.transforms.unused import options_given

    found = [step for step in passes if isinstance(step, QuantizePass)]
    told = [(step.to, options_given(step, ("of", "only", "first", "end"))) for step in found]
    return "; ".join(f"{to} ({' '.join(said)})" if said else to for to, said in told) or None


def is_controlled(passes: Sequence[ModulePass]) -> bool:
    """Whether some operands have as many bits as a controller gives them while the program runs."""
    if not named(passes, "quantize"):
        return False
    from npuc.compiler.transforms.quantize import QuantizePass
    from npuc.compiler.transforms.quantize.formats import FAST

    return any(isinstance(step, QuantizePass) and step.to == FAST for step in passes)


def check_tables(source: Source, precision: str | None) -> None:
    """Raise `UsageError` for mixed precision of a list of layers, which has no types and no network around them."""
    if precision == MIXED and source.frontend.lists_layers:
        raise UsageError(
            f"--precision mixed: {source.shown} lists layers without types or connections",
            hint="--precision bf16 makes all of their floats 16 bits wide",
        )
