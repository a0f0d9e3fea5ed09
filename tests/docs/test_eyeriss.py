"""The table beside the measured chip is that of the program, and what the page says about it holds."""

from tests.docs.eyeriss import layers, with_table
from tests.docs.pages import read_page


def test_the_table_is_up_to_date() -> None:
    text = read_page("validation")
    assert with_table(text) == text, "run: python -m tests.docs.eyeriss"


def test_claims_about_layers() -> None:
    """As many elements at work as on the chip, and times between -10 and +20 % of its own."""
    for layer in layers():
        assert layer.elements["npuc"] == layer.chip_elements, layer.name
        assert 0.9 <= layer.ms("npuc") / layer.chip_ms <= 1.2, layer.name
        # No element does more than a multiply-accumulate a cycle.
        assert layer.macs <= layer.elements["npuc"] * (layer.rows["npuc"].compute_cycles or 0)
    _, second, _, fourth, fifth = layers()
    assert [layer.rows["npuc"].native["folds"] for layer in (second, fourth, fifth)] == [1536, 576, 384]
    assert round(second.macs / 135 / 200e3, 1) == 33.2
