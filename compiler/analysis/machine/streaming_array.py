"""An idealised array that only streams, with which a timeline compares its folds."""

from __future__ import annotations

from typing import overload

from npuc.compiler.analysis.machine.array import Array, Numbers


def streaming_alone(array: Array) -> StreamingArray:
    """An array as one that only streams."""
    step = 1 if array.stages is None else array.tile_m
    return StreamingArray(
        array.rows,
        array.cols,
        array.dataflow,
        array.fill,
        array.drain,
        tile_m=step,
        edge_elements=None,
        row_stationary=array.row_stationary,
    )


class StreamingArray(Array):
    """
    The array if only streaming took time, and fill, drain and replacement of tiles were free.

    It streams whole instructions; without instructions (`tile_m` = 1), single rows.
    """

    @overload
    def stream(self, size: int) -> int: ...
    @overload
    def stream(self, size: Numbers) -> Numbers: ...
    def stream(self, size: int | Numbers) -> int | Numbers:
        return -(-size // self.tile_m) * self.tile_m

    @property
    def only_streams(self) -> bool:
        return True

    @property
    def fold_overhead(self) -> int:
        return 0

    @property
    def reload(self) -> int:
        return 0
