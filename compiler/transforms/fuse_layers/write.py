"""A group in the IR: its members move into the body of an `npu.group`, on a micro-batch; what is late comes after."""

from dataclasses import replace

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from npuc.compiler.analysis.fusion.slices import sliced
from npuc.compiler.transforms.fuse_layers.chain import Chain, ChainStep
from npuc.compiler.transforms.fuse_layers.layout import Design
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.groups.batches import WHOLE, Batches, resized
from npuc.dialects.npu.groups.op import GroupOp
from npuc.dialects.npu.interleave import YieldOp
from npuc.dialects.npu.resident import Resident


def write_group(chain: Chain, first: int, last: int, micro: int, design: Design, rewriter: PatternRewriter) -> GroupOp:
    """Replace the members of a range by a group behind the range, and move what runs after it behind the group."""
    steps = [chain.steps[first + number] for number in design.frame.members]
    inside = {step.op for step in steps}
    outer = _operands(steps, inside)
    axes = {value: chain.axes.get(value, WHOLE) for value in outer}
    types = [resized(value.type, axis, chain.samples, micro) for value, axis in axes.items()]
    body = Block(arg_types=types)
    of: dict[SSAValue, SSAValue] = dict(zip(outer, body.args, strict=True))
    for number, step in zip(design.frame.members, steps, strict=True):
        _write_step(step, number, chain.samples, micro, design, body, of)
    results = _results(steps, inside)
    body.add_op(YieldOp([of[value] for value in results]))
    held = [_operand(chain.steps[first + value.accesses[0].step], value.accesses[0].name) for value in design.held]
    group = GroupOp(
        list(outer),
        [value.type for value in results],
        Region(body),
        Batches(micro, chain.samples),
        [axes[value] for value in outer],
        list(results.values()),
        sorted(outer.index(value) for value in held),
        design.walk,
    )
    group.location = steps[0].op.location
    group.attributes |= {name: a for name, a in steps[0].op.attributes.items() if name in ("layer", "role")}
    end = chain.steps[last].op
    rewriter.insert(group, InsertPoint.after(end))
    after: Operation = group
    for number in design.frame.late:
        op = chain.steps[first + number].op
        op.detach()
        rewriter.insert(op, InsertPoint.after(after))
        after = op
    for value, new in zip(results, group.results, strict=True):
        name = value.name_hint
        rewriter.replace_all_uses_with(value, new)
        new.name_hint = name
    for step in reversed(steps):
        rewriter.erase(step.op)
    return group


def _write_step(
    step: ChainStep, number: int, samples: int, micro: int, design: Design, body: Block, of: dict[SSAValue, SSAValue]
) -> None:
    """Write a member on a micro-batch into the body."""
    assert step.axes is not None
    new = sliced(step.op, [of[value] for value in step.op.operands], step.axes, samples, micro)
    placed = design.placed[number]
    if isinstance(new, ContractOp | VectorOp):
        new.resident = Resident(placed.ins, placed.outs, placed.over)
    if isinstance(new, ContractOp):
        schedule = design.schedules[number].schedule
        # What a body promises of SPM is said of its types, and those are not of the bands of a group that walks rows.
        new.schedule = replace(schedule, spm=None) if design.walk is not None and schedule is not None else schedule
    new.location = step.op.location
    for old, result in zip(step.op.results, new.results, strict=True):
        result.name_hint = old.name_hint
        of[old] = result
    body.add_op(new)


def _operand(step: ChainStep, name: str) -> SSAValue:
    assert isinstance(step.op, ContractOp | VectorOp)
    return step.op.named_operands()[name]


def _operands(steps: list[ChainStep], inside: set[Operation]) -> list[SSAValue]:
    """The values from outside that members read."""
    values = (value for step in steps for value in step.op.operands if value.owner not in inside)
    return list(dict.fromkeys(values))


def _results(steps: list[ChainStep], inside: set[Operation]) -> dict[SSAValue, int]:
    """The values of members that leave the group, sums included, each with the axis of its samples."""
    found: dict[SSAValue, int] = {}
    for step in steps:
        assert step.axes is not None
        for value, axis in zip(step.op.results, step.axes.results, strict=True):
            if axis == WHOLE or any(use.operation not in inside for use in value.uses):
                found[value] = axis
    return found
