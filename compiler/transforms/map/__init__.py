"""
Pass `map`: maps contractions to processing elements by a named dataflow.

    npu.contract (m = 64, n = 512, k = 784) …
      -> map{mapping=kcp_ws num-pes=256} ->
    npu.contract (m = 64, n = 512, k = 784) … {mapping = #mapping.clusters<4 [n : 4 / 1, k : 64, m : 1], 64 [k : …]>}

A contraction that has a mapping keeps it. By directives a dataflow may compute points twice or never, as it does in
MAESTRO's files; it is then marked as unchecked. The dataflow is instantiated on the dimensions of each nest, those of
gradients too; where several statements run over one nest, for the first of them.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import TARGET, processing_elements_of
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.named.clusters import named_clusters
from npuc.compiler.analysis.mapping.named.directives import named_mapping
from npuc.compiler.analysis.mapping.named.templates import Template, template_named
from npuc.compiler.transforms.schedule.pins import contracts_of, named, usage_error
from npuc.compiler.transforms.unused import has_contractions, remark_idle
from npuc.dialects.mapping import MappingAttr, shared_mapping
from npuc.dialects.npu import ContractOp

FORMS = ("clusters", "directives")


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
        template = template_named(self.mapping)
        elements = self.num_pes or processing_elements_of(op)
        wanting = [contract for contract in contracts_of(op, self.only) if contract.mapping_attr is None]
        if not wanting and has_contractions(self, op, self.only):
            remark_idle(self, "all contractions have mappings")
        for contract in wanting:
            if elements is None:
                message = f"the module does not say its processing elements: its {TARGET} has no num_pes"
                raise usage_error(contract, message, "map{num-pes=256}")
            contract.mapping_attr = self._mapping(contract, template, elements)

    def _mapping(self, contract: ContractOp, template: Template, elements: int) -> MappingAttr:
        nest = contract.nest
        if self.form == "clusters":
            return shared_mapping(named_clusters(template, nest, nest.statements[0], elements))
        mapping = named_mapping(template, nest, elements)
        if mapping is None:
            message = f"{named(contract)} is no layer in the terms of directives"
            raise usage_error(contract, message, "map{form=clusters}, or leave out the pass that joined products")
        return shared_mapping(replace(mapping, unchecked=bool(coverage(mapping, elements))))
