"""
The layer of each operation of a list: the scope that JAX's name of its place says, or the parameter that it reads.

A product is named by its scope, and by its parameter where the scope has several; its gradients, which read one of its
operands, have its layer. Other operations are of the layer of their scope.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from math import prod

from npuc.frontends.jax.arguments import StepSignature
from npuc.frontends.jax.roles import DW, DX, FORWARD, MOVES, UPDATE, makers_of
from npuc.frontends.jax.values import FlatOp, FlatProgram, HloValue, Known, Operand, made_of

PRODUCTS = ("dot_general", "convolution")
READS = (*PRODUCTS, "gather")
GENERIC = ("kernel", "weight", "w", "W", "bias", "b", "scale", "embedding")
_CALLS = re.compile(r"\b(?:p?jit|custom_[a-z_]*|named_call)\([^()]*\)/?|\b(?:p?jit|custom_[a-z_]*)(?:/|$)")
_WRAPPED = re.compile(r"\b(?:jvp|transpose|vmap|remat|checkpoint|rematted_computation)\(")
_OUTER = {"while", "body", "cond", "closed_call", "rematted_computation", "checkpoint", "scan", "branch_0_fun", ""}
Root = tuple[object, ...]


def scope_of(op: FlatOp) -> tuple[tuple[str, ...], str]:
    """The scopes of an operation, outermost first, and the primitive that it is of."""
    scopes, primitive = scope_of_stack(op.stack, op.kind)
    return (*(f"{_turn(loop.turns, turn, op.role)}" for loop, turn in op.turns), *scopes), primitive


def scope_of_stack(stack: str, kind: str) -> tuple[tuple[str, ...], str]:
    """The scopes in JAX's name of a place, outermost first, and the primitive, which is `kind` where it says none."""
    plain = _WRAPPED.sub("", _CALLS.sub("", stack)).replace(")", "")
    *scopes, primitive = [part for part in plain.split("/") if part.rstrip(":") not in _OUTER] or [kind]
    return tuple(re.sub(r"[^\w.]", "_", scope) for scope in scopes), re.sub(r"[^\w.]", "_", primitive.rstrip(":"))


def _turn(turns: int, turn: int, role: str) -> int:
    """The turn of the forward loop that one of a loop is for: the backward one runs from the last to the first."""
    return turns - 1 - turn if role in (DX, DW) else turn


def set_layers(flat: FlatProgram, signature: StepSignature) -> None:
    """Set the layer of each operation."""
    _Layers(flat, signature).run()


class _Layers:
    def __init__(self, flat: FlatProgram, signature: StepSignature):
        self.flat, self.signature = flat, signature
        self.numbers = {made: number for number, made in enumerate(flat.arguments)}
        self.scopes = {op: scope_of(op) for op in flat.ops}
        self.products: dict[tuple[str, ...], list[FlatOp]] = defaultdict(list)
        self.readers: dict[Root, list[FlatOp]] = defaultdict(list)
        self.roots: dict[HloValue, Root] = {}
        self.lines: dict[str, str] = {}
        self.forward: list[FlatOp] = []
        self.draws: dict[int, FlatOp] = {}
        self.owners = self._owners_of_products()

    def run(self) -> None:
        forward = [op for op in self.flat.ops if op.kind in PRODUCTS and op.role == FORWARD]
        self.forward = forward
        for op in forward:
            self.products[self.scopes[op][0]].append(op)
        names: dict[str, int] = {}
        for op in forward:
            name = self._product_name(op)
            names[name] = names.get(name, 0) + 1
            op.layer = name if names[name] == 1 else f"{name}_{names[name]}"
            for operand in op.operands:
                self.readers[self._root(operand)].append(op)
        last = max((op.number for op in forward), default=0)
        for op in self.flat.ops:
            if not op.layer and op.role != UPDATE:
                op.layer = self._layer(op, last)
            if op.role == FORWARD and op.op.line and (op.kind in READS or op.op.line not in self.lines):
                self.lines[op.op.line] = op.layer
        self._updates()

    def _owners_of_products(self) -> dict[FlatOp, HloValue]:
        """The parameter that each product of the backward pass is the gradient of, or of a part of."""
        owners: dict[FlatOp, HloValue] = {}
        for number, argument in self.signature.updates.items():
            if self.signature.kinds[argument] != "param":
                continue
            made, seen = self.flat.arguments[argument], set[FlatOp]()
            wanted = [one.op for one in made_of(self.flat.results[number]) if one.op]
            while wanted:
                op = wanted.pop(0)
                if op in seen or op.role not in (UPDATE, DW):
                    continue
                seen.add(op)
                if op.kind not in PRODUCTS:
                    wanted += makers_of(op)
                elif prod(made.type.shape) % prod(op.results[0].type.shape) == 0:
                    owners.setdefault(op, made)
        return owners

    def _read(self, op: FlatOp) -> list[object]:
        """What the operands of an operation are parts of."""
        return [self._root(operand)[0] for operand in op.operands]

    def _product_name(self, op: FlatOp) -> str:
        scope, primitive = self.scopes[op]
        parameter = next((name for operand in op.operands if (name := self._parameter(operand))), None)
        if scope and len(self.products[scope]) == 1 and (len(scope) > len(op.turns)):
            return ".".join(scope)
        own = parameter or ("product" if primitive.startswith("dot") else primitive)
        if parameter and not any(not part.isdigit() for part in scope) and not op.turns:
            return own
        tail = own.rpartition(".")[2] if parameter else own
        return ".".join((*scope, tail))

    def _parameter(self, operand: Operand) -> str | None:
        """The name of the parameter that an operand is, moved or not."""
        root = self._root(operand)[0]
        number = self.numbers.get(root) if isinstance(root, HloValue) else None
        if number is None or self.signature.kinds[number] != "param":
            return None
        parts = self.signature.names[number].split(".")
        return ".".join(parts[:-1]) if len(parts) > 1 and parts[-1] in GENERIC else ".".join(parts)

    def _root(self, operand: Operand) -> Root:
        """What an operand is the same elements of, and which part."""
        if not isinstance(operand, HloValue):
            return (id(operand),)
        if operand not in self.roots:
            self.roots[operand] = self._found(operand)
        return self.roots[operand]

    def _found(self, made: HloValue) -> Root:
        op = made.op
        if op is None or op.kind not in (*MOVES, "dynamic_slice") or op.kind in ("negate", "pad", "concatenate"):
            return (made,)
        above = self._root(op.operands[0])
        if op.kind == "slice":
            return (*above, tuple(op.op.ints["start_indices"]))
        if op.kind == "dynamic_slice":
            return (*above, tuple(one.scalar if isinstance(one, Known) else None for one in op.operands[1:]))
        return above

    def _layer(self, op: FlatOp, last: int) -> str:
        scope, primitive = self.scopes[op]
        if op.kind == "dropout":
            forward = self.draws.setdefault(op.op.ints["draw"][0], op)
            if forward is not op and op.role != FORWARD:
                return forward.layer
        if op.kind in PRODUCTS:
            candidates = [one for operand in op.operands for one in self.readers.get(self._root(operand), ())]
            owner = self.owners.get(op)
            candidates += [one for one in self.forward if owner is not None and owner in self._read(one)]
            if candidates:
                return max(candidates, key=lambda one: (candidates.count(one), self.scopes[one][0] == scope)).layer
        if (
            op.kind == "transpose"
            and isinstance(made := op.operands[0], HloValue)
            and made.op
            and made.op.kind in PRODUCTS
        ):
            return made.op.layer
        if op.kind == "gather" and op.role == FORWARD and (name := self._parameter(op.operands[0])):
            return name
        if len(scope) > len(op.turns):
            own = self.products.get(scope, ())
            return own[0].layer if len(own) == 1 else ".".join(scope)
        if op.role != FORWARD and op.op.line in self.lines:
            return self.lines[op.op.line]
        if op.role == FORWARD and op.number > last:
            return "loss"
        before = [maker.layer for maker in makers_of(op) if maker.layer]
        if before and not any(len(one[0]) > 0 for one in self.scopes.values()):
            return before[0]
        return ".".join((*scope, primitive)) if op.role == FORWARD else before[0] if before else "loss"

    def _updates(self) -> None:
        """Updates are of the layer of their parameter; what several share is the optimizer's."""
        marks: dict[FlatOp, set[str]] = defaultdict(set)
        results = self.flat.results
        for number, argument in self.signature.updates.items():
            name = self._owner(argument)
            wanted = [made.op for made in made_of(results[number]) if made.op]
            seen: set[FlatOp] = set()
            while wanted:
                op = wanted.pop()
                if op.role == UPDATE and op not in seen:
                    seen.add(op)
                    marks[op].add(name)
                    wanted += makers_of(op)
        for op in self.flat.ops:
            if op.role == UPDATE:
                names: Sequence[str] = sorted(marks[op])
                op.layer = names[0] if len(names) == 1 else "optimizer"

    def _owner(self, argument: int) -> str:
        """The parameter that an updated argument is, or is a state of: that whose path ends its own."""
        names, kinds = self.signature.names, self.signature.kinds
        own = names[argument]
        if kinds[argument] == "param":
            return own
        found = [
            name for name, kind in zip(names, kinds, strict=True) if kind == "param" and f".{own}".endswith(f".{name}")
        ]
        return max(found, key=len, default="optimizer")
