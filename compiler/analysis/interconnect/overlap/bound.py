"""
What a step exposes at least, whatever order movements take on the network.

Work is done in its order, and a movement begins when the work before it is done. So after the work before a movement
follow this and all later ones: alone, or as long as one level works for all of them; and then the work that reads them.
What holds the device is exposed for as long as it takes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from npuc.compiler.analysis.interconnect.chunks.events import Latency, occupied
from npuc.compiler.analysis.interconnect.overlap.step import Movement, Work


def exposed_bound(items: Sequence[Work | Movement], least: Sequence[Fraction], latency: Latency) -> Fraction:
    """The seconds that a step exposes at least; `least` has what each movement takes alone, at least."""
    whole = sum((item.seconds for item in items if isinstance(item, Work)), Fraction(0))
    holding = sum((own for own, one in zip(least, _movements(items), strict=True) if one.holds), Fraction(0))
    readers = _read_work(items, len(least))
    bound = holding
    # from the last item to the first: what levels have to do for free movements, and the least work behind them
    busy: dict[int, Fraction] = {}
    behind: Fraction | None = None
    before, held, number = whole, holding, len(least)
    for item in reversed(items):
        if isinstance(item, Work):
            before -= item.seconds
            continue
        number -= 1
        if item.holds:
            held -= least[number]
            continue
        for level, seconds in _by_level(item, latency).items():
            busy[level] = busy.get(level, Fraction(0)) + seconds
        own = readers[number]
        behind = own if behind is None else min(behind, own)
        together = max(busy.values(), default=Fraction(0)) + behind
        bound = max(bound, before + held + max(together, least[number] + own) - whole)
    return bound


def _movements(items: Sequence[Work | Movement]) -> list[Movement]:
    return [item for item in items if isinstance(item, Movement)]


def _read_work(items: Sequence[Work | Movement], count: int) -> list[Fraction]:
    """The work from the first that reads each movement on, which is done when it has ended."""
    after = [Fraction(0)] * count
    behind = Fraction(0)
    for item in reversed(items):
        if isinstance(item, Work):
            behind += item.seconds
            for number in item.waits:
                after[number] = behind
    return after


def _by_level(one: Movement, latency: Latency) -> dict[int, Fraction]:
    """The seconds for which a movement occupies each level."""
    alike = {id(chain): chain for chain in one.chains}
    counts: dict[int, int] = {}
    for chain in one.chains:
        counts[id(chain)] = counts.get(id(chain), 0) + 1
    found: dict[int, Fraction] = {}
    for key, chain in alike.items():
        for stage in chain:
            found[stage.level] = found.get(stage.level, Fraction(0)) + counts[key] * occupied(stage, latency)[0]
    return found
