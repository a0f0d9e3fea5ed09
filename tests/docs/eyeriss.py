"""
The table of docs/validation.md that puts npuc's row-stationary array beside the measured chip, between markers.

    python -m tests.docs.eyeriss          writes it anew

The chip's numbers are in tests/oracle/data/eyeriss_jssc17_alexnet.csv; the convolutions are compiled here.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from npuc.compiler.analysis.machine.row_choice import configured, row_stationary
from npuc.compiler.analysis.machine.table import machine_from
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.report import OpRow
from npuc.dialects.npu import ContractOp
from npuc.frontends.source import text_source
from npuc.hardware import load_hardware, machine_target
from tests.docs.pages import FOLDER, ROOT
from tests.docs.tables import filled

CHIP = ROOT / "tests" / "oracle" / "data" / "eyeriss_jssc17_alexnet.csv"
NETWORK = """
network alexnet_2012(batch=4) {
  input x1: f32[batch, 3, 227, 227]
  input x2: f32[batch, 96, 27, 27]
  input x3: f32[batch, 256, 13, 13]
  input x4: f32[batch, 384, 13, 13]
  input x5: f32[batch, 384, 13, 13]
  conv1 = conv2d(x1, 96, kernel=11, stride=4, bias=false)
  conv2 = conv2d(x2, 256, kernel=5, padding=2, groups=2, bias=false)
  conv3 = conv2d(x3, 384, kernel=3, padding=1, bias=false)
  conv4 = conv2d(x4, 384, kernel=3, padding=1, groups=2, bias=false)
  conv5 = conv2d(x5, 256, kernel=3, padding=1, groups=2, bias=false)
  output conv1
  output conv2
  output conv3
  output conv4
  output conv5
}
"""
"""The convolutions of Krizhevsky et al., NIPS 2012, two towers as groups."""
MACHINES: dict[str, dict[str, object]] = {
    "npuc": {},
    "whole buffer": {"memory.double_buffer": False, "dram.gb_per_s": 1e6},
}
"""What each changes of the preset `eyeriss`: nothing, or tiles may use all of the buffer and DRAM is out of the way."""


@dataclass(frozen=True)
class Layer:
    """A convolution on the chip, milliseconds and elements at work, and the rows of npuc with the elements of each."""

    name: str
    chip_ms: float
    chip_elements: int
    rows: dict[str, OpRow]
    elements: dict[str, int]

    @property
    def macs(self) -> int:
        """Its multiply-accumulates."""
        return self.rows["npuc"].macs or 0

    def ms(self, machine: str) -> float:
        """The time of the array alone, in milliseconds: the chip's processing latency leaves DRAM out."""
        return (self.rows[machine].compute_cycles or 0) / 200e3


@cache
def layers() -> tuple[Layer, ...]:
    """The five convolutions."""
    rows: dict[str, list[OpRow]] = {}
    elements: dict[str, list[int]] = {}
    for machine, overrides in MACHINES.items():
        options: CompileKeywords = {"hardware": "eyeriss", "overrides": overrides, "inference": True}
        result = compile_program(text_source(NETWORK, "dsl", "<alexnet>"), ["cycle"], options)
        rows[machine] = list(result.reports[0].ops)
        hardware = load_hardware("eyeriss", overrides)
        array = machine_from(machine_target(hardware)).array
        contracts = [op for op in result.modules[0].walk() if isinstance(op, ContractOp)]
        own = [row_stationary(configured(op.nest, op.schedule, array)) for op in contracts]
        elements[machine] = [one.mappings[0].active for one in own]
    with CHIP.open(encoding="utf-8") as file:
        measured = list(csv.DictReader(file))
    return tuple(
        Layer(
            chip["layer"],
            float(chip["processing_latency_ms"]),
            int(chip["active_pes"]),
            {machine: found[number] for machine, found in rows.items()},
            {machine: found[number] for machine, found in elements.items()},
        )
        for number, chip in enumerate(measured)
    )


def chip_rows() -> Iterator[str]:
    """Times and elements at work, layer by layer, and the sum."""
    heads = ["layer", "MMAC", "chip, ms", "elements", "npuc, ms", "elements", "/ chip"]
    yield f"| {' | '.join([*heads, 'whole buffer, ms', 'elements', '/ chip'])} |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for layer in layers():
        cells = [f"{layer.macs / 1e6:.1f}", f"{layer.chip_ms:.1f}", str(layer.chip_elements)]
        for machine in MACHINES:
            ms = layer.ms(machine)
            cells += [f"{ms:.1f}", str(layer.elements[machine]), f"{ms / layer.chip_ms:.2f}"]
        yield f"| {layer.name} | {' | '.join(cells)} |"
    chip = sum(layer.chip_ms for layer in layers())
    cells = [f"{sum(layer.macs for layer in layers()) / 1e6:.1f}", f"{chip:.1f}", ""]
    for machine in MACHINES:
        ms = sum(layer.ms(machine) for layer in layers())
        cells += [f"{ms:.1f}", "", f"{ms / chip:.2f}"]
    yield f"| all | {' | '.join(cells)} |"


def with_table(text: str) -> str:
    """The page with the table made anew."""
    return filled(text, {"chip": chip_rows()})


if __name__ == "__main__":
    PAGE = FOLDER / "validation.md"
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
