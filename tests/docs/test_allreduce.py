"""The table of measured all-reduces is that of the program, and what the page says about it holds."""

import pytest

from tests.docs.allreduce import LARGE, errors, fitted, judged, mean, measured, with_table
from tests.docs.pages import read_page

ODD = (3, 5, 7)


def test_the_table_is_up_to_date() -> None:
    text = read_page("validation")
    assert with_table(text) == text, "run: python -m tests.docs.allreduce"


def test_large_messages_of_other_numbers_of_devices() -> None:
    large = errors("a100", "switch", judged("a100", ODD, large=True))
    assert max(map(abs, large)) < 0.12
    assert mean(large) < 0.035
    assert mean(errors("a100", "switch", judged("a100", ODD))) < 0.08
    assert fitted("a100", "switch")[1] / 300 == pytest.approx(0.72, abs=0.01)


def test_small_messages_hardly_take_longer_up_to_4_mib() -> None:
    times = {row.bytes: row.time_us for row in measured("a100") if row.devices == 8}
    assert times[4 << 20] < 1.03 * times[1 << 20]
    small = {n: errors("a100", "switch", judged("a100", (n,), large=False)) for n in (2, 5)}
    assert all(-0.39 < error < -0.285 for error in small[2])
    assert all(0.085 < error < 0.345 for error in small[5])


def test_groups_of_a_node_of_v100_have_bandwidths_of_their_own() -> None:
    found = {
        row.devices: round(2 * row.bytes * (row.devices - 1) / row.devices / row.time_us / 1e3)
        for row in measured("v100")
        if row.bytes == 1 << 30
    }
    assert {n: found[n] for n in (2, 4, 5, 8)} == {2: 23, 4: 85, 5: 37, 8: 134}
    assert mean(errors("v100", "switch", judged("v100", ODD, large=True))) > 0.2
    assert LARGE == 16 << 20
