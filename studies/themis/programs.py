"""
Steps of npuc's own programs on the networks of the paper: what a device works, and which collectives it takes part in.

A program is planned and costed once, for the devices of a group that share it; a group takes the innermost levels of
a network. Groups are copies of each other, which sum the gradients of what a device has over the levels outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import gcd
from typing import TYPE_CHECKING

from npuc.backends.communication import exchanges
from npuc.backends.registry import get_backend
from npuc.compiler.analysis.interconnect.chunks.stages import LinkLevel, link_level
from npuc.compiler.analysis.interconnect.collectives import Collective, collective_of
from npuc.compiler.analysis.interconnect.topology import Interconnect
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.network.program import SharedStep, shared_step
from npuc.compiler.layers.base import elements
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of
from npuc.studies.themis.settings import OWN_MACHINE, OWN_PRECISION, OWN_TFLOPS, OwnProgram

if TYPE_CHECKING:
    from npuc.compiler.core.options import Say

Transfers = Counter[tuple[Collective, int]]
"""How often a collective of so many bytes on each device is made in a step."""


@dataclass(frozen=True)
class OwnStep:
    """
    A step of one device: seconds of work, the collectives of its group that hold up work, the bytes of weights'
    gradients that the group sums, and those that all copies of a group sum, 0 for one copy.
    """

    work: float
    transfers: Transfers
    group_sums: int
    copy_sums: int

    def repeated(self, longer: OwnStep, times: int) -> OwnStep:
        """This step and `times` times what a `longer` one has more."""
        more = Counter(longer.transfers)
        more.subtract(self.transfers)
        assert min(more.values(), default=0) >= 0, "a longer network makes every collective at least as often"
        return OwnStep(
            self.work + times * (longer.work - self.work),
            self.transfers + Counter({one: times * count for one, count in more.items()}),
            self.group_sums + times * (longer.group_sums - self.group_sums),
            self.copy_sums + times * (longer.copy_sums - self.copy_sums),
        )


def own_step(program: OwnProgram, say: Say = lambda warning: None) -> OwnStep:
    """The step of a program; of one of many equal layers those with one and two of them are costed. `say` warns."""
    if program.layers is None:
        return _costed(program, {}, say)
    one, two = (_costed(program, {"layers": layers}, say) for layers in (1, 2))
    return one.repeated(two, program.layers - 1)


def _costed(program: OwnProgram, defines: Mapping[str, int], say: Say) -> OwnStep:
    """A network with these parameters, planned for the devices of a group on one level, whose rate decides nothing."""
    source = program.source
    options: CompileKeywords = {
        "hardware": OWN_MACHINE,
        "precision": OWN_PRECISION,
        "overrides": {
            "compute.tflops": OWN_TFLOPS,
            "network.levels": [{"kind": "switch", "size": program.group, "gb_per_s": 100.0, "latency_ns": 700.0}],
        },
        "mesh": str(program.group),
        "parallel": "joint",
        "convention": "physical",
        "plan_objective": program.objective,
        "opt_level": 0,
        "defines": {**program.defines, **defines},
    }
    if not source.startswith("samples:"):
        source = str(files("npuc.studies.themis") / source)
    return _step_of(shared_step(source, get_backend("roofline"), options, say), copies=program.copies)


def _step_of(step: SharedStep, copies: int) -> OwnStep:
    transfers, group_sums = Transfers(), 0
    for exchange in exchanges(step.func, None, step.machine):
        kind = collective_of(exchange.op)
        assert kind is not None, "these plans send no messages between two devices"
        if kind == "all_reduce" and role_of(exchange.op) is Role.DW:
            group_sums += exchange.size
        else:
            transfers[kind, exchange.size] += 1
    return OwnStep(step.work, transfers, group_sums, weight_bytes(step) if copies > 1 else 0)


def weight_bytes(step: SharedStep) -> int:
    """The bytes of the parameters that a device of a group has, and so of their gradients."""
    values = [
        step.func.body.block.args[one.index]
        for one in arguments_of(step.func)
        if one.kind is ArgumentKind.PARAM and not one.frozen
    ]
    width = step.machine.get("memory.element_bytes", int)
    return sum(size_bytes(value.type, elements(value), width) for value in values)


@cache
def group_levels(network: Interconnect, group: int) -> tuple[tuple[LinkLevel, ...], tuple[LinkLevel, ...]]:
    """The levels within groups of so many devices and those outside of them, each the innermost first."""
    inside, outside, left = list[int](), list[int](), group
    for level in reversed(network.levels):
        own = gcd(level.size, left)
        left //= own
        inside += [own] * (own > 1)
        outside += [level.size // own] * (own < level.size)
    assert left == 1, "the group has as many devices as whole levels and a factor of the next one"
    mesh = network.place([*reversed(outside), *reversed(inside)])
    places = range(len(outside)), range(len(outside), len(outside) + len(inside))
    beyond, within = (tuple(link_level(one) for one in mesh.along(own)) for own in places)
    return within, beyond
