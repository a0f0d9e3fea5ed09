"""
The optimizer's steps, one per tensor of weights: each reads weights, gradient and states and writes weights and states.

An optimizer whose states have wider elements than the weights (`master_bytes`) has its own copy of the weights: it
reads and writes the copy and writes the weights beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr, UnitAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from npuc.backends.roofline.iteration.graph import Weight
from npuc.backends.roofline.iteration.memory import TensorNumbers
from npuc.backends.roofline.iteration.steps import Conventions, IterationStep
from npuc.compiler.analysis.nest.elements import BYTE, whole_bytes
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import params_of
from npuc.compiler.layers.optimizer import OPTIMIZERS, Option
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.base import Param, TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of


@dataclass(frozen=True)
class OptimizerCost:
    """
    An optimizer's update: its operation, the states in the shape of a parameter, and what makes one of a parameter.

    `scalars` says of each operand whether it is one number, the step or a threshold.
    """

    op: type[TrainOp]
    states: int
    scalars: tuple[bool, ...]
    hyperparameters: Mapping[str, Param]

    def vector_ops(self, count: int) -> int:
        """The vector operations of the update of a parameter of so many elements."""
        whole, number = tensor_of(f32, (count,)), tensor_of(f32, ())
        block = Block(arg_types=[number if scalar else whole for scalar in self.scalars])
        op = self.op(*block.args, results=None, **self.hyperparameters)
        return get_layer(op).work(op).vector_ops


def update_steps(
    func: FuncOp, memory: TensorNumbers, steps: list[IterationStep], conventions: Conventions
) -> tuple[list[IterationStep], set[int]]:
    """The steps with those of the optimizer, and the tensors that must be in memory at the end."""
    trained = memory.trained()
    optimizer = optimizer_of(func)
    if conventions.update == "none" or optimizer is None:
        return steps, {memory.gradient_of(number) for number in trained}
    live_out: set[int] = set()
    updates: dict[int, IterationStep] = {}
    for number, weights in trained.items():
        update, written = _update(number, weights, memory, optimizer, conventions)
        updates[memory.gradient_of(number)] = update
        live_out |= written
    if conventions.update == "end":
        return [*steps, *updates.values()], live_out
    last = {number: i for i, step in enumerate(steps) for number in step.writes if number in updates}
    after: dict[int, list[IterationStep]] = {}
    for number, i in last.items():
        after.setdefault(i, []).append(updates[number])
    return [new for i, step in enumerate(steps) for new in (step, *after.get(i, ()))], live_out


def _update(
    number: int, weights: list[Weight], memory: TensorNumbers, optimizer: OptimizerCost, conventions: Conventions
) -> tuple[IterationStep, set[int]]:
    """The update of a tensor of weights, and the tensors that it writes."""
    weight, width = memory.tensor(number), weights[0].part.width
    wide = BYTE * conventions.master_bytes if conventions.master_bytes else width
    elements, row = BYTE * weight.bytes // width, BYTE * weight.row_bytes // width
    reads, writes = [number, memory.gradient_of(number)], [number]
    if wide > width:
        master = memory.state(f"{weight.name}.master", whole_bytes(elements * wide), whole_bytes(row * wide))
        reads, writes = [master, *reads[1:]], [master, number]
    if optimizer.states:
        states = optimizer.states * wide
        state = memory.state(f"{weight.name}.state", whole_bytes(elements * states), whole_bytes(row * states))
        reads, writes = [*reads, state], [*writes, state]
    ops = optimizer.vector_ops(elements)
    step = IterationStep(
        weight.name, optimizer.op.name, "update", tuple(reads), tuple(writes), 0, ops, ops, matrix=False
    )
    return step, set(writes)


def optimizer_of(func: FuncOp) -> OptimizerCost | None:
    """The optimizer that a training function names, or that of the first update in a step; None without one."""
    spec = func.attributes.get("train.optimizer")
    if isinstance(spec, DictionaryAttr):
        return _named(spec)
    states = {a.index for a in arguments_of(func) if a.kind is ArgumentKind.STATE and a.name != "step"}
    arguments = {func.body.block.args[i] for i in states}
    updates = {rule.op for rule in OPTIMIZERS.values()}
    for op in func.body.block.ops:
        if isinstance(op, TrainOp) and role_of(op) is Role.UPDATE and type(op) in updates:
            shape = shape_of(op.operands[0])
            scalars = tuple(number > 1 and shape_of(value) != shape for number, value in enumerate(op.operands))
            states = sum(v in arguments and not scalar for v, scalar in zip(op.operands, scalars, strict=True))
            return OptimizerCost(type(op), states, scalars, params_of(op))
    return None


def _named(spec: DictionaryAttr) -> OptimizerCost | None:
    """The optimizer that `train.optimizer` names."""
    kind = spec.data.get("kind")
    rule = OPTIMIZERS.get(kind.data) if isinstance(kind, StringAttr) else None
    if rule is None:
        return None
    options = _options(spec)
    states = rule.states_for(options)
    scalars = (False, False, *(state.scalar for state in states), *([True] if rule.counts_steps(options) else []))
    return OptimizerCost(rule.op, sum(not state.scalar for state in states), scalars, rule.for_update(options))


def _options(spec: DictionaryAttr) -> Mapping[str, Option]:
    found: dict[str, Option] = {}
    for name, attr in spec.data.items():
        if isinstance(attr, UnitAttr):
            found[name] = True
        elif isinstance(attr, FloatAttr):
            found[name] = float(attr.value.data)
    return found
