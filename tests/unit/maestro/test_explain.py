"""`npuc explain -b maestro`: what it says is what the report says."""

import re
from pathlib import Path

import pytest

from npuc.compiler import compile_file
from npuc.compiler.cli import main

LAYER = ("explain", "samples:lenet", "conv2", "-b", "maestro", "--quiet")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as found:
        main(list(arguments))
    out, error = capsys.readouterr()
    assert found.value.code in (0, None), error
    return out


def test_the_parts_of_the_time_and_the_accesses_are_those_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, *LAYER, "--set", "maestro.noc_bw=3", "--set", "maestro.noc_hop_latency=40")
    overrides = {"maestro.noc_bw": 3, "maestro.noc_hop_latency": 40}
    report = compile_file("samples:lenet", backend="maestro", overrides=overrides, only="conv2")
    rows = [row for row in report.ops if row.kind == "matrix"]
    blocks = text.split("\n\nconv2")
    assert len(blocks) == len(rows) == 3
    for block, row in zip(blocks, rows, strict=True):
        parts = [int(part.replace(",", "")) for part in re.findall(r"^ +([\d,]+) +\d+%", block, re.MULTILINE)]
        assert sum(parts) == row.cycles
        assert parts[0] == row.compute_cycles
        assert len(parts) == 3, "steps, network, latency"
        for name, tensor in (("input", 0), ("filter", 1), ("output", 2)):
            line = block.splitlines()[-4 + tensor].split()
            assert [int(cell.replace(",", "")) for cell in line[1:4]] == [
                row.native[f"{name}_{key}"] for key in ("l2_size_req", "l2_read", "l2_write")
            ]


def test_directives_and_one_phase(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, *LAYER, "--set", "maestro.mode=parity", "--mapping", "yxp_os", "--phase", "forward")
    head, _, text = text.partition("\n")
    assert head == "samples:lenet on nvdla, backend maestro"
    assert text.startswith("conv2 forward: Y += X * W over b 64, o 16, i 6, y 10, x 10, r 5, s 5; 15,360,000 MACs\n")
    assert "SpatialMap" in text
    assert "inside clusters of 8" in text


def test_mapping_files_are_explained_as_they_are_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.m"
    path.write_text(
        "Network n { Layer a { Type: GEMM Dimensions { M: 4, N: 4, K: 4 } Dataflow { SpatialMap(1,1) M; } } }"
    )
    text = run(capsys, "explain", str(path), "a", "-q")
    assert text == run(capsys, "explain", str(path), "a", "-b", "maestro", "-q")
    assert text != run(capsys, "explain", str(path), "a", "-b", "cycle", "-q")
    (row,) = compile_file(path).ops
    assert f"{row.cycles:,} cycles" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pool1", "-b", "maestro"), "no layer is called 'pool1'"),
        (("conv2", "-b", "maestro", "--phase", "update"), "has no operation in phase update"),
        (("conv2", "-b", "maestro", "--plot", "a.svg"), "the backend 'maestro' draws no picture of a layer"),
        (("conv2", "-b", "maestro", "--mapping", "kpc"), "unknown mapping 'kpc'"),
    ],
)
def test_what_it_cannot_explain(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "--plot" in arguments:
        pytest.importorskip("matplotlib")
    with pytest.raises(SystemExit) as found:
        main(["explain", "samples:lenet", *arguments])
    assert found.value.code == 2
    assert message in capsys.readouterr().err
