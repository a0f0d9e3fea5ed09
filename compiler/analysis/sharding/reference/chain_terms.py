"""
The cost terms of a chain of layers that is known by its sizes alone.

Under `physical` the chain stands for lowered fc layers without biases: weights are stored as they are read, each layer
reads the output of the one before it, and type II computes partial sums of the output. The network's input is given in
any layout, and its gradient is not needed. The communication of a loss is not part of a chain.
"""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, EdgeRate, Rate, ReductionRate
from npuc.compiler.analysis.sharding.cost.paper_terms import InterLayerRate, layer_terms
from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, Layer
from npuc.compiler.analysis.sharding.graph.layer_groups import LayerGroup
from npuc.compiler.analysis.sharding.graph.placement import AxisByType
from npuc.compiler.core.options import Convention
from npuc.compiler.layers.base import Combine

BATCH, CHANNELS = 0, 1
# for each of WAYS (I, II, III, whole): the axis that it cuts
WEIGHTS: AxisByType = (None, 0, 1, None)
TAKEN: AxisByType = (BATCH, CHANNELS, None, None)
HANDED_ON: AxisByType = (BATCH, None, CHANNELS, None)


def _among(type: int) -> tuple[bool, ...]:
    return tuple(number == type for number in range(len(WEIGHTS)))


OWN = EdgeRate(WEIGHTS, WEIGHTS, _among(0), active=True, has_maker=True, has_reader=True)
"""A layer reads its weights: in type I all of them, for a part of the batch."""
NEXT = EdgeRate(HANDED_ON, TAKEN, _among(2), active=True, has_maker=True, has_reader=True)
"""A layer reads what the one before it hands on: in type III all of it, for a part of the output."""
OUTPUT = ReductionRate(HANDED_ON, (None, Combine.SUM, None, None))
"""The output of type II is a sum over the parts of the input's channels."""


def chain_groups(chain: Sequence[Layer]) -> list[LayerGroup]:
    """A layer group for each layer, which may have any type."""
    return [LayerGroup(layer.name, layer.kind, (), BASIC_TYPES) for layer in chain]


def chain_terms(chain: Sequence[Layer], convention: Convention) -> list[CostTerm]:
    """What a convention charges; the value of a term is the number of the layer that it is the input of, or -1."""
    boundary: Rate = NEXT if convention == "physical" else InterLayerRate(convention, (True, True))
    found: list[CostTerm] = []
    for number, layer in enumerate(chain):
        if convention == "physical":
            found.append(CostTerm(-1, layer.weight, (number,), OWN, "read"))
            found.append(CostTerm(-1, layer.output, (number,), OUTPUT, "sum"))
        else:
            found += layer_terms(number, layer)
        if number:
            found.append(CostTerm(number, layer.input, (number - 1, number), boundary, "boundary"))
    return found
