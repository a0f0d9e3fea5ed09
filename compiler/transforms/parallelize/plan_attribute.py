"""The plan of a program as an attribute of its function, `dist.plan`."""

from fractions import Fraction

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, StringAttr, UnitAttr, f64
from xdsl.ir import Attribute

from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph, placement_of
from npuc.compiler.analysis.sharding.search.planning import Planned, unique_names


def plan_attr(graph: PlanGraph, planned: Planned, moved: Fraction) -> DictionaryAttr:
    """
    What was chosen, for whoever reads the program: the types of each layer with weights from the top level down.

    `elements` is what one pair moves at each level by the convention, `bytes` what all move (`moved`), one direction,
    `tables` how those layers that look up a table cut it in type II where that is not by columns, `bound` what no plan
    goes below in elements. With another objective than movement, `cost` and `cost_bound` are seconds or bytes.
    `forward`: it is the plan of a forward pass.
    """
    both = zip(graph.groups, planned.sequences, strict=True)
    layers = [(group.name, type) for group, type in both if group.kind is not None]
    names = unique_names([name for name, _ in layers])
    entries: dict[str, Attribute] = {
        "strategy": StringAttr(planned.strategy),
        "convention": StringAttr(planned.convention),
        "layers": DictionaryAttr(
            {name: StringAttr(" ".join(type)) for name, (_, type) in zip(names, layers, strict=True)}
        ),
        "elements": StringAttr(" ".join(map(str, planned.levels))),
        "bytes": StringAttr(str(moved)),
    }
    if not graph.program.trains:
        entries["forward"] = UnitAttr()
    kinds = [placement_of(graph, number) for number, group in enumerate(graph.groups) if group.kind is not None]
    shared = {name: StringAttr(placed) for name, placed in zip(names, kinds, strict=True) if placed}
    if shared:
        entries["tables"] = DictionaryAttr(shared)
    if planned.bound is not None:
        entries["bound"] = StringAttr(str(planned.bound))
    if planned.cost is not None and planned.cost_bound is not None:
        entries["objective"] = StringAttr(planned.objective)
        entries["cost"] = FloatAttr(planned.cost, f64)
        entries["cost_bound"] = FloatAttr(planned.cost_bound, f64)
    return DictionaryAttr(entries)
