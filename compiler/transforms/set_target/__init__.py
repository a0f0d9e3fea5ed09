"""
Pass `set-target`: writes the facts of a machine into a module, for passes that are run without the driver.

    builtin.module { … }   ->   builtin.module attributes {npu.target = {rows = 128 : i64, cols = 128 : i64, …}} { … }

The options are the facts themselves (a pass knows no hardware files; the driver reads those and writes the same
attribute): `set-target{rows=128 cols=128 spm-bytes=4194304 clock-mhz=1050 gb-per-s=150 lanes=128}`. `spm-bytes` is
what a schedule may use: half of the SPM where it is double buffered.
"""

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.machine.fact import Fact
from npuc.compiler.analysis.machine.facts import TARGET, target_attr
from npuc.compiler.analysis.machine.levels.outer import FORM, LEVELS_FACT
from npuc.compiler.analysis.machine.table import PES, TABLE, machine_from
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Flag, Kind, Limit, Real, Text


def _type_of(kind: Kind) -> Any:
    """The type of a pass's option for a fact."""
    match kind:
        case Real():
            return int | float
        case Flag():
            return bool
        case Text():
            return str
        case Limit():
            return int | str
        case _:
            return int


def _with_facts(cls: type["SetTargetPass"]) -> type["SetTargetPass"]:
    """The pass with an option for every fact; those without a default come first, and what may lack has none."""
    for row in sorted(TABLE, key=lambda row: not row.required or row.default is not None):
        cls.__annotations__[row.name] = _type_of(row.kind) if row.required else _type_of(row.kind) | None
        has_default = not row.required or row.default is not None
        default = (row.default if row.required else None) if has_default else MISSING
        setattr(cls, row.name, field(default=default, metadata={"meaning": row.note.meaning}))
    cls.__annotations__[LEVELS_FACT] = str | None
    meaning = f"memories between SPM and DRAM, from SPM outwards: {FORM}"
    setattr(cls, LEVELS_FACT, field(default=None, metadata={"meaning": meaning}))
    cls.__annotations__[PES] = int | None
    setattr(cls, PES, field(default=None, metadata={"meaning": "processing elements, for mappings"}))
    return dataclass(frozen=True)(cls)


@_with_facts
class SetTargetPass(ModulePass):
    """Write `npu.target`; keys and units as in a hardware file, the last part of each name."""

    name = "set-target"
    EXAMPLE: ClassVar = "set-target{rows=16 cols=16 spm-bytes=65536 clock-mhz=1000 gb-per-s=10 lanes=16}"

    if TYPE_CHECKING:

        def __init__(self, *values: Fact, **facts: Fact | None) -> None: ...

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reals = {row.name for row in TABLE if isinstance(row.kind, Real)}
        facts: dict[str, Fact] = {}
        for one in fields(self):
            value: Fact | None = getattr(self, one.name)
            if one.name != "name" and value is not None:
                facts[one.name] = float(value) if one.name in reals else value
        try:
            machine_from(facts)
        except UsageError as e:
            raise PassFailedException(f"{self.name}: {e.message}") from e
        op.attributes[TARGET] = target_attr(facts)
