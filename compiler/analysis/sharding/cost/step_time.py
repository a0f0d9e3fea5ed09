"""
What a step of a plan takes: the work of each node on its part, and the collectives between devices.

    seconds of a plan  =  rest  +  sum over nodes of work(node, its ways)  +  sum over terms of their collectives

The work of a node depends on how many of its levels have which way, not on their order; what it is, a backend says of
programs in which all nodes are shared alike. A collective takes `waits x latency + bytes x crowding / bandwidth`
(`network.collectives`), so that a term takes a + b x bytes. Work and collectives follow each other.

A pass finds all this in the function, since it knows neither backends nor hardware files:

    func.func @net(…) attributes {dist.times = {levels = [{kind = "pair", …}], work = [{"I I" = 0.5, …}, …], …}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from npuc.compiler.analysis.interconnect.collectives import Collective, collective_cost
from npuc.compiler.analysis.interconnect.topology import KINDS, Kind, MeshPlacement, NetworkLevel
from npuc.compiler.analysis.interconnect.topology import Interconnect as DeviceNetwork
from npuc.compiler.analysis.sharding.cost.collective_steps import steps_of
from npuc.compiler.analysis.sharding.cost.cost_terms import Pattern, ReadingRate, Sizes, SumRate, Term
from npuc.compiler.analysis.sharding.graph.tasks import TaskGraph
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table

TIMES = "dist.times"
"""The attribute of a function that says what its work and its messages take."""


@dataclass(frozen=True)
class Times:
    """
    The levels of the network between devices, outermost first, the bytes of every float (None: those of its type), and
    seconds: of each node's work by its ways (`key_of`), and of the work of no node.
    """

    levels: tuple[NetworkLevel, ...]
    float_bytes: int | None
    work: tuple[Mapping[str, float], ...]
    rest: float = 0.0

    def place(self, sizes: Sizes) -> MeshPlacement:
        """A mesh on the network. Raises `CapacityError` where it does not fit."""
        return DeviceNetwork(self.levels).place(sizes)


def key_of(pattern: Pattern) -> str:
    """What the work of a node under a pattern depends on: how many levels have which way."""
    return " ".join(sorted(pattern))


def work_seconds(times: Times, plan: Sequence[Pattern]) -> float:
    """Seconds of the work of one device under a plan."""
    return times.rest + sum(own[key_of(pattern)] for own, pattern in zip(times.work, plan, strict=True))


def message_seconds(
    program: TaskGraph, terms: Sequence[Term], plan: Sequence[Pattern], times: Times, sizes: Sizes
) -> Fraction:
    """Seconds of all collectives of a plan, exactly; `terms` are those of `physical`."""
    placement, total = times.place(sizes), Fraction(0)
    for term in terms:
        assert isinstance(term.rate, ReadingRate | SumRate)
        value, back = sizes_of(program, term, times)
        for step in steps_of(term.rate, tuple(plan[group] for group in term.groups), sizes):
            size = Fraction(back if step.back else value, step.cut)
            total += collective_cost(step.kind, size, placement, step.levels).seconds
    return total


def sizes_of(program: TaskGraph, term: Term, times: Times) -> tuple[int, int]:
    """The bytes of the tensor of a term, and of its gradient as it moves."""
    value = program.values[term.value]
    return value.bytes(times.float_bytes), value.gradient().bytes(times.float_bytes)


def time_graph(
    program: TaskGraph, terms: Sequence[Term], labels: Sequence[Sequence[Pattern]], times: Times, sizes: Sizes
) -> Choices:
    """The seconds of a step, but for `rest`, as costs of labels; `terms` are those of `physical`."""
    placement = times.place(sizes)
    keys = [tuple(own) for own in labels]

    @cache
    def line(kind: Collective, levels: tuple[int, ...]) -> tuple[float, float]:
        """Seconds of a collective of no bytes, and of one byte more of each device's operand."""
        waits = collective_cost(kind, 0, placement, levels).seconds
        return float(waits), float(collective_cost(kind, 1, placement, levels).seconds - waits)

    @cache
    def tables(rate: ReadingRate | SumRate, own: tuple[tuple[Pattern, ...], ...]) -> tuple[Table, Table, Table]:
        """By labels: the waits, and the seconds of a byte of the whole tensor and of its gradient."""
        rows: list[tuple[float, float, float]] = []
        for patterns in product(*own):
            lines = [(*line(step.kind, step.levels), step) for step in steps_of(rate, patterns, sizes)]
            waits = sum(fixed for fixed, _, _ in lines)
            there = sum(slope / step.cut for _, slope, step in lines if not step.back)
            rows.append((waits, there, sum(slope / step.cut for _, slope, step in lines if step.back)))
        waits, there, back = np.array(rows, np.float64).T.reshape(3, *(len(patterns) for patterns in own))
        return waits, there, back

    unary: list[Table] = [
        np.array([work[key_of(label)] for label in own], np.float64)
        for work, own in zip(times.work, labels, strict=True)
    ]
    pairs: dict[tuple[int, int], Table] = {}
    for term in terms:
        assert isinstance(term.rate, ReadingRate | SumRate)
        if not term.groups:
            continue
        waits, there, back = tables(term.rate, tuple(keys[group] for group in term.groups))
        value, gradient = sizes_of(program, term, times)
        cost = waits + there * value + back * gradient
        if len(term.groups) == 1:
            unary[term.groups[0]] = unary[term.groups[0]] + cost
        else:
            first, second = term.groups
            pairs[first, second] = pairs[first, second] + cost if (first, second) in pairs else cost
    return Choices([len(own) for own in labels], unary, pairs)


# ---- the form in the IR


def times_attr(times: Times) -> DictionaryAttr:
    """The attribute of times; bandwidths and latencies as exact texts."""
    levels = [
        DictionaryAttr(
            {
                "kind": StringAttr(level.kind),
                "size": IntegerAttr(level.size, i64),
                "bytes_per_s": StringAttr(str(level.bytes_per_s)),
                "latency_s": StringAttr(str(level.latency_s)),
                **({} if level.algorithm is None else {"algorithm": StringAttr(level.algorithm)}),
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
    """The times that an attribute says; None if there is none. Raises `ValueError` for what is none."""
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
    speed, latency = Fraction(words["bytes_per_s"]), Fraction(words.get("latency_s", "0"))
    return NetworkLevel(kind, size.value.data, speed, latency, algorithm=words.get("algorithm"))
