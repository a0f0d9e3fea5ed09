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

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.parallel.flows import Flows, flows_of
from npuc.compiler.analysis.parallel.nodes import Network, network_of
from npuc.compiler.analysis.parallel.planning import PLAN, Planned, plan_network, unique_names
from npuc.compiler.analysis.parallel.program import forward_program
from npuc.compiler.options import CONVENTIONS, STRATEGIES, Convention, Strategy
from npuc.compiler.transforms._split_norms import split_batch_norms
from npuc.compiler.transforms._spread import spread
from npuc.compiler.transforms._undo import undo_autodiff
from npuc.compiler.transforms.autodiff import differentiate
from npuc.dialects.dist.mesh import Mesh, mesh_of
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import is_differentiated, training_functions


@dataclass(frozen=True)
class ParallelizePass(ModulePass):
    """
    Share the work of a network among `devices`, a power of two.

    `strategy` is dp, mp, owt, hypar, joint, accpar or accpar-joint; `convention` (table2, published, physical) is what
    it minimises.
    """

    name = "parallelize"

    strategy: str = "hypar"
    devices: int = 2
    convention: str = "table2"

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is '{self.strategy}', expected {', '.join(STRATEGIES)}")
        if self.convention not in CONVENTIONS:
            raise ValueError(f"convention is '{self.convention}', expected {', '.join(CONVENTIONS)}")
        if self.devices < 2 or self.devices & (self.devices - 1):
            raise ValueError(f"devices is {self.devices}, expected a power of two, at least 2")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in training_functions(op):
            self._check(func)
            whole = is_differentiated(func)
            if whole:
                undo_autodiff(func, self.name)
            parallelize(func, self._strategy, self._convention, self.devices.bit_length() - 1)
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

    @property
    def _strategy(self) -> Strategy:
        return next(known for known in STRATEGIES if known == self.strategy)

    @property
    def _convention(self) -> Convention:
        return next(known for known in CONVENTIONS if known == self.convention)


def parallelize(func: FuncOp, strategy: Strategy, convention: Convention, levels: int) -> Planned:
    """Rewrite a forward function for the devices of so many levels; what was chosen."""
    network, flows = network_for(func)
    planned = plan_network(network, flows, strategy, convention, levels)
    spread(func, network, flows, planned.patterns, Mesh((2,) * levels))
    func.attributes[PLAN] = plan_attr(network, planned)
    return planned


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


def network_for(func: FuncOp) -> tuple[Network, Flows]:
    """The choices that a forward function leaves. Statistics of a batch are computed in two steps from now on."""
    split_batch_norms(func)
    network = network_of(forward_program(func))
    return network, flows_of(network, cut_parameters=_updates_by_element(func))


def _updates_by_element(func: FuncOp) -> bool:
    """Whether the optimizer updates each element of a parameter for itself: not where it takes norms of them."""
    spec = func.attributes.get("train.optimizer")
    return not isinstance(spec, DictionaryAttr) or spec.data.get("kind") != StringAttr("lamb")
