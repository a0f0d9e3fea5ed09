"""
Dropout as JAX's libraries spell it: a mask of a Bernoulli draw, and elements divided by the share of those kept.

The elements are divided before they are chosen, as in a forward pass, or after it, as in a backward pass; they are
chosen by `select` with zero, or multiplied by the mask as a float.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from npuc.frontends.jax.roles import users_of
from npuc.frontends.jax.uniform import DIGITS, replaced
from npuc.frontends.jax.values import FlatOp, FlatProgram, HloValue, Known, Operand

NEAR = {"f16": 2.0**-10, "bf16": 2.0**-7}
"""How far a quotient of two numbers may be from 1 that are the same but for rounding to a type."""
Users = Mapping[FlatOp, Sequence[FlatOp]]


def find_dropouts(flat: FlatProgram) -> None:
    """Make a `random.dropout` of each operation that completes one; what nothing reads any more stays in the list."""
    masks = [op for op in flat.ops if op.kind == "bernoulli"]
    if masks:
        users, results = users_of(flat), {value for value in flat.results if isinstance(value, HloValue)}
        for mask in masks:
            found = _reshaped(mask, users)
            for op in dict.fromkeys(user for made in found for user in users[made]):
                _find(op, mask, {made.results[0] for made in found}, users, results)


def _reshaped(mask: FlatOp, users: Users) -> list[FlatOp]:
    """A mask and what is the same but for axes of size 1, as a scan keeps it."""
    found = [mask]
    for made in found:
        sizes = [size for size in made.results[0].type.shape if size != 1]
        found += [
            op
            for op in users[made]
            if op.kind in ("reshape", "broadcast_in_dim")
            and [size for size in op.results[0].type.shape if size != 1] == sizes
            and op.op.ints.get("broadcast_dimensions", []) == sorted(op.op.ints.get("broadcast_dimensions", []))
        ]
    return found


def _find(op: FlatOp, mask: FlatOp, same: set[HloValue], users: Users, results: set[HloValue]) -> None:
    kept = float(mask.op.texts["p"])
    if not op.results or op.results[0].type.shape != mask.results[0].type.shape:
        return  # one draw for several elements, which is no dropout of theirs
    if op.kind == "convert":
        for product in _products(op, kept, users):
            _complete(product, _other(product, op), mask, users, results)
        for scaled in (one for one in users[op] if _unscaled(one, kept) is not None):
            for product in users[scaled]:
                if product.kind == "multiply" and (x := _other(product, scaled)) is not None:
                    _become(product, x, mask)
    elif op.kind == "select" and op.operands[0] in same and _is_zero(op.operands[2]):
        _complete(op, op.operands[1], mask, users, results)


def _products(op: FlatOp, kept: float, users: Users) -> Iterator[FlatOp]:
    """The products of a mask as a float with elements."""
    yield from (one for one in users[op] if one.kind == "multiply" and _unscaled(one, kept) is None)


def _complete(op: FlatOp, x: Operand | None, mask: FlatOp, users: Users, results: set[HloValue]) -> None:
    """Make a dropout of chosen elements x, if they are divided by the share of those kept before or after."""
    kept = float(mask.op.texts["p"])
    if not isinstance(x, HloValue) or x.type != op.results[0].type:
        return
    scaled = _unscaled(x.op, kept) if x.op is not None else None
    if scaled is not None:
        _become(op, scaled, mask)
        return
    after = users[op]
    if op.results[0] not in results and after and all(_unscaled(one, kept) is not None for one in after):
        for one in after:
            _become(one, x, mask)


def _unscaled(op: FlatOp, kept: float) -> HloValue | None:
    """What an operation divides by a share; None for another operation."""
    if op.kind not in ("divide", "multiply") or len(op.operands) != 2:
        return None
    first, second = op.operands
    if isinstance(first, Known) and op.kind == "multiply":
        first, second = second, first
    number = second.scalar if isinstance(second, Known) else None
    if not isinstance(first, HloValue) or number is None:
        return None
    factor = number / kept if op.kind == "divide" else number * kept
    return first if abs(factor - 1) <= NEAR.get(first.type.element, 1e-6) else None


def _other(product: FlatOp, op: FlatOp) -> Operand | None:
    """The operand of a product that another operation does not give."""
    first, second = product.operands
    return second if first is op.results[0] else first if second is op.results[0] else None


def _is_zero(operand: Operand) -> bool:
    return isinstance(operand, Known) and operand.scalar == 0


def _become(op: FlatOp, x: Operand, mask: FlatOp) -> None:
    """Make a dropout of x with a mask of an operation."""
    share = round(1.0 - float(mask.op.texts["p"]), DIGITS)
    made = replaced(op.op, "random.dropout", ints=mask.op.ints, texts={"p": repr(share)})
    op.op, op.operands = made, (x,)
    op.stack = f"{op.stack.rpartition('/')[0]}/dropout"


def sharers_of(flat: FlatProgram) -> Counter[int]:
    """How many operations of a list read each draw."""
    return Counter(op.op.ints["draw"][0] for op in flat.ops if op.kind in ("dropout", "bernoulli"))


def random_remark(flat: FlatProgram) -> list[str]:
    """What a list draws, for the user: the numbers are not those of JAX."""
    draws = len(sharers_of(flat))
    if not draws:
        return []
    count = "one random mask" if draws == 1 else f"{draws} random masks"
    return [f"draws {count} by npuc's own generator, anew in each step; JAX's masks are others"]
