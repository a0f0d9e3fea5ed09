"""Steps of npuc's own programs in the study of collectives in chunks: their collectives, layers, groups and times."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import prod

import pytest

from npuc.studies.themis.programs import OwnStep, group_levels, own_step
from npuc.studies.themis.settings import PROGRAMS, TOPOLOGIES, OwnProgram, network
from npuc.studies.themis.study import ThemisResults, run_study
from npuc.studies.themis.view import to_json

DLRM, TRANSFORMER = PROGRAMS
FILE_EXCHANGE, FILE_SUMS = 4_194_304, 114_823_168
"""Bytes of the all-to-alls and of the all-reduce in the authors' file of DLRM."""


@pytest.fixture(scope="module")
def study() -> ThemisResults:
    return run_study()


@pytest.fixture(scope="module")
def transformer() -> OwnStep:
    return own_step(TRANSFORMER)


def test_dlrm_exchanges_what_the_authors_file_has() -> None:
    step = own_step(DLRM)
    biases = 6 * 1024 + 64 + 11 * 2048 + 1
    assert step.transfers == {("all_to_all", FILE_EXCHANGE): 2, ("all_reduce", 2): 1}, "and the loss"
    assert step.group_sums == FILE_SUMS + 2 * biases
    assert step.copy_sums == 0
    weights = 1600 * 1024 + 5 * 1024**2 + 1024 * 64 + 65 * 64 * 2048 + 10 * 2048**2 + 2048
    # the first layer's input has no gradient; a MAC is two operations
    least = 2 * 512 * (3 * weights - 1600 * 1024) / (60e12 / 0.26)
    assert least < step.work < 1.5 * least


def test_the_transformer_has_a_trillion_parameters_and_four_all_reduces_a_layer(transformer: OwnStep) -> None:
    tokens, width, layers = 16 * 2048, 25600, 128
    shared = layers * (12 * width**2 + 7 * width) + (51200 + 2048) * width
    of_all = layers * 6 * width + 2 * width  # norms, and biases of what is summed
    assert transformer.copy_sums == 2 * (shared // 128 + of_all)
    assert shared + of_all == pytest.approx(1.008e12, rel=1e-3)
    assert transformer.transfers["all_reduce", 2 * tokens * width] == 4 * layers + 1
    assert 1.4 < transformer.work / products_s() < 1.6, "norms and sums wait for DRAM"


def products_s() -> float:
    """The seconds of the transformer's products of matrices, all of those of attention, causal or not."""
    tokens, width, layers = 16 * 2048, 25600, 128
    macs = 3 * tokens * (12 * layers * width**2 + 51200 * width + layers * 2 * 2048 * width) / 128
    return 2 * macs / (60e12 / 0.26)


def test_by_products_alone_the_transformer_gains_more(study: ThemisResults) -> None:
    own = [one for one in study.programs if one.program == TRANSFORMER.name]
    gains = [replace(one, work_s=products_s()).speedup for one in own]
    assert (round(sum(gains) / len(gains), 2), round(max(gains), 2)) == (1.23, 1.48), "docs/study-themis.md"


def test_layers_that_are_repeated_are_those_of_a_longer_network() -> None:
    small = replace(TRANSFORMER, defines={**TRANSFORMER.defines, "width": 2560, "length": 256, "max_length": 256})
    three = own_step(replace(small, layers=3))
    whole = own_step(replace(small, layers=None, defines={**small.defines, "layers": 3}))
    assert three.transfers == whole.transfers
    assert (three.group_sums, three.copy_sums) == (whole.group_sums, whole.copy_sums)
    assert three.work == pytest.approx(whole.work, rel=1e-3), "the cache holds other values at the ends of a network"


@pytest.mark.parametrize("group", [1024, 128, 16])
def test_groups_take_the_innermost_levels(group: int) -> None:
    for topology in TOPOLOGIES.values():
        inside, outside = group_levels(topology, group)
        assert prod(level.size for level in inside) == group
        assert prod(level.size for level in (*inside, *outside)) == 1024
        assert inside[0].byte_s == Fraction(1) / topology.levels[-1].bytes_per_s
    assert [[level.size for level in one] for one in group_levels(TOPOLOGIES["2D-SW_SW"], 128)] == [[16, 8], [8]]


def test_a_group_of_other_sizes_is_no_group() -> None:
    with pytest.raises(AssertionError, match="whole levels and a factor of the next one"):
        group_levels(network(("switch", 4, 100, 0), ("ring", 6, 100, 0)), 9)


def test_steps_are_no_slower_in_order(study: ThemisResults) -> None:
    assert len(study.programs) == len(PROGRAMS) * len(TOPOLOGIES)
    for one in study.programs:
        assert 0 < one.themis_s <= one.baseline_s * (1 + 1e-12)
        assert 1 <= one.speedup <= one.baseline_s / one.themis_s
        assert one.speedup == (one.work_s + one.baseline_s) / (one.work_s + one.themis_s)
    assert not study.warnings


def test_the_time_of_a_step_is_that_of_its_collectives(study: ThemisResults, transformer: OwnStep) -> None:
    """By hand for full chunks on 16 x 8 of equal rate: bytes of the inner level, or all over both at once."""
    (found,) = (one for one in study.programs if (one.program, one.topology[-4:]) == (TRANSFORMER.name, "homo"))
    size, rate = 2 * 16 * 2048 * 25600, 100e9
    inner, both = (2 * part * (1 - 1 / p) / rate for part, p in ((size, 16), (size / 2, 128)))
    copies = 2 * transformer.copy_sums * 7 / 8 / rate
    assert found.baseline_s == pytest.approx(513 * inner + copies, rel=0.02)
    assert found.themis_s == pytest.approx(513 * both + copies, rel=0.06)
    assert found.themis_s > 513 * both + copies


def test_rows_stand_beside_both_versions(study: ThemisResults) -> None:
    for program in PROGRAMS:
        gains = [one.speedup for one in study.programs if one.program == program.name]
        rows = [row for row in study.rows if row.setting.startswith(f"{program.name}, our program; ")]
        figures = Counter((row.setting.rpartition("; ")[2], row.published, round(row.ours, 9)) for row in rows)
        ours = round(sum(gains) / len(gains), 9), round(max(gains), 9)
        expected = [(version, *pair) for version, known in program.published.items() for pair in zip(known, ours)]
        assert figures == Counter(expected)
        assert all(row.reproduced is None and row.note for row in rows)
        isca = program.published["ISCA 2022"]
        assert ours == pytest.approx(isca, rel=0.1), "near the published version"


def test_json_has_the_programs(study: ThemisResults) -> None:
    found = json.loads(to_json(study))["programs"]
    assert [one["speedup"] for one in found] == [one.speedup for one in study.programs]
    assert {one["program"] for one in found} == {"DLRM", "Transformer-1T"}


def test_programs_are_of_all_devices() -> None:
    assert all(isinstance(one, OwnProgram) and one.group * one.copies == 1024 for one in PROGRAMS)
