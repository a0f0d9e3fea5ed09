"""
Which phase of a training step each operation of a list is for: forward, dX, dW, update.

JAX leaves its transformations in the names of places: `jvp(…)` is the forward pass, `transpose(jvp(…))` the backward
pass, neither of them what comes after, the optimizer. Without such names, forward is what the loss depends on, and an
update what follows a gradient element by element. What makes the gradient of a parameter, the last product or sum
before the update, is dW; the rest of the backward pass is dX.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from npuc.frontends.jax.arguments import StepSignature, ancestors
from npuc.frontends.jax.values import FlatOp, FlatProgram, Known, made_of

FORWARD, DX, DW, UPDATE = "forward", "dx", "dw", "update"
CONTRACTIONS = ("dot_general", "convolution", "scatter", "gather", "select_and_scatter")
MOVES = ("transpose", "reshape", "convert", "broadcast_in_dim", "slice", "pad", "concatenate", "negate", "reverse")
_ELEMENTWISE = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "sqrt",
    "rsqrt",
    "power",
    "negate",
    "convert",
    "maximum",
    "select",
)


def set_roles(flat: FlatProgram, signature: StepSignature) -> None:
    """Set the role of each operation."""
    users = users_of(flat)
    if any("jvp(" in op.stack for op in flat.ops):
        _by_names(flat, users)
    else:
        _by_structure(flat, signature)
    _gradients(flat, users)


def users_of(flat: FlatProgram) -> dict[FlatOp, list[FlatOp]]:
    """The operations that read results of each one."""
    users: dict[FlatOp, list[FlatOp]] = defaultdict(list)
    for op in flat.ops:
        for maker in dict.fromkeys(makers_of(op)):
            users[maker].append(op)
    return users


def makers_of(op: FlatOp) -> Iterator[FlatOp]:
    """The operations whose results one reads."""
    for operand in op.operands:
        for made in made_of(operand):
            if made.op is not None:
                yield made.op


def _by_names(flat: FlatProgram, users: dict[FlatOp, list[FlatOp]]) -> None:
    outside: list[FlatOp] = []
    after: set[FlatOp] = set()
    for op in flat.ops:
        makers = list(makers_of(op))
        if "transpose(" in op.stack:
            op.role = DX
        elif "jvp(" in op.stack:
            op.role = FORWARD
        else:
            op.role = UPDATE if any(m.role in (DX, UPDATE) or m in after for m in makers) else FORWARD
            outside.append(op)
        if op.role != FORWARD:
            after.add(op)
    for op in reversed(outside):
        if op.role == FORWARD and all(user.role == UPDATE for user in users[op]):
            op.role = UPDATE


def _by_structure(flat: FlatProgram, signature: StepSignature) -> None:
    loss = [] if signature.loss is None else [flat.results[signature.loss]]
    forward = {made.op for made in ancestors(loss)}
    updating = [made.op for number in signature.updates for made in made_of(flat.results[number]) if made.op]
    cone: set[FlatOp] = set()
    while updating:
        op = updating.pop()
        if op not in cone and op not in forward and op.kind in _ELEMENTWISE:
            cone.add(op)
            updating += makers_of(op)
    for op in flat.ops:
        op.role = FORWARD if op in forward else UPDATE if op in cone else DX


def _gradients(flat: FlatProgram, users: dict[FlatOp, list[FlatOp]]) -> None:
    """Set the role of what makes the gradients that updates, or results, take."""
    reads = [maker for op in flat.ops if op.role == UPDATE for maker in makers_of(op)]
    given = [made.op for result in flat.results for made in made_of(result) if made.op]
    wanted = [op for op in (*reads, *given) if op.role == DX]
    while wanted:
        op = wanted.pop()
        if op.role != DX:
            continue
        if op.kind not in (*CONTRACTIONS, *MOVES, "add", "reduce", "multiply", "dynamic_slice"):
            continue
        if op.kind == "multiply" and not any(isinstance(operand, Known) for operand in op.operands):
            continue
        op.role = DW
        if op.kind == "reduce" and not _reduces_nothing(op):
            for maker in makers_of(op):
                if (
                    maker.role == DX
                    and maker.kind == "multiply"
                    and all(user.role == DW and user.kind == "reduce" for user in users[maker])
                ):
                    maker.role = DW
            continue
        if op.kind not in CONTRACTIONS:
            wanted += [maker for maker in makers_of(op) if maker.role == DX]


def _reduces_nothing(op: FlatOp) -> bool:
    shape = op.operands[0].type.shape
    return all(shape[axis] == 1 for axis in op.op.ints.get("dimensions", []))
