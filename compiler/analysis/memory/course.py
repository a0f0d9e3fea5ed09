"""
The live memory of a step from its first operation to its last, by kind.

    course_of(func, None).kinds["activations"]

At each operation the kinds add up to the live bytes of `liveness.py`, and at the peak they are those of `peak.py`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.memory.liveness import TensorSizes, live_bytes, step_functions, tensors_of
from npuc.compiler.analysis.memory.peak import ValueKinds, makers_of, resident_kinds
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import MEMORY_KINDS, MemoryKind
from npuc.dialects.provenance import Role, layer_of, role_of


@frozen
class Course:
    """
    Bytes of each kind at operations of a step, in order; `places` are their layers and roles.

    Neighbours of one layer and role are one, by the one of them with most memory.
    """

    places: tuple[tuple[str, Role], ...]
    kinds: dict[MemoryKind, tuple[int, ...]]

    @property
    def live(self) -> tuple[int, ...]:
        """The bytes of all kinds."""
        return tuple(map(sum, zip(*self.kinds.values(), strict=True)))


def course_of_module(module: ModuleOp, float_bytes: int | None) -> Course | None:
    """The course of the function of a module that takes most; None where none is at the `train` level."""
    found = [course_of(func, float_bytes) for func in step_functions(module)]
    return max(found, key=lambda course: max(course.live, default=0), default=None)


def course_of(func: FuncOp, float_bytes: int | None) -> Course:
    """The memory of a function at the `train` level; `float_bytes` as for `element_bytes`."""
    tensors, sizes = tensors_of(func, float_bytes), TensorSizes(float_bytes)
    resident, roles = resident_kinds(func, tensors, sizes), ValueKinds(func)
    kind_of = {buffer: roles.kind_of(value) for buffer, value in makers_of(tensors).items()}
    live: dict[MemoryKind, list[int]] = {}
    for kind in MEMORY_KINDS:
        own = [size if kind_of.get(buffer) == kind else 0 for buffer, size in enumerate(tensors.sizes)]
        live[kind] = [resident[kind] + count for count in live_bytes(tensors.slots, own, tensors.returned)]
    places: list[tuple[str, Role]] = []
    kept: list[int] = []
    for number, op in enumerate(tensors.ops):
        place = layer_of(op), role_of(op)
        if not places or places[-1] != place:
            places.append(place)
            kept.append(number)
        elif _sum(live, number) > _sum(live, kept[-1]):
            kept[-1] = number
    return Course(tuple(places), {kind: tuple(values[number] for number in kept) for kind, values in live.items()})


def _sum(live: dict[MemoryKind, list[int]], number: int) -> int:
    return sum(values[number] for values in live.values())
