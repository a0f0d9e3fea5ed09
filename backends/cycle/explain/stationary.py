"""Folds, loads and drains of stationary tiles, in words."""

from collections.abc import Iterator

from npuc.backends.cycle.facts import RegisterFedFacts, ReloadFacts, TransposeFacts, WeightReuseFacts
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.stationary import placement
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import EdgeFacts
from npuc.dialects.npu.nest import Nest, Schedule


def fold_facts(nest: Nest, schedule: Schedule, count: int, machine: Machine) -> Iterator[tuple[str, str]]:
    """The folds of a nest on the array, or its passes on a row-stationary one, and what is mapped where."""
    array = machine.array
    size = f"{array.rows} x {array.cols}"
    own = configured(nest, schedule, array).row_stationary
    if own is None:
        place = placement(nest.statements[0], array)
        yield (
            "",
            f"{count:,} folds of the {size} array ({array.dataflow}: {place.rows} on rows, {place.cols} on columns, "
            f"{place.streamed} streams through)",
        )
        return
    yield "", f"{count:,} passes on the {size} array (rs)"
    for statement, mapping in zip(nest.statements, own.mappings, strict=True):
        whose = f"{statement.out}: " if len(own.mappings) > 1 else ""
        yield (
            "",
            f"{whose}sets of {mapping.rows} filter rows x {mapping.strip} output rows, {mapping.channel_sets} that add "
            f"up channels x {mapping.filter_sets} of other filters: {mapping.active:,} of {array.elements:,} elements",
        )
        yield (
            "",
            f"{whose}an element has up to {mapping.filters} filters x {mapping.channels} channels x "
            f"{mapping.taps} taps",
        )


def stationary_facts(nest: Nest, row: OpRow, machine: Machine) -> Iterator[tuple[str, str]]:
    """How often stationary tiles are loaded or drained, on arrays where that takes time."""
    array = machine.array
    register_fed, weights = RegisterFedFacts.found_in(row), WeightReuseFacts.found_in(row)
    reload, edge, transposes = ReloadFacts.found_in(row), EdgeFacts.found_in(row), TransposeFacts.found_in(row)
    if register_fed is not None and weights is not None:
        yield (
            "",
            f"{register_fed.instructions:,} instructions of {array.tile_m} rows ({array.overlap}); weights are loaded "
            f"{register_fed.weight_groups:,} times, once for {weights.weight_reuse:.3g} of them",
        )
    elif reload is not None:
        names = dict.fromkeys(placement(s, array).stationary(s) for s in nest.statements)
        changes = f"{reload.reloads:,} changes of tile take {reload.reload_cycles:,} cycles of the fill"
        before = "; the first is there from the operation before" if reload.held else ""
        yield "", f"tiles of {', '.join(names)} stay in the array: {changes}{before}"
    elif edge is not None and edge.edge_cycles:
        if array.row_stationary is not None:
            yield "", f"filters come {edge.groups:,} times; steps wait {edge.edge_cycles:,} cycles for the networks"
            return
        what = "sums go out" if array.keeps_sums else "operands come in"
        yield (
            "",
            f"in {edge.groups:,} groups on one stationary tile, which wait {edge.edge_cycles:,} cycles for "
            f"the array's edge: {what} beside the neighbour, {_counted_elements(array.edge_elements)} a port and cycle",
        )
    if transposes is not None and machine.transpose != "explicit":
        yield "", f"with explicit transposes it would take {transposes.explicit_cycles:,} cycles"


def _counted_elements(count: int | None) -> str:
    return "any number of elements" if count is None else f"{count:,} element{'s' if count > 1 else ''}"
