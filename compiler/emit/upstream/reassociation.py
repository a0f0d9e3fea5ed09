"""How a reshape groups axes: the least groups of neighbours that have as many elements before as after."""

from __future__ import annotations

from collections.abc import Sequence

Groups = list[tuple[list[int], list[int]]]
"""Axes before and axes after that hold the same elements, group by group."""


def groups_of(before: Sequence[int], after: Sequence[int]) -> Groups:
    """
    The least groups of neighbouring axes of two shapes of equally many elements, both of rank 1 at least.

    Axes of size 1 that are left at the end belong to the last group.
    """
    groups: Groups = []
    i = j = 0
    while i < len(before) and j < len(after):
        left, right = [i], [j]
        a, b = before[i], after[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                left.append(i)
                a, i = a * before[i], i + 1
            else:
                right.append(j)
                b, j = b * after[j], j + 1
        groups.append((left, right))
    groups[-1][0].extend(range(i, len(before)))
    groups[-1][1].extend(range(j, len(after)))
    return groups
