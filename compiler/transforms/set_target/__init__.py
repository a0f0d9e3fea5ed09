"""
Pass `set-target`: writes the facts of a machine into a module, for passes that are run without the driver.

    builtin.module { … }   ->   builtin.module attributes {npu.target = {rows = 128 : i64, cols = 128 : i64, …}} { … }

The options are the facts themselves (a pass knows no hardware files; the driver reads those and writes the same
attribute): `set-target{rows=128 cols=128 spm-bytes=4194304 clock-mhz=1050 gb-per-s=150 lanes=128}`. `spm-bytes` is
what a schedule may use: half of the SPM where it is double buffered.
"""

from dataclasses import dataclass, fields

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.machine.facts import TARGET, Fact, machine_from, target_attr
from npuc.compiler.core.errors import UsageError

REALS = ("clock_mhz", "gb_per_s", "mac_pj", "spm_pj_per_byte", "dram_pj_per_byte")


@dataclass(frozen=True)
class SetTargetPass(ModulePass):
    """Write `npu.target`; keys and units as in a hardware file, the last part of each name."""

    name = "set-target"

    rows: int
    cols: int
    spm_bytes: int
    clock_mhz: int | float
    gb_per_s: int | float
    lanes: int
    dataflow: str = "os"
    fill: str = "overlap"
    drain: str = "hidden"
    double_buffer: bool = True
    element_bytes: int | None = None
    transpose: str | None = None
    overlap: str | None = None
    tile_m: int | None = None
    edge_elements: int | str | None = None
    num_pes: int | None = None
    cores: int | None = None
    multicast: bool | None = None
    reduction: str | None = None
    accumulator_bits: int | None = None
    mac_pj: int | float | None = None
    spm_pj_per_byte: int | float | None = None
    dram_pj_per_byte: int | float | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        facts: dict[str, Fact] = {}
        for field in fields(self):
            value: Fact | None = getattr(self, field.name)
            if field.name != "name" and value is not None:
                facts[field.name] = float(value) if field.name in REALS else value
        try:
            machine_from(facts)
        except UsageError as e:
            raise PassFailedException(f"{self.name}: {e.message}") from e
        op.attributes[TARGET] = target_attr(facts)
