"""The page on what goes beyond interleaving: its tables are what the networks cost today."""

import pytest

from npuc.studies.igo.networks import study_networks
from tests.docs.beyond import TABLES, row
from tests.docs.pages import read_page
from tests.docs.tables import begin, end


@pytest.mark.parametrize("table", TABLES)
def test_a_network_is_as_in_the_table(table: str) -> None:
    """The smallest of the nine."""
    (network,) = (one for one in study_networks() if (one.npu, one.model) == ("small", "ncf"))
    rows = read_page("beyond").split(begin(table))[1].split(end(table))[0]
    assert row(network, TABLES[table]) in rows, "run: python -m tests.docs.beyond"
