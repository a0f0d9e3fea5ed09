"""Embedding: rows of a table by index."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.index import check_indices, check_lookup

_NONE = encode(-1)
_WHOLE = encode(0)


def _check(ids: Tensor, table: Tensor, blocks: Tensor | None, padding_idx: int, of: int, groups: int) -> None:
    check_indices(ids)
    if len(table.get_shape()) != 2:
        raise VerifyException(f"the table must be [entries, width], got {shape_text(table)}")
    rows = table.get_shape()[0]
    if groups:
        _check_groups(ids, rows, blocks, padding_idx, of, groups)
        return
    if of < 0 or (blocks is None) != (of == 0):
        raise VerifyException(f"of is {of}, expected the rows of the whole table with blocks, 0 without")
    if blocks is not None:
        if len(blocks.get_shape()) != 1 or blocks.element_type != i32:
            raise VerifyException(f"blocks are {blocks}, expected a vector of i32")
        count = blocks.get_shape()[0]
        if rows % count:
            raise VerifyException(f"found {rows} rows in {count} blocks, expected equal blocks")
    entries = rows if blocks is None else of
    if not -1 <= padding_idx < entries:
        raise VerifyException(f"padding_idx is {padding_idx}, expected 0 to {entries - 1}, or -1 for none")


def _check_groups(ids: Tensor, rows: int, blocks: Tensor | None, padding_idx: int, of: int, groups: int) -> None:
    """The rule of several tables in one, whose indices stand along the first axis of ids."""
    if of or padding_idx != -1 or blocks is None:
        raise VerifyException("groups go with blocks, and with neither of nor padding_idx")
    tables = ids.get_shape()[0] if ids.get_shape() else 0
    if blocks.get_shape() != (tables, 2) or blocks.element_type != i32:
        raise VerifyException(f"blocks are {blocks}, expected the first row and the rows of {tables} tables in i32")
    if groups < 0 or tables % groups or rows % groups:
        raise VerifyException(f"groups is {groups}, expected a number that divides {tables} tables and {rows} rows")


@irdl_op_definition
class EmbeddingOp(TrainOp):
    """
    The row of table [entries, width] for each index.

    The row of index `padding_idx` gets no gradient; -1 is no such index.

    `train.embedding %ids, %table, %blocks of 22`: the table has some rows of one of 22. These are cut into equal
    blocks, the last one filled up with rows that no index names, of which `blocks` lists those that the table has,
    ascending. An index of a row that it has not gives zeros.

    `train.embedding %ids, %table, %blocks groups 4`: the table holds several, of which ids [tables, …] have the
    indices. Tables and rows are cut into equal groups; `blocks` [tables, 2] has the first row of each in its group, and
    its rows.

        %y = train.embedding %ids, %table : (tensor<5xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    """

    name = "train.embedding"

    ids = operand_def(TensorType)
    table = operand_def(TensorType)
    blocks = opt_operand_def(TensorType)
    padding_idx = prop_def(IntegerAttr, default_value=_NONE)
    of = prop_def(IntegerAttr, default_value=_WHOLE)
    groups = prop_def(IntegerAttr, default_value=_WHOLE)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        ids: Tensor, table: Tensor, blocks: Tensor | None = None, padding_idx: int = -1, of: int = 0, groups: int = 0
    ) -> Types:
        """The shape of the indices with the width appended."""
        _check(ids, table, blocks, padding_idx, of, groups)
        return (tensor_of(table.element_type, (*ids.get_shape(), table.get_shape()[1])),)


@irdl_op_definition
class EmbeddingDwOp(TrainOp):
    """
    The gradient of the table: each row of dy added to the row of its index, but for the index `padding_idx`.

    With blocks `of` a whole table the gradient of those rows alone that the table has, with `groups` that of all
    tables.

        %dtable = train.embedding_dw %dy, %ids : (tensor<5x3xf32>, tensor<5xi32>) -> tensor<2x3xf32>
    """

    name = "train.embedding_dw"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    ids = operand_def(TensorType)
    blocks = opt_operand_def(TensorType)
    padding_idx = prop_def(IntegerAttr, default_value=_NONE)
    of = prop_def(IntegerAttr, default_value=_WHOLE)
    groups = prop_def(IntegerAttr, default_value=_WHOLE)
    dtable = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        dy: Tensor,
        ids: Tensor,
        blocks: Tensor | None = None,
        *,
        results: Types,
        padding_idx: int = -1,
        of: int = 0,
        groups: int = 0,
    ) -> Types:
        """Looking the indices up in the result gives dy's type."""
        (table,) = results
        _check(ids, table, blocks, padding_idx, of, groups)
        expected = (*ids.get_shape(), table.get_shape()[1])
        check_lookup(dy, expected)
        return (tensor_of(dy.element_type, table.get_shape()),)
