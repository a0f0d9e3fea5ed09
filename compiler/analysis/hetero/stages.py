"""
Which products of a program may run side by side: those of one stage, of which none depends on another.

    stages_of(func)      # a number for each contraction: one more than the largest of those that it depends on

A product depends on another if what it reads was computed from that one's result, through whatever other work. Weights
are updated in place: an update waits for all products that read the old weights before it, and so does what reads the
new ones. Forward layers follow each other; dX and dW of a layer are of one stage, as both wait for dY alone, and so are
products of branches. Other work runs between the stages.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from npuc.dialects.npu import ContractOp, GroupOp, InterleaveOp
from npuc.dialects.npu.resident import memory_of
from npuc.dialects.train.signature import results_of


def stages_of(func: FuncOp) -> dict[ContractOp, int]:
    """The earliest stage of each contraction of a function that runs by itself, from 0."""
    found: dict[ContractOp, int] = {}
    # by operation the number of the first stage that may begin when it is done
    done: dict[Operation, int] = {}
    for op, before in _with_dependences(func):
        begin = max((done[one] for one in before), default=0)
        if isinstance(op, ContractOp):
            found[op] = begin
        done[op] = begin + isinstance(op, ContractOp | GroupOp | InterleaveOp)
    return found


def dependent_in_stage(func: FuncOp) -> ContractOp | None:
    """The first contraction whose stage, as its units say it, is not behind all stages that it depends on."""
    latest: dict[Operation, int] = {}
    for op, before in _with_dependences(func):
        reached = max((latest[one] for one in before), default=-1)
        own = op.units_attr.data.stage if isinstance(op, ContractOp) and op.units_attr is not None else None
        if own is not None and isinstance(op, ContractOp) and own <= reached:
            return op
        latest[op] = reached if own is None else own
    return None


def _with_dependences(func: FuncOp) -> Iterator[tuple[Operation, list[Operation]]]:
    """The operations of a function in order, with those before them that they wait for."""
    block = func.body.block
    places = _updated(func, block)
    readers: dict[SSAValue, list[Operation]] = {value: [] for value in places.values()}
    for op in block.ops:
        operands = [value for inner in op.walk() for value in inner.operands]
        before = [owner for value in operands if (owner := _owner(value, block)) is not None and owner is not op]
        for result in op.results:
            if result in places:
                before += [reader for reader in readers[places[result]] if reader is not op]
        yield op, before
        for value in {memory_of(value) for value in operands} & readers.keys():
            readers[value].append(op)


def _owner(value: SSAValue, block: Block) -> Operation | None:
    """The operation of the function's own block that makes a value; None of its arguments."""
    owner = value.owner
    while isinstance(owner, Operation) and owner.parent is not block:
        above = owner.parent_op()
        if above is None:
            return None
        owner = above
    return owner if isinstance(owner, Operation) else None


def _updated(func: FuncOp, block: Block) -> dict[SSAValue, SSAValue]:
    """The values that are written over arguments, with these arguments."""
    ending = block.last_op
    if not isinstance(ending, ReturnOp):
        return {}
    found = {memory_of(ending.operands[one.index]): one.updates for one in results_of(func) if one.updates is not None}
    return {value: block.args[index] for value, index in found.items()}
