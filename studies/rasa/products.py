"""The products of a network, and the instructions that a product is on an engine that is fed from registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npuc.compiler.analysis.machine.overlap import Stages
from npuc.compiler.core.errors import SourceError
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import run_options
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.provenance import layer_of, repeat_of, role_of
from npuc.frontends.source import open_source
from npuc.studies.rasa.settings import COLS, ROWS, TILE_M


@dataclass(frozen=True)
class MatrixProduct:
    """`batch` products of M x K by K x N, of a layer in a phase, `repeat` times."""

    layer: str
    phase: str
    repeat: int
    batch: int
    m: int
    n: int
    k: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one repetition."""
        return self.batch * self.m * self.n * self.k


@dataclass(frozen=True)
class Stream:
    """
    The instructions of a product in groups that follow each other on the same weights.

    `groups` are sizes of groups with how many of them there are, and `last` is the size of the last one.
    """

    groups: tuple[tuple[int, int], ...]
    last: int

    @property
    def instructions(self) -> int:
        """The number of instructions."""
        return sum(size * count for size, count in self.groups)

    @property
    def changes(self) -> int:
        """The number of groups: how often weights change, the first time included."""
        return sum(count for _, count in self.groups)

    def cycles(self, stages: Stages) -> int:
        """The cycles of the stream by the stages of a design: `Stages.stream` without a list of groups."""
        waits = sum(count * stages.wait(size) for size, count in self.groups) - stages.wait(self.last)
        return stages.once + self.instructions * stages.block + self.changes * stages.reload + waits


def stream_of(product: MatrixProduct, block: tuple[int, int]) -> Stream:
    """
    The instructions of a product whose results are in registers by blocks of so many tiles of rows and columns.

    Blocks follow each other along rows within columns; inside one, sums are outer, then columns, then rows, which share
    weights. Where a block of columns has one tile of weights in all, all rows share it; any other weights change with
    each group, also from one block to the next, where the sums begin anew.
    """
    rows, columns, sums = -(-product.m // TILE_M), -(-product.n // COLS), -(-product.k // ROWS)
    full, rest = divmod(rows, block[0])
    alone = 0 if sums > 1 else columns if block[1] == 1 else int(columns % block[1] == 1)
    weights = (columns - alone) * sums * product.batch
    counts = ((block[0], full * weights), (rest, weights if rest else 0), (rows, alone * product.batch))
    return Stream(tuple((size, count) for size, count in counts if count), rows if alone else rest or block[0])


def products_of(source: str, *, inference: bool, defines: Mapping[str, object]) -> tuple[MatrixProduct, ...]:
    """The products of a network at the level `npu`. Raises `NpucError`s, also where there are none."""
    opened = open_source(source)
    options = run_options({"level": "npu", "inference": inference, "defines": dict(defines)})
    module = lowered_source(opened, options, {}, set())
    found = [_product(op) for op in module.walk() if isinstance(op, ContractOp)]
    if not found:
        raise SourceError(f"{opened.shown} has no product for a matrix engine")
    return tuple(found)


def _product(op: ContractOp) -> MatrixProduct:
    batch, m, n, k = gemm_view(op.nest, op.nest.statements[0]).sizes(op.nest.sizes)
    return MatrixProduct(layer_of(op), role_of(op).value, repeat_of(op), batch, m, n, k)
