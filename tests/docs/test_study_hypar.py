"""The page of the study of hybrid parallelism: its tables are those of a run, and what it says follows from them."""

import re

import pytest

from npuc.compiler.core.options import Strategy
from npuc.studies.hypar.networks import HyparNetwork, gigabytes
from npuc.studies.hypar.results import needed_seconds, peak_seconds
from npuc.studies.hypar.settings import SCALES, published
from npuc.studies.hypar.study import plan_study, result_of, run_study
from npuc.studies.hypar.view import value_text
from tests.docs.pages import FOLDER, read_page
from tests.docs.study_hypar import PICTURE, tables
from tests.docs.tables import begin, end

PAGE = read_page("study-hypar")
SIZE_LIMIT = 250_000


def lines_of(name: str) -> list[str]:
    """The rows of a table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].splitlines()[2:]


def test_a_network_is_as_in_the_tables() -> None:
    """Of SFC; scaling is of VGG-A, of which plans take a moment."""
    for name, rows in tables(run_study(plan_study("published", ["SFC"]))).items():
        own = list(rows)[2:]
        assert own
        if name != "scaling":
            assert set(own) <= set(lines_of(name)), "run: python -m tests.docs.study_hypar"


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


def test_what_is_said_of_vgg_a() -> None:
    base, other = (
        result_of(HyparNetwork("VGG-A", "samples:vgg_a"), strategy, "published") for strategy in ("dp", "hypar")
    )
    assert base.step.cost is not None
    peak, moved = peak_seconds(base.step), base.step.cost.communication
    assert f"{peak:.2f} s" in PAGE
    assert moved == pytest.approx(5, abs=0.05)
    assert (peak + moved) / peak < 1.6
    assert "0.56 s" in PAGE
    assert needed_seconds(base, other, published()["VGG-A"].performance["hypar"]) == pytest.approx(0.56, abs=0.005)
    assert peak / 0.56 == pytest.approx(15, abs=0.5)
    owt = result_of(HyparNetwork("VGG-A", "samples:vgg_a"), "owt", "published")
    assert other.step.cost is not None
    assert owt.step.cost is not None
    assert owt.gb / other.gb == pytest.approx(1.015, abs=5e-4)
    assert owt.step.cost.communication / other.step.cost.communication == pytest.approx(0.91, abs=5e-3)


def test_what_is_said_of_alexnet() -> None:
    network = HyparNetwork("AlexNet", "samples:alexnet_hypar")
    base, other = (result_of(network, strategy, "published") for strategy in ("dp", "hypar"))
    work = needed_seconds(base, other, published()["AlexNet"].performance["hypar"])
    assert work is not None
    assert round(peak_seconds(base.step) / work) == 3


def test_the_figure_is_there_and_small() -> None:
    assert re.findall(r"!\[.*?\]\((.*?)\)", PAGE) == [f"figures/{PICTURE.name}"]
    text = (FOLDER / "figures" / PICTURE.name).read_text(encoding="utf-8")
    assert "speed of VGG-A over one accelerator" in text
    assert len(text) < SIZE_LIMIT
