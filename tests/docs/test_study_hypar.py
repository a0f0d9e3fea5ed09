"""The page of the study of hybrid parallelism: its tables are those of a run, and what it says follows from them."""

import re

import pytest

from npuc.compiler.core.options import Strategy
from npuc.studies.hypar.networks import HyparNetwork, gigabytes
from npuc.studies.hypar.platform import platform_of
from npuc.studies.hypar.results import needed_seconds, peak_seconds
from npuc.studies.hypar.settings import SCALES, published
from npuc.studies.hypar.study import plan_study, result_of, run_study
from npuc.studies.hypar.view import value_text
from tests.docs.pages import FOLDER, read_page
from tests.docs.study_hypar import PICTURE, tables
from tests.docs.tables import begin, end
from tests.support.shared import hypar_results

PAGE = read_page("study-hypar")
SIZE_LIMIT = 250_000
PEAK = 84e9


def lines_of(name: str) -> list[str]:
    """The rows of a table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].splitlines()[2:]


def test_a_network_is_as_in_the_tables() -> None:
    """Of two; scaling is of VGG-A, of which plans take a moment, and the table of links has means over all."""
    for name, rows in tables(hypar_results()).items():
        own = list(rows)[2:]
        assert own
        if name not in ("scaling", "links"):
            assert set(own) <= set(lines_of(name)), "run: python -m tests.docs.study_hypar"


@pytest.mark.long
def test_all_tables_are_up_to_date() -> None:
    for name, rows in tables(run_study(plan_study())).items():
        assert list(rows)[2:] == lines_of(name), "run: python -m tests.docs.study_hypar"


def test_bytes_are_as_in_the_table_of_scaling() -> None:
    network = HyparNetwork("VGG-A", "samples:vgg_a")
    strategies: tuple[Strategy, ...] = ("dp", "hypar")
    for strategy in strategies:
        plans = [network.plan(strategy, "published", devices) for devices in SCALES[1:]]
        cells = ["0", *(value_text(gigabytes(planned)) for planned in plans)]
        assert f"| `{strategy}`, GB | {' | '.join(cells)} |" in lines_of("scaling")


def test_what_is_reproduced_of_the_tables() -> None:
    missed = {
        (row.split("|")[1].strip(), number)
        for row in lines_of("communication")
        for number, cell in enumerate(row.split("|")[2:])
        if "**" in cell
    }
    assert missed == {(name, 1) for name in published()}


@pytest.mark.heavy
def test_what_is_said_of_vgg_a() -> None:
    base, other = (
        result_of(HyparNetwork("VGG-A", "samples:vgg_a"), strategy, "published", platform_of())
        for strategy in ("dp", "hypar")
    )
    assert base.step.cost is not None
    peak, moved = peak_seconds(base.step, PEAK), base.step.cost.communication
    assert f"{peak:.2f} s" in PAGE
    assert moved == pytest.approx(5, abs=0.05)
    assert (peak + moved) / peak < 1.6
    assert "0.56 s" in PAGE
    assert needed_seconds(base, other, published()["VGG-A"].performance["hypar"]) == pytest.approx(0.56, abs=0.005)
    assert peak / 0.56 == pytest.approx(15, abs=0.5)
    owt = result_of(HyparNetwork("VGG-A", "samples:vgg_a"), "owt", "published", platform_of())
    assert other.step.cost is not None
    assert owt.step.cost is not None
    assert owt.gb / other.gb == pytest.approx(1.015, abs=5e-4)
    assert owt.step.cost.communication / other.step.cost.communication == pytest.approx(0.91, abs=5e-3)


@pytest.mark.heavy
def test_what_is_said_of_alexnet() -> None:
    network = HyparNetwork("AlexNet", "samples:alexnet_hypar")
    base, other = (result_of(network, strategy, "published", platform_of()) for strategy in ("dp", "hypar"))
    work = needed_seconds(base, other, published()["AlexNet"].performance["hypar"])
    assert work is not None
    assert round(peak_seconds(base.step, PEAK) / work) == 3


def test_what_is_said_of_topologies() -> None:
    cells = {
        row.split("|")[1].strip(): [cell.strip() for cell in row.split("|")[2:-1]] for row in lines_of("topologies")
    }
    assert all(float(cell.split()[0].strip("*")) > 1 for own in cells.values() for cell in own[:2] if cell[0] != "-")
    mean = [float(cell.split()[0].strip("*")) for cell in cells["gmean"]]
    assert f"gains {mean[2] - 1:.1%} in the mean, of which knowing the torus is\n{mean[3] - 1:.1%}" in PAGE
    assert cells["AlexNet"][-1] == "3.132 (3.27)"
    assert "of AlexNet 3.13, where the paper has 3.27" in PAGE
    readings = [[float(cell) for cell in row.split("|")[2:-1]] for row in lines_of("links")]
    assert [own[3] > 1 for own in readings] == [own[2] > 1 for own in readings] == [True, False, True]


def test_the_figure_is_there_and_small() -> None:
    assert re.findall(r"!\[.*?\]\((.*?)\)", PAGE) == [f"figures/{PICTURE.name}"]
    text = (FOLDER / "figures" / PICTURE.name).read_text(encoding="utf-8")
    assert "speed of VGG-A over one accelerator" in text
    assert len(text) < SIZE_LIMIT
