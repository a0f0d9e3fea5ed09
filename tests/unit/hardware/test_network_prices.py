"""Prices of a network's levels: what counts for which kind, and what is refused."""

from fractions import Fraction

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.hardware import load_hardware
from npuc.hardware.network import network_of

LEVEL = {"size": 4, "gb_per_s": 2}


def price(**level: object) -> Fraction | None:
    machine = load_hardware({"network.levels": [{**LEVEL, **level}]})
    (found,) = network_of(machine, backend="test").levels
    return found.usd_per_byte_per_s


def test_prices_of_links_switch_and_nic_add_up() -> None:
    assert price(kind="ring") is None
    assert price(kind="ring", link_usd_per_gb_per_s=0) == 0
    assert price(kind="ring", link_usd_per_gb_per_s=2.5) == Fraction(5, 2) / 10**9
    assert price(kind="fc", link_usd_per_gb_per_s=4, nic_usd_per_gb_per_s=31.6) == Fraction("35.6") / 10**9
    found = price(kind="switch", link_usd_per_gb_per_s=7.8, switch_usd_per_gb_per_s=18, nic_usd_per_gb_per_s=31.6)
    assert found == Fraction("57.4") / 10**9


@pytest.mark.parametrize(
    ("level", "error"),
    [
        ({"kind": "fc", "switch_usd_per_gb_per_s": 13}, "expected of kind 'switch' alone, got kind 'fc'"),
        ({"kind": "ring", "link_usd_per_gb_per_s": -1}, "link_usd_per_gb_per_s"),
        ({"kind": "ring", "nic_usd_per_gb_per_s": "much"}, "nic_usd_per_gb_per_s"),
        ({"kind": "ring", "usd_per_gb_per_s": 1}, "usd_per_gb_per_s"),
    ],
)
def test_wrong_prices(level: dict[str, object], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        price(**level)
