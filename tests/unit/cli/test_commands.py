"""The command line: verbs, outputs, exit statuses, messages."""

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest


class Outcome(NamedTuple):
    """What a command did: its exit status and what it wrote."""

    status: int
    out: str
    err: str


Npuc = Callable[..., Outcome]


def test_compile_prints_a_table(npuc: Npuc) -> None:
    outcome = npuc("compile", "net.dsl", "-b", "tick")
    assert outcome.status == 0
    assert outcome.out.startswith("mlp (net.dsl): training step on rtx2080ti, backend tick")
    for heading in ("layer", "forward", "dX", "dW", "update", "verdict"):
        assert heading in outcome.out
    assert outcome.err == ""
    assert "\x1b" not in outcome.out


def test_quiet_says_nothing_beside_the_result(npuc: Npuc) -> None:
    assert npuc("compile", "net.dsl", "-b", "tick", "--quiet").err == ""


def test_json_alone_on_standard_output(npuc: Npuc) -> None:
    outcome = npuc("compile", "net.dsl", "-b", "tick", "--json", "-", "-D", "batch=8", "--set", "dram.gb_per_s=308")
    data = json.loads(outcome.out)
    assert data["schema"] == "npuc.report/1"
    assert data["defines"] == {"batch": 8}
    assert data["hardware"]["dram"] == {"gb_per_s": 308.0}
    assert data["ops"][0]["loc"].startswith("net.dsl:5:")


def test_several_backends_are_a_comparison(npuc: Npuc) -> None:
    outcome = npuc("compile", "net.dsl", "-b", "tick", "-b", "tick", "--json", "-")
    data = json.loads(outcome.out)
    assert data["schema"] == "npuc.comparison/1"
    assert [report["backend"] for report in data["reports"]] == ["tick", "tick"]


def test_csv_alone_on_standard_output(npuc: Npuc) -> None:
    rows = list(csv.DictReader(io.StringIO(npuc("compile", "net.dsl", "-b", "tick", "--csv", "-").out)))
    assert rows[0]["name"] == "h.linear"


def test_files_are_written_beside_the_table(npuc: Npuc, folder: Path) -> None:
    outcome = npuc("compile", "net.dsl", "-b", "tick", "--json", "r.json", "--csv", "r.csv", "-o", "net.mlir")
    assert outcome.status == 0
    assert "verdict" in outcome.out
    assert json.loads((folder / "r.json").read_text())["backend"] == "tick"
    assert (folder / "r.csv").read_text().startswith("index,name,op")
    assert sorted(os.listdir(folder)) == ["net.dsl", "net.mlir", "r.csv", "r.json"]
    again = npuc("compile", "net.mlir", "-b", "tick", "--json", "-")
    assert len(json.loads(again.out)["ops"]) == len(json.loads((folder / "r.json").read_text())["ops"])


def test_failed_compilation_writes_nothing(npuc: Npuc, folder: Path) -> None:
    (folder / "r.json").write_text("before")
    outcome = npuc("compile", "net.dsl", "-b", "tick", "--json", "r.json", "-p", "failing-pass", "--load", "none.py")
    assert outcome.status == 2
    assert (folder / "r.json").read_text() == "before"


def test_emit_trace_writes_a_timeline(npuc: Npuc, folder: Path) -> None:
    outcome = npuc("compile", "net.dsl", "-q", "--emit", "trace", "-o", "step.json")
    assert outcome.status == 0
    assert "verdict" in outcome.out
    text = (folder / "step.json").read_text()
    assert {event["ph"] for event in json.loads(text)["traceEvents"]} == {"M", "X"}
    assert npuc("compile", "net.dsl", "-q", "--emit", "trace") == (0, text, "")
    assert npuc("compile", "net.dsl", "-q", "--emit", "trace", "-o", "-").out == text


def test_emit_trace_has_one_place_and_one_backend(npuc: Npuc, folder: Path) -> None:
    assert "only one of" in npuc("compile", "net.dsl", "--emit", "trace", "--json", "-").err
    assert "several are named" in npuc("compile", "net.dsl", "-b", "tick", "-b", "cycle", "--emit", "trace").err
    outcome = npuc("compile", "net.dsl", "-q", "-b", "tick", "--emit", "trace", "-o", "t.json", "--json", "r.json")
    assert outcome.status == 2
    assert "timeline" in outcome.err
    assert sorted(os.listdir(folder)) == ["net.dsl"]


def test_output_may_be_a_device(npuc: Npuc) -> None:
    assert npuc("compile", "net.dsl", "-b", "tick", "--json", "/dev/null").status == 0
    assert not Path("/dev/null").is_file()


def test_rows_only_and_print_after(npuc: Npuc) -> None:
    outcome = npuc("compile", "net.dsl", "-b", "tick", "--only", "logits", "--rows", "all", "--print-after", "autodiff")
    assert outcome.status == 0
    assert "h.linear" not in outcome.out
    assert "// after autodiff" in outcome.err
    assert "train.sgd" in outcome.err


def test_verbose_says_the_passes(npuc: Npuc) -> None:
    assert "npuc: passes: autodiff" in npuc("compile", "net.dsl", "-b", "tick", "-v").err


def test_check_of_the_layers_that_are_kept(npuc: Npuc, folder: Path) -> None:
    (folder / "table.csv").write_text("layer,M,N,K\na,2,3,4\nb,x,3,4\n", encoding="utf-8")
    outcome = npuc("compile", "table.csv", "--only", "a", "--check")
    assert outcome.status == 0
    assert "check: lower-to-npu: bit-equal" in outcome.err
    assert npuc("compile", "table.csv", "--only", "b", "--check").status == 1


def test_check_compares_the_passes(npuc: Npuc) -> None:
    outcome = npuc("compile", "net.dsl", "-b", "tick", "--check", "-p", "autodiff")
    assert outcome.status == 0
    assert "npuc: check: autodiff: " in outcome.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["compile", "net.dsl", "-b", "tik"], 2, "did you mean 'tick'?"),
        (["compile", "net.dsl", "--hw", "igo-larg"], 2, "did you mean 'igo-large'?"),
        (["compile", "net.dsl", "-b", "tick", "--hw", "none.toml"], 2, "none.toml"),
        (["compile", "net.dsl", "-b", "tick", "--set", "dram.gbs=3"], 2, "dram.gbs"),
        (["compile", "net.dsl", "-b", "tick", "--set", "dram"], 2, "KEY=VALUE"),
        (["compile", "net.dsl", "-b", "tick", "-D", "batch"], 2, "NAME=VALUE"),
        (["compile", "net.dsl", "-b", "tick", "-D", "bach=3"], 2, "batch"),
        (["compile", "net.dsl", "-b", "tick", "-O4"], 2, "unknown optimisation level 4"),
        (["compile", "net.dsl", "-b", "tick", "-O", "x"], 2, "'-O'"),
        (["compile", "net.dsl", "-b", "tick", "-p", "autodif"], 2, "did you mean 'autodiff'?"),
        (["compile", "net.dsl", "-b", "tick", "-p", "autodiff{"], 2, "does not parse"),
        (["compile", "net.dsl", "-b", "tick", "--rows", "some"], 2, "folded, all or cores"),
        (["compile", "net.dsl", "-b", "tick", "--only", "nothing"], 2, "--only nothing"),
        (["compile", "net.dsl", "-b", "tick", "--json", "-", "--csv", "-"], 2, "standard output"),
        (["compile", "net.dsl", "-b", "tick", "--json", "none/r.json"], 2, "folder does not exist"),
        (["compile", "net.dsl", "-b", "tick", "-b", "tick", "-o", "x.mlir"], 2, "several"),
        (["compile", "net.dsl", "-b", "tick", "--load", "none.py"], 2, "--load needs -p"),
        (["compile", "net.dsl", "-b", "tick", "--load", "none.py", "-p", "autodiff"], 2, "none.py"),
        (["compile", "net.dsl", "-b", "tick", "--max-ops", "3"], 1, "operations"),
        (["compile", "none.dsl"], 2, "none.dsl"),
        (["compile", "net.txt"], 2, "suffix"),
        (["compile", "samples:none"], 2, "none"),
        (["compile", "wrong.dsl", "-b", "tick"], 1, "wrong.dsl:"),
        (["compile", "wrong.mlir", "-b", "tick"], 1, "wrong.mlir:1:"),
        (["compile", "empty.mlir", "-b", "tick"], 1, "empty.mlir:1:1"),
        (["compile"], 2, "missing argument"),
        (["compile", "net.dsl", "--jsn", "-"], 2, "--json"),
        (["compil", "net.dsl"], 2, "did you mean 'compile'?"),
        (["run", "net.dsl", "--dtype", "float16"], 2, "float16"),
        (["run", "net.dsl", "--inputs", "none.npz"], 2, "none.npz"),
        (["run", "net.dsl", "--inputs", "net.dsl"], 2, "net.dsl"),
        (["run", "net.dsl", "-O4"], 2, "unknown optimisation level 4"),
        (["check", "net.dsl", "-p", "nothing"], 2, "unknown pass"),
        (["list", "passs"], 2, "did you mean 'passes'?"),
        (["opt", "wrong.mlir"], 1, "wrong.mlir:1:"),
        (["opt", "none.mlir"], 2, "none.mlir"),
        (["opt", "net.txt"], 2, "suffix"),
        (["opt", "empty.mlir", "-t", "mlir{"], 2, "Expected argument name"),
        (["opt", "wrong.dsl"], 1, "wrong.dsl:1:"),
        (["opt", "empty.mlir", "-p", "autodif"], 2, "did you mean 'autodiff'?"),
    ],
)
def test_wrong_calls_end_in_one_message(
    npuc: Npuc, folder: Path, arguments: list[str], status: int, message: str
) -> None:
    (folder / "wrong.dsl").write_text("network f( {")
    (folder / "wrong.mlir").write_text("func.fun @f")
    (folder / "empty.mlir").write_text("")
    outcome = npuc(*arguments)
    assert outcome.status == status
    assert "error: " in outcome.err
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


def test_defect_asks_for_a_report(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("npuc.compiler.driver.compile.read_program", broken)
    outcome = npuc("compile", "net.dsl", "-b", "tick", "--quiet")
    assert outcome.status == 70
    assert outcome.err.startswith("npuc: error: a defect in npuc: ZeroDivisionError: oh")
    assert "Traceback" not in outcome.err
    assert "Traceback" in npuc("compile", "net.dsl", "-b", "tick", "--debug").err


def test_interrupt_is_130(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("npuc.compiler.driver.compile.read_program", interrupted)
    assert npuc("compile", "net.dsl", "-b", "tick", "--quiet") == Outcome(130, "", "npuc: interrupted\n")


def test_help_and_version(npuc: Npuc) -> None:
    assert npuc("--version").out.startswith("npuc ")
    for arguments in ([], ["-h"], ["--help"], ["compile", "-h"], ["run", "--help"], ["list", "-h"]):
        outcome = npuc(*arguments)
        assert (outcome.status, outcome.err) == (0, "")
        assert "Usage: npuc" in outcome.out


def test_own_passes_of_a_loaded_file(npuc: Npuc, folder: Path, outside: Path) -> None:
    file = str(outside / "outside_pass.py")
    outcome = npuc("compile", "net.dsl", "-b", "tick", "--load", file, "-p", "autodiff,failing-pass")
    assert outcome.status == 1
    assert "'failing-pass' failed: ZeroDivisionError" in outcome.err
    assert "failing-pass Fail." in " ".join(npuc("list", "passes", "--load", file).out.split())


def test_run_prints_losses_and_writes_arrays(npuc: Npuc, folder: Path) -> None:
    np.savez("in.npz", x=np.ones((4, 5), np.float32), y=np.zeros(4, np.int32))
    outcome = npuc("run", "net.dsl", "--inputs", "in.npz", "--steps", "3", "--outputs", "out.npz")
    assert outcome.status == 0
    assert [line.split(":")[0] for line in outcome.out.splitlines()] == ["step 0", "step 1", "step 2"]
    with np.load("out.npz", allow_pickle=False) as arrays:
        assert {"loss", "param/h.linear.weight", "grad/h.linear.weight", "new/h.linear.weight"} <= set(arrays)


def test_run_refuses_pickled_inputs(npuc: Npuc, folder: Path) -> None:
    np.savez("in.npz", x=np.array([{}], dtype=object), allow_pickle=True)
    outcome = npuc("run", "net.dsl", "--inputs", "in.npz")
    assert outcome.status == 2
    assert "in.npz" in outcome.err


def test_a_broken_archive_is_not_repeated_in_the_message(npuc: Npuc, folder: Path) -> None:
    np.savez("in.npz", x=np.ones((4, 5), np.float32))
    data = bytearray(Path("in.npz").read_bytes())
    data[data.index(b"PK") + 26 : data.index(b"PK") + 28] = (300).to_bytes(2, "little")  # the length of a name
    Path("in.npz").write_bytes(data)
    outcome = npuc("run", "net.dsl", "--inputs", "in.npz")
    assert outcome.status == 2
    assert outcome.err.startswith("npuc: error: cannot read 'in.npz': File name in directory 'x.npy' and header b")
    assert len(outcome.err.split("\n")[0]) < 300


def test_check_prints_a_line_a_pass(npuc: Npuc) -> None:
    outcome = npuc("check", "net.dsl", "-p", "autodiff,lower-to-npu")
    assert outcome.status == 0
    assert outcome.out.splitlines()[-1].startswith("2 passes checked")


def test_lists_name_what_there_is(npuc: Npuc) -> None:
    assert "igo-large" in npuc("list", "hardware").out
    assert "autodiff" in npuc("list", "passes").out
    assert "\nconv2d(x, " in npuc("list", "layers").out
    assert 'or all of it ("circular").' in npuc("list", "layers").out
    backends = npuc("list", "backends").out
    assert "tick" in backends
    assert "broken  cannot be loaded" in " ".join(backends.split()).replace("broken ", "broken  ")
    assert npuc("list", "samples").status == 0


def test_opt_round_trips_and_runs_passes(npuc: Npuc, folder: Path) -> None:
    assert npuc("compile", "net.dsl", "-b", "tick", "-o", "net.mlir", "-p", "").status == 0
    outcome = npuc("opt", "net.mlir", "-p", "autodiff")
    assert outcome.status == 0
    assert "train.sgd" in outcome.out
    assert "train.sgd" in npuc("opt", "net.dsl", "-p", "autodiff").out
    assert npuc("opt", "net.mlir", "-p", 'outside-pass{word="there"}').out.count("there") == 1


def test_opt_guards_against_strings_that_do_not_end(npuc: Npuc, folder: Path) -> None:
    (folder / "long.mlir").write_text('"' + "x" * 100)
    outcome = npuc("opt", "long.mlir")
    assert outcome.status == 1
    assert "long.mlir:1:1" in outcome.err


def test_check_says_the_level(npuc: Npuc) -> None:
    for options, level in (((), 3), (("-O1",), 1), (("-O", "0"), 0)):
        lines = npuc("check", "net.dsl", *options).out.splitlines()
        assert lines[-1].startswith(f"{3 + (level > 0)} passes checked (-O{level})")
        assert ("interleave" in "".join(lines)) is (level > 0)
    assert npuc("check", "net.dsl", "-O4").status == 2


def test_compile_checks_the_passes_that_ran(npuc: Npuc) -> None:
    """Those of its level and objective, each once however many backends score them."""
    outcome = npuc("compile", "net.dsl", "-O2", "--objective", "traffic", "-b", "cycle", "-b", "cycle", "--check")
    assert outcome.status == 0
    checked = [line.split(": ")[2] for line in outcome.err.splitlines() if line.startswith("npuc: check: ")]
    assert [step.partition("{")[0] for step in checked] == [
        "set-precision",
        "autodiff",
        "lower-to-npu",
        "interleave",
        "rearrange",
        "schedule",
    ]
    assert all("traffic" in step for step in checked[3:])


GEMM = """func.func @pair(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2] spm 3600 bytes {layer = "fc"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}
"""


def test_a_promise_without_its_unit(npuc: Npuc, folder: Path) -> None:
    (folder / "bare.mlir").write_text(GEMM.replace("spm 3600 bytes", "spm 900"))
    for verb in ("compile", "opt"):
        outcome = npuc(verb, "bare.mlir")
        assert outcome.status == 1
        assert "bare.mlir:3:19: error: found 'spm 900', expected 'spm 900 bytes'\n" in outcome.err
        assert "  hint: a promise is in bytes" in outcome.err


def test_run_and_check_on_a_machine(npuc: Npuc) -> None:
    machine = ("--hw", "igo-small", "--set", "array.accumulator_bits=16", "--inference")
    assert npuc("check", "net.dsl", *machine).status == 0
    assert npuc("run", "net.dsl", *machine).status == 0
    for verb in ("run", "check"):
        wrong = npuc(verb, "net.dsl", "--set", "array.accumulator_bit=16")
        assert wrong.status == 2
        assert "array.accumulator_bits" in wrong.err
        assert npuc(verb, "net.dsl", "--hw", "igo-larg").status == 2
        lacking = npuc(verb, "net.dsl", "--hw", "a100", "--set", "array.accumulator_bits=16")
        assert lacking.status == 2
        assert "which the backend 'cycle' needs" in lacking.err


def test_opt_keeps_places(npuc: Npuc, folder: Path) -> None:
    """Each operation has its own, as in `npuc compile`; errors of verifiers and passes begin with it."""
    (folder / "gemm.mlir").write_text(GEMM)
    (folder / "tight.mlir").write_text(GEMM.replace("spm 3600 bytes", "spm 12 bytes"))
    (folder / "parts.mlir").write_text(f"{GEMM}// -----\n{GEMM.replace('spm 3600 bytes', 'spm 12 bytes')}")
    shown = npuc("opt", "gemm.mlir", "--print-debuginfo").out
    assert 'loc("gemm.mlir":2:3)' in shown
    assert 'loc("gemm.mlir":4:3)' in shown
    cut = ("gemm.mlir", "-p", "partition{dim=m parts=4}")
    tight = npuc("opt", "tight.mlir")
    for outcome, compiled, place in (
        (npuc("opt", *cut), npuc("compile", *cut, "-q"), "gemm.mlir:2:3: error: 4 parts do not divide"),
        (tight, npuc("compile", "tight.mlir", "-q"), "tight.mlir:2:3: error: 'npu.contract' blocks take"),
    ):
        assert (outcome.status, outcome.err) == (compiled.status, compiled.err)
        assert outcome.err.startswith(place)
    split = npuc("opt", "parts.mlir", "--split-input-file")
    assert split.err == tight.err.replace("tight.mlir:2:3", "parts.mlir:8:3")
    assert npuc("opt", "tight.mlir", "--disable-verify").status == 0


def test_what_can_be_listed(npuc: Npuc) -> None:
    listed = [line.split("  ")[0].strip() for line in npuc("list").out.splitlines()]
    assert "hardware" in listed
    for name in listed:
        assert npuc("list", name).status == 0, name
    assert "--json needs what to list" in npuc("list", "--json", "-").err
    assert npuc("list", "--load", "own.py").status == 2
