"""Embedding tables whose rows are shared among devices: each is told which blocks of the rows it has."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.dialects.builtin import i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.transforms.named_pattern import NamedPattern, replace_by_several
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.constant import ArangeOp
from npuc.dialects.train.embedding import EmbeddingOp
from npuc.compiler.layers.base import params_of


@dataclass(frozen=True, eq=False)
class PlaceRows(NamedPattern):
    """
    An embedding lists the blocks of rows of its table, so that a part of the table can be looked up by itself.

        %y = train.embedding %ids, %table : (tensor<5xi32>, tensor<8x3xf32>) -> tensor<5x3xf32>
        --> PlaceRows(2)
        %y_1 = train.arange : () -> tensor<2xi32>
        %y = train.embedding %ids, %table, %y_1 of 8
          : (tensor<5xi32>, tensor<8x3xf32>, tensor<2xi32>) -> tensor<5x3xf32>

    Values and gradients stay as they are to the bit. The embeddings of a block share the list. Checks that there is
    none yet, and that as many blocks divide the rows.
    """

    name: ClassVar[str] = "place-rows"

    blocks: int
    """The number of blocks of rows, a multiple of the number of devices."""
    _known: dict[Block | None, SSAValue] = field(
        default_factory=dict[Block | None, SSAValue], init=False, repr=False
    )

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EmbeddingOp, rewriter: PatternRewriter, /) -> None:
        rows = shape_of(op.table)[0]
        if op.blocks is not None or rows % self.blocks:
            return
        listed = derive(op, ArangeOp(results=[tensor_of(i32, [self.blocks])]))
        steps = [] if op.parent in self._known else [listed]
        blocks = self._known.setdefault(op.parent, listed.out)
        new = derive(op, EmbeddingOp(op.ids, op.table, blocks, **params_of(op) | {"of": rows}))
        replace_by_several(rewriter, op, [*steps, new], [new.out])
