"""
Parts of a contraction's schedule as plain frozen data: its loops, and what stays in which memory over them.

    loops [m : 2, k : 2, n : 2] keep(X = 1) keep L2(X = 2, W = 1)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from npuc.compiler.core.frozen import frozen
from npuc.dialects.memories import SCRATCHPAD


@frozen
class Loop:
    """
    One loop of a schedule: a dimension tiled in steps of `step`.

    With `cores` its iterations run in parallel, each on a core with an SPM of its own.
    """

    dim: str
    step: int
    cores: bool = False

    def __str__(self) -> str:
        return f"{'cores ' if self.cores else ''}{self.dim} : {self.step}"


@frozen
class LevelKeep:
    """
    What a schedule keeps in a memory between SPM and DRAM: the number of innermost loops over which a block stays.

    A tensor that is not listed has the depth of the next level inwards.
    """

    level: str
    keep: tuple[tuple[str, int], ...]

    @cached_property
    def depths(self) -> dict[str, int]:
        """The depth of each tensor that is listed."""
        return dict(self.keep)


Depths = tuple[tuple[str, int], ...]
"""Keep depths by tensor, as they are written."""


def keep_problems(keep: Depths, level: str, tensors: Collection[str], inner: int, over: bool) -> Iterator[str]:
    """
    What is wrong with the depths of a level, which the text calls `keep` and its name, inside of `inner` loops; `over`
    says whether loops over cores are around them.
    """
    what = f"keep {level}".rstrip()
    for name, depth in keep:
        if name not in tensors:
            yield f"{what} names '{name}', the nest has {', '.join(tensors)}"
        elif not 0 <= depth <= inner:
            where = " inside those over cores" if over else ""
            yield f"{what} of {name} is {depth}, expected 0 to {inner}, the number of loops{where}"
    if len(dict(keep)) != len(keep):
        yield f"{what} names a tensor twice"


def level_problems(
    keep: Depths, outer: Sequence[LevelKeep], tensors: Collection[str], inner: int, over: bool
) -> Iterator[str]:
    """What is wrong with the levels outside of SPM, where `keep` is: depths must not shrink outwards."""
    names = [one.level for one in outer]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"keep {name} is there twice"
    depths, inside = dict(keep), SCRATCHPAD
    for one in outer:
        yield from keep_problems(one.keep, one.level, tensors, inner, over)
        for name, depth in one.keep:
            if depth < depths.get(name, 0):
                yield (
                    f"keep {one.level} of {name} is {depth}, in {inside} it is {depths[name]}: "
                    "depths must not shrink outwards"
                )
        depths, inside = depths | one.depths, one.level
