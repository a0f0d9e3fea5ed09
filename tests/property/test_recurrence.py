"""Repeated operations at once equal the recurrence written down, operation by operation."""

from random import Random

import pytest

from npuc.compiler.analysis.timing.recurrence import Run
from npuc.compiler.analysis.timing.sequence import SequenceNode

Group = tuple[int, int, int, int]
"""Bytes, cycles of the operation that waits for them, cycles of what follows without bytes, and how often."""


def written_down(groups: list[Group], per_cycle: int, per_byte: int, room: int) -> tuple[int, int]:
    """
    The end of the last load and of computation: load_start(t) = max(load_end(t-1), comp_end(s-1)), where s is the least
    index with bytes(s..t) <= room, at most t.
    """
    moved: list[int] = []
    ends: list[int] = []
    load = comp = 0
    for size, first, rest, count in groups:
        for _ in range(count):
            moved.append(size)
            held, s = size, len(moved) - 1
            while s and held + moved[s - 1] <= room:
                s -= 1
                held += moved[s]
            # What alone is more than the room waits for all before it, also for what moves nothing.
            free = comp if size > room else ends[s - 1] if s else 0
            load = max(load, free) + size * per_byte
            comp = max(comp, load) + first * per_cycle
            ends.append(comp)
            comp += rest * per_cycle
    return load, comp


def leaf(first: int, rest: int) -> SequenceNode:
    """An operation, and one that moves nothing after it."""
    one, other = SequenceNode((), first, first), SequenceNode((), rest, rest)
    return SequenceNode(((one, 0, 1), (other, 0, 1)), first + rest, first) if rest else one


@pytest.mark.parametrize("seed", range(20))
def test_equal_operations(seed: int) -> None:
    """Any sizes, rates and rooms; computation ahead, behind, and both by turns."""
    r = Random(seed)
    for _ in range(100):
        per_cycle, per_byte, room = r.randint(1, 9), r.randint(1, 9), r.choice([1, 10, 40, 200, 1000])
        groups: list[Group] = []
        for _ in range(r.randint(1, 5)):
            size = r.randint(1, r.choice([3, 12, 60, room]))
            near = max(1, size * per_byte // per_cycle + r.randint(-2, 4))
            first = r.choice([near, r.randint(1, 40)])
            groups.append((size, first, r.choice([0, 0, r.randint(1, 9)]), r.choice([1, 2, r.randint(3, 300)])))
        run = Run(per_cycle, per_byte, room)
        for number, (size, first, rest, count) in enumerate(groups):
            run.repeat(leaf(first, rest), size, count)
            assert (run.load, run.comp) == written_down(groups[: number + 1], per_cycle, per_byte, room), groups


def together(items: list[tuple[SequenceNode, int, int]]) -> SequenceNode:
    """One node of several; the bytes before the first are its parent's."""
    cycles = sum(one.cycles * count for one, _, count in items)
    loads = sum((one.loads + (size > 0)) * count for one, size, count in items)
    moved = sum((one.moved + size) * count for one, size, count in items)
    return SequenceNode(tuple(items), cycles, items[0][0].first, moved, loads)


def drawn(r: Random, depth: int) -> tuple[SequenceNode, list[Group]]:
    """A node, and its groups, the first without its bytes."""
    if not depth:
        first, rest = r.choice([1, 2, 12]), r.choice([0, 0, 0, 5])
        return leaf(first, rest), [(0, first, rest, 1)]
    items: list[tuple[SequenceNode, int, int]] = []
    groups: list[Group] = []
    for number in range(r.randint(1, 3)):
        inner, own = drawn(r, depth - 1)
        size, count = (r.choice([1, 8]), r.choice([1, 2, 9])) if number else (0, 1)
        items.append((inner, size, count))
        groups += [(size, *own[0][1:]), *own[1:]] * count
    return together(items), groups


def peak(groups: list[Group], per_cycle: int, per_byte: int) -> int:
    """By how much the loads of any stretch of operations take longer than the computation before its last load."""
    most = lead = 0
    for size, first, rest, count in groups:
        for _ in range(count):
            lead = max(0, lead) + size * per_byte
            most = max(most, lead)
            lead -= (first + rest) * per_cycle
    return most


@pytest.mark.parametrize("seed", range(4))
def test_the_end_where_the_room_delays_no_computation(seed: int) -> None:
    """The closed form for a whole sequence, also where the room does not hold all of it."""
    r = Random(seed)
    found: set[tuple[bool, bool]] = set()
    for _ in range(100):
        per_cycle, per_byte = r.randint(1, 4), r.randint(1, 3)
        root, groups = drawn(r, r.randint(1, 4))
        groups[0] = (4, *groups[0][1:])
        most, largest = peak(groups, per_cycle, per_byte), max(size for size, *_ in groups)
        room = 2 * largest + max(0, most // per_byte + r.randint(-2, 2))
        run = Run(per_cycle, per_byte, room)
        assert run.end(root, 4) == written_down(groups, per_cycle, per_byte, room)[1], (groups, per_byte, room)
        at_once = run.comp == 0
        fits = sum(size * count for size, _, _, count in groups) <= room
        assert at_once == (fits or most <= (room - 2 * largest) * per_byte)
        found.add((at_once, not fits))
    assert found >= {(True, True), (False, True), (True, False)}
