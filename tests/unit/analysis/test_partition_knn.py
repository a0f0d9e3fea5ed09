"""The predictor of partitions: what it learns from, what it says, how good it is on layers that it has not seen."""

from dataclasses import replace
from fractions import Fraction

import pytest

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.schedule.partition_knn import SCHEMES, Label, evaluate, labels, labels_for, predict
from npuc.studies.igo.labels import label_rows
from npuc.studies.igo.settings import SMALL

CHIPS = [("large", 1), ("large", 2), ("large", 4), ("large", 8), ("small", 1)]
MACHINE = Machine(Array(128, 128), 4 << 20, Fraction(150_000, 1050), 1050.0, 128)


@pytest.mark.parametrize(("npu", "cores"), CHIPS)
def test_labels_are_whole(npu: str, cores: int) -> None:
    known = labels(npu, cores)
    assert len(known) > 90
    assert len({(label.m, label.n, label.k) for label in known}) == len(known)
    assert all((label.times[0] < float("inf")) == (cores == 1) for label in known)


def test_labels_are_what_the_command_writes() -> None:
    """For the first layers: the file is the output of the command."""
    for row, label in zip(label_rows(SMALL), labels("small")[:6], strict=False):
        assert [int(row[d]) for d in "mnk"] == [label.m, label.n, label.k]
        assert float(row["sequential"]) == label.sequential
        assert [float(row[f"time_{scheme}"] or "inf") for scheme in SCHEMES] == list(label.times)


@pytest.mark.parametrize(("npu", "cores"), CHIPS)
def test_a_known_layer_is_its_own_neighbour(npu: str, cores: int) -> None:
    known = labels(npu, cores)
    for label in known[::7]:
        assert predict(label.m, label.n, label.k, known, 1) == SCHEMES[label.best]


def test_the_most_frequent_neighbour_wins_then_the_nearest() -> None:
    known = [
        Label(m, 64, 64, 1.0, times) for m, times in ((64, (9, 1, 9, 9)), (128, (9, 9, 1, 9)), (256, (9, 9, 1, 9)))
    ]
    assert predict(64, 64, 64, known, 1) == "m"
    assert predict(64, 64, 64, known, 2) == "m"
    assert predict(64, 64, 64, known, 3) == "n"


def test_near_equal_times_take_the_first_scheme() -> None:
    assert Label(1, 1, 1, 1.0, (1000.5, 1000.0, 2000.0, 2000.0)).best == 0
    assert Label(1, 1, 1, 1.0, (1005.0, 1000.0, 2000.0, 2000.0)).best == 1


def test_evaluation_is_the_same_every_time_and_has_sense() -> None:
    known = labels("large", 2)
    found = evaluate(known, repetitions=50)
    assert found == evaluate(known, repetitions=50)
    assert 0.5 < found.accuracy < 1
    assert 0 < found.regret < 0.1
    assert found.oracle < found.predicted < 1


def test_one_scheme_for_all_is_always_right() -> None:
    known = [replace(label, times=(1.0, 2.0, 3.0, 4.0)) for label in labels("small")]
    assert evaluate(known, repetitions=5).accuracy == 1
    assert evaluate(known, repetitions=5).regret == 0


def test_machines_learn_from_the_chip_most_like_them() -> None:
    assert labels_for(MACHINE) == labels("large", 1)
    assert labels_for(replace(MACHINE, array=Array(32, 32))) == labels("small", 1)
    assert labels_for(replace(MACHINE, cores=3)) == labels("large", 4)
    assert labels_for(replace(MACHINE, array=Array(32, 32), cores=2)) == labels("large", 2)
