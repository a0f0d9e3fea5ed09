"""
The time of a plan's step: the work of each layer group on its part, and the collectives between devices.

    seconds of a plan  =  rest  +  sum over groups of work(group, its types)  +  sum over cost terms of their
    collectives

The work of a layer group depends on how many of its levels have each type, not on their order; a backend measures it on
programs in which all groups have one type. A collective takes `waits x latency + bytes x crowding / bandwidth`
(`interconnect/collectives.py`), so that a term takes a + b x bytes. Work and collectives do not overlap.

The pass finds all this on the function, since it knows neither backends nor hardware files:

    func.func @net(…) attributes {dist.times = {levels = [{kind = "pair", …}], work = [{"I I" = 0.5, …}, …], …}}
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from npuc.compiler.analysis.interconnect.collectives import Collective, collective_cost
from npuc.compiler.analysis.interconnect.topology import GRIDS, KINDS, Kind, MeshPlacement, NetworkLevel
from npuc.compiler.analysis.interconnect.topology import Interconnect as DeviceNetwork
from npuc.compiler.analysis.sharding.cost.collective_steps import side_of, steps_of
from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, EdgeRate, ReductionRate, Sizes, TypeSequence
from npuc.compiler.analysis.sharding.cost.term_graph import Labels, graph_of_terms
from npuc.compiler.analysis.sharding.graph.tasks import TaskGraph
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table

TIMES = "dist.times"
"""The attribute of a function that has the times of its work and its communication."""


@dataclass(frozen=True)
class Times:
    """
    The levels of the interconnect, outermost first, the bytes per float (None: those of its type), and the seconds of
    each layer group's work by its types (`key_of`) and of the work outside all groups (`rest`). Seconds
    under types that no shortest step has may be lower bounds.
    """

    levels: tuple[NetworkLevel, ...]
    float_bytes: int | None
    work: tuple[Mapping[str, float], ...]
    rest: float = 0.0

    def place(self, sizes: Sizes) -> MeshPlacement:
        """Place a mesh on the interconnect. Raises `CapacityError` where it does not fit."""
        return DeviceNetwork(self.levels).place(sizes)


def key_of(sequence: TypeSequence) -> str:
    """The key of a layer group's work under a type sequence: its types, sorted, as only their numbers count."""
    return " ".join(sorted(sequence))


def work_seconds(times: Times, plan: Sequence[TypeSequence]) -> float:
    """Seconds of the work of one device under a plan."""
    return times.rest + sum(own[key_of(sequence)] for own, sequence in zip(times.work, plan, strict=True))


def message_seconds(
    program: TaskGraph, terms: Sequence[CostTerm], plan: Sequence[TypeSequence], times: Times, sizes: Sizes
) -> Fraction:
    """Seconds of all collectives of a plan, exactly; `terms` are those of `physical`."""
    placement, total = times.place(sizes), Fraction(0)
    for term in terms:
        assert isinstance(term.rate, EdgeRate | ReductionRate)
        value, back = sizes_of(program, term, times)
        for step in steps_of(term.rate, tuple(plan[group] for group in term.groups), sizes):
            size = Fraction(back if step.back else value, step.cut)
            total += collective_cost(step.kind, size, placement, step.levels).seconds
    return total


def sizes_of(program: TaskGraph, term: CostTerm, times: Times) -> tuple[int, int]:
    """The bytes of the tensor of a term, and of its gradient as it moves."""
    value = program.values[term.value]
    return value.bytes(times.float_bytes), value.gradient().bytes(times.float_bytes)


def time_graph(
    program: TaskGraph, terms: Sequence[CostTerm], labels: Sequence[Sequence[TypeSequence]], times: Times, sizes: Sizes
) -> Choices:
    """The seconds of a step without `rest` as costs of labels; `terms` are those of `physical`."""
    tables = _tables_on(times.levels, tuple(sizes))

    @cache
    def keys(own: tuple[TypeSequence, ...]) -> list[str]:
        return [key_of(label) for label in own]

    alone: list[Table] = [
        np.array([work[key] for key in keys(tuple(own))], np.float64)
        for work, own in zip(times.work, labels, strict=True)
    ]

    def alike(term: CostTerm) -> Hashable:
        return term.rate, sizes_of(program, term, times)

    def cost(term: CostTerm, own: Labels) -> Table:
        assert isinstance(term.rate, EdgeRate | ReductionRate)
        waits, there, back = tables(term.rate, own)
        value, gradient = sizes_of(program, term, times)
        return waits + there * value + back * gradient

    return graph_of_terms(terms, labels, alone, alike, cost, operator.add)


@lru_cache(maxsize=2)
def _tables_on(
    levels: tuple[NetworkLevel, ...], sizes: Sizes
) -> Callable[[EdgeRate | ReductionRate, Labels], tuple[Table, Table, Table]]:
    """
    Of collectives on a network, by the labels of one or two layer groups: the waits, and the seconds per byte of the
    whole tensor and of its gradient. Plans with other times of work share them.
    """
    placement = DeviceNetwork(levels).place(sizes)

    @cache
    def line(kind: Collective, over: tuple[int, ...]) -> tuple[float, float]:
        """Seconds of a collective of no bytes, and the seconds per byte of each device's operand."""
        waits = collective_cost(kind, 0, placement, over).seconds
        return float(waits), float(collective_cost(kind, 1, placement, over).seconds - waits)

    @lru_cache(maxsize=1 << 10)
    def tables(rate: EdgeRate | ReductionRate, own: Labels) -> tuple[Table, Table, Table]:
        # Only one of the sequences that are alike for the term is looked at, and stands for all of them.
        alike = [[side_of(rate, sequence, n, len(own)) for sequence in some] for n, some in enumerate(own)]
        firsts = [
            dict(zip(reversed(sides), reversed(some), strict=True)) for sides, some in zip(alike, own, strict=True)
        ]
        rows: list[tuple[float, float, float]] = []
        for sequences in product(*(one.values() for one in firsts)):
            lines = [(*line(step.kind, step.levels), step) for step in steps_of(rate, sequences, sizes)]
            waits = sum(fixed for fixed, _, _ in lines)
            there = sum(slope / step.cut for _, slope, step in lines if not step.back)
            rows.append((waits, there, sum(slope / step.cut for _, slope, step in lines if step.back)))
        few = np.array(rows, np.float64).T.reshape(3, *map(len, firsts))
        numbers = [{side: number for number, side in enumerate(one)} for one in firsts]
        places = np.ix_(*([own[side] for side in sides] for own, sides in zip(numbers, alike, strict=True)))
        waits, there, back = (table[places] for table in few)
        return waits, there, back

    return tables


# ---- as an attribute of the IR


def times_attr(times: Times) -> DictionaryAttr:
    """The attribute of times, with bandwidths and latencies as exact strings."""
    levels = [
        DictionaryAttr(
            {
                "kind": StringAttr(level.kind),
                "size": IntegerAttr(level.size, i64),
                "bytes_per_s": StringAttr(str(level.bytes_per_s)),
                "latency_s": StringAttr(str(level.latency_s)),
                **({} if level.algorithm is None else {"algorithm": StringAttr(level.algorithm)}),
                **({"sizes": ArrayAttr(IntegerAttr(one, i64) for one in level.sizes)} if level.sizes else {}),
            }
        )
        for level in times.levels
    ]
    work = [DictionaryAttr({key: FloatAttr(seconds, f64) for key, seconds in own.items()}) for own in times.work]
    entries: dict[str, Attribute] = {
        "levels": ArrayAttr(levels),
        "work": ArrayAttr(work),
        "rest": FloatAttr(times.rest, f64),
    }
    if times.float_bytes is not None:
        entries["float_bytes"] = IntegerAttr(times.float_bytes, i64)
    return DictionaryAttr(entries)


def times_from(attr: Attribute | None) -> Times | None:
    """The times in an attribute; None if there is none. Raises `ValueError` if it is malformed."""
    if attr is None:
        return None
    entries = _entries(attr)
    width = entries.get("float_bytes")
    return Times(
        tuple(_level(_entries(level)) for level in _listed(entries, "levels")),
        width.value.data if isa(width, IntegerAttr) else None,
        tuple({key: _real(value) for key, value in _entries(own).items()} for own in _listed(entries, "work")),
        _real(entries.get("rest")),
    )


def _entries(attr: Attribute) -> Mapping[str, Attribute]:
    if not isinstance(attr, DictionaryAttr):
        raise ValueError(f"found {attr} in {TIMES}, expected a dictionary")
    return attr.data


def _listed(entries: Mapping[str, Attribute], key: str) -> Sequence[Attribute]:
    found = entries.get(key)
    if not isa(found, ArrayAttr[Attribute]):
        raise ValueError(f"found {found} as {key} in {TIMES}, expected a list")
    return found.data


def _real(attr: Attribute | None) -> float:
    if not isa(attr, FloatAttr):
        raise ValueError(f"found {attr} in {TIMES}, expected seconds")
    return attr.value.data


def _level(entries: Mapping[str, Attribute]) -> NetworkLevel:
    words = {key: value.data for key, value in entries.items() if isinstance(value, StringAttr)}
    size = entries.get("size")
    kinds: dict[str | None, Kind] = {known: known for known in KINDS}
    kind = kinds.get(words.get("kind"))
    if kind is None or not isa(size, IntegerAttr) or size.value.data < 1 or "bytes_per_s" not in words:
        raise ValueError(f"found {DictionaryAttr(dict(entries))} in {TIMES}, expected a level of the network")
    listed = entries.get("sizes")
    sizes = tuple(one.value.data for one in listed) if isa(listed, ArrayAttr[IntegerAttr]) else ()
    if sizes and (kind not in GRIDS or prod(sizes) != size.value.data):
        raise ValueError(f"found {kind} with sizes {list(sizes)} of {size.value.data} in {TIMES}")
    speed, latency = Fraction(words["bytes_per_s"]), Fraction(words.get("latency_s", "0"))
    return NetworkLevel(kind, size.value.data, speed, latency, algorithm=words.get("algorithm"), sizes=sizes)
