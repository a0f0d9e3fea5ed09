"""The table of gains in docs/fusion.md: it is that of today, and nothing in it is worse than without."""

import pytest

from tests.docs.study_fusion import NETWORKS, SIZES, lines_of_page, row


@pytest.mark.long
@pytest.mark.parametrize("mib", SIZES)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_row_is_up_to_date(network: str, mib: int) -> None:
    assert row(network, mib) in lines_of_page(), "run: python -m tests.docs.study_fusion"


def cells() -> dict[tuple[str, int], list[float]]:
    """The numbers of the table by network and size."""
    found: dict[tuple[str, int], list[float]] = {}
    for line in lines_of_page()[2:]:
        network, mib, *rest = (cell.strip() for cell in line.split("|")[1:-1])
        assert not any(cell.startswith("+") for cell in rest), "it is worse than without"
        found[network, int(mib)] = [float(cell.replace(",", "")) for cell in rest]
    return found


def test_a_row_each() -> None:
    assert list(cells()) == [(network, mib) for network in NETWORKS for mib in SIZES]


def test_what_the_page_says_of_them() -> None:
    found = cells()
    for (network, mib), (_, kept, fused, _, kept_traffic, fused_traffic, *_) in found.items():
        if mib <= 4:
            assert fused >= kept, network
            assert fused_traffic >= kept_traffic, network
    assert found["resnet50", 64][1] > found["resnet50", 64][2]
    assert found["bert_base", 64][1] > found["bert_base", 64][2]
    assert found["gpt2", 64][2] > found["gpt2", 64][1]
    assert found["unet", 64][2] > found["unet", 64][1]
