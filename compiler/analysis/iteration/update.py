"""
The optimizer's steps: one for each tensor of weights, which reads them, gradient and states and writes them and states.

An optimizer whose copies and states have wider elements than the weights (`master_bytes`) keeps a copy of the weights
of its own: it reads and writes that and writes the weights beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from npuc.compiler.analysis.iteration.graph import Weight
from npuc.compiler.analysis.iteration.memory import Memory
from npuc.compiler.analysis.iteration.steps import Conventions, Step
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.optimizer import OPTIMIZERS, Option
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of

_SAMPLE = 16


@dataclass(frozen=True)
class Optimizer:
    """An update: its operation, how many states a parameter has, and vector operations an element."""

    op: str
    states: int
    ops_per_element: int


def update_steps(
    func: FuncOp, memory: Memory, steps: list[Step], conventions: Conventions
) -> tuple[list[Step], set[int]]:
    """The steps with those of the optimizer, and the tensors that must be in memory at the end."""
    trained = memory.trained()
    optimizer = optimizer_of(func)
    if conventions.update == "none" or optimizer is None:
        return steps, {memory.gradient_of(number) for number in trained}
    kept: set[int] = set()
    updates: dict[int, Step] = {}
    for number, weights in trained.items():
        update, written = _update(number, weights, memory, optimizer, conventions)
        updates[memory.gradient_of(number)] = update
        kept |= written
    if conventions.update == "end":
        return [*steps, *updates.values()], kept
    last = {number: i for i, step in enumerate(steps) for number in step.writes if number in updates}
    after: dict[int, list[Step]] = {}
    for number, i in last.items():
        after.setdefault(i, []).append(updates[number])
    return [new for i, step in enumerate(steps) for new in (step, *after.get(i, ()))], kept


def _update(
    number: int, weights: list[Weight], memory: Memory, optimizer: Optimizer, conventions: Conventions
) -> tuple[Step, set[int]]:
    """The update of a tensor of weights, and what it writes."""
    weight, width = memory.tensor(number), weights[0].part.width
    wide = conventions.master_bytes or width
    reads, writes = [number, memory.gradient_of(number)], [number]
    scale = wide / width
    if wide > width:
        master = memory.state(f"{weight.name}.master", round(weight.bytes * scale), round(weight.row_bytes * scale))
        reads, writes = [master, *reads[1:]], [master, number]
    if optimizer.states:
        size, row = (round(n * scale) * optimizer.states for n in (weight.bytes, weight.row_bytes))
        state = memory.state(f"{weight.name}.state", size, row)
        reads, writes = [*reads, state], [*writes, state]
    ops = optimizer.ops_per_element * (weight.bytes // width)
    loc = None
    step = Step(weight.name, optimizer.op, "update", tuple(reads), tuple(writes), 0, ops, ops, False, loc)
    return step, set(writes)


def optimizer_of(func: FuncOp) -> Optimizer | None:
    """The optimizer of a training function: what it names, or the first update that a step has; None without one."""
    spec = func.attributes.get("train.optimizer")
    if isinstance(spec, DictionaryAttr):
        return _named(spec)
    states = {a.index for a in arguments_of(func) if a.kind is ArgumentKind.STATE and a.name != "step"}
    arguments = {func.body.block.args[i] for i in states}
    for op in func.body.block.ops:
        if isinstance(op, TrainOp) and role_of(op) is Role.UPDATE and type(op) in _UPDATES:
            elements = get_layer(op).work(op).vector_ops // _size(op)
            return Optimizer(op.name, sum(value in arguments for value in op.operands), elements)
    return None


_UPDATES = frozenset(rule.op for rule in OPTIMIZERS.values())


def _size(op: TrainOp) -> int:
    from npuc.compiler.layers.base import elements

    return max(1, elements(op.operands[0]))


def _named(spec: DictionaryAttr) -> Optimizer | None:
    """The optimizer that `train.optimizer` names; its operations are those of an update of a small parameter."""
    kind = spec.data.get("kind")
    rule = OPTIMIZERS.get(kind.data) if isinstance(kind, StringAttr) else None
    if rule is None:
        return None
    options = _options(spec)
    states = rule.states_for(options)
    from xdsl.dialects.builtin import f32, i64

    small = tensor_of(f32, (_SAMPLE,))
    block = Block(arg_types=[small, small, *([small] * len(states)), tensor_of(i64, ())])
    *operands, count = block.args
    counted = (count,) if rule.counts_steps(options) else ()
    op = rule.op(*operands, *counted, results=None, **rule.for_update(options))
    return Optimizer(op.name, len(states), get_layer(op).work(op).vector_ops // _SAMPLE)


def _options(spec: DictionaryAttr) -> Mapping[str, Option]:
    found: dict[str, Option] = {}
    for name, attr in spec.data.items():
        if isinstance(attr, UnitAttr):
            found[name] = True
        elif isinstance(attr, FloatAttr):
            found[name] = float(attr.value.data)
    return found
