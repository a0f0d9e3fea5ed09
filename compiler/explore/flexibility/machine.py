"""What of the four axes a hardware description supports, and its dataflow."""

from __future__ import annotations

from dataclasses import dataclass

from npuc.backends.maestro.machine import MappedMachine, mapped_machine
from npuc.compiler.analysis.mapping.flexibility.axes import Support, Supports, class_of
from npuc.compiler.analysis.mapping.named.templates import DEFAULT
from npuc.compiler.core.errors import UsageError
from npuc.hardware import Hardware

KEYS: tuple[tuple[str, dict[str, Support]], ...] = (
    ("flexibility.tiles", {"fixed": "fixed", "hard": "some", "soft": "any"}),
    ("flexibility.order", {"fixed": "fixed", "stationary": "some", "any": "any"}),
    ("flexibility.parallel", {"fixed": "fixed", "any": "any"}),
    ("flexibility.shape", {"fixed": "fixed", "blocks": "some", "any": "any"}),
)
"""The key of each axis, and what its values mean."""
BLOCK = "flexibility.block"


@dataclass(frozen=True)
class FlexibleMachine:
    """
    An array of processing elements with what it supports; `values` are those of the keys, in the order of axes.

    `dataflow` is a name, or a file of mappings.
    """

    mapped: MappedMachine
    dataflow: str
    supports: Supports
    values: tuple[str, str, str, str]
    block: int

    @property
    def flexible(self) -> str:
        """The class, four bits."""
        return class_of(self.supports)


def flexible_machine(hardware: Hardware, dataflow: str | None = None) -> FlexibleMachine:
    """
    The machine that a description means; `dataflow` is taken before that of the description.

    Raises `UsageError` without processing elements, for blocks without a size or that are not asked for, and for
    MAESTRO's own numbers, which are not comparable.
    """
    mapped = mapped_machine(hardware)
    if mapped.mode != "exact":
        raise UsageError(
            "classes are compared by exact costs; MAESTRO's own are approximations", hint="--set maestro.mode=exact"
        )
    tiles, order, parallel, shape = (str(hardware.get(key)) for key, _ in KEYS)
    values = tiles, order, parallel, shape
    found: list[Support] = [meaning[value] for (_, meaning), value in zip(KEYS, values, strict=True)]
    block = hardware.get(BLOCK, int)
    if shape == "blocks" and block is None:
        raise UsageError(
            f"hardware '{hardware.name}' has shapes of blocks, and no {BLOCK}", hint=f"for example --set {BLOCK}=8"
        )
    if shape != "blocks" and block is not None:
        raise UsageError(
            f"{BLOCK} is the size of blocks, and flexibility.shape is '{shape}'",
            hint="--set flexibility.shape=blocks, or leave it out",
        )
    supports = found[0], found[1], found[2], found[3]
    named = dataflow or hardware.get("maestro.mapping", str) or DEFAULT
    return FlexibleMachine(mapped, named, supports, values, block or 1)
