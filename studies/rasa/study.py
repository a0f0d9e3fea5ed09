"""
Every product of the networks by every design of the engine, whose stages overlap more from one to the next.

A product is a stream of instructions of its own: it begins with a load of weights and ends with a drain. Reductions are
of all products of a network together, and means are over networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import fsum

from npuc.compiler.analysis.machine.overlap import Overlap, stages
from npuc.studies.base import Advance
from npuc.studies.rasa.products import MatrixProduct, products_of, stream_of
from npuc.studies.rasa.settings import (
    BLOCK,
    BLOCKS,
    COLS,
    DESIGNS,
    NETWORKS,
    PUBLISHED,
    ROWS,
    TILE_M,
    TOLERANCE,
    Preset,
    Workload,
)

MEAN = "mean"
FLOOR = TILE_M / (2 * ROWS + TILE_M + COLS - 1)
"""The least share of the cycles of `base` that any design takes: one feed for every instruction, and nothing else."""
BOUND = 100 * (1 - FLOOR)
"""The % that no design can take less than `base`."""


@dataclass(frozen=True)
class RasaRow:
    """
    A product of a network: its sizes, the instructions of one repetition and how often their weights change, and the
    cycles by each design.
    """

    network: str
    layer: str
    phase: str
    repeat: int
    batch: int
    m: int
    n: int
    k: int
    instructions: int
    weight_groups: int
    cycles: Mapping[Overlap, int]


@dataclass(frozen=True)
class ReductionRow:
    """The % by which a design takes less than `base` on a network (or on their mean), by the block in registers."""

    network: str
    design: Overlap
    block: str
    reduction: float


@dataclass(frozen=True)
class RasaClaim:
    """
    A finding, and the paper's number where it has one; `reproduced` is None where ours could not have been otherwise.
    """

    claim: str
    setting: str
    published: float | None
    ours: float
    reproduced: bool | None
    note: str = ""


@dataclass(frozen=True)
class RasaResults:
    """The products, the reductions, and the findings."""

    preset: Preset
    rows: tuple[RasaRow, ...]
    reductions: tuple[ReductionRow, ...]
    claims: tuple[RasaClaim, ...]
    published: Mapping[Overlap, float]
    """the published mean reductions by design, where they are of what was asked"""

    @property
    def verdict(self) -> str:
        """What ours says of the published numbers; empty where none is known of what is asked."""
        known = [one for one in self.claims if one.published is not None]
        return "; ".join(f"{one.claim}: {one.ours:.3g}, published {one.published:g}; {one.note}" for one in known)

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the networks."""
        return tuple(dict.fromkeys(row.network for row in self.rows))

    def reduction(self, network: str, design: Overlap, block: tuple[int, int] = BLOCK) -> float:
        """The reduction of a network (or `mean`) by a design, in %."""
        asked = (network, design, block_text(block))
        return next(one.reduction for one in self.reductions if (one.network, one.design, one.block) == asked)


def block_text(block: tuple[int, int]) -> str:
    """A block of registers in words."""
    return f"{block[0]}x{block[1]}"


def workloads(networks: Sequence[str]) -> tuple[Workload | str, ...]:
    """The networks of the study, or others; those of the study keep their batch."""
    known = {one.name: one for one in NETWORKS} | {one.source: one for one in NETWORKS}
    return tuple(dict.fromkeys(known.get(name, name) for name in networks)) or NETWORKS


def run_study(
    preset: Preset,
    networks: Sequence[Workload | str],
    defines: Mapping[str, object],
    done: Advance = lambda name, count: None,
) -> RasaResults:
    """All products of the networks; `done` is called for each network. Raises `NpucError`s."""
    products: dict[str, tuple[MatrixProduct, ...]] = {}
    for one in networks:
        known = isinstance(one, Workload)
        name, source = (one.name, one.source) if known else (one.removeprefix("samples:"), one)
        given = {"batch": one.batch, **defines} if known else defines
        products[name] = products_of(source, inference=preset == "inference", defines=given)
        done(name, 1)
    rows = tuple(_row(name, product) for name, own in products.items() for product in own)
    reductions = tuple(_reductions(products))
    published: Mapping[Overlap, float] = PUBLISHED if is_published(preset, networks, defines) else {}
    return RasaResults(preset, rows, reductions, tuple(_claims(rows, reductions, published)), published)


def is_published(preset: Preset, networks: Sequence[Workload | str], defines: Mapping[str, object]) -> bool:
    """Whether what is asked is what the published mean is of: inference of all networks of the study as they are."""
    return preset == "inference" and len(networks) == len(NETWORKS) and {*networks} == {*NETWORKS} and not defines


def cycles_of(product: MatrixProduct, design: Overlap, block: tuple[int, int] = BLOCK) -> int:
    """The cycles of one repetition of a product by a design."""
    return stream_of(product, block).cycles(stages(design, ROWS, COLS, TILE_M))


def _row(network: str, product: MatrixProduct) -> RasaRow:
    stream = stream_of(product, BLOCK)
    cycles: dict[Overlap, int] = {design: cycles_of(product, design) for design in DESIGNS}
    return RasaRow(
        network, **asdict(product), instructions=stream.instructions, weight_groups=stream.changes, cycles=cycles
    )


def _reductions(products: Mapping[str, Sequence[MatrixProduct]]) -> list[ReductionRow]:
    """Of each block of registers and design those of all networks, and their mean."""
    found: list[ReductionRow] = []
    for block in BLOCKS:
        totals = {
            name: {design: sum(one.repeat * cycles_of(one, design, block) for one in own) for design in DESIGNS}
            for name, own in products.items()
        }
        for design in DESIGNS:
            own = {name: 100 * (1 - total[design] / total["base"]) for name, total in totals.items()}
            values = {**own, MEAN: fsum(own.values()) / len(own)}
            found += [ReductionRow(name, design, block_text(block), value) for name, value in values.items()]
    return found


def _claims(
    rows: Sequence[RasaRow], reductions: Sequence[ReductionRow], published: Mapping[Overlap, float]
) -> list[RasaClaim]:
    """What is published beside ours, and what the designs are claimed to do, product by product."""
    means = {(one.design, one.block): one.reduction for one in reductions if one.network == MEAN}
    found = [_reduction(design, means[design, block_text(BLOCK)], published.get(design)) for design in DESIGNS[1:]]
    order = ("base", "pipe", "wlbp", "db-wls", "dmdb-wls")
    found.append(_share(rows, "each further overlap never takes longer", order))
    found.append(_share(rows, "two multipliers never take longer", ("wlbp", "dm-wlbp")))
    least = min(row.cycles[design] / row.cycles["base"] for row in rows for design in DESIGNS)
    bound = f"never below {TILE_M}/{2 * ROWS + TILE_M + COLS - 1}, by construction"
    found.append(RasaClaim("least share of base, %", "any product", None, 100 * least, None, bound))
    gain = means["wlbp", "2x2"] - means["wlbp", "1x1"]
    reuse = "the paper: reuse of weights"
    found.append(RasaClaim("points that wlbp gains by reuse", "blocks 2x2 over 1x1", None, gain, gain > 0, reuse))
    return found


def _reduction(design: Overlap, ours: float, published: float | None) -> RasaClaim:
    """
    The mean reduction by a design, beside a published one.

    To be within the tolerance shows nothing where the model's bound is within it too: then ours cannot be too large.
    """
    claim, setting = f"less run time by {design}, %", "mean of the networks"
    if published is None:
        return RasaClaim(claim, setting, None, ours, None)
    within = f"{'above' if ours > published else 'not above'} the published mean, "
    if abs(ours - published) > TOLERANCE:
        return RasaClaim(claim, setting, published, ours, False, f"{within}by more than {TOLERANCE:g} points")
    within += f"within {TOLERANCE:g} points"
    if published + TOLERANCE < BOUND:
        return RasaClaim(claim, setting, published, ours, True, within)
    note = f"{within}, as the model's bound of {BOUND:.1f} % is: no evidence"
    return RasaClaim(claim, setting, published, ours, None, note)


def _share(rows: Sequence[RasaRow], claim: str, order: Sequence[Overlap]) -> RasaClaim:
    """The share of products on which no design of an order takes longer than the one before it."""
    kept = [all(row.cycles[b] <= row.cycles[a] for a, b in pairwise(order)) for row in rows]
    share = 100 * sum(kept) / len(kept)
    return RasaClaim(f"{claim}, % of products", ", ".join(order), None, share, None, "so by construction")
