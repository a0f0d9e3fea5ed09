"""
What the language has a function for, recognised where a graph spells it out: the last call becomes that function's.

    matching.py        how calls are looked back through
    activations.py     gelu, silu
    normalisations.py  layer_norm, batch_norm, group_norm, rms_norm; statistics.py, means and variances
    softmax.py         softmax, log_softmax
    attention.py       keys and values repeated for groups of queries, masks
    rotary.py          rotary positions; rotary_angles.py, how they are made; rotary_tables.py, what numbers say

What only the replaced calls needed is left without a use, and so without a cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call
    from npuc.frontends.script.writer import CallWriter

_FAMILIES = ("activations", "statistics", "normalisations", "softmax", "attention", "rotary")


@cache
def _patterns() -> Mapping[str, Sequence[tuple[str, Any]]]:
    """The patterns, each with its family, by the function of the call that each ends in."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for family in _FAMILIES:
        for function, patterns in import_module(f"{__name__}.{family}").PATTERNS.items():
            found.setdefault(function, []).extend((family, pattern) for pattern in patterns)
    return found


def recognised(c: CallWriter, function: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Call | None:
    """The call that the last of several stands for; None where it stands for itself."""
    for family, pattern in _patterns().get(function, ()):
        found = None if family in c.spelt_out else pattern(c, *arguments, **named)
        if found is not None:
            return found
    return None
