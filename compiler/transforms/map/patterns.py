"""The pattern of this pass."""

from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.analysis.machine.facts import TARGET, processing_elements_of
from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.named.clusters import named_clusters
from npuc.compiler.analysis.mapping.named.directives import named_mapping
from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.schedule.pins import named, usage_error
from npuc.dialects.mapping import MappingAttr, shared_mapping
from npuc.dialects.npu import ContractOp

FORMS = ("clusters", "directives")


@dataclass(frozen=True, eq=False)
class MapByName(NamedPattern):
    """
    A contraction without a mapping is mapped to processing elements by a named dataflow.

        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        --> MapByName("kcp_ws", num_pes=16)
        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            {mapping = #mapping.clusters<1 [n : 1, k : 8, m : 1], 16 [k : 8 / 1, m : 1]>}
            : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>

    Checks that the processing elements are known, and, of directives, that the contraction is a layer in their terms,
    else raises `UsageError`.
    """

    name: ClassVar[str] = "map-by-name"

    mapping: str
    """The name of a dataflow; `npuc list mappings` lists them."""
    form: str = "clusters"
    """How it is written: clusters, or directives as in MAESTRO's files."""
    num_pes: int | None = None
    """The number of processing elements; those of the target where it is not given."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        if op.mapping_attr is None:
            op.mapping_attr = self.mapping_of(op)
            rewriter.notify_op_modified(op)

    def mapping_of(self, op: ContractOp) -> MappingAttr:
        """The mapping of a contraction, the same for all of its nest in a module."""
        nest, template, module = op.nest, template_named(self.mapping), op.get_toplevel_object()
        elements = self.num_pes or (processing_elements_of(module) if isinstance(module, ModuleOp) else None)
        if elements is None:
            message = f"the module does not say its processing elements: its {TARGET} has no num_pes"
            raise usage_error(op, message, "map{num-pes=256}")
        if self.form == "clusters":
            return shared_mapping(named_clusters(template, nest, nest.statements[0], elements))
        mapping = named_mapping(template, nest, elements)
        if mapping is None:
            message = f"{named(op)} is no layer in the terms of directives"
            raise usage_error(op, message, "map{form=clusters}, or leave out the pass that joined products")
        return shared_mapping(replace(mapping, unchecked=bool(coverage(mapping, elements))))


PATTERNS: tuple[type[NamedPattern], ...] = (MapByName,)
