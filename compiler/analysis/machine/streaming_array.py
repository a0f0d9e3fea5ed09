"""An array that only streams: what a timeline holds its folds against."""

from typing import overload

from npuc.compiler.analysis.machine.array import Array, Numbers


class StreamingArray(Array):
    """
    The same array if nothing but streaming took time: neither fill and drain of folds nor changes of tiles.

    It streams whole instructions, of one row where there are none.
    """

    @overload
    def stream(self, size: int) -> int: ...
    @overload
    def stream(self, size: Numbers) -> Numbers: ...
    def stream(self, size: int | Numbers) -> int | Numbers:
        return -(-size // self.tile_m) * self.tile_m

    @property
    def fold_overhead(self) -> int:
        return 0

    @property
    def reload(self) -> int:
        return 0
