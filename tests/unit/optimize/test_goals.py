"""Goals and constraints as texts, and what is wrong with them."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.optimize.constraints import read_constraints
from npuc.compiler.explore.optimize.goals import read_goals


def test_goals_are_metrics_to_be_small_or_large() -> None:
    time, used, cycles = read_goals(["time", " max:utilization", "cycles"], by_mac=False)
    assert [time.name, used.name, cycles.name] == ["time", "max:utilization", "cycles"]
    numbers = {"seconds": 2.0, "utilization": 0.25, "cycles": 7}
    assert [one.amount(numbers) for one in (time, used, cycles)] == [2.0, 0.25, 7.0]
    assert used.small(0.25) == -0.25
    assert read_goals(["energy"], by_mac=False)[0].amount(numbers) is None
    assert read_goals(["time"], by_mac=True)[0].amount(numbers | {"work": 4}) == 0.5


@pytest.mark.parametrize(
    ("goals", "message", "hint"),
    [
        (["tim"], "there is no metric 'tim'", "did you mean 'time'?"),
        (["utilization"], "less of it is worse", "--goals max:utilization"),
        (["time", "max:time"], "time is there twice", None),
        (["time", ""], "an empty name", "--goals time,energy,area"),
        ([], "there is no goal", "--goals time,energy,area"),
    ],
)
def test_goals_that_cannot_be(goals: list[str], message: str, hint: str | None) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        read_goals(goals, by_mac=False)
    assert raised.value.hint == hint


def test_constraints_have_metrics_limits_and_units() -> None:
    time, area, memory, used = read_constraints(["time < 5 ms, area<=10", "memory >= 2MiB and utilization > 30%"])
    assert (time.least, area.most, memory.least) == (-inf, 10.0, 2 * 2**20)
    assert time.excess({"seconds": 0.005}) == 0.0 or time.most < 0.005
    assert area.excess({"area_mm2": 10.0}) == 0.0
    assert area.excess({"area_mm2": 15.0}) == 0.5
    assert memory.excess({"peak_bytes": 2**20}) == 0.5
    assert used.excess({"utilization": 0.31}) == 0.0
    assert used.excess({"seconds": 1.0}) is None
    assert [one.text for one in (time, area, memory)] == ["time < 5 ms", "area<=10", "memory >= 2MiB"]


@given(st.sampled_from(["<", "<=", ">", ">="]), st.integers(-50, 50), st.integers(-50, 50))
def test_a_comparison_holds_as_it_is_written(sign: str, limit: int, amount: int) -> None:
    (one,) = read_constraints([f"cycles {sign} {limit}"])
    holds = {"<": amount < limit, "<=": amount <= limit, ">": amount > limit, ">=": amount >= limit}[sign]
    assert (one.beyond(float(amount)) == 0) == holds


@pytest.mark.parametrize(
    ("text", "col", "message"),
    [
        ("aera < 10", 1, "there is no metric 'aera'"),
        ("area = 10", 6, "found '=', expected <, <=, > or >="),
        ("area < ten", 8, "found 'ten', expected a number"),
        ("area <", 7, "it ends where a number is expected"),
        ("area", 5, "it ends where <, <=, > or >= is expected"),
        ("< 3", 1, "found '<', expected a metric"),
        ("area < 3 furlongs", 10, "there is no unit 'furlongs'"),
        ("area < 3mm3", 9, "there is no unit 'mm3'"),
        ("area < 3; time < 2", 9, "there is no unit ';'"),
        ("area < 3,", 10, "it ends where a metric is expected"),
        ("area < 3 mm2 time < 2", 14, "found 'time', expected ',' or 'and'"),
        ("", 1, "it ends where a metric is expected"),
        ("area < nan", 8, "found 'nan', expected a number"),
        ("area < 1e999", 8, "found '1e999', expected a number"),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, col: int, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_constraints([text])
    error = raised.value
    assert (error.message, error.location and error.location.col) == (message, col)
    assert error.location is not None
    assert error.location.file == "--constraint"
    assert error.source_line == text
