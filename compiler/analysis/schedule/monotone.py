"""
The search whose candidates do not depend on the scratchpad, the channel or the array's edge: more is never worse.

Let C be the candidates of a nest on an array, t(s, M) the objective of s on a machine M, and r(s) the SPM that s needs.
The result is min t(s, M) over all s of C with r(s) <= SPM. A larger machine has every s of a smaller one, at no higher
cost, so that its result is no worse, exactly. It takes two things.

*t falls.* Traffic and energy of a schedule are the same on all these machines. Its time is the recurrence of
`timing/double_buffer.py`, sums and maxima of terms of which none grows: with more SPM a load may begin beside earlier
tiles; a faster channel shortens transfers; a wider edge shortens waits. Without double buffering it is a sum of such
terms. Sums and products of floats are monotone in each term too, so that rounding changes nothing.

*C is one set.* It has three parts. The quick search (`search.py`) takes some of each, by rules for the machine.

- Coarse and fine candidates, always both, but for those that need no less of anything than another one. Needs do not
  depend on SPM and bandwidth; of the array's edge they have the cycles with every edge, one beside the other. What
  covers s takes no more SPM than s, so it is there wherever s is. A lower bound leaves out only what cannot be better.
  With the narrowest edge its own cycles are needs, and those with other edges decide between equal needs alone: what
  is covered by all edges is covered so, too, so that these candidates are among those with a wider edge.
- The least traffic by nested tilings with every SPM up to the machine's, in tiles of any size and of the array's. For
  traffic these are all sizes; for time and energy, where tiles of different sizes differ in what they cost, all sizes
  of `SIGNIFICANT_BITS`. With a little less SPM the schedule is mostly the same: `NestedTilings.coarsened` tells where
  it changes, so that a walk down from the machine's SPM meets each once. It ends where the lower bound for so little
  SPM is no better than the best, as all that is left fits there.

*Tolerance.* With a tolerance t the quick search takes a schedule s; then candidates of C are sought that s is not near,
those of at most t(s) / (1 + t). The bound leaves out most, and tilings that the quick search has tried are left out.

*Cores* (`over_cores/`). On C cores the candidates are pairs of loops over c cores, for each c up to C, and a candidate
of the first part on one core. What decides is the time of all cores, with unequal parts and partial sums, not that of
the part. It falls with SPM, channel and edge, as the time of each core does, and with C, with which the channel grows;
pairs of a smaller machine are pairs of a larger one, of which the pairs without loops are the candidates of one core.
The part by itself takes no longer, which bounds the search.

For traffic and energy the candidates of the first part are those that no other one covers, which takes no more SPM,
traffic and energy by itself and less of one (`part_front.py`), and the least traffic with each smaller SPM. Of these,
too, a larger SPM only adds some. What decides is the traffic or energy of all cores.

Time where a transfer serves several cores (multicast, sums on chip), and edp, have no such bound: there the pairs are,
for each c, the loops over c cores or fewer with the best schedule of the first part on a core of a chip of c, for each
narrower edge, too. These do not depend on C either, but they do on SPM and channel.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Literal

from npuc.compiler.analysis.machine.compute import cycles_lower_bound
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.bounds import lower_bound_bits
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.schedule.candidates import FoundSchedule, best_candidate
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.floors.plain import least_cost, least_time, without_walk
from npuc.compiler.analysis.schedule.least_traffic import tilings_search
from npuc.compiler.analysis.schedule.machine_space import MOST, Price
from npuc.dialects.npu.nest import Nest, Schedule

Tilings = Literal["coarse", "fine"]

SIGNIFICANT_BITS = 5
"""Of sizes of SPM whose least traffic is tried: 1 to 31 times a power of two, which most machines have."""


def monotone_results(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: Bits,
    order: tuple[str, ...],
    price: Price | None = None,
    limit: float = MOST,
    tried: Collection[Tilings] = (),
) -> Iterator[FoundSchedule]:
    """
    The best of each part of the candidates on one core, as far as it may be the best of all, without tilings that were
    `tried` already with no result within `limit`.

    With a `price`, for the objective time, its times decide, and what takes more than `limit` is left out.
    """
    least = _least(nest, machine, objective, widths, machine.spm_bytes)
    for kind in ("coarse", "fine"):
        if limit < least:
            return
        if kind in tried:
            continue
        fine = kind == "fine"
        found = best_candidate(
            nest, machine, objective, widths, order, fine=fine, limit=limit, every_edge=True, price=price
        )
        if found is not None:
            yield found
            limit = min(limit, found.score)
        if limit <= least:
            return
    if order or machine.policy == "lru" or objective == "edp":
        return
    for edge in (1,) if objective == "traffic" else (1, max(machine.array.rows, machine.array.cols)):
        for schedule in with_less_room(nest, machine, objective, widths, edge, lambda: limit):
            if least_cost(nest, schedule, machine, objective, widths, limit) >= limit:
                continue
            if price is None:
                found = FoundSchedule(schedule, *exact_cost(nest, schedule, machine, objective, widths))
            else:
                found = FoundSchedule(schedule, *price.of(schedule, limit))
            if found.score < limit:
                limit = found.score
                yield found


def best_within(results: Iterable[FoundSchedule], limit: float = MOST) -> FoundSchedule | None:
    """The best of these, of equal ones that with less traffic; None where all cost more than `limit`."""
    within = (found for found in results if found.score <= limit)
    return min(within, key=lambda found: (found.score, found.moved), default=None)


def with_less_room(
    nest: Nest, machine: Machine, objective: Objective, widths: Bits, edge: int, most: Callable[[], float]
) -> Iterator[Schedule]:
    """The schedules of the least traffic with each SPM up to the machine's, while they may score less than `most`."""
    search = tilings_search(nest, widths, edge)
    if search is None:
        return
    room = _budget(machine.spm_bytes, objective)
    limit = most()
    end = _too_little(nest, machine, objective, widths, limit)
    while room > end:
        walked = search.walked(nest, room)
        if walked is None:
            return
        schedule, needs = walked
        if objective != "time" or least_time(nest, schedule, machine, widths) < limit:
            yield replace(schedule, spm=machine.spm_bytes)
            if most() < limit:
                limit = most()
                end = _too_little(nest, machine, objective, widths, limit)
        room = _budget(needs - 1, objective)


def _too_little(nest: Nest, machine: Machine, objective: Objective, widths: Bits, most: float) -> int:
    """Bytes of SPM with which no schedule scores less than `most`: all that are tried above them may do."""
    low, high = 0, machine.spm_bytes
    while _budget(high, objective) > low:
        middle = (low + high + 1) // 2
        if _least(nest, machine, objective, widths, middle) < most:
            high = middle - 1
        else:
            low = middle
    return low


def _budget(spm_bytes: int, objective: Objective) -> int:
    """The largest SPM within this one of which the least traffic is tried."""
    rest = 0 if objective == "traffic" else max(0, spm_bytes.bit_length() - SIGNIFICANT_BITS)
    return spm_bytes >> rest << rest


def _least(nest: Nest, machine: Machine, objective: Objective, widths: Bits, room: int) -> float:
    """
    A lower bound of the objective over all schedules that take so many bytes of SPM, without what no statement touches.
    """
    stored, outs = widths.by_name(nest), (*nest.outs, *(start for start in nest.starts if start is not None))
    rest = sum(stored[t.name] * (t.elements - touched(t, nest.sizes)) for t in outs)
    bits = lower_bound_bits(nest, room, widths) - rest
    time = max(float(cycles_lower_bound((nest,), machine.array)), float(bits / machine.channel_bits))
    return without_walk(nest, machine, time, bits, bits).score(objective)
