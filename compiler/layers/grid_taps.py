"""
Which elements the samples of a grid read along each axis, with what weights and slopes, by PyTorch's rules.

A place -1 to 1 becomes a coordinate of the axis; beyond the border it is 0, the border's, or reflected there. The slope
of a weight is its derivative by the place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers.base import Array
from npuc.compiler.layers.taps import cubic_weights


@frozen
class GridTap:
    """For every sample one element along an axis: its index, the weight, and the slope of the weight."""

    index: Array
    weight: Array
    slope: Array


@frozen
class Sampling:
    """How samples are taken."""

    mode: str
    padding: str
    corners: bool

    def taps(self, places: Array, size: int) -> Sequence[GridTap]:
        """What samples at places along an axis of a size read."""
        coordinate = (places + 1) / 2 * (size - 1) if self.corners else ((places + 1) * size - 1) / 2
        slope = np.full_like(places, (size - 1) / 2 if self.corners else size / 2)
        if self.mode == "bicubic":
            return self._cubic(coordinate, slope, size)
        coordinate, by_padding = self._padded(coordinate, size)
        slope = slope * by_padding
        if self.mode == "nearest":
            return [self._inside(np.rint(coordinate), np.ones_like(places), np.zeros_like(places), size)]
        low = np.floor(coordinate)
        share = coordinate - low
        return [self._inside(low, 1 - share, -slope, size), self._inside(low + 1, share, slope, size)]

    def _cubic(self, coordinate: Array, slope: Array, size: int) -> Sequence[GridTap]:
        """Four elements, each of which is padded by itself."""
        low = np.floor(coordinate)
        share = coordinate - low
        found: list[GridTap] = []
        for by in (-1, 0, 1, 2):
            index, _ = self._padded(low + by, size)
            found.append(self._inside(index, cubic_weights(share - by), slope * _cubic_slopes(share - by), size))
        return found

    def _padded(self, coordinate: Array, size: int) -> tuple[Array, Array]:
        """Coordinates within the axis, as the padding has it, and their slope; zeros leave them where they are."""
        slope = np.ones_like(coordinate)
        if self.padding == "zeros":
            return coordinate, slope
        if self.padding == "reflection":
            coordinate, slope = self._reflected(coordinate, size)
        inside = (coordinate > 0) & (coordinate < size - 1)
        return np.clip(coordinate, 0, size - 1), np.where(inside, slope, 0)

    def _reflected(self, coordinate: Array, size: int) -> tuple[Array, Array]:
        low, span = (0.0, size - 1.0) if self.corners else (-0.5, float(size))
        if span == 0:
            return np.zeros_like(coordinate), np.zeros_like(coordinate)
        far = np.abs(coordinate - low)
        flips, rest = np.floor(far / span), np.fmod(far, span)
        back = flips % 2 == 1
        found = np.where(back, span - rest, rest) + low
        return found, np.where(coordinate < low, -1.0, 1.0) * np.where(back, -1.0, 1.0)

    @staticmethod
    def _inside(index: Array, weight: Array, slope: Array, size: int) -> GridTap:
        """A tap that counts nothing where its index is beyond the axis."""
        known = (index >= 0) & (index < size)
        return GridTap(
            np.where(known, index, 0).astype(np.int64), np.where(known, weight, 0), np.where(known, slope, 0)
        )


def _cubic_slopes(distance: Array) -> Array:
    """The derivative of cubic weights by the distance."""
    slope, far = -0.75, np.abs(distance)
    near = (3 * (slope + 2) * far - 2 * (slope + 3)) * far
    beyond = (3 * slope * far - 10 * slope) * far + 8 * slope
    return np.sign(distance) * np.where(far <= 1, near, np.where(far < 2, beyond, 0.0))
