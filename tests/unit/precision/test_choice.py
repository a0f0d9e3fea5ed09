"""Which precision holds: preset, file, `--set`, `--precision`; the width of all floats; what reports say."""

from fractions import Fraction
from pathlib import Path

import pytest
from typing_extensions import Unpack

from npuc.compiler import UsageError, compile_source, run_source
from npuc.compiler.cli import run_command
from npuc.compiler.core.options import CompileKeywords, HardwareLike
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.precision import precision_passes
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.compiler.explore.sweep import sweep_source
from npuc.frontends.source import text_source
from npuc.hardware import load_hardware, preset_names

NET = """
network net(batch=4) {
  input x: f32[batch, 16]
  labels y: i32[batch]
  h = relu(linear(x, 32))
  loss cross_entropy(linear(h, 8), y)
  optimizer adamw(lr=0.01)
}
"""
TABLE = "layer,M,N,K\nfc,8,8,8\n"
WIDTH = "memory.element_bytes"


def moved(text: str = NET, **options: Unpack[CompileKeywords]) -> int:
    """Bytes that the forward product of the first layer moves."""
    report = compile_source(text, backend="cycle", **options)
    row = next(row for row in report.ops if row.name == "h.linear" and row.phase == "forward" and row.kind == "matrix")
    return (row.dram_read_bytes or 0) + (row.dram_write_bytes or 0)


IN_BF16 = (
    *(
        "aespa",
        "eie-like",
        "h100",
        "igo-large",
        "igo-small",
        "mtia-v1",
        "tensordash",
        "tpu-v4",
        "tpu-v4-cmem",
        "tpu-v5e",
    ),
    "trainium2",
)
TYPES = dict.fromkeys(IN_BF16, "bf16") | {"procrustes": "f32"}


def test_every_preset_says_its_precision() -> None:
    for name in preset_names():
        machine = load_hardware(name)
        assert machine.written("precision"), name
        assert machine.get("precision", str) == TYPES.get(name, "as-written")
    priced = {name for name in preset_names() if load_hardware(name).written(WIDTH)}
    assert priced == {"tpu-v1", "nvdla", "eyeriss", "scalesim", "edge", "gemmini"}


def test_types_decide_bytes() -> None:
    bf16, f32 = moved(hardware="igo-large"), moved(hardware="igo-large", precision="f32")
    assert f32 == 2 * bf16 == moved(hardware="igo-large", precision="as-written")
    assert bf16 == moved(hardware="igo-large", overrides={WIDTH: 2})
    text = NET.replace("f32", "bf16")
    report = compile_source(text, hardware="igo-large", precision="as-written", opt_level=0)
    assert report.totals.dram_read_bytes == compile_source(NET, opt_level=0).totals.dram_read_bytes


def test_a_precision_drops_the_width_of_a_preset() -> None:
    machine = load_hardware("nvdla", None, "f32")
    assert not machine.written(WIDTH)
    assert moved(hardware="nvdla", precision="f32") > 3 * moved(hardware="nvdla")
    assert not load_hardware("nvdla", {"precision": "bf16"}).written(WIDTH)
    assert load_hardware("nvdla").get(WIDTH, int) == 1


def test_a_width_drops_the_precision_of_a_preset() -> None:
    machine = load_hardware("igo-large", {WIDTH: 1})
    assert machine.get("precision", str) == "as-written"
    assert load_hardware("igo-large", {WIDTH: 1, "precision": "as-written"}).get(WIDTH, int) == 1


@pytest.mark.parametrize(
    ("hardware", "overrides", "precision"),
    [
        ("igo-large", {WIDTH: 1}, "bf16"),
        ("nvdla", {WIDTH: 1}, "as-written"),
        ("igo-large", {WIDTH: 1, "precision": "f32"}, None),
        ({"precision": "bf16", WIDTH: 2}, None, None),
        ({WIDTH: 2}, {"precision": "bf16"}, None),
        ({WIDTH: 2}, None, "mixed"),
    ],
)
def test_both_are_wrong_usage(
    hardware: HardwareLike, overrides: dict[str, object] | None, precision: str | None
) -> None:
    with pytest.raises(UsageError, match=r"memory\.element_bytes") as caught:
        load_hardware(hardware, overrides, precision)
    assert caught.value.exit_code == 2
    assert caught.value.hint is not None


def test_a_file_that_writes_the_width_is_named(tmp_path: Path) -> None:
    file = tmp_path / "edge.toml"
    file.write_text("memory = { element_bytes = 2 }\n")
    with pytest.raises(UsageError, match=r"--precision bf16 contradicts memory\.element_bytes, set by .*edge\.toml,"):
        load_hardware(file, None, "bf16")
    file.write_text('precision = "f16"\n')
    assert load_hardware(file).get("precision", str) == "f16"
    assert load_hardware(file, {"precision": "f32"}).get("precision", str) == "f32"
    assert load_hardware(file, {"precision": "f32"}, "mixed").get("precision", str) == "mixed"


def test_reports_say_it() -> None:
    report = compile_source(NET, hardware="igo-large")
    assert report.precision == "bf16"
    assert report.pipeline.startswith('set-precision{to="bf16"},autodiff')
    assert compile_source(NET, hardware="igo-large", pipeline=report.pipeline).to_json() == report.to_json()
    assert compile_source(NET, hardware="nvdla").precision == "as-written"
    own = compile_source(NET, hardware="igo-large", pipeline="set-precision{to=f16},autodiff,lower-to-npu")
    assert own.precision == "f16"


def test_a_pipeline_that_says_something_else_is_wrong_usage() -> None:
    passes = "set-precision{to=f16},autodiff,lower-to-npu"
    with pytest.raises(UsageError, match=r"--precision bf16: the passes of -p have set-precision\{to=f16\}"):
        compile_source(NET, precision="bf16", pipeline=passes)
    assert compile_source(NET, precision="f16", pipeline=passes).precision == "f16"
    with pytest.raises(UsageError, match="unknown precision 'fp8'"):
        compile_source(NET, precision="fp8")
    with pytest.raises(UsageError, match="unknown precision 'fp8'"):
        run_source(NET, precision="fp8", inputs={})


@pytest.mark.parametrize(
    ("arguments", "head"),
    [
        ((), "backend cycle, floats bf16"),
        (("--precision", "mixed"), "backend cycle, mixed precision: products bf16, parameters f32"),
        (("--precision", "as-written"), "backend cycle"),
        (("--hw", "nvdla"), "backend cycle, every float counted as 1 byte (memory.element_bytes)"),
        (("--hw", "nvdla", "--precision", "f16"), "backend cycle, floats f16"),
    ],
)
def test_the_head_of_a_report_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], head: str
) -> None:
    file = tmp_path / "net.dsl"
    file.write_text(NET)
    assert run_command(["compile", str(file), "-q", "-b", "cycle", *arguments]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(head)


def test_a_cached_weight_has_a_line_of_its_own() -> None:
    """Two bytes of it are written, four read, forward; its gradient the other way round."""
    report = compile_source(NET, hardware="igo-large", precision="mixed")
    rows = {row.phase: row for row in report.ops if row.name == "h.linear.weight"}
    elements = 16 * 32
    assert (rows["forward"].dram_read_bytes, rows["forward"].dram_write_bytes) == (4 * elements, 2 * elements)
    assert (rows["dw"].dram_read_bytes, rows["dw"].dram_write_bytes) == (2 * elements, 4 * elements)
    # weight, gradient and two moments are read, weight and moments written
    assert rows["update"].dram_read_bytes == 4 * 4 * elements + 8
    assert rows["update"].dram_write_bytes == 3 * 4 * elements


def test_only_keeps_the_casts_of_a_layers_parameters() -> None:
    report = compile_source(NET, precision="mixed", only="h.linear")
    assert {row.name for row in report.ops} == {"h.linear", "h.linear.weight", "h.linear.bias"}


def test_runs_have_the_types_of_the_source_unless_told() -> None:
    inputs = {"x": [[1 / 3] * 16] * 4, "y": [0, 1, 2, 3]}
    runs = {p: run_source(NET, inputs=inputs, precision=p) for p in (None, "as-written", "f32", "bf16", "mixed")}
    assert runs[None].loss == runs["f32"].loss == runs["as-written"].loss
    assert len({run.loss for run in runs.values()}) == 3
    machine = run_source(NET, inputs=inputs, hardware="igo-large")
    assert machine.loss == runs["bf16"].loss
    weight = runs["mixed"].params["h.linear.weight"]
    assert (weight == runs["f32"].params["h.linear.weight"]).all()


def test_check_compares_the_pass_too() -> None:
    source = text_source(NET, "dsl", "<string>")
    steps = [step.step for step in check_program(source, {"precision": "mixed"})]
    assert steps[:2] == ['set-precision{to="mixed"}', "autodiff"]


@pytest.mark.parametrize("inference", [True, None])
def test_tables_have_one_type_or_none(inference: bool | None) -> None:
    narrow = compile_source(TABLE, "csv", hardware="igo-large", inference=inference, opt_level=0)
    wide = compile_source(TABLE, "csv", hardware="igo-large", inference=inference, opt_level=0, precision="f32")
    assert wide.totals.dram_read_bytes == 2 * (narrow.totals.dram_read_bytes or 0)
    with pytest.raises(UsageError, match=r"--precision mixed: .* lists layers without types or connections"):
        compile_source(TABLE, "csv", precision="mixed")


def test_a_sweep_varies_it() -> None:
    points = list(sweep_source(NET, vary={"precision": ["f32", "bf16"]}, overrides={}, backend="roofline"))
    wide, narrow = [point.totals.dram_read_bytes or 0 for point in points if point.totals is not None]
    assert wide > 1.9 * narrow > 0
    fixed = list(sweep_source(NET, vary={"hw": ["rtx2080ti", "igo-large"]}, backend="roofline"))
    alone = [compile_source(NET, backend="roofline", hardware=name) for name in ("rtx2080ti", "igo-large")]
    assert [p.totals for p in fixed] == [report.totals for report in alone]
    with pytest.raises(UsageError, match="--vary precision: --precision says what it is"):
        list(sweep_source(NET, vary={"precision": ["f32"]}, precision="bf16"))
    with pytest.raises(UsageError, match="--vary precision: unknown precision 'f8'"):
        list(sweep_source(NET, vary={"precision": ["f8"]}))


def test_a_machine_leaves_what_is_lowered_too_far_as_it_is() -> None:
    target = "set-target{rows=4 cols=4 spm_bytes=4096 clock_mhz=1000 gb_per_s=4 lanes=8}"
    source = text_source(NET, "dsl", "<string>")
    module = lowered_source(source, run_options({"pipeline": f"{target},autodiff,lower-to-npu,schedule,lower-tiles"}))
    warnings: list[str] = []
    assert precision_passes(module, [], "bf16", None, warnings) == []
    (warning,) = warnings
    assert "whose types stay as written: the hardware's precision, bf16, does not apply" in warning
    assert len(precision_passes(module, [], "bf16", "bf16", warnings)) == 1


@pytest.mark.parametrize("devices", [2, 4])
def test_gradients_are_summed_in_their_type(devices: int) -> None:
    level = {"kind": "ring", "size": 2, "gb_per_s": 1.0}
    report = compile_source(
        NET,
        hardware="igo-large",
        overrides={"network.levels": [level] * (devices.bit_length() - 1)},
        precision="mixed",
        devices=devices,
        parallel="dp",
    )
    sizes = [
        row.repeat * Fraction(str(row.native["operand_bytes"])) for row in report.ops if row.native.get("of") == "dw"
    ]
    assert sum(sizes) == 4 * (16 * 32 + 32 + 32 * 8 + 8)
