"""
The body of a group for one band of rows: what its operations compute then, with the rows that are in SPM meanwhile.

The rows of a value that are there from the band before (`old`) and its new rows are two parts of one buffer; an
operation reads a window of it (`npu.window`). Room for rows that stay is set aside from the first band on. An operand
that is found resident is kept like that: its new rows are loaded before anything else is done.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from npuc.compiler.analysis.fusion.rows.bands import Band, RowProgram
from npuc.compiler.analysis.fusion.rows.maps import RowMap, Span
from npuc.compiler.analysis.fusion.rows.sized import extent_of, of_rows, on_rows
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.dialects.npu import ContractOp, GroupOp, RowWindowOp, VectorOp
from npuc.dialects.npu.groups.batches import WHOLE, Batches
from npuc.dialects.npu.interleave import YieldOp
from npuc.dialects.npu.resident import memory_of

Parts = dict[SSAValue, tuple[SSAValue, int]]
"""What is there of values in the body of a band, each with its first row."""


@dataclass(frozen=True)
class Load:
    """New rows of an operand that stay in SPM, with the operation whose row has them, and the operand's name there."""

    op: Operation
    name: str
    type: Attribute


@dataclass(frozen=True)
class BandBody:
    """A group that does what one band does: the operation for each one of the whole body, and what is loaded first."""

    group: GroupOp
    of: Mapping[Operation, Operation]
    loads: tuple[Load, ...]


def shape_of_band(program: RowProgram, band: Band) -> object:
    """Equal for bands that do the same on other rows."""
    values = dict.fromkeys([*band.window, *band.fresh, *band.old, *band.left])
    origin = {v: min(s[v][0] for s in (band.window, band.fresh, band.old, band.left) if v in s) for v in values}

    def moved(spans: Mapping[SSAValue, Span]) -> frozenset[object]:
        return frozenset((v, start - origin[v], stop - origin[v]) for v, (start, stop) in spans.items())

    done = tuple(
        (op, extent_of(program.steps[op], made, _reads(band, op)), made[0] - origin[op.results[0]])
        for op, made in band.made.items()
    )
    reads = frozenset((op, n, start - origin[op.operands[n]]) for (op, n), (start, _) in band.read.items())
    return done, reads, *map(moved, (band.window, band.fresh, band.old, band.left))


def _reads(band: Band, op: Operation) -> dict[int, Span]:
    return {number: span for (own, number), span in band.read.items() if own is op}


def kinds_of(program: RowProgram, bands: Sequence[Band]) -> list[tuple[Band, int]]:
    """The bands that differ, each with how many are like it, the most frequent first."""
    found: dict[object, list[Band]] = {}
    for band in bands:
        found.setdefault(shape_of_band(program, band), []).append(band)
    return sorted(((same[0], len(same)) for same in found.values()), key=lambda one: -one[1])


def resident_names(op: Operation, value: SSAValue) -> Iterator[str]:
    """Under which names an operation finds a value resident."""
    if isinstance(op, ContractOp | VectorOp):
        yield from (name for name, one in op.named_operands().items() if one is value and name in op.resident.ins)


def is_found(value: SSAValue) -> bool:
    """Whether some operation finds a value resident."""
    return any(next(resident_names(use.operation, value), None) is not None for use in value.uses)


class BandWriter:
    """Writes the bodies of the bands of a group, whose contractions promise so many bytes of SPM."""

    def __init__(self, group: GroupOp, program: RowProgram, promise: int):
        self.group, self.program, self.promise = group, program, promise
        self.maps: dict[SSAValue, RowMap] = {}
        for op, step in program.steps.items():
            self.maps |= {v: one for v, one in zip(op.operands, step.reads, strict=True) if one is not None}
            self.maps |= {v: RowMap(step.axis, step.height) for v in op.results}

    def body(self, band: Band) -> BandBody:
        """
        The body of a band.

        Raises `SourceError` where a result is written over rows that stay.
        """
        block = Block()
        of: Parts = {}
        old: Parts = {}
        held: list[int] = []
        for number, arg in enumerate(self.group.body.block.args):
            self._argument(number, arg, band, block, of, held)
        for value, size in self._slots(band).items():
            held.append(len(block.args))
            slot = block.insert_arg(of_rows(value.type, self.maps[value].axis, size), len(block.args))
            if value in band.old:
                old[value] = slot, band.old[value][1] - size
        done: dict[Operation, Operation] = {}
        for op, made in band.made.items():
            operands = [self._operand(op, number, band, block, of, old) for number in range(len(op.operands))]
            step = self.program.steps[op]
            new = on_rows(op, step, extent_of(step, made, _reads(band, op)), operands)
            new.location = op.location
            if isinstance(new, ContractOp):
                new.schedule = replace(new.schedule, spm=self.promise)
            block.add_op(new)
            done[op] = new
            of |= {value: (result, made[0]) for value, result in zip(op.results, new.results, strict=True)}
        yielded = [of[v][0] for v in self.program.results if v in band.fresh]
        block.add_op(YieldOp(yielded))
        self._settle(band, done, {block.args[number] for number in held})
        operands = Block(arg_types=[arg.type for arg in block.args]).args
        group = GroupOp(
            list(operands),
            [value.type for value in yielded],
            Region(block),
            Batches(1, 1),
            [WHOLE] * len(operands),
            [0] * len(yielded),
            held,
        )
        return BandBody(group, done, tuple(self._loads(band, done)))

    def _argument(self, number: int, arg: SSAValue, band: Band, block: Block, of: Parts, held: list[int]) -> None:
        """Add the argument for an operand of the group, if the band has rows of it."""
        if arg not in self.maps:
            if number in self.group.held:
                held.append(len(block.args))
            of[arg] = block.insert_arg(arg.type, len(block.args)), 0
            return
        spans = [s[arg] for s in (band.window, band.fresh, band.old) if arg in s]
        kept = is_found(arg)
        if not kept:
            spans = spans[:1] if arg in band.window else []
        if not spans:
            return
        start, stop = min(first for first, _ in spans), max(last for _, last in spans)
        if kept:
            held.append(len(block.args))
        type_ = of_rows(arg.type, self.maps[arg].axis, stop - start)
        of[arg] = block.insert_arg(type_, len(block.args)), start

    def _slots(self, band: Band) -> dict[SSAValue, int]:
        """The rows that are set aside for what stays of each value."""
        found: dict[SSAValue, int] = {}
        for value in dict.fromkeys([*band.old, *band.left]):
            if value.owner in self.program.steps and is_found(value):
                spans = [spans[value] for spans in (band.old, band.left) if value in spans]
                found[value] = max(stop - start for start, stop in spans)
        return found

    def _operand(
        self,
        op: Operation,
        number: int,
        band: Band,
        block: Block,
        of: Parts,
        old: Parts,
    ) -> SSAValue:
        """What an operation reads of an operand: it, or a window of its rows."""
        value = op.operands[number]
        if (op, number) not in band.read:
            return of[value][0]
        start, stop = band.read[op, number]
        axis = self.maps[value].axis
        there = [one for one in (of.get(value), old.get(value)) if one is not None]
        type_ = of_rows(value.type, axis, stop - start)
        if there and there[0][0].type == type_ and there[0][1] == start:
            return there[0][0]
        if len(there) > 1 and start >= there[0][1]:
            there = there[:1]
        first = min((place for _, place in there), default=stop)
        finds = next(resident_names(op, value), None) is not None
        if start < first or (not finds and any(one is old.get(value) for one in there)):
            raise SourceError(
                f"'{op.name}' reads rows that stay, but does not find them resident", location=location_of(op)
            )
        new = RowWindowOp([one for one, _ in there], type_, axis, start - first)
        alike = (one for one in block.ops if isinstance(one, RowWindowOp) and one.is_structurally_equivalent(new))
        same = next(alike, None)  # An operation that reads a value twice reads one window of it twice.
        if same is None:
            block.add_op(new)
            return new.out
        new.erase()
        return same.out

    def _settle(self, band: Band, done: Mapping[Operation, Operation], held: set[SSAValue]) -> None:
        """Make residents those of the band: what is held stays so, and what nothing finds any more does not stay."""
        later: set[SSAValue] = set()
        for whole, op in reversed(list(done.items())):
            if not isinstance(op, ContractOp | VectorOp):
                continue
            own, tensors = op.resident, {**op.named_operands(), **op.named_results()}
            for name, under in own.over:
                value = whole.named_operands()[under] if isinstance(whole, ContractOp | VectorOp) else None
                if value in band.left:
                    raise SourceError(f"{name} is written over rows of {under} that stay", location=location_of(whole))
            found = {memory_of(tensors[name]) for name in own.ins}
            outs = [n for n in own.outs if memory_of(tensors[n]) in later | held]
            outs += [n for n in own.ins if memory_of(tensors[n]) in held and n not in outs]
            op.resident = replace(own, outs=tuple(outs), over=tuple(one for one in own.over if one[0] in outs))
            later |= found

    def _loads(self, band: Band, done: Mapping[Operation, Operation]) -> Iterator[Load]:
        """What is loaded of operands that stay, at the first operation that finds each."""
        for arg in self.group.body.block.args:
            if arg not in self.maps or arg not in band.fresh or not is_found(arg):
                continue
            readers = ((op, name) for op in done for name in resident_names(op, arg))
            first = next(readers, None)
            if first is not None:
                start, stop = band.fresh[arg]
                yield Load(first[0], first[1], of_rows(arg.type, self.maps[arg].axis, stop - start))
