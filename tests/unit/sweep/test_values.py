"""Values of a key: lists, ranges, and what is said of wrong ones."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.sweep.values import read_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,4", ["1", "2", "4"]),
        ("1024:4096:1024", [1024, 2048, 3072, 4096]),
        ("1:8:3", [1, 4, 7]),
        ("8:1:-3", [8, 5, 2]),
        ("5:5:1", [5]),
        ("0.5:2:0.5", [0.5, 1.0, 1.5, 2.0]),
        ("0.5:0.9:0.1", [0.5, 0.6, 0.7, 0.8, 0.9]),
        ("1:2:0.5", [1.0, 1.5, 2.0]),
        ("1e3:3e3:1e3", [1000.0, 2000.0, 3000.0]),
        ("1:4:1,8,16", [1, 2, 3, 4, "8", "16"]),
        (' "a,b" , [1,2],c', ['"a,b"', "[1,2]", "c"]),
        ('"a:b"', ['"a:b"']),
    ],
)
def test_values(text: str, values: list[object]) -> None:
    found = read_values("k", text)
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,,2", "found an empty value"),
        ("1,", "found an empty value"),
        ("1:2", "expected LO:HI:STEP"),
        ("1:2:3:4", "expected LO:HI:STEP"),
        ("1:x:1", "'x' is no number"),
        ("1::1", "'' is no number"),
        ("1:2:nan", "'nan' is no number"),
        ("1:inf:1", "'inf' is no number"),
        ("1:9e999:1", "'9e999' is no number"),
        ("1:8:0", "the step is 0"),
        ("1:8:0.0", "the step is 0"),
        ("1:8:-1", "from 1 up to 8 the step must be above 0"),
        ("8:1:1", "from 8 down to 1 the step must be below 0"),
        ("1:1e18:1", "the sweep has 1,000,000,000,000,000,000 points, the most is 100,000"),
        ("1:90000:1,1:90000:1", "the sweep has 180,000 points"),
    ],
)
def test_wrong_values(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_values("k", text)
    assert message in caught.value.message


def test_words_are_no_ranges() -> None:
    assert read_values("hw", "C:\\a.toml,b", words=True) == ["C:\\a.toml", "b"]


@given(
    low=st.decimals(-1000, 1000, places=3),
    step=st.decimals("0.001", 100, places=3),
    steps=st.integers(0, 200),
    down=st.booleans(),
)
def test_ranges_include_their_end_without_drift(low: Decimal, step: Decimal, steps: int, down: bool) -> None:
    """Every value is the float nearest to the decimal, the last one is HI itself, and none is beyond."""
    step = -step if down else step
    high = low + steps * step
    values = read_values("k", f"{low}:{high}:{step}")
    assert values == [float(low + number * step) for number in range(steps + 1)]
    assert values[-1] == float(high)
    assert all(isinstance(value, float) for value in values)


@given(low=st.integers(-1000, 1000), step=st.integers(1, 50), steps=st.integers(0, 200), more=st.integers(0, 49))
def test_integers_stay_integers(low: int, step: int, steps: int, more: int) -> None:
    high = low + steps * step + more % step
    values = read_values("k", f"{low}:{high}:{step}")
    assert values == list(range(low, high + 1, step))
    assert all(isinstance(value, int) for value in values)
