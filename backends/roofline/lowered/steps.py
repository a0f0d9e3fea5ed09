"""
From a lowered program to the steps of an iteration: one step an operation, in program order.

A step reads and writes whole tensors, each once, as the model has it everywhere: loops and tiles say how a scratchpad
would do it, and the cores of a schedule share the machine's one throughput. A value that is resident stays in the cache
during all operations from the one that leaves it to the last that finds it: each of them accesses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from npuc.backends.roofline.iteration.repeats import written_out
from npuc.backends.roofline.iteration.steps import Conventions, Iteration, IterationStep
from npuc.backends.roofline.lowered.memory import Memory
from npuc.backends.roofline.lowered.units import Unit, is_unused, units_of
from npuc.backends.sparse import facts_of, without_array
from npuc.compiler.analysis.nest.elements import element_bits
from npuc.compiler.analysis.sharding.samples import samples_of
from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.resident import block_residency
from npuc.dialects.provenance import is_recomputed, layer_of, location_text, repeat_of, role_of, source_of
from npuc.dialects.train.signature import results_of


def lowered_iteration_of(func: FuncOp, conventions: Conventions) -> Iteration:
    """
    The steps of a function at the level npu.

    Of the conventions only `ops_per_mac`, `element_bytes`, `mantissa_bits` and `skipping` have a meaning: the program
    says all else.
    """
    memory, block = Memory(func, conventions.element_bytes), func.body.block
    passing = block_residency(block).passing
    steps = [_step(unit, memory, passing.get(unit.main, ()), conventions) for unit in units_of(block.ops)]
    steps = [step for step in steps if step.reads or step.writes]
    return written_out(Iteration(tuple(memory.tensors), tuple(steps), memory.known(_live_out(func)), samples_of(func)))


def _step(unit: Unit, memory: Memory, passing: tuple[SSAValue, ...], conventions: Conventions) -> IterationStep:
    main, product, bits = unit.main, unit.contracts, conventions.mantissa_bits
    nests, stated = unit.in_passes(bits), unit.stated_passes(bits)
    passes = ceil(sum(nest.mac_passes for nest in nests)) + stated if bits else unit.macs
    passes_of = without_array(conventions.skipping)
    taken = sum(nest.points * passes_of(statement)[1] for nest in nests for statement in nest.statements)
    whole = memory.numbered(memory.parts([*unit.resident, *passing]))
    reads = memory.numbered([*memory.read_by(unit), *memory.parts(passing)])
    return IterationStep(
        name=layer_of(main),
        op=main.name,
        phase=role_of(main).value,
        reads=reads,
        writes=memory.numbered(memory.parts(unit.writes)),
        macs=unit.macs,
        vector_ops=unit.vector_ops,
        ops=ceil(conventions.ops_per_mac * (taken + stated)) + unit.vector_ops,
        matrix=bool(product) or stated > 0,
        loc=location_text(main),
        source=source_of(main),
        recomputed=is_recomputed(main),
        width=element_bits(product[0].operands[0].type, conventions.element_bytes) if product else 0,
        whole=frozenset(whole),
        repeat=repeat_of(main),
        passes=_passes(unit, nests, stated) if bits else (),
        mac_passes=passes,
        sparse=facts_of(product, nests, passes_of, conventions.element_bytes),
        operator=unit.operator,
    )


def _passes(unit: Unit, nests: Sequence[Nest], stated: int) -> tuple[int, ...]:
    """The passes of a product of each statement, or of the MACs that the step says."""
    each = tuple(ceil(s.passes) for nest in nests for s in nest.statements)
    return each if each or not stated else (stated // unit.macs,)


def _live_out(func: FuncOp) -> list[SSAValue]:
    """
    What is in memory at the end: new weights, states and gradients that are returned; else all that is returned.

    A function that returns nothing has some layers of a program alone; what none of them uses is for the others.
    """
    ending = func.body.block.last_op
    if not isinstance(ending, ReturnOp) or not ending.operands:
        return [value for op in func.body.block.ops for value in op.results if is_unused(value)]
    kept = [r.index for r in results_of(func) if r.updates is not None or r.gradient is not None]
    return [ending.operands[i] for i in kept] if kept else list(ending.operands)
