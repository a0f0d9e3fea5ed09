"""
Pass `set-target`: writes the facts of a machine into a module, for passes that are run without the driver.

    builtin.module { … }   ->   builtin.module attributes {npu.target = {rows = 128 : i64, cols = 128 : i64, …}} { … }

The options are the facts themselves (a pass knows no hardware files; the driver reads those and writes the same
attribute): `set-target{rows=128 cols=128 spm-bytes=4194304 clock-mhz=1050 gb-per-s=150 lanes=128}`. `spm-bytes` is
what a schedule may use: half of the SPM where it is double buffered.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.machine.fact import Fact
from npuc.compiler.analysis.machine.facts import TARGET, target_attr
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
        if not row.required or row.default is not None:
            setattr(cls, row.name, row.default if row.required else None)
    cls.__annotations__[PES] = int | None
    setattr(cls, PES, None)
    return dataclass(frozen=True)(cls)


@_with_facts
class SetTargetPass(ModulePass):
    """Write `npu.target`; keys and units as in a hardware file, the last part of each name."""

    name = "set-target"

    if TYPE_CHECKING:

        def __init__(self, *values: Fact, **facts: Fact | None) -> None: ...

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        reals = {row.name for row in TABLE if isinstance(row.kind, Real)}
        facts: dict[str, Fact] = {}
        for field in fields(self):
            value: Fact | None = getattr(self, field.name)
            if field.name != "name" and value is not None:
                facts[field.name] = float(value) if field.name in reals else value
        try:
            machine_from(facts)
        except UsageError as e:
            raise PassFailedException(f"{self.name}: {e.message}") from e
        op.attributes[TARGET] = target_attr(facts)
