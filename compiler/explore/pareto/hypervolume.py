"""
The hypervolume of a front: the volume of the goals' space that its points dominate, up to a reference point.

Zitzler and Thiele (IEEE TEC 1999) measure fronts by it: it grows with every point that the front gains. It is computed
by slices along the last goal (Knowles's HSO, as Fleischer and While et al. describe it), exact but for rounding.
"""

from __future__ import annotations

import numpy as np

from npuc.compiler.explore.pareto.front import Floats, pareto


def hypervolume(points: Floats, reference: Floats) -> float:
    """
    The volume that points [row, goal] dominate below a reference; goals are to be small.

    A point that is not below the reference in every goal adds nothing.
    """
    inside = points[(points < reference).all(axis=1)]
    return _volume(inside[pareto(inside)], reference) if len(inside) else 0.0


def _volume(points: Floats, reference: Floats) -> float:
    """The volume of points that dominate no other one of them."""
    if points.shape[1] == 1:
        return float(reference[0] - points.min())
    if points.shape[1] == 2:
        ordered = points[np.argsort(points[:, 0], kind="stable")]
        above = np.concatenate([[reference[1]], np.minimum.accumulate(ordered[:, 1])])
        return float(((reference[0] - ordered[:, 0]) * np.maximum(above[:-1] - ordered[:, 1], 0.0)).sum())
    ordered = points[np.argsort(points[:, -1], kind="stable")]
    ends = np.append(ordered[1:, -1], reference[-1])
    total = 0.0
    for number, end in enumerate(ends):
        depth = float(end - ordered[number, -1])
        if depth > 0:
            layer = ordered[: number + 1, :-1]
            total += depth * _volume(layer[pareto(layer)], reference[:-1])
    return total
