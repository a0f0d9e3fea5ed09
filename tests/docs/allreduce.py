"""
The table of docs/validation.md that puts npuc's all-reduce beside measured ones, between markers.

    python -m tests.docs.allreduce          writes it anew

The measured times are in tests/oracle/data/allreduce_one_node.csv: NCCL on one node of A100 or V100 GPUs. Latency and
bandwidth are fitted on the even numbers of GPUs, on a grid of 0.5 us and 5 GB/s; the odd ones judge.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from statistics import fmean

from npuc.compiler.analysis.interconnect.collectives import collective_cost
from npuc.compiler.analysis.interconnect.topology import Interconnect, Kind, NetworkLevel
from tests.docs.pages import FOLDER, ROOT
from tests.docs.tables import filled

MEASURED = ROOT / "tests" / "oracle" / "data" / "allreduce_one_node.csv"
GPUS = ("a100", "v100")
KINDS: tuple[Kind, ...] = ("switch", "ring")
LARGE = 16 << 20
"""Bytes from which bandwidth sets most of the time."""


@dataclass(frozen=True)
class Measured:
    """A time in microseconds for so many bytes on each of so many devices."""

    devices: int
    bytes: int
    time_us: float


@cache
def measured(gpu: str) -> tuple[Measured, ...]:
    """The measured all-reduces of a kind of GPU."""
    with MEASURED.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["gpu"] == gpu]
    return tuple(Measured(int(row["gpus"]), int(row["bytes"]), float(row["time_us_last"])) for row in rows)


@cache
def model_us(kind: Kind, devices: int, size: int, latency_ns: int, gb_per_s: int) -> float:
    """npuc's time of an all-reduce on one level of a network, in microseconds."""
    level = NetworkLevel(kind, devices, Fraction(gb_per_s * 10**9), Fraction(latency_ns, 10**9))
    cost = collective_cost("all_reduce", Fraction(size), Interconnect((level,)).place([devices]), range(1))
    return float(cost.seconds * 10**6)


@cache
def fitted(gpu: str, kind: Kind) -> tuple[int, int]:
    """The latency in ns and the bandwidth in GB/s with the least mean error on even numbers of GPUs."""
    waits = {n: model_us(kind, n, 0, 1000, 1) for n in range(2, 9)}
    sent = {n: model_us(kind, n, 10**9, 0, 1) / 1e9 for n in range(2, 9)}
    rows = [row for row in measured(gpu) if row.devices % 2 == 0]

    def off(latency_ns: int, gb_per_s: int) -> float:
        times = (waits[r.devices] * latency_ns / 1000 + sent[r.devices] * r.bytes / gb_per_s for r in rows)
        return fmean(abs(time / row.time_us - 1) for time, row in zip(times, rows, strict=True))

    grid = [(latency, rate) for latency in range(500, 25_000, 500) for rate in range(20, 305, 5)]
    return min(grid, key=lambda point: off(*point))


def errors(gpu: str, kind: Kind, rows: Sequence[Measured]) -> list[float]:
    """npuc's time of each row over the measured one, less 1."""
    return [model_us(kind, row.devices, row.bytes, *fitted(gpu, kind)) / row.time_us - 1 for row in rows]


def judged(gpu: str, devices: Sequence[int], large: bool | None = None) -> list[Measured]:
    """The measured rows of some numbers of GPUs, of large or small messages, or of all."""
    rows = (row for row in measured(gpu) if row.devices in devices)
    return [row for row in rows if large is None or (row.bytes >= LARGE) is large]


def rows() -> Iterator[str]:
    """Mean errors by GPU and kind of level."""
    yield "| GPUs | level | latency, us | GB/s | 2, 4, 6, 8: mean | 3, 5, 7: mean | worst | to 8 MiB | from 16 MiB |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for gpu in GPUS:
        for kind in KINDS:
            latency, rate = fitted(gpu, kind)
            odd = errors(gpu, kind, judged(gpu, (3, 5, 7)))
            parts = [errors(gpu, kind, judged(gpu, (3, 5, 7), large)) for large in (False, True)]
            cells = [gpu, kind, f"{latency / 1000:.1f}", str(rate)]
            cells += [_percent(mean(errors(gpu, kind, judged(gpu, (2, 4, 6, 8))))), _percent(mean(odd))]
            cells += [_percent(max(map(abs, odd))), *(_percent(mean(part)) for part in parts)]
            yield f"| {' | '.join(cells)} |"


def mean(found: Sequence[float]) -> float:
    """The mean size of errors."""
    return fmean(map(abs, found))


def _percent(error: float) -> str:
    return f"{100 * error:.0f} %"


def with_table(text: str) -> str:
    """The page with the table made anew."""
    return filled(text, {"allreduce": rows()})


if __name__ == "__main__":
    PAGE = FOLDER / "validation.md"
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
