"""The operations of a function as a sequence of steps: which have samples along which axes, and what moves between."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from npuc.compiler.analysis.fusion.axes import has_axis, result_axes
from npuc.compiler.analysis.fusion.problem import FusionProblem, FusionStep, FusionValue
from npuc.compiler.analysis.fusion.slices import Axes, is_plain_work
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import widths_on
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.timing.epilogue import vector_cycles
from npuc.dialects.npu import ContractOp, MoveOp, TensorWorkOp, VectorOp, ViewOp
from npuc.dialects.npu.groups.batches import WHOLE
from npuc.dialects.npu.resident import HasResidency, memory_of
from npuc.dialects.npu.widths import Widths, bytes_of
from npuc.dialects.provenance import layer_of, repeat_of
from npuc.dialects.sparse import SparseType
from npuc.dialects.structural import structural_key
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.signature import ArgumentKind, arguments_of, writes_of


@dataclass(frozen=True)
class ChainStep:
    """An operation with its axes, None where it does not run by micro-batches; `kind` is equal for equal ones."""

    op: Operation
    axes: Axes | None
    kind: Hashable

    @property
    def is_view(self) -> bool:
        """Whether it costs nothing."""
        return isinstance(self.op, ViewOp)


@dataclass(frozen=True)
class Chain:
    """The steps of a block, and the axis of the samples of each value that has some."""

    steps: tuple[ChainStep, ...]
    axes: dict[SSAValue, int]
    samples: int
    widths: Widths
    writes: frozenset[Operation]
    """The operations that overwrite arguments: no group reaches across one."""
    places: dict[Operation, int] = field(default_factory=dict[Operation, int])

    sizes: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def bytes(self, value: SSAValue) -> int:
        """The bytes of a value, for all samples."""
        if value not in self.sizes:
            self.sizes[value] = bytes_of(value, self.widths)
        return self.sizes[value]

    @cached_property
    def micro_batches(self) -> tuple[int, ...]:
        """The divisors of the samples, in ascending order: other sizes leave a last micro-batch that is smaller."""
        return tuple(size for size in range(1, self.samples + 1) if self.samples % size == 0)

    def problem(self, machine: Machine, objective: Objective) -> FusionProblem:
        """The problem without IR; `machine.spm_bytes` is what a group may use."""
        numbers: dict[SSAValue, int] = {}
        for step in self.steps:
            for value in (*step.op.operands, *step.op.results):
                numbers.setdefault(memory_of(value), len(numbers))
        values = tuple(FusionValue(self.bytes(v), self.axes.get(v, WHOLE) != WHOLE, self._leaves(v)) for v in numbers)
        return FusionProblem(
            tuple(_problem_step(step, numbers, machine) for step in self.steps),
            values,
            self.samples,
            self.micro_batches,
            machine.spm_bytes,
            objective,
            Fraction(machine.channel),
            machine.elements,
        )

    def _leaves(self, value: SSAValue) -> bool:
        return any(isinstance(use.operation, ReturnOp) for use in value.uses)


def _problem_step(step: ChainStep, numbers: dict[SSAValue, int], machine: Machine) -> FusionStep:
    op = step.op
    axes = () if step.axes is None else step.axes.results
    sums = [numbers[memory_of(v)] for v, axis in zip(op.results, axes, strict=False) if axis == WHOLE]
    return FusionStep(
        layer_of(op),
        step.axes is not None and not step.is_view,
        op.nest.macs if isinstance(op, ContractOp) else 0,
        op.ops if isinstance(op, VectorOp) else 0,
        tuple(dict.fromkeys(numbers[memory_of(v)] for v in op.operands)),
        tuple(dict.fromkeys(numbers[memory_of(v)] for v in op.results)),
        tuple(sums),
        0 if step.axes is None else _busy(op, machine),
    )


def _busy(op: Operation, machine: Machine) -> int:
    """The cycles that the array or the vector unit works on an operation, without waits for data."""
    if isinstance(op, ContractOp):
        return compute(op.nest, op.schedule, machine.array).cycles
    return vector_cycles(op.ops, machine) if isinstance(op, VectorOp) else 0


def chain_of(block: Block, machine: Machine, least: int = 2) -> Chain | None:
    """The steps of a function's block; None where no input has so many samples at least."""
    func = block.parent_op()
    if not isinstance(func, FuncOp):
        return None
    inputs = [block.args[one.index] for one in arguments_of(func) if one.kind is ArgumentKind.INPUT]
    sizes = [shape_of(value)[0] for value in inputs if shape_of(value)]
    samples = next(iter(sizes), 1)
    if not sizes or samples < least:
        return None
    axes: dict[SSAValue, int] = {value: 0 for value in inputs if has_axis(value.type, 0, samples)}
    steps: list[ChainStep] = []
    for op in block.ops:
        if isinstance(op, ReturnOp):
            break
        own = tuple(axes.get(value, WHOLE) for value in op.operands)
        results = result_axes(op, own, samples) if any(axis != WHOLE for axis in own) else "no operand has samples"
        if isinstance(results, str):
            axes |= _guessed(op, own, samples)
            steps.append(ChainStep(op, None, None))
            continue
        axes |= {v: axis for v, axis in zip(op.results, results, strict=True) if axis != WHOLE}
        fusible = _is_fusible(op)
        steps.append(ChainStep(op, Axes(own, results) if fusible else None, _kind(op, own) if fusible else None))
    places = {step.op: number for number, step in enumerate(steps)}
    return Chain(tuple(steps), axes, samples, widths_on(machine), frozenset(writes_of(block)), places)


def _guessed(op: Operation, own: tuple[int, ...], samples: int) -> dict[SSAValue, int]:
    """
    The axes of the results of an operation that needs all samples, such as a batch norm: those of an operand of the
    same shape. A wrong guess costs a group, for each operation of a group is checked by its own axes.
    """
    known = [(shape_of(v), axis) for v, axis in zip(op.operands, own, strict=True) if axis != WHOLE]
    found: dict[SSAValue, int] = {}
    for value in op.results:
        axis = next((axis for shape, axis in known if shape == shape_of(value)), None)
        if axis is not None and has_axis(value.type, axis, samples):
            found[value] = axis
    return found


def _is_fusible(op: Operation) -> bool:
    """Whether an operation may stand in a group: scheduled on one core, dense, with the work that its layer says."""
    if repeat_of(op) > 1 or any(isinstance(tensor_type(v).element_type, SparseType) for v in op.operands):
        return False
    if isinstance(op, HasResidency) and op.resident.names:
        return False
    if isinstance(op, ContractOp):
        behind = op.next_op
        fused = isinstance(behind, VectorOp) and behind.fused
        return op.schedule_attr is not None and not op.schedule.core_depth and op.mapping_attr is None and not fused
    if isinstance(op, VectorOp | MoveOp | ViewOp):
        apart = isinstance(op, VectorOp) and (op.fused or op.operator is not None)
        return not apart and is_plain_work(op)
    return False


def _kind(op: Operation, axes: tuple[int, ...]) -> Hashable:
    """A key that is equal for operations of equal cost at every micro-batch."""
    first = {value: -number for number, value in reversed(list(enumerate(op.operands)))}
    work = op.kind if isinstance(op, TensorWorkOp) else ""
    return (structural_key(op) or id(op), work, axes, *(first[value] for value in op.operands))
