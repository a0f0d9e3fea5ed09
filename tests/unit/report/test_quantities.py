"""Quantities in tables: three significant digits with their unit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.report.text.quantities import (
    bytes_cell,
    bytes_cells,
    count_cell,
    energy_cell,
    percent_cell,
    three_digits,
    time_cell,
    time_cells,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.0, "0"),
        (5.2994e-3, "5.30 ms"),
        (31.017e-3, "31.0 ms"),
        (618.2e-3, "618 ms"),
        (0.99951, "1.00 s"),
        (0.9994, "999 ms"),
        (12_345.0, "12,345 s"),
        (9.52e-10, "952 ps"),
        (3.1e-13, "0.310 ps"),
        (628e-9, "628 ns"),
    ],
)
def test_times(seconds: float | None, text: str) -> None:
    assert time_cell(seconds) == text


def test_data_and_counts() -> None:
    assert [bytes_cell(n) for n in (128, 1023, 1024, 3 << 19, 3_489_660_928)] == [
        "128 B",
        "1,023 B",
        "1.00 KiB",
        "1.50 MiB",
        "3.25 GiB",
    ]
    assert [count_cell(n) for n in (7, 49_152, 7_553_000_000, 3.5e12)] == ["7.00", "49.2 k", "7.55 G", "3.50 T"]
    assert energy_cell(0.2352) == "235 mJ"
    assert [percent_cell(share) for share in (None, 0.3617, 1.0)] == ["", "36.2", "100.0"]


def test_side_by_side_they_have_one_unit() -> None:
    assert time_cells([1.21e-3, 85.3e-6, None, 82.7e-3]) == ["1.21 ms", "0.0853 ms", "", "82.7 ms"]
    assert bytes_cells([0, 512, 2048]) == ["0", "0.500 KiB", "2.00 KiB"]


@given(st.floats(1e-12, 1e12))
def test_three_significant_digits(value: float) -> None:
    text = three_digits(value)
    assert math.isclose(float(text.replace(",", "")), value, rel_tol=5.001e-3)
    assert len(text.replace(",", "").replace(".", "").lstrip("0")) >= 3
