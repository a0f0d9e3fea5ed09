"""
Problems to learn from and to judge by: random networks on random machines with random rooms, and their exact prices.

The machines are the two of the interleaved-gradient study with sizes of array, channel and scratchpad drawn around
theirs [our choice]; a group may use all of SPM or a part of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from xdsl.dialects.func import FuncOp

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.fusion.problem import FusionProblem
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.fusion.networks import random_network
from npuc.compiler.transforms.fuse_layers.chain import chain_of
from npuc.compiler.transforms.fuse_layers.design import Designs
from npuc.compiler.transforms.schedule.searches import known_machine
from npuc.frontends.source import Source, text_source

FIRST_TRAINED = 1000
"""Seeds below are those of held-out networks, machines and rooms."""
ROOMS = 2
"""The rooms that are tried for each network."""
OBJECTIVES: tuple[Objective, ...] = ("time", "time", "time", "traffic", "energy", "edp")
PASSES = "lower-to-npu,schedule"
INFERENCE = 0.25
"""The share of the networks that are not trained."""


@dataclass(frozen=True)
class PricedProblem:
    """A problem with its exact prices."""

    problem: FusionProblem
    prices: Designs


def random_problems(seed: int) -> list[PricedProblem]:
    """The problems of a random network on a random machine, for a few rooms and objectives."""
    random = Random(seed)
    machine = _random_machine(random)
    inference = random.random() < INFERENCE
    source = text_source(random_network(random), "dsl", "<random>")
    found: list[PricedProblem] = []
    for share in random.sample((1, 2, 4, 8), ROOMS):
        found += problems_of(source, machine, share, random.choice(OBJECTIVES), inference=inference)
    return found


def problems_of(
    source: Source, options: CompileKeywords, share: int, objective: Objective, *, inference: bool = False
) -> Iterator[PricedProblem]:
    """The problems of the functions of a program, with one part in `share` of SPM as the room."""
    passes = PASSES if inference else f"autodiff,{PASSES}"
    keywords: CompileKeywords = {**options, "inference": inference, "pipeline": passes}
    module, _ = lowered_module(source, get_backend("cycle"), keywords, None, [])
    machine = known_machine(module, "the fusion of layers depends on it")
    for func in [inner for inner in module.walk() if isinstance(inner, FuncOp)]:
        chain = chain_of(func.body.block, machine)
        if chain is not None:
            room = max(1, machine.spm_bytes // share)
            designs = Designs(chain, machine, room, objective)
            yield PricedProblem(chain.problem(replace(machine, spm_bytes=room), objective), designs)


def _random_machine(random: Random) -> CompileKeywords:
    side = random.choice((8, 16, 32, 45, 64, 128, 256))
    return {
        "hardware": random.choice(("igo-small", "igo-large")),
        "overrides": {
            "array.rows": side,
            "array.cols": side,
            "vector.lanes": side,
            "memory.spm_kib": random.choice((8, 12, 16, 32, 64, 256, 512, 1024, 2048, 4096, 8192)),
        },
    }
