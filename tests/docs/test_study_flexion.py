"""The page of the study of flexibility: its tables are those of a run, and what it says follows from them."""

import re

import pytest

from npuc.studies.flexion.settings import EVALUATIONS, MACHINES, MACHINES_EACH, NETWORKS, PUBLISHED_GAIN
from npuc.studies.flexion.study import MEAN, geometric_mean, plan_study, run_study
from tests.docs.pages import read_page
from tests.docs.study_flexion import PUBLISHED_RATIOS, machine_rows, tables, training_tables
from tests.docs.tables import begin, end

PAGE = read_page("study-flexion")
LATER = [network.name for network in NETWORKS if network.age == "later"]


def lines_of(name: str) -> list[str]:
    """The rows of a table of the page."""
    return PAGE.split(begin(name))[1].split(end(name))[0].splitlines()[2:]


def numbers_of(name: str) -> dict[str, list[float]]:
    """The numbers of a table by network."""
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in lines_of(name)]
    return {one[0]: [float(cell) for cell in one[1:]] for one in cells}


@pytest.mark.long
def test_all_tables_are_up_to_date() -> None:
    for name, rows in tables(run_study(plan_study())).items():
        assert list(rows)[2:] == lines_of(name), "run: python -m tests.docs.study_flexion"


@pytest.mark.long
def test_tables_of_training_are_up_to_date() -> None:
    for name, rows in training_tables(run_study(plan_study("training"))).items():
        assert list(rows)[2:] == lines_of(name), "run: python -m tests.docs.study_flexion training"


@pytest.mark.long
def test_machines_under_constraints_are_up_to_date() -> None:
    found = list(machine_rows())[2:]
    assert found == lines_of("constrained"), "run: python -m tests.docs.study_flexion machines"
    for row in found[-2 * len(PUBLISHED_RATIOS) :]:  # the other way, as the page says
        assert all(float(cell) < 1 for cell in row.split("|")[3:-1])


@pytest.mark.parametrize("name", ["small", "large", "training small", "training large"])
def test_more_choice_is_never_slower(name: str) -> None:
    found = numbers_of(name)
    assert list(found) == [*(network.name for network in NETWORKS), MEAN]
    for *single, every, designed, over, fixed in found.values():
        assert min(single) >= 1
        assert max(*single, designed) <= every
        assert every == pytest.approx(fixed / over, rel=0.02)
        assert over >= 1


@pytest.mark.parametrize("name", ["small", "large", "training small", "training large"])
def test_means_are_over_the_later_networks(name: str) -> None:
    found = numbers_of(name)
    for number, mean in enumerate(found[MEAN]):
        assert mean == pytest.approx(geometric_mean([found[one][number] for one in LATER]), abs=0.01)


def test_what_is_said_of_the_gains() -> None:
    small, large = (numbers_of(name)[MEAN][4] for name in ("small", "large"))
    assert f"gains {small:.2f} on the small machine and {large:.2f} on the large one" in re.sub(r"\s+", " ", PAGE)
    assert small < large < PUBLISHED_GAIN


def test_what_is_said_of_the_machines() -> None:
    first, second = (one["maestro"] for one in MACHINES)
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert (first["num_pes"], second["num_pes"]) == (1024, 16384)
    assert f"{MACHINES_EACH * EVALUATIONS:,} by the genetic search" in PAGE
    assert f"{EVALUATIONS} mappings of each distinct contraction" in PAGE
