"""The constraints of a machine on the mappings that a program has: which of them these break."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import Operation

from npuc.dialects.mapping import Clusters, Mapping
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest
from npuc.dialects.provenance import layer_of, role_of
from npuc.hardware import Hardware, machine_constraints

if TYPE_CHECKING:
    from npuc.compiler.analysis.mapping.constraints.broken import Constrained

Compared: TypeAlias = "tuple[Constrained, Clusters | str]"
"""What constraints are about, and a mapping of it; a sentence where it is no cut of loops."""


def on_nest(mapping: Mapping | Clusters, nest: Nest, elements: int) -> Compared:
    """A mapping of a nest on so many processing elements, for constraints of the dimensions of the nest."""
    from npuc.compiler.analysis.mapping.constraints.broken import Constrained
    from npuc.compiler.analysis.mapping.convert import to_clusters

    found = to_clusters(mapping, nest, elements) if isinstance(mapping, Mapping) else mapping
    return Constrained.of_nest(nest), found


def rule_warnings(
    ops: Iterable[Operation],
    hardware: Hardware,
    elements: int,
    compared: Callable[[Mapping | Clusters, Nest, int], Compared] = on_nest,
) -> list[str]:
    """What mappings on so many elements break of the machine's own constraints: a sentence for each rule."""
    mapped = [(op, op.mapping_attr) for op in ops if isinstance(op, ContractOp) and op.mapping_attr is not None]
    rules = machine_constraints(hardware) if mapped else None
    if not rules:
        return []
    from npuc.compiler.analysis.mapping.constraints.broken import broken

    layers: dict[str, list[str]] = {}
    distinct = dict.fromkeys((op.nest, mapping, layer_of(op), role_of(op).value) for op, mapping in mapped)
    for nest, mapping, layer, phase in distinct:
        own, found = compared(mapping.data, nest, elements)
        if isinstance(found, str):
            told = [f"its mapping is no cut of loops, which the machine's constraints are about: {found}"]
        else:
            wrong = broken(rules, own, found, elements, layer, phase)
            told = [f"its mapping breaks {one} of the machine's constraints" for one in wrong]
        for one in told:
            layers.setdefault(one, []).append(f"{layer} ({phase})".strip())
    return [one_of(remark, some) for remark, some in layers.items()]


def one_of(remark: str, layers: Sequence[str]) -> str:
    """A remark about layers as one sentence, with the first of them and how many more there are."""
    distinct = list(dict.fromkeys(layers))
    more = f" and {len(distinct) - 1:,} more" if len(distinct) > 1 else ""
    return f"{distinct[0]}{more}: {remark}"
