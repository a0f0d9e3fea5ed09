"""
The tables of the study's networks in docs/beyond.md, between markers.

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


FOOTPRINT = ("rcnn", "goo", "res", "mob", "yolo")
"""The networks that have convolutions."""


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


class Windows(NamedTuple):
    """A step with convolutions in one form: what products move of X and dX, the matrices of windows, and all; times."""

    images: int
    matrices: int
    moved: int
    seconds: float
    products: float


def windows(network: StudyNetwork, conv: str) -> Windows:
    """A step of a network of the study on its NPU whose convolutions are `native` or `im2col`."""
    passes = f"autodiff,lower-to-npu{{conv={conv}}},schedule"
    report = compile_file(
        network.source, backend="cycle", hardware=f"igo-{network.npu}", defines=dict(network.defines), pipeline=passes
    )
    images = matrices = moved = 0
    for row in report.ops:
        own = row.repeat * ((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0))
        moved += own
        matrices += own * row.op.endswith(("im2col", "col2im"))
        for name, tensor in (row.tensors or {}).items() if row.kind == "matrix" else ():
            images += row.repeat * (tensor.read_bytes + tensor.write_bytes) * (name in ("X", "dX"))
    totals = report.totals
    assert totals.seconds is not None
    return Windows(images, matrices, moved, totals.seconds, totals.seconds_by_kind["matrix"] or 0.0)


def footprint_row(network: StudyNetwork) -> str:
    """The row of a network with native convolutions and with matrices of windows."""
    native, im2col = (windows(network, conv) for conv in ("native", "im2col"))
    sizes = native.images, im2col.images, im2col.matrices, native.moved, im2col.moved
    ratios = im2col.moved / native.moved, im2col.seconds / native.seconds, im2col.products / native.products
    cells = [f"{size / 2**20:,.0f}" for size in sizes] + [f"{ratio:.2f}" for ratio in ratios]
    return _line([MODELS[network.model], network.npu, *cells])


def footprint_table() -> Iterator[str]:
    """What windows as matrices move and take."""
    heads = ["X, dX of products: native", "im2col", "matrices of windows", "all: native", "im2col"]
    yield _line(["network", "NPU", *heads, "traffic", "time", "time of products"])
    yield f"|---|---|{'---:|' * (len(heads) + 3)}"
    for npu in BATCHES:
        yield from (footprint_row(one) for one in study_networks() if one.npu == npu and one.model in FOOTPRINT)


def _gain(gain: tuple[float, float]) -> str:
    time, moved = (f"{value:.1f}".replace("-0.0", "0.0") for value in gain)
    return f"{time} / {moved}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |  |", "| | |")


if __name__ == "__main__":
    page = FOLDER / "beyond.md"
    tables = {name: list(table(columns)) for name, columns in TABLES.items()} | {"footprint": list(footprint_table())}
    page.write_text(filled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
