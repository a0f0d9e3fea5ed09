"""
Lower bounds of the traffic of several nests, however they run: sequentially, round-robin, as one nest, or mixed.

*Compulsory*: of each value as much is read as the nest that accesses most of it accesses; every result is written.
*Capacity*: the capacity bound of the merged nest of all statements where there is one, else that of one nest plus the
compulsory traffic of the others. docs/bounds.md, "Several nests", has the proof.
"""

from collections.abc import Hashable, Sequence
from functools import lru_cache

from npuc.compiler.analysis.nest.bounds import Certificate, capacity, compulsory
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width, whole_bytes
from npuc.compiler.analysis.nest.fusion import NestPart, same_dimensions, union
from npuc.compiler.analysis.timing.interleave import Widths
from npuc.dialects.npu.contract import operand_tensors
from npuc.dialects.npu.nest import Nest
from npuc.dialects.npu.shared import Values


def joint_certificate(
    nests: tuple[Nest, ...], values: Values, spm_bytes: int, widths: Widths, reached: int
) -> Certificate:
    """
    The certificate of any program of the nests that moves `reached` bytes with `spm_bytes` of SPM, empty at its start.

    `values` numbers the inputs of each nest, and its starts where they follow; those of one number are one value. None
    of the nests may read what another computes.
    """
    return Certificate(*_bounds(nests, values, spm_bytes, widths), reached)


@lru_cache(maxsize=4096)
def _bounds(nests: tuple[Nest, ...], values: Values, spm_bytes: int, widths: Widths) -> tuple[int, int]:
    """Both bounds in bytes."""
    once: dict[Hashable, int] = {}
    keys = [_keys(number, nest, own) for number, (nest, own) in enumerate(zip(nests, values, strict=True))]
    for nest, names, own in zip(nests, keys, widths, strict=True):
        least = compulsory(nest)
        for name, width in own.by_name(nest).items():
            once[names[name]] = max(once.get(names[name], 0), whole_bytes(width * least[name]))
    whole, best = sum(once.values()), 0
    for nest, names, own in zip(nests, keys, widths, strict=True):
        if len(set(names.values())) == len(names):
            others = whole - sum(once[key] for key in set(names.values()))
            best = max(best, others + capacity(nest, spm_bytes, own) // BYTE)
    merged = _merged(nests, keys, widths) if len(nests) > 1 else None
    return whole, best if merged is None else max(best, capacity(merged[0], spm_bytes, merged[1]) // BYTE)


def _keys(number: int, nest: Nest, values: Sequence[int]) -> dict[str, Hashable]:
    """A key per tensor of a nest: equal for tensors of one value, unique where the value is unknown."""
    known = dict(zip((t.name for t in operand_tensors(nest)), values, strict=False))
    return {name: known.get(name, (number, name)) for name in nest.tensors}


def _merged(nests: tuple[Nest, ...], keys: Sequence[dict[str, Hashable]], widths: Widths) -> tuple[Nest, Bits] | None:
    """
    The nest of all statements and the widths of its tensors.

    None where there is none, or where one value would be two of its tensors and count twice. A value that is resident
    for one of the nests is free for all.
    """
    parts: list[NestPart] = []
    operands: list[list[Hashable]] = []
    for nest, names in zip(nests, keys, strict=True):
        common = [(first, name) for name, key in names.items() for first, other in keys[0].items() if other == key]
        renamings = (same_dimensions(nests[0], nest, shared) for shared in common)
        dims = next((found for found in renamings if found is not None), None)
        if dims is None:
            return None
        tensors = operand_tensors(nest)
        operands.append([names[t.name] for t in tensors])
        parts.append(NestPart(nest, tuple((names[t.name], t.shape) for t in tensors), dims))
    joined = union(parts)
    sources = [operands[part][number] for part, number in joined.sources]
    if len(set(sources)) < len(sources):
        return None
    least: dict[Hashable, Width] = {}
    for nest, names, own in zip(nests, keys, widths, strict=True):
        for name, width in own.by_name(nest).items():
            least[names[name]] = min(width, least.get(names[name], width))
    read = [least[key] for key in sources]
    written = [least[names[out.name]] for nest, names in zip(nests, keys, strict=True) for out in nest.outs]
    ins = len(joined.nest.ins)
    sums = tuple(width for own in widths for width in own.sums)
    return joined.nest, Bits((*read[:ins], *written, *read[ins:]), sums)
