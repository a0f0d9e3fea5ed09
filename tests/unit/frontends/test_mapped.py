"""Files of gigabytes of weights are mapped: reading their graphs costs no memory."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from npuc.compiler.core.errors import SourceError
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.base import Request
from npuc.frontends.files import MAPPED_FROM
from npuc.frontends.source import open_source, text_source
from npuc.frontends.torch.archive import MAX_INFLATED, Archive
from tests.onnx_files import field, message, node, value

CNN = Path(__file__).parents[2] / "oracle" / "data" / "torch" / "cnn.pt2"
LARGE = 4 << 30


def _large_archive(path: Path) -> None:
    """A program whose files lie behind 4 GB that take no room on disk, as weights would."""
    with path.open("wb") as file:
        file.truncate(LARGE)
    with zipfile.ZipFile(CNN) as old, zipfile.ZipFile(path, "a") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))


def _head(number: int, length: int) -> bytes:
    """The tag and the length of a field whose content follows."""
    size, out = length, bytearray()
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return field(number, b"")[:-1] + bytes([*out, size])


def _large_model(path: Path) -> None:
    """A product with a weight of 4 GB that takes no room on disk."""
    width = LARGE // 4 // 1024
    weight = message((1, 1024), (1, width), (2, 1), (8, "w")) + _head(9, LARGE)
    graph = message(
        (1, node("MatMul", ["x", "w"], ["y"])), (2, "g"), (11, value("x", (2, 1024))), (12, value("y"))
    ) + _head(5, len(weight) + LARGE)
    graph += weight
    start = message((1, 9), (8, message((1, ""), (2, 21)))) + _head(7, len(graph) + LARGE) + graph
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + LARGE)


WRITERS = {"model.pt2": _large_archive, "model.onnx": _large_model}


_MEASURED = """
import sys
from npuc.compiler.cli import run_command
status = run_command(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(status, peak.split()[1])
"""
"""A command line that prints its status and the most memory that it took, in KiB; that of its parent does not count."""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system does not tell a process's peak memory")
@pytest.mark.parametrize("name", list(WRITERS))
def test_a_file_of_4_gb_costs_no_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    command = ["compile", str(path), "-b", "roofline", "--quiet", "--json", str(tmp_path / "report.json")]
    done = subprocess.run([sys.executable, "-c", _MEASURED, *command], check=True, capture_output=True, text=True)
    status, peak = map(int, done.stdout.splitlines()[-1].split())
    assert status == 0
    assert peak < 1 << 20


def test_a_sweep_of_a_large_file_remembers_a_digest(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    _large_archive(path)

    def digest() -> str:
        return Sweep(open_source(path), {"hardware": ["rtx2080ti", "a100"]}, "roofline", {}).digest()

    first = digest()
    assert digest() == first
    os.utime(path, ns=(1, 1))
    assert digest() != first


def test_a_mapped_source_goes_to_another_process(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    _large_archive(path)
    source = open_source(path)
    again = pickle.loads(pickle.dumps(source))
    assert again.fingerprint() == source.fingerprint()
    assert len(again.data) == len(source.data) > MAPPED_FROM


def test_another_content_has_another_fingerprint() -> None:
    data = CNN.read_bytes()
    prints = {text_source(one, "pt2", "m.pt2").fingerprint() for one in (data, data, data[:-1] + b"x")}
    assert len(prints) == 2


def test_weights_that_inflate_beyond_all_bounds_are_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("m/data/weights/w", bytes(1 << 20))
    size = (1 << 20).to_bytes(4, "little")
    data = out.getvalue().replace(size, (MAX_INFLATED + 1).to_bytes(4, "little"))
    archive = Archive(data, "m.pt2")
    with pytest.raises(SourceError, match="is deflated from 1,073,741,825 bytes"):
        archive.read("data/weights/w", archive.size("data/weights/w"))


def test_a_source_of_a_small_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(CNN.read_bytes())
    source = open_source(path)
    assert isinstance(source.data, bytes)
    assert source.frontend.read(source, Request()).values
