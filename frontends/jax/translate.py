"""From a list of operations to a script: each operation in order, by its meaning."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.jax.context import HloContext
from npuc.frontends.jax.layers import PRODUCTS
from npuc.frontends.jax.operators import MEANINGS
from npuc.frontends.jax.program import error_at
from npuc.frontends.jax.values import FlatOp, FlatProgram, Known
from npuc.frontends.jax.views import Value, Views
from npuc.frontends.script.direct import DirectScript
from npuc.frontends.script.weights import Refused


def translate(flat: FlatProgram, script: DirectScript, views: Views, filename: str, is_step: bool) -> None:
    """Write all operations; `views` has the arguments, and gets what they compute. Raises `SourceError`s."""
    for op in flat.ops:
        with script.node(op.number, op.op.line or None):
            try:
                _write(op, script, views, is_step)
            except Refused as refusal:
                raise error_at(op.op, filename, refusal.message, refusal.hint) from None
            except (LookupError, ArithmeticError, ValueError, StopIteration, AssertionError) as error:
                raise error_at(op.op, filename, "found attributes that contradict its types") from error


def _write(op: FlatOp, script: DirectScript, views: Views, is_step: bool) -> None:
    meaning = MEANINGS.get(op.kind)
    if meaning is None:
        target = op.op.texts.get("call_target_name")
        called = f" of '{target}'" if target else ""
        raise Refused(f"found an operation{called} that has no counterpart in the network language")
    own = is_step or (op.kind in PRODUCTS and not op.is_biased) or op.product is not None
    layer = op.layer if own else f"{op.layer}.{op.kind}"
    context = HloContext(script, script.unused(layer), op, views, is_step)
    found = meaning(context)
    results: Sequence[Value] = found if isinstance(found, Sequence) else [found]
    for made, value in zip(op.results, results, strict=True):
        if isinstance(value, Known):
            from npuc.frontends.jax.views import constant

            value = constant(context, value)
        if value.shape != made.type.shape:
            raise Refused(f"found a result of shape {list(made.type.shape)}, expected {list(value.shape)}")
        views.values[made] = value
