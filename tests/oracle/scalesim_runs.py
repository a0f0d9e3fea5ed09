"""
Runs of SCALE-Sim itself on the products of a network, in CALC and in USER mode.

    npuc compile samples:resnet50 -D batch=1 --hw scalesim --emit scalesim -o FOLDER
    python tests/oracle/scalesim_runs.py FOLDER runs.csv --name resnet50 --layers 'stage[14].1'

It needs `scalesim==3.0.0` and numpy before 2.4, nothing of npuc. Each row of the topology that differs from those
before it, and from those that the file has already, runs by itself, the least work first, with at most so many
seconds of processor time. A run that does not end in time is a row without results, and CALC is then left out.
"""

import argparse
import csv
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

SIZES = ("ifmap_h", "ifmap_w", "filter_h", "filter_w", "channels", "num_filters", "stride")
COLUMNS = {
    "total_cycles": ("COMPUTE_REPORT", "Total Cycles"),
    "stall_cycles": ("COMPUTE_REPORT", "Stall Cycles"),
    "ifmap_sram_reads": ("DETAILED_ACCESS_REPORT", "SRAM IFMAP Reads"),
    "filter_sram_reads": ("DETAILED_ACCESS_REPORT", "SRAM Filter Reads"),
    "ofmap_sram_writes": ("DETAILED_ACCESS_REPORT", "SRAM OFMAP Writes"),
    "ifmap_dram_reads": ("DETAILED_ACCESS_REPORT", "DRAM IFMAP Reads"),
    "filter_dram_reads": ("DETAILED_ACCESS_REPORT", "DRAM Filter Reads"),
    "ofmap_dram_writes": ("DETAILED_ACCESS_REPORT", "DRAM OFMAP Writes"),
}
"""The columns that are kept: from which report, and its name there."""
HEAD = ("source", "layer", *SIZES, "sram_kb", "mode", *COLUMNS)
RUN = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, ({limit}, {limit}))
from scalesim.scale_sim import scalesim
files = dict(config="run.cfg", topology="run.csv", layout="layout.csv")
scalesim(save_disk_space=True, verbose=False, input_type_gemm=False, **files).run_scale(top_path="results")
"""


def run(folder: Path, topology: str, config: str, limit: int) -> list[str] | None:
    """SCALE-Sim's results for a topology of one row, as printed; None when it needs more than `limit` seconds."""
    (folder / "run.csv").write_text(topology, encoding="utf-8")
    (folder / "run.cfg").write_text(config, encoding="utf-8")
    (folder / "layout.csv").write_text("Layer name,\n", encoding="utf-8")
    (folder / "results").mkdir()
    command = [sys.executable, "-c", RUN.format(limit=limit)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return None
    if done.returncode > 0:
        raise SystemExit(done.stderr)
    found: dict[str, dict[str, str]] = {}
    for name in {report for report, _ in COLUMNS.values()}:
        (file,) = folder.glob(f"results/**/{name}.csv")
        head, row = csv.reader(file.read_text(encoding="utf-8").splitlines())
        found[name] = {title.strip(): cell.strip() for title, cell in zip(head, row, strict=True)}
    return [str(int(float(found[report][title]))) for report, title in COLUMNS.values()]


def work(row: Sequence[str]) -> int:
    """The MACs of a row, by which rows are ordered."""
    height, width, high, wide, channels, filters, stride = map(int, row[1:])
    return (
        -(-(height - high + stride) // stride)
        * -(-(width - wide + stride) // stride)
        * high
        * wide
        * channels
        * filters
    )


def distinct(topology: str, layers: str) -> list[list[str]]:
    """The rows of layers that match a pattern, with sizes that none before it has; the least work first."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for cells in list(csv.reader(topology.splitlines()))[1:]:
        row = [cell.strip() for cell in cells if cell.strip()]
        if len(row) == 4:  # a product, as SCALE-Sim itself takes it
            name, m, n, k = row
            row = [name, m, k, "1", k, "1", n, "1"]
        if re.match(layers, row[0]):
            rows.setdefault(tuple(row[1:]), row)
    return sorted(rows.values(), key=work)


def main() -> None:
    """Run a folder's topology, adding a row a run to a file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--layers", default="", help="regular expression, from the beginning of a name")
    parser.add_argument("--limit", type=int, default=60, help="seconds of processor time for a run")
    arguments = parser.parse_args()
    config = (arguments.folder / "scalesim.cfg").read_text(encoding="utf-8")
    size = re.search(r"IfmapSramSzkB : (\d+)", config)
    assert size is not None, "a configuration that npuc has written has all keys"
    if not arguments.table.exists():
        append(arguments.table, HEAD)
    known = {tuple(row[:1] + row[2:10]) for row in csv.reader(arguments.table.read_text(encoding="utf-8").splitlines())}
    for row in distinct((arguments.folder / "topology.csv").read_text(encoding="utf-8"), arguments.layers):
        if (arguments.name, *row[1:], size[1]) in known:
            continue
        for mode in ("USER", "CALC"):
            with TemporaryDirectory() as scratch:
                chosen = config.replace("InterfaceBandwidth : CALC", f"InterfaceBandwidth : {mode}")
                found = run(Path(scratch), "head,\n" + ", ".join(row) + ",\n", chosen, arguments.limit)
            append(arguments.table, [arguments.name, *row, size[1], mode, *(found or [""] * len(COLUMNS))])
            if found is None:
                break


def append(table: Path, row: Sequence[str]) -> None:
    """Add a row to a file."""
    with table.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(row)


if __name__ == "__main__":
    main()
