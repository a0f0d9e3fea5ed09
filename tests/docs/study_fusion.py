"""
The table of gains in docs/fusion.md: `keep-resident` and `fuse-layers` beside neither, at four sizes of the scratchpad.

    python -m tests.docs.study_fusion [NETWORK…]      costs them all, some ten minutes, and writes the table anew

With networks named, only their rows are costed, and those of the others stay as they are.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.backends.cycle.backend import CycleBackend
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.transforms.fuse_layers import FuseLayersPass
from npuc.compiler.transforms.keep_resident import KeepResidentPass
from npuc.dialects.npu import ContractOp, GroupOp, MoveOp, VectorOp
from npuc.frontends.source import open_source
from npuc.hardware import Hardware
from tests.docs.pages import FOLDER, read_page
from tests.docs.tables import begin, end, filled

MACHINE = "igo-large"
NETWORKS: Mapping[str, Mapping[str, int]] = {
    "resnet50": {"batch": 8},
    "mobilenet_v2": {"batch": 8},
    "bert_base": {},
    "gpt2": {},
    "unet": {"batch": 4},
}
"""The networks, with what is not as in the sample."""
SIZES = (1, 4, 16, 64)
"""Of the scratchpad, in MiB."""
HEADS = (
    *("network", "SPM, MiB", "time, ms", "`keep-resident` saves, %", "`fuse-layers` saves, %"),
    *("traffic, MiB", "`keep-resident` saves, %", "`fuse-layers` saves, %", "groups", "operations"),
)


class Cost(NamedTuple):
    """What a step costs: cycles, seconds, bytes of DRAM traffic, and its groups with the operations in them."""

    cycles: float
    seconds: float
    moved: float
    groups: int
    members: int


class Gains(NamedTuple):
    """A step by itself; with values that stay and with groups of layers, for the least time and the least traffic."""

    alone: Cost
    resident: Cost
    fused: Cost
    resident_traffic: Cost
    fused_traffic: Cost


def gains(network: str, mib: int) -> Gains:
    """The costs of a network's training step with a scratchpad of so many MiB."""
    keywords: CompileKeywords = {
        "hardware": MACHINE,
        "overrides": {"memory.spm_kib": 1024 * mib},
        "defines": dict(NETWORKS[network]),
        "pipeline": "autodiff,lower-to-npu,schedule",
    }
    module, machine = lowered_module(open_source(f"samples:{network}"), CycleBackend(), keywords, None, [])
    steps = (
        *(None, KeepResidentPass(), FuseLayersPass(rows="off")),
        *(KeepResidentPass(objective="traffic"), FuseLayersPass(objective="traffic", rows="off")),
    )
    return Gains(*(_cost(module.clone(), machine, step) for step in steps))


def _cost(module: ModuleOp, machine: Hardware, step: ModulePass | None) -> Cost:
    """The cost of a scheduled step after one more pass."""
    if step is not None:
        step.apply(Context(), module)
    totals = CycleBackend().score(module, machine).totals
    groups = [op for op in module.walk() if isinstance(op, GroupOp)]
    members = sum(isinstance(op, ContractOp | VectorOp | MoveOp) for group in groups for op in group.body.block.ops)
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    return Cost(totals.cycles or 0, totals.seconds or 0.0, moved, len(groups), members)


def row(network: str, mib: int) -> str:
    """A line of the table."""
    found = gains(network, mib)
    alone = found.alone
    cells = (
        *(network, f"{mib}", f"{1e3 * alone.seconds:,.1f}"),
        *(_less(alone.cycles, one.cycles) for one in (found.resident, found.fused)),
        f"{alone.moved / 2**20:,.0f}",
        *(_less(alone.moved, one.moved) for one in (found.resident_traffic, found.fused_traffic)),
        *(f"{found.fused.groups}", f"{found.fused.members}"),
    )
    return f"| {' | '.join(cells)} |"


def _less(before: float, after: float) -> str:
    """What is saved, in percent; more than before has a plus."""
    saved = f"{100 * (1 - after / before):.1f}"
    return f"+{saved[1:]}" if saved.startswith("-") and float(saved) else saved.removeprefix("-")


def rows(networks: Iterable[str]) -> Iterator[str]:
    """The table, with the lines of these networks anew and those of others as they are in the page."""
    asked = list(networks)
    shown = lines_of_page()
    yield f"| {' | '.join(HEADS)} |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for network in NETWORKS:
        if network in asked:
            for mib in SIZES:
                line = row(network, mib)
                print(line, flush=True)
                yield line
        else:
            yield from (line for line in shown if line.startswith(f"| {network} |"))


def lines_of_page() -> Sequence[str]:
    """The lines of the table as the page has them."""
    page = read_page("fusion")
    return page.split(begin("gains"))[1].split(end("gains"))[0].strip().splitlines()


def main(networks: Sequence[str]) -> None:
    """Write the table."""
    page = FOLDER / "fusion.md"
    table = list(rows(networks or NETWORKS))
    page.write_text(filled(page.read_text(encoding="utf-8"), {"gains": table}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
