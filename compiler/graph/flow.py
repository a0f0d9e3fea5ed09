"""
The operations of a program and the values that they hand on, as a graph draws them.

A step is an operation that stands in the body of a function; what is nested in it belongs to it. Collectives are steps
or lie on the way from one step to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import Role, is_recomputed, layer_of, role_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of, result_names, results_of

Lane = Literal["forward", "backward", "update"]
LANES: tuple[Lane, ...] = ("forward", "backward", "update")
PARTS = {Role.DX: "dX", Role.DW: "dW", Role.DXDW: "dX, dW"}
AGAIN = "recomputed"
"""The part of the backward pass that runs forward work a second time."""


@dataclass(frozen=True, eq=False)
class Step:
    """An operation: its number in the program, its layer ("" for none), its lane, and its part of that."""

    op: Operation
    number: int
    layer: str
    lane: Lane
    part: str = ""


@dataclass(frozen=True, eq=False)
class Port:
    """An argument or a result of a function: `held` for what has its place in memory, as parameters do."""

    name: str
    value: SSAValue
    held: bool = False
    result: bool = False


End = Step | Port


@dataclass(frozen=True)
class Flow:
    """A value on its way from where it is made to where it is read, through the collectives `moves`."""

    source: End
    target: End
    value: SSAValue
    moves: tuple[DistOp, ...] = ()


@dataclass
class Flows:
    """The steps of a program in order, and the values between them and the arguments and results of its functions."""

    steps: list[Step] = field(default_factory=list[Step])
    flows: list[Flow] = field(default_factory=list[Flow])


def read(module: ModuleOp, *, collectives: bool) -> Flows:
    """The steps and flows of a program; `collectives` are steps, or lie on flows."""
    found = Flows()
    for blocks, func in _bodies(module):
        _read_body(found, blocks, func, collectives=collectives)
    return found


def is_step(op: Operation) -> bool:
    """Whether an operation of a body is drawn, as a step or on the way from one to another: all but `func.return`."""
    return not isinstance(op, ReturnOp | FuncOp)


def _bodies(module: ModuleOp) -> Iterator[tuple[list[Block], FuncOp | None]]:
    for op in module.ops:
        if isinstance(op, FuncOp) and not op.is_declaration:
            yield list(op.body.blocks), op
    if any(not isinstance(op, FuncOp) for op in module.ops):
        yield [module.body.block], None


def _read_body(found: Flows, blocks: list[Block], func: FuncOp | None, *, collectives: bool) -> None:
    ops = [op for block in blocks for op in block.ops]
    steps: dict[Operation, Step] = {}
    for op in ops:
        if is_step(op) and (collectives or not _in_transit(op)):
            steps[op] = step_of(op, len(found.steps) + len(steps))
    found.steps += steps.values()
    results = _result_ports(func, blocks)
    ports = _argument_ports(func)
    for block in blocks:
        for argument in block.args:
            port = ports.get(argument) or Port(argument.name_hint or f"arg{argument.index}", argument)
            found.flows += _follow(port, argument, argument, steps, results)
    for op, step in steps.items():
        for value in op.results:
            found.flows += _follow(step, value, value, steps, results)


def _in_transit(op: Operation) -> bool:
    """Whether it is a collective that something reads: it lies on the way there."""
    return isinstance(op, DistOp) and any(is_step(use.operation) for result in op.results for use in result.uses)


def step_of(op: Operation, number: int) -> Step:
    """An operation as a step: work that is done again is part of the backward pass."""
    role = role_of(op)
    if is_recomputed(op):
        return Step(op, number, layer_of(op), "backward", AGAIN)
    if role in PARTS:
        return Step(op, number, layer_of(op), "backward", PARTS[role])
    return Step(op, number, layer_of(op), "update" if role is Role.UPDATE else "forward")


def _argument_ports(func: FuncOp | None) -> dict[BlockArgument, Port]:
    if func is None:
        return {}
    args = func.body.blocks[0].args if func.body.blocks else ()
    known = {argument.index: argument for argument in arguments_of(func)}
    ports: dict[BlockArgument, Port] = {}
    for value in args:
        argument = known.get(value.index)
        if argument is not None:
            ports[value] = Port(argument.name, value, held=argument.kind is not ArgumentKind.INPUT)
    return ports


def _result_ports(func: FuncOp | None, blocks: list[Block]) -> dict[tuple[Operation, int], Port]:
    """The results that a graph shows, by the operand that returns them: new values have their places in memory."""
    returns = [op for block in blocks for op in block.ops if isinstance(op, ReturnOp)]
    if func is None or not returns:
        return {}
    names = result_names(func)
    stored = {r.index for r in results_of(func) if r.updates is not None or r.gradient is not None}
    return {
        (op, index): Port(_plain(names[index]), value, result=True)
        for op in returns
        for index, value in enumerate(op.operands)
        if index < len(names) and index not in stored
    }


def _plain(name: str) -> str:
    return name.removeprefix("output ")


def _follow(
    source: End,
    value: SSAValue,
    at: SSAValue,
    steps: dict[Operation, Step],
    results: dict[tuple[Operation, int], Port],
    moves: tuple[DistOp, ...] = (),
) -> Iterator[Flow]:
    """The flows of `value`, which is `at` after the collectives `moves`; each reader once."""
    seen: set[Operation] = set()
    for use in at.uses:
        port = results.get((use.operation, use.index))
        if port is not None:
            yield Flow(source, port, value, moves)
            continue
        user = _outermost(use.operation, steps)
        if user is None or user in seen:
            continue
        seen.add(user)
        if user in steps:
            if steps[user] is not source:
                yield Flow(source, steps[user], value, moves)
        elif isinstance(user, DistOp):
            for result in user.results:
                yield from _follow(source, value, result, steps, results, (*moves, user))


def _outermost(op: Operation | None, steps: dict[Operation, Step]) -> Operation | None:
    """The step, or the collective on the way, that an operation is nested in."""
    while op is not None and op not in steps and not (isinstance(op, DistOp) and _in_transit(op)):
        op = op.parent_op()
    return op
