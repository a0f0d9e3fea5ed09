"""Embedding tables whose rows are shared among devices: each is told which blocks of the rows it has."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter

from npuc.compiler.core.stages import remark
from npuc.compiler.core.verify import refused
from npuc.compiler.layers.base import params_of
from npuc.compiler.transforms.named_pattern import NamedPattern, apply_pattern, replace_by_several
from npuc.dialects.provenance import derive, layer_of
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.base import encode
from npuc.dialects.train.constant import ArangeOp
from npuc.dialects.train.embedding import EmbeddingOp
from npuc.dialects.train.signature import ArgumentKind, argument_entries, arguments_of
from npuc.dialects.train.tables import TABLES, Piece, tables_attr


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
    none yet, and that so many blocks divide the rows.
    """

    name: ClassVar[str] = "place-rows"

    blocks: int
    """The number of blocks of rows, a multiple of the number of devices."""
    _known: dict[Block | None, SSAValue] = field(default_factory=dict[Block | None, SSAValue], init=False, repr=False)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: EmbeddingOp, rewriter: PatternRewriter, /) -> None:
        rows = shape_of(op.table)[0]
        if op.blocks is not None or rows % self.blocks:
            return
        listed = derive(op, ArangeOp(results=[tensor_of(i32, [self.blocks])]))
        steps = [] if op.parent in self._known else [listed]
        blocks = self._known.setdefault(op.parent, listed.out)
        new = derive(op, EmbeddingOp(op.ids, op.table, blocks, results=None, **params_of(op) | {"of": rows}))
        replace_by_several(rewriter, op, [*steps, new], [new.out])


@dataclass(frozen=True)
class Table:
    """A parameter that embeddings look up, itself or cast: these, and what else reads it."""

    name: str
    argument: BlockArgument
    lookups: tuple[EmbeddingOp, ...]
    others: tuple[Operation, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return shape_of(self.argument)[0]


def tables_of(func: FuncOp) -> list[Table]:
    """The embedding tables of a forward function."""
    found: list[Table] = []
    for own in arguments_of(func):
        argument = func.body.block.args[own.index]
        if own.kind is ArgumentKind.PARAM:
            lookups, others = list[EmbeddingOp](), list[Operation]()
            for value, user in _readers(argument):
                if isinstance(user, EmbeddingOp) and user.table is value:
                    lookups.append(user)
                else:
                    others.append(user)
            if lookups:
                found.append(Table(own.name, argument, tuple(lookups), tuple(others)))
    return found


def _readers(value: SSAValue) -> Iterator[tuple[SSAValue, Operation]]:
    """The operations that read a value itself or cast, each with what it reads."""
    for use in value.uses:
        if isinstance(use.operation, CastOp):
            yield from _readers(use.operation.out)
        else:
            yield value, use.operation


def place_rows(func: FuncOp, tables: Sequence[Table], devices: int) -> None:
    """
    Tell the embeddings of some tables which rows they look up, so that devices can share them.

    Tables whose rows do not divide are filled up with rows that no index names.
    """
    rows = {table.name: table.rows for table in tables if table.rows % devices}
    tables = fill_up(func, tables, devices)
    chosen: Collection[EmbeddingOp] = [op for table in tables for op in table.lookups]
    pattern = PlaceRows(devices)
    for op in list(func.body.block.ops):
        if op in chosen:
            apply_pattern(pattern, op)
    for table in tables_of(func):
        if table.name in rows:
            for op in table.lookups:
                op.properties["of"] = encode(rows[table.name])


def fill_up(func: FuncOp, tables: Sequence[Table], devices: int) -> list[Table]:
    """The tables with as many rows for each device; those that get more know by `train.tables` how many they had."""
    pieces = {table.name: table.rows for table in tables if table.rows % devices}
    attrs = [dict(entries) for entries in argument_entries(func)]
    for own in arguments_of(func):
        if own.name in pieces:
            argument, rows = func.body.block.args[own.index], pieces[own.name]
            _widen(argument, -(-rows // devices) * devices)
            attrs[own.index][TABLES] = tables_attr([Piece(own.name, 0, rows, own.bound)])
    if pieces:
        func.arg_attrs = ArrayAttr([DictionaryAttr(entries) for entries in attrs])
        func.update_function_type()
    names = {table.name for table in tables}
    return [table for table in tables_of(func) if table.name in names]


def _widen(value: SSAValue, rows: int) -> None:
    """Give a table more rows, itself and where it is cast."""
    type = tensor_type(value)
    value = Rewriter.replace_value_with_new_type(value, tensor_of(type.element_type, (rows, *type.get_shape()[1:])))
    for use in list(value.uses):
        if isinstance(use.operation, CastOp):
            _widen(use.operation.out, rows)


def shareable(func: FuncOp, devices: int) -> list[Table]:
    """The tables whose rows devices may share: those that only embeddings read, with as many rows for each device."""
    return [table for table in tables_of(func) if not table.others and table.rows % devices == 0]


def tables_asked(func: FuncOp, how: str, name: str) -> list[Table]:
    """
    The tables that are to be shared by `rows` or `whole`: all that only embeddings read.

    Tells which others there are. Raises `SourceError` where there is none. `name` is that of the pass.
    """
    found = tables_of(func)
    for table in found:
        if table.others:
            reader = layer_of(table.others[0])
            why = f"layer '{reader}' reads it, too, which is no embedding"
            remark(f"pass '{name}': table '{table.name}' is not placed by tables={how}: {why}")
    own = [table for table in found if not table.others]
    if not own:
        raise refused(func, "found no table that embeddings alone read, so that there is none to place", name)
    return own


def drop_whole_lists(func: FuncOp) -> None:
    """Take the lists of blocks from the embeddings that have all rows of their tables."""
    for op in list(func.body.block.ops):
        if isinstance(op, EmbeddingOp) and op.blocks is not None and op.of.value.data == shape_of(op.table)[0]:
            blocks, params = op.blocks, params_of(op)
            del params["of"]
            new = derive(op, EmbeddingOp(op.ids, op.table, results=None, **params))
            new.out.name_hint = op.out.name_hint
            func.body.block.insert_op_before(new, op)
            op.out.replace_all_uses_with(new.out)
            op.detach()
            op.erase()
            if not blocks.uses.get_length() and isinstance(blocks.owner, ArangeOp):
                blocks.owner.detach()
                blocks.owner.erase()
