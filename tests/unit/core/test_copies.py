"""Copies of operations: the same as those of xDSL, at every level, and of no part of what they were made of."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from npuc.dialects.copies import copied
from tests.ir_programs import PROGRAMS, lowered, printed


def described(op: Operation) -> list[object]:
    """All that an operation says, values by number, with who uses each in which order."""
    number: dict[SSAValue, int] = {}
    place = {inner: n for n, inner in enumerate(op.walk())}
    rows: list[object] = []
    for inner in op.walk():
        blocks = [block for region in inner.regions for block in region.blocks]
        args = [arg for block in blocks for arg in block.args]
        values: list[SSAValue] = [*inner.results, *args]
        for value in values:
            number.setdefault(value, len(number))
        rows.append(
            (
                type(inner),
                dict(inner.properties),
                dict(inner.attributes),
                inner.location,
                [(value.name_hint, value.type) for value in values],
                [[place[use.operation] for use in value.uses] for value in values],
                [(arg.index, arg.location) for arg in args],
                [len(region.blocks) for region in inner.regions],
            )
        )
    for inner in op.walk():
        rows.append([number[value] for value in inner.operands])
    return rows


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_copy_is_that_of_xdsl(name: str) -> None:
    module = lowered(*PROGRAMS[name])
    before = printed(module)
    new, theirs = copied(module), module.clone()
    assert described(new) == described(theirs)
    new.verify()
    assert printed(new) == before == printed(module)
    assert not set(new.walk()) & set(module.walk())


def test_values_may_be_used_before_they_are_made() -> None:
    late = test.TestOp(result_types=[i32])
    where = FileLineColLoc(StringAttr("f"), IntAttr(1), IntAttr(2))
    block = Block(arg_types=[i32, i32])
    block.args[1].location, block.args[1].name_hint = where, "second"
    early = test.TestOp(operands=[late.results[0], block.args[1]], result_types=[i32])
    block.add_ops([early, late])
    outer = test.TestOp(regions=[Region([block, Block(arg_types=[i32])])])
    new = copied(outer)
    assert described(new) == described(outer) == described(outer.clone())
    one, two = new.regions[0].blocks[0].ops
    assert one.operands[0] is two.results[0]


def test_what_is_from_outside_stays_the_same_value() -> None:
    source = test.TestOp(result_types=[i32])
    inner = test.TestOp(operands=[source.results[0]])
    new = copied(test.TestOp(operands=[source.results[0]], regions=[Region(Block([inner]))]))
    assert [own.operands[0] for own in new.walk()] == [source.results[0]] * 2
