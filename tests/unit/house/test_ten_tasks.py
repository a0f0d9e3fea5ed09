"""Each task of the house touches what docs/architecture.md says, and works: all additions in one copy of the tree."""

import json
import re
from pathlib import Path

import pytest

from tests.toys import TOYS, Toy
from tests.tree_copy import ROOT, copied_tree, run

FILES = {
    "a layer": 2,
    "an optimizer": 2,
    "a pass": 1,
    "a dataflow of the array": 1,
    "a hardware key that schedules depend on": 1,
    "a collective algorithm": 1,
    "a column of a report": 3,
    "a frontend": 2,
    "a backend": 3,
    "a search algorithm of mappings": 1,
}
"""How many files each task touches; a frontend and a backend are a folder of them."""
FOLDERS = {"a pass", "a frontend", "a backend"}
NET = """network net(batch=8) {
  input x: f32[batch, 8]
  input y: f32[batch, 4]
  h = cube(linear(x, 16))
  loss mse(linear(h, 4), y)
  optimizer sign(lr=0.5)
}
"""
PLAIN = NET.replace("cube(linear(x, 16))", "linear(x, 16)").replace("sign", "sgd")
CODE = """
import contextlib, io, json
from npuc.compiler import compile_file, compile_source
plain = open("plain.dsl").read()
found = {}
report = compile_file("net.dsl", backend="cycle")
ops = {row.op for row in compile_file("net.dsl", backend="even", hardware={"even.seconds": 0.5}).ops}
found["a layer"] = sorted(op for op in ops if "cube" in op)
found["an optimizer"] = sorted(op for op in ops if "sign" in op)
said = io.StringIO()
with contextlib.redirect_stdout(said):
    compile_source(plain, backend="cycle", pipeline="autodiff,say-count,lower-to-npu,schedule")
found["a pass"] = said.getvalue()
flows = {f: compile_source(plain, hardware="igo-large", overrides={"array.dataflow": f}) for f in ("os", "ws", "sums")}
found["a dataflow of the array"] = [flows[f].totals["cycles"] for f in ("os", "ws", "sums")]
def first(cycles):
    told = compile_source(plain, hardware="igo-large", overrides={"dram.wake_cycles": cycles})
    return next(row.native["transfer_cycles"] for row in told.ops if row.kind == "matrix")
found["a hardware key that schedules depend on"] = [first(0), first(7)]
def devices(**algorithm):
    level = {"kind": "switch", "size": 4, "gb_per_s": 10.0, "latency_ns": 1000.0, **algorithm}
    told = compile_source(plain, hardware="igo-large", overrides={"network.levels": [level]}, devices=4)
    return max(row.seconds for row in told.ops if row.phase == "comm")
found["a collective algorithm"] = [devices(), devices(algorithm="slow")]
row = next(row for row in report.ops if row.kind == "matrix")
found["a column of a report"] = [row.native["twice_moved"], row.dram_read_bytes + row.dram_write_bytes]
found["a frontend"] = sum(row.phase == "forward" and row.kind == "matrix" for row in compile_file("net.widths").ops)
even = compile_source(plain, backend="even", hardware={"even.seconds": 0.5})
found["a backend"] = [even.totals["seconds"], len(even.ops)]
print(json.dumps(found))
"""
COMMANDS = """
import contextlib, io, json, sys
import npuc.compiler.cli as cli
said = []
for arguments in json.loads(sys.argv[1]):
    sys.argv, out = ["npuc", *arguments], io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli.main()
    said.append(out.getvalue())
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with all additions."""
    return copied_tree(tmp_path_factory.mktemp("tree"), (addition for toy in TOYS for addition in toy.additions))


def touched(task: str) -> list[str]:
    """The files and folders that docs/architecture.md names for a task, as patterns."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    paths = [path for path in re.findall(r"`([^`]+)`", dict(rows)[task]) if "/" in path or path.endswith(".py")]
    return [re.sub(r"<\w+>", "[^/]+", path) + (".+" if path.endswith("/") else "$") for path in paths]


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.task)
def test_a_task_touches_what_the_table_says(toy: Toy) -> None:
    patterns = touched(toy.task)
    assert [file for file in sorted(toy.files - toy.uses) if not any(re.match(p, file) for p in patterns)] == []
    assert len(toy.files) == FILES[toy.task]
    if toy.task in FOLDERS:
        assert len({Path(file).parent for file in toy.files}) == 1


def test_every_addition_works_in_python(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.dsl").write_text(NET)
    Path("plain.dsl").write_text(PLAIN)
    Path("net.widths").write_text("6 16 8 4")
    made = run(tree, CODE)
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert found.pop("a layer") == ["train.cube", "train.cube_grad"]
    assert found.pop("an optimizer") == ["train.sign_step"]
    assert found.pop("a pass") == "say-count: True\n"
    os, ws, sums = found.pop("a dataflow of the array")
    assert os == sums != ws
    without, with_wake = found.pop("a hardware key that schedules depend on")
    assert with_wake == without + 7
    usual, slow = found.pop("a collective algorithm")
    assert slow > 100 * usual
    twice, moved = found.pop("a column of a report")
    assert twice == 2 * moved > 0
    assert found.pop("a frontend") == 3
    seconds, count = found.pop("a backend")
    assert (seconds, count > 5) == (0.5 * count, True)
    assert found == {}


def test_every_addition_works_on_the_command_line(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.dsl").write_text(NET)
    Path("plain.dsl").write_text(PLAIN)
    Path("net.mlir").write_text("builtin.module {}\n")
    search = ["map", "plain.dsl", "--mapper", "unseeded", "--budget", "5", "--json", "-", "-q", "--seed"]
    target = "set-target{rows=4 cols=4 spm-bytes=4096 clock-mhz=1000 gb-per-s=4 lanes=8 dataflow=sums wake-cycles=3}"
    commands = [
        ["compile", "net.dsl"],
        ["check", "net.dsl"],
        [*search, "1"],
        [*search, "2"],
        ["opt", "net.mlir", "-p", f"{target},say-count"],
        ["list", "layers"],
        ["list", "frontends"],
        ["list", "backends"],
        ["list", "mappers"],
    ]
    made = run(tree, COMMANDS, json.dumps(commands))
    assert made.returncode == 0, made.stderr
    table, check, one, other, ir, layers, frontends, backends, mappers = json.loads(made.stdout)
    assert re.search(r"^twice [1-9]\d*$", table, re.MULTILINE)
    assert "the program computes the same after each" in check
    best = [json.loads(text) for text in (one, other)]
    for found in best:
        found.pop("seed", None)
    assert best[0] == best[1]
    assert 'dataflow = "sums"' in ir
    assert "wake_cycles = 3" in ir
    assert "say-count: False" in ir
    assert "cube(x)" in layers
    assert re.search(r"^widths .*Widths of linear", frontends, re.MULTILINE)
    assert re.search(r"^even .*same time for all", backends, re.MULTILINE)
    assert re.search(r"^unseeded .*same random mappings", mappers, re.MULTILINE)
