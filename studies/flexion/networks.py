"""The contractions of a network on a machine, each with how often it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from npuc.backends.registry import get_backend
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.options import CompileKeywords, HardwareLike
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.driver.unread import unread_warnings
from npuc.compiler.explore.flexibility.find import FlexSearch
from npuc.compiler.explore.flexibility.machine import FlexibleMachine, flexible_machine
from npuc.compiler.explore.flexibility.result import FlexSettings
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.frontends.source import open_source
from npuc.hardware import Hardware, machine_constraints
from npuc.studies.flexion.settings import Age, Preset, StudiedNetwork


@dataclass(frozen=True)
class MappedNetwork:
    """The distinct contractions of a network with how often each runs, and the machine that they run on."""

    name: str
    age: Age
    contractions: tuple[tuple[ExactTask, int], ...]
    machine: FlexibleMachine
    hardware: Hardware
    warnings: tuple[str, ...] = ()

    @cached_property
    def bound(self) -> float:
        """The cycles that no mappings are below."""
        return fsum(count * task.least("time") for task, count in self.contractions)


def mapped_network(
    network: StudiedNetwork | str, preset: Preset, hardware: HardwareLike, overrides: Mapping[str, object]
) -> MappedNetwork:
    """
    A network of the study, or one of the user's as it is, on a machine.

    Raises `NpucError`s, also for a program that has no contraction.
    """
    own = isinstance(network, StudiedNetwork)
    source = open_source(network.source if own else network)
    options: CompileKeywords = {
        "hardware": hardware,
        "inference": preset == "inference",
        "overrides": overrides,
        "defines": {"batch": network.batch} if own and preset == "inference" else {},
    }
    backend, warnings = get_backend("maestro"), list[str]()
    module, machine = lowered_module(source, backend, options, None, warnings)
    if machine_constraints(machine):
        warnings.append(
            f"the constraints of {machine.name} do not restrict the machine that is designed, nor free axes"
        )
    warnings += unread_warnings(overrides, [(backend, machine)])
    search = FlexSearch(module, machine, flexible_machine(machine), FlexSettings("time", 1, 0, None))
    if not search.contracts:
        raise SourceError(f"{source.shown} has no contraction to map")
    name, age = (network.name, network.age) if own else (source.shown.removeprefix("samples:"), "later")
    return MappedNetwork(name, age, tuple(search.weighted), search.machine, machine, tuple(warnings))
