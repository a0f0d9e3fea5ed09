"""A step for several devices: the pass that shares it, and what of a machine must be so before a plan is searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.options import BEST_BUCKETS, CHUNK_POLICIES, ZERO_STAGES, is_joint
from npuc.dialects.npu.units.assignment import UNITS
from npuc.dialects.train.signature import training_functions

if TYPE_CHECKING:
    from npuc.compiler.core.options import Options
    from npuc.hardware import Hardware

PARALLELIZE = "parallelize"


def named(passes: Sequence[ModulePass], *names: str) -> bool:
    """Whether one of the passes has one of the names: only then its module needs to be imported."""
    return any(step.name in names for step in passes)


def check_homogeneous(machine: Hardware) -> None:
    """Raise `CapacityError` for a machine of heterogeneous devices: a program has one device's part for all of them."""
    if machine.written("network.groups"):
        raise CapacityError(
            f"{machine.name} has heterogeneous devices (network.groups): unequal shares cannot be lowered",
            hint="npuc explain SOURCE --devices N --parallel accpar plans them; equal shares need no network.groups",
        )


def check_network(passes: Sequence[ModulePass], machine: Hardware) -> None:
    """Raise `CapacityError` for devices that the machine's network does not have, before a plan is searched."""
    if machine.get("network.levels") is None or not named(passes, PARALLELIZE):
        return
    from npuc.compiler.transforms.parallelize import ParallelizePass
    from npuc.hardware.network import network_of

    for step in passes:
        if isinstance(step, ParallelizePass):
            network_of(machine, backend=step.name).place(step.sizes)


def tell_network(module: ModuleOp, passes: Sequence[ModulePass], machine: Hardware) -> None:
    """
    Write the network of a machine into a module, if one of the passes orders collectives by it.

    Raises `UsageError` for a policy or buckets that need a network which the machine does not describe.
    """
    if not named(passes, "bucket-gradients", "schedule-collectives"):
        return
    from npuc.compiler.analysis.interconnect.described import NETWORK
    from npuc.compiler.transforms.bucket_gradients import BucketGradientsPass
    from npuc.compiler.transforms.schedule_collectives import ScheduleCollectivesPass
    from npuc.hardware.network import stamp_network

    for step in passes:
        if isinstance(step, BucketGradientsPass):
            stamp_network(module, machine)
            if step.mib == BEST_BUCKETS and NETWORK not in module.attributes:
                raise UsageError(
                    f"the best buckets of gradients need network.levels, which {machine.name} does not say",
                    hint="--hw hypar16, or --set \"network.levels=[{kind='ring',size=8,gb_per_s=50},…]\"",
                )
        if isinstance(step, ScheduleCollectivesPass):
            stamp_network(module, machine)
            if step.policy != CHUNK_POLICIES[0] and NETWORK not in module.attributes:
                raise UsageError(
                    f"the policy {step.policy} of collectives needs network.levels, which {machine.name} does not say",
                    hint="--hw hypar16, or --set \"network.levels=[{kind='ring',size=8,gb_per_s=50},…]\"",
                )


def tell_units(module: ModuleOp, passes: Sequence[ModulePass], machine: Hardware) -> None:
    """
    Write the units of a machine into a module, if one of the passes shares products over them.

    Raises `UsageError` for a machine without units, unless the pass names its own.
    """
    if not named(passes, "assign-units"):
        return
    from npuc.compiler.transforms.assign_units import AssignUnitsPass
    from npuc.hardware.units import refuse_without_units

    takes_them = any(isinstance(step, AssignUnitsPass) and step.units is None for step in passes)
    if takes_them and not stamp_machine_units(module, machine) and UNITS not in module.attributes:
        refuse_without_units(machine)


def stamp_machine_units(module: ModuleOp, machine: Hardware) -> bool:
    """Write the units of a machine into a module; whether it has some."""
    from npuc.compiler.analysis.hetero.described import stamp_units
    from npuc.hardware.units import machine_of_units, unit_rows

    if not unit_rows(machine):
        return False
    stamp_units(module, machine_of_units(machine, needs_energy=False))
    return True


def wants_best(step: ModulePass) -> bool:
    """Whether a pass needs buckets of gradients to be chosen before it runs."""
    if not named((step,), "bucket-gradients"):
        return False
    from npuc.compiler.transforms.bucket_gradients import BucketGradientsPass

    return isinstance(step, BucketGradientsPass) and step.mib == BEST_BUCKETS


def parallel_passes(options: Options, machine: Hardware) -> list[str]:
    """The pass that shares the step among several devices, if there are several."""
    if options.devices == 1:
        return []
    strategy, capacity = options.strategy, machine.get("dram.capacity_mib", float)
    size = f"devices={options.devices}" if options.mesh is None else f'mesh="{options.mesh}"'
    is_limited = capacity is not None and is_joint(strategy) and options.plan_objective != "memory"
    text = f"strategy={strategy} {size} convention={options.convention}"
    text += "" if options.plan_objective == "bytes" else f" objective={options.plan_objective}"
    text += " zero=true" if options.zero == ZERO_STAGES[-1] else ""
    text += "" if options.tables is None else f" tables={options.tables}"
    text += " exact=true" if options.exact_plan else ""
    text += f" memory_mib={capacity:g}" if is_limited else ""
    return [f"{PARALLELIZE}{{{text}}}"]


def without_loss(module: ModuleOp) -> None:
    """Turn the losses of a module into plain results, so that nothing is trained."""
    for func in training_functions(module):
        if func.res_attrs is not None:
            kept = [
                {key: value for key, value in attrs.data.items() if key != "train.loss"} for attrs in func.res_attrs
            ]
            func.res_attrs = ArrayAttr(DictionaryAttr(attrs) for attrs in kept)
