"""The page on what goes beyond interleaving: its tables are what the networks cost today."""

import pytest

from npuc.studies.igo.networks import study_networks
from tests.docs.beyond import TABLES, footprint_row, row
from tests.docs.pages import read_page
from tests.docs.tables import begin, end


@pytest.mark.parametrize("table", TABLES)
def test_a_network_is_as_in_the_table(table: str) -> None:
    """The smallest of the nine."""
    (network,) = (one for one in study_networks() if (one.npu, one.model) == ("small", "ncf"))
    rows = read_page("beyond").split(begin(table))[1].split(end(table))[0]
    assert row(network, TABLES[table]) in rows, "run: python -m tests.docs.beyond"


@pytest.mark.slow
def test_windows_are_as_in_the_table() -> None:
    """Of the network that compiles in a moment."""
    (network,) = (one for one in study_networks() if (one.npu, one.model) == ("small", "yolo"))
    rows = read_page("beyond").split(begin("footprint"))[1].split(end("footprint"))[0]
    assert footprint_row(network) in rows, "run: python -m tests.docs.beyond"
