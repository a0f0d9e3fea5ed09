"""
The pass `parallelize`: from the forward function of a network to the program of one of many devices.

    func.func @net(%x: tensor<8x8>, …)                      func.func @net(%x: tensor<4x8> {dist.sharding = …}, …)
      %0 = train.matmul %x, %w0 {layer = "fc1"}    ->         %1 = train.matmul %x, %0 {layer = "fc1"}
      %1 = train.matmul %0, %w1 {layer = "fc2"}               %2 = dist.all_to_all %1 split 1 concat 0 over [0]
                                                              %3 = train.matmul %2, %w1 {layer = "fc2"}
                                                              %4 = dist.all_reduce %3 over [0]

A strategy chooses for each layer and each level of a tree of devices what the two halves split: the batch (dp, way I),
the layer's input channels (mp, way II) or its output channels (way III). Everything else follows: which parts of each
tensor a device has, and what moves where. `autodiff` derives the movement of the backward pass (again, if it has run).
What the pass chose stands on the function, as `dist.plan`.
"""

from dataclasses import dataclass
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.machine import machine_of
from npuc.compiler.analysis.parallel.flows import Flows, flows_of
from npuc.compiler.analysis.parallel.nodes import Network, network_of
from npuc.compiler.analysis.parallel.planning import PLAN, Planned, unique_names
from npuc.compiler.analysis.parallel.program import forward_program
from npuc.compiler.analysis.parallel.strategies import is_joint
from npuc.compiler.options import CONVENTIONS, STRATEGIES, Convention, Strategy
from npuc.compiler.transforms._divides import even_ways
from npuc.compiler.transforms._room import Request, fitting, room_of
from npuc.compiler.transforms._split_norms import split_batch_norms
from npuc.compiler.transforms._spread import spread
from npuc.compiler.transforms._undo import undo_autodiff
from npuc.compiler.transforms.autodiff import differentiate
from npuc.dialects.dist.mesh import Mesh, mesh_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import is_differentiated, training_functions

ELEMENT_BYTES = 4
"""Bytes of an element where no machine says."""
MIB = 1 << 20


@dataclass(frozen=True)
class ParallelizePass(ModulePass):
    """
    Share the work of a network among `devices`, a power of two.

    `strategy` is dp, mp, owt, hypar, joint, accpar or accpar-joint; `convention` (table2, published, physical) is what
    it minimises. With `zero` parameters that all devices read, their gradients and optimizer states are kept in parts
    (ZeRO). With `memory_mib` a joint strategy keeps parameters, gradients, states and activations of a device within
    that. The joint strategies take only ways whose cuts go even among the devices.
    """

    name = "parallelize"

    strategy: str = "hypar"
    devices: int = 2
    convention: str = "table2"
    zero: bool = False
    memory_mib: int | float | None = None

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is '{self.strategy}', expected {', '.join(STRATEGIES)}")
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention is '{self.convention}', expected {', '.join(CONVENTIONS)}")
        if self.devices < 2 or self.devices & (self.devices - 1):
            raise ValueError(f"devices is {self.devices}, expected a power of two, at least 2")
        if self.memory_mib is not None and not 0 < self.memory_mib < inf:
            raise ValueError(f"memory_mib is {self.memory_mib}, expected more than 0")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        width = (machine.element_bytes if machine is not None else None) or ELEMENT_BYTES
        for func in training_functions(op):
            self._check(func)
            whole = is_differentiated(func)
            if whole:
                undo_autodiff(func, self.name)
            self._parallelize(func, width)
            if whole:
                differentiate(func)

    def _check(self, func: FuncOp) -> None:
        """Refuse what is lowered already, and what is a program of many devices."""
        lowered = next((op.name for op in func.body.block.ops if not isinstance(op, TrainOp | ReturnOp)), None)
        if lowered is not None:
            raise PassFailedException(
                f"{self.name}: found {lowered}, expected train operations: run it before lower-to-npu"
            )
        mesh = mesh_of(func)
        if mesh is not None:
            raise PassFailedException(
                f"{self.name}: found a program of {mesh.devices:,} devices, expected one of one: run it once"
            )

    def _parallelize(self, func: FuncOp, width: int) -> None:
        network, flows = network_for(func, self.devices if self.zero else None)
        levels = self.devices.bit_length() - 1
        if is_joint(self._strategy):
            network = even_ways(func, network, self.devices)
        plan = Request(network, flows, self._strategy, self._convention, levels)
        room = None if self.memory_mib is None else room_of(func, int(self.memory_mib * MIB), width)
        planned = plan.solve() if room is None else fitting(func, plan, room)
        spread(func, network, flows, planned.patterns, Mesh((2,) * levels))
        func.attributes[PLAN] = plan_attr(network, planned)

    @property
    def _strategy(self) -> Strategy:
        return next(known for known in STRATEGIES if known == self.strategy)

    @property
    def _convention(self) -> Convention:
        return next(known for known in CONVENTIONS if known == self.convention)


def plan_attr(network: Network, planned: Planned) -> DictionaryAttr:
    """
    What was chosen, for whoever reads the program: the ways of each layer with weights from the top level down.

    `elements` is what one pair moves at each level by the convention, `bound` what no plan goes below.
    """
    both = zip(network.nodes, planned.patterns, strict=True)
    layers = [(node.name, way) for node, way in both if node.kind is not None]
    names = unique_names([name for name, _ in layers])
    entries: dict[str, Attribute] = {
        "strategy": StringAttr(planned.strategy),
        "convention": StringAttr(planned.convention),
        "layers": DictionaryAttr(
            {name: StringAttr(" ".join(way)) for name, (_, way) in zip(names, layers, strict=True)}
        ),
        "elements": StringAttr(" ".join(map(str, planned.levels))),
    }
    if planned.bound is not None:
        entries["bound"] = StringAttr(str(planned.bound))
    return DictionaryAttr(entries)


def network_for(func: FuncOp, scatter_over: int | None = None) -> tuple[Network, Flows]:
    """
    The choices that a forward function leaves. Statistics of a batch are computed in two steps from now on.

    Parameters are kept in parts of `scatter_over` devices, if that is given (`flows_of`).
    """
    split_batch_norms(func)
    network = network_of(forward_program(func))
    by_element = _updates_by_element(func)
    return network, flows_of(network, cut_parameters=by_element, scatter_over=scatter_over if by_element else None)


def _updates_by_element(func: FuncOp) -> bool:
    """Whether the optimizer updates each element of a parameter for itself: not where it takes norms of them."""
    spec = func.attributes.get("train.optimizer")
    return not isinstance(spec, DictionaryAttr) or spec.data.get("kind") != StringAttr("lamb")
