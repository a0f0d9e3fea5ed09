"""Writing reversible chains into a program: what is computed again where in the backward pass, what is undone."""

from collections.abc import Iterable, Iterator

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.memory.liveness import Tensors
from npuc.compiler.analysis.memory.recompute import stages_of
from npuc.compiler.analysis.memory.reversible import Chain, Chains
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.recompute.patterns import RunAgain
from npuc.dialects.provenance import Role, layer_of, role_of


def rebuild(func: FuncOp, tensors: Tensors, found: Chains) -> int:
    """
    Change a training step, whose `tensors` and chains these are, so that of each chain the last two values are kept:
    how many operations run again, those that undo an addition among them.
    """
    rows = [_Row(tensors, chain, found) for chain in found.chains]
    before: dict[Operation, list[Operation]] = {}
    undone: dict[Operation, int] = {
        coupling.addition: coupling.number for chain in found.chains for coupling in chain.couplings
    }
    for row in rows:
        for place, ops in row.placed():
            before.setdefault(place, []).extend(ops)
    if not before:
        return 0
    sweep(func.body, RunAgain(lambda op: before.get(op, ()), _reads_second, undone, found.same))
    return sum(map(len, before.values()))


def _reads_second(op: Operation) -> bool:
    return role_of(op) is not Role.FORWARD


class _Row:
    """
    Where the couplings of one chain run again, the last one first, each in front of the first stage of the backward
    pass that reads a value of its function.
    """

    def __init__(self, tensors: Tensors, chain: Chain, found: Chains):
        self.chain = chain
        self.same = found.same
        self.couplings = chain.couplings
        self.maker: dict[SSAValue, tuple[int, Operation]] = {}
        """The coupling of each value of a function, and the operation that makes it."""
        for number, coupling in enumerate(self.couplings):
            self.maker.update((value, (number, op)) for op in coupling.function for value in op.results)
        self.state = {value: number for number, value in enumerate(chain.values[:-2])}
        """The coupling that gives each value of the chain a second time, when it is undone."""
        self.layers = [{layer_of(op) for op in coupling.function} for coupling in self.couplings]
        self.backward = list(_backward(tensors))
        self.places = self._places()

    def original(self, value: SSAValue) -> SSAValue:
        """The value that another one is a copy of."""
        return self.same.get(value, value)

    def _places(self) -> dict[int, int]:
        """The couplings that run again, and the number of the stage in front of which each of them does."""
        found: dict[int, int] = {}
        for stage, (_, ops) in enumerate(self.backward):
            for op in ops:
                for number in self._demanded(op, is_begun=len(found) == len(self.couplings) - 1):
                    for later in range(number, len(self.couplings)):
                        found.setdefault(later, stage)
        return found

    def _demanded(self, op: Operation, *, is_begun: bool) -> Iterator[int]:
        """
        The couplings that an operation of the backward pass has run again.

        A value of the chain itself is wanted a second time by the backward pass of what reads it within the chain, and
        the first one by what comes before the chain, behind all others (`is_begun`); what else reads it early, such as
        an exit from within the chain, reads the stored one.
        """
        for value in map(self.original, op.operands):
            if value in self.maker:
                yield self.maker[value][0]
            number = self.state.get(value)
            if number is not None and (layer_of(op) in self.layers[number - 1] if number else is_begun):
                yield number

    def placed(self) -> Iterable[tuple[Operation, list[Operation]]]:
        """What runs again, or is undone, in front of which operation."""
        needed = self._needed()
        for number in sorted(self.places, reverse=True):
            coupling = self.couplings[number]
            ops = [op for op in coupling.function if not needed.isdisjoint(op.results)]
            ops += [coupling.addition] if coupling.x in needed else []
            if ops:
                yield self.backward[self.places[number]][0], ops

    def _needed(self) -> set[SSAValue]:
        """The values that are read a second time: by the backward pass, and by what runs again for it."""
        todo = [
            value
            for stage, (_, ops) in enumerate(self.backward)
            for op in ops
            for value in map(self.original, op.operands)
            if self._is_second(value, stage)
        ]
        needed = set[SSAValue]()
        while todo:
            value = todo.pop()
            if value not in needed:
                needed.add(value)
                todo += filter(self._is_remade, map(self.original, self._reads(value)))
        return needed

    def _is_remade(self, value: SSAValue) -> bool:
        return value in self.maker or value in self.state

    def _is_second(self, value: SSAValue, stage: int) -> bool:
        """Whether a stage that reads a value reads the second one."""
        number = self.maker[value][0] if value in self.maker else self.state.get(value)
        return number is not None and self.places.get(number, len(self.backward)) <= stage

    def _reads(self, value: SSAValue) -> Iterable[SSAValue]:
        """What the second value of one is computed from."""
        if value in self.maker:
            return self.maker[value][1].operands
        coupling = self.couplings[self.state[value]]
        return coupling.y, coupling.branch


def _backward(tensors: Tensors) -> Iterator[tuple[Operation, list[Operation]]]:
    """The stages of the backward pass: the first operation of each, and all of them, views among them."""
    starts = {tensors.ops[number] for number in stages_of(tensors.ops, tensors.boundary)}
    block = tensors.ops[0].parent if tensors.ops else None
    first: Operation | None = None
    ops: list[Operation] = []
    for op in block.ops if block is not None else ():
        if op in starts:
            if first is not None:
                yield first, ops
            first, ops = op, []
        if first is not None and role_of(op) is not Role.FORWARD:
            ops.append(op)
    if first is not None:
        yield first, ops
