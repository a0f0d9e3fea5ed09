"""
The tables of the nine networks in docs/beyond.md, between markers.

    python -m tests.docs.beyond      compiles them all, which takes a quarter of an hour, and writes the tables anew
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import mean
from typing import NamedTuple

from npuc.compiler import compile_file
from npuc.studies.igo.networks import BATCHES, MODELS, StudyNetwork, study_networks
from tests.docs.pages import FOLDER
from tests.docs.tables import filled

START = "autodiff,lower-to-npu,schedule{tolerance=0}"
TOGETHER = "autodiff,lower-to-npu,interleave{mode=best tolerance=0},schedule{tolerance=0}"
"""The passes before those of a column: without and with interleaving. A gain may be less than the default tolerance."""
FUSED: Mapping[str, str] = {
    "updates": f"{START},fuse-vector{{what=updates}}",
    "elementwise": f"{START},fuse-vector{{what=elementwise}}",
    "both": f"{START},fuse-vector",
    "`interleave`": TOGETHER,
    "`interleave`, both": f"{TOGETHER},fuse-vector",
}
RESIDENT: Mapping[str, str] = {
    "pairs": f"{START},keep-resident{{what=pairs}}",
    "gradients": f"{START},keep-resident{{what=gradients}}",
    "all": f"{START},keep-resident",
    "`interleave`, all": f"{TOGETHER},keep-resident",
    "`fuse-vector`, all": f"{START},fuse-vector,keep-resident",
}
TABLES: Mapping[str, Mapping[str, str]] = {"fused": FUSED, "resident": RESIDENT}
"""The columns of each table: a name and the passes."""


class Cost(NamedTuple):
    """The time and the DRAM traffic of a step."""

    seconds: float
    moved: int

    def gain(self, base: "Cost") -> tuple[float, float]:
        """What it saves of another step, in percent: time, traffic."""
        return 100 * (1 - self.seconds / base.seconds), 100 * (1 - self.moved / base.moved)


@cache
def cost(npu: str, model: str, passes: str) -> Cost:
    """What a step of a network of the study of interleaved gradients costs on its NPU after these passes."""
    (network,) = (one for one in study_networks() if (one.npu, one.model) == (npu, model))
    report = compile_file(
        network.source, backend="cycle", hardware=f"igo-{npu}", defines=dict(network.defines), pipeline=passes
    )
    totals = report.totals
    assert totals.seconds is not None
    return Cost(totals.seconds, (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0))


def row(network: StudyNetwork, columns: Mapping[str, str]) -> str:
    """The row of a network."""
    base = cost(network.npu, network.model, START)
    cells = [MODELS[network.model], network.npu, f"{1e3 * base.seconds:,.1f}", f"{base.moved / 2**20:,.0f}"]
    return _line([*cells, *(_gain(gain) for gain in gains(network, columns))])


def gains(network: StudyNetwork, columns: Mapping[str, str]) -> list[tuple[float, float]]:
    """What the passes of each column save of the step of a network, in percent: time, traffic."""
    base = cost(network.npu, network.model, START)
    return [cost(network.npu, network.model, passes).gain(base) for passes in columns.values()]


def table(columns: Mapping[str, str]) -> Iterator[str]:
    """The rows of all networks, after those of each NPU their mean."""
    yield _line(["network", "NPU", "ms", "MiB", *columns])
    yield f"|---|---|{'---:|' * (2 + len(columns))}"
    for npu in BATCHES:
        networks = [one for one in study_networks() if one.npu == npu]
        for number, network in enumerate(networks):
            print(f"{network.model} {npu} ({number + 1} of {len(networks)})", file=sys.stderr)
            yield row(network, columns)
        each = zip(*(gains(network, columns) for network in networks), strict=True)
        yield _line(["mean", npu, "", "", *(_gain((mean(t for t, _ in of), mean(m for _, m in of))) for of in each)])


def _gain(gain: tuple[float, float]) -> str:
    time, moved = (f"{value:.1f}".replace("-0.0", "0.0") for value in gain)
    return f"{time} / {moved}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |  |", "| | |")


if __name__ == "__main__":
    page = FOLDER / "beyond.md"
    tables = {name: list(table(columns)) for name, columns in TABLES.items()}
    page.write_text(filled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
