"""
Unequal shares for heterogeneous devices: movement from intervals, the search from enumeration, whole plans from a walk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npuc.compiler import UsageError, plan_parallel
from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, BasicType, Layer, LayerSizes, between
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.heterogeneous import share_search
from npuc.compiler.analysis.sharding.heterogeneous.fleet import Device, fleet_of
from npuc.compiler.analysis.sharding.heterogeneous.plan_search import plan_heterogeneous
from npuc.compiler.analysis.sharding.heterogeneous.share_search import Halves, balanced_shares
from npuc.compiler.analysis.sharding.heterogeneous.shares import Choice, LocalWork, Workload, boundaries, local_work_in
from npuc.compiler.analysis.sharding.heterogeneous.workload import workload_of_chain
from npuc.compiler.report import Parallel

HALF = Fraction(1, 2)
Interval = tuple[Fraction, Fraction]
Box = tuple[Interval, Interval]
Group = tuple[int, int]
"""Operations and bytes a second of one device of a group."""
Pick = Callable[[int, int], tuple[Sequence[BasicType], Sequence[Fraction]]]
"""Types and shares of the pair at a level that begins with a group."""


def box(part: str, share: Fraction, side: int) -> Box:
    """What a side has of a tensor [batch, channels] of one by one."""
    cut = (Fraction(0), share) if side == 0 else (share, Fraction(1))
    whole = (Fraction(0), Fraction(1))
    return {"batch": (cut, whole), "channels": (whole, cut), "all": (whole, whole)}[part]


def missing(has: Box, needs: Box) -> Fraction:
    """The area of what is needed and not there."""
    need, common = Fraction(1), Fraction(1)
    for (a, b), (c, d) in zip(has, needs, strict=True):
        need *= d - c
        common *= max(Fraction(0), min(b, d) - max(a, c))
    return need - common


GIVES: dict[PartitionType, str] = {"I": "batch", "II": "all", "III": "channels"}
TAKES: dict[PartitionType, str] = {"I": "batch", "II": "channels", "III": "all"}


def crossed(before: BasicType, after: BasicType, a: Fraction, b: Fraction, side: int) -> Fraction:
    """What a side reads of a value of one element and of its error."""
    gives, takes = box(GIVES[before], a, side), box(TAKES[after], b, side)
    return missing(gives, takes) + missing(takes, gives)


@dataclass(frozen=True)
class Own:
    """A layer's elements and work as left somewhere."""

    input: Fraction
    weight: Fraction
    output: Fraction
    work: Fraction

    def within(self, kind: BasicType) -> Fraction:
        return {"I": self.weight, "II": self.output, "III": self.input}[kind]

    def part(self, kind: BasicType, share: Fraction) -> "Own":
        return Own(
            self.input * (1 if kind == "III" else share),
            self.weight * (1 if kind == "I" else share),
            self.output * (1 if kind == "II" else share),
            self.work * share,
        )


def walk(
    layers: Sequence[Own], groups: Sequence[Group], each: int, pick: Pick, level: int = 0, first: int = 0
) -> tuple[list[Fraction], Fraction]:
    """The seconds of each layer, then of each boundary, on a tree of devices; and half of what is read in all."""
    if len(groups) == each == 1:
        return [own.work / groups[0][0] for own in layers] + [Fraction(0)] * (len(layers) - 1), Fraction(0)
    types, shares = pick(level, first)
    middle = len(groups) // 2
    sides = [(groups[:middle], each), (groups[middle:], each)] if middle else [(groups, each // 2)] * 2
    slower, elements = [Fraction(0)] * (2 * len(layers) - 1), Fraction(0)
    for side, (own, count) in enumerate(sides):
        parts = [share if side == 0 else 1 - share for share in shares]
        rest = [layer.part(kind, part) for layer, kind, part in zip(layers, types, parts, strict=True)]
        below, moved = walk(rest, own, count, pick, level + 1, first + side * middle)
        read = [layer.within(kind) for layer, kind in zip(layers, types, strict=True)]
        for n in range(1, len(layers)):
            rate = crossed(types[n - 1], types[n], shares[n - 1], shares[n], side)
            read.append(rate * layers[n].input)
        bandwidth = sum(group[1] for group in own) * count
        now = [time + 4 * amount / bandwidth for time, amount in zip(below, read, strict=True)]
        slower = [max(pair) for pair in zip(slower, now, strict=True)]
        elements += moved + sum(read, start=Fraction(0)) / 2
    return slower, elements


SIZE = st.integers(1, 60)
LAYER = st.builds(Layer, st.just("fc"), st.just("fc"), SIZE, SIZE, SIZE)
MACS = st.integers(1, 1000)
GROUP = st.tuples(st.integers(1, 200), st.integers(1, 200))
SHARE = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)


def owns(layers: Sequence[Layer], macs: Sequence[int]) -> list[Own]:
    """The layers with the operations of three products."""
    found: list[Own] = []
    for layer, own in zip(layers, macs, strict=True):
        sizes = (Fraction(size) for size in (layer.input, layer.weight, layer.output, 6 * own))
        found.append(Own(*sizes))
    return found


def devices_of(groups: Sequence[Group]) -> list[Device]:
    return [Device(Fraction(speed), Fraction(bandwidth)) for speed, bandwidth in groups]


def chosen(types: Sequence[BasicType], shares: Sequence[Fraction]) -> Choice:
    return Choice(np.array([BASIC_TYPES.index(kind) for kind in types]), np.array(shares, np.object_))


def pair_of(layers: Sequence[Layer]) -> tuple[Workload, LocalWork]:
    step = workload_of_chain(layers, [1] * len(layers), 4, 2)
    return step, step.whole


@given(st.sampled_from(BASIC_TYPES), st.sampled_from(BASIC_TYPES), SHARE, SHARE, LAYER, LAYER)
def test_a_side_reads_what_it_needs_and_does_not_have(
    before: BasicType, after: BasicType, a: Fraction, b: Fraction, first: Layer, second: Layer
) -> None:
    step, local = pair_of([first, second])
    read = boundaries(step, local, chosen([before, after], [a, b]))
    for side in (0, 1):
        assert read[side].tolist() == [second.input * crossed(before, after, a, b, side)]


@given(st.sampled_from(BASIC_TYPES), st.sampled_from(BASIC_TYPES), LAYER, LAYER)
def test_equal_shares_are_those_of_halves(before: BasicType, after: BasicType, first: Layer, second: Layer) -> None:
    step, local = pair_of([first, second])
    choice = chosen([before, after], [HALF, HALF])
    expected = between(before, after, Fraction(second.input), "table2")
    assert [read.tolist() for read in boundaries(step, local, choice)] == [[expected], [expected]]
    for side in (0, 1):
        rest = local_work_in(step, local, choice, side)
        types: list[BasicType] = [before, after]
        for n, layer in enumerate((first, second)):
            sizes = LayerSizes.of(layer).split(types[n])
            assert rest.within[:, n].tolist() == [sizes.weight, sizes.output, sizes.input, 0]
            assert rest.work[n] == HALF * local.work[n]
        assert rest.entering.tolist() == [LayerSizes.of(second).split(after).input]


@given(st.sampled_from(BASIC_TYPES), SHARE, LAYER)
def test_sides_have_their_shares_of_what_is_cut(kind: BasicType, share: Fraction, layer: Layer) -> None:
    step, local = pair_of([layer])
    choice = chosen([kind], [share])
    for side, part in ((0, share), (1, 1 - share)):
        own = owns([layer], [1])[0].part(kind, part)
        rest = local_work_in(step, local, choice, side)
        assert rest.within[:, 0].tolist() == [own.weight, own.output, own.input, 0]
        assert rest.work.tolist() == [own.work]


@given(st.lists(st.tuples(LAYER, MACS), min_size=1, max_size=3), GROUP, GROUP, st.sampled_from([1, 2]))
def test_a_pair_takes_the_least_time_of_all_choices(
    layers: list[tuple[Layer, int]], first: Group, second: Group, grid: int
) -> None:
    chain, macs = [layer for layer, _ in layers], [own for _, own in layers]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(share_search, "GRID", grid)
        found = plan_heterogeneous(workload_of_chain(chain, macs, 4, 2), fleet_of(devices_of([first, second]), 2)).best
    usual = {HALF, Fraction(first[0], first[0] + second[0]), *(Fraction(k, grid) for k in range(1, grid))}
    labels: list[list[tuple[BasicType, Fraction]]] = []
    for own in owns(chain, macs):
        labels.append([])
        for kind in BASIC_TYPES:
            moved = 4 * own.within(kind) * (Fraction(1, second[1]) - Fraction(1, first[1]))
            alone = own.work / first[0], own.work / second[0]
            balanced = ((alone[1] + moved) / (alone[0] + alone[1])).limit_denominator(1000)
            own_labels: list[tuple[BasicType, Fraction]] = [
                (kind, share) for share in {*usual, balanced} if 0 < share < 1
            ]
            labels[-1] += own_labels

    def seconds(first_layer: int, options: Sequence[tuple[BasicType, Fraction]]) -> list[Fraction]:
        types: list[BasicType] = [kind for kind, _ in options]
        choice = types, [share for _, share in options]
        some = owns(chain, macs)[first_layer : first_layer + len(options)]
        return walk(some, [first, second], 1, lambda _, __: choice)[0]

    alone_seconds = [{option: float(seconds(n, [option])[0]) for option in own} for n, own in enumerate(labels)]
    between = [
        {options: float(seconds(n, options)[2]) for options in product(*labels[n : n + 2])}
        for n in range(len(chain) - 1)
    ]
    least = min(
        sum(own[option] for own, option in zip(alone_seconds, options, strict=True))
        + sum(own[options[n], options[n + 1]] for n, own in enumerate(between))
        for options in product(*labels)
    )
    assert found.step_seconds == pytest.approx(least, rel=1e-9)


JOINED: dict[PartitionType, str] = {"I": "batch", "III": "channels", "whole": "all"}
EDGES = ((0, 1), (1, 2), (1, 3), (2, 3))
"""A layer, a hub, a layer on one of two branches, their join."""


def none_balanced(halves: Halves, local: LocalWork) -> list[list[tuple[Fraction, ...]]]:
    """No shares of alone_seconds' own: fewer labels for brute force."""
    return [[()] * len(local.work)] * len(local.within)


def test_a_group_without_work_has_no_balanced_share() -> None:
    """Sides of speeds 1 and 3 that read 1 and 3 elements a second: a quarter of the work is as long as the rest."""
    work = LocalWork.of([[0, 0]] * 3, [4, 0], [1])
    step = Workload([BASIC_TYPES] * 2, [True, False], (0,), (1,), work, 4)
    halves = Halves(step, fleet_of(devices_of([(1, 1), (3, 3)]), 2))
    assert balanced_shares(halves, work.as_floats()) == [[(Fraction(1, 4),), ()]] * 4


@given(st.tuples(LAYER, LAYER), st.lists(MACS, min_size=4, max_size=4), GROUP, GROUP)
def test_joins_have_shares_too(layers: tuple[Layer, Layer], macs: list[int], first: Group, second: Group) -> None:
    """The best of all choices, with a join that each side may do whole."""
    weights, outputs, inputs = (
        [sizes[0], 0, sizes[1], 0]
        for sizes in zip(*((layer.weight, layer.output, layer.input) for layer in layers), strict=True)
    )
    entering = [layers[0].output, inputs[2], layers[0].output, layers[1].output]
    is_layer = [True, False, True, False]
    types: list[tuple[PartitionType, ...]] = [BASIC_TYPES, ("I", "III", "whole"), BASIC_TYPES, ("I", "whole")]
    producers, consumers = zip(*EDGES, strict=True)
    step = Workload(types, is_layer, producers, consumers, LocalWork.of([weights, outputs, inputs], macs, entering), 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(share_search, "GRID", 1)
        patch.setattr(share_search, "balanced_shares", none_balanced)
        found = plan_heterogeneous(step, fleet_of(devices_of([first, second]), 2)).best
    shares = {HALF, Fraction(first[0], first[0] + second[0])}
    labels: list[list[tuple[PartitionType, Fraction]]] = [
        [(type, share) for type in own for share in shares] for own in types
    ]

    def alone(node: int, type: PartitionType, share: Fraction) -> float:
        read = {"I": weights, "II": outputs, "III": inputs, "whole": [0] * 4}[type][node]
        parts = (1, 1) if type == "whole" else (share, 1 - share)
        sides = zip(parts, (first, second), strict=True)
        return float(max(part * macs[node] / speed + Fraction(4 * read, width) for part, (speed, width) in sides))

    def crossing(edge: int, before: tuple[PartitionType, Fraction], after: tuple[PartitionType, Fraction]) -> float:
        producer, consumer = EDGES[edge]
        gives = (GIVES if is_layer[producer] else JOINED)[before[0]]
        takes = (TAKES if is_layer[consumer] else JOINED)[after[0]]
        times: list[Fraction] = []
        for side, (_, width) in enumerate((first, second)):
            has, needs = box(gives, before[1], side), box(takes, after[1], side)
            times.append((missing(has, needs) + missing(needs, has)) * entering[edge] * 4 / width)
        return float(max(times))

    alone_seconds = [{label: alone(node, *label) for label in own} for node, own in enumerate(labels)]
    crossed = [
        {(one, other): crossing(edge, one, other) for one in labels[producer] for other in labels[consumer]}
        for edge, (producer, consumer) in enumerate(EDGES)
    ]
    least = min(
        sum(alone_seconds[n][label] for n, label in enumerate(choice))
        + sum(crossed[edge][choice[producer], choice[consumer]] for edge, (producer, consumer) in enumerate(EDGES))
        for choice in product(*labels)
    )
    assert found.step_seconds == pytest.approx(least, rel=1e-9)


def rows_of(layers: Sequence[tuple[Layer, int]]) -> list[dict[str, object]]:
    """Layers as they are given to `plan_parallel`."""
    return [
        {"name": f"fc{n}", "kind": "fc", "input": own.input, "weight": own.weight, "output": own.output, "macs": macs}
        for n, (own, macs) in enumerate(layers)
    ]


def planned(layers: Sequence[tuple[Layer, int]], groups: Sequence[Group], devices: int) -> Parallel:
    """The plan of a chain; speeds and bandwidths in units of a file."""
    units = [{"tflops": speed, "gb_per_s": bandwidth} for speed, bandwidth in groups]
    return plan_parallel(rows_of(layers), devices, "accpar", groups=units)


def pick_of(plan: Parallel, *, halves: bool = False) -> Pick:
    """The choices of a plan; with all shares equal."""

    def pick(level: int, first: int) -> tuple[Sequence[Any], Sequence[Fraction]]:
        pairs = plan.levels[level].pairs
        assert pairs is not None
        (pair,) = [pair for pair in pairs if pair.groups[0] == first]
        shares = [HALF if halves else Fraction(share) for share in pair.shares.values()]
        return list(pair.choices.values()), shares

    return pick


# the types that are best for each pair are together better in equal shares
@example([(Layer("fc", "fc", 1, 20, 2), 10), (Layer("fc", "fc", 2, 60, 60), 100)], [(1, 20), (5, 1)], 2)
@given(
    st.lists(st.tuples(LAYER, MACS), min_size=1, max_size=4),
    st.sampled_from([1, 2, 4]).flatmap(lambda n: st.lists(GROUP, min_size=n, max_size=n)),
    st.sampled_from([1, 2, 4]),
)
def test_a_plan_is_what_it_says_and_no_slower_than_equal_shares(
    layers: list[tuple[Layer, int]], groups: list[Group], each: int
) -> None:
    devices = len(groups) * each
    if devices == 1:
        groups, devices = groups * 2, 2
    plan = planned(layers, groups, devices)
    own = owns([layer for layer, _ in layers], [macs for _, macs in layers])
    # 10^12 operations and 10^9 bytes
    machine = [(speed * 10**12, bandwidth * 10**9) for speed, bandwidth in groups]

    def seconds(pick: Pick) -> float:
        return float(sum(walk(own, machine, devices // len(groups), pick)[0]))

    assert plan.seconds is not None
    assert plan.seconds == pytest.approx(seconds(pick_of(plan)), rel=1e-9)
    assert Fraction(plan.total.elements) == walk(own, machine, devices // len(groups), pick_of(plan))[1]
    for level in plan.levels:
        assert level.pairs is not None
        assert sum(pair.count for pair in level.pairs) == 2 ** (int(level.level[1:]) - 1)
        for pair in level.pairs:
            assert max(pair.side_seconds) <= pair.seconds * (1 + 1e-9)
    same = seconds(pick_of(plan, halves=True))
    types: list[BasicType] = ["I"] * len(own)
    batch = seconds(lambda _, __: (types, [HALF] * len(own)))
    assert plan.seconds <= min(same, batch) * (1 + 1e-9)


@given(st.lists(st.tuples(LAYER, MACS), min_size=1, max_size=4), st.sampled_from([1, 2]))
def test_alike_groups_without_much_to_move_are_split_in_halves(layers: list[tuple[Layer, int]], groups: int) -> None:
    """The types of a pair are those of least movement, as where there are no groups."""
    plan = planned(layers, [(1, 10**6)] * groups, 4)
    assert {share for level in plan.levels for share in (level.shares or {}).values()} == {"1/2"}
    equal = plan_parallel(rows_of(layers), 4, "accpar")
    assert plan.levels[0].elements == equal.levels[0].elements


def test_where_nothing_has_to_be_waited_for_shares_are_speeds() -> None:
    """Two devices of 30 and 10 TFLOPS, with links that take no time."""
    layer = Layer("fc", "fc", 4, 4, 4)
    plan = planned([(layer, 10**9), (layer, 10**9)], [(30, 10**7), (10, 10**7)], 2)
    assert plan.levels[0].shares == {"fc0": "3/4", "fc1": "3/4"}
    assert plan.seconds == pytest.approx(2 * 6 * 10**9 / 40e12, rel=1e-6)


def test_the_plan_of_two_unlike_devices() -> None:
    """One layer by data parallelism: both sides take the addends of 10^6 weights, 4 ms and 8 ms at 1 and 0.5 GB/s."""
    layer = {"name": "fc", "kind": "fc", "input": 10**8, "weight": 10**6, "output": 10**8, "macs": 10**11}
    groups = [{"tflops": 20, "gb_per_s": 1}, {"tflops": 10, "gb_per_s": 0.5}]
    plan = plan_parallel([layer], 2, "accpar", groups=groups)
    # 6 10^11 operations: a / 20 + 4 ms = (1 - a) / 10 + 8 ms at a = 0.71111
    assert plan.levels[0].shares == {"fc": "32/45"}
    assert plan.seconds == pytest.approx(32 / 45 * 6e11 / 20e12 + 4e-3)
    assert (plan.total.elements, plan.total.bytes) == (10**6, 8 * 10**6)
    assert plan.lower_bound_elements is None


LAYER_ROW = {"name": "a", "kind": "fc", "input": 8, "weight": 8, "output": 8, "macs": 64}
ROW = {"tflops": 1, "gb_per_s": 1}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"groups": [ROW] * 3}, "network.groups: found 3 groups, expected a power of two"),
        ({"groups": []}, "network.groups: found 0 groups, expected a power of two"),
        ({"groups": [ROW] * 4, "devices": 2}, "network.groups: found 4 groups, expected at most the 2 devices"),
        ({"devices": 1, "groups": [ROW]}, "network.groups: found 1 device, expected at least 2"),
        ({"groups": [ROW, {"gb_per_s": 1}]}, "groups: entry 2: missing key 'tflops'"),
        ({"groups": [ROW, ROW | {"tflops": 0}]}, "groups: entry 2: tflops: expected a number above 0"),
        (
            {"strategy": "hypar"},
            "hypar: found network.groups, expected homogeneous devices: it knows equal parts",
        ),
        ({"strategy": "accpar-joint"}, "accpar-joint: found network.groups, .* levels cannot be chosen together"),
        ({"convention": "physical"}, "--convention physical says nothing of unequal shares"),
        ({"layers": [{**LAYER_ROW, "macs": 0}]}, "layer 0: macs: expected MACs of the forward product"),
        ({"layers": [{k: v for k, v in LAYER_ROW.items() if k != "macs"}]}, "layer 0: missing 'macs'"),
    ],
)
def test_wrong_arguments_are_said(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"layers": [LAYER_ROW], "devices": 2, "strategy": "accpar", "groups": [ROW, ROW]}
    with pytest.raises(UsageError, match=message):
        plan_parallel(**arguments | changed)
