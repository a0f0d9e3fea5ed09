"""Splits of bandwidth: none that is tried is better, all limits hold, and what cannot be met is named."""

from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.bandwidth.curve import fastest_curve
from npuc.compiler.analysis.bandwidth.fastest import BandwidthSplit, closed_form, fastest_split
from npuc.compiler.analysis.bandwidth.feasible import conflict
from npuc.compiler.analysis.bandwidth.limits import LinearLimit, cost_limit, parse_limits, total_limit
from npuc.compiler.analysis.bandwidth.product import least_product
from npuc.compiler.analysis.bandwidth.traffic import Floats, LevelBytes, Moment, StepTraffic, step_traffic
from npuc.compiler.core.errors import CapacityError, UsageError

GAP = 1e-6
SIZES = st.one_of(st.just(0.0), st.floats(1e3, 1e9))
GRID = 24


@st.composite
def steps(draw: st.DrawFn, levels: int = 3) -> StepTraffic:
    count = draw(st.integers(1, 4))
    transfers = [
        LevelBytes(tuple(draw(SIZES) for _ in range(levels)), draw(st.sampled_from([0.0, 1e-5]))) for _ in range(count)
    ]
    transfers.append(LevelBytes(tuple(draw(st.floats(1e3, 1e9)) for _ in range(levels))))
    moments: list[Moment] | None = None
    if draw(st.booleans()):
        order = draw(st.permutations(range(len(transfers))))
        moments = list[Moment]()
        for number in order:
            moments.append(Moment(work=draw(st.floats(0, 0.1))))
            moments.append(Moment(transfer=number, waits=draw(st.booleans())))
        moments.append(Moment(work=draw(st.floats(0, 0.1)), waits=True))
    work = sum(one.work for one in moments) if moments is not None else draw(st.floats(0, 1))
    return step_traffic(levels, work, transfers, pipelined=draw(st.booleans()), moments=moments)


@st.composite
def limit_sets(draw: st.DrawFn) -> list[LinearLimit]:
    """A total of 100 GB/s, and limits that the even split meets."""
    found = [total_limit(3, 1e11, "total")]
    for text in draw(st.lists(st.sampled_from(["b1 <= b2", "b3 >= 10", "b1 + 2 b2 <= 120", "b2 = b3"]), max_size=2)):
        found += parse_limits(text, 3, 1e9)
    return found


def grid() -> Floats:
    """Splits of 100 GB/s over three levels."""
    shares = [one for one in product(range(1, GRID), repeat=2) if sum(one) < GRID]
    return np.array([(a, b, GRID - a - b) for a, b in shares]) * (1e11 / GRID)


def allowed(splits: Floats, limits: list[LinearLimit]) -> Floats:
    return np.array([one for one in splits if all(limit.holds(one) for limit in limits)]).reshape(-1, 3)


def meets(found: BandwidthSplit, limits: list[LinearLimit]) -> bool:
    return all(limit.holds(np.array(found.bandwidths)) for limit in limits)


@settings(max_examples=40, deadline=None)
@given(steps(), limit_sets())
def test_no_split_of_a_grid_is_faster(step: StepTraffic, limits: list[LinearLimit]) -> None:
    even = np.full(3, 1e11 / 3)
    found = fastest_split(step, limits, [even])
    assert meets(found, limits)
    assert found.seconds == float(step.seconds(np.array(found.bandwidths)))
    assert found.bound <= found.seconds <= found.bound * (1 + GAP)
    assert found.seconds <= float(step.seconds(even))
    assert np.all(step.seconds(allowed(grid(), limits)) >= found.bound * (1 - 1e-12))


@settings(max_examples=25, deadline=None)
@given(steps(), limit_sets(), st.tuples(*[st.floats(1, 60)] * 3))
def test_no_split_of_a_grid_has_a_smaller_product(
    step: StepTraffic, limits: list[LinearLimit], prices: tuple[float, ...]
) -> None:
    even = np.full(3, 1e11 / 3)
    found = least_product(step, limits, prices, [even])
    assert meets(found, limits)
    assert found.value == pytest.approx(found.seconds * np.dot(prices, found.bandwidths))
    assert found.value <= float(step.seconds(even)) * float(np.dot(prices, even))
    assert found.bound <= found.value <= found.bound * (1 + 1e-5)
    tried = allowed(grid(), limits)
    assert np.all(step.seconds(tried) * (tried @ np.array(prices)) >= found.bound * (1 - 1e-9))


def searched(step: StepTraffic, limits: list[LinearLimit], start: Floats) -> float:
    """The time of the best split that moves of bandwidth between two levels find from a start, ever smaller ones."""
    best, least, size = start, float(step.seconds(start)), 0.2
    moves = [one - other for one in np.eye(step.levels) for other in np.eye(step.levels) if one is not other]
    while size > 1e-7:
        tried = allowed(np.array([best + 1e11 * size * one for one in moves]), limits)
        tried = tried[(tried > 0).all(axis=1)]
        times = step.seconds(tried)
        if len(tried) and times.min() < least:
            best, least = tried[times.argmin()], float(times.min())
        else:
            size /= 2
    return least


@settings(max_examples=25, deadline=None)
@given(steps(), limit_sets(), st.integers(0, 1000))
def test_no_search_from_random_starts_is_faster(step: StepTraffic, limits: list[LinearLimit], seed: int) -> None:
    found = fastest_split(step, limits)
    starts = np.random.default_rng(seed).dirichlet(np.ones(3), 40) * 1e11
    times = [searched(step, limits, one) for one in allowed(starts, limits)[:4]]
    assert all(time >= found.bound * (1 - 1e-6) for time in times)
    if len(limits) == 1 and not step.pipelined and step.moments is None:
        assert times == pytest.approx([found.seconds] * 4, rel=1e-5)


def on_a_line(value: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a function with one valley between two numbers."""
    for _ in range(100):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if value(left) < value(right) else (left, high)
    return value((low + high) / 2)


@settings(max_examples=40, deadline=None)
@given(steps(levels=2), st.tuples(*[st.floats(1, 60)] * 2))
def test_two_levels_are_searched_on_a_line(step: StepTraffic, prices: tuple[float, ...]) -> None:
    """Time is convex along a line; time x cost is not, so that its least value is looked for around that of a grid."""
    limits = [total_limit(2, 1e11, "total")]

    def seconds(share: float) -> float:
        return float(step.seconds(np.array([share, 1 - share]) * 1e11))

    def product(share: float) -> float:
        return seconds(share) * 1e11 * float(np.dot(prices, [share, 1 - share]))

    grid: list[float] = np.linspace(0, 1, 2001)[1:-1].tolist()
    for value, found in ((seconds, fastest_split(step, limits)), (product, least_product(step, limits, prices))):
        nearest = min(grid, key=value)
        least = on_a_line(value, max(nearest - 1e-3, 1e-9), min(nearest + 1e-3, 1 - 1e-9))
        assert found.value == pytest.approx(least, rel=1e-5)
        assert least >= found.bound * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.tuples(*[st.floats(1e3, 1e9)] * 3), st.tuples(*[st.floats(0.1, 60)] * 3), st.booleans())
def test_the_closed_form_is_what_the_search_finds(
    sent: tuple[float, ...], prices: tuple[float, ...], pipelined: bool
) -> None:
    step = step_traffic(3, 0.5, [LevelBytes(sent)] * 2, pipelined=pipelined)
    limits = [cost_limit(prices, 1e12, "budget")]
    exact = closed_form(step, limits)
    assert exact is not None
    # a second limit that changes nothing takes the formula away
    found = fastest_split(step, [*limits, LinearLimit((1.0, 0.0, 0.0), 0.0, 1e15, "none")])
    assert found.method != exact.method
    assert found.seconds == pytest.approx(exact.seconds, rel=1e-7)
    assert exact.seconds * (1 - 1e-12) <= found.seconds
    if pipelined:
        shares = np.array(exact.bandwidths) / np.array(sent)
        assert shares == pytest.approx(shares[0])


@settings(max_examples=40, deadline=None)
@given(steps(), st.integers(1, 20))
def test_moments_take_what_a_walk_takes(step: StepTraffic, seed: int) -> None:
    rates = np.random.default_rng(seed).uniform(1e9, 1e11, (5, 3))
    for one, seconds in zip(rates, step.seconds(rates), strict=True):
        assert float(step.seconds(one)) == pytest.approx(float(seconds), rel=1e-12)
        assert seconds == pytest.approx(walked(step, one), rel=1e-9)


def walked(step: StepTraffic, rates: npt.NDArray[np.float64]) -> float:
    """The same, transfer by transfer and in words of clocks."""
    lasts = [
        one.latency
        + (max if step.pipelined else sum)([size / rate for size, rate in zip(one.sent, rates, strict=True)])
        for one in step.transfers
    ]
    if step.moments is None:
        return step.work + sum(count * last for count, last in zip(step.counts, lasts, strict=True))
    device = wire = 0.0
    for moment in step.moments:
        if moment.transfer is not None:
            wire = max(device, wire) + lasts[moment.transfer]
            device = wire if moment.waits else device
        else:
            device = (max(device, wire) if moment.waits else device) + moment.work
    return max(device, wire)


def test_a_level_that_nothing_crosses_gets_nothing() -> None:
    found = fastest_split(step_traffic(2, 1.0, [LevelBytes((0.0, 5.0))]), [total_limit(2, 8.0, "t")])
    assert found.bandwidths == (0.0, 8.0)


LIMITS = ("b1 >= 60", "b2 >= 50", "b3 >= 0", "b1 + b2 <= 200")


def test_limits_that_cannot_be_met_are_named_and_no_others() -> None:
    step = step_traffic(3, 1.0, [LevelBytes((1.0, 1.0, 1.0))])
    limits = [total_limit(3, 100e9, "--total-gb-per-s 100")]
    for text in LIMITS:
        limits += parse_limits(text, 3, 1e9)
    with pytest.raises(CapacityError) as error:
        fastest_split(step, limits)
    text = error.value.message
    assert all(name in text for name in ("--total-gb-per-s 100", "'b1 >= 60'", "'b2 >= 50'"))
    assert "b3" not in text
    assert "200" not in text
    assert {one.name for one in conflict(limits, 3, 1e11)} == {limits[0].name, limits[1].name, limits[2].name}


def test_a_level_that_is_crossed_needs_bandwidth() -> None:
    step = step_traffic(2, 1.0, [LevelBytes((1.0, 1.0))])
    with pytest.raises(CapacityError, match="b2 > 0"):
        fastest_split(step, [total_limit(2, 1e9, "total"), *parse_limits("b1 >= 1", 2, 1e9)])


@pytest.mark.parametrize("text", ["b1 <= 1e12", "-b1 >= -1e12", "1e-6 b1 <= 1e6", "b1 >= 1e-9", "b2 <= 1e12 b1"])
def test_a_limit_of_another_size_changes_nothing(text: str) -> None:
    """500 GB/s, and a limit that is far from it: neither a conflict nor another split."""
    step = step_traffic(2, 1.0, [LevelBytes((4e9, 1e9))])
    exact = fastest_split(step, [total_limit(2, 500e9, "total")])
    assert exact.bandwidths == pytest.approx((1e12 / 3, 5e11 / 3))
    found = fastest_split(step, [total_limit(2, 500e9, "total"), *parse_limits(text, 2, 1e9)])
    assert found.seconds == pytest.approx(exact.seconds, rel=1e-7)


@pytest.mark.parametrize("sizes", [(7.0, 7.0, 7.0), (1e8, 1e8, 1e8)])
@pytest.mark.parametrize("pipelined", [True, False])
def test_the_formula_is_not_slower_than_the_even_split_by_rounding(sizes: tuple[float, ...], pipelined: bool) -> None:
    for total in (1e10, 3e10 / 7, 1e11 / 3):
        step, even = step_traffic(3, 0.1, [LevelBytes(sizes)], pipelined=pipelined), np.full(3, total / 3)
        assert fastest_split(step, [total_limit(3, total, "total")], [even]).seconds <= float(step.seconds(even))


def test_a_curve_falls_and_is_the_shortest_step_of_each_total() -> None:
    step = step_traffic(2, 0.5, [LevelBytes((4e9, 1e9)), LevelBytes((0.0, 1e9))], pipelined=True)
    curve = fastest_curve(step, (1.0, 1.0), 1e9, 1e11, 5, [2e10, 1e9])
    assert [total for total, _ in curve] == pytest.approx([1e9, 10**9.5, 1e10, 2e10, 10**10.5, 1e11])
    for total, seconds in curve:
        assert seconds == pytest.approx(fastest_split(step, [total_limit(2, total, "total")]).seconds)
    assert all(later < before for (_, before), (_, later) in pairwise(curve))


def test_what_nothing_limits_is_an_error() -> None:
    step = step_traffic(2, 1.0, [LevelBytes((1.0, 1.0))])
    with pytest.raises(CapacityError, match=r"nothing limits the bandwidth of b2\n.*'b2 <= 1000'"):
        fastest_split(step, [cost_limit((1.0, 0.0), 5.0, "budget"), *parse_limits("b1 >= 1", 2, 1.0)])
    with pytest.raises(CapacityError, match="no least value"):
        least_product(step, [cost_limit((1.0, 1.0), 5.0, "budget")], (1.0, 1.0))


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("b1 >= 2 b2", [((1, -2), 0, np.inf)]),
        ("b1=500", [((1, 0), 500, 500)]),
        ("b1 + b2 <= 2.5e2", [((1, 1), -np.inf, 250)]),
        ("10 <= B1 <= b2", [((-1, 0), -np.inf, -10), ((1, -1), -np.inf, 0)]),
        ("2*b1 - 0.5 b2 + 3 = -b1", [((3, -0.5), -3, -3)]),
    ],
)
def test_limits_are_read(text: str, limits: list[tuple[tuple[float, ...], float, float]]) -> None:
    assert [(one.factors, one.low, one.high) for one in parse_limits(text, 2, 1.0)] == limits


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("b1", "expected a relation"),
        ("b1 >=", "a side of it is empty"),
        ("b3 >= 1", "there is no level b3"),
        ("b1 >= x", "cannot read 'x'"),
        ("b1 b2 >= 1", "cannot read 'b2'"),
        ("b0 >= 1", "there is no level b0"),
        ("", "expected a relation"),
        ("5 >= 3", "'5 >= 3' is about no level"),
        ("b1 >= 2 <= 3", "'2 <= 3' is about no level"),
        ("b1 >= 1e999", "found 1e999, expected a number of at most 1e+12"),
    ],
)
def test_what_is_no_limit_is_refused(text: str, error: str) -> None:
    with pytest.raises(UsageError) as found:
        parse_limits(text, 2, 1.0)
    assert error in found.value.message
