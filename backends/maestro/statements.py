"""The cost of a statement of a contraction under its mapping, or the error where it has none."""

from __future__ import annotations

from typing import TypeVar

from npuc.backends.maestro.cost import StatementCost, cost_of_clusters, cost_of_directives
from npuc.backends.maestro.machine import NAME, MappedMachine
from npuc.compiler.analysis.mapping.convert import to_clusters, to_maestro
from npuc.compiler.analysis.mapping.levels import Unmappable, resolve
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.compiler.core.verify import location_of
from npuc.dialects.mapping import Clusters, Mapping, MappingAttr
from npuc.dialects.npu import (
    ContractOp,
)
from npuc.dialects.provenance import layer_of

FormT = TypeVar("FormT", Mapping, Clusters)


def statement_cost(op: ContractOp, number: int, machine: MappedMachine) -> StatementCost:
    """
    The cost of a statement of a contraction, by its number, on a machine that is told in its elements.

    Raises `SourceError` without a mapping and for one that cannot be analysed, `CapacityError` for a machine that is
    too small.
    """
    attr = op.mapping_attr
    location, layer = location_of(op), layer_of(op) or "a contraction"
    if attr is None:
        hint = "the pass map writes one: map{mapping=kcp_ws}"
        raise SourceError(f"{layer} has no mapping, which the backend '{NAME}' needs", location=location, hint=hint)
    try:
        return _cost(op, number, attr, machine)
    except Unmappable as e:
        if e.fits:
            hint = None
            if machine.mode == "exact" and isinstance(attr.data, Mapping):
                hint = "maestro.mode=parity scores directives as MAESTRO takes them"
            raise SourceError(f"{layer} cannot be mapped: {e}", location=location, hint=hint) from None
        hint = "smaller clusters, or a larger maestro.num_pes"
        raise CapacityError(f"{layer} does not fit: {e}", location=location, hint=hint) from None


def _cost(op: ContractOp, number: int, attr: MappingAttr, machine: MappedMachine) -> StatementCost:
    """The cost in the mode of the machine, of the mapping in the form of that mode."""
    nest, mapping = op.nest, attr.data
    if machine.mode == "parity":
        if isinstance(mapping, Clusters):
            mapping = _said(to_maestro(mapping, nest), "directives")
        return cost_of_directives(mapping, machine)
    if isinstance(mapping, Mapping):
        resolve(mapping, machine.array.num_pes)  # whether the machine is large enough, first of all
        mapping = _said(to_clusters(mapping, nest, machine.array.num_pes), "cluster form")
    return cost_of_clusters(nest, nest.statements[number], mapping, machine)


def _said(mapping: FormT | str, form: str) -> FormT:
    """A mapping that was brought in another form. Raises `Unmappable` for the sentence why it has none."""
    if isinstance(mapping, str):
        raise Unmappable(f"its mapping has no {form}: {mapping}")
    return mapping
