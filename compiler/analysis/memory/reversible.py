"""
Reversible chains of a forward pass: values that follow from the two that come after them.

    chains_of(func).chains[0].couplings[0].x

A residual pair y1 = x1 + F(x2), y2 = x2 + G(y1) is two couplings y = x + F(z), and so is CAMEL's y2 = F1(x1) + x2, y1 =
F2(y2) + x1. A chain is couplings in a row: each adds to the value before last what it computes from the last one,

    s[k+2] = s[k] + F[k](s[k+1])        and so        s[k] = s[k+2] - F[k](s[k+1]),

so that all its values follow from the last two. An ordinary residual y = x + F(x) is none: x cannot be computed from y.
Values that are split off a concatenation are the values that were concatenated.

Sources: Gomez, Ren, Urtasun, Grosse (2017), The reversible residual network (arXiv 1707.04585); Zhang et al. (2024),
CAMEL (arXiv 2305.03148).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.memory.forward import ForwardGraph
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.dialects.provenance import Role, layer_of, role_of
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import writes_of

_BACKWARD = frozenset((Role.DX, Role.DW, Role.DXDW))


@dataclass(frozen=True)
class Coupling:
    """
    y = x + F(z), where x reaches F by z alone.

    `number` says which operand of the addition is x; `function` are the operations between z and the other operand, in
    order.
    """

    addition: AddOp
    number: int
    x: SSAValue
    z: SSAValue
    function: tuple[Operation, ...]

    @property
    def y(self) -> SSAValue:
        """The sum."""
        return self.addition.out

    @property
    def branch(self) -> SSAValue:
        """What F computes, as the addition reads it."""
        return self.addition.operands[1 - self.number]


@dataclass(frozen=True)
class Chain:
    """Couplings in a row: z of each is y of the one before it, x is z of the one before it."""

    couplings: tuple[Coupling, ...]

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The values of the chain: its first two, then one for each coupling."""
        first = self.couplings[0]
        return (first.x, first.z, *(coupling.y for coupling in self.couplings))


@dataclass(frozen=True)
class Irreversible:
    """A residual addition, of which the values of the branch are kept, and why it is in no chain."""

    addition: Operation
    reason: str


@dataclass(frozen=True)
class Chains:
    """
    The chains of a function, the residual additions that are in none, and which values are copies of others.

    `same` has of each value that is split off a concatenation of values of chains the one that it is a copy of.
    """

    chains: tuple[Chain, ...]
    left: tuple[Irreversible, ...]
    same: Mapping[SSAValue, SSAValue]


OWN = "the branch reads the value that it is added to, so that x does not follow from x + F(x)"
OTHER = "the branch reads an earlier value of its chain, too, which is not known when the branch is computed again"
MOVES = "the branch exchanges data between devices"
WRITTEN = "the branch reads memory that is overwritten before the branch would run again"


def chains_of(func: FuncOp, wanted: Callable[[str], bool] = lambda layer: True) -> Chains:
    """The chains of the forward pass of a training step; only `wanted` layers may be computed again."""
    graph = ForwardGraph(func.body.block)
    refused = _Refused(func, graph, wanted)
    chains, left = list[Chain](), list[Irreversible]()
    for chain in _Search(graph).found():
        found, reasons = refused.parts(chain)
        chains += found
        left += reasons
    inside = {coupling.addition for chain in chains for coupling in chain.couplings}
    known = inside | {one.addition for one in left}
    left += [Irreversible(op, OWN) for op in graph.additions if op not in known and _is_ordinary(graph, op)]
    values = {value for chain in chains for value in chain.values}
    same = {value: original for value, original in graph.same.items() if original in values}
    return Chains(tuple(chains), tuple(sorted(left, key=lambda one: graph.number[one.addition])), same)


def _is_ordinary(graph: ForwardGraph, addition: AddOp) -> bool:
    """Whether one operand of an addition is computed from the other, and the backward pass reads values in between."""
    for number in (0, 1):
        between = graph.between(addition.operands[number], addition.operands[1 - number])
        if any(_is_read_later(op) for op in between):
            return True
    return False


def _is_read_later(op: Operation) -> bool:
    return any(role_of(use.operation) in _BACKWARD for result in op.results for use in result.uses)


class _Refused:
    """What of a chain may not be computed again."""

    def __init__(self, func: FuncOp, graph: ForwardGraph, wanted: Callable[[str], bool]):
        block = func.body.block
        self.graph = graph
        self.wanted = wanted
        order = {op: number for number, op in enumerate(block.ops)}
        last = max((number for op, number in order.items() if role_of(op) in _BACKWARD), default=0)
        self.writes = writes_of(block)
        self.overwritten = {arg for op, args in self.writes.items() if order[op] < last for arg in args}

    def parts(self, chain: Chain) -> tuple[list[Chain], list[Irreversible]]:
        """The chains of at least two couplings that are left of one, and the reasons for what is not."""
        found, reasons, row = list[Chain](), list[Irreversible](), list[Coupling]()
        later = self.graph.reached([chain.couplings[0].x, chain.couplings[0].z])
        for coupling in chain.couplings:
            reason = self._reason(coupling, later)
            if reason is None and all(self.wanted(layer_of(op)) for op in coupling.function):
                row.append(coupling)
                continue
            if reason is not None:
                reasons.append(Irreversible(coupling.addition, reason))
            found += [Chain(tuple(row))] if len(row) > 1 else []
            row = []
        return found + ([Chain(tuple(row))] if len(row) > 1 else []), reasons

    def _reason(self, coupling: Coupling, later: set[SSAValue]) -> str | None:
        """Why the function of a coupling may not be computed again; None where it may. `later` depend on the chain."""
        graph, made = self.graph, {result for op in coupling.function for result in op.results}
        for op in coupling.function:
            if not isinstance(op, TrainOp) or get_layer(op).kind is Kind.COMM:
                return MOVES
            for value in graph.operands(op):
                if value in later and value not in made and value is not coupling.z:
                    return OTHER
                if value in self.overwritten:
                    return WRITTEN
        return WRITTEN if any(op in self.writes for op in coupling.function) else None


@dataclass(frozen=True)
class _Step:
    """A coupling as a step of a chain: its addition, which operand is x, z, how long the chain is up to it."""

    addition: AddOp
    number: int
    z: SSAValue
    length: int
    before: "_Step | None"


class _Search:
    """The longest chains of a forward pass."""

    def __init__(self, graph: ForwardGraph):
        self.graph = graph
        self.additions = set(graph.additions)
        self.steps: dict[tuple[Operation, int, SSAValue], _Step] = {}

    def found(self) -> list[Chain]:
        """Chains of at least two couplings, of which no two share an addition; the longest first."""
        for addition in self.graph.additions:
            for number in (0, 1):
                self._extend(addition, number)
        chains, used = list[Chain](), set[Operation]()
        order = self.graph.number
        steps = sorted(self.steps.values(), key=lambda step: (-step.length, order[step.addition]))
        for last in steps:
            row = _row(last)
            if last.length > 1 and used.isdisjoint(step.addition for step in row):
                used.update(step.addition for step in row)
                chains.append(Chain(tuple(self._coupling(step) for step in row)))
        return sorted(chains, key=lambda chain: order[chain.couplings[0].addition])

    def _extend(self, addition: AddOp, number: int) -> None:
        """Note the longest chain that ends with an addition to operand `number`, for each z that it may have."""
        graph = self.graph
        x, branch = graph.original(addition.operands[number]), graph.original(addition.operands[1 - number])
        for z in graph.cuts(x, branch):
            earlier = z.owner
            if not isinstance(earlier, AddOp) or earlier not in self.additions:
                continue
            before = [step for side in (0, 1) if (step := self._step_to(earlier, side, x)) is not None]
            longest = max(before, key=lambda step: step.length, default=None)
            if longest is not None:
                step = _Step(addition, number, z, longest.length + 1, longest)
                self.steps[addition, number, z] = step

    def _step_to(self, addition: AddOp, number: int, z: SSAValue) -> _Step | None:
        """The step of an addition to operand `number` whose branch is computed from z; None where it is not."""
        known = self.steps.get((addition, number, z))
        if known is not None:
            return known
        graph = self.graph
        x, branch = graph.original(addition.operands[number]), graph.original(addition.operands[1 - number])
        if x is z or not graph.between(z, branch):
            return None
        is_free = x is not branch and not graph.between(x, branch)
        return _Step(addition, number, z, 1, None) if is_free or z in graph.cuts(x, branch) else None

    def _coupling(self, step: _Step) -> Coupling:
        graph, number = self.graph, step.number
        x, branch = step.addition.operands[number], graph.original(step.addition.operands[1 - number])
        return Coupling(step.addition, number, graph.original(x), step.z, tuple(graph.between(step.z, branch)))


def _row(last: _Step) -> list[_Step]:
    """The steps of the chain that ends with one, in order."""
    row: list[_Step] = []
    step: _Step | None = last
    while step is not None:
        row.append(step)
        step = step.before
    return row[::-1]
