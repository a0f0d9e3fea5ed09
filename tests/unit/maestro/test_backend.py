"""The backend maestro on networks and mapping files: rows, modes, choices, errors."""

from pathlib import Path

import pytest
from typing_extensions import Unpack

from npuc.backends.registry import get_backend
from npuc.compiler import Report, compile_source
from npuc.compiler.analysis.mapping.named.templates import TEMPLATES, Template
from npuc.compiler.core.errors import CapacityError, SourceError, UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.frontends.source import text_source

NETWORK = """network net(batch=2) {
  input x: f32[batch, 4, 8, 8]
  labels y: i32[batch]
  a = conv2d(x, 8, kernel=3, padding=1)
  d = conv2d(relu(a), 8, kernel=3, stride=2, groups=8)
  g = conv2d(d, 12, kernel=1, groups=2)
  u = conv_transpose2d(g, 4, kernel=2, stride=2)
  loss cross_entropy(linear(flatten(u), 5), y)
  optimizer sgd(lr=0.1)
}
"""
LAYER = """  Layer {name} {{
    Type: CONV
    Dimensions {{ K: {k}, C: 4, R: 3, S: 3, Y: 10, X: 10 }}
    Dataflow {{ SpatialMap(1,1) K; TemporalMap(4,4) C; TemporalMap(Sz(R),1) Y; TemporalMap(Sz(S),1) X;
      Cluster(4, P); SpatialMap(1,1) C; }}
  }}
"""
WRONG = "  Layer bad { Type: CONV Dimensions { K: 1 } Dataflow { SpatialMap(1,1) K; } }\n"
MACHINE = {"name": "small", "maestro.num_pes": 16}


def mapping_file(*names: str, k: int = 8, more: str = "") -> str:
    return "Network net {\n" + more + "".join(LAYER.format(name=name, k=k) for name in names) + "}\n"


def score(text: str, format: str = "m", **options: Unpack[CompileKeywords]) -> Report:
    own: CompileKeywords = {"hardware": MACHINE, **options}
    return compile_source(text, format, f"net.{format}", backend="maestro", **own)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@pytest.mark.parametrize("mode", ["exact", "parity"])
def test_a_training_step_under_every_name(template: Template, mode: str) -> None:
    name = template.name
    report = score(NETWORK, "dsl", mapping=name, overrides={"maestro.mode": mode})
    products = [row for row in report.ops if row.kind == "matrix"]
    assert {row.phase for row in products} == {"forward", "dx", "dw"}
    assert report.totals.macs == sum(row.macs or 0 for row in products)
    assert f"mapping={name}" in report.pipeline.replace('"', "")
    for row in products:
        assert row.cycles == row.native["runtime_cycles"]
        if mode == "exact":
            assert row.native["num_macs"] == row.macs
            assert row.utilization is not None
            assert 0 < row.utilization <= 1


def test_what_is_not_modelled_is_null_and_said() -> None:
    report = score(NETWORK, "dsl", hardware="nvdla")
    vector = [row for row in report.ops if row.kind == "vector"]
    assert vector
    assert all(row.cycles is None and row.seconds is None for row in vector)
    assert report.totals.seconds_by_kind["vector"] is None
    assert report.totals.seconds_by_kind["matrix"] == report.totals.seconds
    assert report.totals.utilization is not None
    assert any("have no cost in the totals" in warning for warning in report.warnings)
    assert all(row.energy_j is None and row.dram_read_bytes is None for row in report.ops)


def test_energy_and_time_are_there_where_the_machine_says_their_units() -> None:
    report = score(
        mapping_file("a"), hardware=MACHINE | {"energy.mac_pj": 2.0, "clock_mhz": 100.0, "memory.element_bytes": 2}
    )
    (row,) = report.ops
    energy, room = row.native["energy_total_mac_units"], row.native["l2_size_req"]
    assert isinstance(energy, float)
    assert isinstance(room, int)
    assert row.energy_j == pytest.approx(2e-12 * energy)
    assert row.spm_bytes == 2 * room
    assert row.seconds == pytest.approx((row.cycles or 0) / 1e8)
    bare = score(mapping_file("a")).ops[0]
    assert (bare.energy_j, bare.seconds, bare.spm_bytes) == (None, None, None)


def test_modes_follow_the_source_unless_written() -> None:
    def mode(report: Report) -> object:
        table = report.hardware["maestro"]
        assert isinstance(table, dict)
        return table["mode"]

    assert mode(score(mapping_file("a"))) == "parity"
    assert mode(score(NETWORK, "dsl")) == "exact"
    assert mode(score(mapping_file("a"), overrides={"maestro.mode": "exact"})) == "exact"
    assert mode(score("layer,M,N,K\na,4,4,4\n", "csv", hardware=MACHINE | {"maestro.mode": "parity"})) == "parity"


def test_a_mapping_file_is_scored_layer_by_layer_in_its_order() -> None:
    report = score(mapping_file("b", "a+1"))
    assert [(row.name, row.phase, row.loc) for row in report.ops] == [
        ("b", "forward", "net.m:2:9"),
        ("a+1", "forward", "net.m:8:9"),
    ]
    training = score(mapping_file("b"), inference=False)
    assert [row.phase for row in training.ops] == ["forward", "dx", "dw"]
    assert training.ops[0].native == report.ops[0].native
    assert 'map{mapping="kcp_ws"' in training.pipeline


def test_only_keeps_layers_and_leaves_out_wrong_ones() -> None:
    text = mapping_file("a", "b", more=WRONG)
    assert [row.name for row in score(text, only=["a", "#2"]).ops] == ["a", "b"]
    with pytest.raises(SourceError, match="layer 'bad' has no dimensions"):
        score(text)


def test_exact_mode_takes_the_mappings_of_a_file() -> None:
    (row,) = score(mapping_file("a"), overrides={"maestro.mode": "exact"}).ops
    assert row.native["num_macs"] == row.macs == 8 * 4 * 3 * 3 * 8 * 8


def test_clusters_larger_than_the_machine_do_not_fit() -> None:
    for mode in ("parity", "exact"):
        with pytest.raises(CapacityError, match="clusters hold 4 processing elements, the machine has 3") as caught:
            score(mapping_file("a"), overrides={"maestro.num_pes": 3, "maestro.mode": mode})
        assert str(caught.value.location) == "net.m:2:9"
        assert caught.value.source_line == "  Layer a {"


def test_buffers_that_are_too_small_are_a_warning() -> None:
    for mode in ("parity", "exact"):
        report = score(
            mapping_file("a"), overrides={"maestro.l1_size": 1, "maestro.l2_size": 10**6, "maestro.mode": mode}
        )
        assert any("elements of 1: its mapping needs more than maestro.l1_size" in text for text in report.warnings)
        assert not any("l2_size" in text for text in report.warnings)


def test_other_backends_take_mapping_files() -> None:
    reports = compile_source(mapping_file("a"), "m", "net.m", backend=["cycle", "maestro"], hardware="nvdla")
    assert [report.backend for report in reports] == ["cycle", "maestro"]
    assert reports[0].ops[0].macs == reports[1].ops[0].macs
    assert "the backend 'cycle' follows no mappings: those of 1 layers have no effect" in reports[0].warnings


def mapped_program() -> str:
    """The text of a small program whose contractions have mappings."""
    source = text_source(NETWORK, "dsl", "net.dsl")
    module, _ = lowered_module(source, get_backend("maestro"), {"hardware": MACHINE}, None, [])
    return str(module)


@pytest.mark.parametrize("overrides", [{}, {"cycle.compat": "scalesim3", "array.dataflow": "ws"}])
def test_a_mapping_of_a_contraction_is_not_ignored_by_other_backends(overrides: dict[str, object]) -> None:
    hardware = "scalesim" if overrides else "igo-small"
    with pytest.raises(SourceError, match="its mapping is for a product whose rows are b, y and x") as caught:
        compile_source(mapped_program(), "mlir", "net.mlir", backend="cycle", hardware=hardware, overrides=overrides)
    assert str(caught.value.location).startswith("net.mlir:")
    assert "-b maestro" in str(caught.value.hint)


def test_a_mapping_of_a_pass_is_not_ignored_either() -> None:
    passes = "autodiff,lower-to-npu,map{mapping=rs num-pes=16},schedule"
    with pytest.raises(SourceError, match="its mapping is for a product"):
        compile_source(NETWORK, backend="cycle", pipeline=passes)


@pytest.mark.parametrize("backend", ["cycle", "roofline", "maestro"])
def test_sparsity_that_does_not_count_is_a_warning(backend: str) -> None:
    table = "Layer, M, N, K, Sparsity,\na,8,8,8,2:4,\nb,8,8,8,,\n"
    report = compile_source(table, "csv", "t.csv", backend=backend)
    assert [text for text in report.warnings if "N:M of 1 layers does not count" in text]
    dense = compile_source(table.replace("2:4", ""), "csv", "t.csv", backend=backend)
    assert not [text for text in dense.warnings if "N:M" in text]


def test_layers_of_a_network_take_the_mappings_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.m"
    path.write_text(mapping_file("a", "a"))
    report = score(NETWORK, "dsl", mapping=path)
    own = next(row for row in report.ops if row.name == "a" and row.kind == "matrix")
    assert own.native["num_levels"] == 2
    assert any("a occurs 2 times, the first is used" in text for text in report.warnings)
    assert any("has no layer d and" in text for text in report.warnings)


def test_a_mapping_that_is_asked_for_in_vain_is_a_warning() -> None:
    assert score(mapping_file("a"), mapping="nlr").warnings == [
        "all contractions have mappings of their own: nlr has no effect"
    ]
    both = score(mapping_file("a"), mapping="nlr", inference=False)
    assert both.warnings == ["a has mappings of its own, which nlr does not replace"]
    assert not score(mapping_file("a"), inference=False).warnings


def test_directives_without_a_cluster_form_are_for_parity() -> None:
    gaps = mapping_file("a").replace("SpatialMap(1,1) K", "SpatialMap(1,2) K")
    with pytest.raises(SourceError, match="a cannot be mapped: its mapping has no cluster form") as caught:
        score(gaps, overrides={"maestro.mode": "exact"})
    assert caught.value.hint == "maestro.mode=parity scores directives as MAESTRO takes them"
    assert score(gaps, overrides={"maestro.mode": "parity"}).ops[0].cycles


def test_a_mapping_of_another_layer_is_an_error_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "own.m"
    path.write_text(mapping_file("a", k=4))
    with pytest.raises(SourceError, match="layer a: the mapping is of another CONV: K is 4") as caught:
        score(NETWORK, "dsl", mapping=str(path))
    assert caught.value.location is not None
    assert caught.value.location.line == 2


def test_unknown_mappings_are_wrong_usage() -> None:
    with pytest.raises(UsageError, match="unknown mapping 'kcp'"):
        score(NETWORK, "dsl", mapping="kcp")
    with pytest.raises(UsageError, match=r"has no maestro\.num_pes"):
        score(NETWORK, "dsl", hardware={"clock_mhz": 100})


def test_products_that_run_together_are_costed_one_by_one() -> None:
    pipeline = "autodiff,lower-to-npu,interleave{mode=fused}"
    report = score(NETWORK, "dsl", pipeline=pipeline)
    fused = [row for row in report.ops if row.phase == "dxdw"]
    assert {str(row.native["statement"]) for row in fused} == {"dX += dY * W", "dW += X * dY"}
    assert any("priced one statement after another" in text for text in report.warnings)
    assert report.totals.macs == score(NETWORK, "dsl").totals.macs
