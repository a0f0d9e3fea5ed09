"""Numbers that only Python reads, or that it does not read, and files that are no text: a message and a status."""

import os
from pathlib import Path
from threading import Thread

import pytest

from npuc.compiler.cli import run_command

NETWORK = """network n(batch={}) {{
  input x: f32[batch, 6]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 4), y)
}}
"""
MACHINE = 'clock_mhz = 1000\narray = {{ rows = {}, cols = 8, dataflow = "os" }}\nmemory = {{ spm_kib = 64 }}\n'
LONG = ["9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000]
ODD = [*LONG, "1\x1c", "\xa01", "８", "²"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("n.dsl").write_text(NETWORK.format(4))


def message(capsys: pytest.CaptureFixture[str], status: int, *arguments: str) -> str:
    assert run_command(list(arguments)) == status
    found = capsys.readouterr().err
    assert found.strip()
    assert "defect" not in found
    assert "Exceeds the limit" not in found
    assert len(found) < 1500
    return found


@pytest.mark.parametrize("number", ODD)
@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "n.dsl", "-D", "batch={}"),
        ("compile", "n.dsl", "--set", "array.rows={}"),
        ("compile", "n.dsl", "--set", "dram.gb_per_s={}"),
        ("compile", "n.dsl", "--mesh", "2x{}"),
        ("compile", "n.dsl", "--devices", "{}"),
        ("compile", "n.dsl", "-O", "{}"),
        ("compile", "n.dsl", "--max-ops", "{}"),
        ("compile", "n.dsl", "-p", "autodiff,recompute{{k={}}}"),
        ("compile", "n.dsl", "-p", 'autodiff,lower-to-npu,tile{{steps="m:{}"}},schedule'),
        ("compile", "n.dsl", "--tolerance", "{}"),
        ("check", "n.dsl", "--limit", "{}"),
        ("check", "n.dsl", "--seed", "{}"),
        ("sweep", "n.dsl", "--vary", "array.rows=8,{}"),
        ("sweep", "n.dsl", "--vary", "array.rows=8:16:{}"),
    ],
)
def test_numbers_on_the_command_line(
    number: str, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    message(capsys, 2, *(part.format(number) for part in arguments))


@pytest.mark.parametrize("number", ODD)
def test_numbers_in_files(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.dsl").write_text(NETWORK.format(number))
    assert "x.dsl:1:" in message(capsys, 1, "compile", "x.dsl")
    Path("x.csv").write_text(f"layer,M,N,K\na,8,8,{number}\n")
    assert "x.csv:2:7: error" in message(capsys, 1, "compile", "x.csv")
    Path("x.toml").write_text(MACHINE.format(number))
    assert "x.toml:2:" in message(capsys, 2, "compile", "n.dsl", "--hw", "x.toml")


@pytest.mark.parametrize("name", ["x.dsl", "x.mlir", "x.csv", "x.m"])
@pytest.mark.parametrize("verb", ["compile", "run", "check", "opt", "fmt", "lint"])
def test_files_that_are_no_text(name: str, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (b"\xff", b"a\n \xff", b"\0", "network".encode("utf-16")):
        Path(name).write_bytes(data)
        shown = capsys.readouterr()
        status = run_command([verb, name])
        shown = capsys.readouterr().err
        assert status in (1, 2)
        assert "error: " in shown
        assert "defect" not in shown
        if b"\xff" in data and status == 1:
            assert "which is not UTF-8" in shown
            assert f"{name}:{data.count(10) + 1}:" in shown
    os.mkdir(f"folder{Path(name).suffix}")
    assert run_command([verb, f"folder{Path(name).suffix}"]) in (0, 1, 2)


@pytest.mark.parametrize("text", ["", "\n", "// nothing\n"])
def test_ir_without_operations(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.mlir").write_text(text)
    for verb in ("compile", "opt", "run"):
        assert "x.mlir:1:1: error: found no operation, expected a module" in message(capsys, 1, verb, "x.mlir")


@pytest.mark.parametrize("verb", ["compile", "run", "check", "opt", "fmt", "lint", "reuse", "import"])
def test_names_that_no_file_has(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("\0", "a\0.dsl", "n" * 5000 + ".dsl", "n.dsl/x.dsl"):
        message(capsys, 2, verb, name)


def test_a_pipe_is_not_formatted_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("p.dsl")
    writer = Thread(target=lambda: Path("p.dsl").write_text("network n( ) {\n}"))
    writer.start()
    assert "it is no regular file" in message(capsys, 2, "fmt", "p.dsl")
    writer.join()


def test_arrays_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    for data in (b"", b"\0\0", b"PK\3\4"):
        Path("x.npz").write_bytes(data)
        assert "x.npz" in message(capsys, 2, "run", "n.dsl", "--inputs", "x.npz")


def test_lines_are_counted_as_editors_do(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("layer,M,N,K\na\x0cb,8,8,8\n# \u2028\nc,8,8,none\n")
    shown = message(capsys, 1, "compile", "x.csv")
    assert "x.csv:4:7: error: K: found 'none'" in shown
    assert "    c,8,8,none\n" in shown


@pytest.mark.parametrize("target", [".", "no/r.json", "r\0.json"])
def test_a_list_that_cannot_be_written_is_not_printed(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["list", "backends", "--json", target]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "cannot write" in shown.err


def test_an_unknown_operation_does_not_list_all_that_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.mlir").write_text("builtin.module {\n  frobnicate\n}\n")
    assert "x.mlir:2:3: error: unknown operation 'frobnicate'" in message(capsys, 1, "compile", "x.mlir")
    Path("x.mlir").write_text("builtin.module {\n  train.relo\n}\n")
    assert "did you mean 'train.relu'?" in message(capsys, 1, "compile", "x.mlir")


def test_statistics_to_a_name_that_no_file_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot write" in message(capsys, 2, "compile", "n.dsl", "--statistics-json", "s\0.json")


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "n.dsl", "--json", "a.x", "--csv", "a.x"),
        ("compile", "n.dsl", "--json", "a.x", "-o", "./a.x"),
        ("compile", "n.dsl", "--json", "a.svg", "--plot", "a.svg"),
        ("compile", "n.dsl", "--json", "a.x", "--statistics-json", "a.x"),
        ("opt", "n.dsl", "-p", "autodiff", "-o", "a.x", "--statistics-json", "a.x"),
        ("sweep", "n.dsl", "--vary", "batch=2,4", "--json", "a.x", "--csv", "a.x"),
        ("map", "n.dsl", "--hw", "nvdla", "--budget", "4", "--json", "a.x", "--csv", "a.x"),
        ("run", "n.dsl", "--outputs", "a.x", "--json", "a.x"),
        ("reuse", "n.dsl", "--json", "a.x", "--csv", "a.x"),
        ("explain", "n.dsl", "linear", "--json", "a.svg", "--plot", "a.svg"),
        ("machine", "nvdla", "--json", "a.svg", "--plot", "a.svg"),
    ],
)
def test_two_results_in_one_file(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    if "--plot" in arguments:
        pytest.importorskip("matplotlib")
    found = message(capsys, 2, *arguments)
    assert "two results would be written to" in found
    assert sorted(path.name for path in Path().iterdir()) == ["n.dsl"]


def test_two_results_in_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["machine", "nvdla", "--json", os.devnull, "--plot", f"{os.devnull}"]) == 2  # no kind of picture
    assert "cannot tell the kind of picture" in capsys.readouterr().err
    assert run_command(["reuse", "n.dsl", "-q", "--json", os.devnull, "--csv", os.devnull]) == 0
