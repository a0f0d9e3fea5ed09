"""
Copies of operations with all that is in them, in time that grows with their size.

`Operation.clone` of xDSL gives a copied block its arguments one by one, and makes their tuple anew for each: that grows
with the square of their number, as many as a network has parameters.
"""

from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

OpT = TypeVar("OpT", bound=Operation)


def copied(op: OpT) -> OpT:
    """A copy of an operation and of all that is in it, the same as that of `clone`."""
    return _Copy().of(op)


class _Copy:
    """The values and blocks that stand for those of what is copied."""

    def __init__(self) -> None:
        self.values: dict[SSAValue, SSAValue] = {}
        self.blocks: dict[Block, Block] = {}
        self.early: list[tuple[Operation, Operation]] = []
        """Operations, each with its copy, that read a value of which there was no copy yet."""

    def of(self, op: OpT) -> OpT:
        """The copy, with operands that are made after their use, too."""
        new = self._inside(op)
        for old, own in self.early:
            own.operands = [self.values.get(value, value) for value in old.operands]
        return new

    def _inside(self, op: OpT) -> OpT:
        """An operation and what is in it, with operands that are copies where there are any yet."""
        known = all(value in self.values for value in op.operands)
        new = op.clone_without_regions(self.values, self.blocks)
        if not known:
            self.early.append((op, new))
        for old_region, region in zip(op.regions, new.regions, strict=True):
            made = [Block(arg_types=[arg.type for arg in block.args]) for block in old_region.blocks]
            self.blocks.update(zip(old_region.blocks, made, strict=True))
            region.add_block(made)
            for old, block in zip(old_region.blocks, made, strict=True):
                for arg, own in zip(old.args, block.args, strict=True):
                    own.location, own.name_hint = arg.location, arg.name_hint
                    self.values[arg] = own
                block.add_ops(map(self._inside, old.ops))
        return new
