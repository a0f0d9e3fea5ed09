"""Vector work and moves in words, by themselves or as the epilogue of a contraction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from npuc.backends.cycle.explain.resident import residency_facts
from npuc.backends.cycle.facts import RereadFacts, StreamFacts
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import FusedFacts, ResidencyFacts
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.fused_blocks import is_stored
from npuc.dialects.npu.vector import FusedVector
from npuc.dialects.provenance import layer_of
from npuc.dialects.tensors import shape_of


def unstored_outputs(op: ContractOp, fused: Sequence[FusedVector]) -> frozenset[str]:
    """The outputs that are not stored, as only fused work uses them."""
    inside = [f.op for f in fused]
    return frozenset(f.output for f in fused if not is_stored(op.result_of(f.output), inside))


def epilogue_lines(fused: Sequence[FusedVector]) -> dict[str, tuple[str, ...]]:
    """The epilogue of each output: pseudocode for the work on a completed block."""
    inside = [f.op for f in fused]
    lines: dict[str, list[str]] = {}
    for f in fused:
        own = lines.setdefault(f.output, [])
        loaded = [_name(f, v) for v in f.outside if shape_of(v) == shape_of(f.op.results[0])]
        whole = [_name(f, v) for v in f.outside if shape_of(v) != shape_of(f.op.results[0])]
        stored = [_name(f, v) for v in f.op.results if is_stored(v, inside)]
        own += [f"load {', '.join(loaded)}"] if loaded else []
        with_ = f", with all of {', '.join(whole)}" if whole else ""
        own.append(f"{f.op.kind} on the block of {f.output}{with_}")
        own += [f"store {', '.join(stored)}"] if stored else []
    return {name: tuple(own) for name, own in lines.items()}


def _name(f: FusedVector, value: SSAValue) -> str:
    """The name of a value in the program, otherwise its name in the report."""
    own = {v: f"in{number}" for number, v in reversed(list(enumerate(f.op.operands)))}
    own |= {v: f"out{number}" for number, v in enumerate(f.op.results)}
    return value.name_hint or own[value]


def fused_facts(op: ContractOp, fused: Sequence[FusedVector]) -> Iterator[tuple[str, str]]:
    """The epilogue of a contraction, and the outputs that it makes unnecessary to store."""
    kept = unstored_outputs(op, fused)
    for number, f in enumerate(fused):
        heading = "" if number else "fused"
        yield heading, f"{f.op.kind} of {layer_of(f.op)} runs on each block of {f.output} as it is finished"
    for name in sorted(kept):
        yield "", f"nothing else uses {name}: it is not stored"


def work_facts(row: OpRow, machine: Machine | None) -> Iterator[tuple[str, str]]:
    """The work of a vector operation or move, and how it runs."""
    stream, fused, reread = StreamFacts.found_in(row), FusedFacts.found_in(row), RereadFacts.found_in(row)
    what = row.op if stream is None else stream.work
    if row.kind == "vector":
        lanes = "" if machine is None else f" on {machine.lanes:,} lanes"
        yield "work", f"{what}: {row.vector_ops or 0:,} operations{lanes}"
    else:
        yield "work", f"{what}: data moves, nothing is computed"
    if fused is not None:
        yield "schedule", f"runs on each block of {fused.fused} as its product finishes it; the time is what it adds"
        yield "", f"by itself it would take {fused.alone_cycles:,} cycles and move {fused.alone_bytes:,} bytes"
    elif machine is not None:
        resident = ResidencyFacts.found_in(row)
        but = ", except for resident tensors" if resident is not None and resident.is_resident else ""
        if reread is not None:
            verb = "comes" if len(reread.read_twice) == 1 else "come"
            names = ", ".join(reread.read_twice)
            yield "schedule", f"runs by itself and streams: {names} {verb} from DRAM twice, all else moves once{but}"
            yield from _read_twice(reread, resident, machine)
        else:
            yield "schedule", f"runs by itself and streams: operands come from DRAM once, results go there once{but}"
        yield from residency_facts(row)


def _read_twice(facts: RereadFacts, resident: ResidencyFacts | None, machine: Machine) -> Iterator[tuple[str, str]]:
    """Why operands are read twice, and the residency that would avoid it."""
    beside = " beside what stays there" if resident is not None and resident.passing_bytes else ""
    yield "", f"once for the statistics, once for the result: {facts.read_twice_bytes:,} bytes more"
    needed = f"{facts.group_bytes:,} bytes would have to stay in scratchpad: what one group of statistics needs"
    yield "", f"to come once, {needed}"
    yield "", f"{machine.spm_bytes * machine.cores:,} may be used{beside}"
