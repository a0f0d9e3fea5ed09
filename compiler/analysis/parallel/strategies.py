"""
The strategies by name, and what each chooses for a chain of layers.

    dp, mp, owt              all data parallel; all model parallel; convolutions dp and the rest mp
    hypar, accpar            level by level from the top, each the best for what the levels above have left
    joint, accpar-joint      the best for all levels together

The two with `accpar` have a third type.
"""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.analysis.parallel.chain import TYPES, Kind, Layer, Type
from npuc.compiler.analysis.parallel.joint import joint
from npuc.compiler.analysis.parallel.levels import Choices, greedy
from npuc.compiler.options import Convention, Strategy


def has_three_types(strategy: Strategy) -> bool:
    """Whether a layer may be split along its output, too."""
    return strategy.startswith("accpar")


def is_joint(strategy: Strategy) -> bool:
    """Whether all levels are chosen together."""
    return strategy.endswith("joint")


def types_of(strategy: Strategy) -> tuple[Type, ...]:
    """The types that a strategy chooses from."""
    return TYPES if has_three_types(strategy) else TYPES[:2]


def fixed_type(strategy: Strategy, kind: Kind) -> Type | None:
    """The type that dp, mp or owt give a layer; None where a strategy chooses."""
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
    fixed: list[Type] = [kind for layer in chain if (kind := fixed_type(strategy, layer.kind)) is not None]
    if len(fixed) == len(chain):
        return (tuple(fixed),) * levels
    search = joint if is_joint(strategy) else greedy
    return search(chain, levels, types_of(strategy), convention)


def best_of_chain(chain: Sequence[Layer], levels: int, strategy: Strategy, convention: Convention) -> Choices:
    """The types of least movement of those that a strategy chooses from."""
    return joint(chain, levels, types_of(strategy), convention)
