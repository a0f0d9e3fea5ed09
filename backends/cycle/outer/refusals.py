"""What the model does not cover on machines with several levels of memory on the chip."""

from __future__ import annotations

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import level_names
from npuc.compiler.core.errors import UsageError
from npuc.hardware import Hardware
from npuc.hardware.level_keys import outer_names

UNMANAGED = "managed = false at the levels between the scratchpad and DRAM, or a machine without them"


def check_alone(machine: Machine) -> None:
    """Raise `UsageError` for a pool of tiles and for arrays that keep a tile between operations beside such levels."""
    if not machine.levels:
        return
    names = ", ".join(level_names(machine))
    if machine.policy == "lru":
        message = f"memory.policy = 'lru' is a pool in SPM alone: it does not know {names} of memory.levels"
        raise UsageError(message, hint=f"--set memory.policy=explicit; {UNMANAGED}")
    if machine.array.dataflow == "in-place":
        message = f"array.dataflow = 'in-place' is modelled beside one level on the chip: it does not know {names}"
        raise UsageError(message, hint=f"--set array.dataflow=ws; {UNMANAGED}")


def refuse_explain(hardware: Hardware) -> None:
    """Raise `UsageError` where an explanation of operations would draw SPM and DRAM alone."""
    names = ", ".join(outer_names(hardware.values))
    if names:
        message = f"npuc explain draws scratchpads and DRAM alone: it does not know {names} of memory.levels"
        raise UsageError(message, hint=UNMANAGED)
