"""Every `--csv` is one that pandas reads without arguments, and any other reader, too."""

import csv
import io
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Npuc
from tests.unit.cli.option_files import CLUSTER

DESIGN = ("--area-mm2", "4", "--budget", "300", "--hw", "nvdla")
VERBS = {
    "compile": ("compile", "net.dsl"),
    "compile of two": ("compile", "net.dsl", "-b", "cycle", "-b", "roofline", "--set", "compute.tflops=4"),
    "diff": ("diff", "net.dsl", "-D", "batch=4", "-D", "batch=8"),
    "sweep": ("sweep", "net.dsl", "--vary", "batch=4,8", "--vary", "precision=f32,bf16"),
    "sweep of failures": ("sweep", "net.dsl", "--vary", "memory.spm_kib=0.01,512"),
    "map": ("map", "net.dsl", "--budget", "40", "--hw", "nvdla"),
    "reuse": ("reuse", "net.dsl"),
    "design": ("design", "net.dsl", *DESIGN),
    "flexibility": ("flexibility", "net.dsl", "--budget", "20", "--hw", "nvdla"),
    "network": tuple("network net.dsl --devices 4 --parallel dp --hw cluster.toml --shapes --total-gb-per-s 9".split()),
    "optimize": ("optimize", "net.dsl", "--vary", "batch=4,8", "--goals", "time,energy"),
    "training": ("training", "net.dsl", "--phases", "large-batch"),
    "study": ("study", "hypar", "--network", "net.dsl"),
}
UNIT = re.compile(r"[-+]?[\d.,]+(?:e-?\d+)? ?(?:[num\u00b5]?[sJ]|[KMGT]?i?B|%|x|pp|[kMGT])")
GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
WHOLE = re.compile(r"(?:.*_)?(?:bytes|macs|cycles|ops|batch|devices)")
"""Columns of whole numbers, by the last part of their names."""


def faults(text: str) -> list[str]:
    """What a reader without arguments would take for something else."""
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    found = [] if len({*head}) == len(head) and all(head) else ["headings are empty or alike"]
    found += [f"row {n} has {len(row)} cells" for n, row in enumerate(rows) if len(row) != len(head)]
    if text.startswith("\ufeff") or "\r" in text or not text.endswith("\n"):
        found.append("lines do not end alike, or there is a mark before the first")
    for name, *cells in zip(head, *rows, strict=True) if not found else ():
        said = [cell for cell in cells if cell]
        for cell in said:
            if UNIT.fullmatch(cell) or GROUPED.fullmatch(cell):
                found.append(f"{name}: {cell} is a number for people")
            if cell.lower() in ("nan", "none", "null", "n/a", "-", "inf", "-inf") or cell != cell.strip():
                found.append(f"{name}: {cell!r} is for what is missing")
        if WHOLE.fullmatch(name.rpartition(".")[2]) and all(map(NUMBER.fullmatch, said)):
            found += [f"{name}: {cell} is not whole" for cell in said if not re.fullmatch(r"-?\d+", cell)]
    return found


@pytest.mark.parametrize("name", VERBS)
def test_rows_are_read_without_arguments(npuc: Npuc, folder: Path, name: str) -> None:
    Path("cluster.toml").write_text(CLUSTER)
    outcome = npuc(*VERBS[name], "-q", "--csv", "r.csv")
    assert outcome.status in (0, 3), outcome.err
    text = Path("r.csv").read_bytes().decode("utf-8")
    assert faults(text) == []
    if find_spec("pandas") is None:
        return
    pandas: Any = import_module("pandas")
    frame = pandas.read_csv("r.csv")
    head, *rows = csv.reader(io.StringIO(text))
    assert [*frame.columns] == head
    assert len(frame) == len(rows)


@pytest.mark.parametrize(
    "text",
    [
        "a,a\n1,2\n",
        "a,b\n1\n",
        "a\n1.5 ms\n",
        'a\n"1,024"\n',
        "a\nnan\n",
        "a\r\n1\r\n",
        "x_bytes\n1.0\n",
        "a\n 1\n",
        "a\n1",
    ],
)
def test_faults_are_found(text: str) -> None:
    assert faults(text)
