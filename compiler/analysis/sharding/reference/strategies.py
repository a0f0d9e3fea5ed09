"""
The strategies by name, what each searches for a network, and what it chooses for a chain of layers.

    dp, mp, owt              all data parallel; all model parallel; convolutions dp and the rest mp
    hypar, accpar            level by level from the top, each the best for what the levels above have left
    joint, accpar-joint      the best for all levels together

The two with `accpar` name three types. The papers of the others cut a layer in mp along its input's channels; under
`physical`, where a plan is charged what its program moves, mp is a cut along the input's or the output's channels, as
Megatron-LM cuts layers (Shoeybi et al., 2019), whichever moves less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuc.compiler.analysis.sharding.graph.chain import BASIC_TYPES, BasicType, Layer, LayerKind
from npuc.compiler.analysis.sharding.reference.joint import joint
from npuc.compiler.analysis.sharding.reference.level_by_level import Choices, greedy
from npuc.compiler.core.options import Convention, Strategy, is_joint, names_three_types, uses_mp


@dataclass(frozen=True)
class Rule:
    """
    What is searched for a network: the types that convolutions and other layers with weights (`fc`) choose from, and
    whether all levels are chosen together. `types` are all that the strategy knows.
    """

    types: tuple[BasicType, ...]
    conv: tuple[BasicType, ...]
    fc: tuple[BasicType, ...]
    joint: bool = False

    @property
    def has_outputs(self) -> bool:
        """Whether some layers may be split along their output, so that the order of levels counts."""
        return "III" in self.conv or "III" in self.fc

    @property
    def has_one_plan(self) -> bool:
        """Whether no layer has a choice."""
        return len(self.conv) == len(self.fc) == 1

    @property
    def by_batch(self) -> bool:
        """Whether all layers split the batch."""
        return self.conv == self.fc == ("I",)

    def of_kind(self, kind: LayerKind) -> tuple[BasicType, ...]:
        """The types that a layer of a kind chooses from."""
        return self.conv if kind == "conv" else self.fc

    def without_outputs(self) -> Rule:
        """The same without splits along the output."""

        def of(types: tuple[BasicType, ...]) -> tuple[BasicType, ...]:
            return tuple(own for own in BASIC_TYPES[:2] if own in types)

        return Rule(of(self.types), of(self.conv), of(self.fc), self.joint)

    def all_free(self) -> Rule:
        """All types for all layers, all levels together."""
        return Rule(self.types, self.types, self.types, joint=True)


def rule_of(strategy: Strategy, convention: Convention) -> Rule:
    """What a strategy searches for a network under a convention."""
    types = BASIC_TYPES if names_three_types(strategy) or convention == "physical" else BASIC_TYPES[:2]
    match strategy:
        case "dp":
            return Rule(types, types[:1], types[:1])
        case "mp":
            return Rule(types, types[1:], types[1:])
        case "owt":
            return Rule(types, types[:1], types[1:])
        case _:
            return Rule(types, types, types, is_joint(strategy))


def has_cuts(strategy: str, convention: str, objective: str = "bytes") -> bool:
    """Whether `mp` leaves open along which channels, so that a plan says so beside it."""
    return (convention == "physical" or objective == "time") and uses_mp(strategy)


def chain_types(strategy: Strategy) -> tuple[BasicType, ...]:
    """The types that a strategy chooses from for a chain."""
    return BASIC_TYPES if names_three_types(strategy) else BASIC_TYPES[:2]


def fixed_type(strategy: Strategy, kind: LayerKind) -> BasicType | None:
    """The type that dp, mp or owt give a layer of a chain; None where a strategy chooses."""
    match strategy:
        case "dp":
            return "I"
        case "mp":
            return "II"
        case "owt":
            return "I" if kind == "conv" else "II"
        case _:
            return None


def choices_of_chain(chain: Sequence[Layer], levels: int, strategy: Strategy, convention: Convention) -> Choices:
    """The types of a chain's layers, level by level."""
    fixed: list[BasicType] = [kind for layer in chain if (kind := fixed_type(strategy, layer.kind)) is not None]
    if len(fixed) == len(chain):
        return (tuple(fixed),) * levels
    search = joint if is_joint(strategy) else greedy
    return search(chain, levels, chain_types(strategy), convention)


def best_of_chain(chain: Sequence[Layer], levels: int, strategy: Strategy, convention: Convention) -> Choices:
    """The types of least movement of those that a strategy chooses from."""
    return joint(chain, levels, chain_types(strategy), convention)
