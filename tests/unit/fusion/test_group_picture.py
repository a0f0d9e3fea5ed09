"""A group over time: its micro-batches fill the time of its rows exactly; and its picture."""

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from npuc.compiler import compile_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.groups import layer_groups
from npuc.compiler.report.pictures.groups import draw_groups
from npuc.compiler.report.timeline.grouped import batch_cycles, batch_slices, load_slices, store_slices
from npuc.compiler.report.timeline.parts import TRACKS
from tests.unit.fusion.test_group_report import CHAIN, STEP, compiled, table

WALKED = """network walked(batch=2) {
  input x: f32[batch, 16, 56, 56]
  input t: f32[batch, 16, 56, 56]
  a = relu(conv2d(x, 16, kernel=3, padding=1))
  b = relu(conv2d(a, 16, kernel=3, padding=1))
  y = conv2d(b, 16, kernel=3, padding=1)
  loss mse(y, t)
}
"""


def test_of_a_group_that_walks_rows_the_mean_band_is_drawn() -> None:
    report = compile_source(
        WALKED, hardware="igo-small", overrides={"memory.spm_kib": 72}, opt_level=0, fuse_layers="dp"
    )
    groups = layer_groups(report)
    assert any(group.bands > 1 for group in groups)
    for group in groups:
        assert (group.bound_bytes or 0) <= group.dram_bytes
        before, after = (max((one.end for one in part(group)), default=0.0) for part in (load_slices, store_slices))
        assert before + group.micro_batches * group.bands * batch_cycles(group) + after == pytest.approx(group.cycles)
    assert "bands" in table(report)


@pytest.mark.parametrize("source", [CHAIN, STEP])
def test_loads_micro_batches_and_stores_are_the_time_of_a_group(source: str) -> None:
    for group in layer_groups(compiled(source)):
        loads, stores = load_slices(group), store_slices(group)
        before, after = (max((one.end for one in part), default=0.0) for part in (loads, stores))
        assert before + group.runs * batch_cycles(group) + after == pytest.approx(group.cycles)


@pytest.mark.parametrize("source", [CHAIN, STEP])
def test_no_resource_does_two_things_at_a_time(source: str) -> None:
    for group in layer_groups(compiled(source)):
        slices = batch_slices(group, double_buffer=True)
        assert {one.place for one in slices} == set(range(len(group.rows)))
        for track in range(1, len(TRACKS) + 1):
            own = [one for one in slices if one.track == track]
            assert all(0 <= one.begin <= one.end <= batch_cycles(group) + 1e-6 for one in own)
            assert all(one.end <= other.begin + 1e-6 for one, other in pairwise(own))


def test_an_array_works_in_a_micro_batch_its_part_of_all() -> None:
    (group,) = layer_groups(compiled(CHAIN))
    slices = batch_slices(group, double_buffer=True)
    for place, row in enumerate(group.rows):
        (work,) = (one for one in slices if one.place == place and TRACKS[one.track - 1] in ("array", "vector unit"))
        assert (work.end - work.begin) * group.runs == pytest.approx(row.compute_cycles)


def test_a_report_without_groups_has_no_picture() -> None:
    with pytest.raises(UsageError, match="no group of layers"):
        draw_groups(compiled(CHAIN, fuse_layers="off"), "svg")


def test_the_same_picture_is_drawn_by_compile_and_of_its_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    source = tmp_path / "chain.dsl"
    source.write_text(CHAIN)
    files = [tmp_path / name for name in ("a.svg", "b.svg", "r.json")]
    drawn, again, report = map(str, files)
    options = ["--inference", "--hw", "igo-small", "--set", "memory.spm_kib=12", "--fuse-layers", "dp"]
    shown = ["--json", report, "--plot", drawn, "--view", "groups"]
    assert run_command(["compile", str(source), *options, *shown]) == 0
    assert run_command(["plot", report, "-o", again, "--view", "groups"]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    ElementTree.parse(files[0])
    assert any("group_bound_bytes" in row["native"] for row in json.loads(files[2].read_text())["ops"])
