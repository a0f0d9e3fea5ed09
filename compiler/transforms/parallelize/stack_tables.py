"""
Whole embedding tables distributed over devices: one argument holds all of them, so that devices run one program.

    table k is the one of device k mod P, whose rows stand behind each other:

    device 0   | table 0 | table 2 |      |       %ids = stack(ids 0, ids 2, ids 1, ids 3)
    device 1   | table 1 | table 3        |       %y   = train.embedding %ids, %tables, %blocks groups 2

Every device has as many tables and rows as the one that has most. In place of a table that is missing the first one's
indices are looked up, and nobody reads what is found.
"""

from collections.abc import Sequence
from itertools import chain, count

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.verify import location_of, refused
from npuc.compiler.transforms.parallelize.place_rows import Table, place_rows, tables_asked
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, shape_text, tensor_of, tensor_type
from npuc.dialects.train.constant import IntegersOp
from npuc.dialects.train.embedding import EmbeddingOp
from npuc.dialects.train.join import StackOp, UnbindOp
from npuc.dialects.train.signature import argument_entries, arguments_of, result_entries
from npuc.dialects.train.tables import TABLES, Piece, tables_attr

NAME = "tables"
"""The name of the argument that holds all tables, and of the layer that looks them up."""


def place_tables(func: FuncOp, how: str, devices: int, name: str, *, by_element: bool) -> None:
    """
    Ready the tables of a function for devices that share them by `rows` or `whole`.

    Raises `SourceError` and `CapacityError` for those that cannot be shared so, and for all unless the optimizer
    updates parameters `by_element`; `name` is that of the pass.
    """
    if not by_element:
        raise refused(func, "the optimizer takes norms of whole parameters, so that no table is cut", name)
    tables = tables_asked(func, how, name)
    if how == "rows":
        place_rows(func, tables, devices)
    else:
        stack_tables(func, tables, devices, name)


def stack_tables(func: FuncOp, tables: Sequence[Table], devices: int, name: str) -> None:
    """
    Put some tables into one argument, and look them up together.

    Raises `CapacityError` where there are fewer tables than devices, `SourceError` where they cannot be looked up
    together; `name` is that of the pass.
    """
    _check(func, tables, devices, name)
    slots = -(-len(tables) // devices)
    owned = [[k for k in range(len(tables)) if k % devices == device] for device in range(devices)]
    first: dict[int, int] = {}
    for own in owned:
        end = 0
        for k in own:
            first[k], end = end, end + tables[k].rows
    rows = max(sum(tables[k].rows for k in own) for own in owned)
    order = [own[slot] if slot < len(own) else None for own in owned for slot in range(slots)]
    blocks = [value for k in order for value in ((0, rows) if k is None else (first[k], tables[k].rows))]
    argument = _argument(func, tables, [(k % devices) * rows + first[k] for k in range(len(tables))], devices * rows)
    _look_up(func, tables, order, blocks, argument, devices)
    _drop_others(func, tables)


def _check(func: FuncOp, tables: Sequence[Table], devices: int, name: str) -> None:
    if len(tables) < devices:
        raise CapacityError(
            f"found {len(tables):,} tables, expected at least {devices:,}, the devices, which have whole tables",
            location=location_of(func),
            hint="--tables rows shares each of them, or fewer --devices",
        )
    lookups = [op for table in tables for op in table.lookups]
    problem: str | None = None
    whole = [tensor_type(table.argument) for table in tables]
    types = dict.fromkeys(tensor_of(type.element_type, type.get_shape()[1:]) for type in whole)
    if len(types) > 1:
        found = ", ".join(f"{type.get_shape()[0]:,} of {type.element_type}" for type in types)
        problem = f"the tables have rows of different widths or types ({found})"
    elif any(len(table.lookups) > 1 for table in tables):
        problem = "a table is looked up several times"
    elif len({op.ids.type for op in lookups}) > 1:
        shapes = ", ".join(dict.fromkeys(shape_text(tensor_type(op.ids)) for op in lookups))
        problem = f"the indices of the tables have different shapes ({shapes})"
    elif any(op.padding_idx.value.data >= 0 for op in lookups):
        problem = "a table has a row without a gradient (padding_idx)"
    elif any(table.lookups[0].table is not table.argument for table in tables):
        problem = "a table is cast before it is looked up"
    elif len({own.frozen for own in arguments_of(func) if own.name in {table.name for table in tables}}) > 1:
        problem = "some tables are frozen, others not"
    elif _place(func, lookups) is None:
        problem = "one table's rows are read before the indices of another are known"
    if problem is not None:
        raise refused(func, f"{problem}, so that they are not looked up together: tables=rows takes them", name)


def _place(func: FuncOp, lookups: Sequence[EmbeddingOp]) -> Operation | None:
    """The operation before which all lookups may be done together; None where one needs another's result."""
    place: dict[Operation | Block, int] = {op: number for number, op in enumerate(func.body.block.ops)}
    users = [use.operation for op in lookups for use in op.out.uses]
    first = min((*users, *lookups[-1:]), key=place.__getitem__)
    return first if all(place.get(op.ids.owner, -1) < place[first] for op in lookups) else None


def _argument(func: FuncOp, tables: Sequence[Table], starts: Sequence[int], rows: int) -> SSAValue:
    """The argument that holds all tables, in place of the first; `starts` are the first rows of each."""
    bounds = {own.name: own.bound for own in arguments_of(func)}
    pieces = [Piece(own.name, at, own.rows, bounds[own.name]) for own, at in zip(tables, starts, strict=True)]
    attrs = [dict(entries) for entries in argument_entries(func)]
    index, taken = tables[0].argument.index, {own.name for own in arguments_of(func)}
    name = next(own for own in chain([NAME], (f"{NAME}_{n}" for n in count(2))) if own not in taken)
    attrs[index]["train.param"] = StringAttr(name)
    attrs[index][TABLES] = tables_attr(sorted(pieces, key=lambda piece: piece.at))
    func.arg_attrs = ArrayAttr([DictionaryAttr(entries) for entries in attrs])
    old = func.body.block.args[index]
    type = tensor_of(tensor_type(old).element_type, (rows, *shape_of(old)[1:]))
    new = Rewriter.replace_value_with_new_type(old, type)
    new.name_hint = NAME
    return new


def _look_up(
    func: FuncOp,
    tables: Sequence[Table],
    order: Sequence[int | None],
    blocks: Sequence[int],
    argument: SSAValue,
    devices: int,
) -> None:
    """One lookup of all tables in place of theirs."""
    lookups = [table.lookups[0] for table in tables]
    before = _place(func, lookups)
    assert before is not None
    stack = StackOp(*(lookups[k or 0].ids for k in order), axis=0)
    listed = IntegersOp(results=[tensor_of(i32, (len(order), 2))], values=tuple(blocks))
    found = EmbeddingOp(stack.out, argument, listed.out, groups=devices)
    apart = UnbindOp(found.out, axis=0)
    for new in (listed, stack, found, apart):
        derive(lookups[0], new).attributes["layer"] = StringAttr(NAME)
        func.body.block.insert_op_before(new, before)
    for value, k in zip(apart.parts, order, strict=True):
        if k is not None:
            value.name_hint = lookups[k].out.name_hint
            lookups[k].out.replace_all_uses_with(value)
    for op in lookups:
        op.detach()
        op.erase()


def _drop_others(func: FuncOp, tables: Sequence[Table]) -> None:
    """Take the arguments of all tables but the first from a function."""
    gone = {own.index for own in arguments_of(func) if own.name in {table.name for table in tables[1:]}}
    attrs = [DictionaryAttr(dict(own)) for n, own in enumerate(argument_entries(func)) if n not in gone]
    results = [
        DictionaryAttr({key: _moved(key, value, gone) for key, value in own.items()}) for own in result_entries(func)
    ]
    block = func.body.block
    for argument in [block.args[n] for n in sorted(gone, reverse=True)]:
        block.erase_arg(argument)
    func.arg_attrs = ArrayAttr(attrs)
    func.res_attrs = ArrayAttr(results) if func.res_attrs is not None else None
    assert isinstance(block.last_op, ReturnOp)
    func.update_function_type()


def _moved(key: str, value: Attribute, gone: set[int]) -> Attribute:
    """An attribute of a result, which may name an argument by its number, without some arguments."""
    if key not in ("train.updates", "train.gradient") or not isinstance(value, IntegerAttr):
        return value
    number = value.value.data
    return IntegerAttr(number - sum(own < number for own in gone), i64)
