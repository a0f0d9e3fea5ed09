"""The state of the lowering to tiles at a place in the loops."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Part:
    """
    The part of a dimension that the enclosing loops select.

    At most `extent` indices from `offset` on; `limit`, where the last step of a loop may be shorter, is the end of
    what the loop cuts. `cut` says whether a loop with more than one trip has cut the dimension.
    """

    offset: SSAValue | int
    extent: int
    limit: SSAValue | int | None = None
    cut: bool = False


@dataclass(frozen=True)
class State:
    """
    The state at a place in the loops.

    `parts` by dimension; `blocks` of inputs and starts that are loaded; `sums` holds for each output what the loops
    carry: its block if one is loaded, else the tensor in DRAM, if it goes there; `dram` the tensor that a loaded block
    is of; `started` the starts given. Results of fused work that go to DRAM are in `sums`, too; `smaller` are
    blocks of its operands of other shapes, by the output that is worked on and the operand. Of memories outside of SPM,
    by their number from DRAM inwards: `outer` are blocks of inputs and starts, `before` is what an output's block there
    is of.
    """

    parts: dict[str, Part]
    sums: dict[str, SSAValue]
    blocks: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    dram: dict[str, SSAValue | None] = field(default_factory=dict[str, "SSAValue | None"])
    started: frozenset[str] = frozenset()
    smaller: Mapping[tuple[str, SSAValue], SSAValue] | None = None
    outer: Mapping[tuple[int, str], SSAValue] = field(default_factory=dict[tuple[int, str], SSAValue])
    before: Mapping[tuple[int, str], SSAValue] = field(default_factory=dict[tuple[int, str], SSAValue])

    def at(self, dim: str, part: Part) -> "State":
        """This state in a part of a dimension."""
        return replace(self, parts={**self.parts, dim: part})
