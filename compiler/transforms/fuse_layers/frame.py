"""
A range of steps as a group would run it: its members, what runs after it, and who accesses which value.

Frames name steps by their distance from the first and values by numbers, so that ranges that are alike, such as the
blocks of a transformer, have equal frames and are costed once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from npuc.compiler.transforms.fuse_layers.chain import Chain, ChainStep
from npuc.compiler.transforms.keep_resident.spans import uses_through_views
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.groups.batches import WHOLE
from npuc.dialects.npu.resident import SameMemory, memory_of
from npuc.dialects.npu.widths import elements_of


@dataclass(frozen=True)
class FrameAccess:
    """A member that accesses a value, by its distance, under which name, and whether it computes the value."""

    step: int
    name: str
    defines: bool


@dataclass(frozen=True)
class FrameValue:
    """
    A value that members access in ways that SPM may serve.

    `whole`: read whole by each micro-batch. `is_sum`: a sum over micro-batches. `stored`: something needs it in DRAM.
    """

    accesses: tuple[FrameAccess, ...]
    bytes: int
    whole: bool
    is_sum: bool
    stored: bool


@dataclass(frozen=True)
class Frame:
    """The members of a range with their kinds, what runs after the group, and the values."""

    members: tuple[int, ...]
    kinds: tuple[object, ...]
    late: tuple[int, ...]
    values: tuple[FrameValue, ...]
    number: int = field(default=-1, compare=False)
    """Equal for frames whose groups cost the same, once they are numbered."""


@dataclass(frozen=True)
class StepFacts:
    """What frames ask of a step again and again, so that it is looked up once."""

    read: frozenset[SSAValue]
    """The memories of its operands, and of those in its regions."""
    made: tuple[SSAValue, ...]
    """The memories of its results."""
    sums: tuple[SSAValue, ...]
    """Its results that are sums over samples, all that it computes then."""
    can_hold: bool
    """Whether its sums may be held as partial sums."""
    readable: tuple[tuple[str, SSAValue], ...]
    writable: tuple[tuple[str, SSAValue], ...]
    users: tuple[tuple[SSAValue, frozenset[Operation], bool], ...]
    """Of each result the operations that use it or a view of it, and whether all of them could find it in SPM."""


def facts_of(step: ChainStep) -> StepFacts:
    """The facts of a step."""
    op = step.op
    named = isinstance(op, ContractOp | VectorOp)
    sums = tuple(v for v, axis in zip(op.results, _results(step), strict=False) if axis == WHOLE)
    write = writable(op) if isinstance(op, ContractOp | VectorOp) else {}
    return StepFacts(
        # Contractions that run in turn are in a region, which reads what is around it.
        frozenset(memory_of(value) for inner in op.walk() for value in inner.operands),
        tuple(memory_of(value) for value in op.results),
        sums,
        named and all(value in write.values() for value in sums),
        tuple(readable(op).items()) if isinstance(op, ContractOp | VectorOp) else (),
        tuple(write.items()),
        tuple((value, *_users(value)) for value in op.results),
    )


def frames_from(chain: Chain, facts: Sequence[StepFacts], first: int, reach: int) -> Iterator[tuple[int, Frame]]:
    """
    The frames of the ranges from a first step, each with its last one: with sums in the group, and where there are any
    also without, where what computes them runs after it.
    """
    steps = chain.steps
    if not _is_priced(steps[first]):
        return
    growing = [_Growing(chain, facts, first, with_sums=sums) for sums in (True, False)]
    for last in range(first, min(first + reach, len(steps))):
        if steps[last].op in chain.writes:
            return
        growing = [one for one in growing if one.add(last)]
        for one in growing:
            frame = one.frame(last) if one.with_sums or one.has_sums else None
            if frame is not None:
                yield last, frame


class _Growing:
    """A range that grows step by step."""

    def __init__(self, chain: Chain, facts: Sequence[StepFacts], first: int, *, with_sums: bool):
        self.chain, self.facts, self.first, self.with_sums = chain, facts, first, with_sums
        self.has_sums = False
        self.inside: dict[Operation, int] = {}
        self.late: list[int] = []
        self.ours: set[SSAValue] = set()
        self.later: set[SSAValue] = set()
        self.priced = 0

    def add(self, number: int) -> bool:
        """Take a step into the range; False where no range with it can be one group."""
        step, facts = self.chain.steps[number], self.facts[number]
        self.has_sums |= bool(facts.sums) and step.axes is not None
        if step.axes is None or (facts.sums and not (self.with_sums and facts.can_hold)):
            if number == self.first:
                return False
            if not facts.read.isdisjoint(self.ours) or not facts.read.isdisjoint(self.later):
                self.late.append(number - self.first)
                self.later.update(facts.made)
            return True
        if not facts.read.isdisjoint(self.later):
            return False
        self.inside[step.op] = number - self.first
        self.priced += not step.is_view
        self.later.update(facts.sums)  # complete after the last micro-batch only
        self.ours.update(value for value in facts.made if value not in facts.sums)
        return True

    def frame(self, last: int) -> Frame | None:
        """The frame of the range up to a step; None where that is no member, or the only one."""
        step = self.chain.steps[last]
        if self.priced < 2 or step.op not in self.inside or step.is_view:
            return None
        members = tuple(self.inside.values())
        kinds = tuple(self.chain.steps[self.first + number].kind for number in members)
        return Frame(members, kinds, tuple(self.late), tuple(self._values()))

    def _values(self) -> Iterator[FrameValue]:
        """The values that members access, in the order of their first access."""
        found: dict[SSAValue, list[FrameAccess]] = {}
        stored: dict[SSAValue, bool] = {}
        sums: set[SSAValue] = set()
        for number in self.inside.values():
            facts = self.facts[self.first + number]
            for name, value in facts.readable:
                found.setdefault(_inner_memory(value, self.inside), []).append(FrameAccess(number, name, False))
            for name, value in facts.writable:
                found.setdefault(value, []).append(FrameAccess(number, name, True))
            sums.update(facts.sums)
            for value, users, able in facts.users:
                stored[value] = not able or not users <= self.inside.keys()
        for value, accesses in found.items():
            if value in stored:
                if accesses[0].defines or value not in sums:
                    size = self.chain.bytes(value)
                    yield FrameValue(tuple(accesses), size, False, value in sums, stored[value])
            else:
                whole = self.chain.axes.get(value, WHOLE) == WHOLE
                yield FrameValue(tuple(accesses), self.chain.bytes(value), whole, False, True)


def _is_priced(step: ChainStep) -> bool:
    return step.axes is not None and not step.is_view


def _results(step: ChainStep) -> tuple[int, ...]:
    return () if step.axes is None else step.axes.results


def _users(value: SSAValue) -> tuple[frozenset[Operation], bool]:
    """The operations that use a value or a view of it, views included; whether all could find it in SPM."""
    users = {use.operation for use in value.uses} | {view for view in _views(value)}
    able = True
    for user, number in uses_through_views(value):
        users.add(user)
        able = able and isinstance(user, ContractOp | VectorOp) and user.operands[number] in readable(user).values()
    return frozenset(users), able


def _views(value: SSAValue) -> Iterator[Operation]:
    for use in value.uses:
        if isinstance(use.operation, SameMemory):
            yield use.operation
            yield from _views(use.operation.results[0])


def _inner_memory(value: SSAValue, inside: dict[Operation, int]) -> SSAValue:
    """The value that a value is a view of inside the group: what comes from outside is a value of its own there."""
    while isinstance(value.owner, SameMemory) and isinstance(value.owner, Operation) and value.owner in inside:
        value = value.owner.operands[0]
    return value


def readable(op: ContractOp | VectorOp) -> dict[str, SSAValue]:
    """The operands that an operation may find resident, by name: those that it reads whole, and under one name only."""
    named = op.named_operands()
    memories = [memory_of(value) for value in op.operands]
    counts = op.reads if isinstance(op, VectorOp) else None
    found: dict[str, SSAValue] = {}
    for name, value in named.items():
        number = list(op.operands).index(value)
        whole = counts is None or counts[number] == elements_of(value)
        if memories.count(memory_of(value)) == 1 and whole:
            found[name] = value
    return found


def writable(op: ContractOp | VectorOp) -> dict[str, SSAValue]:
    """The results that an operation may leave resident, by name: those that it writes whole."""
    counts = op.writes if isinstance(op, VectorOp) else None
    return {
        name: value
        for number, (name, value) in enumerate(op.named_results().items())
        if counts is None or counts[number] == elements_of(value)
    }
