"""`npuc explain`: words, pictures and numbers of one layer are those of the report."""

import re
from pathlib import Path

import pytest

from npuc.backends.cycle.costed import costed_operations
from npuc.backends.cycle.explain import Explanation, explain, to_text
from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.analysis.machine.overlap import OVERLAPS
from npuc.compiler.analysis.timing.states import STATES
from npuc.compiler.cli import run_command
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.report import OpRow
from npuc.frontends.source import open_source

NET = """\
network net(batch=8) {
  input  x: f32[batch, 3, 9, 9]
  labels y: i32[batch]
  c1 = relu(conv2d(x, 8, 3))
  c2 = conv2d(c1, 8, 3, groups=2)
  logits = linear(flatten(c2), 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
TINY = {"array.rows": 4, "array.cols": 4, "memory.spm_kib": 8}
ROWS = {
    f"array.{key}_{kind}": count for key in ("ifmap", "filter", "psum") for kind, count in (("words", 6), ("port", 1))
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the network `net.dsl`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.dsl").write_text(NET)
    return tmp_path


def explained(**overrides: object) -> list[tuple[OpRow, Explanation]]:
    """All rows of the network, one product after another, explained."""
    options: CompileKeywords = {"overrides": {**TINY, **overrides}, "opt_level": 0}
    result = compile_program(open_source("net.dsl"), ["cycle"], options)
    module = result.modules[0]
    machine = machine_of(module)
    return [
        (row, explain(op, row, machine))
        for row, op in zip(result.reports[0].ops, costed_operations(module), strict=True)
    ]


@pytest.mark.parametrize("fill", ["overlap", "per-fold"])
@pytest.mark.parametrize("drain", ["hidden", "full"])
@pytest.mark.parametrize("dataflow", ["os", "ws", "is", "in-place", "explicit", "rs"])
@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.usefixtures("folder")
def test_states_add_up_to_the_cycles_of_the_report(
    fill: str, drain: str, dataflow: str, *, double_buffer: bool
) -> None:
    explicit = {"array.transpose": "explicit"} if dataflow == "explicit" else {}
    dataflow = dataflow.replace("explicit", "in-place")
    facts = (
        explicit
        | (ROWS if dataflow == "rs" else {})
        | {"array.fill": fill, "array.drain": drain, "array.dataflow": dataflow}
    )
    seen = 0
    for row, explanation in explained(**facts, **{"memory.double_buffer": double_buffer}):
        line = explanation.timeline
        assert (line is not None) == (row.kind == "matrix")
        if line is None:
            continue
        seen += 1
        counts = {state: line.total(state) / line.per_cycle for state in STATES}
        assert sum(counts.values()) == row.cycles
        assert counts["stall"] == row.stall_cycles
        assert counts["fill"] + counts["drain"] == row.native["fill_drain_cycles"]
        (time,) = [text for heading, text in explanation.facts if heading == "time"]
        told = [int(number.replace(",", "")) for number in re.findall(r"[\d,]+", time)]
        assert told[0] == sum(told[1:]) == row.cycles
        (parts,) = [text for _, text in explanation.facts if text.startswith("of the stall")]
        assert sum(int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?= )", parts)) == row.stall_cycles
    assert seen == 8


@pytest.mark.usefixtures("folder")
def test_tensors_are_the_traffic_of_the_report() -> None:
    for row, explanation in explained():
        head, *lines = explanation.tensors
        assert {line[0] for line in lines} == set(row.tensors)
        for line in lines:
            cells = dict(zip(head, line, strict=True))
            assert int(cells["read"].replace(",", "")) == row.tensors[line[0]].read_bytes
            assert int(cells["written"].replace(",", "")) == row.tensors[line[0]].write_bytes


@pytest.mark.usefixtures("folder")
def test_what_stays_in_the_array() -> None:
    """An in-place array keeps W, or the sums dW."""
    kept = {"forward": "tiles of W stay", "dx": "tiles of W stay", "dw": "tiles of dW stay"}
    for row, explanation in explained(**{"array.dataflow": "in-place"}):
        if row.kind == "matrix":
            facts = " ".join(text for _, text in explanation.facts)
            assert f"{kept[row.phase]} in the array: {row.native['reloads']:,} changes" in facts
            assert f"take {row.native['reload_cycles']:,} cycles" in facts
            assert ("explicit transposes" in facts) == ("explicit_cycles" in row.native)


@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.usefixtures("folder")
def test_instructions(overlap: str) -> None:
    """A register-fed array says how often it loads weights, and its states add up too."""
    seen = 0
    for row, explanation in explained(**{"array.dataflow": "ws", "array.overlap": overlap, "array.tile_m": 3}):
        line = explanation.timeline
        if line is None:
            continue
        seen += 1
        facts = " ".join(text for _, text in explanation.facts)
        assert f"{row.native['instructions']:,} instructions of 3 rows ({overlap}); weights are loaded" in facts
        counts = {state: line.total(state) / line.per_cycle for state in STATES}
        assert sum(counts.values()) == row.cycles
        assert counts["stall"] == row.stall_cycles
        assert counts["fill"] + counts["drain"] == row.native["fill_drain_cycles"]
    assert seen == 8


@pytest.mark.parametrize("width", [20, 40, 60, 77, 100, 200])
@pytest.mark.usefixtures("folder")
def test_text_is_as_wide_as_the_terminal(width: int) -> None:
    for _, explanation in explained():
        for line in to_text(explanation, width).splitlines():
            assert len(line) <= max(width, 40)


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_command(["explain", "net.dsl", *arguments, "-q"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = outcome(capsys, "c2", "-O0")
    assert (status, err) == (0, "")
    titles = re.findall(r"^c2\S* (\w+): (\S+) at net\.dsl:5", out, re.MULTILINE)
    assert {phase for phase, _ in titles} == {"forward", "dx", "dw", "update"}
    assert "\x1b" not in out
    only = outcome(capsys, "c2", "-O0", "--phase", "dx")[1]
    assert [phase for phase, _ in re.findall(r"^c2 (\w+): (\S+) at", only, re.MULTILINE)] == ["dx"]


def test_a_channel_that_takes_longer_than_the_edge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = "network row() {\n  input x: bf16[1, 1024]\n  output y = linear(x, 1024, bias=false)\n}\n"
    (folder / "net.dsl").write_text(row)

    def said(rate: int) -> str:
        options = ("--inference", "--set", "array.dataflow=ws", "--set", f"dram.gb_per_s={rate}")
        return " ".join(outcome(capsys, "y", *options)[1].split())

    assert "limit edge: folds are shorter" in said(150)
    assert "sums out; the DRAM channel takes longer still bound" in said(150)
    assert "sums out bound" in said(10_000)


def test_layers_by_glob_and_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = outcome(capsys, "logits", "--phase", "forward")[1]
    assert outcome(capsys, "log*", "--phase", "forward")[1] == out
    numbers = [n for n in range(8) if outcome(capsys, f"#{n}", "--phase", "forward")[1] == out]
    assert len(numbers) == 1
    assert outcome(capsys, str(numbers[0]), "--phase", "forward")[1] == out


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["logit"], "no layer is called 'logit'", "did you mean 'logits'?"),
        (["#99"], "layer #99: there are", ""),
        (["c*"], "layers: c1.conv2d (#0), c1 (#1), c2 (#2)", "name one of them"),
        (["logits", "--phase", "forwrd"], "there is no such phase", "did you mean 'forward'?"),
        (["c1.conv2d", "--phase", "dx"], "has no operation in phase dx", "it has forward, dw"),
        (["logits", "--hw", "none"], "unknown hardware 'none'", ""),
        (["logits", "--only", "c1"], "no layer is called 'logits'", ""),
    ],
)
def test_wrong_usage(
    arguments: list[str], message: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = outcome(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert hint in err


def test_scalesim_has_products_and_no_schedule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = outcome(capsys, "logits", "--hw", "scalesim", "--set", "cycle.compat=scalesim3")
    assert status == 0
    assert "as SCALE-Sim counts them" in out
    assert "schedule" not in out
    assert (
        "none: this model gives it no cost"
        in outcome(capsys, "c1", "--hw", "scalesim", "--set", "cycle.compat=scalesim3")[1]
    )


@pytest.mark.parametrize("mode", ["zip", "fused"])
def test_contractions_that_run_together(folder: Path, mode: str) -> None:
    """In turn: all products and schedules, what is held once; fused: a nest like others."""
    options: CompileKeywords = {"hardware": "igo-large", "pipeline": f"autodiff,lower-to-npu,interleave{{mode={mode}}}"}
    result = compile_program(open_source(str(folder / "net.dsl")), ["cycle"], options)
    module, machine = result.modules[0], machine_of(result.modules[0])
    ops = costed_operations(module)
    row = next(row for row in result.reports[0].ops if row.phase == "dxdw" and row.name == "logits")
    explanation = explain(ops[row.index], row, machine)
    text = to_text(explanation, 100)
    assert "dX[m, k] += dY[m, n] * W[k, n]" in text
    assert "dW[k, n] += X[m, k] * dY[m, n]" in text
    assert f"{row.cycles:,} cycles = " in text
    line = explanation.timeline
    assert line is not None
    assert line.ticks == line.per_cycle * (row.cycles or 0)
    assert line.total("stall") == line.per_cycle * (row.stall_cycles or 0)
    assert explanation.nests == (("dX", "dW") if mode == "zip" else ())
    if mode == "zip":
        assert "2 nests in one scratchpad, one tile operation of each, round-robin" in text


def test_work_on_finished_blocks(folder: Path) -> None:
    """The product's loops end with the work, its picture with its own time; the work does not run by itself."""
    passes = "autodiff,lower-to-npu,schedule,fuse-vector"
    options: CompileKeywords = {"hardware": "igo-large", "pipeline": passes}
    result = compile_program(open_source(str(folder / "net.dsl")), ["cycle"], options)
    module, machine, rows = result.modules[0], machine_of(result.modules[0]), result.reports[0].ops
    ops = costed_operations(module)
    row = next(row for row in rows if row.phase == "dw" and row.name == "logits" and row.kind == "matrix")
    explanation = explain(ops[row.index], row, machine)
    *_, load, work, store = (line.strip() for line in explanation.loops)
    assert (load, work) == ("load logits_weight", "sgd on the block of dW")
    assert store.startswith("store logits_weight")
    assert not any("store dW" in line for line in explanation.loops)
    assert ("fused", "sgd of logits.weight runs on each block of dW as it is finished") in explanation.facts
    assert ("", "nothing else uses dW: it is not stored") in explanation.facts
    line = explanation.timeline
    assert line is not None
    assert sum(line.total(state) for state in STATES) == line.ticks
    assert -(-line.ticks // line.per_cycle) == row.cycles
    update = next(row for row in rows if row.name == "logits.weight" and row.phase == "update")
    text = to_text(explain(ops[update.index], update, machine), 120)
    assert "runs on each block of dW as its product finishes it" in text
    assert "runs by itself" not in text
