"""Which backend and which machine a source is for, and the machine's facts in the module."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, cast

from npuc.backends.base import DEFAULT
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import Options
from npuc.frontends.source import Source
from npuc.hardware import Hardware, load_hardware, machine_target, mapping_target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import DictionaryAttr, ModuleOp

    from npuc.backends.base import Backend


def backend_for(source: Source) -> str:
    """The backend of a source when nobody names one."""
    return source.frontend.backend or DEFAULT


def machine_for(model: Backend, options: Options, format: str) -> Hardware:
    """The hardware to score a source of a format on: what was asked for, else the backend's default."""
    hardware = model.default_hardware if options.hardware is None else options.hardware
    machine = load_hardware(hardware, options.overrides, options.precision)
    own = {key: value for key, value in model.settings_for(format).items() if not machine.written(key)}
    return load_hardware(machine.values, own) if own else machine


def stamp_target(
    module: ModuleOp, machine: Hardware, backend: str, *, scheduled: bool = True, mapped: bool = False
) -> None:
    """
    Write the facts of `machine` that schedules and mappings depend on into the module; `mapped`: the backend follows
    mappings.

    Raises `UsageError` for a missing one that schedules need, unless nothing is `scheduled`: then the facts that
    mappings need are enough.
    """
    from npuc.compiler.analysis.machine.facts import TARGET, target_attr

    # a key that is only told counts as unread: what schedules or scores by it reads it
    facts = mapping_target(Hardware(machine.values), mapped=mapped)
    told = machine if scheduled else Hardware(machine.values)
    with nullcontext() if scheduled else suppress(UsageError):
        facts = machine_target(told, backend=backend) | facts
    if facts:
        module.attributes[TARGET] = target_attr(facts)


def extend_target(module: ModuleOp, machine: Hardware) -> None:
    """Add the facts of `machine` that mappings depend on to the target that a module was lowered for."""
    from xdsl.dialects.builtin import DictionaryAttr

    from npuc.compiler.analysis.machine.facts import TARGET, target_attr

    known = module.attributes.get(TARGET)
    facts = mapping_target(Hardware(machine.values), mapped=True)  # told, not read
    if facts:
        added = target_attr(facts).data
        module.attributes[TARGET] = DictionaryAttr(
            {**known.data, **added} if isinstance(known, DictionaryAttr) else added
        )


def machine_in(module: ModuleOp) -> Hardware | None:
    """
    The machine whose facts a module has; None where it says none. What no schedule depends on is not known of it.

    Raises `UsageError` for facts that no machine has.
    """
    from npuc.compiler.analysis.machine.facts import TARGET, facts_in, machine_of
    from npuc.compiler.analysis.machine.table import TABLE
    from npuc.compiler.core.kinds import Value
    from npuc.dialects.memories import SCRATCHPAD

    machine = machine_of(module)
    if machine is None:
        return None
    facts = facts_in(cast("DictionaryAttr", module.attributes[TARGET]))
    values: dict[str, Value] = {row.note.path: facts[row.name] for row in TABLE if row.name in facts}
    halves = 2 if facts.get("double_buffer", True) else 1
    values["memory.spm_kib"] = cast("int", facts["spm_bytes"]) * halves / 1024
    outer = machine.levels
    if outer:
        rows = [
            {"name": one.name, "kib": one.size * halves / 1024, "gb_per_s": one.gb_per_s}
            | ({} if one.pj_per_byte is None else {"pj_per_byte": one.pj_per_byte})
            for one in outer
        ]
        values["memory.levels"] = cast("Value", [{"name": SCRATCHPAD}, *rows, {"name": "DRAM"}])
    return load_hardware({"name": facts.get("name", "custom"), **values})
