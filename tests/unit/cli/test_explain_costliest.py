"""`npuc explain NET`: the costliest layers, what limits each, and changes whose gains are those of `npuc compile`."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from npuc.backends.registry import get_backend
from npuc.compiler import compile_file
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.explain.costliest import explain_costliest
from npuc.compiler.report import Report
from npuc.frontends.source import open_source
from tests.unit.cli.test_commands import Npuc

BACKENDS = ("cycle", "roofline", "maestro")


@pytest.mark.parametrize("backend", BACKENDS)
def test_causes_add_up_to_the_time(backend: str) -> None:
    report = compile_file("samples:lenet", backend=backend)
    model, timed = get_backend(backend), 0
    for row in report.ops:
        if row.seconds is not None:
            timed += 1
            parts = model.time_parts(row)
            assert min(parts.values(), default=0.0) >= 0
            assert sum(parts.values()) == pytest.approx(row.seconds, rel=1e-9)
    assert timed > 4


def changed(option: str) -> Report:
    """The report with a change, as its option says it."""
    words, given = option.split(), CompileKeywords()
    overrides, defines, after = dict[str, object](), dict[str, Any](), list[str]()
    for flag, text in zip(words[::2], words[1::2], strict=True):
        key, _, value = text.partition("=")
        if flag == "--set":
            overrides[key] = value if key == "array.dataflow" else float(value) if "." in value else int(value)
        elif flag == "-D":
            defines[key] = int(value)
        else:
            after.append(text)
    given |= {"overrides": overrides, "defines": defines, "after": after}
    return compile_file("samples:mlp", **given)


def test_gains_are_those_of_compiled_programs() -> None:
    report = explain_costliest(open_source("samples:mlp"), {}, "cycle")
    before = compile_file("samples:mlp").totals.seconds
    assert before is not None
    assert report.cost == pytest.approx(before)
    assert [layer.layer for layer in report.layers] == ["h.linear", "logits", "h", "cross_entropy"]
    assert report.layers[0].spent["dram"] > 0.9 * report.layers[0].cost
    assert len(report.changes) >= 4
    for change in report.changes:
        seconds = changed(change.option).totals.seconds
        assert seconds is not None
        assert change.cost == pytest.approx(seconds / (2 if change.per == "sample" else 1))
        assert change.gain == pytest.approx(1 - (change.cost or 0.0) / before)
    gains = [change.gain or 0.0 for change in report.changes]
    assert gains == sorted(gains, reverse=True)


def test_the_change_of_a_layer_is_the_one_that_gains_most_there() -> None:
    report = explain_costliest(open_source("samples:mlp"), {}, "cycle", layers=3)
    for number, layer in enumerate(report.layers):
        assert layer.change is not None
        most = max(change.layers[number] or 0.0 for change in report.changes)
        assert report.changes[layer.change].layers[number] == most


def test_equal_layers_are_one_line() -> None:
    report = explain_costliest(open_source("samples:gpt2"), {"defines": {"batch": 1}}, "roofline", changes=0)
    assert report.changes == []
    named = [name for layer in report.layers for name in layer.names]
    assert len(named) > len(report.layers)
    assert sum(layer.share for layer in report.layers) <= 1
    shares = [layer.share for layer in report.layers]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("objective", ["traffic", "energy", "edp"])
def test_other_objectives(objective: str) -> None:
    totals = compile_file("samples:mlp", objective=objective).totals
    report = explain_costliest(open_source("samples:mlp"), {"objective": objective}, "cycle", changes=2)
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    energy = totals.energy_j or 0.0
    wanted = {"traffic": moved, "energy": energy, "edp": energy * (totals.seconds or 0.0)}
    assert report.cost == pytest.approx(wanted[objective])


def test_lower_levels_and_passes_are_told_of_the_highest(npuc: Npuc) -> None:
    out = npuc("explain", "samples:mlp", "-O", "0", "-q").out
    assert "-O3" in out
    plain = npuc("explain", "samples:mlp", "-q", "--changes", "2").out
    assert "-O3" not in plain


def test_a_change_that_fails_is_said() -> None:
    large: CompileKeywords = {"overrides": {"array.rows": 65536, "dram.gb_per_s": 1e6}}
    report = explain_costliest(open_source("samples:mlp"), large, "cycle", changes=20)
    failed = [change for change in report.changes if change.error is not None]
    assert [change.option for change in failed] == ["--set array.rows=131072 --set array.cols=256"]
    assert "array.rows" in (failed[0].error or "")
    assert all((change.error is None) == (change.gain is not None) for change in report.changes)


def test_devices_with_a_backend(npuc: Npuc) -> None:
    words = ("explain", "samples:lenet_c", "--devices", "4", "--hw", "hypar16", "-b", "cycle", "-O0", "-q")
    out = npuc(*words).out
    assert "training step of one of 4 devices on hypar16" in out
    assert "\nspent " in out
    layer = npuc(*words, "fc1").out
    assert layer.startswith("samples:lenet_c on hypar16, backend cycle\nfc1 forward")


def test_objectives_of_plans(npuc: Npuc) -> None:
    for objective in ("bytes", "time", "memory"):
        own = ("--devices", "4", "--parallel", "joint", "--plan-objective", objective, "--hw", "hypar16")
        assert npuc("explain", "samples:lenet_c", *own, "-b", "cycle", "-O0", "--changes", "0", "-q").status == 0


def test_roofline_explains_a_layer(npuc: Npuc) -> None:
    out = npuc("explain", "samples:lenet", "conv2", "-b", "roofline", "-q").out
    assert "\nconv2 dxdw: train.conv2d at " in out
    for heading in ("work", "time", "limit", "intensity", "traffic", "cache"):
        assert f"\n{heading} " in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_layer_as_data(npuc: Npuc) -> None:
    for backend in BACKENDS:
        found = json.loads(npuc("explain", "samples:lenet", "conv2", "-b", backend, "-q", "--json", "-").out)
        assert (found["schema"], found["layer"], found["backend"]) == ("npuc.layer/1", "conv2", backend)
        for row, spent in zip(found["rows"], found["spent"], strict=True):
            assert sum(spent.values()) == pytest.approx(row["seconds"] or 0.0)
        assert found["text"]


def test_a_network_as_data(npuc: Npuc) -> None:
    found = json.loads(npuc("explain", "samples:mlp", "--changes", "1", "--top", "2", "-q", "--json", "-").out)
    assert found["schema"] == "npuc.costliest/1"
    assert [len(found["layers"]), len(found["changes"])] == [2, 1]


def test_processes_find_the_same(npuc: Npuc) -> None:
    alone, several = (npuc("explain", "samples:mlp", "-q", "--json", "-", "-j", jobs).out for jobs in ("1", "3"))
    assert alone == several
    assert len(json.loads(alone)["changes"]) > 3


@pytest.mark.parametrize(("width", "by_layer"), [(60, False), (100, True)])
def test_the_note_speaks_of_columns_that_are_there(
    npuc: Npuc, width: int, by_layer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = " ".join(npuc("explain", "samples:mlp", "-q", "--changes", "2").out.split())
    assert ("1 to 4: the gain of the layers above" in out) == by_layer
    assert "each change was compiled by itself" in out


def test_links_are_named_in_a_few_words() -> None:
    keywords: CompileKeywords = {"devices": 4, "hardware": "hypar16", "parallel": "dp"}
    report = explain_costliest(open_source("samples:lenet_c"), keywords, "cycle", changes=12)
    (change,) = [one for one in report.changes if one.option == "network gb_per_s x 2"]
    assert change.what == "links of 0.2 to 0.4 GB/s"
    assert (change.gain or 0.0) > 0.0


@pytest.mark.parametrize(("kib", "tried"), [(8192, False), (16, True)])
def test_more_scratchpad_is_tried_where_traffic_is_above_its_bound(kib: int, *, tried: bool) -> None:
    keywords: CompileKeywords = {"overrides": {"memory.spm_kib": kib}}
    report = explain_costliest(open_source("samples:mlp"), keywords, "cycle", layers=1)
    assert any(change.option.startswith("--set memory.spm_kib") for change in report.changes) == tried


@pytest.mark.parametrize("opt_level", [0, 2, 3])
def test_costs_alone_are_those_of_the_report(opt_level: int) -> None:
    keywords: CompileKeywords = {"opt_level": opt_level, "defines": {"batch": 8}}
    source = open_source("samples:lenet")
    whole, costs = (compile_program(source, ["cycle"], keywords, costs_alone=alone) for alone in (False, True))
    assert whole.reports[0].totals == costs.reports[0].totals
    for one, other in zip(whole.reports[0].ops, costs.reports[0].ops, strict=True):
        assert replace(one, native={}) == replace(other, native={})
        assert other.native.items() <= one.native.items()
