"""The study `aespa`: its products, what its rows are beside the model, and what it refuses."""

import csv
import json
from functools import cache
from io import StringIO
from math import prod
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler.analysis.hetero.unit import unit_cost
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.studies.aespa.kernels import all_kernels, kernels_of
from npuc.studies.aespa.settings import GROUPS, PUBLISHED
from npuc.studies.aespa.study import homogeneous, machine_named
from npuc.studies.base import STUDIES, Asked


@cache
def found(preset: str, hardware: str | None = None) -> dict[str, Any]:
    plan = STUDIES.get("aespa").plan(Asked(preset, hardware=hardware))
    done: list[str] = []
    outcome = plan.run(lambda name, points: done.extend([name] * points))
    assert len(done) == plan.points == len(kernels_of(preset))
    lines = [*csv.DictReader(StringIO(outcome.csv()))]
    assert [line["kernel"] for line in lines] == done
    return json.loads(outcome.json())


def test_there_are_at_least_twelve_products_with_sources() -> None:
    kernels = all_kernels()
    assert len({kernel.product.name for kernel in kernels}) == len(kernels) >= 12
    assert {kernel.group for kernel in kernels} == {*GROUPS}
    assert all(len(kernel.source) > 20 for kernel in kernels)
    edges = {kernel.product.name: kernel.product for kernel in kernels}["cora_aggregate"]
    assert edges.a * edges.m * edges.k == 10556 + 2708


def test_rows_are_those_of_the_model() -> None:
    machine, _ = machine_named(None)
    one_kind = homogeneous(machine)
    for row, kernel in zip(found("graphs")["rows"], kernels_of("graphs"), strict=True):
        before = unit_cost(one_kind.units[0], kernel.product)
        alone = {unit.name: unit_cost(unit, kernel.product).seconds(machine) for unit in machine.units}
        assert row["homogeneous_us"] == pytest.approx(1e6 * before.seconds(one_kind))
        assert row["homogeneous_uj"] == pytest.approx(1e6 * before.joules(one_kind))
        assert row["best_unit_us"] == pytest.approx(1e6 * min(alone.values()))
        assert alone[row["best_unit"]] == min(alone.values())
        assert row["heterogeneous_us"] <= row["best_unit_us"]
        assert row["speedup"] == pytest.approx(row["homogeneous_us"] / row["heterogeneous_us"])
        energy = row["homogeneous_uj"] / row["heterogeneous_uj"]
        assert row["edp_gain"] == pytest.approx(row["speedup"] * energy)
        cut = kernel.product.m if row["axis"] is None else kernel.product.size(row["axis"])
        assert sum(size for _, size in row["shares"]) == cut


def test_means_are_geometric_and_beside_what_is_published() -> None:
    study = found("scientific")
    speeds = [row["speedup"] for row in study["rows"]]
    mean = next(one for one in study["means"] if one["claim"] == "speed")
    assert mean["ours"] == pytest.approx(prod(speeds) ** (1 / len(speeds)))
    without = [prod(speeds) / one for one in speeds]
    assert mean["least"] == pytest.approx(min(without) ** (1 / (len(speeds) - 1)))
    assert mean["most"] == pytest.approx(max(without) ** (1 / (len(speeds) - 1)))
    assert mean["published"] is None


def test_a_machine_of_several_kinds_is_faster_where_densities_are_mixed() -> None:
    """And does not reproduce what is published: one product more or less moves the mean by more than the tolerance."""
    means = {(one["claim"], one["setting"]): one for one in found("all")["means"]}
    count = len(all_kernels())
    for claim, published in PUBLISHED.items():
        mean = means[claim, f"geometric mean of {count} products, all"]
        assert mean["published"] == published
        assert mean["ours"] > 1
        assert mean["reproduced"] is False


def test_the_spread_over_masks_is_small_for_large_products() -> None:
    assert all(0 <= row["work_deviation"] < 0.01 for row in found("networks")["rows"])


def test_another_machine(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        'name = "two"\nclock_mhz = 1000\n[dram]\ngb_per_s = 100\n[energy]\ndram_pj_per_byte = 40\n'
        + "".join(
            f'[[units]]\nname = "{name}"\nkind = "{kind}"\npes = 64\nbuffer_kib = 64\nmac_pj = 1\n'
            "buffer_pj_per_byte = 1\narea_mm2 = 2\n"
            for name, kind in (("t", "dense"), ("r", "row-wise"))
        )
    )
    study = found("scientific", str(file))
    assert [unit["name"] for unit in study["units"]] == ["t", "r"]
    assert {row["best_unit"] for row in study["rows"]} == {"r"}


def test_it_prints_and_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_command(["study", "aespa", "--preset", "networks", "-q"]) == 0
    out = capsys.readouterr().out
    assert "vgg16_fc6" in out
    assert "HARD TACO, which writes the RTL of units, is a description here" in " ".join(out.split())
    pytest.importorskip("matplotlib")
    target = tmp_path / "gains.svg"
    assert run_command(["study", "aespa", "--preset", "networks", "-q", "--plot", str(target)]) == 0
    assert "vgg16_fc6" in target.read_text() or target.stat().st_size > 5000


def test_a_machine_without_units_is_refused_before_anything_is_computed() -> None:
    with pytest.raises(UsageError, match="hardware 'nvdla' has no units") as error:
        STUDIES.get("aespa").plan(Asked("all", hardware="nvdla"))
    assert error.value.hint == "a machine with [[units]], for example aespa or eie-like"
