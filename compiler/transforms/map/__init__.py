"""
Pass `map`: maps contractions to processing elements by a named dataflow.

    npu.contract (m = 64, n = 512, k = 784) …
      -> map{mapping=kcp_ws num-pes=256} ->
    npu.contract (m = 64, n = 512, k = 784) … {mapping = #mapping.clusters<4 [n : 4 / 1, k : 64, m : 1], 64 [k : …]>}

A contraction that has a mapping keeps it. By directives a dataflow may compute points twice or never, as it does in
MAESTRO's files; it is then marked as unchecked. The dataflow is instantiated on the dimensions of each nest, those of
gradients too; where several statements run over one nest, for the first of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.compiler.transforms.map.patterns import FORMS, MapByName
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.schedule.pins import contracts_of
from npuc.compiler.transforms.shared_units import refuse_units
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions
from npuc.dialects.mapping import MappingAttr
from npuc.dialects.npu import ContractOp


@dataclass(frozen=True)
class MapPass(ModulePass):
    """Write mappings: `mapping` is a name, `form` clusters or directives, `num_pes` by default the target's."""

    name = "map"
    EXAMPLE: ClassVar = "lower-to-npu,map{mapping=kcp_ws num-pes=64}"

    mapping: str
    """The name of a dataflow; `npuc list mappings` lists them."""
    form: str = "clusters"
    """How it is written: clusters, or directives as in MAESTRO's files."""
    num_pes: int | None = None
    """The processing elements; those of the target where it is not given."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""

    def __post_init__(self) -> None:
        template_named(self.mapping)
        if self.form not in FORMS:
            raise ValueError(f"form is '{self.form}', expected {' or '.join(FORMS)}")
        if self.num_pes is not None and self.num_pes < 1:
            raise ValueError(f"num-pes is {self.num_pes}, expected at least 1")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_units(op, self.name)
        wanting = [contract for contract in contracts_of(op, self.only) if contract.mapping_attr is None]
        if not wanting and remark_no_contractions(self, op, self.only):
            remark_idle(self, "all contractions have mappings")
        for contract in wanting:
            apply_pattern(self._pattern, contract)

    @property
    def _pattern(self) -> MapByName:
        return MapByName(self.mapping, form=self.form, num_pes=self.num_pes)

    def mappings_of(self, contracts: Sequence[ContractOp]) -> list[MappingAttr]:
        """The mappings that contractions get, whatever they have; those of equal nests are equal."""
        return [self._pattern.mapping_of(op) for op in contracts]
