"""SCALE-Sim's files as npuc writes them: they read back to the same numbers, and its reports are SCALE-Sim's own."""

import math
from pathlib import Path

import pytest

from npuc.compiler import compile_file
from npuc.compiler.cli import run_command

FOLDER = Path(__file__).parents[2] / "oracle" / "data" / "scalesim" / "reports"
CONFIG = """[general]
run_name = round trip
[architecture_presets]
ArrayHeight = 8
ArrayWidth = 6
IfmapSramSzkB = 1
FilterSramSzkB = 2
OfmapSramSzkB = 3
Dataflow = is
[sparsity]
SparsitySupport = true
SparseRep = csc
"""
GEMM = "layer,M,N,K,count,N:M\nfc1,9,8,17,1,\nfc2,40,30,20,3,2:4\n"
CONV = "name,H,W,R,S,C,F,Strides\nc1,12,11,3,3,4,5,2\nDPc,9,9,3,3,3,2,1\nfc,1,1,1,1,20,10,1\nrow,6,9,1,3,2,4,2\n"
NETWORK = """
network net(batch=1) {
  input x: f32[batch, 4, 9, 9]
  labels y: i32[batch]
  a = relu(conv2d(x, 6, kernel=3, stride=2, padding=1, bias=false))
  loss cross_entropy(linear(flatten(a), 3, bias=false), y)
}
"""


@pytest.mark.parametrize(
    ("name", "text", "options", "gemm"),
    [
        ("t.csv", GEMM, [], True),
        ("t.csv", GEMM, ["--training"], True),
        ("t.csv", CONV, [], False),
        ("t.csv", CONV, ["--training"], False),
        ("net.dsl", NETWORK, [], False),
    ],
)
def test_what_is_written_scores_the_same(
    name: str, text: str, options: list[str], tmp_path: Path, *, gemm: bool
) -> None:
    source, hardware, folder = tmp_path / name, tmp_path / "h.cfg", tmp_path / "out"
    source.write_text(text, encoding="utf-8")
    hardware.write_text(CONFIG, encoding="utf-8")
    arguments = ["compile", str(source), "--hw", str(hardware), "--emit", "scalesim", "-o", str(folder), "-q", *options]
    assert run_command(arguments) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["layout.csv", "scalesim.cfg", "topology.csv"]
    inference = False if options else None
    before = [r for r in compile_file(source, hardware=hardware, inference=inference).ops if r.kind == "matrix"]
    after = compile_file(folder / "topology.csv", hardware=folder / "scalesim.cfg")
    assert [row.native for row in after.ops] == [row.native for row in before]
    first, *rows = (folder / "topology.csv").read_text(encoding="utf-8").splitlines()
    assert first.startswith("Layer, M, N, K," if gemm else "Layer name, IFMAP Height,")
    assert all(row.endswith(",") and "DP" not in row for row in rows)
    suffix = {"forward": "", "dx": "_dx", "dw": "_dw"}
    assert [r.name for r in after.ops] == [r.name.replace("DP", "Dp") + suffix[r.phase] for r in before]


@pytest.mark.parametrize("options", [[], ["-O", "3"], ["-p", "autodiff,lower-to-npu,interleave{mode=zip}"]])
def test_products_that_run_as_one_nest_are_written_too(options: list[str], tmp_path: Path) -> None:
    """dX and dW of a layer, and several products of one value: as many rows as products, in any order."""
    source = tmp_path / "net.dsl"
    source.write_text(
        """
network net(batch=64) {
  input x: f32[batch, 48]
  input t: f32[batch, 32]
  h = relu(linear(x, 40))
  gate = linear(h, 32)
  value = linear(h, 32)
  loss dot_loss(linear(gate * value, 32), t)
}
""",
        encoding="utf-8",
    )

    def rows(folder: str, *options: str) -> list[list[str]]:
        arguments = ["compile", str(source), "--hw", "igo-small", "--emit", "scalesim", "-q", *options]
        assert run_command([*arguments, "-o", str(tmp_path / folder)]) == 0
        first, *lines = (tmp_path / folder / "topology.csv").read_text(encoding="utf-8").splitlines()
        assert first == "Layer, M, N, K,"
        return [line.rstrip(",").split(", ") for line in lines]

    apart, together = rows("apart", "-O", "0"), rows("together", *options)
    assert len(apart) == 3 * 4 - 1
    assert sorted(row[0] for row in together) == sorted(row[0] for row in apart)
    assert sorted(sorted(map(int, row[1:])) for row in together) == sorted(sorted(map(int, row[1:])) for row in apart)


def test_the_machine_is_written_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "h.cfg").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "t.csv").write_text(GEMM, encoding="utf-8")
    out = tmp_path / "out"
    options = ["--hw", str(tmp_path / "h.cfg"), "--set", "array.rows=10", "--emit", "scalesim", "-o", str(out), "-q"]
    assert run_command(["compile", str(tmp_path / "t.csv"), *options]) == 0
    before = compile_file(tmp_path / "t.csv", hardware=tmp_path / "h.cfg", overrides={"array.rows": 10})
    after = compile_file(out / "topology.csv", hardware=out / "scalesim.cfg")
    assert after.hardware == before.hardware


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_reports_are_those_of_scalesim(name: str, tmp_path: Path) -> None:
    data, folder = FOLDER / name, tmp_path / "reports"
    hardware = ["--hw", str(data / "scalesim.cfg")]
    written = ["--csv", str(folder), "--csv-format", "scalesim"]
    assert run_command(["compile", str(data / "topology.csv"), *hardware, *written, "-q"]) == 0
    expected = sorted(path.name for path in data.glob("*_REPORT.csv"))
    assert sorted(path.name for path in folder.iterdir()) == expected
    assert ("SPARSE_REPORT.csv" in expected) == (name == "sparse")
    for file in expected:
        found, wanted = (_cells(path / file) for path in (folder, data))
        assert found[0] == wanted[0]
        assert len(found) == len(wanted)
        for row, other in zip(found[1:], wanted[1:], strict=True):
            assert [_same(a, b) for a, b in zip(row, other, strict=True)] == [True] * len(row), file


def _cells(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip().rstrip(",").split(",")] for line in lines]


def _same(a: str, b: str) -> bool:
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-9)
    except ValueError:
        return a == b


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--emit", "scalesim"], 2, "--emit scalesim needs -o FOLDER"),
        (["--csv-format", "scalesim"], 2, "--csv-format scalesim needs --csv FOLDER"),
        (
            ["--emit", "onnx", "-o", "x"],
            2,
            "--emit onnx: expected mlir, astra-network, chakra, dot, linalg, scalesim, stablehlo, svg or trace",
        ),
        (["--csv-format", "x", "--csv", "x"], 2, "--csv-format x: expected npuc or scalesim"),
        (["--emit", "scalesim", "-o", "-"], 2, "several files cannot go to standard output"),
        (["--emit", "scalesim", "-o", "no/where"], 2, "cannot write 'no/where'"),
        (["--emit", "scalesim", "-o", "t.csv"], 2, "cannot write 't.csv'"),
        (["--csv-format", "scalesim", "--csv", "out"], 2, "not all columns of SCALE-Sim's reports"),
        (["--csv-format", "scalesim", "--csv", "out", "-b", "cycle", "-b", "cycle"], 2, "'cycle' alone"),
    ],
)
def test_what_cannot_be_written(
    options: list[str],
    status: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(GEMM, encoding="utf-8")
    assert run_command(["compile", "t.csv", "-q", *options]) == status
    assert message in capsys.readouterr().err


def test_what_the_files_cannot_say_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "t.csv"
    source.write_text("name,H,W,R,S,C,F,Strides\nc,9,9,3,3,4,5,2x1\n", encoding="utf-8")
    assert run_command(["compile", str(source), "--emit", "scalesim", "-o", str(tmp_path / "a")]) == 0
    assert "1 convolutions of several images or with two strides" in capsys.readouterr().err
    assert (tmp_path / "a" / "topology.csv").read_text(encoding="utf-8") == "Layer, M, N, K,\nc, 28, 5, 36,\n"
    source.write_text(GEMM, encoding="utf-8")
    assert run_command(["compile", str(source), "--emit", "scalesim", "-o", str(tmp_path / "a")]) == 0
    assert "1 rows stand for several equal products" in capsys.readouterr().err
