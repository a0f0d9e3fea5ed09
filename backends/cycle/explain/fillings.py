"""Which folds, instructions or passes of an operation a picture of the array shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from xdsl.ir import Operation

from npuc.backends.cycle.compat import compat_machine, compat_product
from npuc.backends.cycle.explain.filling import Filling, wave_windows
from npuc.backends.cycle.explain.pass_filling import Steps
from npuc.backends.cycle.facts import ReloadFacts
from npuc.backends.cycle.scalesim.compute import Folds, cut
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import Compute, compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.row_wave import first_pass
from npuc.compiler.analysis.machine.stationary import placement
from npuc.compiler.analysis.machine.wave import Fold
from npuc.compiler.analysis.nest.cores import core_parts
from npuc.compiler.analysis.nest.elements import contract_widths
from npuc.compiler.analysis.timing.double_buffer import slowest_core
from npuc.compiler.analysis.timing.folds import nest_folds, round_robin_folds
from npuc.compiler.analysis.timing.interleave import interleaved_pipeline
from npuc.compiler.analysis.timing.operations import tile_extents
from npuc.compiler.report import OpRow
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.hardware import Hardware


def fillings(op: Operation, row: OpRow, machine: Machine | None, hardware: Hardware) -> Iterator[Filling]:
    """
    What the array does first for each statement of an operation, on the slowest core; nothing for vector work.

    Without a machine it is SCALE-Sim's array.
    """
    if isinstance(op, ContractOp):
        if machine is None:
            yield from _compat(op, hardware)
            return
        nest, schedule = op.nest, op.schedule
        if schedule.core_depth:
            slowest = slowest_core(nest, schedule, machine, contract_widths(op, machine))
            part = core_parts(nest, schedule)[slowest]
            nest, schedule = part.nest, part.schedule
        reload = ReloadFacts.found_in(row)
        yield from _nest(nest, schedule, machine.array, tile_loaded=reload is not None and reload.held == 1)
    elif isinstance(op, InterleaveOp) and machine is not None:
        yield from _round_robin(op, machine)


def _compat(op: ContractOp, hardware: Hardware) -> Iterator[Filling]:
    own = compat_machine(hardware).config
    products, layer = compat_product(op, compat_machine(hardware))
    folds, name = cut(layer, own), op.nest.statements[0].out
    array = Array(own.rows, own.cols, own.dataflow, fill="per-fold")
    placed = _placed(array, *array.places[:2])
    count = products * folds.count
    yield from wave_windows(_compat_folds(name, folds, products), array, {name: placed}, products * folds.lines, count)


def _compat_folds(name: str, folds: Folds, products: int) -> Iterator[Fold]:
    """The folds of some products in SCALE-Sim's model."""
    for place in product(range(products), range(folds.col_folds), range(folds.row_folds)):
        yield Fold(name, folds.rows_of(place[2]), folds.cols_of(place[1]), folds.streamed, place)


def _nest(nest: Nest, schedule: Schedule, array: Array, *, tile_loaded: bool) -> Iterator[Filling]:
    array = configured(nest, schedule, array)
    work = compute(nest, schedule, array, tile_loaded=tile_loaded)
    if array.row_stationary is not None:
        yield from _passes(nest, schedule, array, work)
        return
    folds, count = nest_folds(nest, schedule, array), _count(work, array)
    yield from wave_windows(folds, array, _places(nest, array), work.cycles, count, tile_loaded=tile_loaded)


def _round_robin(op: InterleaveOp, machine: Machine) -> Iterator[Filling]:
    together, array = op.round_robin, machine.array
    pairs = tuple(zip(together.nests, together.schedules, strict=True))
    arrays = [configured(nest, schedule, array) for nest, schedule in pairs]
    works = [compute(nest, schedule, own, isolated=True) for (nest, schedule), own in zip(pairs, arrays, strict=True)]
    if array.row_stationary is not None:
        for (nest, schedule), own, work in zip(pairs, arrays, works, strict=True):
            yield from _passes(nest, schedule, own, work)
        return
    widths = tuple(contract_widths(contract, machine) for contract in op.contracts)
    cycles = interleaved_pipeline(together, machine, widths).compute
    placed = {name: text for nest in together.nests for name, text in _places(nest, array).items()}
    folds = round_robin_folds(together.nests, together.schedules, array)
    yield from wave_windows(folds, array, placed, cycles, sum(_count(work, array) for work in works))


def _passes(nest: Nest, schedule: Schedule, array: Array, work: Compute) -> Iterator[Filling]:
    extents = next(tile_extents(nest, schedule, 0, nest.sizes))
    for statement in nest.statements:
        own = first_pass(nest, statement, array, extents)
        placed = "rs: filter rows on rows, output rows on columns of a set"
        yield Steps(statement.out, array.rows, array.cols, placed, own, work.folds)


def _count(work: Compute, array: Array) -> int:
    return work.folds if array.stages is None else work.instructions


def _places(nest: Nest, array: Array) -> dict[str, str]:
    """Of each output what lies where on the array."""
    found: dict[str, str] = {}
    for statement in nest.statements:
        place = placement(statement, array)
        found[statement.out] = _placed(array, place.rows, place.cols)
    return found


def _placed(array: Array, rows: str, cols: str) -> str:
    return f"{array.dataflow}: {rows} on rows, {cols} on columns"
